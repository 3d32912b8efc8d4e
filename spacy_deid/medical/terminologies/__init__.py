"""Readers of terminologies: each reads one file format into medical terms with their kinds.

A broken row is skipped and counted. A file with more broken rows than valid ones has another format and is refused.
Concepts that identify (persons, occupations, places …) are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from ...errors import ConfigError, Errors
from ..dictionary import MedicalTerm
from .concepts import read_nci, read_obo, read_rf2
from .tables import TerminologySource as TerminologySource
from .tables import read_cms_order, read_code_list, read_ndc, read_orange_book, read_word_list

Reader = Callable[[Path, TerminologySource], Iterator[MedicalTerm]]

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


def read_terminology(format: str, path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read a terminology file.

    format (str): a key of `READERS`.
    path (Path): the file.
    source (TerminologySource): what to read; collects the counts.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError for an unknown format (D708), a missing file (D707) or a file of another format (D700, D702).
    """
    if format not in READERS:
        raise ConfigError(Errors.D708.format(value=format, known=", ".join(READERS)))
    if not path.is_file():
        raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
    yield from READERS[format](path, source)
    source.check(path, format)
