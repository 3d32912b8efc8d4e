"""The queue: what is to be done with the files of jobs, and by whom it is being done.

A file has a *state*, which people see, and a *task*, which the worker does:

    uploaded ─parse→ parsed ─deidentify→ done ─write→ done      or failed, or cancelled

Who takes a task gets it with the time of the taking. What is reported back counts only as long as the file is still
taken at that time: a worker that was given up on changes nothing any more.
"""

import json
import threading
import time
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from .database import Database
from .encrypted_storage import EncryptedStorage

__all__ = ["ATTEMPTS", "Queue", "Task"]

ATTEMPTS = 2  # how often a file may bring the worker down


class Task(NamedTuple):
    """What the worker is to do: a file, "parse", "deidentify" or "write", and when it was taken."""

    file: str
    job: str
    task: str
    claimed: float


class Queue:
    """The tasks of all files.

    database (Database): where they stand.
    storage (EncryptedStorage): encrypts the settings of jobs, which may name a patient, and reasons of failures.
    """

    def __init__(self, database: Database, storage: EncryptedStorage) -> None:
        self.database, self.storage = database, storage
        # held while a reviewer's decision is carried out, which reads, changes and writes the findings of a file
        self.lock = threading.RLock()

    def start(self, job: str, settings: dict[str, Any]) -> int:
        """Put the files of a job into the queue. Those that are not parsed yet follow when they are.

        settings (dict): plain values, from now on those of the job.
        RETURNS (int): how many files there are to do; 0 if they are in work with these settings already.
        RAISES: InputError if they are in work with others (D921).
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
            # what is in work for a job that was cancelled is taken from its worker
            return database.execute(
                "UPDATE file SET task = 'deidentify', state = 'queued', reason = '', attempts = 0, claimed = NULL "
                "WHERE job = ? AND (task = 'deidentify' "
                "OR task IS NULL AND state IN ('parsed', 'done', 'cancelled', 'failed'))",
                (job,),
            ).rowcount

    def cancel(self, job: str) -> None:
        """Take what has not been done of a job out of the queue. What is in work is thrown away when it is done."""
        with self.database.change() as database:
            database.execute("UPDATE job SET cancelled = 1 WHERE id = ?", (job,))
            database.execute(
                "UPDATE file SET task = NULL, state = 'cancelled' WHERE job = ? AND task = 'deidentify' "
                "AND claimed IS NULL",
                (job,),
            )

    def ask(self, file: str, task: str) -> None:
        """Have something done with a file. RAISES: InputError (D915) if something is being done already."""
        with self.lock, self.database.change() as database:
            if not database.execute(
                "UPDATE file SET task = ?, attempts = 0, claimed = NULL WHERE id = ? AND task IS NULL", (task, file)
            ).rowcount:
                raise InputError(Errors.D915)

    def ahead(self, created: float) -> int:
        """How many files of jobs that are older than this are to be done first."""
        with self.database.read() as database:
            query = "SELECT COUNT(*) FROM file JOIN job ON job.id = file.job WHERE task IS NOT NULL AND created < ?"
            count: int = database.execute(query, (created,)).fetchone()[0]
        return count

    def claim(self, worker: int = 0) -> Task | None:
        """Take the next thing to do: what people wait for at the screen before what runs on its own.

        worker (int): number of who takes it.
        RETURNS (Optional[Task]): what it is; None if there is nothing to do.
        """
        with self.database.read() as database:
            if database.execute("SELECT 1 FROM file WHERE task IS NOT NULL AND claimed IS NULL").fetchone() is None:
                return None  # most of the time, and nobody else has to wait for this
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
        """Note what came of a task.

        task (Task): as it was taken.
        state (str): the file's state from now on.
        reason (str): why it failed, without content.
        about (Any): plain values that are known of the file now.
        RETURNS (bool): False if the job was cancelled or deleted meanwhile or somebody else does the task now, and
            nothing is kept.
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
        """A reason as it is kept: one may quote the settings of a job, which are sealed too."""
        return self.storage.encrypt(reason.encode("utf-8", "replace"), file) if reason else ""

    def reclaim(self, worker: int | None = None) -> None:
        """Give back what a worker had taken that is no more. A file that brought one down twice has failed.

        worker (Optional[int]): its number; None for all of them.
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
        """What is in work: file and time of the taking → number of the worker that has it."""
        with self.database.read() as database:
            rows = database.execute("SELECT id, claimed, worker FROM file WHERE claimed IS NOT NULL").fetchall()
        return {(row["id"], row["claimed"]): int(row["worker"] or 0) for row in rows}

    def give_up(self, file: str, claimed: float, reason: str) -> None:
        """Give up on a file; whoever works on it is to be stopped.

        file, claimed (str, float): as in `claims`.
        reason (str): why, without content.
        """
        with self.database.change() as database:
            database.execute(
                "UPDATE file SET state = 'failed', task = NULL, claimed = NULL, reason = ? "
                "WHERE id = ? AND claimed = ?",
                (reason, file, claimed),
            )
