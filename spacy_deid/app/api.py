"""Functions behind the REST interface and the web pages: they describe jobs and files, check uploads, and carry out
decisions of reviewers.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, get_args
from urllib.parse import quote

from fastapi import UploadFile

from ..errors import ConfigError, Errors, InputError
from ..labels import LABELS
from .processing import apply_decision
from .queue import shown_state
from .results import check_warnings
from .schemas import Decision
from .settings import SCANS, JobSettings, ServiceSettings
from .store import FileRow, JobRow, Store
from .summaries import Summary


def show_file(file: FileRow) -> dict[str, Any]:
    """Describe a file for clients as plain values: id, name, size, state and facts, without content but the name."""
    return {
        "id": file.id,
        "job": file.job,
        "name": file.name,
        "size": file.size,
        "state": shown_state(file.state, file.task, taken=file.claimed is not None),
        "reason": file.reason,
        **file.about,
    }


def show_job(store: Store, job: JobRow, summary: Summary, files: Iterable[FileRow] = ()) -> dict[str, Any]:
    """Describe a job for clients as plain values: settings, counts, and the estimated seconds left.

    summary (Summary): what its files add up to.
    files (Iterable[FileRow]): the files to list.
    """
    return {
        "id": job.id,
        "created": job.created,
        "settings": job.settings,
        "cancelled": job.cancelled,
        "files": [show_file(file) for file in files],
        "states": summary.states,
        "total": summary.total,
        "done": summary.done,
        "failed": summary.failed,
        "busy": summary.busy,
        "ahead": store.queue.count_ahead(job.created),
        "seconds_left": summary.seconds_left,
    }


ENCODINGS = ("", "cp1252", "iso8859-15", "utf-16")  # offered on the page; the API accepts others as well
LONGEST_NAME = 200  # bytes; file systems limit the length of names


def review_file(store: Store, id: str, decision: Decision) -> dict[str, Any]:
    """Apply a reviewer's decision to the findings of a file, log it, and mark the released file as outdated.

    id (str): id of the file.
    RETURNS (dict): "spans", a list with the changed span, empty if it was removed; "open", the number of decisions
        that are not yet applied to the released file.
    RAISES: as `findings_of` and `processing.apply_decision`.
    """
    # the lock keeps other requests from changing the findings between reading and writing
    with store.queue.lock:
        file = store.file(id)
        found = findings_of(store, file)
        length = len((store.get(file.id, "text") or b"").decode("utf-8", "surrogatepass"))
        where = (decision.start, decision.end, decision.label)
        found["spans"] = apply_decision(found["spans"], decision.action, *where, length)
        store.put(file.id, "findings", json.dumps(found).encode())
        # for other actions the label was not checked and must not be logged
        label = decision.label if decision.action in ("relabel", "add") else ""
        store.log(file, decision.action, decision.start, decision.end, label)
        waiting = int(file.about.get("open", 0)) + 1
        store.update(file.id, open=waiting, reviewed=False)
    place = (decision.start, decision.end)
    # only the changed span, because a file can have a hundred thousand
    return {"open": waiting, "spans": [span for span in found["spans"] if (span["start"], span["end"]) == place]}


def apply_review(store: Store, id: str) -> FileRow:
    """Queue a file to be written again with the decisions of its review. RAISES: InputError as `findings_of`."""
    with store.queue.lock:
        findings_of(store, store.file(id))
        store.queue.request(id, "write")
    return store.file(id)


def findings_of(store: Store, file: FileRow) -> dict[str, Any]:
    """Return the stored findings of a file: its spans, and the pipeline and settings that made them.

    RAISES: InputError if the file is not de-identified (D902) or is being processed (D915).
    """
    if file.task is not None:
        raise InputError(Errors.D915)
    data = store.get(file.id, "findings")
    if data is None or file.state != "done":
        raise InputError(Errors.D902.format(state=file.state, wanted="de-identify it first"))
    found: dict[str, Any] = json.loads(data)
    return found


def released_of(store: Store, file: FileRow, accept_warnings: bool) -> bytes:
    """Return the content of a released file.

    accept_warnings (bool): whether the user has accepted the warnings of the file.
    RAISES: InputError if it is not done (D902, D915), or has decisions that are not applied (D913) or warnings that
        are not accepted (D935).
    """
    findings_of(store, file)
    if file.about.get("open"):
        raise InputError(Errors.D913)
    check_warnings([file], accept_warnings)
    data = store.get(file.id, "released")
    if data is None:
        raise InputError(Errors.D902.format(state=file.state, wanted="de-identify it first"))
    return data


def read_uploads(files: list[UploadFile], service: ServiceSettings) -> Iterator[tuple[str, bytes]]:
    """Read uploaded files one after the other, within the limits of the service.

    RETURNS (Iterator[tuple[str, bytes]]): name and content of each file; contents are read one by one.
    RAISES: InputError if there is no file (D906), there are too many (D905), or one is too large (D904).
    """
    given = [file for file in files if file.filename]
    if not given:
        raise InputError(Errors.D906)
    if len(given) > service.max_files:
        raise InputError(Errors.D905.format(limit=service.max_files))
    if max(file.size or 0 for file in given) > service.max_mb * 1_000_000:
        raise InputError(Errors.D904.format(limit=service.max_mb))
    return ((file_name(file.filename or ""), file.file.read()) for file in given)


def file_name(name: str) -> str:
    """Return the last part of a path of any operating system, without unprintable characters. The result is not used
    as a path.

    name (str): the path.
    RETURNS (str): a name of at most 200 bytes.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(c for c in last if c.isprintable())
    while len(plain.encode()) > LONGEST_NAME:
        plain = plain[1:]
    return plain if plain.strip(". ") else "unnamed"


def parse_settings(text: str) -> JobSettings:
    """Parse `JobSettings` from JSON. RAISES: ConfigError (D908), which does not quote the text."""
    try:
        return JobSettings.model_validate_json(text or "{}")
    except ValueError:
        known = ", ".join(JobSettings.model_fields)
        raise ConfigError(Errors.D908.format(setting="settings", known=known)) from None


def choices_of(service: ServiceSettings) -> dict[str, Any]:
    """Return the values that users can choose for each setting: name of the setting → list of values."""
    fields = JobSettings.model_fields
    given = {name: list(get_args(fields[name].annotation)) for name in ("operating_point", "style", "policy", *SCANS)}
    if service.project_key is None:
        given["style"].remove("surrogate")
    local = {"llm": list(service.llm), "prompts": list(service.prompts), "labels": list(LABELS)}
    return {"pipeline": list(service.pipelines), **given, "encoding": list(ENCODINGS), **local}


def attachment(name: str) -> dict[str, str]:
    """Return the HTTP header that makes a browser save the response as a file with the given name."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
