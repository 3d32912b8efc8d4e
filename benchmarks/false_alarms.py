"""Count false alarms in real text outside of the training data: entities per 1,000 words, by class, label and
detector.

    python -m benchmarks.false_alarms es --data e3c_es --data nubes --assets corpus --trained-on corpus/es/train

Texts are the carriers that `split_of` reserves for testing, the validation part of MTS-Dialog, and the development
part of the ministers' answers. Corpora overlap (E3C contains files of NUBes and cases used for MEDDOCAN), so texts
that share more than a tenth of their runs of eight words with the training files are left out. Two numbers are
counted: *marked* entities, and entities that the policy `safe_harbor` would *change*. Only the latter are false
alarms: ages below 90 and years are marked but kept. Some are true, as case reports name months and hospitals. Figures
are written to metrics/false_alarms_LANG.json; --with-text prints the most frequent texts to the console and nowhere
else.
"""

import bz2
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_deid.cli.rows import cut
from spacy_deid.context import get_edits
from spacy_deid.errors import ConfigError, DeidError, Errors, InputError
from spacy_deid.evaluation import MetricRow
from spacy_deid.evaluation.formats import read_docbin
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.labels import LABELS
from spacy_deid.loading import find_component, load
from spacy_deid.offsets import Edit
from spacy_deid.spans import DECISIONS, PREFIX, Evidence, read_evidence
from spacy_deid.synth.carriers import read_carriers
from spacy_deid.synth.language import split_of
from spacy_deid.workers import memory_zone

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

POLICY = "safe_harbor"
RUN, SHARED = 8, 0.1  # words of a run, and the share of known runs from which on a text is known
WORD = re.compile(r"[^\W\d_]+")
SECTIONS = "clinical_visit_notes/data/mts-dialog/MTS_Dataset_ValidationSet.csv"
ANSWERS = "fi_eduskunta_vkk/vkk/dev.csv.bz2"
CLASSES = {
    "names": {"PATIENT", "CLINICIAN", "PERSON", "USERNAME"},
    "relatives": {"RELATIVE"},  # in Spanish the word for the kin is labelled, with a name or without
    "places": {"HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ROOM", "ORGANIZATION", "STREET", "CITY", "STATE", "ZIP"}
    | {"TERRITORY", "COUNTRY", "LOCATION_OTHER"},
    "ages, dates and what describes": {"AGE", "DATE", "SEX", "PROFESSION", "OTHER"},
}
CLASSES["ids and contacts"] = set(LABELS) - set().union(*CLASSES.values())
Reader = Callable[[Path], Iterator[str]]


class Finding(NamedTuple):
    """An entity: label, detectors, text, and whether the policy would change it."""

    label: str
    found: tuple[str, ...]
    text: str
    changed: bool


def read_kept(lang: str, corpus: str) -> Reader:
    """Yield the carriers of a corpus that are reserved for testing."""

    def read(assets: Path) -> Iterator[str]:
        carriers = read_carriers(assets, lang)
        yield from (text for name, text in carriers if name.startswith(f"{corpus}/") and split_of(name) == "test")

    return read


def read_sections(assets: Path) -> Iterator[str]:
    """Yield the note sections of the validation part of MTS-Dialog."""
    with (assets / SECTIONS).open(encoding="utf8", newline="") as file:
        yield from (row["section_text"] for row in csv.DictReader(file))


def read_answers(assets: Path) -> Iterator[str]:
    """Yield sentences of the development part of answers in the Finnish parliament."""
    raw = bz2.decompress((assets / ANSWERS).read_bytes())
    yield from (row["sentence"] for row in csv.DictReader(io.StringIO(raw.decode("utf8"))))


# name → split and reader
READERS: dict[str, tuple[str, Reader]] = {
    "e3c_en": ("test carriers", read_kept("en", "e3c")),
    "e3c_es": ("test carriers", read_kept("es", "e3c")),
    "nubes": ("test carriers", read_kept("es", "nubes/NUBes")),
    "mts_dialog": ("valid", read_sections),
    "eduskunta": ("dev", read_answers),
}


@app.command()
def main(
    context: typer.Context,
    pipeline: Annotated[str, typer.Argument(help="Pipeline: a name or a folder.")],
    data: Annotated[list[str], typer.Option(help=f"Texts: {', '.join(READERS)}; repeatable.")],
    assets: Annotated[Path, typer.Option(help="Folder of the unpacked corpora.")] = Path("assets"),
    trained_on: Annotated[
        list[Path] | None, typer.Option(help="Training file or folder; its texts are left out.")
    ] = None,
    words: Annotated[int, typer.Option(help="Number of words to read from each corpus.")] = 200_000,
    with_text: Annotated[
        bool,
        typer.Option("--with-text", help="Print the most frequent false alarms; never to a file."),
    ] = False,
    metrics: Annotated[
        Path | None, typer.Option(help="File of the metric rows; metrics/false_alarms_LANG.json by default.")
    ] = None,
) -> None:
    """Count marked entities and false alarms."""
    try:
        nlp = load(pipeline)
        use_policy(nlp)
        seen = {run for path in trained_on or () for run in read_runs(path)}
        target = metrics or Path("metrics") / f"false_alarms_{nlp.lang}.json"
        for name in data:
            read, findings = find(nlp, name, assets, words, seen)
            new = rows(name, read, findings, command_line("benchmarks.false_alarms", context))
            typer.echo(table(name, read, new) + (commonest(findings) if with_text else ""))
            replace_rows(target, new)
    except DeidError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def use_policy(nlp: Language) -> None:
    """Set the policy that decides which entities are false alarms."""
    find_component(nlp, "deid_surrogate").set_policy(POLICY)


def changes(doc: Doc) -> list[Edit]:
    """Return what the policy would change in a Doc. In a text without PHI each is a false alarm."""
    return [edit for edit in get_edits(doc) if edit.replacement != doc.text[edit.start : edit.end]]


def read_runs(path: Path) -> set[int]:
    """Return the runs of words of a training file, or of all files in a folder."""
    files = [path] if path.is_file() else sorted(path.rglob("*.spacy"))
    if not files:
        raise InputError(Errors.D303.format(path=path, reason="no training file"))
    return {run for file in files for note in read_docbin(file) for run in make_runs(note.text)}


def make_runs(text: str) -> list[int]:
    """Return hashes of all runs of eight words, without digits and punctuation; a shorter text is one run."""
    words = WORD.findall(text.lower())
    return [hash(" ".join(words[at : at + RUN])) for at in range(max(1, len(words) - RUN + 1))]


def is_known(text: str, seen: set[int]) -> bool:
    """Test whether a text, possibly edited, is among those from which the runs were taken."""
    runs = make_runs(text)
    return sum(run in seen for run in runs) > SHARED * len(runs)


def find(nlp: Language, name: str, assets: Path, words: int, seen: set[int]) -> tuple[int, list[Finding]]:
    """Run the pipeline up to a number of words. RETURNS: number of words, and the marked entities."""
    if name not in READERS:
        raise ConfigError(Errors.D374.format(name=name, path=assets, reason=f"known are {', '.join(READERS)}"))
    read, findings = 0, []
    try:
        unseen = (text for text in READERS[name][1](assets) if not is_known(text, seen))
        for batch in cut(unseen, len, batch_size=64, n_process=1):
            with memory_zone(nlp):
                for doc in nlp.pipe(batch, batch_size=64):
                    findings += take(doc)
            read += sum(len(text.split()) for text in batch)
            if read >= words:
                break
    except (OSError, KeyError, ValueError) as error:
        if isinstance(error, DeidError) and not isinstance(error, InputError):
            raise
        raise InputError(Errors.D374.format(name=name, path=assets, reason=type(error).__name__)) from None
    if not read:
        raise InputError(Errors.D374.format(name=name, path=assets, reason="no text that was not trained on"))
    return read, findings


def take(doc: Doc) -> list[Finding]:
    """Return the marked entities of a Doc, each with the detectors and rules that overlap it."""
    keys = [key for key in doc.spans if key.startswith(PREFIX) and key not in DECISIONS]
    evidence = [item for key in keys for item in read_evidence(doc, key)]
    edits = changes(doc)
    return [
        Finding(ent.label_, found_by(ent, evidence), ent.text, any(touches(ent, e.start, e.end) for e in edits))
        for ent in doc.ents
        if ent.label_ in LABELS
    ]


def found_by(ent: Span, evidence: list[Evidence]) -> tuple[str, ...]:
    """Return the detectors and rules whose evidence overlaps an entity."""
    touching = [item for item in evidence if touches(ent, item.start, item.end)]
    return tuple(sorted({f"{item.source}/{item.rule}".rstrip("/") for item in touching}))


def touches(ent: Span, start: int, end: int) -> bool:
    """Test whether an entity and a span overlap."""
    return start < ent.end_char and ent.start_char < end


def rows(name: str, words: int, findings: list[Finding], command: str) -> list[MetricRow]:
    """Create rows by class, label and detector; an entity found by two detectors counts for both."""
    groups: dict[str, list[Finding]] = {"class all": findings}
    groups |= {f"class {kind}": [f for f in findings if f.label in members] for kind, members in CLASSES.items()}
    for finding in sorted(findings):
        groups.setdefault(f"label {finding.label}", []).append(finding)
    for finding in findings:
        for source in finding.found:
            groups.setdefault(f"found by {source}", []).append(finding)
    about = {"data": name, "split": READERS[name][0], "command": command, "date": date.today().isoformat()}
    return [
        MetricRow(f"{group}: {what} per 1,000 words", round(1000 * count / words, 4), None, "lower", **about)
        for group, members in groups.items()
        for what, count in (("marked", len(members)), ("changed", sum(f.changed for f in members)))
    ]


def table(name: str, words: int, new: list[MetricRow]) -> str:
    """Format the figures for the console."""
    lines = [f"\n{name}: {words:,} words"]
    return "\n".join(lines + [f"  {row.name:<76}{row.value:>9.3f}" for row in new])


def commonest(findings: list[Finding]) -> str:
    """Return the most frequent texts of each class."""
    lines = [""]
    for kind, members in CLASSES.items():
        common = Counter(finding for finding in findings if finding.label in members)
        lines.append(f"  commonest {kind}:")
        for (label, found, text, changed), count in common.most_common(15):
            what = "changed" if changed else "kept"
            lines.append(f"    {count:>5} {label:<14}{what:<8}{' '.join(text.split())!r:<40.40} {', '.join(found)}")
    return "\n".join(lines)


if __name__ == "__main__":
    app()
