"""Check digits and number ranges of identifiers of the United States and the United Kingdom."""

from ..validation import is_dmy, is_luhn, read_digits


def is_nhs_number(text: str) -> bool:
    """Whether a text is an NHS number of England and Wales: modulo 11 (NHS Data Dictionary)."""
    digits = read_digits(text)
    if len(digits) != 10 or len(set(digits)) == 1 or any(map(str.isalpha, text)):  # "260601E4391" is a hetu
        return False
    check = 11 - sum(digit * weight for digit, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return check % 11 == digits[9]


def is_chi(text: str) -> bool:
    """Whether a text is a Scottish CHI number: date of birth and modulo 11 (Public Health Scotland)."""
    code = "".join(map(str, read_digits(text)))
    return is_nhs_number(code) and is_dmy(f"{code[:2]}.{code[2:4]}.{code[4:6]}")


def is_npi(text: str) -> bool:
    """Whether a text is a US National Provider Identifier: Luhn with the prefix 80840 (45 CFR 162.406)."""
    code = "".join(map(str, read_digits(text)))
    return len(code) == 10 and code[0] in "12" and is_luhn("80840" + code)


def is_dea(text: str) -> bool:
    """Whether a text is a US DEA number: the last digit of d1+d3+d5 + 2(d2+d4+d6) (DEA Diversion Control)."""
    digits = read_digits(text)
    return len(digits) == 7 and (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def is_ssn(text: str) -> bool:
    """Whether a text can be a US social security number: areas 000, 666, 900–999 and zero groups are unused (SSA)."""
    code = "".join(map(str, read_digits(text)))
    area, group, serial = code[:3], code[3:5], code[5:]
    return len(code) == 9 and area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


VALIDATORS = {"nhs": is_nhs_number, "chi": is_chi, "npi": is_npi, "dea": is_dea, "ssn": is_ssn}
