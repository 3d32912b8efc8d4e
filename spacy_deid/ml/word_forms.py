"""Compute the features that depend only on the form of a word, once per form, and cache them in a bounded table.

The table contains hashes, not words. It is neither pickled nor saved with a pipeline.
"""

import numpy as np
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.vocab import Vocab

from .lexicon import Lexicon

OF_WORD = (
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
"""The features that depend on the form of a word only, in the order of the columns of `WordForms.hashes`."""
NO_CASE, LOWER, TITLE, UPPER, MIXED = range(5)
ALPHABETIC, NEWLINE, COLON, SENTENCE_END = 1, 2, 4, 8
CACHE_SIZE = 20_000  # word forms
_NEWLINES = frozenset(hash_string(s) for s in ("\n", "\r", "\r\n", "\x0b", "\x0c", "\u2028"))
_COLON = hash_string(":")
_ENDS = frozenset(hash_string(s) for s in (".", "!", "?", ":", "\n"))


def is_newline(orth: int) -> bool:
    """Return whether the hash of a token is that of a line break."""
    return orth in _NEWLINES


class WordForms:
    """A cache of the features of word forms, in one row per form.

    Rows are added and never change. A full table (`is_full`) has to be replaced by a new one.

    lexicon (Optional[Lexicon]): word lists; without it the lexicon columns are 0.
    hashes (ndarray): the features `OF_WORD` of each form, uint64, shape (rows, 11).
    words (ndarray): number of the lower-case form; two forms of a word in different case share it. int32.
    cases (ndarray): how the form is capitalized: `NO_CASE`, `LOWER`, `TITLE`, `UPPER` or `MIXED`. uint8.
    flags (ndarray): sum of `ALPHABETIC`, `NEWLINE`, `COLON` and `SENTENCE_END`. uint8.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self.lexicon = lexicon
        self._rows: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self.hashes = np.zeros((64, len(OF_WORD)), dtype=np.uint64)
        self.words = np.zeros(64, dtype=np.int32)
        self.cases = np.zeros(64, dtype=np.uint8)
        self.flags = np.zeros(64, dtype=np.uint8)

    def __reduce__(self) -> tuple[type["WordForms"], tuple[Lexicon | None]]:
        """Pickle the lexicon only."""
        return WordForms, (self.lexicon,)

    @property
    def is_full(self) -> bool:
        """bool: Whether the table has reached `CACHE_SIZE` rows and should be replaced before the next text."""
        return len(self._rows) >= CACHE_SIZE

    def find(self, orths: list[int], vocab: Vocab) -> np.ndarray:
        """Return the row of each token's word form in the table; new forms are added.

        orths (list[int]): spaCy's attribute ORTH of the tokens, the hashes of their texts.
        vocab (Vocab): the vocab of the Docs, which contains the texts.
        RETURNS (ndarray): row of each token, int32, shape (orths,).
        """
        try:
            return np.fromiter(map(self._rows.__getitem__, orths), dtype=np.int32, count=len(orths))
        except KeyError:
            for orth in dict.fromkeys(orths):
                if orth not in self._rows:
                    self._add(orth, vocab)
        return np.fromiter(map(self._rows.__getitem__, orths), dtype=np.int32, count=len(orths))

    def _add(self, orth: int, vocab: Vocab) -> None:
        """Compute the features of a form."""
        row = len(self._rows)
        if row == len(self.words):
            self.hashes, self.words, self.cases, self.flags = (
                np.concatenate([part, np.zeros_like(part)])
                for part in (self.hashes, self.words, self.cases, self.flags)
            )
        lexeme, text = vocab[orth], vocab.strings[orth]
        listed = self.lexicon.look_up(text) if self.lexicon else (0, 0, 0)
        self.hashes[row] = (lexeme.lower, lexeme.prefix, lexeme.suffix, lexeme.shape, *_affixes(text), *listed)
        self.words[row] = self._numbers.setdefault(lexeme.lower, len(self._numbers))
        self.cases[row] = _case_of(text)
        self.flags[row] = (
            ALPHABETIC * lexeme.is_alpha
            + NEWLINE * is_newline(orth)
            + COLON * (orth == _COLON)
            + SENTENCE_END * (orth in _ENDS)
        )
        self._rows[orth] = row


def _affixes(text: str) -> tuple[int, int, int, int]:
    """Return hashes of longer affixes and of the full shape of a word."""
    low = text.lower()
    shape = "".join("9" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text)
    return hash_string(low[:3]), hash_string(low[-2:]), hash_string(low[-4:]), hash_string(shape[:12])


def _case_of(text: str) -> int:
    """Return how a word is capitalized."""
    if text.islower():
        return LOWER
    if text.isupper():
        return UPPER if len(text) > 1 else TITLE
    return TITLE if text.istitle() else MIXED if any(c.isalpha() for c in text) else NO_CASE
