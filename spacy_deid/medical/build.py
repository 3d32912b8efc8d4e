"""Build a medical dictionary from the terms of many sources, and from eponyms.

What a source calls a term is not always safe to keep in a note. A term that as a whole could be a person ("Colon", a
surname in Spain) or a place gets the form "name", so that only its context can release it. A term that contains an
eponym gets the form "eponym". Words of kinship, time, trades and institutions are never medical terms.

Phrases of eponyms are made from two tables. ``eponyms.csv`` has the names, each with its concepts and with whether it
is medical without a head word: ``always`` ("Guillain-Barré"), by ``context`` ("Parkinson") or ``never`` ("Bruce").
``heads.csv`` has for each concept its kind, and whether a patient can own it; ``eponym_heads.csv`` of a language has
its words: "disease", "enfermedad", "tauti". A name serves every language.

"Mr. Smith's fracture" is not a Smith fracture: for what a patient can own, no phrase in the possessive is made if the
name is an ordinary one. "Smith fracture" and "Wilson's disease" are made.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import is_person_name, name_words
from ..errors import ConfigError, Errors
from ..lang import all_languages, get_language
from ..lang.inflection import case_forms, inflects
from .dictionary import MedicalDictionary, MedicalTerm

_FOLDER = Path(__file__).parents[1] / "resources" / "medical"
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
            raise ConfigError(
                Errors.D701.format(path=path, row=row, reason=f"'alone' must be one of {', '.join(_ALONE)}")
            )
        rows.append(Eponym(values["name"], tuple(values["concepts"].split("|")), values["alone"]))
    return rows


def read_heads(lang: str) -> dict[str, Head]:
    """Read the concepts of eponyms with their head words in a language.

    lang (str): ISO 639-1 code; a language without ``eponym_heads.csv`` has no head words.
    RETURNS (dict[str, Head]): concept → its kind and words.
    RAISES: ConfigError (D701) for a row with another number of columns.
    """
    file = get_language(lang).resource("eponym_heads.csv")
    rows = _read(file, ("concept", "words")) if file.is_file() else ()
    words = {values["concept"]: tuple(filter(None, values["words"].split("|"))) for _, values in rows}
    return {
        values["concept"]: Head(values["kind"], values["owned"] == "yes", words.get(values["concept"], ()))
        for _, values in _read(_FOLDER / "heads.csv", ("concept", "kind", "owned"))
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
                raise ConfigError(Errors.D701.format(path=path, row=reader.line_num, reason="wrong number of columns"))
            yield reader.line_num, values


_MOST_WORDS = 6
_LONGEST = 80
_STATE_CODE = 2  # letters; "MS" is a state and a disease, "OR" a word
_ABBREVIATION = 3  # letters: "CF" in capitals is a disease, and a word or a code otherwise
_INFLECTED_WORDS = 2  # a longer term is a classification's wording, which notes do not inflect as a whole


def build_dictionary(
    lang: str, sources: Mapping[str, Iterable[MedicalTerm]], base: MedicalDictionary | None = None
) -> MedicalDictionary:
    """Build a dictionary.

    lang (str): ISO 639-1 code.
    sources (Mapping): name of a source → its terms; of a term in several sources the first one's kind holds.
    base (MedicalDictionary): a dictionary to start from, which is changed.
    RETURNS (MedicalDictionary): the dictionary; its manifest has the number of terms from each source.
    """
    dictionary = base or MedicalDictionary(lang)
    every: list[MedicalTerm] = []
    counts = dict(dictionary.manifest.get("sources", {}))
    for name, terms in sources.items():
        kept = list(refine(terms, lang))
        counts[name] = len({term.text for term in kept})
        every += kept
    dictionary.manifest = {**dictionary.manifest, "sources": counts}
    dictionary.add(every)
    return dictionary


def eponym_terms(lang: str) -> list[MedicalTerm]:
    """The eponyms that ship, in the phrases of a language.

    lang (str): ISO 639-1 code; one without head words has the names that are medical alone.
    RETURNS (list[MedicalTerm]): the terms.
    """
    return list(expand_eponyms(read_eponyms(_FOLDER / "eponyms.csv"), read_heads(lang), lang))


def refine(terms: Iterable[MedicalTerm], lang: str) -> Iterator[MedicalTerm]:
    """Give terms the forms that are safe, inflect short ones, and leave out what is no use.

    terms (Iterable[MedicalTerm]): terms as their source has them.
    lang (str): ISO 639-1 code.
    YIELDS (MedicalTerm): the terms.
    """
    for term in terms:
        folded = normal_form(term.text)
        words = folded.split()
        if term.form in ("eponym", "name"):
            yield term
            continue
        if not words or len(words) > _MOST_WORDS or len(folded) > _LONGEST or folded in never_medical(lang):
            continue
        form = _form(term, folded)
        yield term._replace(text=folded, form=form)
        if inflects(lang) and form == "term" and len(words) <= _INFLECTED_WORDS and words[-1].isalpha():
            yield from (MedicalTerm(text, term.kind, form) for text in _inflected(term.text, lang))


def _form(term: MedicalTerm, folded: str) -> str:
    """The form of a term: the most careful one that it needs."""
    if is_person_name(folded) or is_place(folded):
        return "name"
    if term.form == "term" and " " in folded and not _eponym_words().isdisjoint(folded.replace("'s", "").split()):
        return "eponym"
    if term.form == "term" and len(folded) <= _ABBREVIATION and term.kind != "unit":
        return "symbol"
    return term.form


def _inflected(text: str, lang: str) -> set[str]:
    """The cases of a term's last word."""
    *before, last = text.lower().split()
    return {" ".join([*before, form]) for form in case_forms(last, lang, kind="noun")}


@cache
def _eponym_words() -> frozenset[str]:
    """The words of the eponyms that ship, those that are names alone."""
    names = {normal_form(eponym.name) for eponym in read_eponyms(_FOLDER / "eponyms.csv")}
    return frozenset(word for name in names for word in name.split() if len(word) > 3)  # not "von", "de", "Rh"


@cache
def _places() -> frozenset[str]:
    """The towns, provinces and countries of the lists that ship."""
    lists = ("gazetteer.csv", "synth/lists/places.csv", "synth/lists/countries.txt")
    texts = [language.read_text(name) for language in all_languages() for name in lists]
    cells = (cell for text in texts for row in csv.reader(text.splitlines()) for cell in row)
    return frozenset(cell for cell in map(normal_form, cells) if len(cell) > _STATE_CODE)


def is_place(term: str) -> bool:
    """Whether a term is a place by the lists that ship.

    term (str): a normal form.
    RETURNS (bool): True for a town, a region or a country.
    """
    return term in _places()


@cache
def never_medical(lang: str) -> frozenset[str]:
    """Words that are never a medical term of their own: kinship, months, trades, institutions.

    lang (str): ISO 639-1 code.
    RETURNS (frozenset[str]): normal forms; none for a language without a list.
    """
    lines = get_language(lang).read_text("medical/not_medical.txt").splitlines()
    return frozenset(filter(None, map(normal_form, lines)))
