"""Which name takes the place of which: drawn part by part, so that a surname alone has the surrogate of the full name.

The context of a draw is the part itself: its sort and its folded nominative, never the note. All notes of a patient
under one key so agree; only where the draw falls on a name of the note at hand, or on a surrogate that another part
has already, the next draw of the same stream is taken.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial

from ...lang.inflection import case_forms, inflects
from ..keys import Draw, IdentityKey
from ..persons import fold
from ..strategies import Suggest, nothing
from .customs import Customs
from .lists import Names

__all__ = ["Choices"]

_DRAWS = 60  # before the whole list is gone through
_FORMS_SHARE = 2  # first letters that all cases of a name share


class Choices:
    """The surrogates of the parts of names in one note.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    names (Names): the lists of the language.
    customs (Customs): the habits of the language.
    taken (frozenset[str]): folded words that no surrogate may be.
    forbidden (Callable[[str], bool]): whether a name may not be a surrogate.
    suggest (Suggest): names that are taken before others by the variant 0.
    """

    def __init__(
        self,
        key: IdentityKey,
        lang: str,
        names: Names,
        customs: Customs,
        taken: frozenset[str],
        forbidden: Callable[[str], bool],
        suggest: Suggest = nothing,
    ) -> None:
        self.key, self.lang, self.names, self.customs = key, lang, names, customs
        self.forbidden, self.suggest = forbidden, suggest
        self._taken = taken
        self._starts = frozenset(word[:_FORMS_SHARE] for word in taken)
        self._chosen: dict[tuple[str, str, int], str | None] = {}
        self._used: set[str] = set()
        self._letters: dict[tuple[str, str, int], str] = {}
        self._again: Counter[tuple[str, str, int]] = Counter()
        self.is_forbidden = cache(forbidden)

    def __repr__(self) -> str:
        return f"Choices({len(self._chosen)} parts)"

    def name(self, sort: str, lemma: str, variant: int) -> str | None:
        """The surrogate of a part of a name, as lists write it.

        sort (str): "female", "male" or "surname".
        lemma (str): the part, folded, in the nominative.
        variant (int): as the mention has it.
        RETURNS (Optional[str]): None if every name of the lists is forbidden.
        """
        part = (sort, lemma, variant)
        if part not in self._chosen:
            self._chosen[part] = chosen = self._choose(sort, lemma, variant)
            if chosen:
                self._used.add(fold(chosen))
        return self._chosen[part]

    def redraw(self, sort: str, lemma: str, variant: int) -> None:
        """Draw the surrogate of a part again, from a stream of its own; the old one is not taken again.

        sort, lemma, variant: as `name`.
        """
        self._again[sort, lemma, variant] += 1
        self._chosen.pop((sort, lemma, variant), None)
        self.name(sort, lemma, variant)

    def nickname(self, name: str, known_as: str, variant: int) -> str:
        """What the bearer of a surrogate is called, for a mention that calls the original by a nickname.

        name (str): the surrogate given name.
        known_as (str): the nickname of the original, folded.
        variant (int): as the mention has it.
        RETURNS (str): a nickname, or the name itself if it has none.
        """
        known = [n for n in self.customs.nicknames.get(fold(name), ()) if n.isalpha() and self._may_be(n, known_as)]
        return self.key.draw("person", "nickname", fold(name), known_as, str(variant)).choice(known) if known else name

    def letter(self, kind: str, letter: str, variant: int) -> str | None:
        """The surrogate of an initial of whose name nothing more is known: another letter, as such names are likely.

        kind (str): "given" or "surname".
        letter (str): the initial, folded.
        variant (int): as the mention has it.
        RETURNS (Optional[str]): a capital; None if the language has no lists.
        """
        part = (kind, letter, variant)
        letters, sums = self.names.letters("surname" if kind == "surname" else "female")
        if part not in self._letters and letters:
            draw = self.key.draw("person", "initial", kind, letter, str(variant))
            used = {new for (k, _, v), new in self._letters.items() if (k, v) == (kind, variant)}
            self._letters[part] = _draw_letter(draw, letter, used, letters, sums)
        return self._letters.get(part)

    def _choose(self, sort: str, lemma: str, variant: int) -> str | None:
        """Draw until a name may be the surrogate."""
        return next((name for name in self._candidates(sort, lemma, variant) if self._may_be(name, lemma)), None)

    def _candidates(self, sort: str, lemma: str, variant: int) -> Iterator[str]:
        """What is suggested, names of the stratum as drawn, then the whole list from where a last draw falls."""
        again = self._again[sort, lemma, variant]
        draw = self.key.draw("person", sort, lemma, str(variant), *(("again", str(again)) if again else ()))
        pool = self.names.pool(self.names.stratum(sort, lemma))
        first = not variant and not again
        if first and (suggested := self.suggest(sort, lemma, pool, partial(self._may_be, lemma=lemma))):
            yield suggested
        for _ in range(_DRAWS if pool else 0):
            yield draw.choice(pool)
        everything = self.names.everything(sort)
        start = draw.below(len(everything)) if everything else 0
        yield from everything[start:]
        yield from everything[:start]

    def _may_be(self, name: str, lemma: str) -> bool:
        """Whether a name may be a surrogate. Another first letter, so that no initial of it is the original one's."""
        folded = fold(name)
        if folded in self._taken or folded in self._used or folded[:1] == lemma[:1]:
            return False
        if inflects(self.lang) and folded[:_FORMS_SHARE] in self._starts:
            forms = {fold(form) for kind in ("given", "surname") for form in case_forms(name, self.lang, kind=kind)}
            if not forms.isdisjoint(self._taken):
                return False
        return not self.forbidden(name)


def _draw_letter(draw: Draw, letter: str, used: Collection[str], letters: Sequence[str], sums: Sequence[int]) -> str:
    """Draw another letter that is free; if none comes, the first other one that did."""
    first = ""
    for _ in range(_DRAWS):
        new = letters[draw.position(sums)]
        if fold(new) != letter:
            if new not in used:
                return new
            first = first or new
    return first
