"""Features of the tokens of a note as hashes: the form of a word, and the layout around it.

Clinical notes are half form, half prose. On a line "Apellidos: De Miguel Rivera." the key says what the value is.
Each token therefore has, besides the form of the word, the key of its field, its position in the field and in the
note, the key under which the same word first occurred in the note ("De Miguel" in the narrative is known from the
header), and whether capitals are informative (they are not in a note all in capitals, nor in one without capitals).
Each column of the result is one categorical feature; equal values have equal hashes. Words could be recovered from the
hashes with a dictionary, so the hashes are not stored.
"""

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IDX, IS_SPACE, ORTH
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from .lexicon import Lexicon

FEATURES = (
    "lower",
    "prefix",
    "suffix3",
    "shape",
    "prefix3",
    "suffix2",
    "suffix4",
    "long_shape",
    "key",
    "long_key",
    "field_place",
    "note_place",
    "memory",
    "repeats",
    "lexicon",
    "cluster",
    "case",
    "subcluster",
)
_NEWLINES = np.asarray([hash_string(s) for s in ("\n", "\r", "\r\n", "\x0b", "\x0c", "\u2028")], dtype=np.uint64)
_RETURN, _LINE_FEED = hash_string("\r"), hash_string("\n")
_COLON = hash_string(":")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_CACHE_SIZE = 50_000  # word forms
_ENDS = np.asarray([hash_string(s) for s in (".", "!", "?", ":", "\n")], dtype=np.uint64)
_NO_CASE, _LOWER, _TITLE, _UPPER, _MIXED = range(5)
_NARRATIVE = 160  # characters of a line from which on it is prose and not a form

_OF_WORD = (
    "lower",
    "prefix",
    "suffix3",
    "shape",
    "prefix3",
    "suffix2",
    "suffix4",
    "long_shape",
    "lexicon",
    "cluster",
    "subcluster",
)

Forms = dict[int, tuple[int, ...]]


def mix(*columns: np.ndarray | int) -> np.ndarray:
    """Combine hashes into one; the order of the columns matters (multiplicative mixing over 64 bits)."""
    out = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            out = (out ^ np.asarray(column, dtype=np.uint64)) * _MIX
            out = out ^ (out >> np.uint64(29))
    return out


def dense_tokens(doc: Doc) -> np.ndarray:
    """Return the tokens that carry information: all except white space, and the carriage return of a line ending.

    Double spaces, tabs and CRLF depend on the system that wrote the note. If they were kept, each would move the
    neighbours of a word out of the window of the network.

    doc (Doc): the Doc.
    RETURNS (ndarray): token indices, rising, shape (dense tokens,).
    """
    if not len(doc):
        return np.zeros(0, dtype=np.int64)
    orth, space = doc.to_array([ORTH, IS_SPACE]).T
    blank = (space == 1) & ~np.isin(orth, _NEWLINES)
    blank[:-1] |= (orth[:-1] == np.uint64(_RETURN)) & (orth[1:] == np.uint64(_LINE_FEED))
    return np.flatnonzero(~blank)


@dataclass(frozen=True, slots=True)
class NoteView:
    """The features of a note in compact form: a row per distinct word form, line and field, and their index per dense
    token.

    It needs about 12 bytes per token. `rows` computes the features of any part of the note.

    forms (ndarray): hashes of each form, shape (forms, 12): "lower", "prefix", "suffix3", "shape", "prefix3",
        "suffix2", "suffix4", "long_shape", "lexicon", "cluster", "subcluster", "memory".
    repeats (ndarray): number of occurrences of each form in any case, 1 to 4, shape (forms,).
    cases (ndarray): how each form is capitalized, whether it ends a sentence, and whether the note has it in lower
        case; uint8, shape (forms, 3).
    note_case (tuple[bool, bool]): whether the note has lower-case words, and capitalized words.
    lines (ndarray): for each line whether it is prose, its number of lower-case words (0 to 2) and of capitalized
        words (0 to 3); uint8, shape (lines, 3).
    fields (ndarray): key and long key of each field, uint64, shape (fields, 2); row 0 is for tokens outside fields.
    form, line, field, place (ndarray): index of the form, line and field of each dense token, and its position in the
        field or line (0 to 15); shape (tokens,).
    """

    forms: np.ndarray
    repeats: np.ndarray
    cases: np.ndarray
    note_case: tuple[bool, bool]
    lines: np.ndarray
    fields: np.ndarray
    form: np.ndarray
    line: np.ndarray
    field: np.ndarray
    place: np.ndarray

    def __len__(self) -> int:
        """Return the number of dense tokens."""
        return len(self.form)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Compute the features of a part of the note.

        start, stop (int): range of dense tokens, end exclusive.
        RETURNS (ndarray): uint64, shape (stop - start, features), columns as in `FEATURES`.
        """
        if not len(self):
            return np.zeros((0, len(FEATURES)), dtype=np.uint64)
        form, line, field = self.form[start:stop], self.line[start:stop], self.field[start:stop]
        forms = self.forms[form].T
        key, long_key = self.fields[field].T
        place = mix(self.place[start:stop], key != 0)
        columns = [*forms[:8], key, long_key, place, self._note_place(line)]
        columns += [forms[11], self.repeats[form], forms[8], forms[9], self._case(start, stop), forms[10]]
        return np.stack(columns, axis=1)

    def by_form(self) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """Return the features that depend on the form of a word: names, and hashes of shape (forms, names)."""
        word, memory = self.forms[:, : len(_OF_WORD)], self.forms[:, len(_OF_WORD) :]
        return [(_OF_WORD, word), (("memory",), memory), (("repeats",), self.repeats[:, None])]

    def by_field(self) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """Return the features that depend on the field: names, and hashes of shape (fields, names)."""
        return [(("key",), self.fields[:, :1]), (("long_key",), self.fields[:, 1:])]

    def by_token(self, start: int, stop: int) -> list[tuple[str, np.ndarray]]:
        """Return the features of single tokens: names, and hashes of shape (stop - start,), which have few values."""
        place = mix(self.place[start:stop], self.fields[self.field[start:stop], 0] != 0)
        note_place = self._note_place(self.line[start:stop])
        return [("field_place", place), ("note_place", note_place), ("case", self._case(start, stop))]

    def _note_place(self, line: np.ndarray) -> np.ndarray:
        """Return the position of the line in the note (coarse), combined with whether it is prose."""
        late = len(self.lines) - 1 - line
        return mix(np.minimum(line, 20), np.minimum(late, 4), self.lines[line, 0])

    def _case(self, start: int, stop: int) -> np.ndarray:
        """Return how each word is capitalized, combined with what that means: whether the note and the line have
        lower-case and capitalized words, whether a sentence may begin here, and whether the note has the same word
        in lower case.
        """
        case, _, small_elsewhere = self.cases[self.form[start:stop]].T
        _, few, many = self.lines[self.line[start:stop]].T
        opens = self.cases[self.form[np.arange(start - 1, stop - 1)], 1]
        if start == 0:
            opens[:1] = True
        return mix(case, *self.note_case, few, many, opens, small_elsewhere)


class NoteFeatures:
    """Feature extractor with a bounded cache of word forms (hash → hashes, no strings). It is pickled without the
    cache.

    lexicon (Optional[Lexicon]): word lists; without it the lexicon columns are 0.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self.lexicon = lexicon
        self._cache: Forms = {}

    def __reduce__(self) -> tuple[type["NoteFeatures"], tuple[Lexicon | None]]:
        return (NoteFeatures, (self.lexicon,))

    def __call__(self, doc: Doc) -> np.ndarray:
        """Compute the features of a Doc.

        doc (Doc): the Doc; it may be empty.
        RETURNS (ndarray): uint64, shape (dense tokens, features), columns as in `FEATURES`.
        """
        view = self.read(doc)
        return view.rows(0, len(view))

    def read(self, doc: Doc) -> NoteView:
        """Read a note, in time and memory linear in its length.

        doc (Doc): the Doc; it may be empty.
        RETURNS (NoteView): the compact features.
        """
        dense = dense_tokens(doc)
        orth, first, form = np.unique(doc.to_array([ORTH]).reshape(-1)[dense], return_index=True, return_inverse=True)
        forms = self._forms([doc[int(i)] for i in dense[first]])
        lower, alpha, case = forms[:, 0], forms[:, 11] == 1, forms[:, 12].astype(np.uint8)
        newline = np.isin(orth, _NEWLINES)[form]
        line: np.ndarray = (np.cumsum(newline) - newline).astype(np.int32)
        fields, field, place = _fields(line, (orth == np.uint64(_COLON))[form], lower[form], alpha[form])
        small, capital = case == _LOWER, case == _TITLE
        lines = [_prose(doc, dense, line), _count(line, small[form], 2), _count(line, capital[form], 3)]
        memory, repeats = _memory(lower, form, fields[field, 0])
        return NoteView(
            forms=np.column_stack([forms[:, :11], memory]),
            repeats=repeats,
            cases=np.column_stack([case, np.isin(orth, _ENDS), np.isin(lower, lower[small])]).astype(np.uint8),
            note_case=(bool(small.any()), bool(capital.any())),
            lines=np.column_stack(lines).astype(np.uint8),
            fields=fields,
            form=form.astype(np.int32),
            line=line,
            field=field,
            place=place,
        )

    def _forms(self, tokens: list[Token]) -> np.ndarray:
        """Return the features that depend only on the form of a word, from the cache; shape (tokens, 13)."""
        if len(self._cache) > _CACHE_SIZE:
            self._cache.clear()
        rows = []
        for token in tokens:
            row = self._cache.get(token.orth)
            if row is None:
                text = token.text
                plain = (token.lower, token.prefix, token.suffix, token.shape)
                listed = self.lexicon.look_up(text) if self.lexicon else (0, 0, 0)
                row = self._cache[token.orth] = (*plain, *_affixes(text), *listed, token.is_alpha, _case_of(text))
            rows.append(row)
        return np.asarray(rows, dtype=np.uint64).reshape(len(rows), 13)


def _affixes(text: str) -> tuple[int, int, int, int]:
    """Return hashes of longer affixes and of the full shape of a word."""
    low = text.lower()
    shape = "".join("9" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text)
    return hash_string(low[:3]), hash_string(low[-2:]), hash_string(low[-4:]), hash_string(shape[:12])


def _case_of(text: str) -> int:
    """Return how a word is capitalized."""
    if text.islower():
        return _LOWER
    if text.isupper():
        return _UPPER if len(text) > 1 else _TITLE
    return _TITLE if text.istitle() else _MIXED if any(c.isalpha() for c in text) else _NO_CASE


def _fields(
    line: np.ndarray, colon: np.ndarray, lower: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the fields of a note: the text on a line after a word and a colon, up to the next such colon."""
    here = np.arange(len(line), dtype=np.int32)
    keyed = colon.copy()
    keyed[:1] = False
    keyed[1:] &= alpha[:-1] & (line[:-1] == line[1:])
    colons = np.flatnonzero(keyed)
    before = np.where((colons > 1) & (line[colons - 2] == line[colons]), lower[colons - 2], np.uint64(0))
    keys = np.zeros((len(colons) + 1, 2), dtype=np.uint64)
    keys[1:, 0] = lower[colons - 1]
    keys[1:, 1] = mix(lower[colons - 1], before)
    field = (np.cumsum(keyed) - keyed).astype(np.int32)  # of the last colon before the token, on whatever line
    last = np.append(-1, colons)[field]
    field[line[last] != line] = 0
    starts = here[np.searchsorted(line, line)]
    starts = np.where(field > 0, last + 1, starts)
    return keys, field, np.minimum(here - starts, 15).astype(np.uint8)


def _count(line: np.ndarray, tokens: np.ndarray, most: int) -> np.ndarray:
    """Count the given tokens per line, up to a maximum."""
    return np.minimum(np.bincount(line[tokens], minlength=line[-1] + 1 if len(line) else 0), most)


def _prose(doc: Doc, dense: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Return whether each line is prose rather than a line of a form, which depends on its length."""
    first = np.flatnonzero(np.diff(line, prepend=-1))
    starts = doc.to_array([IDX]).reshape(-1)[dense[first]].astype(np.int64)
    end = doc[-1].idx + len(doc[-1]) if len(doc) else 0
    return np.asarray(np.diff(starts, append=end) > _NARRATIVE)


def _memory(lower: np.ndarray, form: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each form the key under which the word first occurred in the note (0: none), and its number of
    occurrences (1 to 4), ignoring case.
    """
    word = np.unique(lower, return_inverse=True)[1]
    counts = np.bincount(word[form], minlength=len(lower))
    first_key = np.zeros(len(lower), dtype=np.uint64)
    keyed = np.flatnonzero(key)[::-1]
    first_key[word[form[keyed]]] = key[keyed]
    return first_key[word], np.minimum(counts[word], 4).astype(np.uint64)
