"""The state that the surrogates of one note share: key, values in use, forbidden values, earlier decisions."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ...lang.inflection import case_forms, inflects
from ...lang.text import fold
from ..keys import Draw, IdentityKey

T = TypeVar("T")
_BEGINNING = 2  # first letters of a word, which no case changes
_TRIES = 16  # draws before the options are tried one by one


class NoteState:
    """The surrogates of one note while they are made.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    originals (Iterable[str]): values of the note, none of which may be a surrogate.
    """

    def __init__(
        self, key: IdentityKey, lang: str, forbidden: Callable[[str], bool], originals: Iterable[str]
    ) -> None:
        self.lang = lang
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
        """Make a decision once per note.

        decision (Hashable): what is decided.
        make (Callable[[], T]): called the first time.
        RETURNS (T): the result of the first call.
        """
        if decision not in self._made:
            self._made[decision] = make()
        return self._made[decision]  # type: ignore[return-value]

    def allows(self, value: str) -> bool:
        """Whether a value may be a surrogate at all.

        value (str): value in its basic form.
        RETURNS (bool): False for a value of the note in any case, and for a forbidden value.
        """
        folded = fold(value)
        if folded in self._originals:
            return False
        if folded not in self._refused:
            self._refused[folded] = self._is_case(value, folded) or self._forbidden(value)
        return not self._refused[folded]

    def _is_case(self, value: str, folded: str) -> bool:
        """Whether a value of the note is a case form of a value."""
        if not inflects(self.lang) or folded[:_BEGINNING] not in self._beginnings:
            return False
        forms = case_forms(value, self.lang, kind="place") | case_forms(value, self.lang)
        return not self._originals.isdisjoint(fold(form) for form in forms)

    def take(self, family: str, value: str) -> bool:
        """Reserve a value for one original.

        family (str): kind of values; two originals of a family never share a surrogate.
        value (str): value in its basic form.
        RETURNS (bool): False if the value is not free.
        """
        if not self.is_free(family, value):
            return False
        self._taken.add((family, fold(value)))
        return True

    def is_free(self, family: str, value: str) -> bool:
        """Whether a value can be reserved; see `take`."""
        return (family, fold(value)) not in self._taken and self.allows(value)

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        """Draw one of several values that is free; the same one each time in a note.

        family (str): kind of values; see `take`.
        options (Sequence[str]): values in their basic form.
        context (str): what is decided, with the folded original.
        RETURNS (Optional[str]): a value, which is now reserved; None if none is free.
        """
        return self.once(("pick", family, context), lambda: self._pick(family, options, context))

    def _pick(self, family: str, options: Sequence[str], context: tuple[str, ...]) -> str | None:
        """Draw a value, and after `_TRIES` draws search all options for a free one."""
        if not options:
            return None
        draw = self.draw(family, *context)
        for _ in range(_TRIES):
            option = draw.choice(options)
            if self.take(family, option):
                return option
        return next((option for option in draw.shuffled(options) if self.take(family, option)), None)

    def retry(self, family: str, make: Callable[[Draw], str], *context: str) -> str | None:
        """Make values until one is free; the same one each time in a note.

        family (str): kind of values; see `take`.
        make (Callable[[Draw], str]): makes a value from a stream of random numbers; "" if it cannot.
        context (str): what is decided, with the folded original.
        RETURNS (Optional[str]): a value, which is now reserved; None if no try gave a free one.
        """
        return self.once(("retry", family, context), lambda: self._retry(family, make, context))

    def _retry(self, family: str, make: Callable[[Draw], str], context: tuple[str, ...]) -> str | None:
        """Make values from one stream until one is free."""
        draw = self.draw(family, *context)
        made = (make(draw) for _ in range(5 * _TRIES))
        return next((value for value in made if value and self.take(family, value)), None)
