"""Check digits of Spanish identifiers."""

from ..validation import compact, read_digits

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def is_dni(text: str) -> bool:
    """Whether a text is a DNI or NIE: the letter is the number modulo 23 (RD 1553/2005; Orden INT/2058/2008)."""
    code = compact(text)
    if code[:1] in ("X", "Y", "Z"):
        code = str("XYZ".index(code[0])) + code[1:]
    number = code[:-1]
    return number.isdecimal() and len(number) in (7, 8) and _DNI_LETTERS[int(number) % 23] == code[-1]


def is_nuss(text: str) -> bool:
    """Whether a text is a social security number: province, serial number, and both modulo 97 (Tesorería General)."""
    code = "".join(map(str, read_digits(text)))
    if len(code) != 12:
        return False
    province, serial, check = code[:2], code[2:10], int(code[10:])
    number = int(province) * 10_000_000 + int(serial) if int(serial) < 10_000_000 else int(province + serial)
    return 1 <= int(province) <= 99 and number % 97 == check


VALIDATORS = {"dni": is_dni, "nuss": is_nuss}
