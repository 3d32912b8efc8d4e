"""Measure whether a patient has one surrogate in all notes if the notes only have a part of the name.

    python -m benchmarks.identity --lang es

Persons are drawn from the name lists of the language; one surname in three is made up from syllables and on no list.
Each form of the name stands alone in a note of its own: an initial and the surname, the bare surname, the bare given
name, the swapped order, and a relative with the same surname. *Agreement* is the share of forms whose parts are those
of the surrogate that the full name gets in another note. It is measured without anything else known about the patient,
and with the name from the record system (dictionary or EHR field). Rows are written to metrics/surrogates.json.
"""

import random
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang.text import fold
from spacy_deid.medical.name_context import unfit_words
from spacy_deid.surrogates.forbidden import Forbidden
from spacy_deid.surrogates.keys import IdentityKey, ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people.name_lists import load_names
from spacy_deid.surrogates.style import SurrogateStyle

KEY = ProjectKey(bytes(range(32)))
SYLLABLES = "bra ki dor el man zu ta ri gon les ver na mo sti ker il ja tru pen av".split()
TARGET = 0.98


def draw_persons(lang: str, number: int) -> list[tuple[str, str]]:
    """Draw persons from the name lists: given name and surname; a third of the surnames is on no list."""
    names, rng = load_names(lang), random.Random(f"identity {lang}")
    given = [name for sex in ("female", "male") for name in names.everything(sex)[:1500]]
    surnames = list(names.everything("surname")[:4000])
    made = ["".join(rng.choices(SYLLABLES, k=3)).title() for _ in range(number)]
    return [(rng.choice(given), made[i] if i % 3 == 0 else rng.choice(surnames)) for i in range(number)]


def forms(given: str, surname: str, relative: str) -> dict[str, tuple[str, str]]:
    """Return the forms of a name in a note: name of the form → text and label."""
    return {
        "initial and surname": (f"{given[0]}. {surname}", "PATIENT"),
        "bare surname": (surname, "PATIENT"),
        "bare given name": (given, "PATIENT"),
        "swapped order": (f"{surname} {given}", "PATIENT"),
        "capitals, swapped": (f"{surname.upper()}, {given.upper()}", "PATIENT"),
        "relative": (f"{relative} {surname}", "RELATIVE"),
    }


def replace(text: str, label: str, key: IdentityKey, lang: str, known: list[tuple[str, str]]) -> str:
    """Replace a name that stands alone in a note."""
    mentions = [Mention(text, label)]
    ehr = {"known_names": known}
    forbidden = Forbidden(mentions, lang, unfit_words(lang))
    return SurrogateStyle().replace(mentions, key, lang, forbidden, ehr=ehr)[0].text


def agrees(form: str, new: str, full: str) -> bool:
    """Whether the surrogate of a form has the words, or the initial, that the form has of the name."""
    given, surname = fold(full).split()[0], fold(full).split()[-1]
    words = fold(new).replace(",", " ").replace(".", " ").split()
    if form == "initial and surname":
        return words == [given[0], surname]
    if form in ("bare surname", "relative"):
        return words[-1:] == [surname]
    return words == [given] if form == "bare given name" else words == [surname, given]


def measure(lang: str, number: int) -> dict[str, float]:
    """Measure the agreement of each form, without and with the name of the patient from the record system."""
    flags: dict[str, list[bool]] = defaultdict(list)
    persons = draw_persons(lang, number)
    for i, (given, surname) in enumerate(persons):
        key = KEY.patient(f"{lang} {i}")
        record = [(f"{surname}, {given}", "PATIENT")]
        full = replace(f"{given} {surname}", "PATIENT", key, lang, record)
        for name, (text, label) in forms(given, surname, persons[(i + 1) % number][0]).items():
            for kind, known in (("name unknown", []), ("name known", record)):
                flags[f"{name}, {kind}"].append(agrees(name, replace(text, label, key, lang, known), full))
    return {name: sum(found) / len(found) for name, found in flags.items()}


app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    lang: Annotated[str, typer.Option(help="Language of the names.")],
    number: Annotated[int, typer.Option(help="Number of persons.")] = 120,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates.json"),
) -> None:
    """Write the agreement of each form of a name."""
    command, today = command_line("benchmarks.identity", context), date.today().isoformat()
    rows = []
    for name, value in measure(lang, number).items():
        target = TARGET if name.endswith("name known") else None
        data = f"names of the lists, {lang}"
        rows.append(MetricRow(f"agreement: {name}", round(value, 4), target, "higher", data, "", command, today))
        typer.echo(f"{name}: {value:.3f}")
    replace_rows(metrics, rows)


if __name__ == "__main__":
    app()
