"""Download of all released files of a job as a ZIP archive with a table of the findings."""

import csv
import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import Errors, InputError
from .processing import released_name
from .settings import EHR_SETTINGS
from .store import FileRow, JobRow, NotFound, Store

FIELDS = (
    "file",
    "start",
    "end",
    "label",
    "action",
    "reviewed",
    "released_start",
    "released_end",
    "detectors",
    "score",
)
# not allowed in Windows file names; text after a colon would be written to an alternate data stream
STRANGE = re.compile(r'[<>:"|?*]|[. ]+$')


def check_warnings(files: Sequence[FileRow], accepted: bool) -> None:
    """Refuse files with warnings unless they were accepted.

    files (Sequence[FileRow]): the files.
    accepted (bool): whether the user has accepted the warnings.
    RAISES: InputError (D935).
    """
    warned = sum(bool(file.about.get("warnings")) for file in files)
    if warned and not accepted:
        raise InputError(Errors.D935.format(count=warned))


def zip_job(
    store: Store, job: JobRow, *, keep_names: bool, with_text: bool, accept_warnings: bool = False
) -> Iterator[bytes]:
    """Create the ZIP archive of a job, one file at a time.

    store (Store): the store.
    job (JobRow): the job.
    keep_names (bool): whether files keep their names, which can identify patients; otherwise they are numbered.
    with_text (bool): whether the table has the original text of the spans, which makes it as confidential as the
        notes.
    accept_warnings (bool): whether the user has accepted the warnings of the files.
    RETURNS (Iterator[bytes]): chunks of the archive with the files, "findings.csv", "warnings.csv", "failed.csv" and
        "job.json".
    RAISES: InputError if no file is done (D902), a file has decisions that are not applied (D913), or warnings that
        are not
        accepted (D935).
    """
    files = store.files(job.id)
    done = [file for file in files if file.state == "done" and file.task is None]
    if not done:
        raise InputError(Errors.D902.format(state="not de-identified", wanted="no file of the job is done"))
    if any(file.about.get("open") for file in done):
        raise InputError(Errors.D913)
    check_warnings(done, accept_warnings)
    return _pack(store, job, files, done, keep_names, with_text)


def _pack(
    store: Store, job: JobRow, files: Sequence[FileRow], done: Sequence[FileRow], keep_names: bool, with_text: bool
) -> Iterator[bytes]:
    """Write the archive, and yield what was written after each file."""
    out = _Outgoing()
    fields = (*FIELDS, "text") if with_text else FIELDS
    names = _free_names(done, keep_names)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in done:
            archive.writestr(f"released/{names[file.id]}", _part(store, file, "released"))
            yield out.take()
        with archive.open("findings.csv", "w") as raw, io.TextIOWrapper(raw, "utf-8", newline="") as table:
            writer = csv.DictWriter(table, fields, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            for file in done:
                writer.writerows(_rows(store, file, names[file.id], with_text))
                yield out.take()
        noted = [
            (escape_formula(names[file.id]), warning) for file in done for warning in file.about.get("warnings", ())
        ]
        archive.writestr("warnings.csv", _table(("file", "warning"), noted))
        left = [file for file in files if file not in done]
        archive.writestr("failed.csv", _failed(left, keep_names))
        about = {"settings": {**job.settings, **dict.fromkeys(EHR_SETTINGS, "")}, "decisions": store.decisions(job.id)}
        archive.writestr("job.json", json.dumps(about, indent=2))
    yield out.take()


class _Outgoing(io.RawIOBase):
    """A buffer of bytes that were written and not yet taken."""

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
    """Read a part of a file. RAISES: NotFound (D901) if the file was deleted meanwhile."""
    data = store.get(file.id, part)
    if data is None:
        raise NotFound(Errors.D901.format(id=file.id))
    return data


def _free_names(files: Sequence[FileRow], keep: bool) -> dict[str, str]:
    """Choose a name for each file that is unique and valid on all operating systems."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for file in files:
        name = STRANGE.sub("_", released_name(file, keep))
        while _same(name) in used:
            name = f"{file.position + 1:03d}-{name}"
        used.add(_same(name))
        names[file.id] = name
    return names


def _same(name: str) -> str:
    """The key by which an operating system may treat two names as equal."""
    return unicodedata.normalize("NFKC", name).casefold()


def _rows(store: Store, file: FileRow, name: str, with_text: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each span of a file."""
    found = json.loads(_part(store, file, "findings"))
    text = _part(store, file, "text").decode("utf-8", "surrogatepass") if with_text else ""
    for span in found.get("spans", ()):
        evidence = span.get("evidence", ())
        yield {
            "file": escape_formula(name),
            **{field: span.get(field, "") for field in ("start", "end", "label", "action", "reviewed")},
            "released_start": span["released"][0],
            "released_end": span["released"][1],
            "detectors": " ".join(sorted({str(item["source"]) for item in evidence})),
            "score": max((item["score"] for item in evidence), default=""),
            "text": escape_formula(text[span["start"] : span["end"]]),
        }


def _failed(files: Sequence[FileRow], keep: bool) -> str:
    """Format the table of files that are not in the archive."""
    rows = [(escape_formula(released_name(file, keep)), file.state, file.reason) for file in files]
    return _table(("file", "state", "reason"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def escape_formula(cell: str) -> str:
    """Escape a cell that a spreadsheet would interpret as a formula.

    cell (str): the cell.
    RETURNS (str): the cell, with a leading apostrophe if needed.
    """
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
