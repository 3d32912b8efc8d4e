"""Counts what the files of a job add up to.

The database counts, so that a page of a job with hundreds of files reads only the files that it shows.
"""

import time
from typing import Any, NamedTuple

from .queue import shown_state
from .storage import Database

_GROUPS = """
SELECT state, task, claimed IS NOT NULL AS taken, COUNT(*) AS files, TOTAL(claimed) AS claimed,
    TOTAL(json_extract(about, '$.reviewed')) AS reviewed, TOTAL(json_extract(about, '$.open') > 0) AS open,
    TOTAL(json_array_length(about, '$.warnings') > 0) AS warned,
    TOTAL(json_extract(about, '$.characters')) AS characters, TOTAL(json_extract(about, '$.seconds')) AS seconds,
    TOTAL(json_extract(about, '$.characters'))
        FILTER (WHERE json_extract(about, '$.seconds') IS NOT NULL) AS timed
FROM file WHERE job = ? GROUP BY 1, 2, 3
"""
_NEXT = """
SELECT id FROM file WHERE job = ? AND id != ? AND state = 'done' AND task IS NULL
    AND NOT COALESCE(json_extract(about, '$.reviewed'), 0)
ORDER BY COALESCE(json_extract(about, '$.risk'), 0) DESC, position LIMIT 1
"""


class Summary(NamedTuple):
    """What the files of a job add up to.

    states (dict[str, int]): state, as users see it → number of files.
    total, done, failed, busy (int): numbers of files: all; de-identified and without a task; failed; with a task.
    started (bool): whether the de-identification of any file has begun or is queued.
    readable (int): number of files with findings, also if they are being written again.
    reviewed (int): how many of these a reviewer has finished.
    open, warned (int): how many of the done files have decisions that are not applied, and warnings.
    seconds_left (Optional[float]): estimated seconds until all files are processed; None if no file was processed yet.
    """

    states: dict[str, int]
    total: int
    done: int
    failed: int
    busy: int
    started: bool
    readable: int
    reviewed: int
    open: int
    warned: int
    seconds_left: float | None


def summarize_job(database: Database, job: str) -> Summary:
    """Count what the files of a job add up to. RETURNS (Summary): the counts."""
    with database.read() as connection:
        groups = connection.execute(_GROUPS, (job,)).fetchall()
    states: dict[str, int] = {}
    for group in groups:
        state = shown_state(group["state"], group["task"], taken=bool(group["taken"]))
        states[state] = states.get(state, 0) + group["files"]
    readable = [group for group in groups if group["state"] == "done"]
    done = [group for group in readable if group["task"] is None]
    busy = [group for group in groups if group["task"] is not None]
    return Summary(
        states=states,
        total=sum(group["files"] for group in groups),
        done=sum(group["files"] for group in done),
        failed=sum(group["files"] for group in groups if group["state"] == "failed" and group["task"] is None),
        busy=sum(group["files"] for group in busy),
        started=any(group["state"] in ("done", "cancelled") or group["task"] == "deidentify" for group in groups),
        readable=sum(group["files"] for group in readable),
        reviewed=int(sum(group["reviewed"] for group in readable)),
        open=int(sum(group["open"] for group in done)),
        warned=int(sum(group["warned"] for group in done)),
        seconds_left=_seconds_left(groups, busy),
    )


def _seconds_left(groups: list[Any], busy: list[Any]) -> float | None:
    """Estimate the seconds left from the time per character of the processed files; None if there are none."""
    timed = sum(group["timed"] for group in groups)
    if not timed:
        return None
    pace: float = sum(group["seconds"] for group in groups) / timed
    left: float = pace * sum(group["characters"] for group in busy if group["task"] == "deidentify")
    taken = [group for group in busy if group["taken"]]
    running: int = sum(group["files"] for group in taken)
    spent: float = running * time.time() - sum(group["claimed"] for group in taken)
    return round(max(0.0, left - spent) / max(1, running), 1)


def next_to_review(database: Database, job: str, but: str = "") -> str:
    """Find the file that a reviewer should open next: the riskiest that is not reviewed.

    job (str): id of the job.
    but (str): id of a file to leave out; "" for none.
    RETURNS (str): id of the file; "" if all are reviewed.
    """
    with database.read() as connection:
        row = connection.execute(_NEXT, (job, but)).fetchone()
    return str(row["id"]) if row else ""
