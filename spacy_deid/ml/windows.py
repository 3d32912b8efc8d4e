"""Windows on notes: the stretches that go through the network one by one when it predicts, whatever a note's length.

What depends on the whole note (fields, memory, place, see `layout`) is read from the whole note once. The network
sees a few tokens to either side of a token, so a window with that many neighbours gives the scores of the whole note.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

from spacy.tokens import Doc
from thinc.api import Model

from .layout import NoteFeatures, NoteView, dense_tokens

__all__ = ["TAKES_WINDOWS", "WINDOW", "OpenNote", "Window", "are_windows", "cut_windows", "takes_windows"]

WINDOW = 2000  # dense tokens; with neighbours on both sides it is still one piece of the network
TAKES_WINDOWS = "with_blanks"  # name of the layer that can embed a stretch of a note


class OpenNote:
    """A note that is predicted in windows. Networks with the same lexicon share what was read of it.

    doc (Doc): the note.
    length (int): its dense tokens.
    """

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.length = len(dense_tokens(doc))
        self._views: dict[bytes, NoteView] = {}

    def view(self, lexicon: bytes, features: NoteFeatures) -> NoteView:
        """Read the note with a feature extractor, or return what was read of it with the same lexicon."""
        if lexicon not in self._views:
            self._views[lexicon] = features.read(self.doc)
        return self._views[lexicon]


class Window:
    """A stretch of the dense tokens of a note, from `start` up to `stop`, which is not part of it."""

    def __init__(self, note: OpenNote, start: int, stop: int) -> None:
        self.note, self.start, self.stop = note, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def widen(self, by: int) -> "Window":
        """The window with so many more tokens on both sides, where the note has them."""
        return Window(self.note, max(0, self.start - by), min(self.note.length, self.stop + by))


def are_windows(docs: list[Any]) -> TypeGuard[list[Window]]:
    """Whether the input of a network is windows and not Docs; it is never both."""
    return bool(docs) and isinstance(docs[0], Window)


def cut_windows(docs: Sequence[Doc], size: int = WINDOW) -> Iterator[list[tuple[int, Window]]]:
    """Cut notes into windows, in batches of about one window in all.

    docs (Sequence[Doc]): notes, empty ones too, which have no window.
    size (int): most tokens in a window.
    YIELDS (list[tuple[int, Window]]): number of the note and window, in the order of the notes and of their text.
    """
    batch: list[tuple[int, Window]] = []
    room = size
    for i, doc in enumerate(docs):
        note = OpenNote(doc)
        for start in range(0, note.length, size):
            window = Window(note, start, min(note.length, start + size))
            if len(window) > room and batch:
                yield batch
                batch, room = [], size
            batch.append((i, window))
            room -= len(window)
    if batch:
        yield batch


def takes_windows(model: Model[Any, Any]) -> bool:
    """Whether a model of tag scores can predict windows: all its members must embed tokens by `NoteTok2Vec`."""
    if model.name == "committee":
        return all(map(takes_windows, model.layers))
    while model.name != TAKES_WINDOWS and model.layers:
        model = model.layers[0]
    return model.name == TAKES_WINDOWS
