"""Measure memory and time for a single long note: synthetic notes joined to 5 MB, and unusual texts.

    python -m benchmarks.long_notes run

Each text runs in its own process, which loads the pipeline, releases the text, and reports processor seconds without
loading and peak resident memory. Time must be linear in the length: a ratio divides the seconds per character of a
text by those of a shorter one. Rows are written to metrics/long_notes.json.
"""

import json
import os
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

import spacy_deid
from spacy_deid.evaluation import MetricRow, write_rows
from spacy_deid.synth import make_corpus

app = typer.Typer(pretty_exceptions_enable=False)
ROWS = Path("metrics/long_notes.json")
# short units that are repeated up to the length
REPEATED = {
    "digits without a blank": "1234567890",
    "numbers of eight digits": "12345678 ",
    "one name on one line": "Braulio Sanz ",
    "keys and colons on one line": "a: ",
    "blanks": " ",
}


def make_text(kind: str, lang: str, length: int) -> str:
    """Create a text of some length: "notes" joins synthetic notes, any other kind repeats a unit of `REPEATED`."""
    if kind != "notes":
        return (REPEATED[kind] * (length // len(REPEATED[kind]) + 1))[:length]
    parts: list[str] = []
    size = 0
    for note in make_corpus(lang, length // 50 + 1, seed=3):  # a note has more than 50 characters
        parts.append(note.text)
        size += len(note.text) + 2
        if size > length:
            break
    return "\n\n".join(parts)[:length]


@app.command()
def one(lang: str) -> None:
    """Release the text of standard input, and print seconds and peak memory in MB."""
    text = sys.stdin.read()
    nlp = spacy_deid.load(lang)
    nlp(text[:1000])
    start = time.process_time()
    with nlp.memory_zone():
        released = nlp(text)._.deid_text
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    typer.echo(json.dumps({"seconds": seconds, "peak": peak, "released": len(released)}))


def measure(kind: str, lang: str, length: int) -> dict[str, float]:
    """Run `one` in a separate process."""
    command = [sys.executable, "-m", __spec__.name, "one", lang]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    text = make_text(kind, lang, length)
    done = subprocess.run(
        command, input=text, stdout=subprocess.PIPE, encoding="utf-8", check=True, env={**os.environ, **threads}
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    typer.echo(f"{kind:<30}{length:>10,} characters {found['seconds']:>8.1f} s {found['peak']:>7.0f} MB")
    return found


@app.command()
def run(
    lang: Annotated[str, typer.Option(help="Shipped pipeline.")] = "es",
    length: Annotated[int, typer.Option(help="Length of the note in characters.")] = 5_000_000,
) -> None:
    """Measure the long note, a tenth of it, and a tenth and a twentieth of that length of each unusual text."""
    stamp = {
        "data": f"{length / 1e6:g} MB of synthetic notes, {lang}",
        "split": "none",
        "date": date.today().isoformat(),
    }
    stamp["command"] = "python -m benchmarks.long_notes run"
    tenth, whole = measure("notes", lang, length // 10), measure("notes", lang, length)
    ratio = whole["seconds"] / tenth["seconds"] / 10
    rows = [
        MetricRow("highest memory of a long note, MB", round(whole["peak"]), 1000, "lower", **stamp),
        MetricRow("seconds a character, of a tenth as 1", round(ratio, 3), 1.2, "lower", **stamp),
        MetricRow("seconds of a processor for the long note", round(whole["seconds"], 1), None, "lower", **stamp),
    ]
    for kind in REPEATED:
        half, full = measure(kind, lang, length // 20), measure(kind, lang, length // 10)
        stamp["data"] = f"{length / 1e7:g} MB: {kind}"
        ratio = full["seconds"] / half["seconds"] / 2
        rows.append(MetricRow("seconds a character, of half as 1", round(ratio, 3), 1.5, "lower", **stamp))
    write_rows(ROWS, rows)


if __name__ == "__main__":
    app()
