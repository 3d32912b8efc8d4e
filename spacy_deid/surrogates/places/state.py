"""Draw surrogates for one note so that they are consistent: no value is used twice, no decision is made twice."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ...lang.inflection import case_forms, inflects
from ...lang.text import fold
from ..keys import Draw, FormatPreservingCipher, IdentityKey

T = TypeVar("T")
_BEGINNING = 2  # first letters of a word, which are the same in all its grammatical cases
_TRIES = 16  # draws before the options are tried one by one


class NoteState:
    """Draws the surrogates of one note, and remembers which values are in use and what was decided before.

    It guarantees that no surrogate is forbidden or a value of the note, and that different originals of a kind have
    different surrogates.

    key (IdentityKey): the key of the patient, from which surrogates are drawn.
    lang (str): ISO 639-1 code of the note's language.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate.
    originals (Iterable[str]): values of the note, which must not be surrogates.
    """

    def __init__(
        self, key: IdentityKey, lang: str, forbidden: Callable[[str], bool], originals: Iterable[str]
    ) -> None:
        self.lang, self.cipher = lang, FormatPreservingCipher(key)
        self._key, self._forbidden = key, forbidden
        self._originals = {fold(value) for value in originals}
        self._beginnings = {value[:_BEGINNING] for value in self._originals}
        self._taken: set[tuple[str, str]] = set()
        self._refused: dict[str, bool] = {}
        self._made: dict[Hashable, object] = {}

    def __repr__(self) -> str:
        return f"NoteState({len(self._originals)} values)"

    def avoid(self, value: str) -> None:
        """Exclude one more value from the surrogates of the note, such as the nominative of an inflected mention."""
        self._originals.add(fold(value))
        self._beginnings.add(fold(value)[:_BEGINNING])

    def draw(self, *context: str) -> Draw:
        """Open the stream of random numbers for one decision.

        context (str): identifies the decision, such as "number", "12". The same context gives the same stream.
        RETURNS (Draw): the stream at its beginning.
        """
        return self._key.draw("places", self.lang, *context)

    def once(self, decision: Hashable, make: Callable[[], T]) -> T:
        """Make a decision once in a note: call `make` the first time, and return its result again at later calls.

        decision (Hashable): identifies the decision.
        make (Callable[[], T]): makes it.
        RETURNS (T): the result of `make`.
        """
        if decision not in self._made:
            self._made[decision] = make()
        return self._made[decision]  # type: ignore[return-value]

    def is_free(self, family: str, value: str) -> bool:
        """Whether a value can still be used as a surrogate.

        family (str): kind of values, such as "city 0". Two originals of a family never share a surrogate.
        value (str): the value in its basic form (nominative, usual capitals).
        RETURNS (bool): False if it is already in use in the family, is forbidden, or is a value of the note, also in
            another grammatical case.
        """
        folded = fold(value)
        if (family, folded) in self._taken or folded in self._originals:
            return False
        if folded not in self._refused:
            forms: frozenset[str] = frozenset()
            if inflects(self.lang) and folded[:_BEGINNING] in self._beginnings:
                forms = case_forms(value, self.lang, kind="place") | case_forms(value, self.lang)
            self._refused[folded] = not self._originals.isdisjoint(map(fold, forms)) or self._forbidden(value)
        return not self._refused[folded]

    def is_forbidden(self, value: str) -> bool:
        """Whether no surrogate of the note may contain a value, or the value is a name of the note."""
        return self._forbidden(value)

    def take(self, family: str, value: str) -> bool:
        """Reserve a value as a surrogate, so that no other original of the family gets it.

        For the arguments see `is_free`.
        RETURNS (bool): whether the value was free and is now reserved.
        """
        if free := self.is_free(family, value):
            self._taken.add((family, fold(value)))
        return free

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        """Draw a free value from a list. In a note, the same family and context always give the same value.

        family (str): kind of values; see `is_free`.
        options (Sequence[str]): the values to choose from, in their basic form.
        context (str): identifies the decision; it includes the folded original.
        RETURNS (Optional[str]): a value, which is now reserved; None if none is free.
        """

        def make() -> str | None:
            draw = self.draw(family, *context)
            for _ in range(_TRIES if options else 0):
                if self.take(family, option := draw.choice(options)):
                    return option
            return next((option for option in draw.shuffled(options) if self.take(family, option)), None)

        return self.once(("pick", family, context), make)

    def retry(self, family: str, make: Callable[[Draw], str], *context: str) -> str | None:
        """Generate random values until one is free. In a note, the same family and context always give the same value.

        family (str): kind of values; see `is_free`.
        make (Callable[[Draw], str]): generates a value from a stream of random numbers, or returns "" if it cannot.
        context (str): identifies the decision; it includes the folded original.
        RETURNS (Optional[str]): a value, which is now reserved; None if no value of 80 was free.
        """

        def make_free() -> str | None:
            draw = self.draw(family, *context)
            made = (make(draw) for _ in range(5 * _TRIES))
            return next((value for value in made if value and self.take(family, value)), None)

        return self.once(("retry", family, context), make_free)
