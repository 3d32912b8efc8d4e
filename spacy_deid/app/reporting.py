"""Figures of a job's findings against ground truth that was uploaded."""

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
from ..evaluation.per_document import RATES, measure_documents
from ..evaluation.text_alignment import move_documents
from ..labels import SCHEMES
from .archive import inert
from .store import FileRow, JobRow, Store

__all__ = ["RATES", "format_csv", "measure_job"]

MEMORY = Path("/dev/shm")


def measure_job(store: Store, job: JobRow, files: Iterable[tuple[str, bytes]], scheme: str) -> dict[str, Any]:
    """Measure what was found in the files of a job, and keep the figures with it.

    store (Store): where the files are.
    job (JobRow): the job.
    files (Iterable[tuple[str, bytes]]): annotation files, each named as its document whatever the suffix. Where the
        annotated text was read otherwise than ours, as that of a PDF, its spans are carried over.
    scheme (str): scheme of their labels.
    RETURNS (dict): what `measure_documents` gives, "left_out", the names of the documents without ground truth,
        "other_text", of those with that of another text, and "not_in_text", by name the number of identifiers that
        ours does not have; all these are in no figure.
    RAISES: InputError if they cannot be read (D3xx), are all of another text (D756) or of no document of the job
        (D916).
    """
    if scheme not in SCHEMES:
        raise ConfigError(Errors.D002.format(scheme=ascii(scheme)[:40], known=", ".join(SCHEMES)))
    truth = {stem(document.name): document for document in read_truth(store, files, scheme)}
    ready = [file for file in store.files(job.id) if file.state == "done" and file.task is None]
    stems = Counter(stem(file.name) for file in ready)
    # of two documents of one name nobody can tell which one was annotated
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
    """The figures of documents as CSV, in which no name is a formula."""
    return per_document.format_csv([{**row, "document": inert(str(row["document"]))} for row in rows])


def stem(name: str) -> str:
    """The name of a file without the suffix of its format: what else follows a dot is part of the name."""
    path = PurePath(name)
    return (path.stem if path.suffix.casefold() in SUFFIXES else path.name).casefold()


def read_truth(store: Store, files: Iterable[tuple[str, bytes]], scheme: str) -> list[AnnotatedText]:
    """Read annotation files, of any format, from a folder in memory if the system has one; else it is in the store's,
    and is gone afterwards. RAISES: InputError for two of one name (D924).
    """
    place = MEMORY if os.access(MEMORY, os.W_OK) else store.folder
    with TemporaryDirectory(dir=place, prefix="truth-") as folder:
        for name, data in files:
            if (Path(folder) / name).exists():
                raise InputError(Errors.D924)
            (Path(folder) / name).write_bytes(data)
        try:
            return read_folder(folder, scheme=scheme)
        except DeidError as error:  # whoever uploaded the files has not heard of this folder
            message = str(error).replace(f"{folder}/", "").replace(folder, "ground truth")
            raise type(error)(message) from None


def found_in(store: Store, file: FileRow) -> AnnotatedText:
    """What was found in a file, as the reviewer left it."""
    text = (store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass")
    spans = json.loads(store.get(file.id, "findings") or b"{}").get("spans", ())
    entities = [
        Entity(span["start"], span["end"], span["label"])
        for span in spans
        if span.get("reviewed") != "released" and span["action"] != "recover"
    ]
    return AnnotatedText(file.name, text, tuple(sorted(entities)))
