"""Defines who may do what: the roles of users, and for each route of the service the roles that it needs.

All rules are in one table, `RULES`. A request that no rule matches is for administrators only. The check needs nothing
but the method and the path, so it is made before the body of a request is read.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from starlette.requests import Request

Role = Literal["submit", "review", "release", "administrate", "monitor"]
ROLES: tuple[Role, ...] = get_args(Role)
EVERYBODY = frozenset[str](ROLES)
PUBLIC = frozenset[str]()
"""Roles of a rule that needs no user."""
_JOBS = frozenset({"submit", "review", "release", "administrate"})
_OWN = frozenset({"submit", "administrate"})
_REVIEW, _RELEASE, _ADMIN = frozenset({"review"}), frozenset({"release"}), frozenset({"administrate"})


class User(NamedTuple):
    """A user of the service.

    name (str): the name in the audit log.
    roles (frozenset[str]): roles, see `Role`.
    """

    name: str
    roles: frozenset[str]

    @property
    def limited(self) -> bool:
        """Whether the user sees only jobs of their own: with *submit*, but no role that works on jobs of others."""
        return not self.roles & {"review", "release", "administrate"}


def user_of(request: Request) -> User:
    """Return the user of a request, whom `security.SecurityMiddleware` has found."""
    user: User = request.scope["user"]
    return user


class Rule(NamedTuple):
    """The roles for a method and a path.

    method (str): HTTP method; "GET" also stands for HEAD.
    path (str): the path; "{job}" and "{file}" stand for an id, "*" for any rest.
    roles (frozenset[str]): a user needs one of them; `PUBLIC` for a path that needs no user.
    action (str): name in the audit log; "" for a path that changes nothing, or that writes to the log itself.
    """

    method: str
    path: str
    roles: frozenset[str]
    action: str = ""


def _both(method: str, path: str, roles: frozenset[str], action: str = "") -> Iterator[Rule]:
    """Yield a rule for a path of the REST interface and of the web pages."""
    yield Rule(method, f"/v1{path}", roles, action)
    yield Rule(method, path, roles, action)


RULES: tuple[Rule, ...] = (
    *_both("GET", "/health", PUBLIC),
    *_both("GET", "/ready", PUBLIC),
    Rule("GET", "/login", PUBLIC),
    Rule("POST", "/login", PUBLIC),
    Rule("GET", "/static/*", PUBLIC),
    Rule("POST", "/logout", EVERYBODY, "sign out"),
    Rule("GET", "/v1/openapi.json", EVERYBODY),
    Rule("GET", "/v1/choices", EVERYBODY),
    Rule("GET", "/v1/me", EVERYBODY),
    Rule("GET", "/metrics", frozenset({"monitor", "administrate"})),
    Rule("GET", "/v1/audit", _ADMIN),
    # a text is released at once
    Rule("POST", "/v1/deidentify", _RELEASE),
    Rule("POST", "/v1/deidentify/batch", _RELEASE),
    Rule("POST", "/v1/fhir/$de-identify", _RELEASE),
    Rule("POST", "/v1/hl7/$de-identify", _RELEASE),
    Rule("POST", "/v1/cda/$de-identify", _RELEASE),
    Rule("GET", "/", _JOBS),
    Rule("GET", "/v1/jobs", _JOBS),
    *_both("POST", "/jobs", frozenset({"submit"}), "submit"),
    *_both("GET", "/jobs/{job}", _JOBS),
    *_both("POST", "/jobs/{job}/start", frozenset({"submit"}), "start"),
    *_both("POST", "/jobs/{job}/cancel", _OWN, "cancel"),
    Rule("DELETE", "/v1/jobs/{job}", _OWN, "delete"),
    Rule("POST", "/jobs/{job}/delete", _OWN, "delete"),
    *_both("GET", "/jobs/{job}/download", _RELEASE),
    Rule("GET", "/v1/jobs/{job}/decisions", frozenset({"review", "release", "administrate"})),
    Rule("GET", "/jobs/{job}/gold", _REVIEW, "gold"),
    Rule("GET", "/jobs/{job}/*", _REVIEW),
    Rule("POST", "/jobs/{job}/*", _REVIEW, "evaluate"),
    Rule("GET", "/v1/files/{file}", _JOBS),
    *_both("GET", "/files/{file}/download", _RELEASE),
    Rule("POST", "/v1/files/{file}/decisions", _REVIEW, "decide"),
    *_both("POST", "/files/{file}/apply", _REVIEW, "apply"),
    Rule("GET", "/v1/files/{file}/*", _REVIEW),
    Rule("GET", "/files/{file}", _REVIEW),
    Rule("GET", "/files/{file}/*", _REVIEW),
    Rule("POST", "/files/{file}/*", _REVIEW, "decide"),
)
REST = Rule("", "other", _ADMIN, "other")
"""The rule of all other requests."""


def _compile(path: str) -> re.Pattern[str]:
    """Convert the path of a rule to an expression."""
    pattern = re.escape(path).replace(r"\*", ".*")
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", pattern), re.DOTALL)


_PATTERNS = tuple((rule, _compile(rule.path)) for rule in RULES)


def find_rule(method: str, path: str) -> tuple[Rule, dict[str, str]]:
    """Find the rule of a request: the first one that matches.

    method, path (str): HTTP method, and the path as the server has parsed it.
    RETURNS (tuple[Rule, dict]): the rule, and the ids in the path by "job" and "file".
    """
    wanted = "GET" if method in ("HEAD", "OPTIONS") else method
    for rule, pattern in _PATTERNS:
        if rule.method == wanted and (found := pattern.fullmatch(path)):
            return rule, found.groupdict()
    return REST, {}
