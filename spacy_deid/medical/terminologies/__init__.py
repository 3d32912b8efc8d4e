"""Readers of terminologies: each turns one format of file into terms with their kinds.

A row that is broken is skipped and counted with the row of the first; a file whose rows are broken more often than not
is of another format, and is an error. What a terminology says of persons, occupations, places and the like is left
out: those words are what de-identification is about.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from ...errors import ConfigError, Errors
from ..dictionary import MedicalTerm
from .fda import read_ndc, read_orange_book
from .icd import read_cms_order, read_code_list
from .nci import read_nci
from .obo import read_obo
from .rf2 import read_rf2
from .rows import Reading
from .wordlist import read_word_list

__all__ = ["READERS", "Reader", "Reading", "read_terminology"]

Reader = Callable[[Path, Reading], Iterator[MedicalTerm]]

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "cms-order": read_cms_order,
        "icd": read_code_list,
        "ndc": read_ndc,
        "nci": read_nci,
        "obo": read_obo,
        "orange-book": read_orange_book,
        "rf2": read_rf2,
        "words": read_word_list,
    }
)
"""Format → its reader."""


def read_terminology(format: str, path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read a terminology file.

    format (str): a key of `READERS`.
    path (Path): the file.
    reading (Reading): the language to read, and the account that is kept.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError for an unknown format (D708), a file that is not there (D707), or one of another format (D700,
        D702).
    """
    if format not in READERS:
        raise ConfigError(Errors.D708.format(value=format, known=", ".join(READERS)))
    if not path.is_file():
        raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
    yield from READERS[format](path, reading)
    reading.check(path, format)
