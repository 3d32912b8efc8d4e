"""The interface by which a language defines how eponyms are written.

An eponym is a medical term that contains the name of a person: "Parkinson's disease". It consists of the name and a
head word, such as "disease". The phrases that these functions make are compiled into the dictionary of medical terms.
"""

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
    """Functions that write the eponyms of a language in all their forms.

    phrases (Callable[[str, str, bool], Iterable[str]]): (name, head word, beside) → the eponym in every form. If
        ``beside`` is True, only forms in which the name cannot be that of a patient: "Smith fracture" is a kind of
        fracture, but "Smith's fracture" can be the fracture of a patient called Smith.
    forms (Callable[[str], Collection[str]]): name → its forms when it is used without a head word ("Parkinson's").
    stems (Callable[[str], Collection[str]]): normal form of a word → the names of which it can be a form. A form
        of an eponym is left out of the dictionary if one of them is an ordinary name.
    every_name_owns (bool): whether any eponym can also be the name of a patient; if False, only those that are in the
        language's lists of names.
    """

    phrases: Callable[[str, str, bool], Iterable[str]] = _name_and_head
    forms: Callable[[str], Collection[str]] = _alone
    stems: Callable[[str], Collection[str]] = _no_stems
    every_name_owns: bool = False


DOTTED = frozenset({"sd", "sdr", "sdme", "sindr", "enf", "synd"})
"""Abbreviated head words, which are written with or without a full stop."""
