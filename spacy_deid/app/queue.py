"""Manages the queue of the service: which tasks the files of jobs need, and which worker has taken them.

A file has a *state*, which users see, and a *task*, which a worker carries out:

    uploaded ─parse→ parsed ─deidentify→ done ─write→ done      or failed, or cancelled

A worker takes a task together with a time stamp. Its result is accepted only while the file still has this time stamp,
so that a worker whose task was cancelled or given to another worker cannot change anything.
"""

import json
import threading
import time
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from .storage import Database, EncryptedStorage

ATTEMPTS = 2  # number of worker crashes after which a file fails


class Task(NamedTuple):
    """A task that a worker has taken.

    file, job (str): ids of the file and of its job.
    task (str): "parse", "deidentify" or "write".
    claimed (float): Unix time at which it was taken.
    """

    file: str
    job: str
    task: str
    claimed: float


def shown_state(state: str, task: str | None, *, taken: bool) -> str:
    """Return the state of a file as users see it, which names the task that it waits for or that is in progress.

    state, task (str, Optional[str]): its state and its task.
    taken (bool): whether a worker has taken the task.
    """
    if task is None:
        return state
    if taken:
        return {"parse": "parsing", "deidentify": "running", "write": "writing"}[task]
    return "queued" if task == "deidentify" else "waiting"


class Queue:
    """Queues, hands out and finishes the tasks of all files. Threads and processes can use it at the same time.

    database (Database): the database.
    storage (EncryptedStorage): encrypts the settings of jobs and reasons, which can identify a patient.
    """

    def __init__(self, database: Database, storage: EncryptedStorage) -> None:
        self.database, self.storage = database, storage
        # held while a decision reads, changes and writes the findings of a file
        self.lock = threading.RLock()

    def start(self, job: str, settings: dict[str, Any]) -> int:
        """Queue the files of a job for de-identification. Files that are not parsed yet follow after parsing.

        settings (dict): the new settings of the job, as plain values.
        RETURNS (int): number of files to process; 0 if they are already being processed with these settings.
        RAISES: InputError (D921) if they are being processed with other settings.
        """
        sealed = self.storage.encrypt(json.dumps(settings).encode(), job)
        with self.lock, self.database.change() as database:
            row = database.execute("SELECT settings, cancelled FROM job WHERE id = ?", (job,)).fetchone()
            busy = database.execute(
                "SELECT COUNT(*) FROM file WHERE job = ? AND task IN ('deidentify', 'write')", (job,)
            ).fetchone()[0]
            if busy and not row["cancelled"]:
                if json.loads(self.storage.decrypt(row["settings"], job)) != settings:
                    raise InputError(Errors.D921)
                return 0
            database.execute("UPDATE job SET settings = ?, started = 1, cancelled = 0 WHERE id = ?", (sealed, job))
            restarted = "UPDATE webhook SET number = number + (attempts > 0), attempts = 0, due = 0 WHERE job = ?"
            database.execute(restarted, (job,))
            # tasks in progress of a cancelled job are taken from their workers
            return database.execute(
                "UPDATE file SET task = 'deidentify', state = 'queued', reason = '', attempts = 0, claimed = NULL "
                "WHERE job = ? AND (task = 'deidentify' "
                "OR task IS NULL AND state IN ('parsed', 'done', 'cancelled', 'failed'))",
                (job,),
            ).rowcount

    def cancel(self, job: str) -> None:
        """Remove the remaining files of a job from the queue. The result of a file in progress is discarded."""
        with self.database.change() as database:
            database.execute("UPDATE job SET cancelled = 1 WHERE id = ?", (job,))
            database.execute(
                "UPDATE file SET task = NULL, state = 'cancelled' WHERE job = ? AND task = 'deidentify' "
                "AND claimed IS NULL",
                (job,),
            )

    def request(self, file: str, task: str) -> None:
        """Queue a task for a file.

        file (str): id of the file.
        task (str): "parse", "deidentify" or "write".
        RAISES: InputError (D915) if the file already has a task.
        """
        with self.lock, self.database.change() as database:
            if not database.execute(
                "UPDATE file SET task = ?, attempts = 0, claimed = NULL WHERE id = ? AND task IS NULL", (task, file)
            ).rowcount:
                raise InputError(Errors.D915)

    def count_ahead(self, created: float) -> int:
        """Count the files of older jobs that have a task, and so come before those of a job.

        created (float): creation time of the job (Unix time).
        """
        with self.database.read() as database:
            query = "SELECT COUNT(*) FROM file JOIN job ON job.id = file.job WHERE task IS NOT NULL AND created < ?"
            count: int = database.execute(query, (created,)).fetchone()[0]
        return count

    def count_tasks(self) -> dict[tuple[str, str], int]:
        """Count the tasks of all files. RETURNS (dict): task and "waiting" or "running" → number."""
        query = "SELECT task, claimed IS NOT NULL, COUNT(*) FROM file WHERE task IS NOT NULL GROUP BY 1, 2"
        with self.database.read() as database:
            rows = database.execute(query).fetchall()
        return {(row[0], "running" if row[1] else "waiting"): row[2] for row in rows}

    def claim(self, worker: int = 0) -> Task | None:
        """Take the next task. "parse" and "write", for which users wait in the browser, precede "deidentify".

        worker (int): number of the worker.
        RETURNS (Optional[Task]): the task; None if there is none.
        """
        with self.database.read() as database:
            if database.execute("SELECT 1 FROM file WHERE task IS NOT NULL AND claimed IS NULL").fetchone() is None:
                return None  # the usual case, without a write lock
        with self.database.change() as database:
            row = database.execute(
                "SELECT file.id, file.job, file.task FROM file JOIN job ON job.id = file.job "
                "WHERE file.task IS NOT NULL AND file.claimed IS NULL "
                "ORDER BY file.task = 'deidentify', job.created, file.position LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            task = Task(row["id"], row["job"], row["task"], time.time())
            database.execute(
                "UPDATE file SET claimed = ?, worker = ?, attempts = attempts + 1 WHERE id = ?",
                (task.claimed, worker, task.file),
            )
        return task

    def finish(self, task: Task, state: str, *, reason: str = "", **about: Any) -> bool:
        """Store the result of a task.

        task (Task): the task as it was taken.
        state (str): the new state of the file.
        reason (str): why it failed, without content; "" if it did not fail.
        about (Any): new facts about the file, as plain values.
        RETURNS (bool): False if the job was cancelled or deleted meanwhile, or another worker has taken the task. The
            result is then discarded.
        """
        with self.database.change() as database:
            row = database.execute(
                "SELECT file.about, job.started, job.cancelled FROM file JOIN job ON job.id = file.job "
                "WHERE file.id = ? AND file.claimed = ?",
                (task.file, task.claimed),
            ).fetchone()
            if row is None:
                return False
            kept = not (row["cancelled"] and task.task == "deidentify")
            known = json.loads(row["about"]) | (about if kept else {})
            state, reason = (state, reason) if kept else ("cancelled", "")
            goes_on = state == "parsed" and row["started"] and not row["cancelled"]
            then, state = ("deidentify", "queued") if goes_on else (None, state)
            database.execute(
                "UPDATE file SET task = ?, claimed = NULL, attempts = 0, state = ?, reason = ?, about = ? "
                "WHERE id = ?",
                (then, state, self._seal(reason, task.file), json.dumps(known), task.file),
            )
        return kept

    def _seal(self, reason: str, file: str) -> bytes | str:
        """Encrypt a reason, which can quote the settings of a job."""
        return self.storage.encrypt(reason.encode("utf-8", "replace"), file) if reason else ""

    def reclaim(self, worker: int | None = None) -> None:
        """Return the tasks of a worker that stopped to the queue. A file whose workers stopped twice has failed.

        worker (Optional[int]): number of the worker; None for all workers.
        """
        with self.database.change() as database:
            theirs, which = ("claimed IS NOT NULL AND (:worker IS NULL OR worker = :worker)", {"worker": worker})
            database.execute(
                "UPDATE file SET state = 'failed', task = NULL, claimed = NULL, reason = :reason "
                f"WHERE {theirs} AND attempts >= :most",
                {**which, "reason": Errors.D909, "most": ATTEMPTS},
            )
            database.execute(f"UPDATE file SET claimed = NULL WHERE {theirs}", which)

    def claims(self) -> dict[tuple[str, float], int]:
        """List the tasks in progress. RETURNS (dict): file id and time stamp → number of the worker."""
        with self.database.read() as database:
            rows = database.execute("SELECT id, claimed, worker FROM file WHERE claimed IS NOT NULL").fetchall()
        return {(row["id"], row["claimed"]): int(row["worker"] or 0) for row in rows}

    def give_up(self, file: str, claimed: float, reason: str) -> None:
        """Mark a file as failed if it still has the given task. The caller stops the worker.

        file, claimed (str, float): file id and time stamp of the task, as from `claims`.
        reason (str): why it failed, without content.
        """
        with self.database.change() as database:
            database.execute(
                "UPDATE file SET state = 'failed', task = NULL, claimed = NULL, reason = ? "
                "WHERE id = ? AND claimed = ?",
                (reason, file, claimed),
            )
