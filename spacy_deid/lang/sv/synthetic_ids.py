"""Swedish identifiers for synthetic notes."""

from random import Random

from ..identifiers import luhn
from ..synthesis import IdBearer, make_iban


def make_personnummer(rng: Random, bearer: IdBearer) -> str:
    """Make a personnummer: ten digits with a hyphen (or "+" from a hundred years on), or twelve."""
    serial = rng.randrange(0, 490) * 2 + (bearer.sex == "male")
    digits = f"{bearer.born:%y%m%d}{serial:03}"
    digits += luhn(digits)
    sign = "+" if bearer.born.year < 1927 else "-"
    long = f"{bearer.born.year // 100}{digits}"
    return rng.choice([f"{digits[:6]}{sign}{digits[6:]}", f"{long[:8]}-{long[8:]}", long])


def make_organisationsnummer(rng: Random, bearer: IdBearer) -> str:
    """Make an organisationsnummer of a limited company."""
    digits = f"55{rng.randrange(20, 100)}{rng.randrange(100_000):05}"
    return f"{digits[:6]}-{digits[6:]}{luhn(digits)}"


ID_MAKERS = {
    "personnummer": make_personnummer,
    "organisationsnummer": make_organisationsnummer,
    "iban_se": make_iban("SE", 20),
}
