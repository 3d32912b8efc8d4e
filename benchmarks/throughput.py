"""Measure words per second of one core: the pipeline, each component, and a stock spaCy `ner` of the same size.

    python -m benchmarks.throughput speed corpus/meddocan/dev/brat --data meddocan --split dev
    python -m benchmarks.throughput memory --notes 100000
    python -m benchmarks.throughput load
    python -m benchmarks.throughput demo

`speed` runs all candidates on the same notes in alternating rounds, and reports medians and ratios; words are
separated by white space. Times are those of the processor, not of the clock, so other programs on the machine change
them less. `memory` streams notes that are all different, so that anything that grows with new words
shows, and samples the resident memory. Rows are written to metrics/, tables to standard output.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = "1"

import random
import resource
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated

import psutil
import spacy
import typer
from spacy.language import Language
from spacy.training import Example

import spacy_deid
from spacy_deid.evaluation import MetricRow, read_folder, write_rows
from spacy_deid.evaluation.rows import replace_rows
from spacy_deid.workers import memory_zone

app = typer.Typer(pretty_exceptions_enable=False)
METRICS = Path("metrics")
# makes a fresh stream of Docs; only running it to its end is timed
Candidate = Callable[[], Iterable[object]]
SAMPLES = Path(spacy_deid.__file__).parent / "lang" / "es" / "samples"


@app.command()
def speed(
    notes: Annotated[Path, typer.Argument(help="Folder of brat or i2b2 XML files.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline to time.")] = "es",
    rounds: Annotated[int, typer.Option(help="Number of passes over the notes.")] = 5,
    scheme: Annotated[str, typer.Option(help="Label scheme of the corpus.")] = "meddocan",
) -> None:
    """Time the pipeline, its components and stock spaCy on the same notes."""
    texts = [text.text for text in read_folder(notes, scheme=scheme)]
    words = sum(len(text.split()) for text in texts)
    nlp = spacy_deid.load(pipeline)
    stock = stock_ner(nlp, texts[:50])
    candidates: dict[str, Candidate] = {"pipeline, nlp.pipe": lambda: nlp.pipe(texts)}
    candidates |= {"pipeline, one call a note": lambda: map(nlp, texts)}
    candidates |= split_by_component(nlp, texts)
    candidates |= {"stock spaCy ner": lambda: stock.pipe(texts)}
    seconds = time_all(candidates, rounds)
    rates = {name: words / value for name, value in seconds.items()}
    whole = rates["pipeline, nlp.pipe"]
    typer.echo(f"{len(texts)} notes, {words} words, one core, median of {rounds} rounds\n")
    typer.echo(f"{'':<28}{'words/s':>10}{'of pipeline':>13}")
    for name, rate in rates.items():
        typer.echo(f"{name:<28}{rate:>10,.0f}{rate / whole:>12.2f}x")
    command = f"python -m benchmarks.throughput speed {notes} --pipeline {pipeline} --data {data} --split {split}"
    command += f" --scheme {scheme} --rounds {rounds}"
    stamp = {"data": data, "split": split, "command": command, "date": date.today().isoformat()}
    stock_rate, single = rates["stock spaCy ner"], rates["pipeline, one call a note"]
    targets = [
        MetricRow("pipeline words/s on one core", round(whole), 10_000, "higher", **stamp),
        MetricRow("speed over stock spaCy ner", round(whole / stock_rate, 3), 4, "higher", **stamp),
        MetricRow("speed of one call a note over nlp.pipe", round(single / whole, 3), 0.8, "higher", **stamp),
    ]
    parts = [MetricRow(f"words/s: {name}", round(rate), None, "higher", **stamp) for name, rate in rates.items()]
    write_rows(METRICS / "throughput.json", [*targets, *parts])


@app.command()
def memory(
    notes: Annotated[int, typer.Option(help="Number of notes to stream.")] = 100_000,
    pipeline: Annotated[str, typer.Option(help="Pipeline to run.")] = "es",
    batch: Annotated[int, typer.Option(help="Notes per memory zone.")] = 1000,
) -> None:
    """Stream different notes and sample the resident memory."""
    process = psutil.Process()
    nlp = spacy_deid.load(pipeline)
    stream, done, resident = make_notes(random.Random(0)), 0, {}
    while done < notes:
        with memory_zone(nlp):
            done += drain(nlp.pipe(islice(stream, min(batch, notes - done))))
        resident[done] = process.memory_info().rss / 1e6
        if done % (10 * batch) == 0 or done == notes:
            typer.echo(f"{done:>9,} notes {resident[done]:>8.0f} MB")
    first = min(10_000, notes // 3)
    early = next(value for count, value in resident.items() if count >= first)
    command = f"python -m benchmarks.throughput memory --notes {notes}"
    stamp = {"data": "synthetic notes", "split": "none", "command": command, "date": date.today().isoformat()}
    peak = max(resident.values())
    rows = [
        MetricRow("resident memory in MB, highest", round(peak), 1000, "lower", **stamp),
        MetricRow(
            f"memory after {notes:,} notes over memory after {first:,}",
            round(resident[done] / early, 3),
            1.05,
            "lower",
            **stamp,
        ),
    ]
    replace_rows(METRICS / "memory.json", rows)


@app.command()
def load(
    pipeline: Annotated[str, typer.Option(help="Shipped pipeline.")] = "es",
    rounds: Annotated[int, typer.Option(help="Number of processes.")] = 5,
) -> None:
    """Measure the size of a pipeline, and the processor seconds to import spacy_deid and load it in a new process."""
    folder = spacy_deid.shipped_pipelines()[pipeline]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    seconds = time_process(["-c", f"import spacy_deid; spacy_deid.load({pipeline!r})"], rounds)
    libraries = time_process(["-c", "import spacy"], rounds)
    folders = spacy_deid.shipped_pipelines().values()
    every = sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) / 1e6
    command = f"python -m benchmarks.throughput load --pipeline {pipeline}"
    stamp = {"data": "pipeline", "split": pipeline, "command": command, "date": date.today().isoformat()}
    rows = [
        MetricRow("size of the pipeline in MB", round(size, 2), 10 if pipeline == "es" else None, "lower", **stamp),
        MetricRow("processor seconds to import and load", round(seconds, 2), 1, "lower", **stamp),
        MetricRow("processor seconds of this to import spaCy", round(libraries, 2), None, "lower", **stamp),
        MetricRow("size of all pipelines in MB", round(every, 2), 30, "lower", **(stamp | {"split": "all"})),
    ]
    replace_rows(METRICS / "size.json", rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value}")


@app.command()
def demo(rounds: Annotated[int, typer.Option(help="Number of processes.")] = 5) -> None:
    """Measure the processor seconds of ``spacy-deid demo``, which loads and runs all shipped pipelines."""
    seconds = time_process(["-m", "spacy_deid", "demo"], rounds)
    stamp = {"data": "sample notes", "split": "all", "command": "python -m benchmarks.throughput demo"}
    row = MetricRow(
        "processor seconds of spacy-deid demo", round(seconds, 2), 3, "lower", **stamp, date=date.today().isoformat()
    )
    write_rows(METRICS / "size.json", [row])
    typer.echo(f"{row.name}: {row.value}")


def time_process(arguments: list[str], rounds: int) -> float:
    """Run Python several times with the same arguments. RETURNS (float): median of the processor seconds."""
    seconds = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(seconds)


def drain(docs: Iterable[object]) -> int:
    """Consume a stream and count its items."""
    return sum(1 for _ in docs)


def split_by_component(nlp: Language, texts: list[str]) -> dict[str, Candidate]:
    """Return the tokenizer and each component as tasks on Docs processed by the preceding components."""

    def candidate(name: str) -> Candidate:
        before = nlp.pipe_names[: nlp.pipe_names.index(name)]
        ready = list(nlp.pipe(texts, disable=[n for n in nlp.pipe_names if n not in before]))
        part = nlp.get_pipe(name)

        def prepare() -> Iterable[object]:
            docs = [doc.copy() for doc in ready]
            return part.pipe(docs, batch_size=nlp.batch_size) if hasattr(part, "pipe") else map(part, docs)

        return prepare

    tokenizer: dict[str, Candidate] = {"tokenizer": lambda: map(nlp.make_doc, texts)}
    return tokenizer | {name: candidate(name) for name in nlp.pipe_names}


def stock_ner(nlp: Language, texts: list[str]) -> Language:
    """Create stock tok2vec and `ner` with the width, rows and labels of our classifier, trained for a few steps."""
    stock = spacy.blank(nlp.lang)
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "width": 128, "depth": 4, "embed_size": 6000}
    tok2vec |= {"window_size": 1, "maxout_pieces": 3, "subword_features": True, "pretrained_vectors": None}
    model = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "extra_state_tokens": False}
    model |= {"hidden_width": 64, "maxout_pieces": 2, "use_upper": True, "tok2vec": tok2vec}
    stock.add_pipe("ner", config={"model": model})
    examples = []
    for doc in nlp.pipe(texts):
        reference = stock.make_doc(doc.text)
        spans = [reference.char_span(e.start_char, e.end_char, e.label_, alignment_mode="expand") for e in doc.ents]
        reference.ents = spacy.util.filter_spans([span for span in spans if span is not None])
        examples.append(Example(stock.make_doc(doc.text), reference))
    optimizer = stock.initialize(lambda: examples)
    for start in range(0, len(examples), 10):
        stock.update(examples[start : start + 10], sgd=optimizer)
    return stock


def time_all(candidates: dict[str, Candidate], rounds: int) -> dict[str, float]:
    """Return median processor seconds of each candidate over alternating rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        for name, prepare in candidates.items():
            stream = prepare()
            start = time.process_time()
            drain(stream)
            if turn:  # the first round warms caches
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def make_notes(rng: random.Random) -> Iterator[str]:
    """Yield endless notes from the samples of the package, each with its own words and numbers."""
    texts = [path.read_text(encoding="utf8") for path in sorted(SAMPLES.glob("*.txt"))]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    while True:
        words = ["".join(rng.choices(string.ascii_lowercase, k=8)) for _ in range(10)]
        yield "\n".join([*rng.sample(lines, 4), f"{words[0].title()} {' '.join(words[1:])} {rng.randrange(10**8)}"])


if __name__ == "__main__":
    app()
