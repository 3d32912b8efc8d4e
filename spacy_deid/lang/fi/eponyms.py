"""Finnish eponyms: genitives of the name, and every case of the head word."""

from collections.abc import Collection, Iterator
from functools import cache

from ..eponyms import EponymConventions
from .morphology import FinnishInflector

_INFLECTOR = FinnishInflector()
_CASES = {
    "sing": ("nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra"),
    "plur": ("nom", "gen", "par"),  # the other cases are not used of one person's disease
}
_ENDINGS = ("n", "lla", "lta", "lle", "ssa", "sta", "ksi", "na", "a")  # in normal form, without the front vowels
_VOWELS = "aeiouyäöéè"


def phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield "Parkinsonin taudin" and "Gram-värjäystä" in their cases; with ``beside`` the latter way only."""
    owners = {name} if beside else {name, _INFLECTOR.inflect(name, "gen", kind="surname")}
    if name[-1] in _VOWELS and not beside:
        owners.add(f"{name}n")
    ends = _head_forms(head)
    yield from (f"{owner} {end}" for owner in owners for end in ends)


@cache
def _head_forms(head: str) -> frozenset[str]:
    """The cases of a head word, or of the last word of a phrase."""
    *before, last = head.split()
    made = {_INFLECTOR.inflect(last, case, kind="noun", number=number) for number in _CASES for case in _CASES[number]}
    return frozenset(" ".join([*before, form]) for form in made)


def forms(name: str) -> Collection[str]:
    """Return the cases of a name, also without consonant gradation: "Hashimoton" beside "Hashimodon"."""
    cases = set(_INFLECTOR.case_forms(name, "surname"))
    if name[-1] not in _VOWELS:
        return cases
    return cases | {name + end for end in ("n", "lla", "llä", "sta", "stä", "ssa", "ssä", "lle", "ksi")}


def stems(form: str) -> Collection[str]:
    """Return a word without each ending that it has: "hannalla" may be the virus Hanta, and is a case of Hanna."""
    return {form.removesuffix(ending) for ending in _ENDINGS} - {form}


EPONYMS = EponymConventions(phrases=phrases, forms=forms, stems=stems)
