"""Surrogates of numbers that identify a person: identifiers, telephone numbers, network and web addresses.

Letters stay letters and digits digits, check digits are valid, and separators, blanks, line breaks and case stay. A
number has the same surrogate in all notes of a patient, however it is written.

Telephone numbers, henkilötunnus, SSN and network addresses are drawn from reserved ranges, so that no surrogate is
somebody else's number. An attacker can recognize such a surrogate, and with it the originals that were overlooked.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ...lang.identifiers import MoveDate
from ...lang.text import fold
from ..calendar.shifting import DateRules, Shift
from ..keys import FormatPreservingCipher, IdentityKey
from ..mention import Mention
from .addresses import read_address, read_web_address
from .identifiers import move_birth, read_identifier
from .phones import read_phone

LABELS = frozenset(
    "PHONE FAX SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE "
    "BIOMETRIC ID_OTHER URL IP_ADDRESS".split()
)
"""The labels that `replace_ids` replaces."""

_OLDEST = 90


class ParsedNumber(Protocol):
    """A number of a mention.

    identity (str): the number without its spelling; equal numbers have equal surrogates.
    """

    identity: str

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield surrogates, the preferred first, in a form that every mention of the number can write."""

    def write(self, value: str) -> str:
        """Replace the number by a surrogate. RETURNS (str): the whole mention with the surrogate."""


def replace_ids(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    rules: DateRules | None = None,
) -> list[str | None]:
    """Replace the numbers of a note.

    mentions (Sequence[Mention]): all mentions with a label of `LABELS`, in the order of the text. No two of their
        numbers get the same surrogate.
    key (IdentityKey): key of the patient.
    lang (str): language code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    rules (Optional[DateRules]): how dates of birth within identifiers move; None for the default rules.
    RETURNS (list[Optional[str]]): for each mention a surrogate; None for words instead of a number, or if no surrogate
        is free.
    RAISES: ConfigError (D670) if the cipher's package is not installed.
    """
    rules = rules or DateRules()
    year = rules.reference.year if rules.reference else rules.year
    move = move_birth(Shift.draw(key, rules).days, max(year - _OLDEST, 0))
    taken = {_bare(mention.text) for mention in mentions}
    cipher, made = FormatPreservingCipher(key), dict[tuple[type[ParsedNumber], str, int], str | None]()
    out: list[str | None] = []
    for mention in mentions:
        number = _read(mention, lang, move)
        if number is None:
            out.append(None)
            continue
        decision = (type(number), number.identity, mention.variant)
        if decision not in made:
            made[decision] = None
            for value in number.candidates(cipher, mention.variant):
                written = number.write(value)
                bare = {_bare(value), _bare(written)}
                if not bare & taken and not forbidden(written):
                    taken |= bare
                    made[decision] = value
                    break
        value_made = made[decision]
        out.append(None if value_made is None else number.write(value_made))
    return out


def _read(mention: Mention, lang: str, move: MoveDate) -> ParsedNumber | None:
    """Read a mention by its label; an invalid address is read as an identifier."""
    text, label = mention.text, mention.label
    found: ParsedNumber | None = None
    if label in ("PHONE", "FAX"):
        return read_phone(text, lang)
    if label == "URL":
        found = read_web_address(text)
    elif label in ("IP_ADDRESS", "DEVICE"):
        found = read_address(text)
    return found or read_identifier(text, label, lang, move)


def _bare(text: str) -> str:
    """Return the folded letters and digits, so that all spellings of a number are equal."""
    return "".join(char for char in fold(text) if char.isalnum())
