"""What was written is opened again and searched for what was removed, before anybody gets it."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from ..errors import DeidError, Errors
from .document import Found, WriteSettings
from .kinds import format_of

__all__ = ["fold", "search", "verify"]


def fold(text: str) -> str:
    """A text without what a reader might change: case, accents, white space, punctuation, ligatures.

    text (str): any text.
    RETURNS (str): letters and digits only, in lower case.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in plain if char.isalnum())


def verify(
    data: bytes,
    kind: str,
    removed: Mapping[str, str] | Sequence[str],
    settings: WriteSettings,
    released: str = "",
    identifiers: Sequence[str] = (),
) -> None:
    """Search everything that can be got out of a file for removed strings.

    data (bytes): the file.
    kind (str): its kind.
    removed (Mapping[str, str] | Sequence[str]): what was removed, with its labels if known.
    settings (WriteSettings): how thoroughly.
    released (str): the text that the file should hold. A removed string may stand somewhere as often as it does here:
        a surrogate may be another's name, a word be a name in one place only.
    identifiers (Sequence[str]): what may stand nowhere.
    RAISES: DeidError (D714) for the first string that is found, with place and label, never the string.
    """
    search(format_of(kind, "copy").extract(data, settings), removed, released, identifiers)


def search(
    found: Iterable[Found],
    removed: Mapping[str, str] | Sequence[str],
    released: str = "",
    identifiers: Sequence[str] = (),
) -> None:
    """Search texts for removed strings.

    found (Iterable[Found]): the texts and where they stand.
    removed, released, identifiers: as in `verify`.
    RAISES: DeidError (D714).
    """
    labels = removed if isinstance(removed, Mapping) else dict.fromkeys(removed, "")
    allowed = fold(released)
    wanted = {fold(text): label for text, label in labels.items()}
    counts = {text: allowed.count(text) for text in wanted}
    for text in map(fold, identifiers):
        wanted[text], counts[text] = "an identifier", 0
    for place, text, least in found:
        there = fold(text)
        for string, label in wanted.items():
            if len(string) >= least and there.count(string) > counts[string]:
                raise DeidError(Errors.D714.format(place=place, label=label or "a removed string"))
