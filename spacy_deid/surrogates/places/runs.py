"""The words of an institution's name, sorted: what tells the kind stays, what is proper to the one is replaced."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..persons import fold
from .acronyms import is_acronym
from .gazetteer import ABROAD, Place, load_words
from .geography import Geography
from .writing import tokens

__all__ = ["Run", "kinds_of", "sort_words"]

Sort = Literal["kind", "small", "place", "proper", "number", "acronym"]
_ROMAN = re.compile(r"[IVX]{1,5}")
_MONTHS = frozenset("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split())
_LONGEST_PLACE = 5
_LARGE = 3  # band of a town of 30,000
_BEFORE_PLACES = frozenset("de d en of at in".split())
_NOT_TOWNS = frozenset("san santa santo la el los las nuestra virgen".split())


@dataclass(slots=True)
class Run:
    """Words that belong together.

    gap (str): what stands before.
    text (str): the words with what stands between them.
    sort (str): "kind" and "small" words stay; a "place", a "proper" name, a "number" and an "acronym" do not.
    place (Optional[Place]): the place.
    """

    gap: str
    text: str
    sort: Sort
    place: Place | None = None


@cache
def kinds_of(lang: str, key: str = "kinds") -> frozenset[str]:
    """The words that tell what an institution is, or those between names, folded."""
    text = str(load_words(lang).get("institutions", {}).get(key, ""))
    return frozenset(fold(word) for word in text.split())


def sort_words(core: str, geography: Geography, lang: str) -> list[Run]:
    """Sort the words of a name, and join those that belong together.

    core (str): the name of an institution.
    geography (Geography): knows places.
    lang (str): ISO 639-1 code.
    RETURNS (list[Run]): in order; joined they give the name again.
    """
    words = tokens(core)
    mixed = not (core.isupper() or core.islower())
    runs: list[Run] = []
    i = 0
    while i < len(words):
        found = _place_at(words, i, geography, mixed)
        if found and _may_be_place(found[1], words[i][1], runs, geography.lang):
            length, place = found
            runs.append(Run(words[i][0], _join(words[i : i + length]), "place", place))
            i += length
            continue
        following = words[i + 1][1] if i + 1 < len(words) else ""
        runs.append(Run(*words[i], _sort(words[i][1], following, lang, mixed)))
        i += 1
    return list(_joined(runs))


def _join(words: Sequence[tuple[str, str]]) -> str:
    """Words with what stands between them."""
    return words[0][1] + "".join(gap + word for gap, word in words[1:])


def _place_at(
    words: Sequence[tuple[str, str]], start: int, geography: Geography, mixed: bool
) -> tuple[int, Place] | None:
    """The longest place that begins at a word: its number of words, and the place."""
    if not words[start][1][:1].isalpha() or (mixed and not words[start][1][0].isupper()):
        return None
    for length in range(min(_LONGEST_PLACE, len(words) - start), 0, -1):
        text = _join(words[start : start + length])
        if len(text) > 2 and (found := geography.find(text)):
            return length, found[0]
    return None


def _may_be_place(place: Place, word: str, runs: Sequence[Run], lang: str) -> bool:
    """Whether a place of a list is meant as one.

    Behind "de" or "of" it is; after a word for the kind, if it is a town or region that everybody knows; elsewhere a
    town's name is more often that of a saint or of a person.
    """
    last = runs[-1] if runs else None
    named = next((run for run in reversed(runs) if run.sort != "small"), None)
    large = place.band >= _LARGE and not place.region.startswith(ABROAD)
    if last is not None and last.sort == "small" and fold(last.text) in _BEFORE_PLACES:
        return named is None or named.sort != "proper" or large
    if (last is not None and last.sort in ("proper", "small")) or fold(word) in kinds_of(lang) | kinds_of(
        lang, "titles"
    ):
        return False
    titled = last is not None and fold(last.text) in kinds_of(lang, "titles")
    if lang == "es":
        return large and not titled and fold(word) not in _NOT_TOWNS
    return not titled


def _sort(word: str, following: str, lang: str, mixed: bool) -> Sort:
    """The sort of one word."""
    folded = fold(word)
    if folded in kinds_of(lang, "titles"):
        named = fold(following) not in kinds_of(lang) | kinds_of(lang, "small") or fold(following) in ("de", "del")
        return "kind" if following and named else "proper"
    if not word or folded in kinds_of(lang, "small"):
        return "small"
    if folded.removesuffix("'s").removesuffix("’s") in kinds_of(lang) or folded in kinds_of(lang):
        return "kind"
    if mixed and len(word) == 1 and word.islower():
        return "small"
    if word[0].isdigit() or (len(word) == 1 and word.isalpha()) or _ROMAN.fullmatch(word):
        return "number"
    if mixed and word.islower() and folded not in _MONTHS:
        return "kind"
    return "acronym" if mixed and is_acronym(word) else "proper"


def _joined(runs: Sequence[Run]) -> Iterator[Run]:
    """Join proper words with those beside them and the small words between them."""
    waiting: list[Run] = []  # small words that may stand within a name
    last: Run | None = None
    for run in runs:
        inner = run.sort == "proper" or (run.sort == "number" and fold(run.text) in _MONTHS)
        if last is not None and last.sort == "proper" and inner and all(not w.gap.strip(" ") for w in (*waiting, run)):
            last.text += "".join(w.gap + w.text for w in (*waiting, run))
            waiting = []
        elif last is not None and last.sort == "proper" and run.sort == "small" and run.text:
            waiting.append(run)
        else:
            if last is not None:
                yield last
            yield from waiting
            waiting, last = [], run
    if last is not None:
        yield last
    yield from waiting
