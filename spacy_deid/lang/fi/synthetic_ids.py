"""Finnish identifiers for synthetic notes."""

from random import Random

from ..identifiers import weighted_sum
from ..synthesis import IdBearer, make_iban
from .identifiers import hetu_character

# Since 2023 a century has additional signs, for when the old ones are used up.
_CENTURY_SIGNS = {18: "+", 19: "-----YXWVU", 20: "AAAAABCDEF"}


def make_hetu(rng: Random, bearer: IdBearer) -> str:
    """Make a henkilötunnus with the person's date of birth and sex."""
    sign = rng.choice(_CENTURY_SIGNS[bearer.born.year // 100])
    serial = rng.randrange(1, 449) * 2 + (bearer.sex == "male")
    digits = f"{bearer.born:%d%m%y}"
    return f"{digits}{sign}{serial:03}{hetu_character(f'{digits}{serial:03}')}"


def make_business_id(rng: Random, bearer: IdBearer) -> str:
    """Make a Y-tunnus."""
    while True:
        digits = f"{rng.randrange(1_000_000, 4_000_000)}"
        rest = weighted_sum(digits, (7, 9, 10, 5, 8, 4, 2)) % 11
        if rest != 1:
            return f"{digits}-{(11 - rest) % 11}"


ID_MAKERS = {"business_id_fi": make_business_id, "hetu": make_hetu, "iban_fi": make_iban("FI", 14)}
