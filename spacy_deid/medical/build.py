"""From terms of many sources to one medical dictionary.

What a source calls a term is not always safe to keep in a note. A term that as a whole could be a person ("Colon", a
surname in Spain) or a place gets the form "name", so that only its context can release it; one that holds an eponym
gets the form "eponym"; words of kinship, time, trade and institution are no medicine, whoever lists them.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from ..dictionaries.normalise import normal_form
from ..dictionaries.person_names import is_person_name
from ..lang import all_languages, get_language
from ..lang.inflection import case_forms, inflects
from .dictionary import MedicalDictionary, MedicalTerm
from .eponyms import expand_eponyms, read_eponyms, read_heads

__all__ = ["build_dictionary", "eponym_terms", "is_place", "never_medical", "refine"]

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
    folder = Path(str(resources.files("spacy_deid") / "resources" / "medical"))
    return list(expand_eponyms(read_eponyms(folder / "eponyms.csv"), read_heads(folder / "heads.csv", lang), lang))


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
    folder = Path(str(resources.files("spacy_deid") / "resources" / "medical"))
    names = {normal_form(eponym.name) for eponym in read_eponyms(folder / "eponyms.csv")}
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
