"""Eponyms: names of persons and places in the phrases that make them medical.

Two tables make the phrases. ``eponyms.csv`` has the names, each with the concepts that bear it and with whether it
stands alone in notes: ``always`` medical alone ("Guillain-Barré"), medical alone by ``context`` ("Parkinson"), or
``never`` ("Bruce"). ``heads.csv`` has for each concept its kind and its words by language: "disease", "enfermedad",
"tauti". So one row serves every language, and a language is one column.

"Mr. Smith's fracture" is no Smith fracture: what a patient can have (``owned`` in ``heads.csv``) is no phrase in the
possessive if the name is an ordinary one. "Smith fracture" and "Wilson's disease" are.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.person_names import is_person_name, name_words
from ..errors import ConfigError, Errors
from ..lang import get_language
from .dictionary import MedicalTerm

__all__ = ["Eponym", "Head", "expand_eponyms", "read_eponyms", "read_heads"]

_ALONE = {"always": "eponym", "context": "name", "never": ""}


class Eponym(NamedTuple):
    """A name with the concepts that bear it.

    name (str): "Guillain-Barré".
    concepts (tuple[str, ...]): concepts of the heads table.
    alone (str): "always", "context" or "never".
    """

    name: str
    concepts: tuple[str, ...]
    alone: str


class Head(NamedTuple):
    """What a concept is called in one language.

    kind (str): kind of term.
    owned (bool): whether a patient of that name could have it: a fracture, a test, an operation.
    words (tuple[str, ...]): "syndrome", "sd".
    """

    kind: str
    owned: bool
    words: tuple[str, ...]


def read_eponyms(path: Path) -> list[Eponym]:
    """Read a table of eponyms.

    path (Path): CSV with the columns name, concepts (parted by "|") and alone.
    RETURNS (list[Eponym]): the rows.
    RAISES: ConfigError (D701) naming the row.
    """
    rows = []
    for row, values in _read(path, ("name", "concepts", "alone")):
        if values["alone"] not in _ALONE:
            raise ConfigError(Errors.D701.format(path=path, row=row, reason=f"alone is one of {', '.join(_ALONE)}"))
        rows.append(Eponym(values["name"], tuple(values["concepts"].split("|")), values["alone"]))
    return rows


def read_heads(path: Path, lang: str) -> dict[str, Head]:
    """Read the table of head words.

    path (Path): CSV with the columns concept, kind and one for each language.
    lang (str): the language.
    RETURNS (dict[str, Head]): concept → its kind and words.
    RAISES: ConfigError (D701).
    """
    return {
        values["concept"]: Head(values["kind"], values["owned"] == "yes", tuple(filter(None, values[lang].split("|"))))
        for _, values in _read(path, ("concept", "kind", "owned", lang))
    }


def expand_eponyms(eponyms: Iterable[Eponym], heads: Mapping[str, Head], lang: str) -> Iterator[MedicalTerm]:
    """Make all phrases of eponyms in one language.

    eponyms (Iterable[Eponym]): the names.
    heads (Mapping[str, Head]): the head words of the language.
    lang (str): ISO 639-1 code.
    YIELDS (MedicalTerm): phrases with head words, form "eponym", and names alone.
    RAISES: ConfigError (D707) for a concept without a head.
    """
    conventions = get_language(lang).eponyms
    listed = name_words(lang)
    for name, concepts, alone in eponyms:
        if missing := [concept for concept in concepts if concept not in heads]:
            raise ConfigError(Errors.D707.format(path="heads.csv", reason=f"no concept '{missing[0]}'"))
        for concept in concepts:
            kind, owned, words = heads[concept]
            beside = owned and alone == "never" and (conventions.every_name_owns or normal_form(name) in listed)
            for word in words:
                yield from (MedicalTerm(text, kind, "eponym") for text in conventions.phrases(name, word, beside))
        if form := _form_alone(name, alone):
            kind = heads[concepts[0]].kind
            for text in conventions.forms(name):
                if listed.isdisjoint(conventions.stems(normal_form(text))):
                    yield MedicalTerm(text, kind, form)


def _form_alone(name: str, alone: str) -> str:
    """The form of a name without its head word. Two surnames with a hyphen can be one person: "Stevens-Johnson"."""
    form = _ALONE[alone]
    return "name" if form == "eponym" and is_person_name(normal_form(name)) else form


def _read(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, checked for their columns."""
    with path.open(encoding="utf8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
            raise ConfigError(Errors.D701.format(path=path, row=1, reason=f"no column '{missing[0]}'"))
        for values in reader:
            if None in values or None in values.values():
                raise ConfigError(
                    Errors.D701.format(path=path, row=reader.line_num, reason="another number of columns")
                )
            yield reader.line_num, values
