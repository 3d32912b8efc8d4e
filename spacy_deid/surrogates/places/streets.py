"""Streets: the word for the kind of road, the marks and the floor stay, the name and all numbers change.

"Avda. de Lugo, 21, 7 A" becomes "Avda. de la Encina, 38, 2 D", "12 SE Oak Ct #5" becomes "47 SE Heather Ct #2" and
"Hallakadulla 17 A" becomes "Kettukadulla 42 C": a Finnish name ends in the kind, which keeps its case.
"""

import re
from collections.abc import Mapping
from functools import cache

from ..inflection import inflect
from ..inflection.finnish import CASES
from ..keys import Draw
from ..mention import Mention
from ..persons import fold
from .gazetteer import load_words
from .proper_names import persons_of
from .state import Note
from .writing import dress, redraw, split_marks, tokens

__all__ = ["replace_street"]

_ORDINAL = re.compile(r"(\d+)(st|nd|rd|th)\b", re.IGNORECASE)
_SPANISH = re.compile(
    r"(?P<name>(?:\d+\s+de\s+[^\W\d_]+|[^\d,;#]|\d+(?=\s+de\s+[^\W\d_]{4,}))*?)"
    r"(?P<rest>(?:[\s,;.-]*(?:s\s*/\s*n|(?<!\w)(?:sn\b|n\s?[ºo°]\.?\s*\d|núm|num|no\.\s*\d|km\b)|#|\d)|[,;]).*)?",
    re.IGNORECASE | re.DOTALL,
)
_MARK = re.compile(r"((?<!\w)n\s[ºo°])", re.IGNORECASE)  # "n º 4": its letter is no door
_BOX = re.compile(r"(?:apartado|apdo\.?)(?: (?:de )?correos)?(?=\W)", re.IGNORECASE)
_SAINTS = ("st", "saint")
_PERSONS = 0.5  # share of streets with a name of capitals that get a person's
_NAMED_DAY = re.compile(r"\s*\d+\s+de\s+[^\W\d_]{4,}", re.IGNORECASE)


def replace_street(mention: Mention, note: Note) -> str | None:
    """Replace a street address.

    mention (Mention): label STREET.
    note (Note): what the surrogates of the note share.
    RETURNS (Optional[str]): the surrogate as the mention is written; None if there is none.
    """
    before, core, after = split_marks(mention.text)
    words = load_words(note.lang).get("streets")
    if not core or words is None:
        return None
    make = {"es": _spanish, "fi": _finnish}.get(note.lang, _english)
    context = (fold(core), str(mention.variant))
    made = note.retry("street", lambda draw: make(core, words, draw), *context)
    return before + made + after if made else None


def _spanish(core: str, words: Mapping[str, object], draw: Draw) -> str:
    """Kind, name, numbers: the name is what stands between the kind and the first number."""
    kind, rest = _kind(core, _set(words, "types"))
    day = _NAMED_DAY.match(rest)
    found = _SPANISH.fullmatch(rest[day.end() :] if day else rest)
    name, tail = (found["name"], found["rest"] or "") if found else (rest, "")
    name = day.group() + name if day else name
    if not name.strip():
        return kind + _numbers(rest, words, draw)
    blank = name[: len(name) - len(name.lstrip())]
    new = _spanish_name(name.split(), bool(kind), words, draw)
    blank = blank or (" " if kind[-1:].isalpha() else "")
    new = dress(new, name.strip()) if name.strip()[-1:].isupper() or name.strip().islower() else new
    return kind + blank + new + _numbers(tail, words, draw)


def _spanish_name(parts: list[str], of_kind: bool, words: Mapping[str, object], draw: Draw) -> str:
    """A name of the list, or a person's, as many streets have one: a list alone would tell surrogates."""
    if parts[0].istitle() and draw.chance(_PERSONS):
        return draw.choice(persons_of("es", parts, given=len(parts) > 1))
    return str(draw.choice([name for name in _list(words, "names") if of_kind or name[0].isupper()]))


def _kind(core: str, types: frozenset[str]) -> tuple[str, str]:
    """The word for the kind of road, with its marks, and the rest."""
    if box := _BOX.match(core):
        return box.group(), core[box.end() :]
    found = re.match(r"([^\W\d_]+[ºª]?)([./\\ªº]*)", core)
    if found is None or not types & {fold(found[1]), fold(found[1]) + "/"} or found.end() == len(core):
        return "", core
    return core[: found.end()], core[found.end() :]


def _numbers(tail: str, words: Mapping[str, object], draw: Draw) -> str:
    """Numbers and doors drawn, floors kept; any other word becomes one of a street's name."""
    small = _set(words, "small") | _set(words, "types")
    out = []
    drawn = "".join(
        piece if _MARK.fullmatch(piece) else redraw(piece, draw, letters="ABCDEF") for piece in _MARK.split(tail)
    )
    for gap, word in tokens(drawn):
        known = not word or not any(c.isalpha() for c in word) or len(word) < 3 or fold(word) in small
        out.append(gap + (word if known else dress(_one_word(words, draw), word)))
    return "".join(out)


def _one_word(words: Mapping[str, object], draw: Draw) -> str:
    """A name of one word."""
    return str(draw.choice([name for name in _list(words, "names") if " " not in name]))


def _english(core: str, words: Mapping[str, object], draw: Draw) -> str:
    """Numbers drawn, the kind and the compass kept; the words between them become another name."""
    pieces = re.split(rf"({_ORDINAL.pattern})", core, flags=re.IGNORECASE)[::4]
    ordinals = [*(_ordinal(found, draw) for found in _ORDINAL.finditer(core)), ""]
    drawn = (redraw(piece, draw, letters="ABCDEFGH") + number for piece, number in zip(pieces, ordinals, strict=True))
    keep = _set(words, "types") | _set(words, "small")
    parts = tokens(_compass(core, "".join(drawn)))
    proper = [i for i, (_, word) in enumerate(parts) if _is_proper(word, keep)]
    last = max((i for i, (_, word) in enumerate(parts) if fold(word) in _set(words, "types")), default=-1)
    if not proper and last > 0 and len(parts[last - 1][1]) > 1 and parts[last - 1][1].isalpha():
        proper = [] if _ORDINAL.search(core) else [last - 1]
    out, named = [], False
    for i, (gap, word) in enumerate(parts):
        if i not in proper:
            out.append(gap + word)
        elif not named or i - 1 not in proper:
            saint = i > 0 and fold(parts[i - 1][1]) in _SAINTS
            name = str(draw.choice(_saints() if saint else _list(words, "names")))
            out.append(gap + dress(name, word))
            named = True
    return "".join(out)


@cache
def _saints() -> list[str]:
    """What follows "St" in the name of a street, as streets have it: without an apostrophe."""
    return [str(name).replace("'", "") for name in load_words("en")["institutions"]["saints_male"]]


def _is_proper(word: str, keep: frozenset[str]) -> bool:
    """Whether a word is of the name."""
    return len(word) > 1 and word[0].isalpha() and fold(word) not in keep


def _compass(core: str, drawn: str) -> str:
    """Put single letters N, S, E and W back where they were: the texts are as long as each other."""
    if len(core) != len(drawn):
        return drawn
    points = re.finditer(r"\b[NSEWnsew]\b(?=[. ]+[^\W_])", core)
    for point in points:
        drawn = drawn[: point.start()] + point.group() + drawn[point.end() :]
    return drawn


def _ordinal(found: re.Match[str], draw: Draw) -> str:
    """Another ordinal of as many digits: "33rd" becomes "41st"."""
    number = int(found[1])
    while number == int(found[1]):
        number = int(str(1 + draw.below(9)) + "".join(str(draw.below(10)) for _ in found[1][1:]))
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{end.upper() if found[2].isupper() else end}"


def _finnish(core: str, words: Mapping[str, object], draw: Draw) -> str:
    """The stem of the compound changes, its last part stays as it is; adjectives before it stay."""
    small = _set(words, "small")
    out: list[str] = []
    done = False
    for gap, word in tokens(redraw(core, draw, letters="ABCDEF")):
        if not word or not word[0].isalpha() or len(word) < 2 or fold(word) in small:
            out.append(gap + word)
            continue
        end = _ending(word)
        if end and not done:
            done = True
            stems = _list(words, "swedish" if _is_swedish(end) else "stems")
            out.append(gap + dress(str(draw.choice(stems)), word[: -len(end)]) + word[-len(end) :])
        elif not done and len(out) and gap.strip():
            out.append(gap + dress(str(draw.choice(_list(words, "stems"))), word))
        elif not done:
            out.append(gap + "")  # a first word such as "Aleksis" goes
    made = "".join(out).strip()
    if done:
        return " ".join(made.split(" ")) if "  " in core else re.sub(r" {2,}", " ", made)
    return dress(str(draw.choice(_list(words, "stems"))) + "tie", core) + _after_word(core, draw)


def _after_word(core: str, draw: Draw) -> str:
    """The numbers behind a name that is no compound."""
    found = re.search(r"\s+\d.*", core, re.DOTALL)
    return redraw(found.group(), draw, letters="ABCDEF") if found else ""


@cache
def _endings() -> frozenset[str]:
    """The words for kinds of streets in all their cases, folded."""
    types = str(load_words("fi")["streets"]["types"]).split()
    return frozenset(fold(inflect(word, "fi", case, kind="noun")) for word in types for case in CASES[:-1])


def _ending(word: str) -> str:
    """The longest end of a word that is a kind of street in a case; "" if there is none, or nothing before it."""
    folded = fold(word)
    if len(folded) != len(word):
        return ""
    return next((word[i:] for i in range(2, len(word) - 1) if folded[i:] in _endings()), "")


def _is_swedish(end: str) -> bool:
    """Whether a kind of street is a Swedish word."""
    return fold(end).endswith(("gatan", "vagen", "granden", "stigen", "esplanaden", "torget", "allen"))


@cache
def _split(text: str) -> frozenset[str]:
    """Folded words of a list."""
    return frozenset(fold(word) for word in text.split())


def _set(words: Mapping[str, object], key: str) -> frozenset[str]:
    """The words of a list, folded."""
    return _split(str(words.get(key, "")))


def _list(words: Mapping[str, object], key: str) -> list[str]:
    """The entries of a list."""
    found = words.get(key, [])
    return found if isinstance(found, list) else []
