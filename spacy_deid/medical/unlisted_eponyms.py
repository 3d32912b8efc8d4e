"""Find eponyms that are in no dictionary: names with a head word ("Xanthou syndrome"), or after "history of".

The head words and the words around an eponym are data: ``name_context.toml`` of each language.
"""

import re
from collections.abc import Iterable
from itertools import chain

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words, name_words
from ..lang import get_language
from .build import never_medical
from .name_context import (
    CAPITALISED,
    REACH,
    common_words,
    eponym_words,
    given_names,
    pattern_after,
    pattern_before,
    read_context,
)
from .use import MedicalUse

_OWNER = re.compile(r"['’]s|s['’]")
_JOINED_BEFORE = re.compile(rf"(?<![\w-])({CAPITALISED})(?:['’]s)?(?:[ ]|[-–/]|[ ](?:and|or|y|e|ja)[ ])$")
_JOINED_AFTER = re.compile(rf"(?:[ ]|[-–/]|[ ](?:y|e)[ ])({CAPITALISED})(?!\w)")
_JOINED_NAMES = rf"{CAPITALISED}(?:[-–/]{CAPITALISED}){{1,3}}"
_SUFFICIENT = ("chain", "organ")  # tiers that need no other evidence: two joined names, "ligament of Treitz"
_WORD_LISTS = ("heads", "objects", "organs", "named", "possessed", "pairs")
_BARE = re.compile(rf"(?<![\w.'’-])(?P<name>{CAPITALISED}(?:[-–]{CAPITALISED}){{0,2}})(?P<owner>['’]s)?(?![\w'’-])")
_WORD = re.compile(r"\w+")
_NEVER = re.compile(r"(?!)")


class UnlistedEponyms:
    """Finds eponyms that are in no dictionary: names with a head word before or after them ("Xanthou syndrome").

    The head words are grouped in ``name_context.toml`` into ``tiers`` by how strong their evidence is: "chain" (two
    names with a hyphen), "thing" (an object or method, named after its inventor), "organ" ("ligament of Treitz"),
    "named" (a syndrome or disease without a possessive), "pair" ("Xanthou and Miller syndrome") and "name" (any head
    word). Where the tier is not sufficient, the words around the eponym decide: ``introducers`` and ``determiners``
    before it, ``results`` after it. So does the form of a thing with which something is done (``instruments``). A head
    word of ``unowned`` ("sign") is that of nobody, so that a possessive does not make its name that of a person. After
    ``rare_introducers`` ("recovering after"), a name that is in no list of names counts. A phrase before a word of
    ``organised`` ("postponed", "tomorrow") in its sentence is about what belongs to a person.

    A name without a head word counts as an eponym only after ``bare_introducers`` ("history of") and before the end
    of the phrase, or as an item of a list under a heading for diagnoses; or with its result and side, or in an
    examination, if it is the name of a sign ("Xanthou positive on the left").
    """

    def __init__(self, lang: str) -> None:
        """Compile the expressions of a language.

        lang (str): ISO 639-1 code. For a language without ``name_context.toml``, the English expressions are used.
        """
        data = read_context(lang)
        self.lang = lang
        pattern = f"{data['tier_before']}(?:{'|'.join(data['tiers'])}){data['tier_after']}"
        slots = {key: "|".join(data[key]) for key in _WORD_LISTS if key in data}
        for slot, value in {"link": data["tier_link"], "chain": _JOINED_NAMES, "name": CAPITALISED, **slots}.items():
            pattern = pattern.replace(f"{{{slot}}}", value)
        self._pattern = re.compile(pattern)
        self._before = pattern_before(data["before"], "[ ]?(?<=[ :-])")
        self._introducers = _optional(data.get("introducers", ()), "[ ]?(?<=[ :-])")
        self._rare_introducers = _optional(data.get("rare_introducers", ()), "[ ]")
        organised = "|".join(data.get("organised", ())) or "(?!)"
        self._organised = pattern_after([rf"[^.;\n]{{0,40}}?(?<!\w)(?:{organised})(?!\w)"])
        self._owned_after = pattern_after(data["owned_after"]) if data.get("owned_after") else _NEVER
        self._determiners = _optional(data.get("determiners", ()), "[ ]")
        self._results = pattern_after(data["results"]) if data.get("results") else _NEVER
        self._sides = pattern_after(data["sides"]) if data.get("sides") else _NEVER
        self._instruments = re.compile("|".join(data.get("instruments", ())) or "(?!)")
        self._unowned = re.compile("|".join(data.get("unowned", ())) or "(?!)", re.IGNORECASE)
        self._bare_before = _optional(data.get("bare_introducers", ()), "[ ]?(?<=[ :])")
        self._bare_sure = _optional(data.get("bare_sure", ()), "[ ]?(?<=[ :])")
        self._bare_after = pattern_after(data["bare_after"]) if data.get("bare_after") else _NEVER
        self._chain_after = pattern_after(data["chain_after"]) if data.get("chain_after") else _NEVER
        self._always_owned = bool(data.get("always_owned"))
        self._sign_before = _optional(data.get("sign_contexts", ()), "")
        self._sign_after = pattern_after(data["signs_after"])
        self._sided = pattern_after(data["bare_sides"]) if data.get("bare_sides") else _NEVER
        self._list_before = _optional(data["headings"], r":[^.:\n]{0,60}[,;/][ ]")
        self._list_begins = _optional(data["headings"], r":[ ]")
        self._ownership = re.compile(data["ownership"]) if "ownership" in data else None
        self._second_name_follows = bool(data.get("second_name_follows"))
        language = get_language(lang)
        self._stems, self._inflector = language.eponyms.stems, language.inflector

    def find(self, text: str, start: int = 0, end: int | None = None) -> list[MedicalUse]:
        """Find eponyms in a text.

        text (str): the note.
        start, end (int): the stretch of the note that is searched; the whole note by default. The words around a name
            are read outside of it, too.
        RETURNS (list[MedicalUse]): spans of names with their head words, in the order of the text, with the rule
            "eponym:" and the tier, such as "eponym:chain"; then the names without a head word, with the rule
            "name:disease", or "eponym:result" for a sign with its result.
        """
        found, at, end = list[MedicalUse](), start, len(text) if end is None else end
        while match := self._pattern.search(text, at, end):
            left = text[max(0, match.start() - REACH) : match.start()].rpartition("\n")[2]
            at = match.end()
            if self._is_medical(match, left, text[match.end() : match.end() + REACH]):
                found.append(MedicalUse(match.start(), match.end(), f"eponym:{match.lastgroup}"))
            elif first := _WORD.match(text, match.start()):  # "The ligament of Xanthou" is no eponym of a "The"
                at = first.end()
        for match in _BARE.finditer(text, start, end):
            left = text[max(0, match.start() - REACH) : match.start()].rpartition("\n")[2]
            if rule := self._bare_rule(match, left, text[match.end() : match.end() + REACH]):
                found.append(MedicalUse(match.start(), match.end(), rule))
        return found

    def widen(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Extend the span of an eponym by its other name, if it has two: "Watson and Schwartz test".

        text (str): the note.
        start, end (int): span of a name with its head word, such as "Schwartz test".
        RETURNS (tuple[int, int]): the extended span; the same span if no word of a listed eponym is next to it.
        """
        match = _JOINED_BEFORE.search(text, max(0, start - REACH), start)
        if match and normal_form(match[1]) in eponym_words() - given_names():
            start = match.start()
        match = _JOINED_AFTER.match(text, end)
        if match and self._second_name_follows and normal_form(match[1]) in eponym_words() - given_names():
            end = match.end()
        return start, end

    def _forms(self, word: str) -> set[str]:
        """The normal form of a word, and the names of which it can be a form."""
        form = normal_form(word)
        found = {form, *self._stems(form)}
        if self._inflector is not None:
            analyses = self._inflector.analyze(word.lower(), name_words(self.lang).__contains__, ("surname", "given"))
            found |= {normal_form(analysis.nominative) for analysis in analyses}
        return found

    def _is_medical(self, match: re.Match[str], left: str, right: str) -> bool:
        """Whether a phrase is an eponym, and not a thing with its owner's name ("Smith's fracture")."""
        tier, phrase = str(match.lastgroup), match[0]
        names = [self._forms(word) for word in re.findall(CAPITALISED, match[tier])]
        if not (never_medical(self.lang) | function_words()).isdisjoint(chain(*names)):  # "Monday", "enero", "The"
            return False
        owned = bool(self._ownership and self._ownership.search(phrase))
        introduced = bool(self._introducers.search(left))
        listed = all(not eponym_words().isdisjoint(forms) for forms in names)
        if not listed and (match[tier].isupper() or self._titled(match)):
            return False
        if tier == "named" and not owned:
            return True
        if not listed and all(not given_names().isdisjoint(forms) for forms in names):
            return False
        if tier in _SUFFICIENT:
            return True
        shared = [not common_words(self.lang).isdisjoint(forms) for forms in names]
        common = (all(shared) if tier == "pair" else any(shared)) and not (listed and not _OWNER.search(phrase))
        unowned = tier != "pair" and bool(self._unowned.search(phrase.replace(match[tier], "")))
        if not listed and not unowned and self._organised.match(right):
            return False
        if self._rare_introducers.search(left):
            return all(name_words(self.lang).isdisjoint(forms) for forms in names)
        if introduced or self._sides.match(right) or (not owned and self._determiners.search(left)):
            return not (common and self._always_owned)
        if unowned:
            return True
        if tier == "thing" and self._instruments.search(phrase):
            return not common
        result = bool(self._results.match(right))
        if result and owned and self._always_owned:
            return all(name_words(self.lang).isdisjoint(forms) for forms in names)
        if (result and not owned) or (tier == "thing" and (listed or not owned)):
            return not common
        return not common and tier == "name" and bool(self._before.search(left))

    def _titled(self, match: re.Match[str]) -> bool:
        """Whether a phrase is written like a person's name: "Joy Drain". Nobody is called "Joy Syndrome"."""
        rest = match[0].replace(match[match.lastgroup or 0], "", 1).strip(" -'’s")
        return bool(re.fullmatch(CAPITALISED, rest)) and not self._unowned.search(rest)

    def _bare_rule(self, match: re.Match[str], left: str, right: str) -> str:
        """The rule of a rare name without a head word that stands where only a disease or a sign can; "" if none."""
        words, owner = re.findall(CAPITALISED, match["name"]), bool(match["owner"])
        introduced = self._bare_before.search(left)
        if owner:  # "has Xanthou's", "Dx: Xanthou's"
            introduced = introduced or self._introducers.search(left) or self._list_begins.search(left)
        listed = self._list_before.search(left) and (owner or right.startswith((",", ";", "/")))
        after = self._bare_after.match(right) or (owner and self._owned_after.match(right))
        disease = (introduced or listed) and after
        disease = disease or (len(words) > 1 and self._chain_after.match(right))
        sign = self._sided.match(right) or (self._sign_before.search(left) and self._sign_after.match(right))
        if not disease and not sign:
            return ""
        forms = [self._forms(word) for word in words]
        if not (given_names() | never_medical(self.lang)).isdisjoint(chain(*forms)):
            return ""
        sure = (owner and not sign) or self._bare_sure.search(left)  # "diagnosed with Baker", "history of Baker's"
        if not sure and all(not common_words(self.lang).isdisjoint(names) for names in forms):
            return ""
        return "eponym:result" if sign or len(words) > 1 else "name:disease"


def _optional(alternatives: Iterable[str], tail: str) -> re.Pattern[str]:
    """Compile a pattern for the words before a name; one that never matches if there are no words."""
    listed = list(alternatives)
    return pattern_before(listed, tail) if listed else _NEVER
