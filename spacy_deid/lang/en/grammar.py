"""English grammar for surrogates and eponyms: the indefinite article, possessives, and the plural of professions."""

import re
from collections.abc import Collection, Iterator
from functools import cache

from ..eponyms import DOTTED, EponymConventions
from ..professions import Profession, ProfessionSurrogates, read_professions, same_sector
from ..text import fold

# Sounds, not letters: "a European", "a one-off", "an hour".
_CONSONANT_SOUND = re.compile(r"eu|ew|uni(?!n|m)|u[sr][aei]|uk|ut[aei]|one(?!ill)|once|ou[ai]")
_SILENT_H = re.compile(r"hono|hour|heir|herb")
_LETTERS_LIKE_VOWELS = "aefhilmnorsx"


def indefinite_article(text: str) -> str:
    """Return the indefinite article that a text requires before it.

    text (str): any text. A single letter or short acronym is pronounced by the names of its letters: "an M. Smith".
    RETURNS (str): "a" or "an".
    """
    word = fold(text).lstrip("\"'( ")
    if re.match(r"\w(?:\W|$)", word) or (re.match(r"[A-Z]{2,4}(?![a-z])", text) and text.isupper() and len(text) < 4):
        return "an" if word[:1] in _LETTERS_LIKE_VOWELS else "a"
    vowel = (word[:1] in "aeiou" and not _CONSONANT_SOUND.match(word)) or _SILENT_H.match(word) is not None
    return "an" if vowel else "a"


def possessives(name: str) -> tuple[str, ...]:
    """Return a name and its possessives, with and without the apostrophe: "Parkinson", "Parkinson's", "Parkinsons"."""
    if name.endswith("s"):
        return name, f"{name}'", f"{name}'s"
    return name, f"{name}'s", f"{name}s"


def eponym_phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield the forms of an eponym: "Parkinson disease", "Parkinson's disease". If ``beside`` is True, only the form
    without possessive, because "Parkinson's disease" could be the disease of a patient called Parkinson.
    """
    for owner in (name,) if beside else possessives(name):
        yield f"{owner} {head}"
        if head in DOTTED:
            yield f"{owner} {head}."


def eponym_forms(name: str) -> Collection[str]:
    """Return a name and its possessives."""
    return set(possessives(name))


EPONYMS = EponymConventions(phrases=eponym_phrases, forms=eponym_forms, every_name_owns=True)


_GENDERED = re.compile(r"(?:man|woman|ess|wife|mother|nun|maid)$")
_PLURAL_CUES = frozenset({"are", "were", "both", "two", "three", "work as"})


def replace_profession(text: str, before: str) -> ProfessionSurrogates:
    """Find the professions that can replace an English profession.

    text (str): the profession as written.
    before (str): the text before it.
    RETURNS (ProfessionSurrogates): professions of the same sector, or of any sector if none of it fits, that have the
        same indefinite article and do not show a sex. They are written in the number of the original.
    """
    folded, nouns = fold(text), _nouns()
    plural = folded not in nouns and folded.endswith("s") and not folded.endswith("ss")
    single = _singular(folded, nouns) if plural else folded
    article = indefinite_article(text)
    fit = [job.male for job in _neutral_jobs(article) if job.folded != single]
    sector = {job.male for job in same_sector("en", single)}
    written_plural = plural and (single in nouns or _follows_plural(before))
    return ProfessionSurrogates(
        single, [name for name in fit if name in sector] or fit, _plural if written_plural else str
    )


@cache
def _neutral_jobs(article: str) -> tuple[Profession, ...]:
    """Return the listed professions with an article that do not show the sex, which would be wrong for half of the
    patients.
    """
    jobs = read_professions("en")
    return tuple(job for job in jobs if indefinite_article(job.male) == article and not _GENDERED.search(job.male))


@cache
def _nouns() -> frozenset[str]:
    """Return the listed professions and their last words, folded."""
    names = frozenset(job.folded for job in read_professions("en"))
    return names | {name.split()[-1] for name in names}


def _singular(word: str, nouns: frozenset[str]) -> str:
    """Return the singular of a plural if it is a listed noun, else the word itself."""
    for end, own in (("ies", "y"), ("men", "man"), ("es", ""), ("s", "")):
        if word.endswith(end) and word.removesuffix(end) + own in nouns:
            return word.removesuffix(end) + own
    return word


def _plural(name: str) -> str:
    """Return the plural of a noun."""
    if name.endswith("man"):
        return name[:-3] + "men"
    if name.endswith(("ss", "ch", "sh", "x")):
        return name + "es"
    return name[:-1] + "ies" if name.endswith("y") and name[-2] not in "aeo" else name + "s"


def _follows_plural(before: str) -> bool:
    """Whether the last word before a mention requires a plural."""
    return bool(set(fold(before[-20:]).split()[-1:]) & _PLURAL_CUES)
