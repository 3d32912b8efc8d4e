"""Replace numbers that identify a person: identifiers, telephone numbers, network and web addresses.

Letters are replaced by letters and digits by digits; separators, blanks, line ends and case are kept. A number has the
same surrogate in all notes of a patient, however it is written. An exception is the year or the date in a record
number: it is not recognized in a note that only has the number without separators ("20194432").

No surrogate belongs to a real person: it is drawn from a range that is never issued, or its check digit is wrong (the
table in docs/guides/surrogates.md). A disadvantage is that surrogates can be recognized, so an attacker can tell which
numbers in the note are originals that were overlooked.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ...lang.identifiers import MoveDate
from ...lang.text import fold
from ..calendar.rules import DateRules, Shift
from ..keys import FormatPreservingCipher, IdentityKey
from ..mention import Mention
from .addresses import read_address, read_web_address
from .identifiers import Identifier, move_birth, read_identifier
from .phones import read_phone

LABELS = frozenset(
    "PHONE FAX SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE "
    "BIOMETRIC ID_OTHER URL IP_ADDRESS".split()
)
"""The labels that `replace_ids` replaces."""

PHONES = frozenset({"PHONE", "FAX"})
"""The labels of telephone numbers."""

_OLDEST = 90


class ParsedNumber(Protocol):
    """Interface of a number that was read from a mention: it proposes surrogates and writes one in its place.

    identity (str): the number in a normal form, independent of how it is written. Numbers with the same identity
        get the same surrogate.
    """

    identity: str

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield possible surrogates, the preferred one first, which fit every mention of the number.

        cipher (FormatPreservingCipher): the cipher of the patient, from which the surrogates are derived.
        variant (int): variant of the mention; see `Mention`.
        YIELDS (str): surrogates in the form that `write` expects.
        """

    def write(self, value: str) -> str:
        """Return the text of the mention with the number replaced by the surrogate `value`."""


_Decision = tuple[type[ParsedNumber], str, int]
"""What determines a surrogate within a note: class and identity of the number, variant of the mention."""


def replace_ids(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    rules: DateRules | None = None,
    country: str = "",
) -> list[str | None]:
    """Replace identifiers, telephone numbers, and network and web addresses in a note.

    mentions (Sequence[Mention]): all mentions with a label of `LABELS`, in the order of the text. Different
        numbers get different surrogates.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code of the note's language.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate.
    rules (Optional[DateRules]): how dates of birth within identifiers are shifted; None for the default rules.
    country (str): ISO 3166-1 code of the country that the note is from, which tells the country of telephone numbers;
        "" if unknown.
    RETURNS (list[Optional[str]]): for each mention its surrogate; None if the mention is not a number, or no
        unused surrogate was found.
    RAISES: ConfigError (D670) if the package of the cipher is not installed.
    """
    rules = rules or DateRules()
    year = rules.reference.year if rules.reference else rules.year
    shift = Shift.draw(key, rules)
    move = move_birth(shift.days, max(year - _OLDEST, 0))
    taken = {_bare(mention.text) for mention in mentions}
    cipher, made = FormatPreservingCipher(key), dict[_Decision, str | None]()
    numbers = [_read(mention, lang, move, shift.years, country) for mention in mentions]
    sources = _sources(mentions, numbers)
    out: list[str | None] = []
    for mention, number in zip(mentions, numbers, strict=True):
        if number is None:
            out.append(None)
            continue
        decision = (type(number), number.identity, mention.variant)
        if decision not in made:
            made[decision] = None
            for value in sources[decision].candidates(cipher, mention.variant):
                written = number.write(value)
                bare = {_bare(value), _bare(written)}
                if not bare & taken and not forbidden(written):
                    taken |= bare
                    made[decision] = value
                    break
        value_made = made[decision]
        out.append(None if value_made is None else number.write(value_made))
    return out


def _sources(mentions: Sequence[Mention], numbers: Sequence[ParsedNumber | None]) -> dict[_Decision, ParsedNumber]:
    """Choose the spelling that determines the surrogate of each number: the first one, or a later one that shows that
    a number of no known kind contains a year ("2019/4432" after "20194432").
    """
    found: dict[_Decision, ParsedNumber] = {}
    for mention, number in zip(mentions, numbers, strict=True):
        if number is not None:
            first = found.setdefault((type(number), number.identity, mention.variant), number)
            if isinstance(number, Identifier) and number.has_year and isinstance(first, Identifier) and first.is_plain:
                found[type(number), number.identity, mention.variant] = number
    return found


def _read(mention: Mention, lang: str, move: MoveDate, years: int, country: str = "") -> ParsedNumber | None:
    """Parse a mention according to its label. An invalid URL or network address is read as an identifier.
    None if the mention cannot be parsed.
    """
    text, label = mention.text, mention.label
    found: ParsedNumber | None = None
    if label in PHONES:
        return read_phone(text, lang, country)
    if label == "URL":
        found = read_web_address(text)
    elif label in ("IP_ADDRESS", "DEVICE"):
        found = read_address(text)
    return found or read_identifier(text, label, lang, move, years)


def _bare(text: str) -> str:
    """Return the folded letters and digits of a number, which are the same for all its spellings."""
    return "".join(char for char in fold(text) if char.isalnum())
