"""The strategy `similar`: replaces names and towns by others that fit the context according to a language model.

Candidates for a part of a name (a given name or a surname) are names from lists, with the same sex and origin and a
similar frequency and length. Candidates for a town are towns of similar size in the region that replaces its region.
Half of the candidates are the most probable ones according to the model when the whole mention is masked. The other
half is drawn with the key of the patient. Each candidate is written in place of the original, with the same inflection
and capitals, and ranked by the cosine between its embedding and that of the original. One of the best candidates is
drawn with the key. The method follows Albanese et al. 2023 (arXiv:2311.10785), who use the words that the model
predicts; for a name of several subwords it predicts only the first.

Everything else is as with `consistent`. Names are replaced part by part, so that all forms of a name in a note agree,
including e-mail addresses. Forbidden names are not candidates. Names with too few candidates, names that the model
cannot represent, and values that are neither names nor known towns are replaced as with `consistent`.

The surrogate of a name depends on its context, so it can differ between the notes of a patient. A surrogate that is
chosen for its similarity reveals something about the original, more so if there are few candidates.
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

_MOST_LOOKED_AT = 400  # maximum number of candidates that the model scores
_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})


class Ranker(Protocol):
    """Interface of a model that scores words in a context; `masked_lm.in_place.WordsInPlace` implements it."""

    def likelihoods(
        self, text: str, places: Sequence[tuple[int, int]], place: int, words: Sequence[str]
    ) -> Sequence[float]:
        """Compute how probable words are at a position of a text in which several words are masked.

        text (str): the text.
        places (Sequence[tuple[int, int]]): start and end of each masked word.
        place (int): index in `places` of the position to score.
        words (Sequence[str]): candidate words.
        RETURNS (Sequence[float]): log probability of each word; empty if the model cannot score the position.
        """
        ...

    def cosines(self, text: str, start: int, end: int, words: Sequence[str]) -> Sequence[float]:
        """Compute how similar words are to the word that they replace in a text, by their contextual embeddings.

        text (str): the text.
        start, end (int): character offsets of the original word.
        words (Sequence[str]): candidate words.
        RETURNS (Sequence[float]): for each word the cosine between its embedding and that of the original; empty if
            the model cannot represent the original.
        """
        ...


class Similar:
    """Strategy that replaces names and towns by similar ones that fit their context; see the module.

    ranker (Ranker): the language model.
    lang (str): language of the model. Notes in other languages are replaced as with `consistent`.
    best (int): number of best-ranked candidates from which one is drawn.
    candidates (int): maximum number of candidates that are ranked.
    RAISES: ConfigError (D696) if `best` is less than 2 or greater than `candidates`.

    asked, left (int): counters: names and towns for which a surrogate was requested, and those among them that were
        replaced as with `consistent` instead.
    """

    def __init__(self, ranker: Ranker, lang: str, best: int = 5, candidates: int = 40) -> None:
        if not 2 <= best <= candidates:
            raise ConfigError(Errors.D696.format(best=best, candidates=candidates))
        self.ranker, self.lang, self.best, self.candidates = ranker, lang, best, candidates
        self.asked = self.left = 0

    def __repr__(self) -> str:
        return f"Similar({self.lang!r}, best={self.best}, candidates={self.candidates})"

    def __call__(self, mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
        """Return a choice for each mention of one label; see `strategies.Strategy`."""
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
        context (Sequence[str]): strings that identify the random choice; see `IdentityKey.draw`.
        pool (Sequence[str]): candidates in the nominative.
        allowed (Callable[[str], bool]): returns whether a candidate can be the surrogate.
        key (IdentityKey): the key of the patient.
        RETURNS (Optional[str]): one of the candidates. None if fewer than `best` candidates are allowed, or the model
            cannot represent the original.
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
    """Suggests surrogates for the names and towns of one note; see `strategies.Suggest`."""

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
