"""Compute the features of the tokens of a note, as hashes, from the form of each word and the layout around it.

Clinical notes are half form, half prose. In a line "Apellidos: De Miguel Rivera." (a field) the word before the colon
(its key) shows what the value is. Each token therefore has, besides features of the word itself, the key of its field,
its position in the field and in the note, the key under which the same word first occurred in the note (so that "De
Miguel" in the narrative is recognized from the header), and whether capitals are informative (they are not in a note
that is all in capitals or has none). Each column of the result is one categorical feature; equal values have equal
hashes. Words could be recovered from the hashes with a dictionary, so the hashes are not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from spacy.attrs import IDX, IS_SPACE, ORTH
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from .lexicon import Lexicon
from .word_forms import ALPHABETIC, COLON, LOWER, NEWLINE, OF_WORD, SENTENCE_END, TITLE, WordForms, is_newline

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
_RETURN, _LINE_FEED = hash_string("\r"), hash_string("\n")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NARRATIVE = 160  # characters of a line from which on it is prose and not a form


def mix(*columns: np.ndarray | int) -> np.ndarray:
    """Combine columns of hashes into one column, row by row. The order of the columns matters.

    columns (Union[ndarray, int]): hashes, uint64, of equal or broadcastable shapes.
    RETURNS (ndarray): the combined hashes, uint64 (multiplicative mixing over 64 bits).
    """
    out = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            out = (out ^ np.asarray(column, dtype=np.uint64)) * _MIX
            out = out ^ (out >> np.uint64(29))
    return out


# Features with few values are numbered; these are the hashes of all their values, by number. See `NoteView`.
_PLACES, _EARLY, _LATE = 16, 21, 5
PLACE_HASHES = mix(np.repeat(np.arange(_PLACES), 2), np.tile([0, 1], _PLACES))
LINE_HASHES = mix(*np.indices((_EARLY, _LATE, 2)).reshape(3, -1))
_CASE_SHAPE = (5, 2, 2, 3, 4, 2, 2)
CASE_HASHES = mix(*np.indices(_CASE_SHAPE).reshape(len(_CASE_SHAPE), -1))


def dense_tokens(doc: Doc) -> np.ndarray:
    """Return the dense tokens of a Doc, which the network reads: all tokens except white space other than line breaks.

    Double spaces, tabs and CRLF depend on the system that wrote the note. If they were kept, each would push a
    neighbour of a word out of the window that the network sees. Of CRLF, only the line feed is kept.

    doc (Doc): the Doc.
    RETURNS (ndarray): indices of the dense tokens, ascending, shape (dense tokens,).
    """
    if not len(doc):
        return np.zeros(0, dtype=np.int64)
    orth, space = doc.to_array([ORTH, IS_SPACE]).T
    keep = space == 0
    blanks = np.flatnonzero(space)
    kinds = [*orth[blanks].tolist(), 0]
    after = [*blanks[1:].tolist(), -1]
    for i, kind, next_kind, next_blank in zip(blanks.tolist(), kinds, kinds[1:], after, strict=False):
        ends_crlf = kind == _RETURN and next_kind == _LINE_FEED and next_blank == i + 1
        keep[i] = is_newline(kind) and not ends_crlf
    return np.flatnonzero(keep)


@dataclass(frozen=True, slots=True)
class NoteView:
    """The features of one or more notes in a compact form of about 20 bytes per token.

    It contains the dense tokens (see `dense_tokens`) of all notes, one note after another. `rows` computes the hashed
    features of any part of them. A field is the text on a line after a word and a colon; the word is its key.

    forms (WordForms): the features of word forms.
    note, form, word, line, field (ndarray): for each token its note, the row of its form, the number of its word in
        its note, its line and its field; int32, shape (tokens,).
    places (ndarray): number of the value of "field_place", see `PLACE_HASHES`; uint8, shape (tokens,).
    cases (ndarray): number of the value of "case", see `CASE_HASHES`; int16, shape (tokens,).
    keys (ndarray): key and long key of each field, uint64, shape (fields, 2); row 0 is for tokens outside fields.
    first_fields (ndarray): for each word the field in which it first occurred in the note, 0 for none; shape (words,).
    repeats (ndarray): for each word its number of occurrences in the note in any case, 1 to 4; shape (words,).
    line_places (ndarray): for each line the number of the value of "note_place", see `LINE_HASHES`.
    """

    forms: WordForms
    note: np.ndarray
    form: np.ndarray
    word: np.ndarray
    line: np.ndarray
    field: np.ndarray
    places: np.ndarray
    cases: np.ndarray
    keys: np.ndarray
    first_fields: np.ndarray
    repeats: np.ndarray
    line_places: np.ndarray

    def __len__(self) -> int:
        """Return the number of dense tokens."""
        return len(self.form)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Compute the hashed features of a range of tokens.

        start, stop (int): range of dense tokens, end exclusive.
        RETURNS (ndarray): uint64, shape (stop - start, features), columns as in `FEATURES`.
        """
        part = slice(start, stop)
        word, (key, long_key) = self.word[part], self.keys[self.field[part]].T
        columns = dict(zip(OF_WORD, self.forms.hashes[self.form[part]].T, strict=True))
        columns |= {"key": key, "long_key": long_key, "memory": self.keys[self.first_fields[word], 0]}
        columns |= {"repeats": self.repeats[word], "field_place": PLACE_HASHES[self.places[part]]}
        columns |= {
            "note_place": LINE_HASHES[self.line_places[self.line[part]]],
            "case": CASE_HASHES[self.cases[part]],
        }
        return np.stack([columns[name].astype(np.uint64) for name in FEATURES], axis=1)


class NoteFeatures:
    """Computes the features of notes, and caches those of word forms in a bounded table, which is not pickled.

    lexicon (Optional[Lexicon]): word lists; without it the lexicon columns are 0.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self.forms = WordForms(lexicon)

    def __reduce__(self) -> tuple[type["NoteFeatures"], tuple[Lexicon | None]]:
        return NoteFeatures, (self.forms.lexicon,)

    def __call__(self, doc: Doc) -> np.ndarray:
        """Compute the features of the dense tokens of a Doc, which are all tokens except spaces and tabs.

        doc (Doc): the Doc; it can be empty.
        RETURNS (ndarray): uint64, shape (dense tokens, features), columns as in `FEATURES`.
        """
        view = self.read([doc])
        return view.rows(0, len(view))

    def read(self, docs: Sequence[Doc]) -> NoteView:
        """Compute the features of notes in compact form, in time and memory linear in their length.

        Pass short notes together: the overhead of the NumPy calls then counts once.

        docs (Sequence[Doc]): Docs with the same vocab, at least one; they can be empty.
        RETURNS (NoteView): the compact features.
        """
        orths, starts, lengths = [], [], []
        for doc in docs:
            dense = dense_tokens(doc)
            orth, start = doc.to_array([ORTH, IDX])[dense].T if len(doc) else np.zeros((2, 0), dtype=np.uint64)
            orths.append(orth)
            starts.append(start.astype(np.int64))
            lengths.append(len(dense))
        if self.forms.is_full:
            self.forms = WordForms(self.forms.lexicon)
        form = self.forms.find(np.concatenate(orths).tolist(), docs[0].vocab)
        note = np.repeat(np.arange(len(docs), dtype=np.int32), lengths)
        flags, case = self.forms.flags[form], self.forms.cases[form]
        # A line begins with a note and after a line break.
        begins = np.diff(note, prepend=-1) > 0
        begins[1:] |= (flags[:-1] & NEWLINE) > 0
        line: np.ndarray = np.cumsum(begins, dtype=np.int32) - 1
        first = np.flatnonzero(begins)
        keys, field, places = _fields(line, first, (flags & COLON) > 0, self.forms.hashes[form, 0], flags & ALPHABETIC)
        word, repeats, first_fields = _words(note, self.forms.words[form], field)
        small, capital = case == LOWER, case == TITLE
        small_words = np.zeros(len(repeats), dtype=bool)
        small_words[word[small]] = True
        opens = np.diff(note, prepend=-1) > 0  # a sentence may begin here
        opens[1:] |= (flags[:-1] & SENTENCE_END) > 0
        parts = [
            case,
            _any_in(note, small, len(docs))[note],
            _any_in(note, capital, len(docs))[note],
            _count(line, small, len(first), 2)[line],
            _count(line, capital, len(first), 3)[line],
            opens,
            small_words[word],
        ]
        return NoteView(
            forms=self.forms,
            note=note,
            form=form,
            word=word,
            line=line,
            field=field,
            places=places,
            cases=np.ravel_multi_index(parts, _CASE_SHAPE).astype(np.int16),
            keys=keys,
            first_fields=first_fields,
            repeats=repeats,
            line_places=_line_places(docs, note[first], np.concatenate(starts)[first]),
        )


def _any_in(group: np.ndarray, tokens: np.ndarray, size: int) -> np.ndarray:
    """Return for each of *size* groups whether it has one of the given tokens."""
    found = np.zeros(size, dtype=bool)
    found[group[tokens]] = True
    return found


def _count(group: np.ndarray, tokens: np.ndarray, size: int, most: int) -> np.ndarray:
    """Count the given tokens in each of *size* groups, up to a maximum."""
    return np.minimum(np.bincount(group[tokens], minlength=size), most)


def _fields(
    line: np.ndarray, first: np.ndarray, colon: np.ndarray, lower: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the fields of notes: the text on a line after a word (the key) and a colon, up to the next such colon.

    line, colon, lower, alpha (ndarray): for each token its line, whether it is a colon, the hash of its lower-case
        form, and whether it is a word.
    first (ndarray): first token of each line.
    RETURNS (tuple): key and long key of each field, shape (fields, 2); the field of each token; and the number of its
        position in the field or line, combined with whether it is in a field.
    """
    here = np.arange(len(line), dtype=np.int32)
    keyed = colon.copy()
    keyed[:1] = False
    keyed[1:] &= (alpha[:-1] > 0) & (line[:-1] == line[1:])
    colons = np.flatnonzero(keyed)
    before = np.where((colons > 1) & (line[colons - 2] == line[colons]), lower[colons - 2], np.uint64(0))
    keys = np.zeros((len(colons) + 1, 2), dtype=np.uint64)
    keys[1:, 0] = lower[colons - 1]
    keys[1:, 1] = mix(lower[colons - 1], before)
    field = (np.cumsum(keyed) - keyed).astype(np.int32)  # of the last colon before the token, on whatever line
    last = np.append(-1, colons)[field]
    field[line[last] != line] = 0
    starts = np.where(field > 0, last + 1, first[line])
    return keys, field, (2 * np.minimum(here - starts, _PLACES - 1) + (field > 0)).astype(np.uint8)


def _words(note: np.ndarray, word: np.ndarray, field: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the words of each note.

    note, word, field (ndarray): for each token its note, the number of its lower-case form, and its field.
    RETURNS (tuple): for each token the number of its word; for each word its number of occurrences, 1 to 4, and the
        field in which it first occurred in a field, 0 for none.
    """
    pairs = note.astype(np.int64) << 32 | word
    _, number, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    first_fields = np.zeros(len(counts), dtype=np.int32)
    keyed = np.flatnonzero(field)[::-1]
    first_fields[number[keyed]] = field[keyed]
    return number.astype(np.int32), np.minimum(counts, 4).astype(np.uint8), first_fields


def _line_places(docs: Sequence[Doc], note: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return for each line the number of its position in the note (coarse), combined with whether it is prose rather
    than a line of a form, which depends on its length.

    note, starts (ndarray): note of each line, and its first character.
    """
    lines = np.bincount(note, minlength=len(docs))
    number = np.arange(len(note)) - (np.cumsum(lines) - lines)[note]
    ends = np.append(starts[1:], 0)
    for i, last in zip(np.flatnonzero(lines).tolist(), (np.cumsum(lines)[lines > 0] - 1).tolist(), strict=True):
        ends[last] = docs[i][-1].idx + len(docs[i][-1])
    early, late = np.minimum(number, _EARLY - 1), np.minimum(lines[note] - 1 - number, _LATE - 1)
    return np.asarray(2 * (_LATE * early + late) + (ends - starts > _NARRATIVE), dtype=np.uint8)
