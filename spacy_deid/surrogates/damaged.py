"""Read the names, towns, telephone numbers and ages that a scan damaged, before their surrogates are made.

Optical character recognition writes digits and marks for letters: "De1gado", "Vi!la5eca", "8lethyn". A surrogate that
is made character by character would keep the letters in between ("De0soro"). So a damaged word is read first: as the
name of the note or of the name lists that a scanner confuses with it (`dictionaries.damaged.read_scan`), otherwise
letter by letter. A mention with a word that cannot be read gets no surrogate, and a tag is written.

In telephone numbers, ages and record numbers it is the other way round: letters are read as the digits that they were
("O5O 997 34ZO", "6l añ0s", "E-ll-O2B4"). Words that a line end breaks are joined. The surrogates are damaged again by
`wear`.

The surrogates of the letters of a name that is spelled out would show how long the name is and which letters recur. A
name whose letters have the same separators ("V-I-R-T-A-N-E-N") is joined before its surrogate is made, and the
surrogate is spelled like it. Other spelled names, as in dictation ("o double l e r e n", "whiskey alpha bravo"), get
a tag.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from ..dictionaries.damaged import read_scan
from ..lang import get_language
from ..lang.text import fold
from .mention import PERSONS, Mention
from .people.name_lists import NAME_TYPES, load_names
from .places.institutions import institution_words
from .wear import BROKEN

TOWNS = frozenset({"CITY", "STATE", "COUNTRY"})
"""Labels of places whose damaged words are read."""

INSTITUTIONS = frozenset({"HOSPITAL", "HEALTH_CENTER", "ORGANIZATION", "DEPARTMENT"})
"""Labels of institutions whose damaged words are read letter by letter, and whose broken words are joined."""

NUMBERS = frozenset({"PHONE", "FAX", "AGE"})
"""Labels of numbers whose damaged digits are read."""

OTHER_NAMES = frozenset({"STREET", "LOCATION_OTHER", "PROFESSION"})
"""Labels of other names whose broken words are joined."""

CODES = frozenset(
    "SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID DEVICE ID_OTHER ZIP".split()
)
"""Labels of codes with letters, in which only letters that a scan confuses with 0 and 1 show that it is damaged."""

_SCANNED_CODE = re.compile(r"\dl|(?<![a-z])l\d|\dO\d|(?<![^\W_])OO?\d\d|\dO+(?![^\W_])|(?<![^\W_])l+(?![^\W_])")
_CODE_RUN = re.compile(r"(?:(?<![^\W\d_])[OlI|!]|(?<=[\dOl])[OlI|SZB]|\d)+(?:[OlI|SZB]*\d)*(?![a-z])")
_WORD = re.compile(r"[^\W_]+(?:[|!][^\W_]+)*")
_SPLIT = re.compile(rf"({_WORD.pattern})")
_DAMAGED = re.compile(r"[^\W\d_][\d|!]|[\d|!][^\W\d_]")  # a digit or mark beside a letter
_WRONG_LETTER = re.compile(r"(?<=[a-zß-öø-ÿ])I|^l(?=[bcdfghjkmnpqrstvwxz])|rn|vv")
_WRONG_CAPITAL = re.compile(r"(?<=[a-zß-öø-ÿ])I|^l")
_NUMBERED = re.compile(r"\d*([^\W\d_]{3,})\d*")  # a name beside a number: "Rowe2"
_ORDINAL = re.compile(r"\d*(?:1st|2nd|3rd|\d(?:th|er|[ao]))", re.I)
_FEWEST_SPELLED = 4
_SPELLED = re.compile(r"[^\W\d_](?:([-.]|[-.]? )[^\W\d_])(?:\1[^\W\d_])+\.?")
_HOUSE_NUMBER = re.compile(r"[\dOl|!]{2,4}")  # not "4B", "3 I"
_SHORTEST_KIND = 6  # letters of a word for a kind of institution that is read in a scan
_LONGEST_CODE = 6  # characters of an acronym with numbers
_INITIAL = re.compile(r"\d*[A-ZÀ-ÖØ-Þ]\d*")  # an initial beside a number
_READ = {"0": "o", "1": "l", "|": "l", "!": "l", "2": "z", "5": "s", "6": "g", "8": "b", "9": "g"}
_MARKS = str.maketrans("|!", "ll")
_VOWELS = frozenset("aeiouy")
_DIGITS = str.maketrans("OoQDlI|!iZzSsGbBgq", "0000111112255" + "68899")
_NUMBER = re.compile(r"(?<![^\W_])[\dOoQDlI|!iZzSsGbBgq]+(?![^\W_])")
_AGE_WORD = re.compile(r"(?<![^\W_])(?:[^\W\d_]|0(?=[^\W\d_]{2}))[^\W_]*")
_BROKEN = re.compile(r"(?<=[^\W\d_])-\s*\n\s*(?=[^\W\d_])")


def read_damaged(mentions: Sequence[Mention], lang: str) -> list[Mention | None]:
    """Read the damaged words of names and towns, and the damaged digits of telephone numbers and ages, in a note.

    mentions (Sequence[Mention]): all mentions of the note, in the order of the text.
    lang (str): ISO 639-1 code of the note's language.
    RETURNS (list[Optional[Mention]]): the mentions, in which each damaged word of a person or town is replaced by the
        word that was read, and each damaged number by its digits; None for a person who is spelled out, and for a
        mention with a word that cannot be read.
    """
    spelled = [m.label in PERSONS and _is_spelled(m.text, lang) for m in mentions]
    out = [None if letters else mention for mention, letters in zip(mentions, spelled, strict=True)]
    for i, mention in enumerate(mentions):
        if mention.label in PERSONS and (joined := read_spelled(mention.text)):
            out[i] = mention._replace(text=joined[0])
    for i, m in enumerate(out):
        if m and m.label in NUMBERS:
            out[i] = m._replace(text=_read_number(m.text, words=m.label == "AGE"))
        elif m and m.label in INSTITUTIONS:
            out[i] = m._replace(text=_read_kinds(_read_institution(m.text), lang))
        elif m and m.label in CODES:
            out[i] = m._replace(text=_read_code(m.text))
        elif m and "\n" in m.text and m.label in PERSONS | TOWNS | OTHER_NAMES:
            out[i] = m._replace(text=BROKEN.sub("", m.text))
        m = out[i]
        if m and m.label == "STREET":
            out[i] = m._replace(text=_read_street(m.text))
    places = [i for i, m in enumerate(out) if m and m.label in PERSONS | TOWNS and _has_damage(m.text)]
    if not places:
        return out
    names = (word for m in mentions if m.label in PERSONS for word in _WORD.findall(m.text) if word.isalpha())
    whole = {_scanned(word): word for word in names if not _WRONG_LETTER.search(word)}
    for i in places:
        mention = out[i] or mentions[i]
        listed = _listed_names(lang) if mention.label in PERSONS else {}
        read = {word: _read_word(word, whole, listed) for word in _WORD.findall(mention.text)}
        parts = [read.get(part, part) for part in _SPLIT.split(mention.text)]
        out[i] = None if None in parts else mention._replace(text="".join(part or "" for part in parts))
    return out


def refuse_read_words(
    mentions: Sequence[Mention], read: Sequence[Mention | None], forbidden: Callable[[str], bool]
) -> Callable[[str], bool]:
    """Also forbid the words that were read from the damage in names and towns.

    "5an Roque" must not become "San Zenón": the surrogate would show the word that the scan wrote.

    mentions (Sequence[Mention]): all mentions of a note.
    read (Sequence[Optional[Mention]]): the mentions as `read_damaged` returns them.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate.
    RETURNS (Callable[[str], bool]): `forbidden` itself if no word was read.
    """
    words: set[str] = set()
    for old, new in zip(mentions, read, strict=True):
        if new is not None and new.text != old.text and new.label in PERSONS | TOWNS:
            words |= set(_WORD.findall(fold(new.text))) - set(_WORD.findall(fold(old.text)))
    if not words:
        return forbidden
    return lambda value: not words.isdisjoint(_WORD.findall(fold(value))) or forbidden(value)


def _read_number(text: str, words: bool) -> str:
    """Return a telephone number or an age with digits for the letters and marks that a scan wrote for them.

    A number is read only if it has a digit, or if its text has more digits than letters ("O7 7OlO 6Bl2").

    text (str): the mention.
    words (bool): whether the text may have words, as an age has; digits in them are read as letters, and words that a
        line end breaks are joined.
    RETURNS (str): the text as it was before the scan.
    """
    mostly = sum(map(str.isdecimal, text)) > sum(map(str.isalpha, text))

    def digits(match: re.Match[str]) -> str:
        decade = words and match[0].endswith("s")  # "60s"
        read = match[0].translate(_DIGITS) if mostly or any(map(str.isdecimal, match[0])) else match[0]
        return match[0] if decade else read

    read = _NUMBER.sub(digits, text)
    if not words:
        return read
    return _BROKEN.sub("", _AGE_WORD.sub(lambda word: "".join(_READ.get(char, char) for char in word[0]), read))


def _read_code(text: str) -> str:
    """Return a code with digits for the letters that a scan wrote for them: "E-ll-O2B4" is E-11-0284.

    A code is read only if it has an "l" or "O" that no code has, because codes have letters of their own.
    """
    if not _SCANNED_CODE.search(text) or not any(map(str.isdecimal, text)):
        return text
    return _CODE_RUN.sub(lambda run: run[0].translate(_DIGITS), text)


def _read_street(text: str) -> str:
    """Return a street with its damaged words and numbers read: "Ca11e l7" is "Calle 17"."""

    def read(word: re.Match[str]) -> str:
        if _HOUSE_NUMBER.fullmatch(word[0]) and any(map(str.isdecimal, word[0])):
            return word[0].translate(_DIGITS)
        damaged = _DAMAGED.search(word[0]) and sum(map(str.isalpha, word[0])) > max(2, len(word[0]) / 2)
        return (_read_word(word[0], {}, {}) if damaged else None) or word[0]

    return _WORD.sub(read, text)


def _read_institution(text: str) -> str:
    """Return the name of an institution with its damaged words read letter by letter: "H0SPITAL DEL 0ESTE".

    Short words in capitals, such as "HU12O", may be acronyms with numbers. They are read only beside a longer damaged
    word.

    text (str): the mention.
    RETURNS (str): the name, in which the words that a line end breaks are joined.
    """
    found = [word for word in _WORD.findall(text) if _DAMAGED.search(word)]
    words = {word for word in found if sum(map(str.isalpha, word)) >= max(2, len(word) / 2)}
    if any(sum(map(str.isalpha, word)) > 2 and (len(word) > _LONGEST_CODE or not word.isupper()) for word in words):
        text = _WORD.sub(lambda word: (_read_word(word[0], {}, {}) if word[0] in words else "") or word[0], text)
    return _BROKEN.sub("", text)


def _read_kinds(text: str, lang: str) -> str:
    """Return the name of an institution in which the words for its kind are read: "KESKUSSA1RAALA", "C1inica".

    Only the letters of such a word at the end of a word are read, because Finnish names are compounds with it.
    """

    def read(word: re.Match[str]) -> str:
        form = _scanned(word[0])
        for kind, scanned in _scanned_kinds(lang) if len(form) >= _SHORTEST_KIND else ():
            if form.endswith(scanned) and len(form) == len(word[0]):
                old = word[0][len(form) - len(kind) :]
                if fold(old) == kind:
                    return word[0]
                head, capitals = word[0][: len(form) - len(kind)], sum(map(str.isupper, old)) > 1
                return head + (kind.upper() if capitals else kind if head or old[0].islower() else kind.capitalize())
        return word[0]

    return _WORD.sub(read, text)


@lru_cache(maxsize=4)
def _scanned_kinds(lang: str) -> Sequence[tuple[str, str]]:
    """Return the words for kinds of institutions with their form in a scan, the longest first."""
    kinds = [kind for kind in institution_words(lang) if kind.isalpha() and len(kind) >= _SHORTEST_KIND]
    return [(kind, _scanned(kind)) for kind in sorted(kinds, key=lambda kind: (-len(kind), kind))]


def read_spelled(text: str) -> tuple[str, str] | None:
    """Join the letters of a name that are separated in the same way: "V-i-r-t-a-n-e-n", "V i r t a n e n".

    Capitals with full stops ("J. A. C. M.") are initials.

    text (str): the mention of a person.
    RETURNS (Optional[tuple[str, str]]): the name and the separator of its letters; None for another mention.
    """
    found = _SPELLED.fullmatch(text)
    if not found:
        return None
    letters = _WORD.findall(text)
    few = len(letters) < _FEWEST_SPELLED or ("." in text and len(letters) < _LONGEST_CODE)
    return None if few or ("." in text and text.isupper()) else ("".join(letters), found[1])


def _is_spelled(text: str, lang: str) -> bool:
    """Return whether a name is spelled out: at least four letters or their names, and hardly another word."""
    words = _WORD.findall(fold(text))
    if len(words) < _FEWEST_SPELLED or "." in text:
        return False
    single = sum(len(word) == 1 for word in words)
    letters = sum(len(word) == 1 or word in _letter_names(lang) for word in words)
    return letters >= _FEWEST_SPELLED and (letters == len(words) or single >= _FEWEST_SPELLED)


@lru_cache(maxsize=4)
def _letter_names(lang: str) -> frozenset[str]:
    """Return the words that a language spells with, such as "alpha" and "double", folded."""
    return frozenset(map(fold, get_language(lang).read_toml("people.toml").get("spelling", {}).get("letters", ())))


def _has_damage(text: str) -> bool:
    """Return whether a mention may have a word that a scan damaged."""
    return any(_DAMAGED.search(word) or _WRONG_LETTER.search(word) for word in _WORD.findall(text))


def _scanned(word: str) -> str:
    """Return the form of a word in which all words that a scanner confuses with it are equal."""
    return read_scan(fold(word.translate(_MARKS)))


@lru_cache(maxsize=4)
def _listed_names(lang: str) -> Mapping[str, str]:
    """Return the listed names of a language by their form in a scan; the most frequent name of each form."""
    names = load_names(lang)
    found: dict[str, tuple[int, str]] = {}
    for name_type in NAME_TYPES:
        for folded, proper in names.proper[name_type].items():
            if folded.isalpha():
                form = read_scan(folded)
                found[form] = max(found.get(form, (0, "")), (1 + names.count(name_type, folded), proper))
    return {form: name for form, (_, name) in found.items()}


def _read_word(word: str, whole: Mapping[str, str], listed: Mapping[str, str]) -> str | None:
    """Return the name that a word is, in the capitals of the word; None if it is damaged and cannot be read.

    whole, listed (Mapping[str, str]): undamaged names of the note and listed names, by their form in a scan.
    """
    damaged = bool(_DAMAGED.search(word))
    if (not damaged and not _WRONG_LETTER.search(word)) or _INITIAL.fullmatch(word):
        return word
    form = _scanned(word)
    if not damaged:  # letters for letters, as in "BIethyn" and "Rarnos"
        name = whole.get(form) or (listed.get(form) if _WRONG_CAPITAL.search(word) else None)
        return _write_like(word, name) if name else word
    numbered = _NUMBERED.fullmatch(word)
    if name := whole.get(form) or listed.get(form):
        return _write_like(word, name)
    if _ORDINAL.fullmatch(word) or (numbered and _scanned(numbered[1]) in whole.keys() | listed.keys()):
        return word
    read = "I" if re.match("[1|l](?![aeiouyl1|])", word) else ""
    for i, char in enumerate(word[len(read) :], len(read)):
        new = _READ.get(char, char)
        alone = not {read[-1:].lower(), word[i + 1 : i + 2].lower()} & _VOWELS
        read += "i" if new == "l" != char and alone else new
    return _write_like(word, read) if read.isalpha() else None


def _write_like(word: str, name: str) -> str:
    """Write a name in capitals, in lower case or with an initial capital, as a damaged word is written."""
    letters = [char for char in word if char.isalpha() and char != "l"]  # "lSABEL"
    if all(map(str.isupper, letters)):
        return name.upper()
    if word[0].islower() and word[0] != "l":
        return name.lower()
    return name.capitalize() if name.isupper() else name[0].upper() + name[1:]
