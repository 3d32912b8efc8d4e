"""Read the profiles of exports: allow-lists that say what is done with each value of a record.

FHIR, HL7 v2 and CDA have a parser each, which subclasses `ProfileParser`. A profile is a TOML file, and the one that
ships with the package is ``resources/STANDARD/profile.toml``.
"""

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from .errors import ConfigError

P = TypeVar("P")


class ProfileParser(ABC, Generic[P]):
    """Converts the content of a profile to a checked profile.

    standard (str): name of the folder in ``resources`` with the profile that ships with the package.
    message (str): the message of all its errors, with the fields "path" and "reason".
    hint (str): what to know about values, for the message about one of a wrong type.
    """

    standard: ClassVar[str]
    message: ClassVar[str]
    hint: ClassVar[str] = ""

    def __init__(self, path: str, data: Mapping[str, Any]) -> None:
        """Initialize the parser.

        path (str): name of the file, for messages.
        data (Mapping[str, Any]): content of the file.
        """
        self._path = path
        self._data = data

    @classmethod
    def read_default(cls) -> P:
        """Read the profile that ships with the package. RETURNS: the profile."""
        text = (files("spacy_deid") / "resources" / cls.standard / "profile.toml").read_text(encoding="utf-8")
        return cls.read_text(text, "default")

    @classmethod
    def read_file(cls, path: str | Path) -> P:
        """Read a profile from a file.

        path (Union[str, Path]): a TOML file.
        RETURNS: the profile.
        RAISES: ConfigError, with the message of the parser, if it cannot be read or is not valid.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise cls(str(path), {}).wrong(f"cannot be read ({type(error).__name__})") from None
        return cls.read_text(text, str(path))

    @classmethod
    def read_text(cls, text: str, path: str) -> P:
        """Parse and check a profile.

        text (str): the content of the file.
        path (str): name of the file, for error messages.
        RETURNS: the profile.
        RAISES: ConfigError as `read_file`.
        """
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or deep nesting
            raise cls(path, {}).wrong(f"not TOML: {error}") from None
        try:
            return cls(path, data).parse()
        except (AttributeError, TypeError):
            raise cls(path, {}).wrong(f"a value has the wrong type{cls.hint}") from None

    @abstractmethod
    def parse(self) -> P:
        """Check the tables and convert them. RAISES: ConfigError as `read_file`."""

    def wrong(self, reason: str) -> ConfigError:
        """Return the error for the profile."""
        return ConfigError(self.message.format(path=self._path, reason=reason))

    def check(self, what: str, names: Iterable[Any], known: Iterable[Any]) -> None:
        """Check names against those that exist. RAISES: ConfigError as `read_file`."""
        if unknown := sorted(set(names) - set(known)):
            raise self.wrong(f"unknown {what} '{unknown[0]}'")
