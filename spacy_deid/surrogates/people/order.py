"""Which words of a name are given names and which surnames: by the lists, the comma, the title and the habit."""

from math import log

from ..mention import Mention
from ..persons import fold
from .customs import Customs
from .lists import Names
from .words import Part, Parts

__all__ = ["order_parts", "title_before"]

_UNLISTED = 3.0  # bearers that a name without a list is taken to have
_GROUPED = 2000  # bearers that a name of a group of origin is taken to have
_INITIAL_GIVEN = 0.8  # share of initials that are those of given names
_GIVEN = {0: -1.5, 1: 0.0, 2: -0.7, 3: -2.5}  # given names of a mention, in nats
_SURNAMES = {1: {0: -1.5, 1: 0.0, 2: -2.5}, 2: {0: -1.5, 1: -0.4, 2: 0.0, 3: -4.0}}
_CALLED = 0.05  # share of the bearers of a name who are called by a nickname of it
_RARE = -6.0
_NO_SURNAME = -2.0  # the same, of two words or more that are all given names, where there is one surname
_TITLE = 2.5  # what a title speaks for a surname
_CLINICIAN = 0.7
_LAST = 5  # times that a given name with particles is commoner than the surname, if it ends a mention


def order_parts(parts: Parts, mention: Mention, customs: Customs, names: Names) -> None:
    """Say of each name and initial of a mention whether it is a given name or a surname.

    parts (list[Part]): the words of the mention; their `kind` is set.
    mention (Mention): the mention.
    customs (Customs): the habits of the language.
    names (Names): the lists of the language.
    """
    words = [part for part in parts if part.role in ("name", "initial")]
    for part in words:
        if part.maiden:
            part.kind = "surname"
    words = [part for part in words if not part.maiden]
    if not words:
        return
    units = _units(words, mention.text, customs, names)
    comma = _comma(units, mention.text)
    for unit, kind in zip(units, _best(units, comma, mention, parts, customs, names), strict=True):
        for part in unit:
            part.kind = kind


def title_before(mention: Mention, parts: Parts, customs: Customs) -> str:
    """The title in or before a mention, folded; "" if there is none."""
    for part in parts:
        if part.role == "kept" and (part.folded in customs.titles or part.folded in customs.before_given):
            return part.folded
    words = fold(mention.before.replace(".", " ").replace(":", " : ")).split()
    return words[-1] if words and (words[-1] in customs.titles or words[-1] in customs.before_given) else ""


def _units(words: Parts, text: str, customs: Customs, names: Names) -> list[Parts]:
    """Words that a hyphen joins are of one kind, so are those behind the particles of the first."""
    units: list[Parts] = []
    for part in words:
        hyphen = bool(units) and text[units[-1][-1].end : part.start].strip() == "-"
        linked = bool(units and part.link) and _is_one(units[-1], part, part is words[-1], customs, names)
        if hyphen or linked:
            units[-1].append(part)
        else:
            units.append([part])
    return units


def _is_one(unit: Parts, part: Part, last: bool, customs: Customs, names: Names) -> bool:
    """Whether what follows a particle belongs to the given name before it: "María del Carmen García".

    The last word of a mention is rather the surname, so that "Juan de la Cruz" has one.
    """
    phrase = f"{part.link} {part.folded}"
    head = fold(customs.short.get(unit[-1].folded, unit[-1].folded))
    listed = names.linked["female" if names.counts["female"][head] > names.counts["male"][head] else "male"]
    surname, given, whole = names.linked["surname"][phrase], listed[phrase], listed[f"{head} {phrase}"]
    if last:
        return whole > _LAST * surname or given > surname == 0
    return whole > 0 or given > surname


def _comma(units: list[Parts], text: str) -> int:
    """How many units stand before the comma; 0 if there is none between them."""
    for place in range(1, len(units)):
        if "," in text[units[place - 1][-1].end : units[place][0].start]:
            return place
    return 0


def _best(units: list[Parts], comma: int, mention: Mention, parts: Parts, customs: Customs, names: Names) -> list[str]:
    """The likeliest kinds of some units."""
    size = len(units)
    if comma:
        return ["surname"] * comma + ["given"] * (size - comma)
    if customs.surname_cues and fold(mention.before).rstrip(" :").endswith(customs.surname_cues):
        return ["surname"] * size
    if customs.surname_cues and fold(mention.after).lstrip(" .,;:-").startswith(customs.surname_cues):
        return ["given"] * size  # a field of given names
    scores = [_score(unit, customs, names) for unit in units]
    lean = _lean(mention, parts, customs) if size == 1 else 0.0
    best, kinds = -1e9, ["surname"] * size
    for first in ("given", "surname"):
        for number in range(size + 1) if first == "given" else range(1, size):
            order = [first] * number + ["surname" if first == "given" else "given"] * (size - number)
            given = order.count("given")
            score = sum(pair[0] if kind == "given" else pair[1] for pair, kind in zip(scores, order, strict=True))
            score += _GIVEN.get(given, _RARE) + _SURNAMES[customs.surnames].get(size - given, _RARE)
            score += _NO_SURNAME if given == size > 1 == customs.surnames else 0.0
            score += customs.reversed if first == "surname" else 0.0
            score += lean if order == ["surname"] else 0.0
            if score > best:
                best, kinds = score, order
    return kinds


def _score(unit: Parts, customs: Customs, names: Names) -> tuple[float, float]:
    """How likely a unit is as given name and as surname, in nats."""
    given = surname = 0.0
    for part in unit:
        if part.role == "initial":
            given += log(_INITIAL_GIVEN)
            surname += log(1 - _INITIAL_GIVEN)
            continue
        as_given, as_surname = _both_bearers(part, customs, names)
        if part.link in names.links:  # "San Pablo" is a surname, however many are called Pablo
            as_given, as_surname = (0.0, as_surname) if part is unit[0] else (as_given, 0.0)
        given += log(_UNLISTED + as_given) - log(names.totals["female"] + names.totals["male"])
        surname += log(_UNLISTED + as_surname) - log(names.totals["surname"])
    return given, surname


def _both_bearers(part: Part, customs: Customs, names: Names) -> tuple[float, float]:
    """How many bear a name as given name, or are called so, and as surname."""
    key = part.lemma or part.folded
    called = max((names.count("given", name) for name in customs.called.get(key, ())), default=0) * _CALLED
    alone = part.link or names.is_alone("surname", key)  # "Carmen" is a surname as "del Carmen" only
    return _bearers(names, "given", key) + called, _bearers(names, "surname", key) if alone else 0


def _bearers(names: Names, sort: str, key: str) -> int:
    """How many bear a name; a few, if it stands in a list of names that does not count them."""
    grouped = any(key in names.proper[s] for s in (("female", "male") if sort == "given" else (sort,)))
    return names.count(sort, key) or (_GROUPED if grouped else 0)


def _lean(mention: Mention, parts: Parts, customs: Customs) -> float:
    """How far title and label speak for a surname where there is one word alone."""
    title = title_before(mention, parts, customs)
    if title:
        return -_TITLE if title in customs.before_given else _TITLE
    if fold(mention.before).rpartition(" ")[2] in customs.context:  # "äiti Meri"
        return -_TITLE
    return _CLINICIAN if mention.label == "CLINICIAN" else -_CLINICIAN
