"""Defines how the REST interface reports errors: problem objects (RFC 9457) with a code, without content.

Programs decide by the code, which stays the same between versions; the detail is for people.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field

from ..errors import ConfigError, DeidError, InputError, NotDeidentified, describe
from .storage import StorageError
from .store import Conflict, NotFound
from .workers import UnexpectedError

PROBLEM = "application/problem+json"
"""Content type of problem objects (RFC 9457)."""

Code = Literal[
    "invalid_request",
    "setting",
    "input",
    "withheld",
    "not_found",
    "method",
    "conflict",
    "unauthorized",
    "forbidden",
    "origin",
    "host",
    "too_many_tokens",
    "timeout",
    "too_large",
    "busy",
    "storage",
    "unexpected",
]
CODES: tuple[Code, ...] = get_args(Code)

_BY_ERROR: Mapping[type[DeidError], tuple[int, Code]] = {
    NotFound: (404, "not_found"),
    Conflict: (409, "conflict"),
    StorageError: (507, "storage"),
    UnexpectedError: (500, "unexpected"),
    ConfigError: (400, "setting"),
    InputError: (400, "input"),
    NotDeidentified: (422, "withheld"),
}
_BY_STATUS: Mapping[int, Code] = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method",
    408: "timeout",
    413: "too_large",
    421: "host",
    429: "too_many_tokens",
    503: "busy",
}


class InvalidField(BaseModel):
    """A field of a request that is not valid, or a record that is not released. It never has a value."""

    loc: list[str | int] = Field(
        description="Path of the field, '*' for a name that the schema does not have; or position of the record"
    )
    msg: str = Field(description="What is expected, or why it is not released")
    type: str = Field(description="Kind of the error; of a record 'failed', 'removed' or 'warning'")


class Problem(BaseModel):
    """An error (RFC 9457). It has no content of notes, names of files or values of the request."""

    type: str = Field(default="about:blank", description="Always 'about:blank': the code tells the kind of problem")
    title: str = Field(description="Name of the HTTP status")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="What is wrong and what to do, for people")
    code: Code = Field(description="Kind of problem, for programs")
    errors: list[InvalidField] = Field(default_factory=list, description="Invalid fields, or records not released")


def classify(error: DeidError) -> tuple[int, Code]:
    """Return the HTTP status and the problem code of an error."""
    return next((found for kind, found in _BY_ERROR.items() if isinstance(error, kind)), (422, "withheld"))


def describe_problem(error: DeidError) -> Problem:
    """Describe an error as a problem object."""
    status, code = classify(error)
    return make_problem(status, describe(error), code)


def make_problem(status: int, detail: str, code: Code | None = None, errors: Sequence[InvalidField] = ()) -> Problem:
    """Make a problem object.

    status (int): HTTP status.
    detail (str): what is wrong, without content.
    code (Optional[str]): its code; None for the usual code of the status.
    errors (Sequence[InvalidField]): invalid fields of the request.
    """
    kind: Code = code or _BY_STATUS.get(status, "unexpected" if status >= 500 else "invalid_request")
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, code=kind, errors=list(errors))


def invalid_fields(errors: Sequence[Mapping[str, Any]], known: frozenset[str]) -> list[InvalidField]:
    """Convert the errors of pydantic without the values that were sent. Names that were sent can be content as well.

    errors (Sequence[Mapping]): errors as from `ValidationError.errors`.
    known (frozenset[str]): names of all fields and parameters of the interface; others are replaced by "*".
    """
    return [
        InvalidField(
            loc=[part if isinstance(part, int) or part in known else "*" for part in error["loc"]],
            msg=str(error["msg"]),
            type=str(error["type"]),
        )
        for error in errors
    ]


_MEANINGS = {
    400: "A setting or input is not valid or not available, or the action is not possible now",
    401: "No valid token",
    403: "The user has no role that allows this, or the request comes from another website",
    404: "There is no such job or file, or the user may not see it",
    405: "The path exists, but not for this method",
    408: "The body of the request did not arrive in time",
    409: "The request contradicts an earlier one",
    413: "The request is too large",
    421: "The host name is not one of the service",
    422: "The request does not match the schema, or the text cannot be released",
    429: "Too many wrong tokens from this address",
    500: "An unexpected error, described without content",
    503: "Too many requests are waiting; see Retry-After",
    507: "The service cannot write to its folder",
}


def declare_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Declare statuses of a route for the OpenAPI document, each with a problem object.

    statuses (int): HTTP statuses.
    RETURNS (dict): the argument `responses` of a route.
    """
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}
