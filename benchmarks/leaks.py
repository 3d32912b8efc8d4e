"""Generate de-identified notes that leak data of their patients' records at a known rate.

In synthetic notes the gold identifiers are replaced by tags, or by surrogates, which are values of other patients'
records. In a note that leaks, one replaced identifier is instead an identifier of its patient, written as in a record
or as people write it, split, or misspelt. These forms are generated here, independently of the expansion used by the
audit; only Finnish cases come from the same grammar.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from spacy_deid.evaluation import AnnotatedText
from spacy_deid.lang.inflection import case_forms
from spacy_deid.notes.source import Columns, NoteKey
from spacy_deid.synth.corpus import make_corpus

LANGS = ("en", "es", "fi")
FORMS = {"as written": 0.7, "broken up": 0.15, "misspelt": 0.15}
_PERSONS = ("PATIENT", "RELATIVE", "CLINICIAN", "PERSON")
_TOWNS = ("CITY", "TERRITORY", "STATE")
_KINDS = {"name": 6, "born": 1, "phone": 1, "mrn": 1, "national_id": 1, "email": 1, "street": 1}
_LABELS = {"name": _PERSONS, "born": ("DATE",), "phone": ("PHONE", "FAX"), "email": ("EMAIL",), "street": ("STREET",)}
_NUMBERS = ("MRN", "NATIONAL_ID", "SSN", "INSURANCE_ID", "ID_OTHER")
_DATES = {"en": "{0.month}/{0.day}/{0.year}", "es": "{0:%d}/{0:%m}/{0.year}", "fi": "{0.day}.{0.month}.{0.year}"}
_LETTERS = "aeiourstln"

Record = Mapping[str, str]


class Leak(NamedTuple):
    """A planted leak: position and written form."""

    start: int
    end: int
    form: str


@dataclass(frozen=True)
class World:
    """Records and notes by language. Patients are audited, bystanders are not."""

    patients: Mapping[str, Sequence[Record]]
    bystanders: Mapping[str, Sequence[Record]]
    notes: Mapping[str, Sequence[AnnotatedText]]

    @classmethod
    def read(cls, folder: Path, notes: int, seed: int) -> "World":
        """Read the tables of `simulated_ehr` and generate notes; every third record is a bystander's."""
        records: dict[str, list[Record]] = {}
        for lang in LANGS:
            with (folder / f"patients_{lang}.csv").open(encoding="utf-8", newline="") as file:
                records[lang] = list(csv.DictReader(file))
        patients = {lang: [row for i, row in enumerate(rows) if i % 3] for lang, rows in records.items()}
        made = {lang: list(make_corpus(lang, notes, seed, "test")) for lang in LANGS}
        return cls(patients, {lang: rows[::3] for lang, rows in records.items()}, made)


class Rows:
    """A table of notes in memory."""

    name = "simulated notes"
    columns: Sequence[str] = ("note_id", "patient_id", "lang", "text")

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self._rows = rows

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`."""
        places = [self.columns.index(name) for name in columns]
        return (tuple(row[place] for place in places) for row in self._rows)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`."""
        return ((key.row, self._rows[key.row - 1][3]) for key in keys)

    def close(self) -> None:
        """Do nothing."""


def make_table(
    world: World, rng: Random, patients: int, rate: float, style: str, *, clustered: bool
) -> tuple[Rows, dict[int, Leak]]:
    """Generate two notes for each of some patients.

    world (World): records and notes.
    rng (Random): random generator.
    patients (int): number of patients.
    rate (float): probability that a note leaks.
    style (str): "tags" or "surrogates".
    clustered (bool): whether all notes of a patient leak, or none.
    RETURNS (tuple[Rows, dict[int, Leak]]): the notes, and leaks by row.
    """
    rows: list[tuple[str, ...]] = []
    leaks: dict[int, Leak] = {}
    for lang in LANGS:
        for record in rng.sample(world.patients[lang], patients // len(LANGS)):
            whole = rng.random() < rate
            for _ in range(2):
                leaking = whole if clustered else rng.random() < rate
                note = rng.choice(world.notes[lang])
                text, leak = _write(note, record if leaking else None, world.bystanders[lang], lang, style, rng)
                rows.append((f"n{len(rows)}", record["mrn"], lang, text))
                if leak:
                    leaks[len(rows)] = leak
    return Rows(rows), leaks


def _write(
    note: AnnotatedText, record: Record | None, bystanders: Sequence[Record], lang: str, style: str, rng: Random
) -> tuple[str, Leak | None]:
    """Write a note without its identifiers, and with an identifier of a record."""
    kind, form, value = _draw(record, lang, rng) if record else ("", "", "")
    place = _choose(note, kind, rng) if record else -1
    pieces: list[str] = []
    length = done = 0
    leak = None
    for i, entity in enumerate(note.entities):
        if entity.start < done:
            continue
        original = note.text[entity.start : entity.end]
        new = value if i == place else f"[{entity.label}]"
        if i != place and style == "surrogates":
            new = _surrogate(entity.label, original, rng.choice(bystanders), lang, rng) or new
        before = note.text[done : entity.start]
        start = length + len(before)
        leak = Leak(start, start + len(new), form) if i == place else leak
        pieces += [before, new]
        length, done = start + len(new), entity.end
    pieces.append(note.text[done:])
    if record and leak is None:  # nothing was replaced
        text = "".join(pieces) + "\n"
        return text + value, Leak(len(text), len(text) + len(value), form)
    return "".join(pieces), leak


def _choose(note: AnnotatedText, kind: str, rng: Random) -> int:
    """Choose the entity that a leaked identifier replaces, of the same kind if possible."""
    fitting = [i for i, entity in enumerate(note.entities) if entity.label in _LABELS.get(kind, _NUMBERS)]
    return rng.choice(fitting or list(range(len(note.entities))) or [-1])


def _draw(record: Record, lang: str, rng: Random) -> tuple[str, str, str]:
    """Draw an identifier of a record: kind, form, and written text."""
    kinds = [kind for kind in _KINDS if kind == "name" or record[kind]]
    kind = rng.choices(kinds, [_KINDS[kind] for kind in kinds])[0]
    form = rng.choices(list(FORMS), list(FORMS.values()))[0]
    if kind == "name":
        return kind, form, _name(record, lang, form, rng)
    value = _DATES[lang].format(date.fromisoformat(record["born"])) if kind == "born" else record[kind]
    return kind, "as written", value


def _name(record: Record, lang: str, form: str, rng: Random) -> str:
    """Write a patient's name in a form that occurs in notes."""
    given, surname = record["given"], record["surname"]
    if form == "misspelt":
        return _slip(surname, rng)
    if form == "broken up":
        half = len(surname) // 2
        return f"{surname[:half]}-\n{surname[half:]}" if len(surname) > 5 else f"{given}\n   {surname}"
    if lang == "fi" and rng.random() < 0.4:
        surname = rng.choice(sorted(case_forms(surname, lang)))
    return rng.choice(
        (f"{given} {surname}", f"{surname}, {given}", surname, surname.upper(), f"{given[0]}. {surname}")
    )


def _slip(name: str, rng: Random) -> str:
    """Swap, drop, double or replace one letter of a name, but not the first."""
    i = rng.randrange(1, len(name))
    return rng.choice(
        (
            name[: i - 1] + name[i] + name[i - 1] + name[i + 1 :] if i > 1 else name[:i] + name[i:][::-1],
            name[:i] + name[i + 1 :],
            name[:i] + name[i] + name[i:],
            name[:i] + rng.choice(_LETTERS) + name[i + 1 :],
        )
    )


def _surrogate(label: str, original: str, record: Record, lang: str, rng: Random) -> str:
    """Return the replacement of an identifier; "" for a tag."""
    if label in _PERSONS:
        return f"{record['given']} {record['surname']}" if " " in original else record["surname"]
    if label == "DATE":
        return _DATES[lang].format(date(1930, 1, 1) + timedelta(days=rng.randrange(34_000)))
    if label in _TOWNS:
        return record["city"]
    columns = {"PHONE": "phone", "EMAIL": "email", "STREET": "street", "ZIP": "zip", "MRN": "mrn"}
    return record.get(columns.get(label, ""), "")
