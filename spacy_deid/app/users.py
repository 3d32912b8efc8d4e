"""Stores the users of the service with their roles, and the salted hashes of their tokens, in one JSON file.

A token has 256 random bits and is shown once, when it is made. The file has only its id and a hash, from which nobody
can compute the token. The service reads the file again when it has changed, so that revoked tokens stop working at
once.

    {"version": 1, "users": {"anna": {"roles": ["review"], "tokens": [{"id": …, "salt": …, "hash": …, "until": …}]}}}
"""

import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..io import hold, whole_file
from .access import ROLES, User
from .logs import LOGGER

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"deid_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_HASH = "sha256"
VERSION = 1


class UserFile:
    """Reads and changes the file of users.

    path (Path): the file. On POSIX systems only its owner may have access to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None
        self._users: dict[str, dict[str, Any]] = {}

    def load(self) -> dict[str, dict[str, Any]]:
        """Read the users, if the file has changed since the last call.

        RETURNS (dict): name → "roles" and "tokens".
        RAISES: ConfigError (D938) if the file cannot be read, other users may read or change it, or it is not valid.
        """
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                seen = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
                if seen == self._seen:
                    return self._users
                self._seen = None
                if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
                    raise ConfigError(Errors.D938.format(path=self.path, reason="other users have access to it"))
                users = _check(json.loads(file.read(10_000_000)))
        except OSError as error:
            self._seen = None
            reason = os.strerror(error.errno or 0)
            raise ConfigError(Errors.D938.format(path=self.path, reason=reason)) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(Errors.D938.format(path=self.path, reason="it is damaged")) from None
        self._users, self._seen = users, seen
        return users

    def find_name(self, name: str) -> User | None:
        """Return the user with a name, None if there is none or the file cannot be read."""
        found = self._load_or_none().get(name)
        return None if found is None else User(name, frozenset(found["roles"]))

    def find_token(self, token: str) -> User | None:
        """Return the user whose token this is; None for a wrong, expired or revoked token, or if the file cannot be
        read.
        """
        given = _TOKEN.fullmatch(token)
        if given is None:
            return None
        for name, user in self._load_or_none().items():
            for known in user["tokens"]:
                if known["id"] == given["id"] and _is_valid(known, token):
                    return User(name, frozenset(user["roles"]))
        return None

    def _load_or_none(self) -> dict[str, dict[str, Any]]:
        """Read the users for a request: a damaged file allows nobody, and does not stop the service."""
        try:
            return self.load()
        except ConfigError as error:
            LOGGER.error("%s", error)
            return {}

    def add(self, name: str, roles: Iterable[str], *, days: int = 0, with_token: bool = True) -> str:
        """Add a user, or a further token of a user, whose roles are replaced.

        name (str): name of the user: letters, digits and "._@-".
        roles (Iterable[str]): roles; none to keep those of an existing user.
        days (int): number of days until the token expires; 0 for never.
        with_token (bool): whether to make a token; users of a reverse proxy need none.
        RETURNS (str): the token, which is not stored; "" without one.
        RAISES: ConfigError for a name (D939) or role (D940) that is not valid, or a file that cannot be used (D938).
        """
        if not _NAME.fullmatch(name):
            raise ConfigError(Errors.D939)
        chosen = sorted(set(roles))
        for role in chosen:
            if role not in ROLES:
                raise ConfigError(Errors.D940.format(known=", ".join(ROLES)))
        with self._change() as users:
            user = users.setdefault(name, {"roles": [], "tokens": []})
            user["roles"] = chosen or user["roles"]
            if not user["roles"]:
                raise ConfigError(Errors.D940.format(known=", ".join(ROLES)))
            if not with_token:
                return ""
            made = {"id": secrets.token_hex(6), "salt": secrets.token_hex(16)}
            token = f"deid_{made['id']}_{secrets.token_urlsafe(32)}"
            until = f"{datetime.now(UTC).date() + timedelta(days=days)}" if days else ""
            user["tokens"].append({**made, "hash": _hash(made["salt"], token), "until": until})
        return token

    def revoke(self, name: str, token_id: str = "") -> int:
        """Remove a user, or one of a user's tokens.

        name (str): name of the user.
        token_id (str): id of the token; "" to remove the user with all tokens.
        RETURNS (int): number of tokens that were removed.
        RAISES: ConfigError (D941) if there is no such user or token; D938 as `load`.
        """
        with self._change() as users:
            if name not in users:
                raise ConfigError(Errors.D941)
            tokens = users[name]["tokens"]
            if not token_id:
                del users[name]
                return len(tokens)
            users[name]["tokens"] = [token for token in tokens if token["id"] != token_id]
            if len(users[name]["tokens"]) == len(tokens):
                raise ConfigError(Errors.D941)
        return 1

    @contextmanager
    def _change(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Lock the file, and write it completely after the context; not if an exception is raised."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with hold(self.path.with_name(f".{self.path.name}.lock")):
                users: dict[str, dict[str, Any]] = json.loads(json.dumps(self.load())) if self.path.exists() else {}
                yield users
                with whole_file(self.path) as temporary:
                    temporary.chmod(0o600)
                    content = json.dumps({"version": VERSION, "users": users}, indent=1)
                    temporary.write_text(f"{content}\n", encoding="utf-8")
        except BlockingIOError:
            raise ConfigError(Errors.D938.format(path=self.path, reason="another process changes it")) from None
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise ConfigError(Errors.D938.format(path=self.path, reason=reason)) from None


def _check(content: Any) -> dict[str, dict[str, Any]]:
    """Check the content of the file. RAISES: KeyError, TypeError or ValueError if it is not valid."""
    if content["version"] != VERSION:
        raise ValueError
    users: dict[str, dict[str, Any]] = content["users"]
    for name, user in users.items():
        if not _NAME.fullmatch(name) or not user["roles"] or not set(user["roles"]) <= set(ROLES):
            raise ValueError
        for token in user["tokens"]:
            bytes.fromhex(token["salt"]), bytes.fromhex(token["hash"])
            if token["until"]:
                date.fromisoformat(token["until"])
    return users


def _hash(salt: str, token: str) -> str:
    """Return the salted hash of a token. A fast hash is enough, because tokens have 256 random bits."""
    return hmac.digest(bytes.fromhex(salt), token.encode(), _HASH).hex()


def _is_valid(known: dict[str, Any], token: str) -> bool:
    """Whether a token is the stored one, compared in constant time, and has not expired."""
    same = hmac.compare_digest(known["hash"], _hash(known["salt"], token))
    return same and (not known["until"] or datetime.now(UTC).date() <= date.fromisoformat(known["until"]))
