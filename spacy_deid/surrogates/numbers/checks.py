"""Check digits and letters of identifiers, computed. `spacy_deid.patterns.validators` tests them, with the sources."""

from collections.abc import Sequence

__all__ = [
    "business_check",
    "dea_check",
    "dni_letter",
    "hetu_character",
    "iban_check",
    "luhn",
    "nhs_check",
    "nuss_check",
    "spanish_account_check",
    "vin_check",
]

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_ACCOUNT_WEIGHTS = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def luhn(digits: str) -> str:
    """The digit that Luhn's rule wants behind others (ISO/IEC 7812-1)."""
    values = [int(digit) for digit in reversed(digits)]
    return str(-(sum(values[1::2]) + sum(sum(divmod(2 * value, 10)) for value in values[0::2])) % 10)


def dni_letter(number: int) -> str:
    """The letter of a Spanish DNI; of an NIE with its X, Y, Z as 0, 1, 2."""
    return _DNI_LETTERS[number % 23]


def nuss_check(province: str, serial: str) -> str:
    """The last two digits of a Spanish social security number."""
    short = int(serial) < 10_000_000
    return f"{(int(province) * 10_000_000 + int(serial) if short else int(province + serial)) % 97:02}"


def hetu_character(digits: str) -> str:
    """The last character of a Finnish henkilötunnus, from the date of birth and the individual number."""
    return _HETU_CHARACTERS[int(digits) % 31]


def business_check(digits: str) -> str | None:
    """The last digit of a Finnish Y-tunnus, from the seven before it; None for a number that is never given."""
    rest = _weighted(digits, (7, 9, 10, 5, 8, 4, 2)) % 11
    return None if rest == 1 else str((11 - rest) % 11)


def nhs_check(digits: str) -> str | None:
    """The last digit of an NHS number, from the nine before it; None for a number that is never given."""
    check = (11 - _weighted(digits, range(10, 1, -1)) % 11) % 11
    return None if check == 10 else str(check)


def dea_check(digits: str) -> str:
    """The last digit of a DEA registration, from the six before it."""
    return str((sum(map(int, digits[0::2])) + 2 * sum(map(int, digits[1::2]))) % 10)


def vin_check(code: str) -> str:
    """The ninth character of a vehicle identification number of North America."""
    values = [int(char) if char.isdecimal() else _VIN_VALUES[char] for char in code]
    total = sum(value * weight for value, weight in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return "X" if total == 10 else str(total)


def iban_check(country: str, account: str) -> str:
    """The two check digits of an IBAN (ISO 13616)."""
    return f"{98 - int(''.join(str(int(char, 36)) for char in f'{account}{country}00')) % 97:02}"


def spanish_account_check(bank: str, account: str) -> str:
    """The two control digits of a Spanish account: of bank and office (eight digits), and of the account (ten)."""
    return "".join(_account_digit(digits) for digits in (f"00{bank}", account))


def _account_digit(digits: str) -> str:
    check = 11 - _weighted(digits, _ACCOUNT_WEIGHTS) % 11
    return {11: "0", 10: "1"}.get(check, str(check))
