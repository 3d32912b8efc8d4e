"""What is told of jobs and files: states, numbers, time left. No content but the names of files."""

import time
from collections.abc import Sequence
from typing import Any

from .store import FileRow, JobRow, Store

__all__ = ["show_file", "show_job"]


def show_file(file: FileRow) -> dict[str, Any]:
    """A file, as plain values."""
    state = file.state
    if file.task is not None:
        working = {"parse": "parsing", "deidentify": "running", "write": "writing"}
        state = (
            working[file.task] if file.claimed is not None else "waiting" if file.task != "deidentify" else "queued"
        )
    return {
        "id": file.id,
        "job": file.job,
        "name": file.name,
        "size": file.size,
        "state": state,
        "reason": file.reason,
        **file.about,
    }


def show_job(store: Store, job: JobRow) -> dict[str, Any]:
    """A job, as plain values: its files, how many are done, how many seconds are left."""
    files = store.files(job.id)
    busy = [file for file in files if file.task is not None]
    shown = [show_file(file) for file in files]
    return {
        "id": job.id,
        "created": job.created,
        "settings": job.settings,
        "cancelled": job.cancelled,
        "files": shown,
        "total": len(files),
        "done": sum(file.state == "done" for file in files if file.task is None),
        "failed": sum(file.state == "failed" for file in files if file.task is None),
        "busy": len(busy),
        "ahead": store.queue.ahead(job.created),
        "seconds_left": _seconds_left(files, busy),
    }


def _seconds_left(files: Sequence[FileRow], busy: Sequence[FileRow]) -> float | None:
    """How long it will take, by what the files that are done took for each character, if as many are in work at once
    as are now; None if none is done.
    """
    known = [(file.about["seconds"], file.about["characters"]) for file in files if "seconds" in file.about]
    if not known:
        return None
    total = sum(seconds for seconds, _ in known) / max(1, sum(characters for _, characters in known))
    left: float = sum(total * file.about.get("characters", 0) for file in busy if file.task == "deidentify")
    running = [file.claimed for file in busy if file.claimed is not None]
    spent = sum(time.time() - claimed for claimed in running)
    return round(max(0.0, float(left - spent)) / max(1, len(running)), 1)
