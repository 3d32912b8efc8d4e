"""Identifiers of the United States for synthetic notes."""

from random import Random

from ..identifiers import luhn
from ..synthesis import IdBearer

_MBI_LETTERS = "ACDEFGHJKMNPQRTUVWXY"


def make_ssn(rng: Random, bearer: IdBearer) -> str:
    """Make a social security number."""
    area = rng.choice([number for number in range(1, 900) if number != 666])
    group, serial = rng.randrange(1, 100), rng.randrange(1, 10_000)
    return rng.choice(["{:03}-{:02}-{:04}"] * 4 + ["{:03} {:02} {:04}", "{:03}{:02}{:04}"]).format(area, group, serial)


def make_npi(rng: Random, bearer: IdBearer) -> str:
    """Make a National Provider Identifier."""
    digits = f"{rng.choice('12')}{rng.randrange(100_000_000):08}"
    return digits + luhn("80840" + digits)


def make_dea(rng: Random, bearer: IdBearer) -> str:
    """Make a DEA number with the first letter of the surname."""
    digits = [rng.randrange(10) for _ in range(6)]
    check = (sum(digits[0::2]) + 2 * sum(digits[1::2])) % 10
    return f"{rng.choice('ABFM')}{(bearer.initials[-1:] or 'X').upper()}{''.join(map(str, digits))}{check}"


def make_mbi(rng: Random, bearer: IdBearer) -> str:
    """Make a Medicare Beneficiary Identifier (CMS), whose positions of letters and digits are fixed."""
    kinds = "CANNANNAANN" if rng.random() < 0.5 else "CAXNAXNAANN"
    draw = {"C": "123456789", "A": _MBI_LETTERS, "N": "0123456789", "X": _MBI_LETTERS + "0123456789"}
    code = "".join(rng.choice(draw[kind]) for kind in kinds)
    return rng.choice([code, f"{code[:4]}-{code[4:7]}-{code[7:]}"])


ID_MAKERS = {"dea": make_dea, "mbi": make_mbi, "npi": make_npi, "ssn": make_ssn}
