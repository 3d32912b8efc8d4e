"""Words of kinship and numbers in mentions of relatives: "hermana de 12 años" stays, "madre de 95" becomes "90+"."""

from ..keys import IdentityKey
from .words import Part, Parts

__all__ = ["is_kinship", "replace_number", "stays"]

_OLDEST = 89  # ages above are told to nobody: 45 CFR 164.514(b)(2)(i)(C)


def stays(part: Part) -> bool:
    """Whether a word of a mention of a relative stays because it stays true and names nobody.

    Words of kinship do, as the family history of a disease hangs on them ("madre con cáncer de mama"), and so do words
    beside them, and ages and other numbers up to 89.

    part (Part): the word.
    """
    if part.role == "number":
        return part.text.isascii() and len(part.text) < 3 and int(part.text) <= _OLDEST
    return part.role in ("kin", "kept")


def is_kinship(parts: Parts) -> bool:
    """Whether a mention of a relative names nobody, and stays.

    parts (list[Part]): its words.
    RETURNS (bool): False for a number alone, which may be anything.
    """
    return all(map(stays, parts)) and any(part.role != "number" for part in parts)


def replace_number(text: str, age: bool, key: IdentityKey, variant: int) -> str:
    """Another number of as many digits.

    text (str): the digits.
    age (bool): whether it is an age.
    key (IdentityKey): the key of the patient.
    variant (int): as the mention has it.
    RETURNS (str): the digits; "90+" for an age above 89.
    """
    if age and text.isascii() and len(text) < 4:
        return "90+"
    draw = key.draw("person", "number", text, str(variant))
    while True:
        digits = "".join(str(draw.below(10)) for _ in text)
        if digits != text:
            return digits
