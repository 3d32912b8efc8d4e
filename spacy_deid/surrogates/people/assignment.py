"""Assign a surrogate to each part of a name, so that a surname alone is replaced as it is within the full name.

A surrogate is drawn with the patient's key from the name type (given name of a sex, or surname) and the folded
nominative of the part, not from the note. So a name has the same surrogate in all notes of a patient. Only if the
drawn name occurs in the note, is forbidden, or is the surrogate of another part already, the next one is drawn.

The surrogates of a given name and a surname can together be a forbidden full name, such as that of a known patient.
Then the given name is drawn again. If this fails `REDRAWS` times, the mention gets no surrogate, and a tag is written.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from ...lang.inflection import case_forms, inflects
from ...lang.text import fold
from ..keys import IdentityKey
from ..strategies import Suggest, nothing
from .identities import Person, name_type_of
from .name_lists import NameLists
from .name_parts import NameParts

REDRAWS = 20
"""Number of rounds in which the given names of forbidden full names are drawn again."""

_DRAWS = 60  # draws from similar names before the whole list is searched
_SHARED_LETTERS = 2  # first letters that all cases of a name share

FullName = tuple[tuple[str, str], ...]
"""Kind ("given" or "surname") and lemma (folded nominative) of each part of a name, in order."""


class NameAssignment:
    """Draws the surrogates of the parts of names in one note, and returns the same one for the same part each time.

    key (IdentityKey): the key of the patient, from which the surrogates are drawn.
    names (NameLists): the name lists of the language.
    taken (frozenset[str]): folded words of the note, which are never surrogates.
    forbidden (Callable[[str], bool]): returns True for a name that must not be a surrogate.
    suggest (Suggest): a function that proposes a surrogate, which is used if it is allowed and the variant is 0.
    """

    def __init__(
        self,
        key: IdentityKey,
        names: NameLists,
        taken: frozenset[str],
        forbidden: Callable[[str], bool],
        suggest: Suggest = nothing,
    ) -> None:
        self.key, self.names, self.lang, self.conventions = key, names, names.lang, names.conventions
        self.forbidden, self.suggest = forbidden, suggest
        self._taken = taken
        self._starts = frozenset(word[:_SHARED_LETTERS] for word in taken) if inflects(self.lang) else frozenset()
        self._assigned: dict[tuple[str, str, int], str | None] = {}
        self._used: set[str] = set()
        self._letters: dict[tuple[str, str, int], str] = {}
        self._redraws: Counter[tuple[str, str, int]] = Counter()
        self.is_forbidden = cache(forbidden)

    def __repr__(self) -> str:
        return f"NameAssignment({len(self._assigned)} parts)"

    def name(self, name_type: str, lemma: str, variant: int) -> str | None:
        """Return the surrogate of a part of a name. It is drawn at the first call.

        name_type (str): "female", "male" or "surname".
        lemma (str): the part, folded, in the nominative.
        variant (int): the variant of the mention; each variant has a surrogate of its own (see `Mention`).
        RETURNS (Optional[str]): the surrogate in the nominative, written as in the name lists; None if no listed name
            is allowed.
        """
        part = (name_type, lemma, variant)
        if part not in self._assigned:
            candidates = self._candidates(*part)
            self._assigned[part] = chosen = next((name for name in candidates if self._is_allowed(name, lemma)), None)
            if chosen:
                self._used.add(fold(chosen))
        return self._assigned[part]

    def redraw(self, name_type: str, lemma: str, variant: int) -> None:
        """Draw another surrogate for a part of a name. The old one is not used again in this note.

        For the arguments see `name`.
        """
        self._redraws[name_type, lemma, variant] += 1
        self._assigned.pop((name_type, lemma, variant), None)
        self.name(name_type, lemma, variant)

    def nickname(self, name: str, known_as: str, variant: int) -> str:
        """Return a nickname of a surrogate, for a mention in which the original name is a nickname too.

        name (str): the given name that is the surrogate.
        known_as (str): the nickname of the original, folded.
        variant (int): the variant of the mention.
        RETURNS (str): a nickname; the given name itself if no nickname of it is allowed.
        """
        nicknames = self.conventions.nicknames.get(fold(name), ())
        counts = [self.names.counts[sex] for sex in ("female", "male")]
        own, other = sorted(counts, key=lambda counted: -counted.get(fold(name), 0))
        known = [
            one
            for one in nicknames
            if one.isalpha() and own.get(fold(one), 0) >= other.get(fold(one), 0) and self._is_allowed(one, known_as)
        ]
        return self.key.draw("person", "nickname", fold(name), known_as, str(variant)).choice(known) if known else name

    def letter(self, kind: str, letter: str, variant: int) -> str | None:
        """Return the surrogate of an initial whose full name is unknown: another letter, drawn by its frequency.

        kind (str): "given" or "surname".
        letter (str): the initial, folded.
        variant (int): the variant of the mention.
        RETURNS (Optional[str]): a capital letter; None if the language has no name lists.
        """
        part = (kind, letter, variant)
        letters, sums = self.names.letters("surname" if kind == "surname" else "female")
        if part not in self._letters and letters:
            draw = self.key.draw("person", "initial", kind, letter, str(variant))
            used = {new for (k, _, v), new in self._letters.items() if (k, v) == (kind, variant)}
            drawn = (letters[draw.position(sums)] for _ in range(_DRAWS))
            first = ""  # fallback if all other letters are used
            for new in (new for new in drawn if fold(new) != letter):
                first = first or new
                if new not in used:
                    first = new
                    break
            self._letters[part] = first
        return self._letters.get(part)

    def _candidates(self, name_type: str, lemma: str, variant: int) -> Iterator[str]:
        """Yield the suggested name, then names drawn from those like the original, then the whole list."""
        redraws = self._redraws[name_type, lemma, variant]
        draw = self.key.draw("person", name_type, lemma, str(variant), *(("again", str(redraws)) if redraws else ()))
        pool = self.names.pool(self.names.stratum(name_type, lemma))
        if not variant and not redraws:
            suggested = self.suggest(name_type, lemma, pool, partial(self._is_allowed, lemma=lemma))
            if suggested:
                yield suggested
        for _ in range(_DRAWS if pool else 0):
            yield draw.choice(pool)
        everything = self.names.everything(name_type)
        start = draw.below(len(everything)) if everything else 0
        yield from everything[start:]
        yield from everything[:start]

    def _is_allowed(self, name: str, lemma: str) -> bool:
        """Whether a name is allowed as the surrogate of a part. Among others, the initials of both must differ."""
        folded = fold(name)
        if folded in self._taken or folded in self._used or folded[:1] == lemma[:1]:
            return False
        if folded[:_SHARED_LETTERS] in self._starts:
            forms = {fold(form) for kind in ("given", "surname") for form in case_forms(name, self.lang, kind=kind)}
            if not forms.isdisjoint(self._taken):
                return False
        return not self.forbidden(name)


def resolve_full_names(mentions: Sequence[tuple[NameParts, Person, int]], assignment: NameAssignment) -> None:
    """Draw given names again until no full name in the note is forbidden, or `REDRAWS` rounds have passed.

    The parts of a name are drawn separately, so each can be allowed although together they are the name of a known
    person. The first given name is drawn again, because relatives do not share it; if there is none, the last part.

    mentions (Sequence[tuple]): words, person and variant of each mention of a person.
    assignment (NameAssignment): the surrogates of the note, which are changed.
    """
    full_names = {
        (id(person), variant, name): person
        for parts, person, variant in mentions
        # The parts of a person's name may occur separately in the note and still belong together.
        for name in (*_orders(_named(parts)), *_orders(tuple(person.parts)))
    }
    for _ in range(REDRAWS):
        hits = set()
        for (_, variant, name), person in full_names.items():
            if _is_hit(name, person, variant, assignment):
                kind, lemma = next((part for part in name if part[0] == "given"), name[-1])
                hits.add((name_type_of(kind, lemma, person, assignment.names), lemma, variant))
        if not hits:
            return
        for name_type, lemma, variant in sorted(hits):
            assignment.redraw(name_type, lemma, variant)


def is_forbidden(parts: NameParts, person: Person, variant: int, assignment: NameAssignment) -> bool:
    """Whether the surrogates of the names in a mention form a forbidden full name."""
    return any(_is_hit(name, person, variant, assignment) for name in _orders(_named(parts)))


def _named(parts: NameParts) -> FullName:
    """Return kind and lemma of each name in a mention, without initials, particles and other words."""
    return tuple((part.kind, part.lemma) for part in parts if part.role == "name")


def _orders(name: FullName) -> list[FullName]:
    """Return a full name in its own order and with the surnames last; [] for a single word, which is no full name."""
    surnames_last = tuple(sorted(name, key=lambda part: part[0] == "surname"))
    return [] if len(name) < 2 else [name] if surnames_last == name else [name, surnames_last]


def _is_hit(name: FullName, person: Person, variant: int, assignment: NameAssignment) -> bool:
    """Whether the surrogate of a full name is forbidden, with or without particles such as "de la"."""
    bare, full = [], []
    for kind, lemma in name:
        name_type = name_type_of(kind, lemma, person, assignment.names)
        surrogate = assignment.name(name_type, lemma, variant)
        if surrogate is None:
            return False
        bare.append(surrogate)
        full += [*assignment.names.particles[name_type].get(fold(surrogate), ()), surrogate]
    return any(assignment.is_forbidden(" ".join(words)) for words in ([bare, full] if bare != full else [bare]))
