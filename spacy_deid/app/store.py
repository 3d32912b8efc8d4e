"""The queue and the files of jobs, on disk: what survives a restart.

Jobs, files and the log of decisions stand in one SQLite database, by names of chance, offsets and labels; the names of
files are sealed with the files themselves if the service has a key for them, because a name may be a patient's. Files
lie beside it, a folder for each. The service writes from its threads and the worker from its own process.

A file has a *state*, which people see, and a *task*, which the worker does:

    uploaded ─parse→ parsed ─deidentify→ done ─write→ done      or failed, or cancelled
"""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from .vessel import Vessel

__all__ = ["FileRow", "JobRow", "NotFound", "Store", "Task"]

ATTEMPTS = 2  # how often a file may bring the worker down
SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY, created REAL NOT NULL, settings TEXT NOT NULL, started INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS file (
    id TEXT PRIMARY KEY, job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE, position INTEGER NOT NULL,
    name BLOB NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL, task TEXT, claimed REAL,
    attempts INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '', about TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS file_of_job ON file (job, position);
CREATE INDEX IF NOT EXISTS file_with_task ON file (task) WHERE task IS NOT NULL;
CREATE TABLE IF NOT EXISTS decision (
    made REAL NOT NULL, job TEXT NOT NULL, file TEXT NOT NULL, action TEXT NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, label TEXT NOT NULL
)
"""


class NotFound(InputError):
    """There is no such job or file."""


class Task(NamedTuple):
    """What the worker is to do: a file, and "parse", "deidentify" or "write"."""

    file: str
    job: str
    task: str


class FileRow(NamedTuple):
    """A file of a job. `about` holds numbers and flags of what is known of it, never its content."""

    id: str
    job: str
    name: str
    size: int
    state: str
    task: str | None
    claimed: float | None
    reason: str
    about: dict[str, Any]

    def __repr__(self) -> str:
        return f"FileRow({self.id}, {self.state})"


class JobRow(NamedTuple):
    """A job: settings as plain values."""

    id: str
    created: float
    settings: dict[str, Any]
    cancelled: bool


class Store:
    """The database and the files.

    folder (Path): it is made for its owner alone, if it is not there.
    vessel (Vessel): seals and opens files and their names.
    """

    def __init__(self, folder: Path, vessel: Vessel) -> None:
        self.folder, self.vessel = folder, vessel
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        with self._open() as database:
            for statement in SCHEMA.split(";"):
                database.execute(statement)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own: connections are cheap, and none is shared between threads."""
        with closing(sqlite3.connect(self.folder / "jobs.sqlite", timeout=30, isolation_level=None)) as database:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA secure_delete = ON")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    # jobs

    def add_job(self, settings: dict[str, Any], files: Sequence[tuple[str, bytes]]) -> str:
        """Add a job, whose files are parsed next.

        settings (dict): plain values.
        files (Sequence[tuple[str, bytes]]): names and contents.
        RETURNS (str): the job's id.
        """
        job = secrets.token_hex(8)
        rows = []
        for position, (name, data) in enumerate(files):
            file = secrets.token_hex(8)
            self.put(file, "original", data)
            rows.append((file, job, position, self.vessel.seal(name.encode("utf-8", "replace"), file), len(data)))
        with self._open() as database:
            database.execute(
                "INSERT INTO job (id, created, settings) VALUES (?, ?, ?)", (job, time.time(), json.dumps(settings))
            )
            database.executemany(
                "INSERT INTO file (id, job, position, name, size, state, task) "
                "VALUES (?, ?, ?, ?, ?, 'uploaded', 'parse')",
                rows,
            )
        return job

    def jobs(self) -> list[JobRow]:
        """All jobs, the latest first."""
        with self._open() as database:
            return [_job(row) for row in database.execute("SELECT * FROM job ORDER BY created DESC")]

    def job(self, id: str) -> JobRow:
        """One job. RAISES: NotFound (D900)."""
        with self._open() as database:
            row = database.execute("SELECT * FROM job WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D900.format(id=ascii(id)[1:-1][:20]))
        return _job(row)

    def files(self, job: str) -> list[FileRow]:
        """The files of a job, in their order."""
        with self._open() as database:
            rows = database.execute("SELECT * FROM file WHERE job = ? ORDER BY position", (job,)).fetchall()
        return [self._file(row) for row in rows]

    def file(self, id: str) -> FileRow:
        """One file. RAISES: NotFound (D901)."""
        with self._open() as database:
            row = database.execute("SELECT * FROM file WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D901.format(id=ascii(id)[1:-1][:20]))
        return self._file(row)

    def _file(self, row: sqlite3.Row) -> FileRow:
        name = self.vessel.open(row["name"], row["id"]).decode("utf-8")
        about = json.loads(row["about"])
        return FileRow(
            row["id"], row["job"], name, row["size"], row["state"], row["task"], row["claimed"], row["reason"], about
        )

    def start(self, job: str, settings: dict[str, Any]) -> int:
        """Put the files of a job into the queue. Those that are not parsed yet follow when they are.

        settings (dict): plain values, from now on those of the job.
        RETURNS (int): how many files there are to do.
        """
        with self._open() as database:
            database.execute(
                "UPDATE job SET settings = ?, started = 1, cancelled = 0 WHERE id = ?", (json.dumps(settings), job)
            )
            return database.execute(
                "UPDATE file SET task = 'deidentify', state = 'queued', reason = '', attempts = 0, claimed = NULL "
                "WHERE job = ? AND task IS NULL AND state IN ('parsed', 'done', 'cancelled', 'failed')",
                (job,),
            ).rowcount

    def cancel(self, job: str) -> None:
        """Take what has not been done of a job out of the queue. What is in work is thrown away when it is done."""
        with self._open() as database:
            database.execute("UPDATE job SET cancelled = 1 WHERE id = ?", (job,))
            database.execute(
                "UPDATE file SET task = NULL, state = 'cancelled' WHERE job = ? AND task = 'deidentify' "
                "AND claimed IS NULL",
                (job,),
            )

    def delete(self, job: str) -> None:
        """Delete a job with its files. What was decided stays in the log."""
        files = [file.id for file in self.files(job)]
        with self._open() as database:
            database.execute("DELETE FROM job WHERE id = ?", (job,))
        for name in [*files, job]:
            self.vessel.remove(self.folder / name)

    def expire(self, seconds: float) -> int:
        """Delete the jobs that are older. RETURNS (int): how many."""
        old = [job.id for job in self.jobs() if job.created < time.time() - seconds]
        for job in old:
            self.delete(job)
        return len(old)

    # the queue

    def claim(self) -> Task | None:
        """Take the next thing to do: what people wait for at the screen before what runs on its own."""
        with self._open() as database:
            row = database.execute(
                "SELECT file.id, file.job, file.task FROM file JOIN job ON job.id = file.job "
                "WHERE file.task IS NOT NULL AND file.claimed IS NULL "
                "ORDER BY file.task = 'deidentify', job.created, file.position LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            database.execute(
                "UPDATE file SET claimed = ?, attempts = attempts + 1 WHERE id = ?", (time.time(), row["id"])
            )
        return Task(*row)

    def finish(self, file: str, state: str, *, reason: str = "", **about: Any) -> bool:
        """Note what came of a task.

        file (str): the file.
        state (str): its state from now on.
        reason (str): why it failed, without content.
        about (Any): plain values that are known of it now.
        RETURNS (bool): False if the job was cancelled or deleted meanwhile, and nothing is kept.
        """
        with self._open() as database:
            row = database.execute(
                "SELECT file.about, file.task, job.started, job.cancelled FROM file JOIN job ON job.id = file.job "
                "WHERE file.id = ?",
                (file,),
            ).fetchone()
            kept = row is not None and not (row["cancelled"] and row["task"] == "deidentify")
            if row is not None:
                about = json.loads(row["about"]) | about if kept else json.loads(row["about"])
                state, reason = (state, reason) if kept else ("cancelled", "")
                goes_on = state == "parsed" and row["started"] and not row["cancelled"]
                task, state = ("deidentify", "queued") if goes_on else (None, state)
                database.execute(
                    "UPDATE file SET task = ?, claimed = NULL, attempts = 0, state = ?, reason = ?, about = ? "
                    "WHERE id = ?",
                    (task, state, reason, json.dumps(about), file),
                )
        return kept

    def reclaim(self) -> None:
        """Give back what a worker had taken that is no more. A file that brought it down twice has failed."""
        with self._open() as database:
            database.execute(
                "UPDATE file SET state = 'failed', task = NULL, claimed = NULL, reason = ? "
                "WHERE claimed IS NOT NULL AND attempts >= ?",
                (Errors.D909, ATTEMPTS),
            )
            database.execute("UPDATE file SET claimed = NULL WHERE claimed IS NOT NULL")

    def ask(self, file: str, task: str) -> None:
        """Have something done with a file. RAISES: InputError (D915) if something is being done already."""
        with self._open() as database:
            if not database.execute(
                "UPDATE file SET task = ?, attempts = 0, claimed = NULL WHERE id = ? AND task IS NULL", (task, file)
            ).rowcount:
                raise InputError(Errors.D915)

    def note(self, file: str, **about: Any) -> None:
        """Note more of what is known of a file."""
        with self._open() as database:
            row = database.execute("SELECT about FROM file WHERE id = ?", (file,)).fetchone()
            database.execute(
                "UPDATE file SET about = ? WHERE id = ?", (json.dumps(json.loads(row["about"]) | about), file)
            )

    # decisions

    def log(self, file: FileRow, action: str, start: int, end: int, label: str) -> None:
        """Write down a reviewer's decision: time, place and label, no content."""
        with self._open() as database:
            row = (time.time(), file.job, file.id, action, start, end, label)
            database.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def decisions(self, job: str) -> list[dict[str, Any]]:
        """The decisions on the files of a job, in their order."""
        with self._open() as database:
            return [
                dict(row) for row in database.execute("SELECT * FROM decision WHERE job = ? ORDER BY made", (job,))
            ]

    # contents

    def put(self, file: str, part: str, data: bytes) -> None:
        """Write a part of a file, whole or not at all: "original", "text", "findings", "released", "truth"."""
        self.vessel.write(self.folder / file / part, data, f"{file} {part}")

    def get(self, file: str, part: str) -> bytes | None:
        """Read a part of a file; None if there is none. RAISES: InputError (D903)."""
        return self.vessel.read(self.folder / file / part, f"{file} {part}")


def _job(row: sqlite3.Row) -> JobRow:
    return JobRow(row["id"], row["created"], json.loads(row["settings"]), bool(row["cancelled"]))
