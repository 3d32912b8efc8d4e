"""TODO."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import ahocorasick

from ..errors import DeidError, Errors
from .document import ExtractedText
from .visible_text import read_as_seen

LONG = 6  # letters of an identifier from which it is looked for within words; shorter ones are parts of many
_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """A text without what a reader might change: case, accents, white space, punctuation, ligatures.

    text (str): any text.
    RETURNS (str): letters and digits only, in lower case.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in plain if char.isalnum())


def check_removed(
    found: Iterable[ExtractedText],
    removed: Mapping[str, str] | Sequence[str],
    released: str = "",
    identifiers: Sequence[str] = (),
) -> None:
    """Search texts for removed strings.

    found (Iterable[Found]): the texts and where they stand.
    removed, released, identifiers: as in `verify`.
    RAISES: DeidError (D714).
    """
    words = {spelled for text in identifiers if len(fold(spelled := _words(text))) < LONG}
    labels = removed if isinstance(removed, Mapping) else dict.fromkeys(removed, "")
    wanted = {fold(text): label for text, label in labels.items()}
    strict = {folded: "an identifier" for text in identifiers if len(folded := fold(text)) >= LONG}
    wanted |= strict
    automaton = _automaton(wanted)
    allowed = _count(automaton, released)
    for place, text, min_length in _as_seen(found):
        spelled = _words(text) if words else ""
        if any(len(fold(word)) >= min_length and word in spelled for word in words):
            raise _withheld(place, "an identifier")
        for string, count in _count(automaton, text).items():
            if len(string) >= min_length and (string in strict or count > allowed[string]):
                raise _withheld(place, wanted[string] or "a removed string")


def _as_seen(found: Iterable[ExtractedText]) -> Iterator[ExtractedText]:
    """The texts, and those that controls of writing direction turn round also as they are seen."""
    for one in found:
        yield one
        reading = read_as_seen(one.text) if "\u202e" in one.text else None
        if reading is not None:
            yield one._replace(text=reading.text)


def _withheld(place: str, label: str) -> DeidError:
    """The error for a copy that still holds something, with what can be done about it."""
    remedy = Errors.D724 if "picture" in place else Errors.D725
    return DeidError(Errors.D714.format(place=place, label=label, remedy=remedy))


def absent_identifiers(identifiers: Sequence[str], released: str) -> list[str]:
    """Those identifiers that may stand nowhere in a copy, because its text does not hold them.

    identifiers (Sequence[str]): what is known of a patient. Some of it may have stayed: a policy keeps countries, a
        surname can be the name of a disease.
    released (str): the text of the copy.
    RETURNS (list[str]): the others.
    """
    folded, spelled = fold(released), _words(released)

    def stays(text: str) -> bool:
        return _words(text) in spelled if len(fold(text)) < LONG else fold(text) in folded

    return [text for text in identifiers if not stays(text)]


def _words(text: str) -> str:
    """The folded words of a text with a blank at each edge."""
    return " ".join(["", *map(fold, _WORD.findall(unicodedata.normalize("NFKC", text))), ""])


def _automaton(strings: Iterable[str]) -> ahocorasick.Automaton | None:
    """What finds all strings at once, None if there are none: a table can have a hundred thousand."""
    automaton = ahocorasick.Automaton()
    for string in strings:
        if string:
            automaton.add_word(string, string)
    if not len(automaton):
        return None
    automaton.make_automaton()
    return automaton


def _count(automaton: ahocorasick.Automaton | None, text: str) -> Counter[str]:
    """How often each string stands in a text, both folded."""
    return Counter() if automaton is None else Counter(string for _, string in automaton.iter(fold(text)))
