"""Coherent people: everybody a note may speak of, with what is known of each, drawn once and used throughout.

A `Case` is the cast of one note. Sex, age, date of birth, family names, address and identifiers of a person agree with
each other and with the relatives; values are drawn when a template asks for them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..evaluation.fairness import blend
from ..lang.synthesis import IdBearer
from ..lang.text import fold
from .language import Language
from .names import read_origins, read_table, stable_hash

__all__ = ["FAMILIES", "ROLES", "Case", "Person", "Role", "base_of"]


@dataclass(frozen=True, slots=True)
class Role:
    """Who somebody is to the patient.

    sex (str): "male", "female", or "" for either, "other" for the one that the patient is not.
    gap (tuple[int, int] | None): years older than the patient; None for an age of their own.
    ages (tuple[int, int]): the ages that are possible.
    kin (str): what `FAMILIES` need to know: "parent", "child", "sibling", "spouse" or "".
    label (str): label of the name; "" for none.
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
    """The role that a name stands for: "clinician2" is another clinician.

    who (str): as a template writes it.
    RETURNS (str): the key in `ROLES`, or what is no role.
    """
    return who.rstrip("0123456789")


@dataclass(slots=True)
class Person:
    """A person, or the institution that a person's attributes serve for.

    who (str): as a template writes it. role (Role): what it means.
    sex (str): "male" or "female". born (date): day of birth.
    given (str): given names. surnames (tuple[str, ...]): one or two.
    place (Mapping[str, str]): a row of the list of places: city, state, zip and what else the language has.
    known (dict[str, str]): the values drawn so far.
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
        """All family names."""
        return " ".join(self.surnames)

    def age(self, day: date) -> int:
        """Full years. day (date): on which day. RETURNS (int): 0 or more."""
        return max(0, day.year - self.born.year - ((day.month, day.day) < (self.born.month, self.born.day)))

    def bearer(self) -> IdBearer:
        """What identifiers are made from. RETURNS (IdBearer): sex, birth, postal code and letters of the names."""
        letters = "".join(fold(name)[:2] for name in self.surnames)
        return IdBearer(self.sex, self.born, self.known.get("zip", self.place.get("zip", "")), letters)


class Case:
    """The cast of a note.

    language (Language): the language.
    rng (Random): the source of chance.
    split (str): "train" or "test".
    asks (set[tuple[str, str]]): (who, what) of every slot of the template, so that a patient with a job is grown up.
    directives (Mapping[str, str]): "age" ("0..14") and "sex" of the patient.
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
        self._youngest, self._oldest = self._ages(asks)
        self._people: dict[str, Person] = {}
        self.style = rng.random()  # one hand writes all dates of a note

    @staticmethod
    def _ages(asks: set[tuple[str, str]]) -> tuple[int, int]:
        """The ages that the slots allow the patient: with a job grown up, with parents not too old."""
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

    def person(self, who: str) -> Person:
        """Look somebody up, or bring them into the world.

        who (str): as a template writes it.
        RETURNS (Person): the same one each time; of "eponym", whom streets and firms are named after, a new one.
        RAISES: ConfigError (D601) if it is no role.
        """
        if who not in self._people:
            if base_of(who) not in ROLES:
                raise ConfigError(Errors.D601.format(slot=who, lang=self.language.lang))
            self._people[who] = self._make(who, ROLES[base_of(who)])
        return self._people.pop(who) if who == "eponym" else self._people[who]

    def _make(self, who: str, role: Role) -> Person:
        """Draw a person."""
        sex = self._sex(who, role)
        born = self._born(who, role)
        given, surnames = self._names(sex)
        if role.kin:
            family = FAMILIES[self.language.get("names", "family", "shared")]
            surnames = family(self.person("patient"), role.kin, sex, surnames, self.rng)
        return Person(who, role, sex, born, given, surnames, self._place(role))

    def _sex(self, who: str, role: Role) -> str:
        """Draw a sex, or follow the role and the directives."""
        if who == "patient" and "sex" in self._directives:
            return self._directives["sex"]
        if role.sex == "other":
            same = self.rng.random() < 0.04
            return self.person("patient").sex if same else _other(self.person("patient").sex)
        return role.sex or self.rng.choice(("female", "male"))

    def _born(self, who: str, role: Role) -> date:
        """Draw a day of birth that agrees with the note and the patient's age."""
        low, high = role.ages
        if who == "patient":
            low, high = map(int, self._directives.get("age", f"{self._youngest}..{self._oldest}").split(".."))
            age = self._age(low, high)
        elif role.gap:
            age = self.person("patient").age(self.day) + self.rng.randint(*role.gap)
            age = min(max(age, low), high)
        else:
            age = self.rng.randint(low, high)
        return self.day - timedelta(days=int(age * 365.25) + self.rng.randrange(1, 364))

    def _age(self, low: int, high: int) -> int:
        """Draw a patient's age: mostly old, sometimes of any age."""
        if self.rng.random() < 0.5:
            return self.rng.randint(low, high)
        return int(self.rng.triangular(low, high, low + 0.72 * (high - low)))

    def _names(self, sex: str) -> tuple[str, tuple[str, ...]]:
        """Draw a given name and family names, of a group of origin now and then."""
        settings = self.language.settings.get("names", {})
        groups = read_origins(self.language.lang)
        count = 2 if settings.get("family") == "double" else 1
        if groups and self.rng.random() < settings.get("origin_share", 0.0):
            group = groups[self.rng.choice(sorted(groups))]
            doubled = count if self.rng.random() < 0.5 else 1
            return self.rng.choice(group[sex]), tuple(self.rng.choice(group["surname"]) for _ in range(doubled))
        return self.draw_name(sex), tuple(self.draw_name("surname") for _ in range(count))

    def draw_name(self, part: str) -> str:
        """Draw one name: by frequency, or one that is a word or a medical term as well.

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

    def _place(self, role: Role) -> Mapping[str, str]:
        """Draw where somebody lives: relatives often with the patient, the patient near the hospital."""
        rows = self.language.lists.get("places")
        if not rows:
            return {}
        if role.kin and self.rng.random() < 0.6:
            return self.person("patient").place
        if role is ROLES["patient"] and self.rng.random() < 0.5:
            return self.person("hospital").place
        return self.row(rows)

    def row(self, rows: tuple[Mapping[str, str], ...]) -> Mapping[str, str]:
        """Draw a row of a list. One in ten of a long list is kept for the test.

        rows (tuple[Mapping[str, str], ...]): the list.
        RETURNS (Mapping[str, str]): the row.
        """
        while True:
            row = self.rng.choice(rows)
            kept = len(rows) >= 100 and stable_hash(next(iter(row.values()))) % 10 == 0
            if self.split == "test" or not kept:
                return row


def _other(sex: str) -> str:
    return "male" if sex == "female" else "female"


def _double(patient: Person, kin: str, sex: str, own: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """Two family names, the father's first and the mother's first."""
    first, second = patient.surnames[0], patient.surnames[-1]
    if kin == "parent":
        return (first, own[-1]) if sex == "male" else (second, own[-1])
    if kin == "sibling":
        return patient.surnames
    if kin == "child":
        return (first, own[-1]) if patient.sex == "male" else (own[0], first)
    return own


def _shared(patient: Person, kin: str, sex: str, own: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    """One family name for parents and children, and for most couples."""
    return patient.surnames if rng.random() < (0.65 if kin == "spouse" else 0.85) else own


Family = Callable[[Person, str, str, tuple[str, ...], Random], tuple[str, ...]]
FAMILIES: Mapping[str, Family] = MappingProxyType({"double": _double, "shared": _shared})
