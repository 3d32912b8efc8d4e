"""Makes the ZIP archive of a job's released files, and evaluates its findings against ground truth."""

import csv
import io
import json
import os
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from ..documents.formats import SUFFIXES
from ..errors import DeidError, Errors, InputError
from ..evaluation import AnnotatedText, Entity, per_document, read_folder, write_folder
from ..evaluation.per_document import measure_documents
from ..evaluation.text_alignment import move_documents
from ..labels import SCHEMES
from .processing import released_name
from .settings import EHR_SETTINGS, check_choice
from .store import FileRow, JobRow, NotFound, Store

SPAN_FIELDS = ("start", "end", "label", "action", "reviewed")
FIELDS = ("file", *SPAN_FIELDS, "released_start", "released_end", "detectors", "score")
# not allowed in Windows file names; text after a colon would be written to an alternate data stream
STRANGE = re.compile(r'[<>:"|?*]|[. ]+$')
MEMORY = Path("/dev/shm")


def check_warnings(files: Sequence[FileRow], accepted: bool) -> None:
    """Check that no file has warnings or that the user has accepted them.

    RAISES: InputError (D935) with the number of files, if there are warnings that are not accepted.
    """
    warned = sum(bool(file.about.get("warnings")) for file in files)
    if warned and not accepted:
        raise InputError(Errors.D935.format(count=warned))


def zip_job(
    store: Store,
    job: JobRow,
    *,
    keep_names: bool,
    with_text: bool,
    accept_warnings: bool = False,
    record: Callable[[FileRow, bytes], None] | None = None,
) -> Iterator[bytes]:
    """Create the ZIP archive of a job, one file at a time.

    keep_names (bool): whether files keep their names, which can identify patients; otherwise they are numbered.
    with_text (bool): whether the table has the original text of the spans, which makes it as confidential as the
        notes.
    accept_warnings (bool): whether the user has accepted the warnings of the files.
    record (Optional[Callable]): called with each released file and its content, before the content is passed on.
    RETURNS (Iterator[bytes]): chunks of the archive with the files, "findings.csv", "warnings.csv", "failed.csv" and
        "job.json".
    RAISES: InputError if no file is done (D902), or a file has decisions that are not applied (D913) or warnings that
        are not accepted (D935).
    """
    files = store.files(job.id)
    done = [file for file in files if file.state == "done" and file.task is None]
    if not done:
        raise InputError(Errors.D902.format(state="not de-identified", wanted="no file of the job is done"))
    if any(file.about.get("open") for file in done):
        raise InputError(Errors.D913)
    check_warnings(done, accept_warnings)
    return _pack(store, job, files, done, keep_names, with_text, record)


def _pack(
    store: Store,
    job: JobRow,
    files: Sequence[FileRow],
    done: Sequence[FileRow],
    keep_names: bool,
    with_text: bool,
    record: Callable[[FileRow, bytes], None] | None,
) -> Iterator[bytes]:
    """Write the archive and yield its bytes in chunks, one after each file."""
    out = _Outgoing()
    names = _free_names(done, keep_names)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in done:
            data = _part(store, file, "released")
            if record is not None:
                record(file, data)
            archive.writestr(f"released/{names[file.id]}", data)
            yield out.take()
        with archive.open("findings.csv", "w") as raw, io.TextIOWrapper(raw, "utf-8", newline="") as table:
            fields = (*FIELDS, "text") if with_text else FIELDS
            writer = csv.DictWriter(table, fields, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            for file in done:
                writer.writerows(_rows(store, file, names[file.id], with_text))
                yield out.take()
        warned = [(names[file.id], warning) for file in done for warning in file.about.get("warnings", ())]
        archive.writestr("warnings.csv", _table(("file", "warning"), warned))
        left = [(released_name(file, keep_names), file.state, file.reason) for file in files if file not in done]
        archive.writestr("failed.csv", _table(("file", "state", "reason"), left))
        about = {"settings": {**job.settings, **dict.fromkeys(EHR_SETTINGS, "")}, "decisions": store.decisions(job.id)}
        archive.writestr("job.json", json.dumps(about, indent=2))
    yield out.take()


class _Outgoing(io.RawIOBase):
    """A writable stream that keeps bytes until `take` removes them, so that no whole archive is in memory."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        """Return and remove the buffered bytes."""
        taken = bytes(self._written)
        self._written.clear()
        return taken


def _part(store: Store, file: FileRow, part: str) -> bytes:
    """Read a stored part of a file, such as "findings". RAISES: NotFound (D901) if the file was deleted meanwhile."""
    data = store.get(file.id, part)
    if data is None:
        raise NotFound(Errors.D901.format(id=file.id))
    return data


def _free_names(files: Sequence[FileRow], keep: bool) -> dict[str, str]:
    """Choose a name for each file that is unique and valid on all operating systems."""

    def same(name: str) -> str:  # an operating system may treat two names with this key as equal
        return unicodedata.normalize("NFKC", name).casefold()

    names: dict[str, str] = {}
    used: set[str] = set()
    for file in files:
        name = STRANGE.sub("_", released_name(file, keep))
        while same(name) in used:
            name = f"{file.position + 1:03d}-{name}"
        used.add(same(name))
        names[file.id] = name
    return names


def _rows(store: Store, file: FileRow, name: str, with_text: bool) -> Iterator[dict[str, Any]]:
    """Yield a row of findings.csv for each span of a file."""
    found = json.loads(_part(store, file, "findings"))
    text = _part(store, file, "text").decode("utf-8", "surrogatepass") if with_text else ""
    for span in found.get("spans", ()):
        evidence = span.get("evidence", ())
        yield {
            "file": escape_formula(name),
            **{field: span.get(field, "") for field in SPAN_FIELDS},
            "released_start": span["released"][0],
            "released_end": span["released"][1],
            "detectors": " ".join(sorted({str(item["source"]) for item in evidence})),
            "score": max((item["score"] for item in evidence), default=""),
            "text": escape_formula(text[span["start"] : span["end"]]),
        }


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table as CSV. The first column has names of files, which users choose."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *((escape_formula(row[0]), *row[1:]) for row in rows)])
    return out.getvalue()


def escape_formula(cell: str) -> str:
    """Escape a cell that a spreadsheet would interpret as a formula, with a leading apostrophe."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def measure_job(store: Store, job: JobRow, files: Iterable[tuple[str, bytes]], scheme: str) -> dict[str, Any]:
    """Evaluate the findings of a job against ground truth and store the result.

    files (Iterable[tuple[str, bytes]]): annotation files, each named like its document with any suffix. If their text
        was extracted differently, as from a PDF, the annotations are aligned with the text of the job.
    scheme (str): scheme of their labels.
    RETURNS (dict): the result of `measure_documents`, with "left_out", the names of documents without ground truth;
        "other_text", the names of documents whose ground truth has another text; and "not_in_text", by name the number
        of annotations that are not in the text of the job. These are not part of any score.
    RAISES: ConfigError (D908) for an unknown scheme; InputError if the files cannot be read (D3xx), all have another
        text (D756), or none belongs to a document of the job (D916).
    """
    check_choice("scheme", scheme, SCHEMES)
    truth = {stem(document.name): document for document in read_truth(store, files, scheme)}
    ready = [file for file in store.files(job.id) if file.state == "done" and file.task is None]
    stems = Counter(stem(file.name) for file in ready)
    # documents with the same name are ambiguous and left out
    done = {stem(file.name): file for file in ready if stems[stem(file.name)] == 1}
    shared = [name for name in done if name in truth]
    if not shared:
        raise InputError(Errors.D916)
    found = [_findings(store, done[name]) for name in shared]
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
    """Format the figures of documents as CSV, with formulas escaped."""
    return per_document.format_csv([{**row, "document": escape_formula(str(row["document"]))} for row in rows])


def stem(name: str) -> str:
    """Return the name of a file in lower case, without the suffix if it is that of a supported format."""
    path = PurePath(name)
    return (path.stem if path.suffix.casefold() in SUFFIXES else path.name).casefold()


def read_truth(store: Store, files: Iterable[tuple[str, bytes]], scheme: str) -> list[AnnotatedText]:
    """Read annotation files of any supported format. They are written to a folder in memory if possible, otherwise to
    one in the store that is removed afterwards.

    files (Iterable[tuple[str, bytes]]): names and contents.
    scheme (str): scheme of the labels.
    RETURNS (list[AnnotatedText]): the documents.
    RAISES: InputError (D924) if two files have the same name, or as `evaluation.read_folder`.
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


def _findings(store: Store, file: FileRow) -> AnnotatedText:
    """Return the text of a file with its identifiers after the review, as an annotated text."""
    text = (store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass")
    spans = json.loads(store.get(file.id, "findings") or b"{}").get("spans", ())
    return AnnotatedText(file.name, text, list_entities(spans))


def list_entities(spans: Iterable[Mapping[str, Any]]) -> tuple[Entity, ...]:
    """Return the identifiers among the spans of a file: those neither released by a reviewer nor medical terms."""
    return tuple(
        sorted(
            Entity(span["start"], span["end"], span["label"])
            for span in spans
            if span.get("reviewed") != "released" and span["action"] != "recover"
        )
    )


def zip_gold(store: Store, job: JobRow, format: str) -> bytes:
    """Create a ZIP archive of the reviewed files of a job as gold annotations, which contain the original texts.

    format (str): a key of `evaluation.FORMATS`.
    RETURNS (bytes): the archive. Documents are numbered, because names of files can identify patients.
    RAISES: InputError (D948) if no file is reviewed; ConfigError (D314) for an unknown format.
    """
    reviewed = [file for file in store.files(job.id) if file.about.get("reviewed") and file.task is None]
    if not reviewed:
        raise InputError(Errors.D948)
    texts = []
    for file in reviewed:
        found = _findings(store, file)
        texts.append(AnnotatedText(f"document-{file.position + 1:03d}", found.text, found.entities))
    place = MEMORY if os.access(MEMORY, os.W_OK) else store.folder
    out = io.BytesIO()
    with TemporaryDirectory(dir=place, prefix="truth-") as folder:
        write_folder(texts, folder, format)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, path.name)
    return out.getvalue()
