"""Eponyms that no dictionary has, told by their head word alone: "Xanthou syndrome", "síndrome de Xanthou"."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..dictionaries.normalise import normal_form
from .build import never_medical
from .context_data import CAP, REACH, before, common_words, eponym_words, given_names, read_context

__all__ = ["Unlisted", "UnlistedEponyms"]

_OWNED = re.compile(r"['’]s|s['’]")
_GENITIVE = re.compile(r"n[ ]")
_JOINED = re.compile(rf"(?<![\w-])({CAP})(?:['’]s)?(?:[ ]|[-–/]|[ ](?:and|or|y|e|ja)[ ])$")
_JOINS = re.compile(rf"(?:[ ]|[-–/]|[ ](?:y|e)[ ])({CAP})(?!\w)")
_ALWAYS = ("chain", "organ")  # tiers that need nothing else: two names joined, "ligament of Treitz"


class Unlisted(NamedTuple):
    """A name that its neighbours make medical.

    start, end (int): characters, with its head word.
    rule (str): "eponym:" and why.
    """

    start: int
    end: int
    rule: str


class UnlistedEponyms:
    """Finds names by the head words beside them.

    lang (str): language code; one without data is read as English.
    """

    def __init__(self, lang: str) -> None:
        data = read_context(lang)
        self.lang = lang
        self._pattern = _pattern(lang, data)
        self._before = before(data["before"], "[ ]?(?<=[ :-])")
        self._possessive = bool(data["possessive"])

    def find(self, text: str) -> list[Unlisted]:
        """Find the eponyms of a text.

        text (str): the note.
        RETURNS (list[Unlisted]): the names with their heads, in the order of the text.
        """
        found = []
        for match in self._pattern.finditer(text):
            tier = str(match.lastgroup)
            left = text[max(0, match.start() - REACH) : match.start()].rpartition("\n")[2]
            if self._bears(tier, match[0], match[tier], left):
                found.append(Unlisted(match.start(), match.end(), f"eponym:{tier}"))
        return found

    def widen(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Take in the other name of an eponym that has two, if it is one of the eponyms: "Watson and Schwartz test".

        text (str): the note.
        start, end (int): characters of a name with its head word.
        RETURNS (tuple[int, int]): characters, more or the same.
        """
        match = _JOINED.search(text, max(0, start - REACH), start)
        if match and normal_form(match[1]) in eponym_words() - given_names():
            start = match.start()
        match = _JOINS.match(text, end)
        if match and self.lang == "es" and normal_form(match[1]) in eponym_words() - given_names():
            end = match.end()
        return start, end

    def _is_eponym(self, word: str) -> bool:
        """Whether a word is one of an eponym, in Finnish its genitive, too."""
        forms = (word, word.removesuffix("n"), word.removesuffix("in")) if self.lang == "fi" else (word,)
        return not eponym_words().isdisjoint(forms)

    def _bears(self, tier: str, phrase: str, name: str, left: str) -> bool:
        """Whether a phrase names its inventor: two names joined, a thing that nobody owns, or what is before it."""
        words = [normal_form(word) for word in re.findall(CAP, name)]
        known = all(self._is_eponym(word) for word in words)
        owned = bool((_OWNED if self._possessive else _GENITIVE).search(phrase)) and self.lang != "es"
        if not never_medical(self.lang).isdisjoint(words):  # "Monday", "enero"
            return False
        if tier == "named":
            return not owned
        if not known and all(word in given_names() for word in words):
            return False
        if tier in _ALWAYS:
            return True
        common = bool(common_words(self.lang).intersection(words)) and not (known and not _OWNED.search(phrase))
        if tier == "thing":
            return not common and (known or not owned)
        return bool(self._before.search(left)) and not common


def _pattern(lang: str, data: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """Names and their head words, in groups: a chain of names with any head, a name with a thing, of an organ, or any.

    lang (str): in Spanish the head comes first.
    data (dict): the head words.
    """
    heads, things, organs = ("|".join(data[key]) for key in ("heads", "objects", "organs"))
    chain = rf"{CAP}(?:[-–/]{CAP}){{1,3}}"
    if lang == "es":
        link = r"(?:[ ](?:(?!de\b|del\b)[a-záéíóúñ]{3,15}|[IVX]{1,4}|[A-D]?\d{1,2})){0,2}[ ](?:de |del |tipo )?"
        tail = rf"(?![\w-]|[ ]{CAP})"
        tiers = [f"(?i:{heads}){link}(?P<chain>{chain})", f"(?i:{things}){link}(?P<thing>{CAP})"]
        tiers += [f"(?i:{heads}){link}(?P<name>{CAP})"]
        return re.compile(rf"(?<!\w)(?:{'|'.join(tiers)}){tail}")
    if lang == "fi":
        link = "(?:(?<=n)[ ]|-)"
        tiers = [f"(?P<chain>{chain}){link}(?i:{heads})", f"(?P<thing>{CAP}){link}(?i:{things})"]
        tiers += [f"(?P<name>{CAP}){link}(?i:{heads})"]
        return re.compile(rf"(?<![\w-])(?:{'|'.join(tiers)})(?!\w)")
    link = r"(?:['’]s)?(?:[- ](?:type|like)|[ ][a-z]+(?:ic|al|oid|ous|enzyme))?(?:[ ]\([a-z ]{3,24}\))?[ ]"
    named = "|".join(data["named"])
    tiers = [f"(?P<chain>{chain}){link}(?i:{heads}|{things})", f"(?P<named>{CAP}){link}(?:{named})"]
    tiers += [f"(?P<thing>{CAP}){link}(?i:{things})", f"(?P<name>{CAP}){link}(?i:{heads})"]
    tiers += [rf"(?i:{organs})[ ]of[ ](?P<organ>{CAP})"]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(tiers)})(?!\w)")
