"""Jobs and their files, on disk: what survives a restart.

Jobs, files and the log of decisions stand in one SQLite database, by names of chance, offsets and labels; the names of
files and the settings of jobs are sealed with the files themselves if the service has a key for them, because they may
name a patient. Files lie beside it, a folder for each. The service writes from its threads and the worker from its own
process.
"""

import json
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from .database import Database
from .encrypted_storage import EncryptedStorage
from .queue import Queue

__all__ = ["FileRow", "JobRow", "NotFound", "Store"]

_ID = re.compile(r"[0-9a-f]{16}")


class NotFound(InputError):
    """There is no such job or file."""


class FileRow(NamedTuple):
    """A file of a job. `about` holds numbers and flags of what is known of it, never its content."""

    id: str
    job: str
    position: int
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
    """A job: settings as plain values, which may name a patient."""

    id: str
    created: float
    settings: dict[str, Any]
    cancelled: bool

    def __repr__(self) -> str:
        return f"JobRow({self.id})"


class Store:
    """The database and the files.

    folder (Path): it is made for its owner alone, if it is not there.
    storage (EncryptedStorage): encrypts and decrypts the files and their names.
    """

    def __init__(self, folder: Path, storage: EncryptedStorage) -> None:
        self.folder, self.storage = folder, storage
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        self.database = Database(folder / "jobs.sqlite")
        self.queue = Queue(self.database, storage)

    # jobs

    def add_job(self, settings: dict[str, Any], files: Iterable[tuple[str, bytes]]) -> str:
        """Add a job, whose files are parsed next.

        settings (dict): plain values.
        files (Iterable[tuple[str, bytes]]): names and contents, taken one after the other.
        RETURNS (str): the job's id.
        RAISES: NotFound if it was deleted before all files were there (D900).
        """
        job = secrets.token_hex(8)
        sealed = self.storage.encrypt(json.dumps(settings).encode(), job)
        with self.database.change() as database:
            database.execute("INSERT INTO job (id, created, settings) VALUES (?, ?, ?)", (job, time.time(), sealed))
        try:
            for position, (name, data) in enumerate(files):
                self._add_file(job, position, name, data)
            with self.database.change() as database:
                query = "UPDATE file SET state = 'uploaded', task = 'parse' WHERE job = ?"
                if not database.execute(query, (job,)).rowcount:
                    raise NotFound(Errors.D900.format(id=job))
        except BaseException:
            self.delete(job)
            raise
        return job

    def _add_file(self, job: str, position: int, name: str, data: bytes) -> None:
        """Add a file, row first: a folder without a row is one that was left behind."""
        file = secrets.token_hex(8)
        encrypted = self.storage.encrypt(name.encode("utf-8", "replace"), file)
        row = (file, job, position, encrypted, len(data), "uploading")
        try:
            with self.database.change() as database:
                database.execute(
                    "INSERT INTO file (id, job, position, name, size, state) VALUES (?, ?, ?, ?, ?, ?)", row
                )
        except sqlite3.IntegrityError:
            raise NotFound(Errors.D900.format(id=job)) from None
        self.put(file, "original", data)

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs with the numbers of their files, the latest first."""
        with self.database.read() as database:
            rows = database.execute(
                "SELECT job.id, created, COUNT(file.id) AS total, "
                "TOTAL(state = 'done' AND task IS NULL) AS done, "
                "TOTAL(state = 'failed' AND task IS NULL) AS failed, TOTAL(task IS NOT NULL) AS busy "
                "FROM job LEFT JOIN file ON file.job = job.id GROUP BY job.id ORDER BY created DESC"
            ).fetchall()
        return [{**dict(row), **{name: int(row[name]) for name in ("done", "failed", "busy")}} for row in rows]

    def job(self, id: str) -> JobRow:
        """One job. RAISES: NotFound (D900)."""
        with self.database.read() as database:
            row = database.execute("SELECT * FROM job WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D900.format(id=ascii(id)[1:-1][:20]))
        settings = json.loads(self.storage.decrypt(row["settings"], row["id"]))
        return JobRow(row["id"], row["created"], settings, bool(row["cancelled"]))

    def delete(self, job: str) -> None:
        """Delete a job with its files. What was decided stays in the log."""
        with self.database.change() as database:
            files = [row["id"] for row in database.execute("SELECT id FROM file WHERE job = ?", (job,))]
            database.execute("DELETE FROM job WHERE id = ?", (job,))
        for name in [*files, job]:
            self.storage.remove(self.folder / name)
        self.database.forget()

    def expire(self, seconds: float) -> int:
        """Delete the jobs that are older. RETURNS (int): how many."""
        old = [job["id"] for job in self.jobs() if job["created"] < time.time() - seconds]
        for job in old:
            self.delete(job)
        return len(old)

    def sweep(self) -> None:
        """Remove what belongs to no job: what a worker wrote after its job was deleted, or could not be removed."""
        folders = [path for path in self.folder.iterdir() if _ID.fullmatch(path.name)]
        with self.database.read() as database:
            known = {row[0] for row in database.execute("SELECT id FROM file UNION SELECT id FROM job")}
        for path in folders:
            if path.name not in known:
                self.storage.remove(path)

    def recover(self) -> None:
        """Clean up after a service that was killed. Only for the one service that uses the folder."""
        with self.database.read() as database:
            begun = database.execute("SELECT DISTINCT job FROM file WHERE state = 'uploading'").fetchall()
        for row in begun:
            self.delete(row["job"])
        for path in self.folder.glob("truth-*"):
            self.storage.remove(path)
        self.queue.reclaim()
        self.sweep()

    # files

    def files(self, job: str) -> list[FileRow]:
        """The files of a job, in their order."""
        with self.database.read() as database:
            rows = database.execute("SELECT * FROM file WHERE job = ? ORDER BY position", (job,)).fetchall()
        return [self._file(row) for row in rows]

    def file(self, id: str) -> FileRow:
        """One file. RAISES: NotFound (D901)."""
        with self.database.read() as database:
            row = database.execute("SELECT * FROM file WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D901.format(id=ascii(id)[1:-1][:20]))
        return self._file(row)

    def _file(self, row: sqlite3.Row) -> FileRow:
        name = self.storage.decrypt(row["name"], row["id"]).decode("utf-8")
        reason = row["reason"]
        if isinstance(reason, bytes):  # a constant is not sealed
            reason = self.storage.decrypt(reason, row["id"]).decode("utf-8")
        plain = {key: row[key] for key in FileRow._fields if key not in ("name", "about", "reason")}
        return FileRow(name=name, about=json.loads(row["about"]), reason=reason, **plain)

    def note(self, file: str, **about: Any) -> None:
        """Note more of what is known of a file."""
        with self.database.change() as database:
            row = database.execute("SELECT about FROM file WHERE id = ?", (file,)).fetchone()
            if row is not None:
                known = json.dumps(json.loads(row["about"]) | about)
                database.execute("UPDATE file SET about = ? WHERE id = ?", (known, file))

    # decisions

    def log(self, file: FileRow, action: str, start: int, end: int, label: str) -> None:
        """Write down a reviewer's decision: time, place and label, no content."""
        with self.database.change() as database:
            row = (time.time(), file.job, file.id, action, start, end, label)
            database.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def decisions(self, job: str) -> list[dict[str, Any]]:
        """The decisions on the files of a job, in their order."""
        with self.database.read() as database:
            rows: Sequence[sqlite3.Row] = database.execute(
                "SELECT * FROM decision WHERE job = ? ORDER BY made", (job,)
            ).fetchall()
        return [dict(row) for row in rows]

    # contents

    def put(self, file: str, part: str, data: bytes) -> None:
        """Write a part of a file, whole or not at all: "original", "text", "findings", "released", "report"."""
        self.storage.write(self.folder / file / part, data, f"{file} {part}")

    def get(self, file: str, part: str) -> bytes | None:
        """Read a part of a file; None if there is none. RAISES: InputError (D903)."""
        return self.storage.read(self.folder / file / part, f"{file} {part}")
