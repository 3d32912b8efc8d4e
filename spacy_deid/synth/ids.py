"""Identifiers that pass the checks of their kind: letters, check digits, dates of birth inside.

A language names the kinds of an attribute in language.toml (``ids = ["dni", "nie"]``). A name that is no kind is a
pattern: "#" a digit, "@" a capital letter, everything else itself.
"""

from collections.abc import Callable, Mapping
from datetime import date
from random import Random
from types import MappingProxyType

__all__ = ["KINDS", "Bearer", "fill_pattern", "make_id"]

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_PLATE_LETTERS = "BCDFGHJKLMNPRSTVWXYZ"
_MBI_LETTERS = "ACDEFGHJKMNPQRTUVWXY"
_VIN_CHARACTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
_VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


class Bearer:
    """Whom an identifier is made for.

    sex (str): "male" or "female".
    born (date): day of birth.
    zip (str): postal code, where an identifier begins with the province; "" otherwise.
    initials (str): of the name, without accents.
    """

    __slots__ = ("born", "initials", "sex", "zip")

    def __init__(self, sex: str, born: date, zip: str = "", initials: str = "") -> None:
        self.sex, self.born, self.zip, self.initials = sex, born, zip, initials


Maker = Callable[[Random, Bearer], str]


def fill_pattern(pattern: str, rng: Random) -> str:
    """Fill a pattern.

    pattern (str): "#" a digit, "@" a capital letter, everything else itself.
    rng (Random): the source of chance.
    RETURNS (str): the identifier.
    """
    draw = {"#": lambda: str(rng.randrange(10)), "@": lambda: rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ")}
    return "".join(draw[char]() if char in draw else char for char in pattern)


def make_id(kind: str, rng: Random, bearer: Bearer) -> str:
    """Make an identifier.

    kind (str): a name of `KINDS`, or a pattern.
    rng (Random): the source of chance.
    bearer (Bearer): whose it is.
    RETURNS (str): the identifier.
    """
    return KINDS[kind](rng, bearer) if kind in KINDS else fill_pattern(kind, rng)


def _luhn(digits: str) -> str:
    """The check digit that Luhn's rule wants behind the digits (ISO/IEC 7812-1)."""
    values = [int(digit) for digit in reversed(digits)]
    total = sum(values[1::2]) + sum(sum(divmod(2 * value, 10)) for value in values[0::2])
    return str(-total % 10)


def _dni(rng: Random, _: Bearer) -> str:
    number = rng.randrange(10_000_000, 80_000_000)
    letter = _DNI_LETTERS[number % 23]
    dotted = f"{number:,}".replace(",", ".")
    return rng.choice([f"{number}{letter}"] * 4 + [f"{number}-{letter}", f"{number} {letter}", f"{dotted}-{letter}"])


def _nie(rng: Random, _: Bearer) -> str:
    first, number = rng.randrange(3), rng.randrange(10_000_000)
    letter = _DNI_LETTERS[(first * 10_000_000 + number) % 23]
    return rng.choice([f"{'XYZ'[first]}{number:07}{letter}", f"{'XYZ'[first]}-{number:07}-{letter}"])


def _nuss(rng: Random, bearer: Bearer) -> str:
    province = bearer.zip[:2] if bearer.zip[:2].isdecimal() else f"{rng.randrange(1, 53):02}"
    serial = rng.randrange(10_000_000, 100_000_000)
    check = int(f"{province}{serial}") % 97
    return rng.choice(["{} {} {:02}"] * 3 + ["{}{}{:02}", "{}/{}/{:02}", "{}-{}-{:02}"]).format(
        province, serial, check
    )


def _cip(rng: Random, bearer: Bearer) -> str:
    """Health card of the Spanish regions: four letters of the name, birth with 40 added to the day of a woman."""
    day = bearer.born.day + (40 if bearer.sex == "female" else 0)
    letters = (bearer.initials.upper() + "XXXX")[:4]
    return f"{letters}{bearer.born:%y%m}{day:02}{rng.randrange(1_000_000):06}"


def _colegiado(rng: Random, bearer: Bearer) -> str:
    province = bearer.zip[:2] if bearer.zip[:2].isdecimal() else f"{rng.randrange(1, 53):02}"
    return rng.choice([f"{province} {province} {rng.randrange(100_000):05}", f"{province}{rng.randrange(100_000):05}"])


def _plate_es(rng: Random, _: Bearer) -> str:
    letters = "".join(rng.choice(_PLATE_LETTERS) for _ in range(3))
    return f"{rng.randrange(10_000):04}{rng.choice([' ', '', '-'])}{letters}"


def _hetu(rng: Random, bearer: Bearer) -> str:
    # Since 2023 a century has further signs, for when the old ones run out.
    sign = rng.choice({18: "+", 19: "-----YXWVU", 20: "AAAAABCDEF"}[bearer.born.year // 100])
    serial = rng.randrange(1, 449) * 2 + (bearer.sex == "male")
    digits = f"{bearer.born:%d%m%y}"
    return f"{digits}{sign}{serial:03}{_HETU_CHARACTERS[int(f'{digits}{serial:03}') % 31]}"


def _business_id_fi(rng: Random, _: Bearer) -> str:
    while True:
        digits = f"{rng.randrange(1_000_000, 4_000_000)}"
        rest = sum(int(d) * w for d, w in zip(digits, (7, 9, 10, 5, 8, 4, 2), strict=True)) % 11
        if rest != 1:
            return f"{digits}-{(11 - rest) % 11}"


def _ssn(rng: Random, _: Bearer) -> str:
    area = rng.choice([number for number in range(1, 900) if number != 666])
    group, serial = rng.randrange(1, 100), rng.randrange(1, 10_000)
    return rng.choice(["{:03}-{:02}-{:04}"] * 4 + ["{:03} {:02} {:04}", "{:03}{:02}{:04}"]).format(area, group, serial)


def _npi(rng: Random, _: Bearer) -> str:
    digits = f"{rng.choice('12')}{rng.randrange(100_000_000):08}"
    return digits + _luhn("80840" + digits)


def _dea(rng: Random, bearer: Bearer) -> str:
    digits = [rng.randrange(10) for _ in range(6)]
    check = (sum(digits[0::2]) + 2 * sum(digits[1::2])) % 10
    return f"{rng.choice('ABFM')}{(bearer.initials[-1:] or 'X').upper()}{''.join(map(str, digits))}{check}"


def _mbi(rng: Random, _: Bearer) -> str:
    """Medicare Beneficiary Identifier (CMS): positions of letters and digits are fixed."""
    kinds = "CANNANNAANN" if rng.random() < 0.5 else "CAXNAXNAANN"
    draw = {"C": "123456789", "A": _MBI_LETTERS, "N": "0123456789", "X": _MBI_LETTERS + "0123456789"}
    code = "".join(rng.choice(draw[kind]) for kind in kinds)
    return rng.choice([code, f"{code[:4]}-{code[4:7]}-{code[7:]}"])


def _vin(rng: Random, _: Bearer) -> str:
    code = [rng.choice(_VIN_CHARACTERS) for _ in range(17)]
    values = [int(char) if char.isdecimal() else _VIN_VALUES[char] for char in code]
    total = sum(value * weight for value, weight in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return "".join([*code[:8], "X" if total == 10 else str(total), *code[9:]])


def _iban(country: str, digits: int) -> Maker:
    """IBAN of a country: modulo 97 is 1 (ISO 13616)."""

    def make(rng: Random, _: Bearer) -> str:
        account = "".join(str(rng.randrange(10)) for _ in range(digits))
        moved = "".join(str(int(char, 36)) for char in f"{account}{country}00")
        code = f"{country}{98 - int(moved) % 97:02}{account}"
        return rng.choice([code, " ".join(code[i : i + 4] for i in range(0, len(code), 4))])

    return make


def _card(rng: Random, _: Bearer) -> str:
    digits = rng.choice("45") + "".join(str(rng.randrange(10)) for _ in range(14))
    digits += _luhn(digits)
    return rng.choice([digits, " ".join(digits[i : i + 4] for i in range(0, 16, 4))])


def _imei(rng: Random, _: Bearer) -> str:
    digits = "35" + "".join(str(rng.randrange(10)) for _ in range(12))
    return digits + _luhn(digits)


def _ip(rng: Random, _: Bearer) -> str:
    return f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _mac(rng: Random, _: Bearer) -> str:
    return ":".join(f"{rng.randrange(256):02X}" for _ in range(6))


KINDS: Mapping[str, Maker] = MappingProxyType(
    {
        "business_id_fi": _business_id_fi,
        "card": _card,
        "cip": _cip,
        "colegiado": _colegiado,
        "dea": _dea,
        "dni": _dni,
        "hetu": _hetu,
        "iban_es": _iban("ES", 20),
        "iban_fi": _iban("FI", 14),
        "imei": _imei,
        "ip": _ip,
        "mac": _mac,
        "mbi": _mbi,
        "nie": _nie,
        "npi": _npi,
        "nuss": _nuss,
        "plate_es": _plate_es,
        "ssn": _ssn,
        "vin": _vin,
    }
)
