"""Fit a score for identifiers on notes without labels.

Some words are labelled by public knowledge alone (distant supervision; Mintz et al. 2009): a capitalized word that is
much more frequent in lists of names or places than in running text, a date, a long number or an e-mail address is an
identifier; a common lower-case word, a medical term or a number with a unit is none. The other words have no label. A
logistic regression (`scores.Combination`) learns from the labelled words how identifiers look to the language model,
how they are written and where they are in a note, and rates all words.

No annotation is used, not even to choose the threshold: it maximizes the F1 that the predicted probabilities imply
(Lipton, Elkan and Naryanaswamy 2014, arXiv:1402.1892).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..background.counts import PhraseCounts, load_background
from ..lang import get_language
from ..medical.dictionary import MedicalDictionary
from .columns import FORM_COLUMNS, LIST_NAMES, MODEL_COLUMNS, Columns, read_names
from .scores import Combination, fit_combination

PUBLIC_COLUMNS = (
    "name_odds", "place_odds", "id_shape", "measure", "medical", "eponym", "recurs", "digits", "mixed",
)  # fmt: skip
ZERO_SHOT_COLUMNS = (*MODEL_COLUMNS, *FORM_COLUMNS, "rarity", *PUBLIC_COLUMNS)
PENALTY = 100.0
UNDECIDED = -1

_LIKELY = 1.0  # least ln of the odds that a listed word is a name
_COMMON = 13.0  # −ln of a relative frequency of 2 per million
_UNSEEN = 0.1  # occurrences per million of a word that is on no list
_UNLISTED = -8.0  # odds of a word without a capital letter
_ID_SHAPE = re.compile(
    r"\b\d{1,4}([./-])\d{1,2}(?:\1\d{2,4}\b|\1)"  # a date
    r"|\b(?:19|20)\d\d\b|\b\d{5,}\b|\b\d[\d .-]{6,30}\d\b"  # a year; a long number, also in groups
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+"
)
_MEASURE = re.compile(
    r"\b\d{1,6}(?:[.,/-]\d{1,6}){0,3}\s?(?:%|°|[mµukdc]?[gml]\b|mmHg|mmol|mEq|[kmµ]?cal\b|mm\b|cm\b|UI\b|IU\b|kg\b|[bl]pm\b|h\b|x\b)"
    r"|\b\d{1,6},\d{1,6}\b|\b\d{1,2}\.\d\b(?![.\d])"
)


def public_columns(doc: Doc, words: Sequence[int], lang: str) -> Columns:
    """Compute the columns that depend on public lists and on the shape of words.

    doc (Doc): the note.
    words (Sequence[int]): indices of the tokens to describe.
    lang (str): ISO 639-1 code of the lists.
    RETURNS (Columns): shape (words,) each. "name_odds" and "place_odds": ln of how much more frequent a capitalized
        word is in the list than in running text; −8 for other words. 0 or 1: "id_shape" (in a date, a year, a long
        number or an e-mail address), "measure" (a decimal or a number with a unit), "medical" (in a medical term),
        "eponym" (in one that is named after a person), "mixed" (letters and digits). "recurs": ln of the number of
        occurrences in the note. "digits": ln(1 + length) of a number, else 0.
    RAISES: ConfigError (D703) if this package contains no medical dictionary of the language.
    """
    public, text = _load_public(lang), doc.text
    shaped, measured, medical, eponym = np.zeros((4, len(text) + 1), dtype=np.bool_)
    for pattern, marked in ((_ID_SHAPE, shaped), (_MEASURE, measured)):
        for found in pattern.finditer(text):
            marked[found.start() : found.end()] = True
    for match in public.medical.find(text):
        medical[match.start : match.end] = True
        eponym[match.start : match.end] |= match.person_named
    counts = Counter(doc[word].lower_ for word in words)
    rows = np.zeros((len(words), len(PUBLIC_COLUMNS)))
    for row, word in enumerate(words):
        token = doc[word]
        form = token.text
        rows[row] = (
            *public.odds(form),
            shaped[token.idx],
            measured[token.idx] and not shaped[token.idx],
            medical[token.idx],
            eponym[token.idx],
            np.log(counts[token.lower_]),
            np.log1p(len(form)) if form.isdigit() else 0.0,
            any(map(str.isdigit, form)) and any(map(str.isalpha, form)),
        )
    return dict(zip(PUBLIC_COLUMNS, rows.T, strict=True))


def weak_labels(columns: Columns) -> NDArray[np.int8]:
    """Label the words that public knowledge decides.

    columns (Columns): the columns of one note, with `PUBLIC_COLUMNS`.
    RETURNS (NDArray): 1 for an identifier, 0 for another word, `UNDECIDED` for the rest; shape (words,).
    """
    capital = (columns["capital"] > 0) | (columns["upper"] > 0)
    odds = np.maximum(columns["name_odds"], columns["place_odds"])
    medical = columns["medical"] > 0
    identifier = (columns["id_shape"] > 0) | (capital & (odds > _LIKELY) & ~medical)
    common = ~capital & (columns["digit"] == 0) & (columns["rarity"] < _COMMON)
    other = common | (medical & ((odds < _LIKELY) | (columns["eponym"] > 0))) | (columns["measure"] > 0)
    return np.select([identifier, other], [1, 0], UNDECIDED).astype(np.int8)


def fit_zero_shot(notes: Sequence[Columns], columns: Sequence[str] = ZERO_SHOT_COLUMNS) -> Combination:
    """Fit a combination to the weak labels of notes.

    notes (Sequence[Columns]): the columns of each note, with those that `weak_labels` needs.
    columns (Sequence[str]): names of the columns to use.
    RETURNS (Combination): the combination. Its probabilities refer to words like those with a weak label.
    """
    labels = [weak_labels(note) for note in notes]
    gold = [(label == 1).astype(np.float64) for label in labels]
    decided = [label != UNDECIDED for label in labels]
    return fit_combination(notes, gold, columns, PENALTY, products=False, used=decided)


def expected_f1_threshold(probabilities: NDArray[np.float64]) -> float:
    """Choose the threshold that maximizes the expected F1, 2 Σ p / (found + Σ p), without labels.

    The sum in the numerator is over the words that are found, the other one over all words.

    probabilities (NDArray): calibrated probabilities of the words of unlabelled notes, shape (words,).
    RETURNS (float): the threshold, one of the probabilities; 1 if there are none.
    """
    if not len(probabilities):
        return 1.0
    falling = np.sort(probabilities)[::-1]
    sums = np.cumsum(falling)
    expected = 2 * sums / (np.arange(1, len(falling) + 1) + sums[-1])
    return float(falling[np.argmax(expected)])


class _Public(NamedTuple):
    """Public knowledge of a language: occurrences per million in lists of names and of places, word counts, terms."""

    names: Mapping[str, float]
    places: Mapping[str, float]
    background: PhraseCounts
    medical: MedicalDictionary
    nominatives: Callable[[str], tuple[str, ...]]

    def odds(self, word: str) -> tuple[float, float]:
        """Return how much more frequent a capitalized word is among names and among places than in running text."""
        if not word[:1].isupper():
            return _UNLISTED, _UNLISTED
        forms, usual = self.nominatives(word.lower()), self.background.per_million(word) + _UNSEEN
        name, place = (max(table.get(form, 0.0) for form in forms) for table in (self.names, self.places))
        return float(np.log((name + _UNSEEN) / usual)), float(np.log((place + _UNSEEN) / usual))


@cache
def _load_public(lang: str) -> _Public:
    """Load the public knowledge of a language."""
    tables = []
    for files in LIST_NAMES.values():
        table: dict[str, float] = {}
        for word, count in read_names(lang, *files).items():
            table[word.lower()] = table.get(word.lower(), 0.0) + count
        total = max(1.0, sum(table.values()))
        tables.append({word: 1e6 * count / total for word, count in table.items()})
    names, places = tables
    inflector = get_language(lang).inflector

    def nominatives(word: str) -> tuple[str, ...]:
        """List the listed words that a form can belong to, and the form itself."""
        if inflector is None or word in names or word in places or not word.isalpha():
            return (word,)
        known = inflector.analyze(word, lambda form: form in names or form in places)
        return (word, *(found.nominative for found in known))

    return _Public(names, places, load_background(lang), MedicalDictionary.load(lang), nominatives)
