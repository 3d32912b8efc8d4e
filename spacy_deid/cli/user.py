"""``spacy-deid user``: the users of the service, their tokens, and the log of what they did."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, Errors
from ..surrogates.keys import ProjectKey
from .console import reporting, say

user = typer.Typer(name="user", no_args_is_help=True, help="Users of the service, their roles, tokens and log.")

Users = Annotated[Path, typer.Option(help="File of the users, which 'spacy-deid serve --users' reads.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]


@contextmanager
def _reporting_extra() -> Iterator[None]:
    """Report errors, also if the extra "app" is not installed."""
    with reporting():
        try:
            yield
        except ImportError as error:
            raise ConfigError(Errors.D917.format(package=error.name)) from None


@user.callback()
def user_main() -> None:
    """Users of the service, their roles, tokens and log."""


@user.command()
def add(
    name: Name,
    users: Users,
    role: Annotated[
        list[str] | None,
        typer.Option(help="submit, review, release, administrate or monitor. Can be given several times."),
    ] = None,
    days: Annotated[int, typer.Option(min=0, help="Days until the token expires, 0 for never.")] = 0,
    token: Annotated[bool, typer.Option(help="Make a token. Users of a proxy need none.")] = True,
) -> None:
    """Add a user, or another token of a user, and print the token. It is not stored and cannot be shown again."""
    with _reporting_extra():
        from ..app.users import UserFile

        made = UserFile(users).add(name, role or (), days=days, with_token=token)
        typer.echo(made or f"{name} was added without a token")


@user.command(name="list")
def list_(users: Users) -> None:
    """List the users with their roles, and the ids of their tokens with the day on which they expire."""
    with _reporting_extra():
        from ..app.users import UserFile

        for name, about in sorted(UserFile(users).load().items()):
            tokens = [" until ".join(filter(None, (token["id"], token["until"]))) for token in about["tokens"]]
            typer.echo("\t".join((name, ", ".join(about["roles"]), "; ".join(tokens))))


@user.command()
def revoke(
    name: Name,
    users: Users,
    token: Annotated[str, typer.Option(help="Id of one token. Without it, the user is removed.")] = "",
) -> None:
    """Remove a user, or one token of a user. A running service refuses it from the next request on."""
    with _reporting_extra():
        from ..app.users import UserFile

        typer.echo(f"{UserFile(users).revoke(name, token)} token(s) revoked")


@user.command()
def log(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder of the service's jobs.")],
    files_key: Annotated[Path | None, typer.Option(help="File of the files key of the service.")] = None,
    seal: Annotated[str, typer.Option(help="Seal noted earlier, which the log must contain.")] = "",
) -> None:
    """Print the audit log as lines of JSON, and check the seal of each entry. It names users, but has no content."""
    with _reporting_extra():
        from ..app.audit_log import AuditLog
        from ..app.storage import Database

        if not (data / "jobs.sqlite").is_file():
            raise ConfigError(Errors.D402.format(path=data, reason="no folder of a service"))
        key = None if files_key is None else ProjectKey.from_file(files_key)
        last = {"seal": "", "number": 0}
        for last in AuditLog(Database(data / "jobs.sqlite"), key).verify(seal):
            typer.echo(json.dumps(last))
        say(f"{last['number']} entries, all seals are right. Last seal: {last['seal']}")
