"""Ontologies in OBO format 1.2 and 1.4: Disease Ontology, Human Phenotype Ontology, Uberon.

Only ``[Term]`` stanzas are read: name and synonyms of any scope but those of obsolete terms. A synonym is quoted, with
backslashes before quotes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from ...errors import ConfigError, Errors
from ..dictionary import MedicalTerm
from .rows import Reading, lines

__all__ = ["read_obo"]

_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s+(EXACT|NARROW|BROAD|RELATED)\b')
_ESCAPE = re.compile(r"\\(.)")
_SCOPES = ("EXACT", "NARROW")


def read_obo(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read names, and exact and narrow synonyms.

    path (Path): the ontology.
    reading (Reading): kind of the terms, and account; a row is a stanza's line that is a name or synonym.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError (D700) if it does not begin as OBO does.
    """
    source = lines(path, reading)
    _, first = next(source, (1, ""))
    if not first.startswith("format-version:"):
        raise ConfigError(Errors.D700.format(path=path, format="OBO", reason="row 1 is not 'format-version:'"))
    stanza: list[tuple[int, str]] = []
    for row, line in source:
        if line.startswith("["):
            yield from _terms(stanza, reading)
            stanza = []
        stanza.append((row, line))
    yield from _terms(stanza, reading)


def _terms(stanza: list[tuple[int, str]], reading: Reading) -> Iterator[MedicalTerm]:
    """The terms of one stanza."""
    if not stanza or stanza[0][1].strip() != "[Term]":
        return
    if any(line.startswith("is_obsolete: true") for _, line in stanza):
        reading.left_out += 1
        return
    for row, line in stanza:
        tag, _, value = line.partition(": ")
        if tag not in ("name", "synonym"):
            continue
        reading.rows += 1
        if tag == "name":
            yield MedicalTerm(value.strip(), reading.kind)
        elif (found := _SYNONYM.match(value)) is None:
            reading.skip(row, "a synonym without quotes or scope")
        elif found[2] in _SCOPES:
            yield MedicalTerm(_ESCAPE.sub(r"\1", found[1]).strip(), reading.kind)
        else:
            reading.left_out += 1
