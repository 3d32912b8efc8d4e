"""All released files of a job as one ZIP, with the table of what was found."""

import csv
import io
import json
import zipfile
from typing import Any

from ..errors import Errors, InputError
from .store import FileRow, JobRow, Store
from .workshop import released_name

__all__ = ["zip_job"]

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


def zip_job(store: Store, job: JobRow, *, keep_names: bool, with_text: bool) -> bytes:
    """Pack the released files of a job.

    store (Store): where they are.
    job (JobRow): the job.
    keep_names (bool): whether files keep their names, which may be patients'; else they have numbers.
    with_text (bool): whether the table has the original texts of the spans: then it is as confidential as the notes.
    RETURNS (bytes): a ZIP with the files, "findings.csv", "failed.csv" and "job.json".
    RAISES: InputError if no file is done (D902) or one has decisions that are not applied (D913).
    """
    files = [(number, file) for number, file in enumerate(store.files(job.id), 1)]
    done = [(number, file) for number, file in files if file.state == "done" and file.task is None]
    if not done:
        raise InputError(Errors.D902.format(state="not de-identified", wanted="no file of the job is done"))
    if any(file.about.get("open") for _, file in done):
        raise InputError(Errors.D913)
    out = io.BytesIO()
    names: set[str] = set()
    rows: list[dict[str, Any]] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, file in done:
            name = _free(released_name(file.name, number, keep_names), number, names)
            archive.writestr(f"released/{name}", store.get(file.id, "released") or b"")
            rows += _rows(store, file, name, with_text)
        archive.writestr("findings.csv", _table(rows, (*FIELDS, "text") if with_text else FIELDS))
        failed = [
            {"file": released_name(file.name, number, keep_names), "state": file.state, "reason": file.reason}
            for number, file in files
            if (number, file) not in done
        ]
        archive.writestr("failed.csv", _table(failed, ("file", "state", "reason")))
        about = {"settings": {**job.settings, "patient_id": ""}, "decisions": store.decisions(job.id)}
        archive.writestr("job.json", json.dumps(about, indent=2))
    return out.getvalue()


def _free(name: str, number: int, names: set[str]) -> str:
    """A name that no file before has."""
    while name.casefold() in names:
        name = f"{number:03d}-{name}"
    names.add(name.casefold())
    return name


def _rows(store: Store, file: FileRow, name: str, with_text: bool) -> list[dict[str, Any]]:
    """A row for each span of a file."""
    found = json.loads(store.get(file.id, "findings") or b"{}")
    text = (store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass") if with_text else ""
    rows = []
    for span in found.get("spans", ()):
        evidence = span.get("evidence", ())
        rows.append(
            {
                "file": name,
                **{field: span.get(field, "") for field in ("start", "end", "label", "action", "reviewed")},
                "released_start": span["released"][0],
                "released_end": span["released"][1],
                "detectors": " ".join(sorted({str(item["source"]) for item in evidence})),
                "score": max((item["score"] for item in evidence), default=""),
                "text": text[span["start"] : span["end"]],
            }
        )
    return rows


def _table(rows: list[dict[str, Any]], fields: tuple[str, ...]) -> str:
    """A table as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
