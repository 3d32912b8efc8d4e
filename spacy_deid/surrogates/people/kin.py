"""Words of kinship and numbers in mentions of relatives: "hermana de 12 años" becomes "prima de 14 años"."""

from ..keys import IdentityKey
from ..persons import fold
from .choice import Choices
from .words import Part

__all__ = ["replace_kin", "replace_number"]

_OLDEST = 89  # ages above are told to nobody: 45 CFR 164.514(b)(2)(i)(C)
_ADULT = 18


def replace_kin(part: Part, choices: Choices, variant: int) -> str | None:
    """Another word of kinship of the same sex, number and generation.

    part (Part): the word.
    choices (Choices): the surrogates of the note.
    variant (int): as the mention has it.
    RETURNS (Optional[str]): in lower case; None if there is none that may be.
    """
    words = choices.customs.kin[part.folded]
    shuffled = choices.key.draw("person", "kin", part.folded, str(variant)).shuffled(words)
    return next((w for w in shuffled if fold(w) != part.folded and not choices.forbidden(w)), None)


def replace_number(text: str, age: bool, key: IdentityKey, variant: int) -> str:
    """Another number of as many digits.

    text (str): the digits.
    age (bool): whether it is an age, which stays about the same.
    key (IdentityKey): the key of the patient.
    variant (int): as the mention has it.
    RETURNS (str): the digits.
    """
    draw = key.draw("person", "number", text, str(variant))
    if age and text.isascii() and len(text) < 4:
        return _near(int(text), draw.below(3) + 1, draw.chance(0.5))
    while True:
        digits = "".join(str(draw.below(10)) for _ in text)
        if digits != text:
            return digits


def _near(age: int, step: int, up: bool) -> str:
    """An age a few years off, on the same side of majority."""
    if age > _OLDEST:
        return "90" if age != 90 else "91"
    near = age + step if up or age <= step else age - step
    if (near >= _ADULT) != (age >= _ADULT):
        near = age - step if near > age else age + step
    return str(min(max(near, 1), _OLDEST) if near != age else age + 1)
