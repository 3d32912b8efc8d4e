"""The state that the surrogates of one note share: key, values in use, forbidden values, earlier decisions."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ...lang.inflection import case_forms, inflects
from ...lang.text import fold
from ..keys import Draw, FormatPreservingCipher, IdentityKey

T = TypeVar("T")
_BEGINNING = 2  # first letters of a word, which no case changes
_TRIES = 16  # draws before the options are tried one by one


class NoteState:
    """The surrogates of one note while they are made.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    forbidden (Callable[[str], bool]): whether a value must not be a surrogate.
    originals (Iterable[str]): values of the note, none of which may be a surrogate.
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
        """Add a value that must not be a surrogate, such as the nominative of a mention."""
        self._originals.add(fold(value))
        self._beginnings.add(fold(value)[:_BEGINNING])

    def draw(self, *context: str) -> Draw:
        """Open the stream of random numbers of one decision. context (str): what is decided."""
        return self._key.draw("places", self.lang, *context)

    def once(self, decision: Hashable, make: Callable[[], T]) -> T:
        """Make a decision once per note: call `make` the first time and return the same result later."""
        if decision not in self._made:
            self._made[decision] = make()
        return self._made[decision]  # type: ignore[return-value]

    def is_free(self, family: str, value: str) -> bool:
        """Whether a value may be a surrogate: neither reserved nor forbidden, and not a form of a value in the note.

        family (str): kind of values; two originals of a family never share a surrogate.
        value (str): value in its basic form.
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

    def take(self, family: str, value: str) -> bool:
        """Reserve a value for one original; see `is_free`. RETURNS (bool): False if it is not free."""
        if free := self.is_free(family, value):
            self._taken.add((family, fold(value)))
        return free

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        """Draw one of several values that is free; the same one each time in a note.

        family (str): kind of values; see `is_free`.
        options (Sequence[str]): values in their basic form.
        context (str): what is decided, with the folded original.
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
        """Make values from one stream of random numbers until one is free; the same one each time in a note.

        family (str): kind of values; see `is_free`.
        make (Callable[[Draw], str]): makes a value; "" if it cannot.
        context (str): what is decided, with the folded original.
        RETURNS (Optional[str]): a value, which is now reserved; None if no try gave a free one.
        """

        def make_free() -> str | None:
            draw = self.draw(family, *context)
            made = (make(draw) for _ in range(5 * _TRIES))
            return next((value for value in made if value and self.take(family, value)), None)

        return self.once(("retry", family, context), make_free)
