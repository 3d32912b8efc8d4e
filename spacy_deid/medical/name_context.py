"""Whether a name in a note is a person's or a disease's: what its neighbours say.

"Parkinson" is a neurologist after "Dr.", a patient before "walked", a disease after "history of". The neighbours are
data, one file a language. Where they say nothing the name is a person's: what is released cannot be taken back.
"""

import re
from typing import Any

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from .context_data import CAP, REACH, UPPER, before, behind, given_names, read_context
from .touching import Touching
from .unlisted import Unlisted

__all__ = ["NameContext"]

_SENTENCE = re.compile(r"(?:^|[.!?:;\n]\s*|[-•*]\s+)$")
_INITIAL = re.compile(rf"(?<!\w)(?:[{UPPER}]\.[ -]?){{1,3}}$|(?<![\w.])(?!I |A |O |Y |E )[{UPPER}] $")
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d_][\w'’-]*)[ ]$")
_WORD_AFTER = re.compile(rf"[ ]({CAP})")
_GIVEN_AFTER = re.compile(rf",[ ]?({CAP})")
_LETTERS_AFTER = re.compile(rf"[ ][{UPPER}]{{1,2}}\.?(?=[,.;)\n]|$)")
_POSSESSIVE = re.compile(r"(?:['’]s|s['’])$")
_POSSESSIVE_END = re.compile(r"[ ]?(?:[.,;:)/\n]|$|and\b|or\b)")
_AT = re.compile(r"(?<!\w)(?:at|by|with|to|from|near|via|of|in)[ ]$", re.IGNORECASE)
_ABBREVIATED = re.compile(r"[ ]\((?!MD)([A-Z])[A-Z]{0,2}[SD]\)")  # "Noonan (NS)"
_CHAIN = re.compile(rf"{CAP}[-–]{CAP}")
_LOWER_BEFORE = re.compile(r"(?<![\w'’-])([a-zà-öø-ÿ]{2,})[ (]{1,2}$")
_ARTICLES = frozenset({"the", "an", "el", "la", "un", "una", "del", "al"})
_TECHNICAL = frozenset({"anatomy", "device", "organism", "procedure", "score", "test", "unit"})
_APART = 6  # characters: between names in a list, a comma or "and"
_LISTED = re.compile(r"[ ]?(?:,|;|/|\+|\band\b|\by\b|\be\b|\bja\b|\bsekä\b|\bor\b)[ ]?")


# From the word for an institution to a name in its name: "Instituto Colombiano del".
_OF = rf"(?:[ ](?:de|del|la|las|los|el|y|e|of|the|for|para|and|(?-i:[{UPPER}])[\w'’-]*)){{0,4}}[ ]"


class NameContext:
    """Reads the neighbours of names in one language.

    lang (str): language code; one without data is read as English.
    """

    def __init__(self, lang: str) -> None:
        data = read_context(lang)
        self.lang = lang
        initials = rf"(?:[{UPPER}]\.[ ]?){{0,3}}"
        self._title = before(data["titles"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._doctor = before(data["doctors"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._role = before(data["roles"], "[ ,:]{1,2}")
        self._key = before(data["keys"], r"\.?[ ]?:[ ]{0,4}")
        self._credentials = behind(data["credentials"])
        self._verb = behind([rf"(?:['’]s)?[ ](?:{'|'.join(data['verbs'])})"])
        self._place_before = before(data["institutions_before"], _OF)
        self._place_after = behind(data["institutions_after"])
        self._before = before(data["before"], "[ ]?(?<=[ :-])")
        self._after = behind(data["after"])
        self._signs = re.compile(rf"(?:{'|'.join(data['signs'])})(?:['’]s|in|n|ia|a)?", re.IGNORECASE)
        self._sign_before = before(data["signs_before"], "")
        self._sign_after = behind(data["signs_after"])
        self._possessive = bool(data["possessive"])
        self._heading = before(data["headings"], r":[^.:\n]{0,60}(?:[,;/]|\by|\bja|\band)[ ]")

    def person(self, text: str, start: int, end: int, *, headed: bool = False) -> str:
        """Tell whether the neighbours of a name make it a person's.

        text (str): the note.
        start, end (int): characters of the name, with its head word if it has one.
        headed (bool): whether it has a head word, as in "Parkinson's disease".
        RETURNS (str): what makes it so: "title", "initial", "key", "given", "credentials", "institution"; "" if
            nothing does.
        """
        left, right = _line(text, start), text[end : end + REACH]
        if self._title.search(left):
            return "title"
        if self._place_before.search(left) or self._place_after.match(right):
            return "institution"
        if self._key.search(left) and not self._before.search(left):
            return "key"
        if _INITIAL.search(left):
            return "initial"
        if self._given_before(left):
            return "given"
        return "" if headed else self._behind(right)

    def clinician(self, text: str, start: int) -> bool:
        """Whether a clinician's title stands before a name.

        text (str): the note.
        start (int): where the name begins.
        RETURNS (bool): True after "Dr.", not after "Mr.".
        """
        return bool(self._doctor.search(_line(text, start)))

    def introduced(self, text: str, start: int) -> bool:
        """Whether what stands before a name is said of diseases: "Severe", "History of".

        text (str): the note.
        start (int): where the name begins.
        RETURNS (bool): True if it is.
        """
        return bool(self._before.search(_line(text, start)))

    def _given_before(self, left: str) -> bool:
        """Whether a given name stands right before."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or self._before.search(left):
            return False
        return normal_form(match[1]) in given_names()

    def _behind(self, right: str) -> str:
        """What follows a person's surname: letters of a degree, a given name, another surname."""
        if self._credentials.match(right) or _LETTERS_AFTER.match(right):
            return "credentials"
        if (match := _GIVEN_AFTER.match(right)) and normal_form(match[1]) in given_names():
            return "given"
        return "given" if _WORD_AFTER.match(right) and not self._after.match(right) else ""

    def medical(self, text: str, start: int, end: int, terms: Touching[Any], kind: str = "") -> str:
        """Tell whether the neighbours of a bare name make it a disease's, and no person's.

        text (str): the note.
        start, end (int): characters of the name.
        terms (Touching): other medical terms of the note.
        kind (str): what the name alone would be: of a device or a test much less is asked than of a disease.
        RETURNS (str): what makes it so: "before", "after", "sign", "possessive", "chain", "technical" or "listed"; ""
            if nothing does.
        """
        if self.person(text, start, end):
            return ""
        if self.introduced(text, start):
            return "before"
        if self.sign(text, start, end):
            return "sign"
        if kind in _TECHNICAL and _CHAIN.fullmatch(text, start, end):  # "Por Swan-Ganz se mide": no couple is meant
            return "chain"
        if self.acts(text, start, end) or self._capital_before(_line(text, start)):
            return ""
        name, left, right = text[start:end], _line(text, start), text[end : end + REACH]
        if self._after.match("'s" + right if _POSSESSIVE.search(name) else right):
            return "after"
        return self._looks(name, left, right, kind) or self._beside(text, start, end, left, terms)

    def _looks(self, name: str, left: str, right: str, kind: str) -> str:
        """Whether a name is written as persons' names are not."""
        if _CHAIN.fullmatch(name):
            return "chain"
        if (match := _ABBREVIATED.match(right)) and match[1] == name[0]:
            return "after"
        word = _LOWER_BEFORE.search(left)
        if kind in _TECHNICAL and word and (word[1] in _ARTICLES or word[1] not in function_words()):
            return "technical"
        ends = self._possessive and _POSSESSIVE.search(name) and _POSSESSIVE_END.match(right)
        return "possessive" if ends and not _AT.search(left) else ""

    def _beside(self, text: str, start: int, end: int, left: str, terms: Touching[Any]) -> str:
        """Whether a name stands in a list of diseases."""
        return "listed" if self._heading.search(left) or _listed(text, start, end, terms) else ""

    def sign(self, text: str, start: int, end: int) -> bool:
        """Whether a name is that of a sign or test with its result: "Murphy negative"."""
        if not self._signs.fullmatch(text, start, end) or self.person(text, start, end) in ("title", "key", "initial"):
            return False
        left, right = text[max(0, start - REACH) : start], text[end : end + REACH]
        return bool(self._sign_before.search(left) or self._sign_after.match(right))

    def acts(self, text: str, start: int, end: int) -> bool:
        """Whether a name has a role before or a person's verb behind: "daughter Bell", "Bell walked".

        text (str): the note.
        start, end (int): characters of the name.
        RETURNS (bool): True if it has.
        """
        left, right = _line(text, start), text[end : end + REACH]
        return bool(self._role.search(left) or self._verb.match(right))

    def _capital_before(self, left: str) -> bool:
        """Whether a word with a capital stands right before, inside a sentence: a given name that no list has."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or (match[1].isupper() and len(match[1]) <= 5):
            return False
        return not _SENTENCE.search(left[: match.start()])

    def signs(self, text: str) -> list[Unlisted]:
        """The names of signs and tests that stand with their result.

        text (str): the note.
        RETURNS (list[Unlisted]): in the order of the text.
        """
        found = (m.span() for m in self._signs.finditer(text) if _free(text, *m.span()) and m[0][0].isupper())
        return [Unlisted(start, end, "eponym:result") for start, end in found if self.sign(text, start, end)]


def _line(text: str, start: int) -> str:
    """What stands before a name on its line."""
    return text[max(0, start - REACH) : start].rpartition("\n")[2]


def _free(text: str, start: int, end: int) -> bool:
    """Whether a word begins and ends here."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum() or before == "-")


def _listed(text: str, start: int, end: int, terms: Touching[Any]) -> bool:
    """Whether a name stands in a list between or beside other medical terms."""
    for term in terms(start - _APART, end + _APART):
        if term.end <= start and _LISTED.fullmatch(text, term.end, start):
            return True
        if term.start >= end and _LISTED.fullmatch(text, end, term.start):
            return True
    return False
