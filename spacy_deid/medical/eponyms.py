"""Eponyms: names of persons and places in the phrases that make them medical.

Two tables make the phrases. ``eponyms.csv`` has the names, each with the concepts that bear it and with whether it
stands alone in notes: ``always`` medical alone ("Guillain-Barré"), medical alone by ``context`` ("Parkinson"), or
``never`` ("Bruce"). ``heads.csv`` has for each concept its kind and its words by language: "disease", "enfermedad",
"tauti". So one row serves every language, and a language is one column.

"Mr. Smith's fracture" is no Smith fracture: what a patient can have (``owned`` in ``heads.csv``) is no phrase in the
possessive if the name is an ordinary one. "Smith fracture" and "Wilson's disease" are.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.person_names import is_person_name, name_words
from ..errors import ConfigError, Errors
from ..lang.inflection import case_forms, inflect, inflects
from .dictionary import MedicalTerm

__all__ = ["Eponym", "Head", "expand_eponyms", "read_eponyms", "read_heads"]

_ALONE = {"always": "eponym", "context": "name", "never": ""}
_CASES = {
    "sing": ("nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra"),
    "plur": ("nom", "gen", "par"),  # the others are not written of one person's disease
}
_ENDINGS = ("n", "lla", "lta", "lle", "ssa", "sta", "ksi", "na", "a")  # normal forms of Finnish cases
_VOWELS = "aeiouyäöéè"
_DOTTED = frozenset({"sd", "sdr", "sdme", "sindr", "enf", "synd"})


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
    phrases = _PHRASES.get(lang, _english)
    for name, concepts, alone in eponyms:
        if missing := [concept for concept in concepts if concept not in heads]:
            raise ConfigError(Errors.D707.format(path="heads.csv", reason=f"no concept '{missing[0]}'"))
        for concept in concepts:
            kind, owned, words = heads[concept]
            beside = owned and alone == "never" and (lang == "en" or normal_form(name) in name_words(lang))
            for word in words:
                yield from (MedicalTerm(text, kind, "eponym") for text in phrases(name, word, beside))
        if form := _form_alone(name, alone):
            kind = heads[concepts[0]].kind
            yield from (MedicalTerm(text, kind, form) for text in _alone(name, lang) if not _is_person(text, lang))


def _form_alone(name: str, alone: str) -> str:
    """What a name alone is. Two surnames with a hyphen can be one person: "Stevens-Johnson"."""
    form = _ALONE[alone]
    return "name" if form == "eponym" and is_person_name(normal_form(name)) else form


def _is_person(form: str, lang: str) -> bool:
    """Whether a case of a name is one of a person's: "Hannalla" is of the virus Hanta, and of Hanna."""
    if not inflects(lang):
        return False
    folded = normal_form(form)
    stems = {folded.removesuffix(ending) for ending in _ENDINGS} - {folded}
    return any(stem in name_words(lang) for stem in stems)


def _alone(name: str, lang: str) -> set[str]:
    """A name alone, in its cases or as a possessive."""
    if lang == "en":
        return set(_possessives(name))
    return {*case_forms(name, lang, kind="surname"), *_ungraded(name, lang)}


def _possessives(name: str) -> tuple[str, ...]:
    """ "Parkinson", "Parkinson's" and, where typists leave the apostrophe out, "Parkinsons"."""
    if name.endswith("s"):
        return name, f"{name}'", f"{name}'s"
    return name, f"{name}'s", f"{name}s"


def _english(name: str, head: str, beside: bool) -> Iterator[str]:
    """ "Parkinson's disease"; with `beside`, "Smith fracture" alone."""
    for owner in (name,) if beside else _possessives(name):
        yield f"{owner} {head}"
        if head in _DOTTED:
            yield f"{owner} {head}."


def _spanish(name: str, head: str, beside: bool) -> Iterator[str]:
    """ "enfermedad de Parkinson", "sd. de Down"; with `beside`, "test Mantoux", "Gram negativo" alone."""
    for start in (head, f"{head}.") if head in _DOTTED else (head,):
        yield from (f"{start} {link}{name}" for link in (("",) if beside else ("de ", "del ", "")))
    yield f"{name} {head}"


def _finnish(name: str, head: str, beside: bool) -> Iterator[str]:
    """ "Parkinsonin taudin", "Gram-värjäystä" in their cases; with `beside`, the second way alone."""
    owners = {name} if beside else {name, inflect(name, "fi", "gen", kind="surname")}
    if name[-1] in _VOWELS and not beside:
        owners.add(f"{name}n")
    ends = _finnish_forms(head)
    yield from (f"{owner} {end}" for owner in owners for end in ends)


@cache
def _finnish_forms(head: str) -> frozenset[str]:
    """The cases of a head word, or of the last word of a phrase."""
    *before, last = head.split()
    forms = {inflect(last, "fi", case, kind="noun", number=number) for number in _CASES for case in _CASES[number]}
    return frozenset(" ".join([*before, form]) for form in forms)


def _ungraded(name: str, lang: str) -> set[str]:
    """Finnish cases of a name that keeps its consonants: "Hashimoton", where the grammar has "Hashimodon"."""
    if lang != "fi" or name[-1] not in _VOWELS:
        return set()
    return {name + ending for ending in ("n", "lla", "llä", "sta", "stä", "ssa", "ssä", "lle", "ksi")}


_PHRASES: Mapping[str, Callable[[str, str, bool], Iterator[str]]] = {"en": _english, "es": _spanish, "fi": _finnish}


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
