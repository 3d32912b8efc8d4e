"""Make surrogates of Finnish institutions, whose names are inflected compounds and phrases.

The noun for the kind of institution keeps its case, and the genitive before it is replaced: "Meilahden sairaalassa"
becomes "Hirvilahden sairaalassa", "Siltasairaalaan" "Kuusisairaalaan" and "Hoivakoti Kotkarinteestä" "Hoivakoti
Niittyrinteestä". A name without such a noun is replaced as a whole, in its case.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..places import InstitutionSurrogates, common_surnames, place_words, read_list, word_set
from ..text import fold, match_style, redraw, tokens
from .inflection import inflect, inflect_acronym
from .morphology import guess_case, index_forms

Words = Sequence[tuple[str, str]]  # (text before the word, word)

_ACRONYM = re.compile(r"([A-ZÅÄÖ]{2,7})(:[A-Za-zÅÄÖåäö]+|[a-zåäö]{1,4})?")
_SHORTEST_STEM = 3
_LONGEST_PLACE = 3  # words
_POSSESSIVES = frozenset("mme nne nsa".split())  # folded
_POSSESSIVE = 3  # letters
_COMPANY_FORMS = frozenset("oy oyj ab ky ry tmi inc ltd".split())


def replace_institution(name: str, label: str, variant: int, surrogates: InstitutionSurrogates) -> str | None:
    """Make a surrogate for the name of a Finnish institution.

    name (str): the name as written, without punctuation around it.
    label (str): label of the mention. A name without a noun for its kind is replaced by a company if the label is
        ORGANIZATION, else by a clinic; the proper name in a HOSPITAL is replaced by one from a list for hospitals.
    variant (int): number by which different surrogates for the same name are made; 0 for the usual one.
    surrogates (InstitutionSurrogates): keeps the surrogates of a note consistent and different from each other.
    RETURNS (Optional[str]): surrogate in the case of the original; None if none can be made.
    """
    return _Institution(name, label, str(variant), surrogates).replace()


@dataclass(frozen=True)
class _Institution:
    """One name that is replaced; the fields are the arguments of `replace_institution`."""

    name: str
    label: str
    variant: str
    surrogates: InstitutionSurrogates

    def replace(self) -> str | None:
        """Return the surrogate, None if there is none."""
        if (acronym := self._replace_acronym(self.name)) is not None:
            return acronym
        words = _split_words(self.name)
        kinds = [i for i, (_, word) in enumerate(words) if _kind_ending(word)]
        if not kinds:
            return self._replace_possessed() or self._replace_whole()
        made = self._replace_parts(words, kinds)
        if made != self.name:
            return made if made and self.surrogates.take("institution", made) else None
        return self._replace_kind(words) or self._replace_whole()

    def _replace_possessed(self) -> str | None:
        """Replace a name whose noun has a possessive suffix, and keep the suffix: "Oriveden terveysasemaltamme". None
        if there is no such noun.
        """
        base, suffix = self.name[:-_POSSESSIVE], self.name[-_POSSESSIVE:]
        if fold(suffix) not in _POSSESSIVES or not base:
            return None
        for lost in ("", "n"):  # of the genitive and the illative, before the suffix
            ending = _kind_ending(_split_words(base + lost)[-1][1])
            if ending:
                made = replace(self, name=base + lost).replace()
                return made[: len(made) - len(lost)] + suffix if made and made.endswith(ending) else None
        return None

    def _replace_acronym(self, word: str) -> str | None:
        """Replace an acronym and keep its ending; None if the word is none, or has no surrogate. A listed acronym is
        also recognized in lower case: "Taysissa".
        """
        found = _ACRONYM.fullmatch(word)
        if found and (_is_acronym(found[1]) or found[2]):
            made = self.surrogates.acronym(found[1])
            return made and made + (found[2] or "")
        folded = fold(word).split(":")[0]
        base = next((known for known in _known_acronyms() if folded.startswith(known)), "")
        if base and len(folded) - len(base) <= 4 and len(word.split()) == 1:
            made = self.surrogates.acronym(word[: len(base)])
            return made and made + word[len(base) :]
        return None

    def _replace_parts(self, words: Words, kinds: Sequence[int]) -> str | None:
        """Replace the places and the proper words of a name; None if one of them has no surrogate."""
        out, i = [], 0
        while i < len(words):
            length, new = self._replace_place(words, i)
            if i + 1 < len(words) and words[i + 1][0].startswith(("- ", "-,")):
                length, new = 1, words[i][1]  # the first half of "sosiaali- ja terveyskeskus"
            elif not length:
                length, new = 1, self._replace_word(words[i][1], i, kinds, len(words))
            if new is None:
                return None
            out.append(words[i][0] + new)
            i += length
        return "".join(out)

    def _replace_place(self, words: Words, start: int) -> tuple[int, str | None]:
        """Replace the longest place that begins at a word. Returns its number of words, 0 if there is none, and the
        surrogate, None if there is none.
        """
        first = words[start][1]
        if not first[:1].isalpha() or (not self.name.islower() and first[0].islower()):
            return 0, None
        for length in range(_LONGEST_PLACE, 0, -1):
            taken = words[start : start + length]
            text = taken[0][1] + "".join(gap + word for gap, word in taken[1:])
            if len(text) > 1 and (found := self.surrogates.place(text)):
                made, case = found
                return len(taken), made and match_style(inflect(made, case, kind="place"), text)
        return 0, None

    def _replace_word(self, word: str, i: int, kinds: Sequence[int], length: int) -> str | None:
        """Replace one word: a number, a kind with a name before it, an acronym or a proper name; None without a
        surrogate.
        """
        folded = fold(word)
        if not word or folded in _small_words() or (len(word) == 1 and word.islower()):
            return word  # a single letter is the ending of "ry:n"
        if word[0].isdigit() or len(word) == 1:
            draw = self.surrogates.draw("number", folded, self.variant)
            return next((new for _ in range(20) if (new := redraw(word, draw, letters="ABCDEF")) != word), None)
        if i in kinds:
            return self._replace_first_part(word)
        if not self.name.isupper() and _ACRONYM.fullmatch(word) and _is_acronym(word.split(":")[0]):
            return self._replace_acronym(word)
        return self._replace_proper(word, last=i == length - 1 or all(j < i for j in kinds))

    def _replace_first_part(self, word: str) -> str | None:
        """Replace the first part of a compound if it is a name: "Siltasairaala", but not "Terveyskeskus". Other words
        are returned unchanged; None if there is no surrogate.
        """
        end = _kind_ending(word)
        if (
            fold(word) in _kinds()
            or len(word) - len(end) < _SHORTEST_STEM
            or not (word[0].isupper() or self.name.islower())
            or fold(word[: -len(end)]) in word_set(_words(), "first_parts")
        ):
            return word
        return self._replace_compound(word, end)

    def _replace_proper(self, word: str, *, last: bool) -> str | None:
        """Replace a proper name: before the noun in the genitive, after it in the case that its ending suggests. None
        if there is no surrogate.
        """
        listed, case = _listed_names().get(fold(word), ("", ""))
        tail = "" if listed else _tail(word)
        if tail and len(word) - len(tail) >= _SHORTEST_STEM:
            return self._replace_compound(word, tail)
        if not listed and not last and fold(word).endswith("n") and not fold(word).endswith("nen"):
            made = self.surrogates.town(word)
            return made and match_style(inflect(made, "gen", kind="place"), word)
        options: list[str] = _words()["names"] if self.label == "HOSPITAL" else common_surnames("fi", 299)
        made = self.surrogates.pick("proper", options, fold(listed or word), self.variant)
        return made and match_style(inflect(made, case or guess_case(word), kind="surname"), word)

    def _replace_compound(self, word: str, end: str) -> str | None:
        """Replace the first part of a compound and keep its last part; None if no surrogate is free."""
        options = [stem + end.lower().lstrip("-") for stem in _words()["stems"]]
        made = self.surrogates.pick("proper", options, fold(word), self.variant)
        return made and match_style(made, word)

    def _replace_kind(self, words: Words) -> str | None:
        """Replace the noun of a name without a proper part by a similar one: "poliklinikalla" by "klinikalla". None if
        it has no similar noun.
        """
        options: list[str] = []
        for i, (_, word) in enumerate(words):
            noun, case = _sibling_forms().get(fold(word), ("", ""))
            others = next((group for group in _siblings() if noun in group), [])
            forms = (match_style(inflect(other, case, kind="noun"), word) for other in others if other != noun)
            options += ["".join(g + (form if j == i else w) for j, (g, w) in enumerate(words)) for form in forms]
        return self.surrogates.pick(
            "institution", options, "sibling", *(fold(word) for _, word in words), self.variant
        )

    def _replace_whole(self) -> str | None:
        """Replace a name without a noun for its kind, a company or a clinic, in the case of its last word; None if no
        surrogate is free.
        """
        name, folded = self.name, fold(self.name)
        if (group := _kindred().get(folded)) is not None:
            number, listed, case = group
            options = _words()["kindred"][number]
            made = self.surrogates.pick("institution", options, "kindred", listed, self.variant)
            return made and match_style(inflect(made, case, kind="noun"), name)
        tail = _tail(name)
        if tail and " " not in name and len(name) - len(tail) >= _SHORTEST_STEM and folded not in _company_forms():
            return self._replace_compound(name, tail)
        options = _words()["companies" if self.label == "ORGANIZATION" else "clinics"]
        known, case = _company_forms().get(folded, (name, guess_case(name.split()[-1])))
        made = self.surrogates.pick("institution", options, "company", fold(known), self.variant)
        if made is None or case == "nom":
            return made
        head, _, last = made.rpartition(" ")
        return f"{head} {inflect_acronym(last, case) if last.isupper() else inflect(last, case, kind='noun')}".strip()


def _words() -> Mapping[str, Any]:
    words: Mapping[str, Any] = place_words("fi")["institutions"]
    return words


def _split_words(name: str) -> list[tuple[str, str]]:
    """Split a name into words; words that a hyphen joins are one."""
    out: list[tuple[str, str]] = []
    for gap, word in tokens(name):
        if gap == "-" and out and out[-1][1].isalpha() and word.isalpha():
            out[-1] = (out[-1][0], f"{out[-1][1]}-{word}")
        else:
            out.append((gap, word))
    return out


def _is_acronym(word: str) -> bool:
    """Whether letters in capitals are few enough for an acronym."""
    return 2 <= len(word) <= 6 and word.isupper()


@cache
def _known_acronyms() -> tuple[str, ...]:
    """Return the listed acronyms of three letters or more, folded, the longest first."""
    known = sorted(map(fold, _words()["acronyms"].split()), key=len, reverse=True)
    return tuple(name for name in known if len(name) > 2)


@cache
def _siblings() -> Sequence[Sequence[str]]:
    """Return the groups of nouns that can replace each other."""
    return [line.split() for line in _words()["siblings"]]


@cache
def _sibling_forms() -> Mapping[str, tuple[str, str]]:
    """Map the forms of the nouns of `_siblings` to (nominative, case)."""
    return index_forms((noun for group in _siblings() for noun in group), "noun")


@cache
def _kindred() -> Mapping[str, tuple[int, str, str]]:
    """Map the forms of names that are only replaced within their group, such as schools, to (group, name, case)."""
    groups = enumerate(_words()["kindred"])
    return {form: (i, *found) for i, names in groups for form, found in index_forms(names, "noun").items()}


@cache
def _company_forms() -> Mapping[str, tuple[str, str]]:
    """Map the forms of companies and hospitals of one word to (name, case)."""
    listed = [name for path in ("organizations", "hospitals") for name in read_list("fi", f"synth/lists/{path}.txt")]
    known = [*_words()["companies"], *_words()["known_companies"], *_words()["known_clinics"]]
    return index_forms([*known, *(name for name in listed if " " not in name)], "noun")


@cache
def _listed_names() -> Mapping[str, tuple[str, str]]:
    """Map the forms of nouns that institutions are named after ("Silta", "Sillassa") to (nominative, case)."""
    return index_forms([*_words()["names"], *_words()["stems"]], "noun")


@cache
def _kinds() -> Mapping[str, tuple[str, str]]:
    """Map the forms of nouns for kinds of institutions to (nominative, case)."""
    return index_forms(str(_words()["kinds"]).split(), "noun")


@cache
def _small_words() -> frozenset[str]:
    """Return words that stay: function words, company forms, and adjectives of kinds in all cases, folded."""
    adjectives = index_forms((w for w in str(_words()["adjectives"]).split() if not w.endswith("-")), "noun")
    return word_set(_words(), "small") | frozenset(adjectives) | _COMPANY_FORMS


@cache
def _tails() -> Mapping[str, tuple[str, str]]:
    """Map the forms of last parts of names to (nominative, case)."""
    return index_forms(str(_words()["tails"]).split(), "noun")


def _kind_ending(word: str) -> str:
    """Return the noun for a kind that a word is or ends in; "" if there is none."""
    return word if len(fold(word)) == len(word) and fold(word) in _kinds() else _longest_ending(word, _kinds())


def _tail(word: str) -> str:
    """Return the last part of a compound name, in its case; "" if there is none."""
    return _longest_ending(word, _tails())


def _longest_ending(word: str, forms: Mapping[str, tuple[str, str]]) -> str:
    """Return the longest ending of a word that is a form, of more than three letters."""
    folded = fold(word)
    if len(folded) != len(word):
        return ""
    return next((word[i:] for i in range(1, len(word) - 2) if folded[i:] in forms and len(word) - i > 3), "")
