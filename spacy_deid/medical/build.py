"""Build a medical dictionary, whose terms are kept in a note, from terminologies and from a table of eponyms.

Not every term of a terminology is safe to keep in a note. A term that as a whole could be a person ("Colon", a
surname in Spain) or a place gets the form "name": it is kept only if the surrounding words show that it is medical. A
term that contains an eponym gets the form "eponym". Words for relatives, times, trades and institutions never become
medical terms.

Eponym phrases are generated from three tables. ``eponyms.csv`` lists the names, each with its concepts and with
whether the name is medical without a head word: ``always`` ("Guillain-Barré"), depending on ``context``
("Parkinson") or ``never`` ("Bruce"). ``heads.csv`` gives the kind of each concept, and whether a patient can own it.
``eponym_heads.csv``, one file per language, gives the head words of each concept: "disease", "enfermedad", "tauti".

"Mr. Smith's fracture" is not a Smith fracture. For a concept that a patient can own, therefore, no possessive phrase
is generated if the name is a common one. "Smith fracture" and "Wilson's disease" are generated.
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
    """A person's name after which medical concepts are named: one row of ``eponyms.csv``.

    name (str): the name, such as "Guillain-Barré".
    concepts (tuple[str, ...]): the concepts named after it; keys of ``heads.csv``.
    alone (str): whether the name is medical without a head word: "always", "context" (the surrounding words decide)
        or "never".
    """

    name: str
    concepts: tuple[str, ...]
    alone: str


class Head(NamedTuple):
    """The head words of a concept in one language, which are combined with names into eponym phrases.

    kind (str): kind of the phrases, one of `dictionary.KINDS`.
    owned (bool): whether a note can ascribe the thing to a patient of that name ("Smith's fracture"): True for a
        fracture, a test or an operation.
    words (tuple[str, ...]): the head words, such as "syndrome" and "sd"; empty if the language has none.
    """

    kind: str
    owned: bool
    words: tuple[str, ...]


def read_eponyms(path: Path) -> list[Eponym]:
    """Read a table of eponyms.

    path (Path): CSV file with the columns "name", "concepts" (separated by "|") and "alone".
    RETURNS (list[Eponym]): one item per row.
    RAISES: ConfigError (D701) if a column is missing, or a row has the wrong number of columns or an invalid "alone";
        it names the row.
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
    """Read the head words that make a name a medical term in a language, by concept.

    lang (str): ISO 639-1 code. For a language without ``eponym_heads.csv``, every concept has an empty list of words.
    RETURNS (dict[str, Head]): concept → its kind and head words.
    RAISES: ConfigError (D701) if a row has the wrong number of columns.
    """
    file = get_language(lang).resource("eponym_heads.csv")
    rows = _read(file, ("concept", "words")) if file.is_file() else ()
    words = {values["concept"]: tuple(filter(None, values["words"].split("|"))) for _, values in rows}
    return {
        values["concept"]: Head(values["kind"], values["owned"] == "yes", words.get(values["concept"], ()))
        for _, values in _read(_FOLDER / "heads.csv", ("concept", "kind", "owned"))
    }


def expand_eponyms(eponyms: Iterable[Eponym], heads: Mapping[str, Head], lang: str) -> Iterator[MedicalTerm]:
    """Generate the phrases in which a language uses eponyms: "Parkinson's disease", "Parkinson".

    eponyms (Iterable[Eponym]): the names.
    heads (Mapping[str, Head]): concept → its head words in the language, from `read_heads`.
    lang (str): ISO 639-1 code.
    YIELDS (MedicalTerm): the combinations of names and head words, with the form "eponym", and the names that are
        medical without a head word.
    RAISES: ConfigError (D707) if `heads` lacks a concept.
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
    """The form of a name without head word: "name" if a person can have it ("Stevens-Johnson"), "" to leave it out."""
    form = _ALONE[alone]
    return "name" if form == "eponym" and is_person_name(normal_form(name)) else form


def _read(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and values of each row of a CSV file. RAISES: ConfigError (D701) if a column is missing."""
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
    """Build a medical dictionary from the terms of one or more sources.

    lang (str): ISO 639-1 code.
    sources (Mapping): name of a source → its terms. A term that several sources contain gets the kind that the first
        of them gives it.
    base (MedicalDictionary): a dictionary to extend in place; None to start with an empty one.
    RETURNS (MedicalDictionary): the dictionary; its manifest contains the number of terms from each source.
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
    """Generate the phrases of the eponyms in this package's ``eponyms.csv``.

    lang (str): ISO 639-1 code. A language without head words gets only the names that are medical without one.
    RETURNS (list[MedicalTerm]): the phrases.
    """
    return list(expand_eponyms(read_eponyms(_FOLDER / "eponyms.csv"), read_heads(lang), lang))


def refine(terms: Iterable[MedicalTerm], lang: str) -> Iterator[MedicalTerm]:
    """Prepare the terms of a source for a dictionary.

    Each term gets the form that is safe for it: "name" if it can be a person or a place, "eponym" if it contains an
    eponym, "symbol" if it is a short abbreviation. Terms of more than six words or 80 characters, and terms that are
    never medical, are dropped. Terms of one or two words are also inflected if the language inflects nouns.

    terms (Iterable[MedicalTerm]): the terms as their source has them.
    lang (str): ISO 639-1 code.
    YIELDS (MedicalTerm): the terms in normal form. Terms whose form is already "eponym" or "name" are not changed.
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
    """The form that limits a term's use as far as needed, because it can be a person, a place or an abbreviation."""
    if is_person_name(folded) or is_place(folded):
        return "name"
    if term.form == "term" and " " in folded and not _eponym_words().isdisjoint(folded.replace("'s", "").split()):
        return "eponym"
    if term.form == "term" and len(folded) <= _ABBREVIATION and term.kind != "unit":
        return "symbol"
    return term.form


def _inflected(text: str, lang: str) -> set[str]:
    """The term with its last word in each grammatical case."""
    *before, last = text.lower().split()
    return {" ".join([*before, form]) for form in case_forms(last, lang, kind="noun")}


@cache
def _eponym_words() -> frozenset[str]:
    """The words of four or more letters in the names of ``eponyms.csv``, in normal form."""
    names = {normal_form(eponym.name) for eponym in read_eponyms(_FOLDER / "eponyms.csv")}
    return frozenset(word for name in names for word in name.split() if len(word) > 3)  # not "von", "de", "Rh"


@cache
def _places() -> frozenset[str]:
    """Towns, provinces and countries from the lists of all languages in this package, in normal form."""
    lists = ("gazetteer.csv", "synth/lists/places.csv", "synth/lists/countries.txt")
    texts = [language.read_text(name) for language in all_languages() for name in lists]
    cells = (cell for text in texts for row in csv.reader(text.splitlines()) for cell in row)
    return frozenset(cell for cell in map(normal_form, cells) if len(cell) > _STATE_CODE)


def is_place(term: str) -> bool:
    """Whether this package's lists of places contain a term.

    term (str): the term in normal form.
    RETURNS (bool): True if a list has a town, region or country of that name.
    """
    return term in _places()


@cache
def never_medical(lang: str) -> frozenset[str]:
    """Load the words that are never a medical term alone: relatives, months, trades, institutions.

    lang (str): ISO 639-1 code.
    RETURNS (frozenset[str]): the words in normal form; empty if the language has no list.
    """
    lines = get_language(lang).read_text("medical/not_medical.txt").splitlines()
    return frozenset(filter(None, map(normal_form, lines)))
