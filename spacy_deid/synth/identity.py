"""Invent the persons of a note, with names, ages, addresses and identifiers that agree with each other.

A value is drawn when a template first uses it, and then stays the same throughout the note. It also agrees with the
values of relatives.

``language.toml`` names the kinds of identifiers of an attribute (``ids = ["dni", "nie"]``). National kinds are part of
their language (`LanguageData.id_makers`); the international ones are here. All have valid check digits. Any other name
is a pattern: "#" is a digit, "@" a capital letter, all other characters are literal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..evaluation.fairness import blend
from ..lang import all_languages
from ..lang.identifiers import finish_vin, luhn
from ..lang.synthesis import IdBearer, IdMaker, draw_digits
from ..lang.text import fold
from .language import Language, read_origins, read_table, stable_hash


@dataclass(frozen=True, slots=True)
class Role:
    """A role in a note, such as "mother" or "clinician", with its possible sex and ages relative to the patient.

    sex (str): "male", "female", "" for either, or "other" for the opposite of the patient's.
    gap (tuple[int, int] | None): range of years that the person is older than the patient; None to draw any age.
    ages (tuple[int, int]): range of possible ages.
    kin (str): relation that determines the surname: "parent", "child", "sibling", "spouse" or "".
    label (str): canonical label of the person's name; "" for none.
    """

    sex: str = ""
    gap: tuple[int, int] | None = None
    ages: tuple[int, int] = (0, 105)
    kin: str = ""
    label: str = "RELATIVE"


ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "patient": Role(label="PATIENT"),
        "mother": Role("female", (18, 40), (18, 105), "parent"),
        "father": Role("male", (19, 46), (18, 105), "parent"),
        "spouse": Role("other", (-7, 7), (18, 102), "spouse"),
        "child": Role("", (-40, -20), (0, 80), "child"),
        "son": Role("male", (-40, -20), (0, 80), "child"),
        "daughter": Role("female", (-40, -20), (0, 80), "child"),
        "sibling": Role("", (-9, 9), (0, 102), "sibling"),
        "brother": Role("male", (-9, 9), (0, 102), "sibling"),
        "sister": Role("female", (-9, 9), (0, 102), "sibling"),
        "grandmother": Role("female", (42, 70), (40, 105)),
        "grandfather": Role("male", (42, 70), (40, 105)),
        "grandchild": Role("", (-70, -42), (0, 50)),
        "relative": Role(ages=(18, 90)),
        "contact": Role(ages=(18, 90)),
        "person": Role(ages=(18, 90), label="PERSON"),
        "clinician": Role(ages=(25, 67), label="CLINICIAN"),
        "hospital": Role(ages=(30, 90), label=""),
        "center": Role(ages=(30, 90), label=""),
        "note": Role(ages=(30, 90), label=""),
        "decoy": Role(ages=(18, 90), label=""),
        "eponym": Role(ages=(18, 90), label=""),
    }
)
_YOUNGER = {"child", "son", "daughter", "grandchild", "spouse"}


def base_of(who: str) -> str:
    """Return the role of a person in a template, which is its key without digits: "clinician" for "clinician2"."""
    return who.rstrip("0123456789")


@dataclass(slots=True)
class Person:
    """An invented person. Institutions such as the hospital are persons too, because they also have attributes.

    who (str): key of the person in the template, such as "patient" or "clinician2".
    role (Role): role in the note.
    sex (str): "male" or "female".
    born (date): date of birth.
    given (str): given names.
    surnames (tuple[str, ...]): one or two surnames.
    place (Mapping[str, str]): a row of the list of places: city, state, zip and other columns of the language.
    known (dict[str, str]): attribute → value, for the attributes drawn so far.
    """

    who: str
    role: Role
    sex: str
    born: date
    given: str
    surnames: tuple[str, ...]
    place: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)

    @property
    def surname(self) -> str:
        """All surnames, separated by a blank."""
        return " ".join(self.surnames)

    def age(self, day: date) -> int:
        """Return the age in completed years on a day, at least 0."""
        return max(0, day.year - self.born.year - ((day.month, day.day) < (self.born.month, self.born.day)))

    def bearer(self) -> IdBearer:
        """Return the attributes that are encoded in identifiers, such as date of birth and sex."""
        letters = "".join(fold(name)[:2] for name in self.surnames)
        return IdBearer(self.sex, self.born, self.known.get("zip", self.place.get("zip", "")), letters)


class Case:
    """Draws the persons of one note, each when it is first used, so that their ages, names and addresses agree.

    language (Language): names, places and settings of the language.
    rng (Random): random generator.
    split (str): "train" or "test".
    asks (set[tuple[str, str]]): (person, attribute) of every slot of the template, so that, for example, a patient
        with a job is an adult.
    directives (Mapping[str, str]): settings of the template: "age" (range, "0..14") and "sex" of the patient.
    """

    def __init__(
        self,
        language: Language,
        rng: Random,
        split: str,
        asks: set[tuple[str, str]] = frozenset(),  # type: ignore[assignment]
        directives: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.language, self.rng, self.split = language, rng, split
        self.day = date(2005, 1, 1) + timedelta(days=rng.randrange(21 * 365))
        self._directives = directives
        self._youngest, self._oldest = _patient_ages(asks)
        self._people: dict[str, Person] = {}
        self.style = rng.random()  # selects the usual date format of the note

    def person(self, who: str) -> Person:
        """Return a person of the note. The person is invented at the first call and stays the same.

        who (str): key of the person in the template.
        RETURNS (Person): the same person at each call, except for "eponym" (the person that a street or firm is named
            after), which is a new person each time.
        RAISES: ConfigError (D601) for an unknown role.
        """
        if who not in self._people:
            if base_of(who) not in ROLES:
                raise ConfigError(Errors.D601.format(slot=who, lang=self.language.lang))
            self._people[who] = self._draw_person(who, ROLES[base_of(who)])
        return self._people.pop(who) if who == "eponym" else self._people[who]

    def _draw_person(self, who: str, role: Role) -> Person:
        """Draw the sex, date of birth, names and place of a person."""
        sex = self._draw_sex(who, role)
        born = self._draw_birth(who, role)
        given, surnames = self._draw_names(sex)
        if role.kin:
            family = (
                _double_surnames if self.language.get("names", "family", "shared") == "double" else _shared_surname
            )
            surnames = family(self.person("patient"), role.kin, sex, surnames, self.rng)
        return Person(who, role, sex, born, given, surnames, self._draw_place(role))

    def _draw_sex(self, who: str, role: Role) -> str:
        """Return the sex that the template or the role determines; draw one if neither does."""
        if who == "patient" and "sex" in self._directives:
            return self._directives["sex"]
        if role.sex == "other":
            same = self.rng.random() < 0.04
            sex = self.person("patient").sex
            return sex if same else "male" if sex == "female" else "female"
        return role.sex or self.rng.choice(("female", "male"))

    def _draw_birth(self, who: str, role: Role) -> date:
        """Draw a date of birth that agrees with the role, the date of the note and the patient's age."""
        low, high = role.ages
        if who == "patient":
            low, high = map(int, self._directives.get("age", f"{self._youngest}..{self._oldest}").split(".."))
            if self.rng.random() < 0.5:
                age = self.rng.randint(low, high)
            else:  # most patients are old
                age = int(self.rng.triangular(low, high, low + 0.72 * (high - low)))
        elif role.gap:
            age = self.person("patient").age(self.day) + self.rng.randint(*role.gap)
            age = min(max(age, low), high)
        else:
            age = self.rng.randint(low, high)
        return self.day - timedelta(days=int(age * 365.25) + self.rng.randrange(1, 364))

    def _draw_names(self, sex: str) -> tuple[str, tuple[str, ...]]:
        """Draw given name and surnames; with probability `origin_share` both are names of one group of origin."""
        settings = self.language.settings.get("names", {})
        groups = read_origins(self.language.lang)
        count = 2 if settings.get("family") == "double" else 1
        if groups and self.rng.random() < settings.get("origin_share", 0.0):
            group = groups[self.rng.choice(sorted(groups))]
            doubled = count if self.rng.random() < 0.5 else 1
            return self.rng.choice(group[sex]), tuple(self.rng.choice(group["surname"]) for _ in range(doubled))
        return self.draw_name(sex), tuple(self.draw_name("surname") for _ in range(count))

    def draw_name(self, part: str) -> str:
        """Draw one name: mostly by frequency, else one that is also a word, or an invented blend of two names.

        part (str): "female", "male" or "surname".
        RETURNS (str): the name.
        """
        settings: Mapping[str, Any] = self.language.settings.get("names", {})
        words = settings.get("words", {}).get(part)
        if words and self.rng.random() < settings.get("word_share", 0.0):
            return str(self.rng.choice(words))
        table = read_table(settings.get("table", self.language.lang), part)
        name = table.draw(self.rng, self.split, settings.get("flat", 0.3))
        if self.split == "train" and self.rng.random() < settings.get("blend_share", 0.0):
            return blend(name, table.draw(self.rng, self.split, 1.0), self.rng)
        return name

    def _draw_place(self, role: Role) -> Mapping[str, str]:
        """Draw a place of residence: often that of the patient for relatives, that of the hospital for the patient."""
        rows = self.language.lists.get("places")
        if not rows:
            return {}
        if role.kin and self.rng.random() < 0.6:
            return self.person("patient").place
        if role is ROLES["patient"] and self.rng.random() < 0.5:
            return self.person("hospital").place
        return self.row(rows)

    def row(self, rows: tuple[Mapping[str, str], ...]) -> Mapping[str, str]:
        """Draw a row of a list. If the list has at least 100 rows, one in ten is used only for the test split."""
        while True:
            row = self.rng.choice(rows)
            reserved = len(rows) >= 100 and stable_hash(next(iter(row.values()))) % 10 == 0
            if self.split == "test" or not reserved:
                return row


def _patient_ages(asks: set[tuple[str, str]]) -> tuple[int, int]:
    """Return the range of ages that agrees with the slots: for example, a patient with a job is an adult."""
    least, most = [0], [99]
    for who, what in asks:
        base = base_of(who)
        if base in _YOUNGER:
            least.append(60 if base == "grandchild" else 35)
        elif base == "patient" and what in ("profession", "employer", "email", "username"):
            least.append(18)
        most.append({"mother": 62, "father": 60, "grandmother": 32, "grandfather": 32}.get(base, 99))
        most.append(24 if (base, what) == ("patient", "school") else 99)
    return max(least), max(max(least), min(most))


def _double_surnames(patient: Person, kin: str, sex: str, own: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """Return the two surnames of a relative, where a child gets the first surname of each parent (Spanish custom)."""
    first, second = patient.surnames[0], patient.surnames[-1]
    if kin == "parent":
        return (first, own[-1]) if sex == "male" else (second, own[-1])
    if kin == "sibling":
        return patient.surnames
    if kin == "child":
        return (first, own[-1]) if patient.sex == "male" else (own[0], first)
    return own


def _shared_surname(patient: Person, kin: str, sex: str, own: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """Return the surnames of a relative: mostly those of the patient, sometimes their own."""
    return patient.surnames if rng.random() < (0.65 if kin == "spouse" else 0.85) else own


# ---------------------------------------------------------------- identifiers

_PATTERN_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_CHARACTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"


def make_id(kind: str, rng: Random, bearer: IdBearer) -> str:
    """Generate an identifier of a person, such as a national number with a valid check digit.

    kind (str): key of `id_makers`, or a pattern for `fill_pattern`.
    rng (Random): random generator.
    bearer (IdBearer): attributes of the person that the identifier encodes.
    RETURNS (str): the identifier.
    """
    maker = id_makers().get(kind)
    return maker(rng, bearer) if maker else fill_pattern(kind, rng)


def fill_pattern(pattern: str, rng: Random) -> str:
    """Fill a pattern: "#" is a digit, "@" a capital letter, all other characters are literal."""
    draw = {"#": lambda: str(rng.randrange(10)), "@": lambda: rng.choice(_PATTERN_LETTERS)}
    return "".join(draw[char]() if char in draw else char for char in pattern)


@cache
def id_makers() -> Mapping[str, IdMaker]:
    """Return the functions that generate identifiers, by kind: national (of all languages) and international."""
    makers = {name: maker for language in all_languages() for name, maker in language.id_makers.items()}
    international = {"card": _make_card, "imei": _make_imei, "ip": _make_ip, "mac": _make_mac, "vin": _make_vin}
    return MappingProxyType({**international, **makers})


def _make_card(rng: Random, bearer: IdBearer) -> str:
    digits = rng.choice("45") + draw_digits(rng, 14)
    digits += luhn(digits)
    return rng.choice([digits, " ".join(digits[i : i + 4] for i in range(0, 16, 4))])


def _make_imei(rng: Random, bearer: IdBearer) -> str:
    digits = "35" + draw_digits(rng, 12)
    return digits + luhn(digits)


def _make_ip(rng: Random, bearer: IdBearer) -> str:
    return f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _make_mac(rng: Random, bearer: IdBearer) -> str:
    return ":".join(f"{rng.randrange(256):02X}" for _ in range(6))


def _make_vin(rng: Random, bearer: IdBearer) -> str:
    return finish_vin("".join(rng.choice(_VIN_CHARACTERS) for _ in range(17)))
