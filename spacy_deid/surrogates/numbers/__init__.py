"""Numbers that name a person, replaced by others of the same form.

Letters stay letters and digits digits, check digits hold, separators, blanks, line breaks and case stay. One number
has one surrogate in all notes of a patient, however it is written. What the surrogates are drawn from: `chance` (the
format-preserving cipher), `national` and `finnish` (identifiers), `phones`, `network`, `web`.

A number that an attacker can tell for a surrogate, as one of a reserved range, tells which numbers are originals that
were overlooked. Numbers of telephones, henkilötunnus, SSN and addresses of networks are such; nobody is ever taken for
somebody else through them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ..calendar import DateRules, Shift
from ..keys import IdentityKey
from ..mention import Mention
from ..persons import fold
from .chance import Chance
from .finnish import MoveBirth, move_birth
from .identifiers import read_identifier
from .network import read_address
from .phones import read_phone
from .web import read_web_address

__all__ = ["LABELS", "replace_ids"]

LABELS = frozenset(
    "PHONE FAX SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE "
    "BIOMETRIC ID_OTHER URL IP_ADDRESS".split()
)
_OLDEST = 90


class Reading(Protocol):
    """A number that was read.

    identity (str): what it is, however it is written.
    """

    identity: str

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first, in a form that any mention of the number can write."""

    def write(self, value: str) -> str:
        """Write one in the place of the original."""


def replace_ids(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    rules: DateRules | None = None,
) -> list[str | None]:
    """Replace the numbers of a note.

    mentions (Sequence[Mention]): of `LABELS`, in the order of the text. All of a note at once: no two of their numbers
        get the same surrogate.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code, "en-GB" for one of a country.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    rules (Optional[DateRules]): how dates move, for dates of birth within identifiers; None: as they do by default.
    RETURNS (list[Optional[str]]): for each mention a surrogate; None where words stand instead of a number, or no
        surrogate is left.
    RAISES: ConfigError (D670) if the cipher's package is not installed.
    """
    rules = rules or DateRules()
    year = rules.reference.year if rules.reference else rules.year
    move = move_birth(Shift.draw(key, rules).days, max(year - _OLDEST, 0))
    readings = [_read(mention, lang.partition("-")[0], move) for mention in mentions]
    taken = {_bare(mention.text) for mention in mentions}
    chance, made = Chance(key), dict[tuple[type[Reading], str, int], str | None]()
    out: list[str | None] = []
    for mention, reading in zip(mentions, readings, strict=True):
        if reading is None:
            out.append(None)
            continue
        place = (type(reading), reading.identity, mention.variant)
        if place not in made:
            made[place] = _first(reading, mention.variant, chance, forbidden, taken)
        value = made[place]
        out.append(None if value is None else reading.write(value))
    return out


def _read(mention: Mention, lang: str, move: MoveBirth) -> Reading | None:
    """Read a mention by its label. An address that is none is read as any identifier."""
    text, label = mention.text, mention.label
    found: Reading | None = None
    if label in ("PHONE", "FAX"):
        return read_phone(text, lang)
    if label == "URL":
        found = read_web_address(text)
    elif label in ("IP_ADDRESS", "DEVICE"):
        found = read_address(text)
    return found or read_identifier(text, label, lang, move)


def _first(
    reading: Reading, variant: int, chance: Chance, forbidden: Callable[[str], bool], taken: set[str]
) -> str | None:
    """The first surrogate that is neither forbidden nor another one's."""
    for value in reading.candidates(chance, variant):
        written = reading.write(value)
        bare = {_bare(value), _bare(written)}
        if not bare & taken and not forbidden(written):
            taken |= bare
            return value
    return None


def _bare(text: str) -> str:
    """Letters and digits alone, so that two ways to write a number are equal."""
    return "".join(char for char in fold(text) if char.isalnum())
