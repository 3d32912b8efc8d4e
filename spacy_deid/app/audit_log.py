"""Logs who did what in the service: who submitted, decided, released and deleted. The log has no content.

An entry has the time, the name of the user, the action, random ids, and for a release a keyed digest of what was
released: whoever has the key can check whether a text or a file is the released one. The seal of an entry is an
HMAC-SHA256 of the entry and of the seal before, so an entry that is changed, removed or inserted breaks all seals
after it. Entries at the end can be cut off without a trace; therefore note the last seal from time to time, and check
that the log still contains it.

Without a files key, the seals are hashes that everybody can compute: they detect damage, but no attacker.
"""

import hashlib
import hmac
import json
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from ..errors import Errors, InputError
from ..surrogates.keys import ProjectKey
from .storage import Database, StorageError

_PURPOSE = "app audit log 1"
FIELDS = ("number", "at", "user", "action", "job", "file", "digest", "seal")
FIRST = "0" * 64  # what the first entry has as the seal before


class AuditLog:
    """Appends entries to the audit log, reads them and checks their seals.

    database (Database): the database of the service.
    key (Optional[ProjectKey]): the files key of the service.
    """

    def __init__(self, database: Database, key: ProjectKey | None) -> None:
        self._database = database
        self._key = b"" if key is None else key.derive(_PURPOSE)

    def record(self, user: str, action: str, *, job: str = "", file: str = "", released: bytes | None = None) -> None:
        """Append an entry. Call it before the content is passed on, so that nothing is released without an entry.

        user (str): name of the user.
        action (str): what the user does, such as "release".
        job, file (str): ids, if the action concerns a job or a file.
        released (Optional[bytes]): the released content, of which only a keyed digest is stored.
        RAISES: StorageError (D929) if the entry cannot be written.
        """
        digest = "" if released is None else self.digest(released)
        try:
            with self._database.change() as database:
                last = database.execute("SELECT number, seal FROM event ORDER BY number DESC LIMIT 1").fetchone()
                number, before = (1, FIRST) if last is None else (last["number"] + 1, last["seal"])
                row = (number, round(time.time(), 3), user, action, job, file, digest)
                query = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                database.execute(query, (*row, self._seal(row, before)))
        except sqlite3.Error as error:
            raise StorageError(Errors.D929.format(reason=type(error).__name__)) from None

    def digest(self, released: bytes) -> str:
        """Compute the keyed digest of a released content. RETURNS (str): 64 hexadecimal digits."""
        return hmac.digest(self._key, released, hashlib.sha256).hex()

    def page(self, limit: int, after: int = 0) -> list[dict[str, Any]]:
        """Read some entries, the oldest first.

        limit (int): maximal number of entries.
        after (int): number of the entry before the first one.
        RETURNS (list[dict]): entries with the keys `FIELDS`.
        """
        with self._database.read() as database:
            query = "SELECT * FROM event WHERE number > ? ORDER BY number LIMIT ?"
            return [dict(row) for row in database.execute(query, (after, limit))]

    def verify(self, noted: str = "") -> Iterator[dict[str, Any]]:
        """Read all entries, and check the seal of each one.

        noted (str): a seal that was noted earlier, which the log must contain; "" to check none.
        YIELDS (dict): entries as from `page`.
        RAISES: InputError (D971) at the first entry whose seal is not right, or at the end if `noted` is missing.
        """
        before, number, seen = FIRST, 0, not noted
        while rows := self.page(1000, number):
            for row in rows:
                sealed = tuple(row[name] for name in FIELDS[:-1])
                if row["number"] != number + 1 or not hmac.compare_digest(row["seal"], self._seal(sealed, before)):
                    raise InputError(Errors.D971.format(reason=f"entry {number + 1} was changed or removed"))
                before, number = row["seal"], row["number"]
                seen = seen or noted == before
                yield row
        if not seen:
            raise InputError(Errors.D971.format(reason="the noted seal is missing, so entries were removed"))

    def _seal(self, row: tuple[Any, ...], before: str) -> str:
        """Compute the seal of an entry."""
        return hmac.digest(self._key, json.dumps([*row, before]).encode(), hashlib.sha256).hex()
