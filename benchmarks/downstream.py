"""Compare a tagger trained on notes with surrogates with one trained on the originals; both are tested on originals.

    python -m benchmarks.downstream corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan

Training notes are de-identified by their gold (`replace_gold`, each note as that of another patient). For each seed
two taggers of `configs/ner.cfg` are trained with the same settings, on the originals and on the released notes. Both
are tested on the original development notes: strict F1 of entities (exact characters and label). The checkpoint is
chosen on the same development notes. The loss is the mean over seeds of the first F1 minus the second; the loss of
each seed is reported too, because seeds differ.

*Identifiers that training had* are identifiers of the development notes whose text also occurs in the original
training notes, ignoring case: clinics, towns and manufacturers named in many notes. A model trained on originals
memorizes them, and surrogates prevent this; recall of all other identifiers is reported separately.

Labels given with `--keep` are not replaced: there are no surrogates for words of sex, and a tag would teach nothing.
Two trainings run in parallel; existing ones are not repeated. Rows are written to metrics/downstream.json.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

import subprocess
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Annotated

import spacy
import typer

from spacy_deid.evaluation import AnnotatedText, MetricRow, evaluate, from_doc, read_folder, write_docbin
from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.io import whole_file
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.strategies import keep
from spacy_deid.surrogates.style import SurrogateStyle

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

SECRET = bytes(range(32))
NER = "deid/ner"  # group of the tagger
ARMS = ("original", "surrogate")
LOSS = 0.003
FIGURES = ("strict F1", "recall of identifiers that training had", "recall of the others")


@app.command()
def main(
    context: typer.Context,
    train: Annotated[Path, typer.Argument(help="Annotated notes to train on.")],
    dev: Annotated[Path, typer.Argument(help="Annotated notes to evaluate on.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    keep_labels: Annotated[list[str], typer.Option("--keep", help="Label to keep; repeatable.")] = ["SEX"],  # noqa: B006
    seeds: Annotated[int, typer.Option(help="Number of trainings per variant.")] = 2,
    steps: Annotated[int, typer.Option(help="Steps per training.")] = 1000,
    work: Annotated[Path, typer.Option(help="Folder of the corpora and taggers.")] = Path("training/downstream"),
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")] = "meddocan",
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/downstream.json"),
) -> None:
    """Train on both kinds of notes, test on the original ones, and write the rows."""
    gold = read_folder(dev, scheme=scheme)
    originals = read_folder(train, scheme=scheme)
    style = SurrogateStyle(labels=dict.fromkeys(keep_labels, keep))
    key = ProjectKey(SECRET)
    released = [replace_gold(note, key.patient(note.name), lang, style).document for note in originals]
    for arm, notes in zip((*ARMS, "dev"), (originals, released, gold), strict=True):
        write_corpus(notes, work / f"{arm}.spacy", lang)
    runs = [(arm, seed) for seed in range(1, seeds + 1) for arm in ARMS]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda run: train_tagger(work, *run, lang, steps), runs))
    had = {(e.label, fold(note.text[e.start : e.end])) for note in originals for e in note.entities}
    scores = {run: score(tagger(work, *run), gold, had) for run in runs}
    about = {"data": data, "split": "dev", "command": command_line("benchmarks.downstream", context)}
    rows = make_rows(scores, about | {"date": date.today().isoformat()})
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}" + ("" if row.met is not False else "  (missed)"))


def make_rows(scores: Mapping[tuple[str, int], Mapping[str, float]], about: dict[str, str]) -> list[MetricRow]:
    """Create rows: means of both kinds, the loss, and the loss of each seed."""
    rows = []
    for figure in FIGURES:
        means = {arm: mean(found[figure] for (kind, _), found in scores.items() if kind == arm) for arm in ARMS}
        rows += [
            MetricRow(f"{figure}, trained on {arm}s", round(means[arm], 4), None, "higher", **about) for arm in ARMS
        ]
        target = LOSS if figure == FIGURES[0] else None
        loss = means["original"] - means["surrogate"]
        rows.append(MetricRow(f"loss of {figure}", round(loss, 4), target, "lower", **about))
    for seed in sorted({seed for _, seed in scores}):
        loss = scores["original", seed][FIGURES[0]] - scores["surrogate", seed][FIGURES[0]]
        rows.append(MetricRow(f"loss of {FIGURES[0]}, seed {seed}", round(loss, 4), None, "lower", **about))
    return rows


def write_corpus(notes: Sequence[AnnotatedText], path: Path, lang: str) -> None:
    """Write notes as a training corpus."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        write_docbin(list(notes), temporary, nlp.make_doc)


def tagger(work: Path, arm: str, seed: int) -> Path:
    """Return the folder of a tagger."""
    return work / f"{arm}_{seed}" / "model-best"


def train_tagger(work: Path, arm: str, seed: int, lang: str, steps: int) -> None:
    """Train a tagger unless it exists; the output of spaCy is written to a log file."""
    out = work / f"{arm}_{seed}"
    if (out / "model-last").is_dir():
        return
    settings = {
        "nlp.lang": lang,
        "paths.train": work / f"{arm}.spacy",
        "paths.dev": work / "dev.spacy",
        "system.seed": seed,
        "vars.max_steps": steps,
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    out.mkdir(parents=True, exist_ok=True)
    with (out / "train.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-m", "spacy", "train", "configs/ner.cfg", "--output", str(out), *words]
        subprocess.run(command, stdout=log, stderr=log, check=True)


def score(path: Path, gold: Sequence[AnnotatedText], had: AbstractSet[tuple[str, str]]) -> dict[str, float]:
    """Compute strict figures of a tagger: F1, and recall of identifiers with and without occurrence in training."""
    nlp = spacy.load(path)
    found = []
    for doc, note in zip(nlp.pipe(n.text for n in gold), gold, strict=True):
        doc.set_ents(list(doc.spans[NER]))
        found.append(from_doc(doc, note.name))
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for note, other in zip(gold, found, strict=True):
        for entity in note.entities:
            known = (entity.label, fold(note.text[entity.start : entity.end])) in had
            hits[known].append(entity in other.entities)
    f1 = float(evaluate(gold, found)["all"]["ner"]["f1"])
    return dict(zip(FIGURES, (f1, mean(hits[True]), mean(hits[False])), strict=True))


if __name__ == "__main__":
    app()
