"""Score how likely each token of a corpus is PHI, and collect scores and gold in a table for `ranking` to evaluate.

Tokens without letters and digits are neither scored nor measured. A token is PHI if the gold contains any of its
letters or digits: a token that is partly PHI may not be released either. A word is a run of characters without white
space; it is PHI if any of its tokens is, and its score is the highest of theirs.

Two rules without a model serve as baselines, one by shape and one by position. On forms they are strong, because the
fields of a form are PHI; in narrative the first has low precision and the second finds nothing.

Scores can be stored in a file, so that an interrupted evaluation can be resumed. The file holds offsets, scores and
features, without text or names. Its name contains a hash of the corpus, the model and the settings, so that scores of
other texts or settings are never reused.
"""

import hashlib
import io
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, InputError, NotDeidentified
from .counts import Mask, alphanumeric_mask, coverage_mask, header_mask
from .documents import AnnotatedText, write_bytes

_BETWEEN = " \t\r\"'“”‘’«»([¿¡-–*•"  # allowed between the end of a sentence and the first word of the next
_ENDS = ".!?\n"


def shape_rule(doc: Doc) -> Mask:
    """Baseline without a model: mark tokens with a digit, and capitalized tokens that do not begin a sentence.

    A sentence begins at the beginning of the text or of a line, and after ".", "!" or "?"; quotes, brackets and
    bullets may precede its first word. Abbreviations count as ends of sentences.

    doc (Doc): the note.
    RETURNS (Mask): whether each token is marked as PHI, shape (tokens,).
    """
    text, flags = doc.text, np.zeros(len(doc), dtype=np.bool_)
    for i, token in enumerate(doc):
        word, start = token.text, token.idx
        while start and text[start - 1] in _BETWEEN:
            start -= 1
        begins = not start or text[start - 1] in _ENDS
        flags[i] = any(char.isdigit() for char in word) or (word[:1].isupper() and not begins)
    return flags


def layout_rule(doc: Doc) -> Mask:
    """Baseline without a model: mark tokens after a colon on a line shorter than `counts.HEADER_WIDTH`.

    doc (Doc): the note.
    RETURNS (Mask): whether each token is marked as PHI, shape (tokens,).
    """
    header, flags = header_mask(doc.text), np.zeros(len(doc), dtype=np.bool_)
    colon = False
    for i, token in enumerate(doc):
        colon = colon and "\n" not in token.text
        flags[i] = colon and header[token.idx]
        colon = colon or ":" in token.text
    return flags


# name of a rule in tables and metric rows → the rule
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
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTokens:
    """A table of scored tokens, or of scored words, with the gold. Arrays have one entry per token; there is no text.

    document (Ints): index of the document.
    start, end (Ints): character offsets in the text of the document.
    gold (Mask): whether the token is PHI.
    header (Mask): whether the token begins on a short line.
    word (Ints): index of the word that contains the token, counted over all documents.
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
        """Select the tokens of a region, one of `metrics.REGIONS`: "all", "header" or "narrative"."""
        if region == "all":
            return self
        return self.select(self.header == (region == "header"))

    def select(self, rows: Mask) -> "ScoredTokens":
        """Select the tokens for which `rows` is True, in the same order."""
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return ScoredTokens(**arrays, columns={name: column[rows] for name, column in self.columns.items()})

    def with_value(self, name: str) -> "ScoredTokens":
        """Return the table with another column as the score, for example that of a baseline.

        name (str): name of the column; NaN marks tokens that were not scored.
        RETURNS (ScoredTokens): the same tokens with the values of the column as scores.
        """
        column = self.columns[name]
        return replace(self, value=np.where(np.isnan(column), NEVER, column))

    def words(self) -> "ScoredTokens":
        """Aggregate tokens to words. A word is PHI if any of its tokens is; every score is the maximum of its tokens.

        RETURNS (ScoredTokens): one entry per word; it is in the header if its first token is.
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
    """Return the indices of the tokens that are scored: those with a letter or digit."""
    return [token.i for token in doc if any(map(str.isalnum, token.text))]


def read_record(doc: Doc, name: str = "") -> Record:
    """Return the scores that ``deid_surprisal`` stored in a Doc, after checking them.

    doc (Doc): the note.
    name (str): name of the document, for the error message.
    RETURNS (Mapping): "starts", "ends" (character offsets) and "values" (scores) of the tokens, "features" (further
        columns by name), and how they were scored: "model", "mode", "masking", "score".
    RAISES: NotDeidentified (D834) if the Doc has no scores; InputError (D833) if the columns differ in length.
    """
    record: Record | None = doc.user_data.get(KEY)
    if record is None:
        raise NotDeidentified(Errors.D834.format(name=name))
    lists = [record["starts"], record["ends"], *record["features"].values()]
    if any(len(column) != len(record["values"]) for column in lists):
        raise InputError(Errors.D833.format(name=name, reason="the columns of its scores differ in length"))
    return record


def score_tokens(note: AnnotatedText, doc: Doc, record: Record, *, rules: bool = True) -> ScoredTokens:
    """Create the table of a document from its gold and its scores. A token without a score gets minus infinity.

    note (AnnotatedText): the gold.
    doc (Doc): the tokenized text.
    record (Mapping): result of `read_record`.
    rules (bool): whether to add the baselines as columns with values 0 and 1.
    RETURNS (ScoredTokens): the table.
    RAISES: InputError (D833) if the text or a score belongs to another document.
    """
    text = note.text
    if doc.text != text:
        raise InputError(Errors.D833.format(name=note.name, reason="its text is not that of the gold"))
    tokens = find_scorable(doc)
    start = np.array([doc[i].idx for i in tokens], dtype=np.int64)
    end = np.array([doc[i].idx + len(doc[i]) for i in tokens], dtype=np.int64)
    place = _token_indices(note.name, start, end, record)

    def fill(values: Sequence[float], absent: float) -> Floats:
        column = np.full(len(tokens), absent)
        column[place] = values
        return column

    columns = {name: fill(values, np.nan) for name, values in record["features"].items()}
    if rules:
        columns |= {name: rule(doc)[tokens].astype(np.float64) for name, rule in BASELINES.items()}
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
        value=fill(record["values"], NEVER),
        columns=columns,
    )


def _token_indices(name: str, start: Ints, end: Ints, record: Record) -> Ints:
    """Find the token of each score in a record, by its offsets. RAISES: InputError (D833) if a score has no token."""
    index = {span: i for i, span in enumerate(zip(start.tolist(), end.tolist(), strict=True))}
    spans = list(zip(record["starts"], record["ends"], strict=True))
    known = len(index.keys() & set(spans))
    if known != len(spans):
        reason = f"{len(spans) - known} of its {len(spans)} scores have no token of their own"
        raise InputError(Errors.D833.format(name=name, reason=reason))
    return np.array([index[span] for span in spans], dtype=np.int64)


def join(tables: Iterable[ScoredTokens]) -> ScoredTokens:
    """Concatenate the tables of single documents to one table of the corpus, numbering documents and words anew.

    tables (Iterable[ScoredTokens]): one table per document, in order, all with the same columns.
    RETURNS (ScoredTokens): the table of all documents.
    """
    parts: list[dict[str, NDArray[Any]]] = []
    words = 0
    for number, table in enumerate(tables):
        parts.append({name: getattr(table, name) for name in _ARRAYS} | dict(table.columns))
        parts[-1] |= {"document": table.document + number, "word": table.word + words}
        words += int(table.word[-1]) + 1 if len(table) else 0
    if not parts:
        types = {"gold": np.bool_, "header": np.bool_, "value": np.float64}
        parts = [{name: np.zeros(0, dtype=types.get(name, np.int64)) for name in _ARRAYS}]
    columns = [name for name in parts[0] if name not in _ARRAYS]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return ScoredTokens(**{name: whole[name] for name in _ARRAYS}, columns={name: whole[name] for name in columns})


# ---------------------------------------------------------------- scoring a corpus

FACTORY = "deid_surprisal"
PARTS = ("model", "mode", "masking", "score")  # of a record: how it was scored
BATCH = 8  # notes per batch of the model
PAUSE = 30.0  # seconds between two writes of the stored scores


def score_corpus(
    nlp: Language,
    notes: Sequence[AnnotatedText],
    folder: Path | None = None,
    step: Callable[[int], object] = lambda count: None,
) -> tuple[ScoredTokens, dict[str, Any]]:
    """Score the tokens of all notes of a corpus and join them to one table.

    nlp (Language): pipeline with ``deid_surprisal``.
    notes (Sequence[AnnotatedText]): the gold.
    folder (Optional[Path]): folder of stored scores; None to store none.
    step (Callable[[int], object]): progress callback, called with the number of notes just finished.
    RETURNS (tuple): the table of all tokens, and a dict with "model", "mode", "masking", "score" and the number of
        "unaligned" words.
    RAISES: NotDeidentified (D834) if the pipeline does not score; InputError (D833) as `score_tokens`.
    """
    tables: list[ScoredTokens] = []
    about: dict[str, Any] = {"unaligned": 0}
    for note, doc, record in score_notes(nlp, notes, folder):
        tables.append(score_tokens(note, doc, record))
        about |= {name: record[name] for name in PARTS} | {"unaligned": about["unaligned"] + record["unaligned"]}
        step(1)
    return join(tables), about


def score_notes(
    nlp: Language, notes: Sequence[AnnotatedText], folder: Path | None = None
) -> Iterator[tuple[AnnotatedText, Doc, Record]]:
    """Score notes one by one: first those with stored scores, then the others, storing the scores at intervals.

    nlp (Language): pipeline with ``deid_surprisal``.
    notes (Sequence[AnnotatedText]): notes.
    folder (Optional[Path]): folder of stored scores; None to store none.
    YIELDS (tuple): the note, its Doc, and the record of its scores.
    RAISES: NotDeidentified (D834) if the pipeline does not score; InputError (D836) if the stored scores are damaged.
    """
    if not notes:
        return
    first = read_record(nlp(notes[0].text), notes[0].name)
    parts = {name: str(first[name]) for name in PARTS}
    path = folder / f"scores-{store_key(nlp, notes, parts)}.npz" if folder else None
    kept = _read_scores(path)
    records: list[Record] = [*kept] or [first]
    for note, record in zip(notes, list(records), strict=False):
        yield note, nlp.make_doc(note.text), {**record, **parts}
    saved = time.monotonic()
    try:
        left = notes[len(records) :]
        for note, doc in zip(left, nlp.pipe((note.text for note in left), batch_size=BATCH), strict=True):
            records.append(read_record(doc, note.name))
            yield note, doc, {**records[-1], **parts}
            if time.monotonic() - saved > PAUSE:
                _write_scores(path, records)
                saved = time.monotonic()
    finally:  # also if the evaluation is interrupted
        if len(records) > len(kept):
            _write_scores(path, records)


def store_key(nlp: Language, notes: Sequence[AnnotatedText], about: Mapping[str, str]) -> str:
    """Compute the hash that names the file of stored scores, so that scores of other texts or settings are not reused.

    nlp (Language): pipeline; all settings of ``deid_surprisal`` are hashed except threshold, label and span group.
    notes (Sequence[AnnotatedText]): notes; the texts and their order are hashed, names and gold are not.
    about (Mapping[str, str]): names of model, mode, masking and score, as in the record.
    RETURNS (str): the first 16 hexadecimal digits of a SHA-256.
    """
    settings = [
        {key: value for key, value in nlp.get_pipe_config(name).items() if key not in ("threshold", "label", "key")}
        for name in nlp.pipe_names
        if nlp.get_pipe_meta(name).factory == FACTORY
    ]
    digest = hashlib.sha256(json.dumps([nlp.lang, settings, dict(about)], sort_keys=True, default=str).encode())
    for note in notes:
        digest.update(hashlib.sha256(note.text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:16]


def _read_scores(path: Path | None) -> list[dict[str, Any]]:
    """Return one record for each note with stored scores. RAISES: InputError (D836) if the file is damaged."""
    if path is None or not path.exists():
        return []
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        sizes, unaligned = arrays.pop("sizes"), arrays.pop("unaligned")
        if any(len(array) != sizes.sum() for array in arrays.values()):
            raise ValueError
        parts = {name: np.split(array, np.cumsum(sizes)[:-1]) for name, array in arrays.items()}
        features = [name for name in parts if name.startswith("feature ")]
        return [
            {
                **{name: parts[name][i].tolist() for name in ("starts", "ends", "values")},
                "features": {name.removeprefix("feature "): parts[name][i].tolist() for name in features},
                "unaligned": int(unaligned[i]),
            }
            for i in range(len(sizes))
        ]
    except (OSError, ValueError, KeyError, IndexError, BadZipFile):
        reason = "scores that cannot be read. Delete the file to score the corpus anew"
        raise InputError(Errors.D836.format(path=path, reason=reason)) from None


def _write_scores(path: Path | None, records: Sequence[Record]) -> None:
    """Store the scores of the notes finished so far, one array per column. The file is replaced atomically."""
    if path is None or not records:
        return

    def column(parts: Sequence[Sequence[float]], kind: type) -> NDArray[Any]:
        return np.concatenate([np.asarray(part, dtype=kind) for part in parts])

    columns: dict[str, NDArray[Any]] = {
        "sizes": np.array([len(record["values"]) for record in records], dtype=np.int64),
        "unaligned": np.array([record["unaligned"] for record in records], dtype=np.int64),
        "values": column([record["values"] for record in records], np.float64),
    }
    columns |= {name: column([record[name] for record in records], np.int64) for name in ("starts", "ends")}
    for name in records[0]["features"]:
        columns[f"feature {name}"] = column([record["features"][name] for record in records], np.float64)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())
