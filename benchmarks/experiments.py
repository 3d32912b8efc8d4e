"""Train variants of the Spanish classifier and evaluate each on the development set (docs/reference/experiments.md).

    python -m benchmarks.experiments gold lexicon        # these variants; all without arguments

A variant selects training files of corpus/es/train and overrides settings of configs/ner.cfg. Each is assembled with
the rules and lists of configs/es.cfg and evaluated as a pipeline. Its rows in metrics/experiments.json replace those
of an earlier run of the same variant.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.tokens import DocBin
from spacy.training import Example

import spacy_deid
from spacy_deid.evaluation import evaluate, from_doc, read_folder
from spacy_deid.evaluation.rows import MetricRow, write_rows

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

CORPUS = Path("corpus/es")
GOLD = Path("corpus/meddocan/dev/brat")
THRESHOLDS = (0.5, 0.02, 0.01, 0.005)
MEMBER = "components.deid_ner.model.*.{}.tok2vec.{}"


@dataclass(frozen=True)
class Variant:
    """Training files, number of steps (more for more data), and overridden settings."""

    files: tuple[str, ...] = ("gold", "silver", "injected", "synth")
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 2200


NO_LEXICON = {"paths.lexicon": None}
VARIANTS = {
    "gold": Variant(("gold",), NO_LEXICON, 1500),
    "gold, lexicon": Variant(("gold",), steps=1500),
    "gold, silver": Variant(("gold", "silver"), steps=1800),
    "gold, synth": Variant(("gold", "synth"), steps=1800),
    "gold, injected": Variant(("gold", "injected"), steps=1800),
    "all": Variant(),
    "all, no lexicon": Variant(settings=NO_LEXICON),
    "all, word dropout .2": Variant(settings={MEMBER.format(m, "word_dropout"): 0.2 for m in ("near", "far")}),
}


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Variants to run; all by default.")] = None,
    measure_only: Annotated[bool, typer.Option("--measure-only", help="Do not train.")] = False,
    output: Annotated[Path, typer.Option(help="Folder of the trained pipelines.")] = Path("training/experiments"),
) -> None:
    """Train and evaluate variants."""
    for name in names or list(VARIANTS):
        folder = output / name.replace(", ", "_").replace(" ", "_")
        if not measure_only:
            train(VARIANTS[name], folder)
        rows = measure(name, folder / "assembled")
        write_rows(Path("metrics/experiments.json"), rows)
        typer.echo("\n".join(f"{row.name:<60}{row.value:.4f}" for row in rows))


def train(variant: Variant, folder: Path) -> None:
    """Train the classifier of a variant and assemble its pipeline."""
    data = folder / "data"
    shutil.rmtree(folder, ignore_errors=True)
    data.mkdir(parents=True)
    for name in variant.files:
        (data / f"{name}.spacy").symlink_to((CORPUS / "train" / f"{name}.spacy").resolve())
    settings = {
        "nlp.lang": "es",
        "paths.train": data,
        "paths.dev": CORPUS / "dev.spacy",
        "paths.lexicon": CORPUS / "lexicon.bin",
        "vars.max_steps": variant.steps,
        **variant.settings,
    }
    flags = [part for key, value in settings.items() for part in (f"--{key}", "null" if value is None else str(value))]
    run("train", "configs/ner.cfg", "--output", str(folder), *flags)
    run("assemble", "configs/es.cfg", str(folder / "assembled"), "--paths.ner", str(folder / "model-best"))


def run(*command: str) -> None:
    """Run a spaCy command, raising an error if it fails."""
    subprocess.run([sys.executable, "-m", "spacy", *command], check=True)


def measure(name: str, pipeline: Path) -> list[MetricRow]:
    """Evaluate a variant at several thresholds on the development set, on which it is also calibrated."""
    nlp = spacy_deid.load(pipeline)
    ner = nlp.get_pipe("deid_ner")
    docs = DocBin().from_disk(CORPUS / "dev.spacy").get_docs(nlp.vocab)
    ner.calibrate([Example(nlp.make_doc(doc.text), doc) for doc in docs])
    gold = read_folder(GOLD, scheme="meddocan")
    stamp = {"data": "meddocan", "split": "dev", "date": date.today().isoformat()}
    rows = []
    for threshold in THRESHOLDS:
        ner.set_threshold(threshold)
        found = [from_doc(doc, one.name) for one, doc in zip(gold, nlp.pipe(one.text for one in gold), strict=True)]
        for figure, value in figures(evaluate(gold, found, scheme="meddocan", bootstrap=0)).items():
            label = f"{name} @ {threshold}: {figure}"
            command = f"python -m benchmarks.experiments '{name}'"
            rows.append(MetricRow(label, round(value, 5), None, "higher", command=command, **stamp))
    return rows


def figures(scores: dict[str, Any]) -> dict[str, float]:
    """Return the figures by which variants are compared."""
    whole = scores["all"]
    return {
        "strict F1": whole["ner"]["f1"],
        "strict span F1": whole["span_strict"]["f1"],
        "merged span F1": whole["span_merged"]["f1"],
        "narrative strict F1": scores["narrative"]["ner"]["f1"],
        "character recall": whole["character"]["recall"],
        "character precision": whole["character"]["precision"],
        "documents with nothing missed": whole["clean"]["share"],
    }


if __name__ == "__main__":
    app()
