"""Stream many notes through `Deidentifier`, and measure what a long run loses, doubles, mixes up, keeps or slows down.

    python -m benchmarks.soak
    python -m benchmarks.soak --notes 200000 --minutes 30

The notes are short and all different, and are made while they are read, so only the program under test can grow. Each
contains an e-mail address of its own, which must not be in its released text. A second stream with the same seed
makes each note again when its result arrives: the edits of the result, applied to this note, must give the released
text, and its number must be the next one. Rates are of processor time, because other programs on the machine change
the time of the clock. Rows are written to metrics/soak.json.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = "1"

import random
import string
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Annotated

import psutil
import typer

import spacy_deid
from spacy_deid import Deidentifier, Result
from spacy_deid.errors import DeidError
from spacy_deid.evaluation import MetricRow
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.offsets import apply_edits

SAMPLES = Path(spacy_deid.__file__).parent / "lang"
TENTHS = 10
PROMISES = ("lost", "doubled", "mixed up", "failed", "with its address released")


def make_short_notes(seed: int, lang: str) -> Iterator[tuple[str, str]]:
    """Yield endless short notes from lines of the samples of a language, each with an e-mail address of its own.

    seed (int): seed of the notes; the same seed gives the same notes.
    lang (str): language of the samples.
    YIELDS (tuple[str, str]): the note and its address.
    """
    rng = random.Random(seed)
    texts = [path.read_text(encoding="utf8") for path in sorted((SAMPLES / lang / "samples").glob("*.txt"))]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    for number in range(1, 10**12):
        word = "".join(rng.choices(string.ascii_lowercase, k=8))
        address = f"{word}{number}@example.org"
        yield f"{rng.choice(lines)}\n{word.title()}: {address}", address


@dataclass(frozen=True)
class Sample:
    """What had been used after a number of notes.

    notes (int): notes so far.
    words (int): words so far.
    seconds (float): processor seconds so far.
    memory (float): megabytes of resident memory.
    """

    notes: int
    words: int
    seconds: float
    memory: float


@dataclass
class Soak:
    """What a stream of results showed.

    broken (Counter[str]): promise → number of notes that broke it.
    samples (list[Sample]): the first one is from before the first note.
    """

    broken: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    def tenth(self, number: int) -> Sample:
        """Return the sample at the end of a tenth of the stream, 0 for that of the start."""
        return next(sample for sample in self.samples if sample.notes * TENTHS >= self.samples[-1].notes * number)

    def rate(self, first: int, last: int) -> float:
        """Words per processor second between the ends of two tenths."""
        start, end = self.tenth(first), self.tenth(last)
        return (end.words - start.words) / max(end.seconds - start.seconds, 0.01)


def check_result(number: int, note: str, address: str, result: Result) -> str:
    """Check a result.

    number (int): number of the note in the stream.
    note (str): the note.
    address (str): what must not be in the released text.
    result (Result): the result in the same place of the stream.
    RETURNS (str): the promise that is broken, "" if none.
    """
    if result.number != number:
        return "mixed up"
    if not result.ok:
        return "failed"
    if address in result.text:
        return "with its address released"
    try:
        return "" if apply_edits(note, result.edits) == result.text else "mixed up"
    except DeidError:  # the edits of a longer note
        return "mixed up"


def measure(process: psutil.Process) -> tuple[float, float]:
    """Measure a process and its children. RETURNS (tuple[float, float]): processor seconds, resident megabytes."""
    seconds = resident = 0.0
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            used = each.cpu_times()
            seconds, resident = seconds + used.user + used.system, resident + each.memory_info().rss / 1e6
    return seconds, resident


def check_stream(
    results: Iterable[tuple[Result, int]], again: Iterable[tuple[str, str]], numbers: Iterator[int], every: int
) -> Soak:
    """Check all results of a stream, and measure the process now and then.

    results (Iterable[tuple[Result, int]]): results and the numbers that were given with the notes.
    again (Iterable[tuple[str, str]]): the same notes and addresses again.
    numbers (Iterator[int]): the next number is how many notes the program has read.
    every (int): number of notes between two samples.
    RETURNS (Soak): what the results showed.
    """
    soak, process, done, words, following = Soak(), psutil.Process(), 0, 0, 0
    source = iter(again)
    soak.samples.append(Sample(0, 0, *measure(process)))
    for result, number in results:
        if number < following:
            soak.broken["doubled"] += 1
            continue
        soak.broken["lost"] += number - following
        note, address = next(islice(source, number - following, None))
        following, done, words = number + 1, done + 1, words + len(note.split())
        if broken := check_result(number, note, address, result):
            soak.broken[broken] += 1
        if done % every == 0:
            soak.samples.append(Sample(done, words, *measure(process)))
            if len(soak.samples) % 10 == 1:
                found = f"{soak.samples[-1].memory:>7.0f} MB {soak.broken.total():>4} broken promises"
                typer.echo(f"{done:>10,} notes {found}")
    soak.samples.append(Sample(done, words, *measure(process)))
    soak.broken["lost"] += next(numbers) - following
    return soak


def make_rows(soak: Soak, command: str) -> list[MetricRow]:
    """Make the metric rows of a run."""
    row = partial(MetricRow, data="short made notes", split="none", command=command, date=date.today().isoformat())
    first, last = soak.tenth(1), soak.samples[-1]
    start, end = soak.rate(0, 1), soak.rate(TENTHS - 1, TENTHS)
    return [
        *(row(f"notes {promise}", soak.broken[promise], 0, "lower") for promise in PROMISES),
        row("notes streamed", last.notes, None, "higher"),
        row("words streamed", last.words, None, "higher"),
        row(
            "memory at the end over memory after the first tenth", round(last.memory / first.memory, 3), 1.05, "lower"
        ),
        row("resident MB after the first tenth", round(first.memory), None, "lower"),
        row("resident MB at the end", round(last.memory), None, "lower"),
        row("words/s of the last tenth over those of the first", round(end / start, 3), 0.9, "higher"),
        row("words/s of the first tenth, processor time", round(start), None, "higher"),
        row("words/s of the last tenth, processor time", round(end), None, "higher"),
    ]


def main(
    context: typer.Context,
    notes: Annotated[int, typer.Option(min=10, help="Number of notes to stream.")] = 1_000_000,
    pipeline: Annotated[str, typer.Option(help="Included pipeline to run.")] = "es",
    minutes: Annotated[float, typer.Option(min=0, help="Stop reading notes after this time, 0 for never.")] = 0,
    n_process: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/soak.json"),
) -> None:
    """Stream notes through the pipeline. Exits with 1 if a note is lost, doubled, mixed up, failed or released."""
    deid = Deidentifier(pipeline, style="tag")
    list(deid.pipe(note for note, _ in islice(make_short_notes(2, pipeline), 200)))  # fills the caches
    started, numbers = time.monotonic(), count()

    def read() -> Iterator[tuple[str, int]]:
        for note, _ in islice(make_short_notes(1, pipeline), notes):
            if minutes and time.monotonic() - started > 60 * minutes:
                return
            yield note, next(numbers)

    results = deid.pipe(read(), as_tuples=True, n_process=n_process)
    soak = check_stream(results, make_short_notes(1, pipeline), numbers, 500)
    summary = f"{soak.samples[-1].notes:,} notes in {time.monotonic() - started:,.0f} s"
    typer.echo(f"{summary}, {soak.broken.total()} broken promises")
    rows = make_rows(soak, command_line("benchmarks.soak", context))
    replace_rows(metrics, rows)
    raise typer.Exit(int(soak.broken.total() > 0))


if __name__ == "__main__":
    typer.run(main)
