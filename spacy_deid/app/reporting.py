"""Evaluation of a job's findings against uploaded ground truth."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from ..documents.formats import SUFFIXES
from ..errors import ConfigError, DeidError, Errors, InputError
from ..evaluation import AnnotatedText, Entity, per_document, read_folder
from ..evaluation.per_document import measure_documents
from ..evaluation.text_alignment import move_documents
from ..labels import SCHEMES
from .archive import escape_formula
from .store import FileRow, JobRow, Store

MEMORY = Path("/dev/shm")


def measure_job(store: Store, job: JobRow, files: Iterable[tuple[str, bytes]], scheme: str) -> dict[str, Any]:
    """Evaluate the files of a job and store the result.

    store (Store): the store.
    job (JobRow): the job.
    files (Iterable[tuple[str, bytes]]): annotation files, each named like its document with any suffix. If their text
        was
        extracted differently, as from a PDF, the annotations are aligned with our text.
    scheme (str): scheme of their labels.
    RETURNS (dict): the result of `measure_documents`, with "left_out", the names of documents without ground truth;
    "other_text", the names of documents whose ground truth has another text; and "not_in_text", by name the number of
        annotations that are not in our text. These are not part of any figure.
    RAISES: InputError if the files cannot be read (D3xx), all have another text (D756), or none belongs to a document
        of
        the job (D916).
    """
    if scheme not in SCHEMES:
        raise ConfigError(Errors.D002.format(scheme=ascii(scheme)[:40], known=", ".join(SCHEMES)))
    truth = {stem(document.name): document for document in read_truth(store, files, scheme)}
    ready = [file for file in store.files(job.id) if file.state == "done" and file.task is None]
    stems = Counter(stem(file.name) for file in ready)
    # documents with the same name are ambiguous and left out
    done = {stem(file.name): file for file in ready if stems[stem(file.name)] == 1}
    shared = [name for name in done if name in truth]
    if not shared:
        raise InputError(Errors.D916)
    found = [found_in(store, done[name]) for name in shared]
    gold = [AnnotatedText(done[name].name, truth[name].text, truth[name].entities) for name in shared]
    refused: dict[str, InputError] = {}
    moved, lost = move_documents(gold, found, refused=refused)
    if refused and not moved:
        raise next(iter(refused.values()))
    result = measure_documents(moved, [document for document in found if document.name not in refused])
    result |= {"other_text": sorted(refused), "not_in_text": lost}
    result["left_out"] = [file.name for file in ready if stem(file.name) not in shared]
    store.put(job.id, "report", json.dumps(result).encode())
    return result


def format_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format the figures of documents as CSV, with formulas escaped.

    rows (Sequence[Mapping]): the figures of each document.
    RETURNS (str): CSV.
    """
    return per_document.format_csv([{**row, "document": escape_formula(str(row["document"]))} for row in rows])


def stem(name: str) -> str:
    """Return the name of a file without the suffix of its format, in lower case. Other text after a dot is kept.

    name (str): the name.
    RETURNS (str): the stem.
    """
    path = PurePath(name)
    return (path.stem if path.suffix.casefold() in SUFFIXES else path.name).casefold()


def read_truth(store: Store, files: Iterable[tuple[str, bytes]], scheme: str) -> list[AnnotatedText]:
    """Read annotation files of any supported format. They are written to a folder in memory if possible, otherwise to
    one in the store that is removed afterwards.

    store (Store): the store.
    files (Iterable[tuple[str, bytes]]): names and contents.
    scheme (str): scheme of the labels.
    RETURNS (list[AnnotatedText]): the documents.
    RAISES: InputError (D924) if two files have the same name.
    """
    place = MEMORY if os.access(MEMORY, os.W_OK) else store.folder
    with TemporaryDirectory(dir=place, prefix="truth-") as folder:
        for name, data in files:
            if (Path(folder) / name).exists():
                raise InputError(Errors.D924)
            (Path(folder) / name).write_bytes(data)
        try:
            return read_folder(folder, scheme=scheme)
        except DeidError as error:  # remove the temporary folder from the message
            message = str(error).replace(f"{folder}/", "").replace(folder, "ground truth")
            raise type(error)(message) from None


def found_in(store: Store, file: FileRow) -> AnnotatedText:
    """Return the findings of a file after its review.

    store (Store): the store.
    file (FileRow): the file.
    RETURNS (AnnotatedText): the text with its entities.
    """
    text = (store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass")
    spans = json.loads(store.get(file.id, "findings") or b"{}").get("spans", ())
    entities = [
        Entity(span["start"], span["end"], span["label"])
        for span in spans
        if span.get("reviewed") != "released" and span["action"] != "recover"
    ]
    return AnnotatedText(file.name, text, tuple(sorted(entities)))
