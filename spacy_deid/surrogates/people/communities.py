"""Group names by language community, so that a Welsh name becomes a Welsh one and a Basque name a Basque one.

The main lists of a language are those of one country. ``names/communities.toml`` of a language adds names of the
communities of its other countries and regions. A name keeps its community in all notes, whatever else a note says.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from ...lang.text import fold

TrigramModel = tuple[Mapping[str, int], int]  # trigram → score, and the score of any other trigram

FREQUENT = 600
"""Names at the head of a list are the country's own, whatever they look like."""

_OF_ALL = 300  # most frequent names of the main list that widespread communities share with everybody
_MARGIN = 500  # thousandths of a nat per trigram by which a group must be likelier
_SMOOTHING = 0.3
_TRIGRAMS = 2000  # assumed number of different trigrams
_CLEARLY = 250  # thousandths of a nat per trigram by which a community must be likelier than the main list


def read_communities(data: Mapping[str, Any], name_type: str) -> dict[str, list[str]]:
    """Read the names of one type from the content of ``communities.toml``.

    data (Mapping[str, Any]): the content of the file.
    name_type (str): "female", "male" or "surname".
    RETURNS (dict[str, list[str]]): community → its names, without those that several communities have.
    """
    listed = {title: str(names[name_type]).split() for title, names in data.items() if isinstance(names, dict)}
    times = Counter(name for names in listed.values() for name in {fold(name) for name in names})
    return {
        title: [name for folded, name in {fold(name): name for name in names}.items() if times[folded] == 1]
        for title, names in listed.items()
    }


def members_by_name(
    communities: Mapping[str, Iterable[str]],
    data: Mapping[str, Any],
    main: Sequence[str],
    grouped: Mapping[str, str],
) -> dict[str, str]:
    """Return the community of each name that belongs to one.

    communities (Mapping[str, Iterable[str]]): community → its names.
    data (Mapping[str, Any]): the content of ``communities.toml``; "replaces" are groups of origin that are too wide,
        and "widespread" the communities whose frequent names everybody has, and "shared" how many names
        of the main list count as frequent.
    main (Sequence[str]): the folded names of the main list, most frequent first.
    grouped (Mapping[str, str]): folded name → the group of origin that it has already.
    RETURNS (dict[str, str]): folded name → community.
    """
    everybody, wide = frozenset(main[: int(data.get("shared", _OF_ALL))]), data.get("widespread", ())
    found = {}
    for title, names in communities.items():
        for name in map(fold, names):
            common = name in everybody and title in wide
            if not common and grouped.get(name, "") in ("", *data.get("replaces", ())):
                found[name] = title
    return found


def find_community(
    trigrams: Sequence[str],
    models: Mapping[str, TrigramModel],
    own: TrigramModel,
    otherwise: str,
) -> str:
    """Find the community that an unlisted name looks like, by its letters.

    trigrams (Sequence[str]): the trigrams of the name.
    models (Mapping[str, TrigramModel]): community → model of its names.
    own (Scores): model of the names of the main list.
    otherwise (str): the community of names that look like no other one; "" for none.
    RETURNS (str): the community.
    """
    best = max(models, key=lambda title: score(trigrams, models[title]), default="")
    clear = bool(best) and score(trigrams, models[best]) > score(trigrams, own) + _CLEARLY * len(trigrams)
    return best if clear else otherwise


def trigrams_of(name: str) -> list[str]:
    """Return all sequences of three letters in a name, with "^" before its first letter and "$" after the last."""
    framed = f"^{name}$"
    return [framed[i : i + 3] for i in range(len(framed) - 2)]


def fit(names: Iterable[str]) -> TrigramModel:
    """Estimate the log probabilities of trigrams (thousandths of a nat) from names, with additive smoothing."""
    counts = Counter(trigram for name in names for trigram in trigrams_of(name))
    total = sum(counts.values()) + _SMOOTHING * _TRIGRAMS
    scores = {trigram: round(1000 * log((count + _SMOOTHING) / total)) for trigram, count in counts.items()}
    return scores, round(1000 * log(_SMOOTHING / total))


def score(trigrams: Sequence[str], model: TrigramModel) -> int:
    """Return the log probability of a name's trigrams under a model, in thousandths of a nat."""
    scores, unseen = model
    return sum(scores.get(trigram, unseen) for trigram in trigrams)


def find_foreign(
    names: Sequence[str], groups: Mapping[str, Iterable[str]], known: Mapping[str, str]
) -> frozenset[str]:
    """Find rare names whose letters look more like those of a group of origin than like the country's own names.

    names (Sequence[str]): folded names, most frequent first.
    groups (Mapping[str, Iterable[str]]): group of origin → its folded names.
    known (Mapping[str, str]): folded name → its group of origin, for names that have one.
    RETURNS (frozenset[str]): such names, without those that have a group and the 600 most frequent ones.
    """
    others = [name for name in names if name not in known]
    own = fit(others[:FREQUENT])
    models = [fit(word for name in group for word in name.split()) for group in groups.values()]

    def looks_foreign(trigrams: Sequence[str]) -> bool:
        least = score(trigrams, own) + _MARGIN * len(trigrams)
        return any(score(trigrams, model) > least for model in models)

    return frozenset(name for name in others[FREQUENT:] if looks_foreign(trigrams_of(name))) if models else frozenset()
