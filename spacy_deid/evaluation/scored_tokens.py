"""Scored tokens as a table of numbers, on which the figures of `ranking` are computed.

Tokens without letters and digits are neither scored nor measured. A token is PHI if the gold contains any of its
letters or digits: a token that is partly PHI may not be released either. A word is a run of characters without white
space; it is PHI if any of its tokens is, and its score is the highest of theirs.

Two rules without a model serve as baselines, one by shape and one by position. On forms they are strong, because the
fields of a form are PHI; in narrative the first has low precision and the second finds nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors, InputError, NotDeidentified
from .counts import Mask, alphanumeric_mask, coverage_mask, header_mask
from .documents import AnnotatedText

_BETWEEN = " \t\r\"'“”‘’«»([¿¡-–*•"  # may stand between the end of a sentence and the first word of the next
_ENDS = ".!?\n"


def shape_rule(doc: Doc) -> Mask:
    """Baseline: mark tokens with a digit, and capitalized tokens that do not begin a sentence.

    A sentence begins at the beginning of the text or of a line, and after ".", "!" or "?"; quotes, brackets and
    bullets may precede its first word. Abbreviations count as ends of sentences.

    doc (Doc): the note.
    RETURNS (Mask): shape (tokens,).
    """
    text, flags = doc.text, np.zeros(len(doc), dtype=np.bool_)
    for i, token in enumerate(doc):
        word = token.text
        digit = any(char.isdigit() for char in word)
        flags[i] = digit or (word[:1].isupper() and not _begins_sentence(text, token.idx))
    return flags


def _begins_sentence(text: str, start: int) -> bool:
    """Test whether a character is the first of its sentence, apart from quotes, brackets and bullets."""
    while start and text[start - 1] in _BETWEEN:
        start -= 1
    return not start or text[start - 1] in _ENDS


def layout_rule(doc: Doc) -> Mask:
    """Baseline: mark tokens after a colon on a line shorter than `counts.HEADER_WIDTH`.

    doc (Doc): the note.
    RETURNS (Mask): shape (tokens,).
    """
    header, flags = header_mask(doc.text), np.zeros(len(doc), dtype=np.bool_)
    colon = False
    for i, token in enumerate(doc):
        colon = colon and "\n" not in token.text
        flags[i] = colon and header[token.idx]
        colon = colon or ":" in token.text
    return flags


# name of a rule, as tables and rows of metrics have it → the rule
BASELINES: Mapping[str, Callable[[Doc], Mask]] = {
    "a digit, or a capital within a sentence": shape_rule,
    "after a colon on a short line": layout_rule,
}


KEY = "deid/surprisal"  # of doc.user_data
UNITS = ("token", "word")
NEVER = -np.inf  # the score of a token that was not scored

_WORD = re.compile(r"\S+")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTokens:
    """A table of tokens or words. Every array has one entry per token; there is no text.

    document (Ints): index of the document.
    start, end (Ints): character offsets in the text of the document.
    gold (Mask): whether the token is PHI.
    header (Mask): whether the token begins on a short line.
    word (Ints): index of the word that contains the token, over all documents.
    value (Floats): score, higher is more likely PHI; minus infinity for a token that was not scored.
    columns (Mapping[str, Floats]): further columns: features of the score, and baselines.
    """

    document: Ints
    start: Ints
    end: Ints
    gold: Mask
    header: Mask
    word: Ints
    value: Floats
    columns: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.value)

    def take(self, region: str) -> "ScoredTokens":
        """Select the tokens of a region.

        region (str): one of `metrics.REGIONS`: "all", "header" or "narrative".
        RETURNS (ScoredTokens): its tokens.
        """
        if region == "all":
            return self
        return self.select(self.header == (region == "header"))

    def select(self, rows: Mask) -> "ScoredTokens":
        """Select tokens.

        rows (Mask): which tokens to keep.
        RETURNS (ScoredTokens): these tokens, in the same order.
        """
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return ScoredTokens(**arrays, columns={name: column[rows] for name, column in self.columns.items()})

    def with_value(self, name: str) -> "ScoredTokens":
        """Use another column as the score.

        name (str): name of the column; NaN marks tokens that were not scored.
        RETURNS (ScoredTokens): the same tokens.
        """
        column = self.columns[name]
        return replace(self, value=np.where(np.isnan(column), NEVER, column))

    def words(self) -> "ScoredTokens":
        """Aggregate tokens to words: PHI if any token is, and the maximum of every score.

        RETURNS (ScoredTokens): one entry per word, on the line on which the word begins.
        """
        first = np.flatnonzero(np.diff(self.word, prepend=-1))
        if not len(first):
            return self
        last = np.append(first[1:], len(self)) - 1
        return ScoredTokens(
            document=self.document[first],
            start=self.start[first],
            end=self.end[last],
            gold=np.logical_or.reduceat(self.gold, first),
            header=self.header[first],
            word=self.word[first],
            value=np.maximum.reduceat(self.value, first),
            columns={name: np.maximum.reduceat(column, first) for name, column in self.columns.items()},
        )


_ARRAYS = ("document", "start", "end", "gold", "header", "word", "value")


def find_scorable(doc: Doc) -> list[int]:
    """Find the tokens that are scored: those with a letter or digit.

    doc (Doc): the note.
    RETURNS (list[int]): token indices.
    """
    return [token.i for token in doc if any(map(str.isalnum, token.text))]


def read_record(doc: Doc, name: str = "") -> Mapping[str, Any]:
    """Read the scores that ``deid_surprisal`` stored in a Doc.

    doc (Doc): the note.
    name (str): name of the document, for the error message.
    RETURNS (Mapping): "starts", "ends", "values", "features", and the names of model and score.
    RAISES: NotDeidentified (D834) if the Doc has no scores; InputError (D833) if the columns differ in length.
    """
    record: Mapping[str, Any] | None = doc.user_data.get(KEY)
    if record is None:
        raise NotDeidentified(Errors.D834.format(name=name))
    lists = [record["starts"], record["ends"], *record["features"].values()]
    if any(len(column) != len(record["values"]) for column in lists):
        raise InputError(Errors.D833.format(name=name, reason="the columns of its scores differ in length"))
    return record


def score_tokens(note: AnnotatedText, doc: Doc, record: Mapping[str, Any], *, rules: bool = True) -> ScoredTokens:
    """Create the table of a document. A token without a score in the record counts as never found.

    note (AnnotatedText): the gold.
    doc (Doc): the tokenized text.
    record (Mapping): result of `read_record`.
    rules (bool): whether to add the baselines as columns with values 0 and 1.
    RETURNS (ScoredTokens): the table.
    RAISES: InputError (D833) if the text or a score belongs to another document.
    """
    if doc.text != note.text:
        raise InputError(Errors.D833.format(name=note.name, reason="its text is not that of the gold"))
    tokens = find_scorable(doc)
    start = np.array([doc[i].idx for i in tokens], dtype=np.int64)
    end = np.array([doc[i].idx + len(doc[i]) for i in tokens], dtype=np.int64)
    place = _token_indices(note.name, start, end, record)
    columns = {name: _fill_column(values, place, len(tokens), np.nan) for name, values in record["features"].items()}
    if rules:
        columns |= {name: rule(doc)[tokens].astype(np.float64) for name, rule in BASELINES.items()}
    text = note.text
    inside = np.cumsum(coverage_mask(note.entities, len(text)) & alphanumeric_mask(text))
    inside = np.concatenate([[0], inside])
    begins = np.array([match.start() for match in _WORD.finditer(text)], dtype=np.int64)
    return ScoredTokens(
        document=np.zeros(len(tokens), dtype=np.int64),
        start=start,
        end=end,
        gold=inside[end] > inside[start],
        header=header_mask(text)[start],
        word=np.searchsorted(begins, start, side="right") - 1,
        value=_fill_column(record["values"], place, len(tokens), NEVER),
        columns=columns,
    )


def _token_indices(name: str, start: Ints, end: Ints, record: Mapping[str, Any]) -> Ints:
    """Return the index of the token of each score of a record."""
    index = {span: i for i, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))}
    spans = list(zip(record["starts"], record["ends"], strict=True))
    known = len(index.keys() & set(spans))
    if known != len(spans):
        reason = f"{len(spans) - known} of its {len(spans)} scores have no token of their own"
        raise InputError(Errors.D833.format(name=name, reason=reason))
    return np.array([index[span] for span in spans], dtype=np.int64)


def _fill_column(values: Sequence[float], place: Ints, length: int, absent: float) -> Floats:
    """Create a column for all tokens from the values of some."""
    column = np.full(length, absent)
    column[place] = values
    return column


def join(tables: Iterable[ScoredTokens]) -> ScoredTokens:
    """Concatenate the tables of documents, renumbering documents and words.

    tables (Iterable[ScoredTokens]): tables in order, all with the same columns.
    RETURNS (ScoredTokens): one table.
    """
    parts: list[dict[str, NDArray[Any]]] = []
    words = 0
    for number, table in enumerate(tables):
        parts.append({name: getattr(table, name) for name in _ARRAYS} | dict(table.columns))
        parts[-1] |= {"document": table.document + number, "word": table.word + words}
        words += int(table.word[-1]) + 1 if len(table) else 0
    if not parts:
        parts = [_EMPTY]
    columns = [name for name in parts[0] if name not in _ARRAYS]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return ScoredTokens(**{name: whole[name] for name in _ARRAYS}, columns={name: whole[name] for name in columns})


_TYPES = {"gold": np.bool_, "header": np.bool_, "value": np.float64}
_EMPTY: dict[str, NDArray[Any]] = {name: np.zeros(0, dtype=_TYPES.get(name, np.int64)) for name in _ARRAYS}
