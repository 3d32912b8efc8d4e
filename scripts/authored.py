"""Look after the authored corpus: check its notes, make check digits valid, count what is covered.

    python -m scripts.authored check corpus/authored
    python -m scripts.authored digits corpus/authored
    python -m scripts.authored matrix corpus/authored

``check`` prints what the tests of the corpus refuse. ``digits`` gives each number of a kind with a check digit
(``kind=nhs``) a valid one, or a wrong one if it is marked "bad"; everything else of the number stays. ``matrix``
prints notes by genre, specialty, region, kind and length.
"""

import csv
import re
from collections import Counter
from itertools import product
from pathlib import Path
from string import ascii_uppercase, digits
from typing import Annotated

import typer

from spacy_deid.io import whole_file
from spacy_deid.patterns import get_validator, validator_names
from spacy_deid.synth.authored import age_agrees, find_shared_runs, find_unmarked, read_authored

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(help="Folder of the corpus, or of one language.")]

# kind of the mark-up → name of the validator, where they differ
VALIDATORS = {"nie": "dni", "imei": "luhn"}
_NUMBER = re.compile(r"\[([^\[\]]*)\](\([A-Z_]+(?: [^()\n]*)? ?kind=(\w+)( bad)?[^()\n]*\))")


@app.command()
def check(folder: Folder) -> None:
    """Check all notes. Exits with 1 if something is found."""
    notes, found = read_authored(folder), 0
    for note in notes:
        for problem in [f"unmarked: {word}" for word in find_unmarked(note)] + [
            "the age does not agree with the birth" for _ in range(not age_agrees(note))
        ]:
            found += 1
            typer.echo(f"{note.name}: {problem}")
    for first, second in find_shared_runs(notes):
        found += 1
        typer.echo(f"{first}, {second}: share seven words")
    typer.echo(f"{len(notes)} notes, {found} problem(s)")
    raise typer.Exit(int(found > 0))


@app.command(name="digits")
def make_digits(folder: Folder) -> None:
    """Make check digits valid, or wrong where the mark says so. Numbers without a validator are left alone."""
    changed = 0
    for path in sorted(folder.rglob("*.txt")):
        text = path.read_text(encoding="utf8")
        written = _NUMBER.sub(lambda m: f"[{finish(m[1], m[3], bool(m[4]))}]{m[2]}", text)
        if written != text:
            changed += 1
            with whole_file(path) as temporary:
                temporary.write_text(written, encoding="utf8")
    typer.echo(f"{changed} file(s) changed")


def finish(number: str, kind: str, bad: bool = False) -> str:
    """Change the check digits of a number so that it is valid, or wrong.

    number (str): the number, with its separators.
    kind (str): kind of the mark-up.
    bad (bool): whether it must be wrong.
    RETURNS (str): the number with other characters at its end (for an IBAN behind the country); unchanged if it is as
        wanted, or if nothing at these places makes it so, or if the kind has no validator.
    """
    if is_valid(number, kind) in (None, not bad):
        return number
    places = [i for i, char in enumerate(number) if char.isalnum()]
    for chosen in [places[2:4]] if kind == "iban" else [places[-1:], places[-2:]]:
        for values in product(digits + ascii_uppercase, repeat=len(chosen)):
            made = list(number)
            for place, value in zip(chosen, values, strict=True):
                made[place] = value.lower() if number[place].islower() else value
            if is_valid("".join(made), kind) != bad:
                return "".join(made)
    return number


def is_valid(number: str, kind: str) -> bool | None:
    """Test the check digit of a number, which may be broken at the end of a line.

    number (str): the number, with its separators.
    kind (str): kind of the mark-up.
    RETURNS (Optional[bool]): whether it is valid; None if the kind has no validator.
    """
    name = VALIDATORS.get(kind, kind)
    if name not in validator_names():
        return None
    # a hyphen at the end of a line may belong to the number
    whole = (number.replace("-\n", "").replace("\n", ""), number.replace("\n", ""))
    return any(get_validator(name)(text.upper()) for text in whole)


@app.command()
def matrix(folder: Folder) -> None:
    """Count the notes by the columns of their briefs, and by length."""
    for lang in ("en", "es", "fi"):
        with (folder / "briefs" / f"{lang}.csv").open(encoding="utf8", newline="") as file:
            briefs = {(row["brief"], int(row["note"])): row for row in csv.DictReader(file)}
        for split in ("train", "dev", "test"):
            notes = read_authored(folder / lang / split)
            rows = [briefs[note.brief, note.number] for note in notes]
            words = [len(note.text.split()) for note in notes]
            short, long = sum(n < 80 for n in words) / len(words), sum(n > 600 for n in words) / len(words)
            marks, writers = sum(len(note.marks) for note in notes), len({note.brief for note in notes})
            places = len({note.fields["institution"] for note in notes})
            typer.echo(
                f"{lang} {split}: {len(notes)} notes by {writers} briefs, {places} institutions, {marks} identifiers, "
                f"{sum(words)} words, {short:.0%} under 80 words, {long:.0%} above 600"
            )
            for column in ("kind", "genre", "specialty", "region", "difficulty"):
                counts = Counter(row[column] or "none" for row in rows)
                typer.echo(f"  {column} ({len(counts)}): " + ", ".join(f"{k} {n}" for k, n in counts.most_common()))


if __name__ == "__main__":
    app()
