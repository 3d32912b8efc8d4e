"""The strategy `similar`: names and towns that stand near the original in the eyes of a language model.

Candidates for a part of a name are names of the lists that have sex, origin, frequency and length in common with it,
for a town those of about its size in the region that stands for its own: one half those that the model, all of the
mention being masked, finds likeliest in its place, the other half drawn by the key of the patient. They are put into
the place one by one, in the form of the original, and ranked by the cosine of their embeddings there and that of the
original; one of the best is drawn by the key (Albanese et al. 2023, arXiv:2311.10785, who take the words that the
model says: of a name of several pieces it says but the first).

All else is as with `consistent`: the parts of a name are replaced one by one, so that all forms of it in a note
follow, e-mail addresses too; what is forbidden is no candidate; and a name for which there are too few candidates, or
which the model cannot read, is drawn from the lists. So is whatever is neither a name nor a known town.

What a name becomes depends on where it stands: other notes of the patient may have other surrogates. And a surrogate
that is chosen for its nearness says something of the original, the more the fewer it is drawn from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from ..errors import ConfigError, Errors
from .keys import IdentityKey
from .mention import Mention
from .people.standing import find_names
from .places import find_towns
from .standing import Standing
from .strategies import Choice, Setting, Suggested

__all__ = ["Ranker", "Similar"]

_LOOKED_AT = 400  # names of a pool, by the key
_NAMED = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})


class Ranker(Protocol):
    """What a language model is to the strategy; see `masked_lm.in_place.WordsInPlace`."""

    def likelihoods(
        self, text: str, places: Sequence[tuple[int, int]], place: int, words: Sequence[str]
    ) -> Sequence[float]:
        """How likely words are in one of several places that are masked; none if that cannot be told."""
        ...

    def cosines(self, text: str, start: int, end: int, words: Sequence[str]) -> Sequence[float]:
        """How near words come to the one in whose place they are put; none if that cannot be told."""
        ...


class Similar:
    """The strategy.

    ranker (Ranker): the language model.
    lang (str): its language. Notes of other languages are left to `consistent`.
    best (int): of how many candidates one is drawn.
    candidates (int): how many are ranked.
    RAISES: ConfigError (D696) if fewer are ranked than are drawn from, or fewer than two.

    asked, left (int): parts of names and towns that were looked at, and those of them that were left to `consistent`.
    """

    def __init__(self, ranker: Ranker, lang: str, best: int = 5, candidates: int = 40) -> None:
        if not 2 <= best <= candidates:
            raise ConfigError(Errors.D696.format(best=best, candidates=candidates))
        self.ranker, self.lang, self.best, self.candidates = ranker, lang, best, candidates
        self.asked = self.left = 0

    def __repr__(self) -> str:
        return f"Similar({self.lang!r}, best={self.best}, candidates={self.candidates})"

    def __call__(self, mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
        """Choose for the mentions of one label; see `strategies.Strategy`."""
        if setting.lang != self.lang or not any(mention.label in _NAMED | _PLACES for mention in mentions):
            return [0] * len(mentions)
        names = find_names([mention for mention in mentions if mention.label in _NAMED], self.lang)
        towns = find_towns([mention for mention in mentions if mention.label in _PLACES], setting.key, self.lang)
        near = Suggested(_Near(self, setting.key, names, towns))
        return [near if mention.label in _NAMED | _PLACES else 0 for mention in mentions]

    def pick(
        self,
        standing: Standing,
        context: Sequence[str],
        pool: Sequence[str],
        allowed: Callable[[str], bool],
        key: IdentityKey,
    ) -> str | None:
        """Draw one of the candidates that come nearest.

        standing (Standing): the original.
        context (Sequence[str]): what is drawn.
        pool (Sequence[str]): names that have much in common with it.
        allowed (Callable[[str], bool]): whether a name may be the surrogate.
        key (IdentityKey): the key of the patient.
        RETURNS (Optional[str]): a name, in the nominative; None if there are too few, or the model cannot read it.
        """
        draw = key.draw("similar", self.lang, *context)
        found = self._candidates(standing, draw.shuffled(pool)[:_LOOKED_AT], allowed)
        if len(found) < self.best:
            return None
        forms = [standing.write(name) for name in found]
        cosines = self.ranker.cosines(standing.text, standing.start, standing.end, forms)
        if not cosines:
            return None
        ranked = sorted(zip(cosines, found, strict=True), key=lambda one: (-one[0], one[1]))
        return draw.choice([name for _, name in ranked[: self.best]])

    def _candidates(self, standing: Standing, pool: Sequence[str], allowed: Callable[[str], bool]) -> list[str]:
        """Names of a pool: the likeliest in the place, all of the mention being masked, and the first."""
        forms = [standing.write(name) for name in pool]
        said = self.ranker.likelihoods(standing.text, standing.places, standing.number, forms)
        likely = sorted(range(len(said)), key=lambda i: -said[i])
        found = list(islice(filter(allowed, (pool[i] for i in likely)), self.candidates // 2))
        others = (name for name in dict.fromkeys(pool) if name not in found and allowed(name))
        return list(dict.fromkeys(found)) + list(islice(others, self.candidates - len(found)))


@dataclass(frozen=True, eq=False)
class _Near:
    """What the strategy suggests in one note. Its repr shows nothing of the note."""

    strategy: Similar
    key: IdentityKey
    names: Mapping[str, Standing]
    towns: Mapping[str, Standing]

    def __repr__(self) -> str:
        return f"_Near({len(self.names)} names, {len(self.towns)} towns)"

    def __call__(self, sort: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]) -> str | None:
        """See `strategies.Suggest`."""
        standing = (self.towns if sort == "city" else self.names).get(lemma)
        if standing is None:
            return None
        name = self.strategy.pick(standing, (sort, lemma), pool, allowed, self.key)
        self.strategy.asked += 1
        self.strategy.left += name is None
        return name
