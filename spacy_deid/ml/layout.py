"""Token features as hashes: the form of the word, and the layout that it stands in.

Clinical notes are half form, half prose. On a line "Apellidos: De Miguel Rivera." the key says what the value is, so
every token carries the key of its field, its place in the field and in the note, and the key under which the same word
stood first in the note ("De Miguel" in the narrative is known from the header), and whether capitals mean anything
where it stands (not in a note of capitals, nor in one without any). Each column of the result is one categorical
feature; equal values mean equal hashes. Whoever has a dictionary can look words up by them, so they are kept nowhere.
"""

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IDX, IS_SPACE, ORTH
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from .lexicon import Lexicon

__all__ = ["FEATURES", "NoteFeatures", "NoteView", "dense_tokens"]

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

Forms = dict[int, tuple[int, ...]]


def mix(*columns: np.ndarray | int) -> np.ndarray:
    """Combine hashes into one, order-sensitive (a multiplicative mix over 64 bits)."""
    out = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            out = (out ^ np.asarray(column, dtype=np.uint64)) * _MIX
            out = out ^ (out >> np.uint64(29))
    return out


def dense_tokens(doc: Doc) -> np.ndarray:
    """The tokens that say something: all but blanks, and the carriage return of a line's end.

    Double spaces, tabs and CRLF come and go with the system that wrote a note. Left in, each would push a word's
    neighbours out of the network's sight.

    doc (Doc): the Doc.
    RETURNS (ndarray): numbers of the tokens, in order.
    """
    if not len(doc):
        return np.zeros(0, dtype=np.int64)
    orth, space = doc.to_array([ORTH, IS_SPACE]).T
    blank = (space == 1) & ~np.isin(orth, _NEWLINES)
    blank[:-1] |= (orth[:-1] == np.uint64(_RETURN)) & (orth[1:] == np.uint64(_LINE_FEED))
    return np.flatnonzero(~blank)


@dataclass(frozen=True, slots=True)
class NoteView:
    """A note read once: what each word form, line and field of it is, and which of them every dense token has.

    Takes about 12 bytes a token. `rows` makes the features of any stretch of it, those of the whole note if asked.

    forms (ndarray): hashes of each form, shape (forms, 12): "lower", "prefix", "suffix3", "shape", "prefix3",
        "suffix2", "suffix4", "long_shape", "lexicon", "cluster", "subcluster", "memory".
    repeats (ndarray): how often each form occurs in any case, 1 to 4, shape (forms,).
    cases (ndarray): how each form is written, whether it ends a sentence, and whether the note has it in lower case;
        uint8, shape (forms, 3).
    note_case (tuple[bool, bool]): whether the note has words in lower case, and capitalised ones.
    lines (ndarray): of each line whether it is prose, how many words in lower case it has (0 to 2) and how many
        capitalised ones (0 to 3); uint8, shape (lines, 3).
    fields (ndarray): key and long key of each field, uint64, shape (fields, 2); the first is that of no field.
    form, line, field, place (ndarray): the number of each dense token's form, line and field, and its place in the
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
        return len(self.form)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The features of a stretch of the note.

        start, stop (int): dense tokens, end exclusive.
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

    def _note_place(self, line: np.ndarray) -> np.ndarray:
        """Where the line stands in the note (early or late, coarse) and whether it is a form line or prose."""
        late = len(self.lines) - 1 - line
        return mix(np.minimum(line, 20), np.minimum(late, 4), self.lines[line, 0])

    def _case(self, start: int, stop: int) -> np.ndarray:
        """How a word is written, and what that means here: whether its note and its line have small words and
        capitalised ones, whether a sentence may begin with it, and whether the note has the same word without a
        capital.
        """
        case, _, small_elsewhere = self.cases[self.form[start:stop]].T
        _, few, many = self.lines[self.line[start:stop]].T
        opens = self.cases[self.form[np.arange(start - 1, stop - 1)], 1]
        if start == 0:
            opens[:1] = True
        return mix(case, *self.note_case, few, many, opens, small_elsewhere)


class NoteFeatures:
    """Feature extractor with a bounded cache of word forms (hash to hashes, no strings). Pickles without its cache.

    lexicon (Optional[Lexicon]): what lists know of words; without one its columns are 0.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self.lexicon = lexicon
        self._cache: Forms = {}

    def __reduce__(self) -> tuple[type["NoteFeatures"], tuple[Lexicon | None]]:
        return (NoteFeatures, (self.lexicon,))

    def __call__(self, doc: Doc) -> np.ndarray:
        """Features of a Doc.

        doc (Doc): the Doc, empty or not.
        RETURNS (ndarray): uint64, shape (dense tokens, features), columns as in `FEATURES`.
        """
        view = self.read(doc)
        return view.rows(0, len(view))

    def read(self, doc: Doc) -> NoteView:
        """Read a note, in time and memory that grow with its length.

        doc (Doc): the Doc, empty or not.
        RETURNS (NoteView): features of any stretch of it.
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
        """What depends on the form alone, from the cache; shape (tokens, 13)."""
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
    """Longer affixes and the full shape of a word, hashed."""
    low = text.lower()
    shape = "".join("9" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text)
    return hash_string(low[:3]), hash_string(low[-2:]), hash_string(low[-4:]), hash_string(shape[:12])


def _case_of(text: str) -> int:
    """How a word is written."""
    if text.islower():
        return _LOWER
    if text.isupper():
        return _UPPER if len(text) > 1 else _TITLE
    return _TITLE if text.istitle() else _MIXED if any(c.isalpha() for c in text) else _NO_CASE


def _fields(
    line: np.ndarray, colon: np.ndarray, lower: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the fields of a note: what stands on a line after a word and a colon, up to the next such colon.

    line, colon, lower, alpha (ndarray): of each token its line, whether it is a colon, the hash of its lower case, and
        whether it is a word; shape (tokens,).
    RETURNS (tuple): key (last word before the colon) and long key (last two) of each field, of no field first; the
        number of each token's field; its place in the field or line.
    """
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
    """How many of some tokens each line has, up to a number."""
    return np.minimum(np.bincount(line[tokens], minlength=line[-1] + 1 if len(line) else 0), most)


def _prose(doc: Doc, dense: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Whether each line is prose and no line of a form: it is long."""
    first = np.flatnonzero(np.diff(line, prepend=-1))
    starts = doc.to_array([IDX]).reshape(-1)[dense[first]].astype(np.int64)
    end = doc[-1].idx + len(doc[-1]) if len(doc) else 0
    return np.asarray(np.diff(starts, append=end) > _NARRATIVE)


def _memory(lower: np.ndarray, form: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each form the key under which the same word stood first in the note (0: none), and how often it occurs (1 to
    4), whatever its case.
    """
    word = np.unique(lower, return_inverse=True)[1]
    counts = np.bincount(word[form], minlength=len(lower))
    first_key = np.zeros(len(lower), dtype=np.uint64)
    keyed = np.flatnonzero(key)[::-1]
    first_key[word[form[keyed]]] = key[keyed]
    return first_key[word], np.minimum(counts[word], 4).astype(np.uint64)
