"""The command that metric rows name: the one that was given, so that it measures the same again."""

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any

import typer

__all__ = ["command_line"]


def command_line(script: str, context: typer.Context, leave_out: Collection[str] = ("with_text", "metrics")) -> str:
    """Build the command from the arguments and options that were given.

    script (str): path of the script in the repository.
    context (typer.Context): of the command that runs.
    leave_out (Collection[str]): parameters that change no figure.
    RETURNS (str): the command; a path within the working folder is relative to it, of others the name alone stands.
    """
    words = ["python", script]
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)  # of click, or of the copy of it that newer typers bring
        if source and source.name == "COMMANDLINE" and name not in leave_out:
            words += _words(parameter.opts[0], context.params[name], parameter.param_type_name == "option")
    return shlex.join(words)


def _words(flag: str, value: Any, is_option: bool) -> list[str]:
    """The words of one parameter; one that may be given more than once has its flag before each value."""
    if value is True:
        return [flag]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in ([flag] if is_option else []) + [_local(str(one))]]


def _local(word: str) -> str:
    """A word without the machine's own folders."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name
