"""Surrogates for a person to read: some notes of a corpus, what each mention was and what it became.

    python -m benchmarks.hand_check corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan \
        --notes 100 --out ~/check.txt
    python -m benchmarks.hand_check record --lang es --data meddocan --split train+dev --notes 100 \
        --fault "an inconsistent person=0" --fault "a country of another culture=2"

The first writes a file of text, or of HTML, that holds what the notes hold, so not into the repository. The notes are
spread evenly over the corpus, and each is that of another patient. Of each the persons come first with all their
mentions, then the other values by label, each with a few words around it; `!` marks a mention with a tag, `=` one that
stays.

The second writes how many of the notes that were read have a fault, by kind, to metrics/hand_check.json. These figures
are the verdicts of a reader, not of a program: nothing but another reading can measure them again. No text goes there.
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
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.release import ReleasedNote, release_note
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.persons import PERSONS, number_entities
from spacy_deid.surrogates.strategies import FALLBACK

from .surrogate_figures import pairs

REPOSITORY = Path(__file__).resolve().parent.parent
KEY = ProjectKey(bytes(range(32)))
AROUND = 32  # characters on each side of a mention
MARKS = {FALLBACK: "!", "tag": "!", "keep": "="}
PERSON_FAULT = "an inconsistent person"


class WriteByDefault(TyperGroup):
    """What is no name of a command is a path to read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command "write" before arguments that begin with none."""
        return super().parse_args(
            ctx, args if args[:1] and args[0] in (*self.commands, "--help") else ["write", *args]
        )


# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False, cls=WriteByDefault)


@app.command()
def write(
    paths: Annotated[list[Path], typer.Argument(help="Annotated corpora")],
    lang: Annotated[str, typer.Option(help="Language of the notes")],
    out: Annotated[Path, typer.Option(help="File to write, .txt or .html, outside the repository")],
    scheme: Annotated[str, typer.Option(help="Scheme of the labels")] = "canonical",
    notes: Annotated[int, typer.Option(min=1, help="Notes, spread evenly")] = 100,
) -> None:
    """Write what the mentions of some notes became, to be read."""
    if out.resolve().is_relative_to(REPOSITORY):
        raise typer.BadParameter("it would hold notes, and lies within the repository", param_hint="--out")
    corpus = [note for path in paths for note in read_folder(path, scheme=scheme)]
    text = "\n\n".join(
        "\n".join(sheet(release_note(note, KEY.patient(note.name), lang), note.text, f"{number}: {note.name}"))
        for number, note in enumerate(spread(corpus, notes), 1)
    )
    html = f"<!doctype html><meta charset='utf-8'><title>Surrogates</title><pre>{escape(text)}</pre>\n"
    out.write_text(html if out.suffix == ".html" else text + "\n", encoding="utf8")


def spread(corpus: Sequence[AnnotatedText], number: int) -> list[AnnotatedText]:
    """So many notes, as far from each other as can be; all if there are no more."""
    number = min(number, len(corpus))
    return [corpus[i * len(corpus) // number] for i in range(number)]


def sheet(note: ReleasedNote, text: str, title: str) -> Iterator[str]:
    """The lines on one note: each person, then the values of each label."""
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
    """A text in one line."""
    return text.replace("\r", "").replace("\n", "⏎")


@app.command()
def record(
    context: typer.Context,
    lang: Annotated[str, typer.Option(help="Language of the notes")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows")],
    split: Annotated[str, typer.Option(help="Split in the rows")],
    notes: Annotated[int, typer.Option(min=1, help="Notes that were read")],
    fault: Annotated[list[str], typer.Option(help="KIND=NOTES, how many notes have a fault of a kind")],
    metrics: Annotated[Path, typer.Option(help="File of rows")] = Path("metrics/hand_check.json"),
) -> None:
    """Write the verdicts of a reader: how many notes have which fault."""
    counts = {"notes read": notes} | {f"notes with {kind}": number for kind, number in map(verdict, fault)}
    if wrong := [name for name, number in counts.items() if number > notes]:
        raise typer.BadParameter(f"more notes than were read: {wrong[0]}", param_hint="--fault")
    command = command_line("benchmarks.hand_check", context).replace("hand_check", "hand_check record", 1)
    rows = [row(name, number, f"{data}, {lang}", split, command) for name, number in counts.items()]
    replace_rows(metrics, rows)
    for written in rows:
        typer.echo(f"{written.name}: {written.value:g}" + ("" if written.met is not False else "  (missed)"))


def verdict(text: str) -> tuple[str, int]:
    """Kind and number of "KIND=NUMBER"."""
    kind, _, number = text.rpartition("=")
    if not kind or not number.isdecimal():
        raise typer.BadParameter("write KIND=NUMBER", param_hint="--fault")
    return kind, int(number)


def row(name: str, number: int, data: str, split: str, command: str) -> MetricRow:
    """One verdict; that persons are consistent in all notes is a target."""
    target = 0.0 if name == f"notes with {PERSON_FAULT}" else None
    better = "higher" if name == "notes read" else "lower"
    return MetricRow(f"hand check: {name}", number, target, better, data, split, command, date.today().isoformat())


if __name__ == "__main__":
    app()
