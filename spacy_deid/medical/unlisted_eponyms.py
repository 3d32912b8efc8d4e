"""Eponyms that no dictionary lists, recognised by their head word: "Xanthou syndrome", "síndrome de Xanthou"."""

import re
from collections.abc import Mapping
from typing import Any

from ..dictionaries.normalise import normal_form
from .build import never_medical
from .name_context import CAPITALISED, REACH, pattern_before, read_context
from .name_words import common_words, eponym_words, given_names
from .use import MedicalUse

_POSSESSIVE = re.compile(r"['’]s|s['’]")
_JOINED_BEFORE = re.compile(rf"(?<![\w-])({CAPITALISED})(?:['’]s)?(?:[ ]|[-–/]|[ ](?:and|or|y|e|ja)[ ])$")
_JOINED_AFTER = re.compile(rf"(?:[ ]|[-–/]|[ ](?:y|e)[ ])({CAPITALISED})(?!\w)")
_CHAIN = rf"{CAPITALISED}(?:[-–/]{CAPITALISED}){{1,3}}"
_SUFFICIENT = ("chain", "organ")  # tiers that need no other evidence: two joined names, "ligament of Treitz"
_WORD_LISTS = ("heads", "objects", "organs", "named")


class UnlistedEponyms:
    """Finds names that a head word beside them makes medical terms.

    The expressions are the ``tiers`` of ``name_context.toml``. A tier is named after its evidence: "chain" (two joined
    names), "thing" (an object or method, which bears its inventor's name), "organ", "named" (a syndrome or disease
    without a possessive) or "name" (any head word).
    """

    def __init__(self, lang: str) -> None:
        """Compile the expressions of a language.

        lang (str): language code. A language without ``name_context.toml`` is read as English.
        """
        data = read_context(lang)
        self.lang = lang
        self._pattern = _compile_tiers(data)
        self._before = pattern_before(data["before"], "[ ]?(?<=[ :-])")
        self._ownership = re.compile(data["ownership"]) if "ownership" in data else None
        self._second_name_follows = bool(data.get("second_name_follows"))
        self._genitive_endings = tuple(data.get("genitive_endings", ()))

    def find(self, text: str) -> list[MedicalUse]:
        """Find the eponyms of a text.

        text (str): the note.
        RETURNS (list[MedicalUse]): names with their head words, in the order of the text; the rule is "eponym:" and
            the tier.
        """
        found = []
        for match in self._pattern.finditer(text):
            tier = str(match.lastgroup)
            left = text[max(0, match.start() - REACH) : match.start()].rpartition("\n")[2]
            if self._is_medical(tier, match[0], match[tier], left):
                found.append(MedicalUse(match.start(), match.end(), f"eponym:{tier}"))
        return found

    def widen(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Include the other name of an eponym that has two, if a list has it: "Watson and Schwartz test".

        text (str): the note.
        start, end (int): characters of a name with its head word.
        RETURNS (tuple[int, int]): the same or more characters.
        """
        match = _JOINED_BEFORE.search(text, max(0, start - REACH), start)
        if match and normal_form(match[1]) in eponym_words() - given_names():
            start = match.start()
        match = _JOINED_AFTER.match(text, end)
        if match and self._second_name_follows and normal_form(match[1]) in eponym_words() - given_names():
            end = match.end()
        return start, end

    def _is_listed(self, word: str) -> bool:
        """Whether a word, or the name that it is a genitive of, belongs to a listed eponym."""
        forms = (word, *(word.removesuffix(ending) for ending in self._genitive_endings))
        return not eponym_words().isdisjoint(forms)

    def _is_medical(self, tier: str, phrase: str, name: str, left: str) -> bool:
        """Whether a phrase is an eponym, and not a thing with its owner's name ("Smith's fracture").

        tier (str): the tier that matched.
        phrase (str): name and head word.
        name (str): the name.
        left (str): the text before the phrase on its line.
        """
        words = [normal_form(word) for word in re.findall(CAPITALISED, name)]
        listed = all(self._is_listed(word) for word in words)
        owned = bool(self._ownership and self._ownership.search(phrase))
        if not never_medical(self.lang).isdisjoint(words):  # "Monday", "enero"
            return False
        if tier == "named":
            return not owned
        if not listed and all(word in given_names() for word in words):
            return False
        if tier in _SUFFICIENT:
            return True
        common = bool(common_words(self.lang).intersection(words)) and not (listed and not _POSSESSIVE.search(phrase))
        if tier == "thing":
            return not common and (listed or not owned)
        return bool(self._before.search(left)) and not common


def _compile_tiers(data: Mapping[str, Any]) -> re.Pattern[str]:
    """Compile the tiers of a language into one expression, whose last group names the tier that matched.

    data (Mapping[str, Any]): the content of ``name_context.toml``.
    """
    pattern = f"{data['tier_before']}(?:{'|'.join(data['tiers'])}){data['tier_after']}"
    slots = {key: "|".join(data[key]) for key in _WORD_LISTS if key in data}
    for slot, value in {"link": data["tier_link"], "chain": _CHAIN, "name": CAPITALISED, **slots}.items():
        pattern = pattern.replace(f"{{{slot}}}", value)
    return re.compile(pattern)
