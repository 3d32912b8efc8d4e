"""All released files of a job as one ZIP, with the table of what was found."""

import csv
import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import Errors, InputError
from .settings import FACTS
from .store import FileRow, JobRow, NotFound, Store
from .workshop import released_name

__all__ = ["check_warnings", "inert", "zip_job"]

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
# what Windows has in no name: behind a colon it would hide a file in another one
STRANGE = re.compile(r'[<>:"|?*]|[. ]+$')


def check_warnings(files: Sequence[FileRow], accepted: bool) -> None:
    """Refuse copies with warnings unless somebody said that they were looked at. RAISES: InputError (D935)."""
    warned = sum(bool(file.about.get("warnings")) for file in files)
    if warned and not accepted:
        raise InputError(Errors.D935.format(count=warned))


def zip_job(
    store: Store, job: JobRow, *, keep_names: bool, with_text: bool, accept_warnings: bool = False
) -> Iterator[bytes]:
    """Pack the released files of a job, a file at a time.

    store (Store): where they are.
    job (JobRow): the job.
    keep_names (bool): whether files keep their names, which may be patients'; else they have numbers.
    with_text (bool): whether the table has the original texts of the spans: then it is as confidential as the notes.
    accept_warnings (bool): whether somebody accepts the warnings that files have.
    RETURNS (Iterator[bytes]): a ZIP with the files, "findings.csv", "warnings.csv", "failed.csv" and "job.json".
    RAISES: InputError if no file is done (D902), one has decisions that are not applied (D913), or one has warnings
        that are not accepted (D935).
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
    """Write the ZIP and hand out what has been written after each file."""
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
        noted = [(inert(names[file.id]), warning) for file in done for warning in file.about.get("warnings", ())]
        archive.writestr("warnings.csv", _table(("file", "warning"), noted))
        left = [file for file in files if file not in done]
        archive.writestr("failed.csv", _failed(left, keep_names))
        about = {"settings": {**job.settings, **dict.fromkeys(FACTS, "")}, "decisions": store.decisions(job.id)}
        archive.writestr("job.json", json.dumps(about, indent=2))
    yield out.take()


class _Outgoing(io.RawIOBase):
    """Bytes that were written and not yet taken."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = bytes(self._written)
        self._written.clear()
        return taken


def _part(store: Store, file: FileRow, part: str) -> bytes:
    """A part of a file. RAISES: NotFound if it was deleted meanwhile (D901)."""
    data = store.get(file.id, part)
    if data is None:
        raise NotFound(Errors.D901.format(id=file.id))
    return data


def _free_names(files: Sequence[FileRow], keep: bool) -> dict[str, str]:
    """A name for each file that no other has, on any system."""
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
    """What two names have in common that some system takes for the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def _rows(store: Store, file: FileRow, name: str, with_text: bool) -> Iterator[dict[str, Any]]:
    """A row for each span of a file."""
    found = json.loads(_part(store, file, "findings"))
    text = _part(store, file, "text").decode("utf-8", "surrogatepass") if with_text else ""
    for span in found.get("spans", ()):
        evidence = span.get("evidence", ())
        yield {
            "file": inert(name),
            **{field: span.get(field, "") for field in ("start", "end", "label", "action", "reviewed")},
            "released_start": span["released"][0],
            "released_end": span["released"][1],
            "detectors": " ".join(sorted({str(item["source"]) for item in evidence})),
            "score": max((item["score"] for item in evidence), default=""),
            "text": inert(text[span["start"] : span["end"]]),
        }


def _failed(files: Sequence[FileRow], keep: bool) -> str:
    """The table of files that are not in the archive."""
    rows = [(inert(released_name(file, keep)), file.state, file.reason) for file in files]
    return _table(("file", "state", "reason"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def inert(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
