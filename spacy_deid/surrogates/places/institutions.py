"""Replace the names of hospitals, health centres, employers and schools.

The words for the kind of institution are kept, town and proper name are replaced: "Hospital General de Segovia"
becomes "Hospital General de Soria", "St. Mary's Medical Center" "St. Luke's Medical Center". A town has the same
surrogate as elsewhere in the note. In a name without a proper part, another word changes: "Hospital General" becomes
"Hospital Comarcal". Acronyms become acronyms. A language with more complex grammar can define its own function
(`PlaceConventions.replace_institution`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rapidfuzz.distance import OSA

from ...lang import all_languages, get_language
from ...lang.places import listed, place_words, word_set
from ...lang.text import fold, match_style, redraw, split_marks, tokens
from ..keys import Draw
from ..mention import Mention
from .gazetteer import ABROAD, Place
from .geography import Geography
from .state import NoteState

PartType = Literal["kind", "small", "place", "proper", "number", "acronym"]

_TRIES = 6
_WORDS_OF_DAY = 3
_STAY = ("kind", "small")
_ROMAN_NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_ROMAN = re.compile(r"[IVX]{1,5}")
_LONGEST_PLACE = 5  # words
_LARGE = 3  # band of a town of 30,000

_LONG_HEAD = 7  # letters of a noun for an institution in which typing errors are recognized
_NEAR = 5  # words before a name that can tell its kind
_WORD = re.compile(r"[^\W\d_]+")
_ACRONYM = re.compile(r"(?:[A-ZÁÉÍÓÚÄÖÅ][.\d]*){2,7}|[A-ZÁÉÍÓÚÄÖÅ](?:&|-)[A-Z]{1,4}|[A-ZÄÖÅ]{2,4}[a-z]?[A-ZÄÖ]+")
_VOWELS = "AOUEIÄÖYÅÁÉÍÓÚ"
_CONSONANTS = "BCDFGHLMNPRST"
_LONGEST_ACRONYM = 6  # letters


@dataclass(slots=True)
class Part:
    """A part of an institution's name: one or more consecutive words of the same type.

    gap (str): the text between the part before and this one.
    text (str): the words, with the text between them.
    type (PartType): "kind" (a word for the kind of institution) and "small" (a function word) are kept; a "place",
        a "proper" name, a "number" and an "acronym" are replaced.
    place (Optional[Place]): the place that a part of type "place" names.
    """

    gap: str
    text: str
    type: PartType
    place: Place | None = None


def replace_institution(mention: Mention, geography: Geography) -> str | None:
    """Replace the name of an institution. In a note, the same name always gets the same surrogate.

    mention (Mention): a mention with the label HOSPITAL, HEALTH_CENTER, ORGANIZATION or DEPARTMENT.
    geography (Geography): replaces the places in the name.
    RETURNS (Optional[str]): the surrogate, with the capitals and punctuation of the mention; None if there is none.
    """
    before, core, after = split_marks(mention.text)
    if not core:
        return None
    decision = ("institution", fold(core), mention.label, mention.variant)
    made = geography.state.once(decision, lambda: _replace(core, mention, geography))
    return before + match_style(made, core) + after if made else None


def _replace(core: str, mention: Mention, geography: Geography) -> str | None:
    """Return the surrogate of a name that has no punctuation around it; None if there is none."""
    state, conventions = geography.state, get_language(geography.lang).places
    if conventions.replace_institution is not None:
        surrogates = _VariantSurrogates(state, geography, mention.variant)
        return conventions.replace_institution(core, mention.label, mention.variant, surrogates)
    if is_acronym(core):
        return replace_acronym(core, state, mention.variant)
    words = place_words(state.lang).get("institutions")
    if words is None:
        return None
    parts = split_name(core, geography)
    if all(part.type in _STAY for part in parts):
        made = _replace_kind(core, state, mention.variant)
        kind = next((part for part in parts if part.type == "kind"), None)
        if made or not conventions.kind_may_be_name or len(parts) == 1 or kind is None:
            return made
        kind.type = "proper"  # "Station Physicians"
    if mention.label == "ORGANIZATION" and all(part.type in ("proper", "small", "place") for part in parts):
        options = _names_of_setting(core, mention, geography)
        return state.pick("institution", options, "company", fold(core), str(mention.variant))
    for attempt in range(_TRIES):
        made = _rewrite(parts, geography, mention.variant, attempt)
        if made is None or state.take("institution", made):
            return made
    return None


def find_setting(mention: Mention, lang: str) -> int | None:
    """Find out from the words of a name and the words before it what kind of organization it names.

    mention (Mention): a mention with the label ORGANIZATION.
    lang (str): ISO 639-1 code.
    RETURNS (Optional[int]): index in ``settings`` of places.toml, such as nurseries; None if no word tells the kind.
    """
    settings = place_words(lang).get("institutions", {}).get("settings", ())
    before = [fold(word) for word in _WORD.findall(mention.before.rpartition("\n")[2].rpartition(". ")[2])]
    own = [fold(word) for word in _WORD.findall(mention.text)]
    skipped = institution_words(lang) | institution_words(lang, "small")
    for words, key in ((own, "words"), (before[-_NEAR:][::-1], "cues")):
        for word in words:
            found = next((i for i, setting in enumerate(settings) if word in word_set(setting, key)), None)
            if found is not None:
                return found
            if key == "cues" and word not in skipped:
                break
    return None


def _names_of_setting(core: str, mention: Mention, geography: Geography) -> Sequence[str]:
    """Return names for an organization without a word for its kind: those of its setting, makers, or companies.

    A listed maker of drugs or devices, or one in brackets, is replaced by an invented one.
    """
    words = place_words(geography.lang).get("institutions", {})
    setting = geography.settings.get(fold(core))
    if setting is not None:
        return list(words["settings"][setting]["names"])
    makers = listed(words, "makers")
    known = map(fold, listed(words, "known_makers"))
    is_maker = mention.before.rstrip().endswith(("(", "®", "™")) or fold(core) in known
    return makers if is_maker and makers else listed(words, "companies")


@dataclass(frozen=True)
class _VariantSurrogates:
    """Implements `spacy_deid.lang.places.InstitutionSurrogates`, with which a language draws surrogates for one
    variant.
    """

    state: NoteState
    geography: Geography
    variant: int

    def pick(self, family: str, options: Sequence[str], *context: str) -> str | None:
        return self.state.pick(family, options, *context)

    def take(self, family: str, value: str) -> bool:
        return self.state.take(family, value)

    def draw(self, *context: str) -> Draw:
        return self.state.draw(*context)

    def acronym(self, word: str) -> str | None:
        return replace_acronym(word, self.state, self.variant)

    def place(self, text: str) -> tuple[str | None, str] | None:
        found = self.geography.find(text)
        return found and (self.geography.place(found[0], self.variant), found[1])

    def town(self, text: str) -> str | None:
        return self.geography.unknown(text, self.variant)


def _rewrite(parts: Sequence[Part], geography: Geography, variant: int, attempt: int) -> str | None:
    """Replace the parts of a name except those of types that are kept; None if a part has no surrogate."""
    out, state = [], geography.state
    conventions = get_language(state.lang).places
    for i, part in enumerate(parts):
        if part.type in _STAY:
            out.append(part.gap + part.text)
            continue
        context, new = (fold(part.text), str(attempt), str(variant)), None
        if part.type == "place" and part.place is not None:
            new = geography.place(part.place, variant + attempt)
        elif part.type == "acronym":
            new = replace_acronym(part.text, state, variant)
        elif part.type == "number":
            draw = state.draw("number", *context)
            if part.text[0] in "IVX" and part.text.isupper() and len(part.text) > 1:
                new = draw.choice([number for number in _ROMAN_NUMERALS if number != part.text])
            else:
                new = next((new for _ in range(20) if (new := redraw(part.text, draw)) != part.text), None)
        else:
            before = [earlier.text for earlier in parts[:i]]
            names = _names_like_kind(before, state.lang) or conventions.institution_names(part.text, before)
            new = state.pick("proper", names, *context) if names is not None else geography.unknown(part.text, variant)
        if new is None:
            return None
        out.append(part.gap + match_style(new, part.text))
    return "".join(out)


def _names_like_kind(before: Sequence[str], lang: str) -> Sequence[str]:
    """Return names for the proper part of an institution, if its kind has names of its own; otherwise ()."""
    settings = place_words(lang).get("institutions", {}).get("settings", ())
    words = {fold(word) for word in before}
    own = (setting for setting in settings if setting.get("own_names") and words & word_set(setting, "cues"))
    return next((setting["names"] for setting in own), ())


def _replace_kind(core: str, state: NoteState, variant: int) -> str | None:
    """Replace the last word that has alternatives in places.toml: "Hospital General" becomes "Hospital Comarcal". None
    if no word has any, or none is free.
    """
    lines = [line.split() for line in place_words(state.lang)["institutions"].get("siblings", [])]
    words = tokens(core)
    for i, (gap, word) in reversed(list(enumerate(words))):
        group = next((line for line in lines if fold(word) in map(fold, line)), ())
        others = [match_style(other, word) for other in group if fold(other) != fold(word)]
        options = ["".join(g + w for g, w in (*words[:i], (gap, other), *words[i + 1 :])) for other in others]
        if options:
            return state.pick("institution", options, "sibling", fold(core), str(variant))
    return None


def institution_words(lang: str, key: str = "kinds") -> frozenset[str]:
    """Return the words of one list for names of institutions, folded; empty if the language has none.

    lang (str): ISO 639-1 code.
    key (str): name of the list in places.toml: "kinds" (words for kinds of institutions), "small" (function
        words), "titles" or "heads" (nouns for institutions).
    """
    return word_set(place_words(lang).get("institutions", {}), key)


def is_institution(text: str, lang: str) -> bool:
    """Whether a text contains a noun for an institution, such as "hospital"."""
    heads = institution_words(lang, "heads")
    return bool(heads) and any(fold(word) in heads for _, word in tokens(text))


# --- the parts of a name ---


def split_name(core: str, geography: Geography) -> list[Part]:
    """Split the name of an institution into parts of different types, such as a place and a proper name.

    core (str): the name, without punctuation around it.
    geography (Geography): finds the places in the name.
    RETURNS (list[Part]): the parts in order. Their gaps and texts, joined, are the name.
    """
    words = tokens(core)
    mixed = not (core.isupper() or core.islower())  # then a place must begin with a capital
    parts: list[Part] = []
    i = 0
    while i < len(words):
        gap, word = words[i]
        if day := _find_day(words[i:], geography.lang):
            parts.append(Part(gap, _join(words[i : i + day]), "proper"))
            i += day
            continue
        if i == 0 and (initials := _count_initials(words, geography.lang)):
            parts += [Part(*pair, "kind") for pair in words[:initials]]
            i = initials
            continue
        possible = word[:1].isalpha() and (word[0].isupper() or not mixed)
        for length in range(min(_LONGEST_PLACE, len(words) - i) if possible else 0, 0, -1):
            text = _join(words[i : i + length])
            if len(text) > 2 and (found := geography.find(text)):
                break
        else:
            found = None
        if found and _is_meant_as_place(found[0], word, parts, geography.lang):
            parts.append(Part(gap, text, "place", found[0]))
            i += length
            continue
        following = words[i + 1][1] if i + 1 < len(words) else ""
        parts.append(Part(gap, word, _type_of(word, following, geography.lang, mixed)))
        i += 1
    return list(_join_proper(parts))


def _count_initials(words: Sequence[tuple[str, str]], lang: str) -> int:
    """Return the number of words of a listed abbreviation at the beginning of a name, such as "H." or "C.M."; 0 if
    there is none, or nothing behind it.

    words (Sequence[tuple[str, str]]): (gap, word) pairs of the name.
    """
    listed = institution_words(lang, "initials")
    letters = 1
    single = [len(word) == 1 and word.isalpha() for _, word in words]
    while letters < len(words) and single[0] and single[letters] and "." in words[letters][0]:
        letters += 1
    found = fold("".join(word for _, word in words[:letters])) in listed
    return letters if found and any(word for _, word in words[letters:]) else 0


def _find_day(words: Sequence[tuple[str, str]], lang: str) -> int:
    """Return the number of words of a day ("12 de Octubre") at the beginning of (gap, word) pairs; 0 if none."""
    pattern = get_language(lang).places.named_day
    day = words[:_WORDS_OF_DAY]
    return len(day) if pattern and len(day) == _WORDS_OF_DAY and pattern.fullmatch(_join(day)) else 0


@cache
def _words_before_places() -> frozenset[str]:
    """Return the prepositions that precede a place in a name, in all languages: "de", "of"."""
    return frozenset().union(*(language.places.before_places for language in all_languages()))


@cache
def _words_after_titles() -> frozenset[str]:
    """Return the words that can follow a title within a proper name, in all languages: "de" in "Marqués de
    Valdecilla".
    """
    return frozenset().union(*(language.places.after_titles for language in all_languages()))


def _join(words: Sequence[tuple[str, str]]) -> str:
    """Join (gap, word) pairs to a text, without the gap before the first word."""
    return words[0][1] + "".join(gap + word for gap, word in words[1:])


def _is_meant_as_place(place: Place, word: str, parts: Sequence[Part], lang: str) -> bool:
    """Whether a word that is the name of a place really means the place, and not a saint or a person with that name.

    It means the place after a preposition ("de", "of"), and after a word for the kind of institution if the place
    is large. Anywhere else, the name of a saint or a person is more likely.
    """
    conventions, titles = get_language(lang).places, institution_words(lang, "titles")
    last = parts[-1] if parts else None
    named = next((part for part in reversed(parts) if part.type != "small"), None)
    large = place.band >= _LARGE and not place.region.startswith(ABROAD)
    if last is not None and last.type == "small" and fold(last.text) in _words_before_places():
        return named is None or named.type != "proper" or large
    if (last is not None and last.type in ("proper", "small")) or fold(word) in institution_words(lang) | titles:
        return False
    titled = last is not None and fold(last.text) in titles
    if conventions.towns_are_names:
        return large and not titled and fold(word) not in conventions.not_towns
    return not titled


def _type_of(word: str, following: str, lang: str, mixed: bool) -> PartType:
    """Determine the type of one word in the name of an institution, as in `Part`.

    following (str): the next word.
    mixed (bool): whether the name has both upper and lower case letters.
    """
    folded, kinds, small = fold(word), institution_words(lang), institution_words(lang, "small")
    if folded in institution_words(lang, "titles"):
        named = fold(following) not in kinds | small or fold(following) in _words_after_titles()
        return "kind" if following and named else "proper"
    if not word or folded in small:
        return "small"
    if folded.removesuffix("'s").removesuffix("’s") in kinds or folded in kinds or _is_misspelt_head(folded, lang):
        return "kind"
    if mixed and len(word) == 1 and word.islower():
        return "small"
    if word[0].isdigit() or (len(word) == 1 and word.isalpha()) or _ROMAN.fullmatch(word):
        return "number"
    if mixed and word.islower() and folded not in get_language(lang).places.lower_case_names:
        return "kind"
    return "acronym" if mixed and is_acronym(word) else "proper"


@cache
def _is_misspelt_head(folded: str, lang: str) -> bool:
    """Whether a folded word is a noun for an institution with a typing error ("hosptial")."""
    heads = (head for head in institution_words(lang, "heads") | {"hospital"} if len(head) >= _LONG_HEAD)
    return len(folded) >= _LONG_HEAD - 1 and any(OSA.distance(folded, head, score_cutoff=1) <= 1 for head in heads)


def _join_proper(parts: Sequence[Part]) -> Iterator[Part]:
    """Join consecutive parts of type "proper", and the function words between them, to one part."""
    waiting: list[Part] = []  # function words that may be inside a name
    last: Part | None = None
    for part in parts:
        continues = part.type == "proper" and all(not p.gap.strip(" ") for p in (*waiting, part))
        if last is not None and last.type == "proper" and continues:
            last.text += "".join(p.gap + p.text for p in (*waiting, part))
            waiting = []
        elif last is not None and last.type == "proper" and part.type == "small" and part.text:
            waiting.append(part)
        else:
            if last is not None:
                yield last
            yield from waiting
            waiting, last = [], part
    if last is not None:
        yield last
    yield from waiting


# --- acronyms ---


def is_acronym(word: str) -> bool:
    """Whether a word has the form of an acronym, such as "HUCA", "HU12O" or "AT&T".

    word (str): a word of a text that is not all in capitals.
    RETURNS (bool): True for an acronym of two to six letters.
    """
    return sum(map(str.isalpha, word)) <= _LONGEST_ACRONYM and _ACRONYM.fullmatch(word) is not None


def replace_acronym(word: str, state: NoteState, variant: int) -> str | None:
    """Replace an acronym by an invented one of the same form.

    word (str): the acronym, without a case ending.
    state (NoteState): draws the surrogates of the note.
    variant (int): variant of the mention; see `Mention`.
    RETURNS (Optional[str]): an acronym of the same length, with vowels, consonants, digits and capitals in the
        same positions, which is on no list of real acronyms or words; None if none is free.
    """
    conventions = get_language(state.lang).places
    vowels, fixed = conventions.acronym_vowels(word), len(word) - 1 if conventions.acronym_keeps_last else -1

    def make(draw: Draw) -> str:
        letters = []
        for i, letter in enumerate(word):
            new = letter
            if letter.isdigit():
                new = str(1 + draw.below(9))
            elif i != fixed and letter.isalpha():
                new = draw.choice(vowels if letter.upper() in _VOWELS else _CONSONANTS)
            letters.append(new if letter.isupper() else new.lower())
        return "" if fold(new := "".join(letters)) in _excluded_acronyms(state.lang) else new

    return state.retry("acronym", make, "acronym", fold(word), str(variant))


@cache
def _excluded_acronyms(lang: str) -> frozenset[str]:
    """Return what a new acronym must not be: a listed acronym, or a short, offensive or medical word."""
    listed = str(place_words(lang).get("institutions", {}).get("acronyms", ""))
    return frozenset(map(fold, listed.split())).union(*(each.places.not_acronyms for each in all_languages()))
