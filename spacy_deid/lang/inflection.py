"""Inflection of names, places and nouns, for languages such as Finnish that mark grammatical case on them.

Such a language sets `LanguageData.inflector` to an `Inflector`. The functions of this module take a language code and
return the text unchanged for a language without an inflector, so that callers can use them for every language.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from .language_data import LanguageData


class Analysis(NamedTuple):
    """One morphological analysis of a word form.

    nominative (str): nominative singular in lower case.
    case (str): one of `Inflector.cases`.
    number (str): "sing" or "plur".
    possessive (Optional[str]): person of the possessive suffix ("1sg", "2sg", "1pl", "2pl", "3"), None without one.
    kind (str): kind of word under which the form was analyzed ("given", "surname", "place", …); see `inflect`.
    """

    nominative: str
    case: str = "nom"
    number: str = "sing"
    possessive: str | None = None
    kind: str = "surname"


class Inflector(Protocol):
    """The interface that a language implements to inflect words and to analyze inflected forms.

    cases (tuple[str, ...]): abbreviations of the cases, the nominative ("nom") first.
    case_shares (Mapping[str, float]): how frequent each case is among proper nouns in running text (0 – 1). Rare cases
        are left out.
    """

    @property
    def cases(self) -> tuple[str, ...]: ...

    @property
    def case_shares(self) -> Mapping[str, float]: ...

    def inflect(
        self, text: str, case: str, *, kind: str = ..., number: str = ..., possessive: str | None = ...
    ) -> str:
        """Inflect a name, a place or a noun phrase. Arguments are those of `spacy_deid.lang.inflection.inflect`."""
        ...

    def case_forms(self, text: str, kind: str = ...) -> frozenset[str]:
        """Return the singular forms of a text, including the nominative; see `case_forms` of this module."""
        ...

    def index_forms(self, names: Iterable[str], kind: str) -> dict[str, tuple[str, str]]:
        """Build a table that looks up the nominative of an inflected name.

        names (Iterable[str]): nominatives. A form that two names share is mapped to the first of them.
        kind (str): kind of the names; see `inflect`.
        RETURNS (dict[str, tuple[str, str]]): form in lower case without accents → (nominative, case).
        """
        ...

    def inflect_acronym(self, acronym: str, case: str) -> str:
        """Inflect an acronym as the language writes it ("HUS:iin")."""
        ...

    def analyze(self, form: str, known: Callable[[str], bool], kinds: tuple[str, ...] = ...) -> list[Analysis]:
        """Find the nominatives and cases that an inflected name can have.

        form (str): one word in lower case.
        known (Callable[[str], bool]): returns whether a word in lower case is a listed name.
        kinds (tuple[str, ...]): kinds of name to try, in this order.
        RETURNS (list[Analysis]): the analyses whose nominative is a listed name; if there are none, all possible
            analyses as a singular form. The last one always takes the form itself for a nominative.
        """
        ...

    def analyze_noun(self, form: str, known: Callable[[str], bool]) -> Analysis | None:
        """Find the nominative, case and number of an inflected noun.

        form (str): one word, in upper or lower case.
        known (Callable[[str], bool]): returns whether a word in lower case is a listed noun.
        RETURNS (Optional[Analysis]): the analysis; None if the word is not a form of a listed noun.
        """
        ...

    def guess_case(self, word: str) -> str:
        """Guess the case of an unlisted word from its ending; "nom" if the ending fits several cases or none."""
        ...

    def split_clitic(self, form: str) -> tuple[str, str]:
        """Split a form in lower case into word and clitic, an attached particle such as Finnish "-kin"; "" if none."""
        ...

    def write_clitic(self, form: str, clitic: str) -> str:
        """Append a clitic to a form, adapting its vowels if the language requires it."""
        ...


def inflects(lang: str) -> bool:
    """Whether a language inflects names.

    lang (str): language code.
    RETURNS (bool): True if the language has an `Inflector`.
    """
    return _language(lang).inflector is not None


def inflect(
    text: str, lang: str, case: str, *, kind: str = "name", number: str = "sing", possessive: str | None = None
) -> str:
    """Put a name, a place or a noun phrase into a grammatical case.

    text (str): nominative.
    lang (str): language code.
    case (str): "nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra", "abe" or "com".
    kind (str): "given", "surname", "name" (given name or surname, or both), "place" or "noun".
    number (str): "sing" or "plur".
    possessive (Optional[str]): person of a possessive suffix: "1sg", "2sg", "1pl", "2pl" or "3".
    RETURNS (str): the inflected text; the text itself for a language that does not inflect.
    RAISES: ConfigError (D630) for an unknown case, kind, number or person.
    """
    inflector = _language(lang).inflector
    if inflector is None:
        return text
    return inflector.inflect(text, case, kind=kind, number=number, possessive=possessive)


def inflect_like(text: str, lang: str, analysis: Analysis | str, kind: str = "place") -> str:
    """Inflect a text like another word, such as a surrogate like the original, with its case, number and possessive.

    text (str): nominative.
    lang (str): language code.
    analysis (Union[Analysis, str]): analysis of the other word, or only its case.
    kind (str): as for `inflect`.
    RETURNS (str): the inflected text; the text itself for a language that does not inflect.
    """
    if isinstance(analysis, str):
        return inflect(text, lang, analysis, kind=kind)
    return inflect(text, lang, analysis.case, kind=kind, number=analysis.number, possessive=analysis.possessive)


def case_forms(text: str, lang: str, *, kind: str = "name") -> frozenset[str]:
    """Return all singular forms of a name, so that a dictionary also finds the name where it is inflected.

    text (str): nominative.
    lang (str): language code.
    kind (str): as for `inflect`.
    RETURNS (frozenset[str]): the forms, including the nominative; only the text for a language that does not inflect.
    RAISES: ConfigError (D630) for an unknown kind.
    """
    inflector = _language(lang).inflector
    return frozenset({text}) if inflector is None else inflector.case_forms(text, kind)


def index_forms(names: Iterable[str], lang: str, kind: str) -> Mapping[str, tuple[str, str]]:
    """Build a table that looks up the nominative of an inflected name; see `Inflector.index_forms`.

    names (Iterable[str]): nominatives.
    lang (str): language code.
    kind (str): as for `inflect`.
    RETURNS (Mapping[str, tuple[str, str]]): form in lower case without accents → (nominative, case); empty for a
        language that does not inflect.
    """
    inflector = _language(lang).inflector
    return {} if inflector is None else inflector.index_forms(names, kind)


def forms_of_names(lang: str) -> Callable[[str], frozenset[str]] | None:
    """Return a function that lists the singular forms of a name, for a fixed language; see `case_forms`.

    lang (str): language code.
    RETURNS (Optional[Callable[[str], frozenset[str]]]): nominative → singular forms; None for a language that does
        not inflect.
    """
    return (lambda name: case_forms(name, lang)) if inflects(lang) else None


def _language(lang: str) -> "LanguageData":
    from . import get_language  # the package imports this module

    return get_language(lang)
