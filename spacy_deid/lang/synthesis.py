"""Types and helpers for the functions that invent valid identifiers for synthetic notes.

The functions themselves are `LanguageData.id_makers`. They get a source of randomness and the person (`IdBearer`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from random import Random

from .identifiers import finish_iban


@dataclass(frozen=True, slots=True)
class IdBearer:
    """The invented person for whom an identifier is made.

    sex (str): "male" or "female".
    born (date): date of birth.
    zip (str): postal code, for identifiers that contain a province; "" if unknown.
    initials (str): first letters of the surnames, without accents.
    """

    sex: str
    born: date
    zip: str = ""
    initials: str = ""


IdMaker = Callable[[Random, IdBearer], str]
"""Makes a valid identifier: (source of randomness, person) → identifier."""


def draw_digits(rng: Random, count: int) -> str:
    """Draw a string of ``count`` random digits."""
    return "".join(str(rng.randrange(10)) for _ in range(count))


def make_iban(country: str, digits: int) -> IdMaker:
    """Return a function that makes IBANs of a country (ISO 13616).

    country (str): ISO 3166 code.
    digits (int): number of digits after the check digits.
    RETURNS (Callable): makes a random IBAN, written in one piece or in groups of four.
    """

    def make(rng: Random, bearer: IdBearer) -> str:
        code = finish_iban(f"{country}00{draw_digits(rng, digits)}")
        return rng.choice([code, " ".join(code[i : i + 4] for i in range(0, len(code), 4))])

    return make
