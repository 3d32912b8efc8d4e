"""Scored tokens as a table of numbers: what the measures of `ranking` are taken on.

Tokens without a letter or digit are neither scored nor measured. A word is what stands between white space: it is PHI
if one of its tokens is, and scores as high as the highest of them. A token is PHI if the gold has one of its letters
or digits, so a token that is only partly PHI counts as PHI: half of it may not be released either.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors, InputError, NotDeidentified
from .baselines import BASELINES
from .counts import Mask, alphanumeric_mask, coverage_mask, header_mask
from .documents import AnnotatedText

__all__ = ["KEY", "UNITS", "ScoredTokens", "find_scorable", "join", "read_record", "score_tokens"]

KEY = "deid/surprisal"  # of doc.user_data
UNITS = ("token", "word")
NEVER = -np.inf  # the score of a token that was not scored

_WORD = re.compile(r"\S+")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTokens:
    """A table of tokens, or of words. One entry a token in every array; no text.

    document (Ints): number of the document.
    start, end (Ints): characters in its text.
    gold (Mask): whether it is PHI.
    header (Mask): whether it begins on a short line.
    word (Ints): number of the word that it is in, over all documents.
    value (Floats): the score, higher is more likely PHI; minus infinity for a token that was not scored.
    columns (Mapping[str, Floats]): what else is known of each token: features of the score, rules without a model.
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
        """The part of a region.

        region (str): one of `metrics.REGIONS`: "all", "header" or "narrative".
        RETURNS (ScoredTokens): its tokens.
        """
        if region == "all":
            return self
        return self.select(self.header == (region == "header"))

    def select(self, rows: Mask) -> "ScoredTokens":
        """Some of the tokens.

        rows (Mask): which.
        RETURNS (ScoredTokens): in the same order.
        """
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return ScoredTokens(**arrays, columns={name: column[rows] for name, column in self.columns.items()})

    def with_value(self, name: str) -> "ScoredTokens":
        """The table with a column as the score.

        name (str): name of the column; NaN in it is a token that was not scored.
        RETURNS (ScoredTokens): the same tokens.
        """
        column = self.columns[name]
        return replace(self, value=np.where(np.isnan(column), NEVER, column))

    def words(self) -> "ScoredTokens":
        """The table of words: PHI if one token is, and the highest of every score.

        RETURNS (ScoredTokens): one entry a word, on the line that the word begins on.
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
    RETURNS (list[int]): their indices.
    """
    return [token.i for token in doc if any(map(str.isalnum, token.text))]


def read_record(doc: Doc, name: str = "") -> Mapping[str, Any]:
    """What ``deid_surprisal`` wrote.

    doc (Doc): the note.
    name (str): name of the document, for the error.
    RETURNS (Mapping): "starts", "ends", "values", "features" and the names of model and score.
    RAISES: NotDeidentified (D834) if nothing is there; InputError (D833) if its lists are not of one length.
    """
    record: Mapping[str, Any] | None = doc.user_data.get(KEY)
    if record is None:
        raise NotDeidentified(Errors.D834.format(name=name))
    lists = [record["starts"], record["ends"], *record["features"].values()]
    if any(len(column) != len(record["values"]) for column in lists):
        raise InputError(Errors.D833.format(name=name, reason="the columns of its scores differ in length"))
    return record


def score_tokens(note: AnnotatedText, doc: Doc, record: Mapping[str, Any], *, rules: bool = True) -> ScoredTokens:
    """Make the table of one document.

    A token that the record does not have is not left out: it counts as never found.

    note (AnnotatedText): the gold.
    doc (Doc): its text as tokens.
    record (Mapping): as `read_record`.
    rules (bool): whether the rules of `baselines.BASELINES` become columns, of 0 and 1.
    RETURNS (ScoredTokens): the table.
    RAISES: InputError (D833) if the text or a score belongs to another document.
    """
    if doc.text != note.text:
        raise InputError(Errors.D833.format(name=note.name, reason="its text is not that of the gold"))
    tokens = find_scorable(doc)
    start = np.array([doc[i].idx for i in tokens], dtype=np.int64)
    end = np.array([doc[i].idx + len(doc[i]) for i in tokens], dtype=np.int64)
    place = _place(note.name, start, end, record)
    columns = {name: _spread(values, place, len(tokens), np.nan) for name, values in record["features"].items()}
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
        value=_spread(record["values"], place, len(tokens), NEVER),
        columns=columns,
    )


def _place(name: str, start: Ints, end: Ints, record: Mapping[str, Any]) -> Ints:
    """Where the scores of a record stand among the tokens."""
    index = {span: i for i, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))}
    spans = list(zip(record["starts"], record["ends"], strict=True))
    known = len(index.keys() & set(spans))
    if known != len(spans):
        reason = f"{len(spans) - known} of its {len(spans)} scores have no token of their own"
        raise InputError(Errors.D833.format(name=name, reason=reason))
    return np.array([index[span] for span in spans], dtype=np.int64)


def _spread(values: Sequence[float], place: Ints, length: int, absent: float) -> Floats:
    """A column with a value for every token."""
    column = np.full(length, absent)
    column[place] = values
    return column


def join(tables: Iterable[ScoredTokens]) -> ScoredTokens:
    """Put the tables of documents under each other, numbering documents and words on.

    tables (Iterable[ScoredTokens]): in order; all with the same columns.
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
