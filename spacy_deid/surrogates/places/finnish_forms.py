"""Finnish places and nouns as sentences have them: the nominative and case of a form, a surrogate in that case."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from ..inflection import inflect
from ..inflection.finnish import CASES
from ..inflection.finnish_analysis import Reading, read_form
from ..inflection.finnish_places import takes_outer
from ..persons import fold
from .gazetteer import load_gazetteer

__all__ = ["forms_of", "guess_case", "in_case", "place_forms", "read_noun"]

_INNER = {"ade": "ine", "abl": "ela", "all": "ill"}
_ENDS = (
    ("ssa", "ine"), ("sta", "ela"), ("lla", "ade"), ("lta", "abl"), ("lle", "all"), ("ksi", "tra"), ("nen", "nom"),
    ("seen", "ill"), ("siin", "ill"), ("aan", "ill"), ("een", "ill"), ("iin", "ill"), ("oon", "ill"), ("uun", "ill"),
    ("yyn", "ill"), ("han", "ill"), ("hin", "ill"), ("hon", "ill"), ("hun", "ill"), ("n", "gen"), ("na", "ess"),
    ("tta", "par"), ("ta", "par"), ("aa", "par"),
)  # fmt: skip
_SHORTEST = 5  # letters of a word that is guessed to have an ending


def forms_of(names: Iterable[str], kind: str) -> dict[str, tuple[str, str]]:
    """The forms of names.

    names (Iterable[str]): nominatives; where two have a form in common, the first of them keeps it.
    kind (str): as for `inflect`.
    RETURNS (dict[str, tuple[str, str]]): folded form → (nominative, case). "ine", "ela" and "ill" mean in, from and
        to a place, whichever cases it takes.
    """
    found: dict[str, tuple[str, str]] = {}
    listed = list(names)
    for name in listed:
        found.setdefault(fold(name), (name, "nom"))
    for name in listed:
        outer = kind == "place" and takes_outer(name)
        for case in CASES[1:-1]:
            found.setdefault(
                fold(inflect(name, "fi", case, kind=kind)), (name, _INNER.get(case, case) if outer else case)
            )
        if outer:
            for case in ("ine", "ela", "ill"):
                found.setdefault(fold(inflect(name, "fi", case, kind="noun")), (name, case))
    return found


@cache
def place_forms() -> Mapping[str, tuple[str, str]]:
    """The forms of all places that Finnish knows."""
    gazetteer = load_gazetteer("fi")
    names = {name: None for places in gazetteer.by_name.values() for name in (place.name for place in places)}
    home = [name for name in names if any(not place.region.startswith("@") for place in gazetteer.find(name))]
    aliases = (name[:1].upper() + name[1:] for name in gazetteer.by_name)
    return forms_of(dict.fromkeys([*home, *names, *aliases]), "place")


def guess_case(word: str) -> str:
    """Guess the case of a word that no list has, by its ending.

    word (str): as written.
    RETURNS (str): case; "nom" if nothing tells.
    """
    folded = fold(word)
    if len(folded) < _SHORTEST:
        return "nom"
    return next((case for end, case in _ENDS if folded.endswith(end)), "nom")


def read_noun(word: str, known: Callable[[str], bool]) -> Reading | None:
    """Read a form of a noun that is known.

    word (str): one word, in any capitals.
    known (Callable[[str], bool]): whether a word in lower case is listed.
    RETURNS (Optional[Reading]): nominative, case, number and possessive; None if it is no form of a listed one.
    """
    readings = read_form(word.lower(), known, kinds=("noun",))
    return next((reading for reading in readings if known(reading.nominative)), None)


def in_case(name: str, reading: Reading | str, kind: str = "place") -> str:
    """Put a surrogate into the case of its original.

    name (str): nominative.
    reading (Union[Reading, str]): how the original stands there, or its case.
    kind (str): as for `inflect`.
    RETURNS (str): the form.
    """
    if isinstance(reading, str):
        return inflect(name, "fi", reading, kind=kind)
    return inflect(name, "fi", reading.case, kind=kind, number=reading.number, possessive=reading.possessive)
