"""Write notes for readers who guess in which of them the identifiers are surrogates, and count the answers.

    python -m benchmarks.readers draw corpus/authored/es/train --lang es --output readers/es --answers readers_key/es
    python -m benchmarks.readers score readers_key/es/key.json guesses.csv --lang es --reader 1

`draw` takes 60 authored notes with identifiers, each of another writer as far as there are enough, and replaces the
identifiers of half of them by surrogates. It uses the gold annotation, so that a missed identifier does not give a
note away, and a random key that is written nowhere. The other half is unchanged. Files are named 01.txt to 60.txt in
random order; nothing but the identifiers and the words that agree with them differs between the halves. The answers
are written to a folder that readers must not see.

`score` compares guesses with the answers. A file of guesses has the columns file, guess ("original" or "surrogate")
and reason; reasons are counted, and must not quote the notes. The row *readers right* goes to metrics/readers.json,
with the upper end of its 95 % interval (Wilson), and again without the notes that have a tag for a value without a
surrogate.
"""

import csv
import json
import os
import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import date
from math import sqrt
from pathlib import Path
from typing import Annotated, Any

import typer

from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.strategies import FALLBACK
from spacy_deid.synth.authored import AuthoredNote, read_authored

TARGET = 0.6
GUESSES = ("original", "surrogate")
_RANDOM = secrets.SystemRandom()

# A traceback that shows local variables would show notes.
app = typer.Typer(pretty_exceptions_enable=False)


def choose(notes: Sequence[AuthoredNote], number: int) -> list[AuthoredNote]:
    """Draw notes at random: one of each writer, then a second one of each, and so on."""
    by_writer: dict[str, list[AuthoredNote]] = {}
    for note in _RANDOM.sample(list(notes), len(notes)):
        by_writer.setdefault(note.brief, []).append(note)
    rounds = max(map(len, by_writer.values()))
    ordered = [found[turn] for turn in range(rounds) for found in by_writer.values() if turn < len(found)]
    return _RANDOM.sample(ordered[:number], min(number, len(ordered)))


@app.command()
def draw(
    folder: Annotated[Path, typer.Argument(help="Folder of authored notes.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    output: Annotated[Path, typer.Option(help="New or empty folder for the notes.")],
    answers: Annotated[Path, typer.Option(help="New or empty folder for the answers.")],
    number: Annotated[int, typer.Option(help="Number of notes.")] = 60,
) -> None:
    """Write notes, half of them with surrogates, and the answers."""
    for path in (output, answers):
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise typer.BadParameter(f"{path} is not empty")
    notes = choose([note for note in read_authored(folder) if note.marks], number)
    replaced = set(_RANDOM.sample(range(len(notes)), len(notes) // 2))
    key, texts = ProjectKey(secrets.token_bytes(32)), []
    key_rows: dict[str, dict[str, Any]] = {}
    for i, note in enumerate(notes):
        text, tags = note.text, 0
        if i in replaced:
            released = replace_gold(note.annotated(), key.patient(note.name), lang, note_date=note.fields["date"])
            text, tags = released.document.text, sum(made.action == FALLBACK for made in released.replacements)
        texts.append(text.rstrip() + "\n")
        key_rows[f"{i + 1:02}.txt"] = {"answer": GUESSES[i in replaced], "note": note.name, "tags": tags}
    for i, text in enumerate(texts, 1):
        path = output / f"{i:02}.txt"
        path.write_text(text, encoding="utf8")
        os.utime(path, (0, 0))
    (answers / "key.json").write_text(json.dumps(key_rows, indent=1) + "\n", encoding="utf8")
    (answers / "key.json").chmod(0o600)
    typer.echo(f"{len(texts)} notes, {sum(row['tags'] > 0 for row in key_rows.values())} of them with a tag")


def upper_end(right: int, number: int) -> float:
    """Return the upper end of Wilson's 95 % interval of a share (Wilson 1927)."""
    z, p = 1.959964, right / number
    return (p + z * z / (2 * number) + z * sqrt(p * (1 - p) / number + z * z / (4 * number**2))) / (1 + z * z / number)


@app.command()
def score(
    context: typer.Context,
    answers: Annotated[Path, typer.Argument(help="The answers that `draw` wrote.")],
    guesses: Annotated[Path, typer.Argument(help="Table of guesses: file, guess, reason.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    reader: Annotated[str, typer.Option(help="Name of the reader in the metric rows, such as a number.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/readers.json"),
) -> None:
    """Compare the guesses of a reader with the answers."""
    key = json.loads(answers.read_text(encoding="utf8"))
    with guesses.open(encoding="utf8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["file"] in key]
    if len({row["file"] for row in rows}) != len(rows) or any(row["guess"] not in GUESSES for row in rows) or not rows:
        raise typer.BadParameter("each note needs one guess, original or surrogate")
    hits = [row["guess"] == key[row["file"]]["answer"] for row in rows]
    right = sum(hits)
    untagged = [hit for row, hit in zip(rows, hits, strict=True) if not key[row["file"]]["tags"]]
    caught = Counter(
        row.get("reason") or "none" for row, hit in zip(rows, hits, strict=True) if hit and row["guess"] == GUESSES[1]
    )
    command, today = command_line("benchmarks.readers score", context), date.today().isoformat()
    data = f"authored {lang}"
    figures = {
        "readers right": right / len(rows),
        "readers right, upper end": upper_end(right, len(rows)),
        "readers right, notes without tags": sum(untagged) / max(1, len(untagged)),
    }
    split, targets = f"reader {reader}", {"readers right": TARGET}
    replace_rows(
        metrics,
        [
            MetricRow(name, round(value, 5), targets.get(name), "lower", data, split, command, today)
            for name, value in figures.items()
        ],
    )
    typer.echo(f"{right} of {len(rows)} right")
    for reason, times in caught.most_common():
        typer.echo(f"{times:3}  {reason}")


if __name__ == "__main__":
    app()
