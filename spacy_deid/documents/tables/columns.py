"""What becomes of each column of a table."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...errors import ConfigError, Errors, InputError

__all__ = ["DROP", "KEEP", "TEXT", "check_columns", "label_of", "read_columns"]

TEXT, KEEP, DROP = "text", "keep", "drop"
_LABEL = "label:"


def read_columns(path: Path, labels: Iterable[str]) -> dict[str, str]:
    """Read a policy of columns.

    path (Path): TOML file with a table "columns": name of a column = "text", "keep", "drop" or "label:NAME".
    labels (Iterable[str]): the labels that there are.
    RETURNS (dict[str, str]): for `ReadSettings.columns`.
    RAISES: ConfigError (D721).
    """
    try:
        with open(path, "rb") as file:
            columns = tomllib.load(file).get("columns")
    except (OSError, tomllib.TOMLDecodeError, UnicodeError):
        raise ConfigError(Errors.D721.format(path=path, reason="cannot be read, or is not TOML")) from None
    if not isinstance(columns, dict) or not columns:
        raise ConfigError(Errors.D721.format(path=path, reason="no table [columns] in it"))
    known = {TEXT, KEEP, DROP, *(_LABEL + label for label in labels)}
    for column, action in columns.items():
        if action not in known:
            reason = f'column \'{column}\': it is "text", "keep", "drop" or "label:NAME" with a known label'
            raise ConfigError(Errors.D721.format(path=path, reason=reason))
    return columns


def check_columns(columns: Mapping[str, str], headers: Iterable[str], name: str) -> None:
    """Make sure that every column that is named is there: a slip of the pen would leave another one to the search.

    columns (Mapping[str, str]): the policy.
    headers (Iterable[str]): names of all columns.
    name (str): name of the file.
    RAISES: InputError (D722).
    """
    missing = set(columns) - set(headers)
    if missing:
        raise InputError(Errors.D722.format(path=name, missing=", ".join(sorted(missing))))


def label_of(action: str) -> str:
    """The label that all cells of a column are of, "" if there is none."""
    return action.removeprefix(_LABEL) if action.startswith(_LABEL) else ""
