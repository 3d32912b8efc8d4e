"""How a language writes eponyms: a person's name with the word that makes it medical ("Parkinson's disease")."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


def _name_and_head(name: str, head: str, beside: bool) -> Iterable[str]:
    return (f"{name} {head}",)


def _alone(name: str) -> Collection[str]:
    return {name}


def _no_stems(form: str) -> Collection[str]:
    return frozenset()


@dataclass(frozen=True, kw_only=True)
class EponymConventions:
    """How a language writes eponyms.

    phrases (Callable[[str, str, bool], Iterable[str]]): (name, head word, beside) → the phrases in every form. With
        ``beside`` only forms in which the name cannot be the owner of the thing ("Smith fracture").
    forms (Callable[[str], Collection[str]]): forms of a name that is written without its head word.
    stems (Callable[[str], Collection[str]]): normal form of a word → names that it may be an inflected form of.
    every_name_owns (bool): whether any name, not only those of the language's lists, may be that of an owner.
    """

    phrases: Callable[[str, str, bool], Iterable[str]] = _name_and_head
    forms: Callable[[str], Collection[str]] = _alone
    stems: Callable[[str], Collection[str]] = _no_stems
    every_name_owns: bool = False


DOTTED = frozenset({"sd", "sdr", "sdme", "sindr", "enf", "synd"})
"""Abbreviated head words, which are written with or without a full stop."""
