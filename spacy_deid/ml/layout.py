"""Token features as hashes: the form of the word, and the layout that it stands in.

Clinical notes are half form, half prose. On a line "Apellidos: De Miguel Rivera." the key says what the value is, so
every token carries the key of its field, its place in the field and in the note, and the key under which the same word
stood first in the note ("De Miguel" in the narrative is known from the header), and whether capitals mean anything
where it stands (not in a note of capitals, nor in one without any). Each column of the result is one categorical
feature; equal values mean equal hashes. Whoever has a dictionary can look words up by them, so they are kept nowhere.
"""

import numpy as np
from spacy.attrs import IS_ALPHA, IS_SPACE, LOWER, ORTH, PREFIX, SHAPE, SUFFIX
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from .lexicon import Lexicon

__all__ = ["FEATURES", "NoteFeatures", "dense_tokens"]

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
        if len(self._cache) > _CACHE_SIZE:
            self._cache.clear()
        dense = dense_tokens(doc)
        if not len(dense):
            return np.zeros((0, len(FEATURES)), dtype=np.uint64)
        orth, lower, prefix, suffix, shape, alpha = doc.to_array([ORTH, LOWER, PREFIX, SUFFIX, SHAPE, IS_ALPHA])[
            dense
        ].T
        line, keys, long_keys, place = _fields(orth, lower, alpha == 1)
        forms = self._forms(doc, dense, orth).T
        columns = [
            *(lower, prefix, suffix, shape),
            *forms[:4],
            *(keys, long_keys, place, _note_place(doc, dense, line)),
            *_memory(lower, keys),
            *forms[4:6],
            _case(forms[7].astype(np.int64), orth, lower, line),
            forms[6],
        ]
        return np.stack(columns, axis=1)

    def _forms(self, doc: Doc, dense: np.ndarray, orth: np.ndarray) -> np.ndarray:
        """What depends on the word form alone, from the cache; shape (tokens, 8)."""
        rows = []
        for i, key in enumerate(orth.tolist()):
            row = self._cache.get(key)
            if row is None:
                text = doc[int(dense[i])].text
                listed = self.lexicon.look_up(text) if self.lexicon else (0, 0, 0)
                row = self._cache[key] = (*_affixes(text), *listed, _case_of(text))
            rows.append(row)
        return np.asarray(rows, dtype=np.uint64).reshape(len(rows), 8)


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


def _case(case: np.ndarray, orth: np.ndarray, lower: np.ndarray, line: np.ndarray) -> np.ndarray:
    """How a word is written, and what that means here: whether its note and its line have small words and capitalised
    ones, whether a sentence may begin with it, and whether the note has the same word without a capital.
    """
    small, capital = case == _LOWER, case == _TITLE
    lines = line.max() + 1
    few = np.minimum(np.bincount(line[small], minlength=lines), 2)[line]
    many = np.minimum(np.bincount(line[capital], minlength=lines), 3)[line]
    opens = np.isin(np.roll(orth, 1), _ENDS)
    opens[0] = True
    return mix(case, small.any(), capital.any(), few, many, opens, np.isin(lower, lower[small]))


def _fields(
    orth: np.ndarray, lower: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Line number, key (last word before the colon), long key (last two) and place in the field, of each token."""
    n = len(orth)
    newline = np.isin(orth, _NEWLINES)
    line: np.ndarray = np.cumsum(newline) - newline
    key, long_key = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.uint64)
    starts = np.zeros(n, dtype=np.int64)
    first = np.flatnonzero(np.diff(line, prepend=-1))
    ends = np.append(first[1:], n)
    starts[:] = np.repeat(first, ends - first)
    for colon in np.flatnonzero(orth == np.uint64(_COLON)).tolist():
        if colon == 0 or not alpha[colon - 1] or line[colon - 1] != line[colon]:
            continue
        stop = int(ends[np.searchsorted(first, colon, side="right") - 1])
        key[colon + 1 : stop] = lower[colon - 1]
        earlier = int(lower[colon - 2]) if colon > 1 and line[colon - 2] == line[colon] else 0
        long_key[colon + 1 : stop] = mix(lower[colon - 1], earlier)
        starts[colon + 1 : stop] = colon + 1
    place = np.minimum(np.arange(n) - starts, 15)
    return line, key, long_key, mix(place, key != 0)


def _note_place(doc: Doc, dense: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Where the line stands in the note (early or late, coarse) and whether it is a form line or prose."""
    first = np.flatnonzero(np.diff(line, prepend=-1))
    sizes = np.diff([doc[int(dense[i])].idx for i in first] + [doc[-1].idx + len(doc[-1])])
    prose = (sizes > _NARRATIVE)[line]
    late = line.max() - line
    return mix(np.minimum(line, 20), np.minimum(late, 4), prose)


def _memory(lower: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The key under which the same word stood first in this note (0: none), and how often the word occurs (1 to 4)."""
    _, inverse, counts = np.unique(lower, return_inverse=True, return_counts=True)
    first_key = np.zeros(len(counts), dtype=np.uint64)
    keyed = np.flatnonzero(key)[::-1]
    first_key[inverse[keyed]] = key[keyed]
    return first_key[inverse], np.minimum(counts[inverse], 4).astype(np.uint64)
