"""The strategy `similar`: names and towns that fit the context of the original according to a language model.

Candidates for a part of a name are listed names with the same sex, origin, frequency and length; candidates for a town
are those of about its size in the region that replaces its own. Half of the ranked candidates are those that the model
finds most probable when the whole mention is masked, the other half is drawn with the key of the patient. Each one is
put into the place of the original, in its form, and ranked by the cosine of the embeddings there. One of the best is
drawn with the key (after Albanese et al. 2023, arXiv:2311.10785, who use the words that the model predicts; of a name
of several subwords it predicts only the first).

Everything else is as with `consistent`: names are replaced part by part, so that all forms of a name in a note agree,
e-mail addresses too; forbidden names are not candidates; names with too few candidates, or that the model cannot read,
and values that are neither names nor known towns are drawn from the lists.

The surrogate of a name depends on its context, so other notes of the patient may have other surrogates. A surrogate
that is chosen for its similarity reveals something about the original, the more so the fewer candidates there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from ..errors import ConfigError, Errors
from .keys import IdentityKey
from .mention import PERSONS, Mention, NameOccurrence
from .people import find_names
from .places import find_towns
from .strategies import Choice, Setting, Suggested

_MOST_LOOKED_AT = 400  # names of a pool that the model scores
_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})


class Ranker(Protocol):
    """A language model that scores words in a context; see `masked_lm.in_place.WordsInPlace`."""

    def likelihoods(
        self, text: str, places: Sequence[tuple[int, int]], place: int, words: Sequence[str]
    ) -> Sequence[float]:
        """Score words in one of several masked places.

        text (str): the context.
        places (Sequence[tuple[int, int]]): character offsets of the masked places.
        place (int): index of the place.
        words (Sequence[str]): the words.
        RETURNS (Sequence[float]): a log likelihood for each word; empty if the model cannot score the place.
        """
        ...

    def cosines(self, text: str, start: int, end: int, words: Sequence[str]) -> Sequence[float]:
        """Compare the embeddings of words with that of the word they replace.

        text (str): the context.
        start, end (int): character offsets of the original word.
        words (Sequence[str]): the words.
        RETURNS (Sequence[float]): a cosine for each word; empty if the model cannot read the original.
        """
        ...


class Similar:
    """The strategy `similar`.

    ranker (Ranker): the language model.
    lang (str): its language. In notes of other languages the strategy is `consistent`.
    best (int): number of candidates from which one is drawn.
    candidates (int): number of candidates that are ranked.
    RAISES: ConfigError (D696) if `best` is less than 2 or greater than `candidates`.

    asked, left (int): number of names and towns looked up, and of those left to `consistent`.
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
        if setting.lang != self.lang or not any(mention.label in PERSONS | _PLACES for mention in mentions):
            return [0] * len(mentions)
        names = find_names([mention for mention in mentions if mention.label in PERSONS], self.lang)
        towns = find_towns([mention for mention in mentions if mention.label in _PLACES], setting.key, self.lang)
        suggested = Suggested(_SuggestSimilar(self, setting.key, names, towns))
        return [suggested if mention.label in PERSONS | _PLACES else 0 for mention in mentions]

    def pick(
        self,
        occurrence: NameOccurrence,
        context: Sequence[str],
        pool: Sequence[str],
        allowed: Callable[[str], bool],
        key: IdentityKey,
    ) -> str | None:
        """Draw one of the candidates that are most similar to the original.

        occurrence (NameOccurrence): the original in its context.
        context (Sequence[str]): context of the draw.
        pool (Sequence[str]): candidates.
        allowed (Callable[[str], bool]): whether a candidate may be the surrogate.
        key (IdentityKey): the key of the patient.
        RETURNS (Optional[str]): a name in the nominative; None if there are too few, or the model cannot read it.
        """
        draw = key.draw("similar", self.lang, *context)
        pool = draw.shuffled(pool)[:_MOST_LOOKED_AT]
        forms = [occurrence.write(name) for name in pool]
        scores = self.ranker.likelihoods(occurrence.text, occurrence.places, occurrence.number, forms)
        likely = sorted(range(len(scores)), key=lambda i: -scores[i])
        half = list(islice(filter(allowed, (pool[i] for i in likely)), self.candidates // 2))
        others = (name for name in dict.fromkeys(pool) if name not in half and allowed(name))
        found = list(dict.fromkeys(half)) + list(islice(others, self.candidates - len(half)))
        if len(found) < self.best:
            return None
        forms = [occurrence.write(name) for name in found]
        cosines = self.ranker.cosines(occurrence.text, *occurrence.places[occurrence.number], forms)
        if not cosines:
            return None
        ranked = sorted(zip(cosines, found, strict=True), key=lambda one: (-one[0], one[1]))
        return draw.choice([name for _, name in ranked[: self.best]])


@dataclass(frozen=True, eq=False)
class _SuggestSimilar:
    """The suggestions for one note; see `strategies.Suggest`. The repr shows nothing of the note."""

    strategy: Similar
    key: IdentityKey
    names: Mapping[str, NameOccurrence]
    towns: Mapping[str, NameOccurrence]

    def __repr__(self) -> str:
        return f"_SuggestSimilar({len(self.names)} names, {len(self.towns)} towns)"

    def __call__(self, name_type: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]) -> str | None:
        occurrence = (self.towns if name_type == "city" else self.names).get(lemma)
        if occurrence is None:
            return None
        name = self.strategy.pick(occurrence, (name_type, lemma), pool, allowed, self.key)
        self.strategy.asked += 1
        self.strategy.left += name is None
        return name
