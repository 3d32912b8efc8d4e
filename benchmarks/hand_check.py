r"""Write surrogates of some notes for manual review, and record the verdicts of the reviewer.

    python -m benchmarks.hand_check corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan \
        --notes 100 --output ~/check.txt
    python -m benchmarks.hand_check record --lang es --data meddocan --split train+dev --notes 100 \
        --fault "an inconsistent person=0" --fault "a country of another culture=2"

The first command writes a text or HTML file with content of the notes, so it refuses to write into the repository.
Notes are spread evenly over the corpus, each treated as that of another patient. For each note the file lists persons
with all their mentions, then other values by label, with context; `!` marks a mention replaced by a tag, `=` an
unchanged one.

The second command writes to metrics/hand_check.json how many of the reviewed notes have each kind of fault. These
figures are judgements of a person and can only be reproduced by another review. They contain no text.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from spacy_deid.evaluation import AnnotatedText, MetricRow, read_folder
from spacy_deid.evaluation.gold_surrogates import ReleasedNote, replace_gold
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import PERSONS, number_entities
from spacy_deid.surrogates.strategies import FALLBACK

from .surrogates import pairs

REPOSITORY = Path(__file__).resolve().parent.parent
KEY = ProjectKey(bytes(range(32)))
AROUND = 32  # characters on each side of a mention
MARKS = {FALLBACK: "!", "tag": "!", "keep": "="}
PERSON_FAULT = "an inconsistent person"


class WriteByDefault(TyperGroup):
    """A command group that runs "write" if the first argument is not the name of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command "write" before arguments that do not begin with a command."""
        return super().parse_args(
            ctx, args if args[:1] and args[0] in (*self.commands, "--help") else ["write", *args]
        )


# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False, cls=WriteByDefault)


@app.command()
def write(
    paths: Annotated[list[Path], typer.Argument(help="Folders of annotated corpora.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    output: Annotated[Path, typer.Option(help="File to write, .txt or .html, outside the repository.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    notes: Annotated[int, typer.Option(min=1, help="Number of notes, evenly spaced.")] = 100,
) -> None:
    """Write what the mentions of some notes became."""
    if output.resolve().is_relative_to(REPOSITORY):
        raise typer.BadParameter("it would hold notes, and lies within the repository", param_hint="--output")
    corpus = [note for path in paths for note in read_folder(path, scheme=scheme)]
    text = "\n\n".join(
        "\n".join(sheet(replace_gold(note, KEY.patient(note.name), lang), note.text, f"{number}: {note.name}"))
        for number, note in enumerate(spread(corpus, notes), 1)
    )
    html = f"<!doctype html><meta charset='utf-8'><title>Surrogates</title><pre>{escape(text)}</pre>\n"
    output.write_text(html if output.suffix == ".html" else text + "\n", encoding="utf8")


def spread(corpus: Sequence[AnnotatedText], number: int) -> list[AnnotatedText]:
    """Select evenly spaced notes; all if there are not more."""
    number = min(number, len(corpus))
    return [corpus[i * len(corpus) // number] for i in range(number)]


def sheet(note: ReleasedNote, text: str, title: str) -> Iterator[str]:
    """Return the lines about a note: persons, then values by label."""
    yield f"######## {title}"
    groups: dict[tuple[bool, str, int], list[str]] = defaultdict(list)
    numbers = number_entities(note.mentions)
    for entity, number, (mention, made) in zip(note.entities, numbers, pairs(note), strict=True):
        named = mention.label in PERSONS
        before = flat(text[max(0, entity.start - AROUND) : entity.start])
        after = flat(text[entity.end : entity.end + AROUND])
        line = f"{MARKS.get(made.action, ' ')} {mention.label:<13} {flat(mention.text)} → {flat(made.text)}"
        groups[not named, "" if named else mention.label, number if named else 0].append(
            f"{line:<80} | {before}[]{after}"
        )
    for (other, label, number), lines in sorted(groups.items()):
        yield f"== {label if other else f'person {number}'}"
        yield from lines


def flat(text: str) -> str:
    """Put a text on one line."""
    return text.replace("\r", "").replace("\n", "⏎")


@app.command()
def record(
    context: typer.Context,
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    notes: Annotated[int, typer.Option(min=1, help="Number of notes that were read.")],
    fault: Annotated[list[str], typer.Option(help="KIND=NOTES: number of notes with a fault of a kind; repeatable.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/hand_check.json"),
) -> None:
    """Write the verdicts of a reviewer: number of notes with each kind of fault."""
    counts = {"notes read": notes} | {f"notes with {kind}": number for kind, number in map(verdict, fault)}
    if wrong := [name for name, number in counts.items() if number > notes]:
        raise typer.BadParameter(f"more notes than were read: {wrong[0]}", param_hint="--fault")
    command = command_line("benchmarks.hand_check", context).replace("hand_check", "hand_check record", 1)
    rows = [row(name, number, f"{data}, {lang}", split, command) for name, number in counts.items()]
    replace_rows(metrics, rows)
    for written in rows:
        typer.echo(f"{written.name}: {written.value:g}" + ("" if written.met is not False else "  (missed)"))


def verdict(text: str) -> tuple[str, int]:
    """Parse "KIND=NUMBER"."""
    kind, _, number = text.rpartition("=")
    if not kind or not number.isdecimal():
        raise typer.BadParameter("write KIND=NUMBER", param_hint="--fault")
    return kind, int(number)


def row(name: str, number: int, data: str, split: str, command: str) -> MetricRow:
    """Create the row of a verdict. The target is that persons are consistent in all notes."""
    target = 0.0 if name == f"notes with {PERSON_FAULT}" else None
    better = "higher" if name == "notes read" else "lower"
    return MetricRow(f"hand check: {name}", number, target, better, data, split, command, date.today().isoformat())


if __name__ == "__main__":
    app()
