"""Write the names and the numbers of made patients and institutions in every way in which notes write them.

`dictionary_forms` searches for them. Patients and institutions are made from the name lists of the package, which are
split in two halves by a hash of the name.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.ehr.value_formats import load_language as conventions
from spacy_deid.lang.inflection import case_forms, inflects
from spacy_deid.synth.language import read_table

from .simulated_ehr import _address, _digits, _places, _streets

SEED = 20
PATIENTS = 200

DATES = {
    "es": ("{d:02}/{m:02}/{y}", "{d}-{m}-{s:02}", "{d}.{m}.{y}", "{d} de {month} de {y}", "{d} {mon} {y}"),
    "en": ("{m:02}/{d:02}/{y}", "{d}/{m}/{s:02}", "{y}-{m:02}-{d:02}", "{month} {d}, {y}", "{d} {mon} {y}"),
    "fi": ("{d}.{m}.{y}", "{d:02}.{m:02}.{s:02}", "{y}-{m:02}-{d:02}", "{d}. {month} {y}", "{d} {m} {y}"),
}
NATIONAL = {"es": "{n:08}K", "en": "{n:09}", "fi": "{d:02}{m:02}{s:02}-{r:03}K"}
CLINIC = {
    "es": ("Hospital {}", "Centro de Salud {}", "Clínica {}"),
    "en": ("{} Hospital", "{} Medical Center", "{} Clinic"),
    "fi": ("{}n sairaala", "{}n terveysasema", "Lääkärikeskus {}"),
}
CONFUSED = str.maketrans("0158", "OlSB")


@dataclass(frozen=True)
class Case:
    """A patient and an institution, as a record system stores them."""

    lang: str
    number: int
    given: str
    surnames: tuple[str, ...]
    relative: tuple[str, str]
    born: date
    mrn: str
    national: str
    phone: str
    email: str
    street: str
    zip: str
    city: str
    clinic: str
    staff: tuple[str, str]

    @property
    def surname(self) -> str:
        """All surnames."""
        return " ".join(self.surnames)


def half_of(name: str) -> int:
    """Return the half of the lists that a name belongs to, 0 or 1."""
    return hashlib.sha256(normal_form(name).encode()).digest()[0] % 2


def make_cases(lang: str, half: int, count: int = PATIENTS) -> Iterator[Case]:
    """Generate patients whose names are all in one half of the lists, half of them drawn by frequency."""
    rng = Random(f"{SEED}/{lang}/{half}")
    tables = {part: read_table(lang, part) for part in ("female", "male", "surname")}
    places = [place for place in _places(lang) if half_of(place[0]) == half]
    streets = [street for street in _streets(lang) if half_of(street) == half]

    def draw(part: str) -> str:
        table = tables[part]
        while True:
            often = rng.random() < 0.5
            name = rng.choices(table.names, cum_weights=table.cumulative)[0] if often else rng.choice(table.names)
            if half_of(name) == half and len(name) > 1:
                return name

    def person() -> tuple[str, tuple[str, ...]]:
        sex = rng.choice(("female", "male"))
        return draw(sex), tuple(draw("surname") for _ in range(2 if lang == "es" else 1))

    for number in range(count):
        given, surnames = person()
        near, staff = person(), person()
        city, code = rng.choice(places)
        born = date(1930, 1, 1) + timedelta(days=rng.randrange(33_000))
        digits = {"n": rng.randrange(10**8), "r": rng.randrange(1, 900), **_parts(born)}
        mrn = rng.choice(
            (f"{rng.randrange(10**7, 10**8)}", f"00{rng.randrange(10**5, 10**6)}", f"HC{rng.randrange(10**6)}")
        )
        yield Case(
            lang=lang,
            number=number,
            given=given,
            surnames=surnames,
            relative=(near[0], " ".join(near[1])),
            born=born,
            mrn=mrn,
            national=NATIONAL[lang].format(**digits),
            phone={"es": "6{:08}", "en": "617{:03}{:04}", "fi": "040{:03}{:04}"}[lang].format(*_digits(lang, rng)),
            email=f"{normal_form(given).split()[0]}.{normal_form(surnames[0]).split()[0]}{number}@example.org",
            street=_address(lang, rng.choice(streets), rng.randrange(1, 120)),
            zip="".join(str(rng.randrange(10)) if char == "#" else char for char in code),
            city=city,
            clinic=rng.choice(CLINIC[lang]).format(f"{draw('surname')} {draw('surname')}"),
            staff=(staff[0], " ".join(staff[1])),
        )


def _parts(day: date) -> dict[str, int]:
    """Return the numbers of a date."""
    return {"d": day.day, "m": day.month, "y": day.year, "s": day.year % 100}


def misspell(name: str, rng: Random) -> str:
    """Make one typing error in the longest word of a name: a letter replaced, missing, doubled or swapped."""
    word = max(re.findall(r"\w+", name), key=len)
    return name.replace(word, _misspell(word, rng), 1)


def _misspell(word: str, rng: Random) -> str:
    """Make one typing error in a word."""
    for _ in range(50):
        i = rng.randrange(1, len(word) - 1) if len(word) > 2 else 1
        other = rng.choice("aeiourstlnm")
        made = rng.choice(
            (
                word[:i] + other + word[i + 1 :],
                word[:i] + word[i + 1 :],
                word[:i] + word[i] + word[i:],
                word[:i] + word[i : i + 2][::-1] + word[i + 2 :],
            )
        )
        if normal_form(made) != normal_form(word) and made[:i].isalpha():
            return made
    return word + word[-1]


def scan(word: str, rng: Random) -> str:
    """Write a word as a poor scan: one or two characters misread."""
    pairs = [
        pair for pair in (("o", "0"), ("l", "1"), ("i", "1"), ("s", "5"), ("m", "rn"), ("b", "8")) if pair[0] in word
    ]
    for old, new in rng.sample(pairs, min(2, len(pairs))):
        word = word.replace(old, new, 1)
    return word


def broken(word: str, rng: Random, mark: str = "-\n") -> str:
    """Break the longest part of a name at the end of a line."""
    longest = max(word.split(), key=len)
    at = rng.randrange(2, len(longest) - 1) if len(longest) > 3 else 1
    return word.replace(longest, longest[:at] + mark + longest[at:], 1)


def grouped(value: str, size: int, mark: str) -> str:
    """Write a number in groups, counted from its end."""
    plain = "".join(char for char in value if char.isalnum())
    head = len(plain) % size
    return mark.join(
        part for part in [plain[:head], *(plain[i : i + size] for i in range(head, len(plain), size))] if part
    )


def inflected(name: str, lang: str, kind: str, rng: Random) -> str:
    """Write a name in a random case, or in the genitive of English; unchanged in Spanish."""
    if not inflects(lang):
        return f"{name}'s" if lang == "en" else name
    return rng.choice(sorted(case_forms(name, lang, kind=kind) - {name}) or [name])


def date_in(case: Case, rng: Random) -> str:
    """Write the birth date in a format of the language."""
    words = conventions(case.lang)
    month, short = words.months[case.born.month - 1], words.months_short[case.born.month - 1]
    return rng.choice(DATES[case.lang]).format(month=month, mon=short, **_parts(case.born))


def short_of(case: Case) -> str:
    """Return a street without its number."""
    return re.sub(r"^\d+ |,? \d+$", "", case.street)


Way = Callable[[Case, Random], str]
OWN: dict[str, Way] = {
    "full name": lambda c, r: f"{c.given} {c.surname}",
    "surname first": lambda c, r: f"{c.surname}, {c.given}",
    "capitals, without accents": lambda c, r: normal_form(f"{c.surname} {c.given}").upper(),
    "lower case": lambda c, r: f"{c.given} {c.surname}".lower(),
    "given name and first surname": lambda c, r: f"{c.given} {c.surnames[0]}",
    "initial and surname": lambda c, r: f"{c.given[0]}. {c.surnames[0]}",
    "surname and initial": lambda c, r: f"{c.surnames[0]} {c.given[0]}",
    "surname alone": lambda c, r: c.surnames[0],
    "last surname alone": lambda c, r: c.surnames[-1],
    "given name alone": lambda c, r: c.given,
    "surname in another case": lambda c, r: inflected(c.surnames[0], c.lang, "surname", r),
    "given name in another case": lambda c, r: inflected(c.given, c.lang, "given", r),
    "full name over a line end": lambda c, r: f"{c.given}\n{c.surname}",
    "surname broken by hyphen and line end": lambda c, r: broken(c.surnames[0], r),
    "full name broken by hyphen and line end": lambda c, r: f"{c.given} {broken(c.surname, r)}",
    "letters spaced": lambda c, r: " ".join(c.surnames[0].replace(" ", "")),
    "names run together": lambda c, r: f"{c.given}{c.surnames[0]}",
    "typing error in a surname alone": lambda c, r: misspell(c.surnames[0], r),
    "typing error in a full name": lambda c, r: f"{c.given} {misspell(c.surnames[0], r)}",
    "typing error in a given name alone": lambda c, r: misspell(c.given, r),
    "scanned surname alone": lambda c, r: scan(c.surnames[0], r),
    "scanned full name": lambda c, r: f"{scan(c.given, r)} {scan(c.surnames[0], r)}",
    "relative, full name": lambda c, r: " ".join(c.relative),
    "relative, given name alone": lambda c, r: c.relative[0],
    "record number": lambda c, r: c.mrn,
    "record number in groups of four, spaces": lambda c, r: grouped(c.mrn, 4, " "),
    "record number in groups of three, dots": lambda c, r: grouped(c.mrn, 3, "."),
    "record number in groups of two, hyphens": lambda c, r: grouped(c.mrn, 2, "-"),
    "record number over a line end": lambda c, r: broken(c.mrn, r, "\n"),
    "record number, scanned": lambda c, r: c.mrn.translate(CONFUSED),
    "national id": lambda c, r: c.national,
    "national id in groups, spaces": lambda c, r: grouped(c.national, 3, " "),
    "national id in groups, dots": lambda c, r: grouped(c.national[:-1], 3, ".") + f"-{c.national[-1]}",
    "national id, lower case": lambda c, r: c.national.lower(),
    "phone": lambda c, r: c.phone,
    "phone in groups, spaces": lambda c, r: grouped(c.phone, r.choice((2, 3)), " "),
    "phone in groups, dots or hyphens": lambda c, r: grouped(c.phone, 3, r.choice(".-")),
    "birth date": date_in,
    "e-mail": lambda c, r: c.email,
    "street and number": lambda c, r: c.street,
    "street": lambda c, r: short_of(c),
    "street broken by hyphen and line end": lambda c, r: broken(short_of(c), r),
    "town": lambda c, r: c.city,
    "postal code and town": lambda c, r: f"{c.zip} {c.city}",
}
ALL: dict[str, Way] = {
    "clinic": lambda c, r: c.clinic,
    "clinic, capitals without accents": lambda c, r: normal_form(c.clinic).upper(),
    "clinic, lower case": lambda c, r: c.clinic.lower(),
    "clinic in another case": lambda c, r: inflected(c.clinic, c.lang, "noun", r),
    "clinic over a line end": lambda c, r: c.clinic.replace(" ", "\n", 1),
    "clinic broken by hyphen and line end": lambda c, r: broken(c.clinic, r),
    "clinic with a typing error": lambda c, r: c.clinic.replace(longest(c.clinic), misspell(longest(c.clinic), r)),
    "staff, full name": lambda c, r: " ".join(c.staff),
    "staff, surname first": lambda c, r: f"{c.staff[1]}, {c.staff[0]}",
    "staff, title and surname": lambda c, r: f"Dr. {c.staff[1].split()[0]}",
    "staff, initial and surname": lambda c, r: f"{c.staff[0][0]}. {c.staff[1]}",
    "staff, surname in another case": lambda c, r: inflected(c.staff[1], c.lang, "surname", r),
    "staff, broken by hyphen and line end": lambda c, r: f"{c.staff[0]} {broken(c.staff[1], r)}",
    "staff, full name with a typing error": lambda c, r: f"{c.staff[0]} {misspell(c.staff[1], r)}",
}


def longest(text: str) -> str:
    """Return the longest word."""
    return max(text.split(), key=len)
