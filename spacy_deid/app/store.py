"""Stores jobs, their files and the log of decisions on disk, so that they survive a restart.

Jobs, files and the log of decisions are in a SQLite database, with random ids, offsets and labels. Names of files and
settings of jobs can identify a patient and are encrypted like the files, if the service has a key. Each file has a
folder beside the database. The service writes from its threads and the workers from their own processes.
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
from .queue import Queue
from .storage import Database, EncryptedStorage

_ID = re.compile(r"[0-9a-f]{16}")


class NotFound(InputError):
    """The job or file does not exist."""


class Conflict(InputError):
    """The request contradicts an earlier one."""


class FileRow(NamedTuple):
    """The row of a file in the database.

    id, job (str): ids of the file and of its job.
    position (int): its position in the job, from 0.
    name (str): the name of the uploaded file.
    size (int): bytes.
    state (str): "uploading", "uploaded", "parsed", "queued", "done", "failed" or "cancelled".
    task (Optional[str]): the next task, "parse", "deidentify" or "write"; None if there is none.
    claimed (Optional[float]): Unix time at which a worker took the task; None if none has.
    reason (str): why it failed; "" if it did not.
    about (dict): facts about the file, such as numbers and flags, never content.
    """

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
    """The row of a job in the database.

    id (str): id of the job.
    created (float): Unix time of its creation.
    settings (dict): its settings as plain values; they can identify a patient.
    cancelled (bool): whether it was cancelled.
    """

    id: str
    created: float
    settings: dict[str, Any]
    cancelled: bool

    def __repr__(self) -> str:
        return f"JobRow({self.id})"


class Store:
    """Stores jobs, files and decisions in a folder with a database. Threads and processes can share the folder.

    folder (Path): the folder; it is created with access for its owner only.
    storage (EncryptedStorage): encrypts files and their names.
    """

    def __init__(self, folder: Path, storage: EncryptedStorage) -> None:
        self.folder, self.storage = folder, storage
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        self.database = Database(folder / "jobs.sqlite")
        self.queue = Queue(self.database, storage)

    # jobs

    def add_job(
        self,
        settings: dict[str, Any],
        files: Iterable[tuple[str, bytes]],
        owner: str = "",
        *,
        start: bool = False,
        request: tuple[str, str] | None = None,
        webhook: str = "",
    ) -> str:
        """Add a job with its files, and queue them for parsing.

        settings (dict): settings of the job as plain values.
        files (Iterable[tuple[str, bytes]]): name and content of each file, consumed one by one.
        owner (str): name of the user who adds it.
        start (bool): whether the files are de-identified after parsing.
        request (Optional[tuple[str, str]]): idempotency key and digest of the request, see `find_request`.
        webhook (str): address to notify when the job is finished; "" for none.
        RETURNS (str): the job's id.
        RAISES: NotFound (D900) if the job is deleted before all files were stored; Conflict (D973) if another request
            with this key is in progress.
        """
        job = secrets.token_hex(8)
        sealed = self.storage.encrypt(json.dumps(settings).encode(), job)
        with self.database.change() as database:
            row = (job, time.time(), sealed, start, owner)
            database.execute("INSERT INTO job (id, created, settings, started, owner) VALUES (?, ?, ?, ?, ?)", row)
            if request is not None:
                key, digest = request
                try:
                    kept = (key, self.storage.encrypt(digest.encode(), f"{job} request"), job)
                    database.execute("INSERT INTO request VALUES (?, ?, ?)", kept)
                except sqlite3.IntegrityError:
                    raise Conflict(Errors.D973.format(state="is in progress")) from None
            if webhook:
                address = self.storage.encrypt(webhook.encode(), f"{job} webhook")
                database.execute("INSERT INTO webhook (job, url) VALUES (?, ?)", (job, address))
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

    def find_request(self, key: str, digest: str) -> str | None:
        """Find the job that an earlier request with the same idempotency key has added.

        key (str): the key, with the name of the user.
        digest (str): digest of the request.
        RETURNS (Optional[str]): id of the job; None for a new key.
        RAISES: Conflict (D973) if the earlier request was another one, or is in progress.
        """
        with self.database.read() as database:
            row = database.execute("SELECT * FROM request WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            query = "SELECT COUNT(*), TOTAL(state = 'uploading') FROM file WHERE job = ?"
            count, uploading = database.execute(query, (row["job"],)).fetchone()
        if self.storage.decrypt(row["digest"], f"{row['job']} request").decode() != digest:
            raise Conflict(Errors.D973.format(state="had other content"))
        if uploading or not count:
            raise Conflict(Errors.D973.format(state="is in progress"))
        return str(row["job"])

    def due_webhooks(self, now: float) -> list[dict[str, Any]]:
        """List the webhooks to send: of jobs that were started and have no tasks left.

        now (float): Unix time.
        RETURNS (list[dict]): "job", "url", "number" of the start, "attempts", "cancelled", and the counts of files
            "total", "done" and "failed".
        """
        with self.database.read() as database:
            rows = database.execute(
                "SELECT webhook.*, job.cancelled, COUNT(file.id) AS total, TOTAL(state = 'done') AS done, "
                "TOTAL(state = 'failed') AS failed FROM webhook JOIN job ON job.id = webhook.job "
                "JOIN file ON file.job = job.id WHERE webhook.due <= ? AND job.started GROUP BY job.id "
                "HAVING TOTAL(task IS NOT NULL OR state = 'uploading') = 0",
                (now,),
            ).fetchall()
        plain = [{**dict(row), "done": int(row["done"]), "failed": int(row["failed"])} for row in rows]
        opened = [self.storage.decrypt(row["url"], f"{row['job']} webhook").decode() for row in plain]
        return [
            {**row, "url": url, "cancelled": bool(row["cancelled"])} for row, url in zip(plain, opened, strict=True)
        ]

    def finish_webhook(self, job: str, number: int, attempts: int, due: float | None) -> None:
        """Store the result of an attempt to send a webhook.

        job, number (str, int): the webhook, as from `due_webhooks`. If the job was started again, nothing is changed.
        attempts (int): number of attempts.
        due (Optional[float]): Unix time of the next attempt; None for no other.
        """
        with self.database.change() as database:
            query = "UPDATE webhook SET attempts = ?, due = ? WHERE job = ? AND number = ?"
            database.execute(query, (attempts, due, job, number))

    def _add_file(self, job: str, position: int, name: str, data: bytes) -> None:
        """Add a file. The row is written first, so that a folder without a row is known to be an orphan."""
        file = secrets.token_hex(8)
        sealed = self.storage.encrypt(name.encode("utf-8", "replace"), file)
        query = "INSERT INTO file (id, job, position, name, size, state) VALUES (?, ?, ?, ?, ?, 'uploading')"
        try:
            with self.database.change() as database:
                database.execute(query, (file, job, position, sealed, len(data)))
        except sqlite3.IntegrityError:
            raise NotFound(Errors.D900.format(id=job)) from None
        self.put(file, "original", data)

    def jobs(self, owner: str | None = None) -> list[dict[str, Any]]:
        """List all jobs with the counts of their files, the latest first.

        owner (Optional[str]): list only the jobs of this user.
        RETURNS (list[dict]): plain values.
        """
        return self.page_jobs(-1, owner=owner)[0]

    def page_jobs(
        self, limit: int, cursor: str = "", owner: str | None = None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """List a part of the jobs, the latest first. Jobs that are added or deleted do not move those of later parts.

        limit (int): maximal number of jobs; -1 for all.
        cursor (str): the cursor that came with the part before; "" for the first part.
        owner (Optional[str]): list only the jobs of this user.
        RETURNS (tuple[list[dict], Optional[str]]): the jobs as plain values, and the cursor of the next part; None
            after the last one.
        RAISES: InputError (D944) if the cursor is not valid.
        """
        created, id = _parse_cursor(cursor) if cursor else (float("inf"), "")
        with self.database.read() as database:
            rows = database.execute(
                "SELECT job.id, created, COUNT(file.id) AS total, "
                "TOTAL(state = 'done' AND task IS NULL) AS done, "
                "TOTAL(state = 'failed' AND task IS NULL) AS failed, TOTAL(task IS NOT NULL) AS busy "
                "FROM job LEFT JOIN file ON file.job = job.id "
                "WHERE (created, job.id) < (?, ?) AND (?3 IS NULL OR owner = ?3) "
                "GROUP BY job.id ORDER BY created DESC, job.id DESC LIMIT ?4",
                (created, id, owner, limit + 1 if limit >= 0 else -1),
            ).fetchall()
        shown = [{**dict(row), **{name: int(row[name]) for name in ("done", "failed", "busy")}} for row in rows]
        more = 0 <= limit < len(shown)
        shown = shown[:limit] if more else shown
        return shown, f"{shown[-1]['created'].hex()}-{shown[-1]['id']}" if more else None

    def owner(self, job: str = "", file: str = "") -> str | None:
        """Return the name of the user who added a job, given its id or that of a file; None if it does not exist."""
        with self.database.read() as database:
            query = "SELECT owner FROM job WHERE id = ?1 OR id = (SELECT job FROM file WHERE id = ?2)"
            row = database.execute(query, (job, file)).fetchone()
        return None if row is None else str(row["owner"])

    def count_files(self) -> dict[str, int]:
        """Count the files of all jobs. RETURNS (dict): state → number."""
        with self.database.read() as database:
            return dict(database.execute("SELECT state, COUNT(*) FROM file GROUP BY state").fetchall())

    def job(self, id: str) -> JobRow:
        """Read a job from the database.

        RAISES: NotFound (D900) if it does not exist.
        """
        with self.database.read() as database:
            row = database.execute("SELECT * FROM job WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D900.format(id=shown_id(id)))
        settings = json.loads(self.storage.decrypt(row["settings"], row["id"]))
        return JobRow(row["id"], row["created"], settings, bool(row["cancelled"]))

    def delete(self, job: str) -> None:
        """Delete a job with its files. The decisions stay in the log."""
        with self.database.change() as database:
            files = [row["id"] for row in database.execute("SELECT id FROM file WHERE job = ?", (job,))]
            database.execute("DELETE FROM job WHERE id = ?", (job,))
        for name in [*files, job]:
            self.storage.remove(self.folder / name)
        self.database.truncate_log()

    def expire(self, seconds: float) -> int:
        """Delete jobs that are older than a limit.

        seconds (float): maximal age of a job in seconds.
        RETURNS (int): number of deleted jobs.
        """
        old = [job["id"] for job in self.jobs() if job["created"] < time.time() - seconds]
        for job in old:
            self.delete(job)
        return len(old)

    def remove_orphans(self) -> None:
        """Remove folders without a job, which a worker wrote after its job was deleted, or a failed deletion left."""
        folders = [path for path in self.folder.iterdir() if _ID.fullmatch(path.name)]
        with self.database.read() as database:
            known = {row[0] for row in database.execute("SELECT id FROM file UNION SELECT id FROM job")}
        for path in folders:
            if path.name not in known:
                self.storage.remove(path)

    def recover(self) -> None:
        """Clean up after a service that was killed: delete incomplete uploads, and queue interrupted tasks again.

        No other service may use the folder.
        """
        with self.database.read() as database:
            begun = database.execute("SELECT DISTINCT job FROM file WHERE state = 'uploading'").fetchall()
        for row in begun:
            self.delete(row["job"])
        for path in self.folder.glob("truth-*"):
            self.storage.remove(path)
        self.queue.reclaim()
        self.remove_orphans()

    # files

    def files(self, job: str) -> list[FileRow]:
        """List the files of a job.

        RETURNS (list[FileRow]): the files by position.
        """
        with self.database.read() as database:
            rows = database.execute("SELECT * FROM file WHERE job = ? ORDER BY position", (job,)).fetchall()
        return [self._file(row) for row in rows]

    def page_files(self, job: str, limit: int, offset: int = 0, *, by_risk: bool = False) -> list[FileRow]:
        """List a part of the files of a job.

        job (str): id of the job.
        limit, offset (int): maximal number of files, and number of those before them.
        by_risk (bool): whether the riskiest come first, and those whose review is finished last; otherwise files are
            in order of their positions.
        RETURNS (list[FileRow]): the files.
        """
        risk = "COALESCE(json_extract(about, '$.reviewed'), 0), COALESCE(json_extract(about, '$.risk'), -1) DESC, "
        query = f"SELECT * FROM file WHERE job = ? ORDER BY {risk * by_risk}position LIMIT ? OFFSET ?"
        with self.database.read() as database:
            rows = database.execute(query, (job, limit, offset)).fetchall()
        return [self._file(row) for row in rows]

    def file(self, id: str) -> FileRow:
        """Read the row of a file.

        RAISES: NotFound (D901) if it does not exist.
        """
        with self.database.read() as database:
            row = database.execute("SELECT * FROM file WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(Errors.D901.format(id=shown_id(id)))
        return self._file(row)

    def _file(self, row: sqlite3.Row) -> FileRow:
        name = self.storage.decrypt(row["name"], row["id"]).decode("utf-8")
        reason = row["reason"]
        if isinstance(reason, bytes):  # constant reasons are not encrypted
            reason = self.storage.decrypt(reason, row["id"]).decode("utf-8")
        plain = {key: row[key] for key in FileRow._fields if key not in ("name", "about", "reason")}
        return FileRow(name=name, about=json.loads(row["about"]), reason=reason, **plain)

    def update(self, file: str, **about: Any) -> None:
        """Add facts about a file.

        file (str): id of the file. If it was deleted, nothing is changed.
        about (Any): name of the fact → plain value.
        """
        with self.database.change() as database:
            row = database.execute("SELECT about FROM file WHERE id = ?", (file,)).fetchone()
            if row is not None:
                known = json.dumps(json.loads(row["about"]) | about)
                database.execute("UPDATE file SET about = ? WHERE id = ?", (known, file))

    # decisions

    def log(self, file: FileRow, action: str, start: int, end: int, label: str) -> None:
        """Log a reviewer's decision: time, place and label, no content.

        action (str): see `processing.apply_decision`.
        start, end (int): characters of the span, end exclusive.
        label (str): new label, for "relabel" and "add".
        """
        with self.database.change() as database:
            row = (time.time(), file.job, file.id, action, start, end, label)
            database.execute("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def decisions(self, job: str) -> list[dict[str, Any]]:
        """List the decisions on the files of a job, the oldest first.

        RETURNS (list[dict]): the columns of the table "decision": time, ids, action, offsets and label.
        """
        with self.database.read() as database:
            rows: Sequence[sqlite3.Row] = database.execute(
                "SELECT * FROM decision WHERE job = ? ORDER BY made", (job,)
            ).fetchall()
        return [dict(row) for row in rows]

    def page_decisions(self, job: str, limit: int, cursor: str = "") -> tuple[list[dict[str, Any]], str | None]:
        """List a part of the decisions on the files of a job, the oldest first.

        job (str): id of the job, which may have been deleted: decisions are kept.
        limit (int): maximal number of decisions.
        cursor (str): the cursor that came with the part before; "" for the first part.
        RETURNS (tuple[list[dict], Optional[str]]): the decisions, and the cursor of the next part; None after the
            last one.
        RAISES: InputError (D944) if the cursor is not valid.
        """
        if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
            raise InputError(Errors.D944)
        with self.database.read() as database:
            rows = database.execute(
                "SELECT rowid AS cursor, * FROM decision WHERE job = ? AND rowid > ? ORDER BY rowid LIMIT ?",
                (job, int(cursor or 0), limit + 1),
            ).fetchall()
        items = [dict(row) for row in rows[:limit]]
        places = [item.pop("cursor") for item in items]
        return items, str(places[-1]) if len(rows) > limit else None

    # contents

    def put(self, file: str, part: str, data: bytes) -> None:
        """Store one content of a file, such as its text, completely or not at all.

        file (str): id of the file; for "report", id of the job.
        part (str): "original", "text", "findings", "released", "released_text" or "report".
        """
        self.storage.write(self.folder / file / part, data, f"{file} {part}")

    def get(self, file: str, part: str) -> bytes | None:
        """Read a content that `put` stored.

        part (str): see `put`.
        RETURNS (Optional[bytes]): the content; None if there is none.
        RAISES: InputError (D903) if it cannot be decrypted.
        """
        return self.storage.read(self.folder / file / part, f"{file} {part}")


def _parse_cursor(cursor: str) -> tuple[float, str]:
    """Parse the cursor of a list of jobs. RAISES: InputError (D944) if it is not valid."""
    created, _, id = cursor.partition("-")
    try:
        if not _ID.fullmatch(id):
            raise ValueError
        return float.fromhex(created), id
    except (ValueError, OverflowError):
        raise InputError(Errors.D944) from None


def shown_id(id: str) -> str:
    """Return an id that a client sent, for a message: "…" if it is none, because it could be a name."""
    return id if _ID.fullmatch(id) else "…"
