"""Which listed given names look like those of another origin, though no group of origin has them.

A list of a country has all who live there. A rare name of it that is written like those of a group must not stand for
a rare name of the country's own. Names are compared by three letters at a time (naive Bayes); sums of whole numbers,
so that all machines agree.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log

__all__ = ["find_foreign"]

_COMMON = 600  # names of a list that are its own, whatever they look like
_MARGIN = 500  # thousandths of a nat, per three letters
_SMOOTH = 0.3
_KINDS = 2000  # threes of letters that there may be

Model = tuple[Mapping[str, int], int]


def find_foreign(
    names: Sequence[str], groups: Mapping[str, Iterable[str]], known: Mapping[str, str]
) -> frozenset[str]:
    """Find the names that look foreign.

    names (Sequence[str]): folded, commonest first.
    groups (Mapping[str, Iterable[str]]): group of origin → its names, folded.
    known (Mapping[str, str]): folded name → its group, for those that have one.
    RETURNS (frozenset[str]): names beyond the commonest that are in no group.
    """
    others = [name for name in names if name not in known]
    own = _learn(others[:_COMMON])
    models = [_learn(word for name in group for word in name.split()) for group in groups.values()]
    if not models:
        return frozenset()
    return frozenset(name for name in others[_COMMON:] if _looks_foreign(_threes(name), own, models))


def _looks_foreign(threes: Sequence[str], own: Model, models: Sequence[Model]) -> bool:
    """Whether some group is clearly likelier than the country's own names."""
    least = _score(threes, own) + _MARGIN * len(threes)
    return any(_score(threes, model) > least for model in models)


def _threes(name: str) -> list[str]:
    """Every three letters of a name, its borders among them."""
    framed = f"^{name}$"
    return [framed[i : i + 3] for i in range(len(framed) - 2)]


def _learn(names: Iterable[str]) -> Model:
    """Thousandths of a nat for each three letters, and for all that were never seen."""
    counts = Counter(three for name in names for three in _threes(name))
    total = sum(counts.values()) + _SMOOTH * _KINDS
    scores = {three: round(1000 * log((count + _SMOOTH) / total)) for three, count in counts.items()}
    return scores, round(1000 * log(_SMOOTH / total))


def _score(threes: Sequence[str], model: Model) -> int:
    """How likely a name is."""
    scores, unseen = model
    return sum(scores.get(three, unseen) for three in threes)
