"""Score a corpus and store the scores, so that an interrupted evaluation can be resumed.

A file holds offsets, scores and features, without text or names. Its name contains a hash of the corpus, the model and
the settings, so that scores of other texts or settings are never reused.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, InputError
from .documents import AnnotatedText
from .files import write_bytes
from .scored_tokens import ScoredTokens, join, read_record, score_tokens

FACTORY = "deid_surprisal"
PARTS = ("model", "mode", "masking", "score")  # what a record says of what scored it
BATCH = 8  # notes that the model is given at once
PAUSE = 30.0  # seconds of work that are lost at most when it is broken off

Record = Mapping[str, Any]


def score_corpus(
    nlp: Language,
    notes: Sequence[AnnotatedText],
    folder: Path | None = None,
    step: Callable[[int], object] = lambda count: None,
) -> tuple[ScoredTokens, dict[str, Any]]:
    """Score all notes of a corpus.

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
    """Score notes one by one.

    nlp (Language): pipeline with ``deid_surprisal``.
    notes (Sequence[AnnotatedText]): notes.
    folder (Optional[Path]): folder of stored scores; None to store none.
    YIELDS (tuple): the note, its Doc, and the record of its scores.
    RAISES: NotDeidentified (D834) if the pipeline does not score.
    """
    if not notes:
        return
    first = read_record(nlp(notes[0].text), notes[0].name)
    parts = {name: str(first[name]) for name in PARTS}
    store = ScoreStore(folder, store_key(nlp, notes, parts))
    for note, doc, record in _records(nlp, notes, store, first):
        yield note, doc, {**record, **parts}


def _records(
    nlp: Language, notes: Sequence[AnnotatedText], store: "ScoreStore", first: Record
) -> Iterator[tuple[AnnotatedText, Doc, Record]]:
    """Yield the notes with stored scores, then score the others, storing the scores at intervals."""
    kept = store.read()
    records: list[Record] = [*kept] or [first]
    for note, record in zip(notes, list(records), strict=False):
        yield note, nlp.make_doc(note.text), record
    saved = time.monotonic()
    try:
        left = notes[len(records) :]
        for note, doc in zip(left, nlp.pipe((note.text for note in left), batch_size=BATCH), strict=True):
            records.append(read_record(doc, note.name))
            yield note, doc, records[-1]
            if time.monotonic() - saved > PAUSE:
                store.write(records)
                saved = time.monotonic()
    finally:  # broken off, too
        if len(records) > len(kept):
            store.write(records)


def store_key(nlp: Language, notes: Sequence[AnnotatedText], about: Mapping[str, str]) -> str:
    """Compute the key of the scores of a corpus.

    nlp (Language): pipeline; all settings of ``deid_surprisal`` count except threshold, label and span group.
    notes (Sequence[AnnotatedText]): the texts and their order count; names and gold do not.
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


class ScoreStore:
    """The file with the stored scores of a corpus."""

    def __init__(self, folder: Path | None, key: str) -> None:
        """Set the location of the file.

        folder (Optional[Path]): folder of the file; None to store nothing.
        key (str): result of `store_key`.
        """
        self.path = folder / f"scores-{key}.npz" if folder else None

    def read(self) -> list[dict[str, Any]]:
        """Read the stored scores.

        RETURNS (list[dict]): one record per note scored so far; empty if there is no file.
        RAISES: InputError (D836) if the file is damaged.
        """
        if self.path is None or not self.path.exists():
            return []
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
                return _split(arrays)
        except (OSError, ValueError, KeyError, IndexError, BadZipFile):
            reason = "scores that cannot be read. Delete the file to score the corpus anew"
            raise InputError(Errors.D836.format(path=self.path, reason=reason)) from None

    def write(self, records: Sequence[Record]) -> None:
        """Store the scores of the first notes. The file is replaced atomically.

        records (Sequence[Mapping]): one record per note.
        """
        if self.path is None or not records:
            return
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **_flatten(records))  # type: ignore[arg-type]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(self.path, buffer.getvalue())


def _flatten(records: Sequence[Record]) -> dict[str, NDArray[Any]]:
    """Concatenate the records of notes to one array per column."""
    features = list(records[0]["features"])
    columns: dict[str, NDArray[Any]] = {
        "sizes": np.array([len(record["values"]) for record in records], dtype=np.int64),
        "unaligned": np.array([record["unaligned"] for record in records], dtype=np.int64),
        "values": _column([record["values"] for record in records], np.float64),
    }
    columns |= {name: _column([record[name] for record in records], np.int64) for name in ("starts", "ends")}
    for name in features:
        columns[f"feature {name}"] = _column([record["features"][name] for record in records], np.float64)
    return columns


def _column(parts: Sequence[Sequence[float]], kind: type) -> NDArray[Any]:
    """Concatenate a column of all notes."""
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts])


def _split(arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Split concatenated columns into the records of notes."""
    edges = np.cumsum(arrays["sizes"])[:-1]
    parts = {name: np.split(array, edges) for name, array in arrays.items() if name not in ("sizes", "unaligned")}
    features = [name for name in parts if name.startswith("feature ")]
    if any(len(array) != arrays["sizes"].sum() for name, array in arrays.items() if name in parts):
        raise ValueError
    return [
        {
            **{name: parts[name][i].tolist() for name in ("starts", "ends", "values")},
            "features": {name.removeprefix("feature "): parts[name][i].tolist() for name in features},
            "unaligned": int(arrays["unaligned"][i]),
        }
        for i in range(len(arrays["sizes"]))
    ]
