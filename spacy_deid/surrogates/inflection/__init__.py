"""Inflection by language: a name, a place or a noun in the grammatical case that a sentence asks for.

A language that inflects its names has a file here and an entry in `LANGUAGES`; one that does not gives text back as it
is, so that callers need not know which is which.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from . import finnish

__all__ = ["LANGUAGES", "Inflector", "case_forms", "forms_of_names", "inflect", "inflects"]


class Inflector(Protocol):
    """What a language's module has."""

    def inflect(
        self, text: str, case: str, *, kind: str = ..., number: str = ..., possessive: str | None = ...
    ) -> str:
        """Inflect a text."""
        ...

    def case_forms(self, text: str, kind: str = ...) -> frozenset[str]:
        """All singular forms of a text."""
        ...


LANGUAGES: Mapping[str, Inflector] = MappingProxyType({"fi": finnish})
"""Language → the module that inflects it."""


def inflects(lang: str) -> bool:
    """Whether names of a language change with the case.

    lang (str): ISO 639-1 code.
    RETURNS (bool): True for "fi".
    """
    return lang in LANGUAGES


def inflect(
    text: str, lang: str, case: str, *, kind: str = "name", number: str = "sing", possessive: str | None = None
) -> str:
    """Inflect a name, a place or a noun phrase.

    text (str): nominative.
    lang (str): ISO 639-1 code; a language without an entry gives the text back.
    case (str): "nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra", "abe" or "com".
    kind (str): "given", "surname", "name" (of unknown sort, or given name and surname), "place" or "noun".
    number (str): "sing" or "plur".
    possessive (str | None): person of a possessive suffix: "1sg", "2sg", "1pl", "2pl" or "3".
    RETURNS (str): the inflected text.
    RAISES: ConfigError (D630) for an unknown case, kind, number or person.
    """
    if lang not in LANGUAGES:
        return text
    return LANGUAGES[lang].inflect(text, case, kind=kind, number=number, possessive=possessive)


def case_forms(text: str, lang: str, *, kind: str = "name") -> frozenset[str]:
    """All singular forms of a name, for dictionaries that must find it in a sentence.

    text (str): nominative.
    lang (str): ISO 639-1 code; a language without an entry has the one form.
    kind (str): as for `inflect`.
    RETURNS (frozenset[str]): the forms, the nominative among them.
    RAISES: ConfigError (D630) for an unknown kind.
    """
    return LANGUAGES[lang].case_forms(text, kind) if lang in LANGUAGES else frozenset({text})


def forms_of_names(lang: str) -> Callable[[str], frozenset[str]] | None:
    """What gives all forms of a name, if names of the language change with the case.

    lang (str): ISO 639-1 code.
    RETURNS (Optional[Callable]): nominative → forms; None for a language without cases.
    """
    return (lambda name: case_forms(name, lang)) if inflects(lang) else None
