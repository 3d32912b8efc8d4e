"""Search the content of a written copy for removed text, before the copy is released."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import ahocorasick

from ..errors import DeidError, Errors
from .document import ExtractedText
from .visible_text import read_as_seen

LONG = 6  # characters from which an identifier is searched for within words; shorter ones match by coincidence
_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """Normalize a text for comparison: only letters and digits, in lower case, without accents and ligatures."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in plain if char.isalnum())


def check_removed(
    found: Iterable[ExtractedText],
    removed: Mapping[str, str] | Sequence[str],
    released: str = "",
    identifiers: Sequence[str] = (),
) -> None:
    """Check that no removed string still occurs in a copy.

    found (Iterable[ExtractedText]): everything that can be extracted from the copy.
    removed, released, identifiers: as in `formats.verify`.
    RAISES: DeidError (D714) with its place and label, if one does.
    """
    words = {spelled for text in identifiers if len(fold(spelled := _words(text))) < LONG}
    labels = removed if isinstance(removed, Mapping) else dict.fromkeys(removed, "")
    wanted = {fold(text): label for text, label in labels.items()}
    strict = {folded: "an identifier" for text in identifiers if len(folded := fold(text)) >= LONG}
    wanted |= strict
    automaton = ahocorasick.Automaton()  # finds all strings at once, since a table can have 100,000
    for string in filter(None, wanted):
        automaton.add_word(string, string)
    if len(automaton):
        automaton.make_automaton()

    def count_strings(text: str) -> Counter[str]:
        return Counter(string for _, string in automaton.iter(fold(text))) if len(automaton) else Counter()

    allowed = count_strings(released)
    for place, raw, min_length in found:
        # with right-to-left overrides, the text is searched in visual order too
        reading = read_as_seen(raw) if "\u202e" in raw else None
        for text in (raw, reading.text) if reading else (raw,):
            spelled = _words(text) if words else ""
            if any(len(fold(word)) >= min_length and word in spelled for word in words):
                raise _withheld_error(place, "an identifier")
            for string, count in count_strings(text).items():
                if len(string) >= min_length and (string in strict or count > allowed[string]):
                    raise _withheld_error(place, wanted[string] or "a removed string")


def _withheld_error(place: str, label: str) -> DeidError:
    """Return the error for a copy in which removed text was found at `place`, with advice on what to do."""
    remedy = Errors.D724 if "picture" in place else Errors.D725
    return DeidError(Errors.D714.format(place=place, label=label, remedy=remedy))


def absent_identifiers(identifiers: Sequence[str], released: str) -> list[str]:
    """Return the identifiers that do not occur in the released text and must therefore not occur anywhere in the copy.

    Some known identifiers of a patient may remain in the text: a policy may keep countries, and a surname can be part
    of the name of a disease.
    """
    folded, spelled = fold(released), _words(released)

    def stays(text: str) -> bool:
        return _words(text) in spelled if len(fold(text)) < LONG else fold(text) in folded

    return [text for text in identifiers if not stays(text)]


def _words(text: str) -> str:
    """Return the folded words of a text with a blank around each, so that only whole words are found in the result."""
    return " ".join(["", *map(fold, _WORD.findall(unicodedata.normalize("NFKC", text))), ""])
