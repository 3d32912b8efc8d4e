"""Finnish institutions: the noun for the kind keeps its case, what stands before it in the genitive changes.

"Meilahden sairaalassa" becomes "Hirvilahden sairaalassa", "Siltasairaalaan" "Kuusisairaalaan" and "Hoivakoti
Kotkarinteestä" "Hoivakoti Niittyrinteestä". A name without a noun for its kind is replaced as a whole, in its case.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..inflection.finnish_acronyms import inflect_acronym
from ..mention import Mention
from ..persons import fold
from .acronyms import is_acronym, replace_acronym
from .finnish_forms import forms_of, guess_case, in_case, place_forms
from .gazetteer import load_words, read_lines
from .geography import Geography
from .state import Note
from .writing import dress, redraw, tokens

__all__ = ["replace_finnish"]

_ACRONYM = re.compile(r"([A-ZÅÄÖ]{2,7})(:[A-Za-zÅÄÖåäö]+|[a-zåäö]{1,4})?")
_SHORTEST_STEM = 3
_COMPANIES = frozenset("oy oyj ab ky ry tmi inc ltd".split())


def replace_finnish(core: str, mention: Mention, note: Note, geography: Geography) -> str | None:
    """Replace the name of an institution.

    core (str): the name, without marks around it.
    mention (Mention): where it stands.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    RETURNS (Optional[str]): the surrogate; None if there is none.
    """
    if (acronym := _acronym(core, note, mention.variant)) is not None:
        return acronym
    words = _words(core)
    kinds = [i for i, (_, word) in enumerate(words) if _kind_end(word)]
    if not kinds:
        return _whole(core, note, mention)
    made = _parts(words, kinds, note, geography, mention)
    if made != core:
        return made if made and note.take("institution", made) else None
    return _sibling(words, note, mention.variant) or _whole(core, note, mention)


def _words(core: str) -> list[tuple[str, str]]:
    """The words of a name; what a hyphen joins is one."""
    out: list[tuple[str, str]] = []
    for gap, word in tokens(core):
        if gap == "-" and out and out[-1][1].isalpha() and word.isalpha():
            out[-1] = (out[-1][0], f"{out[-1][1]}-{word}")
        else:
            out.append((gap, word))
    return out


def _parts(
    words: Sequence[tuple[str, str]], kinds: list[int], note: Note, geography: Geography, mention: Mention
) -> str | None:
    """A name with another place and other proper words; None if there are none."""
    out, i = [], 0
    while i < len(words):
        length, new = _place(words, i, note, geography, mention)
        if i + 1 < len(words) and words[i + 1][0].startswith(("- ", "-,")):
            length, new = 1, words[i][1]  # "sosiaali- ja terveyskeskus"
        elif not length:
            length, new = 1, _word(words[i][1], i, kinds, len(words), note, geography, mention)
        if new is None:
            return None
        out.append(words[i][0] + new)
        i += length
    return "".join(out)


def _place(
    words: Sequence[tuple[str, str]], start: int, note: Note, geography: Geography, mention: Mention
) -> tuple[int, str | None]:
    """The longest place that begins at a word, "Päijät-Hämeen": its words, and its surrogate in its case."""
    if not words[start][1][:1].isalpha() or (not mention.text.islower() and words[start][1][0].islower()):
        return 0, None
    for length in (3, 2, 1):
        taken = words[start : start + length]
        text = taken[0][1] + "".join(gap + word for gap, word in taken[1:])
        if len(text) > 1 and fold(text) in place_forms() and (found := geography.find(text)):
            made = geography.place(found[0], mention.variant)
            return len(taken), made and dress(in_case(made, found[1]), text)
    return 0, None


def _acronym(core: str, note: Note, variant: int) -> str | None:
    """The surrogate of an acronym with its ending, also of a known one in small letters: "Taysissa"."""
    found = _ACRONYM.fullmatch(core)
    if found and (is_acronym(found[1]) or found[2]):
        made = replace_acronym(found[1], note, variant)
        return made and made + (found[2] or "")
    folded = fold(core).split(":")[0]
    base = next((known for known in _acronyms() if folded.startswith(known)), "")
    if base and len(folded) - len(base) <= 4 and len(core.split()) == 1:
        made = replace_acronym(core[: len(base)], note, variant)
        return made and made + core[len(base) :]
    return None


@cache
def _acronyms() -> tuple[str, ...]:
    """Known acronyms, folded, the longest first."""
    known = sorted(map(fold, load_words("fi")["institutions"]["acronyms"].split()), key=len, reverse=True)
    return tuple(name for name in known if len(name) > 2)


def _word(
    word: str, i: int, kinds: list[int], length: int, note: Note, geography: Geography, mention: Mention
) -> str | None:
    """One word of a name that tells its kind."""
    folded, variant = fold(word), mention.variant
    if not word or folded in _small():
        return word
    if len(word) == 1 and word.islower():
        return word  # the ending behind a colon: "ry:n"
    if word[0].isdigit() or len(word) == 1:
        draw = note.draw("number", folded, str(variant))
        return next((new for _ in range(20) if (new := redraw(word, draw, letters="ABCDEF")) != word), None)
    if i in kinds:
        return _kind(word, note, mention)
    if _is_acronym(word, mention.text):
        return _acronym(word, note, variant)
    last = i == length - 1 or all(j < i for j in kinds)
    return _proper(word, note, geography, mention, last=last)


def _is_acronym(word: str, text: str) -> bool:
    """Whether a word is an acronym in a name that is not all capitals."""
    return not text.isupper() and _ACRONYM.fullmatch(word) is not None and is_acronym(word.split(":")[0])


def _proper(word: str, note: Note, geography: Geography, mention: Mention, *, last: bool) -> str | None:
    """A name: behind the noun with the case that its ending tells, before it in the genitive."""
    variant = mention.variant
    tail = _tail(word)
    if tail and len(word) - len(tail) >= _SHORTEST_STEM:
        return _compound(word, tail, note, variant)
    case = guess_case(word)
    if not last and fold(word).endswith("n") and not fold(word).endswith("nen"):
        made = geography.unknown(word, variant)
        return made and dress(in_case(made, "gen"), word)
    names: list[str] = load_words("fi")["institutions"]["names"]
    pool = names if mention.label == "HOSPITAL" else _surnames()
    made = note.pick("proper", pool, fold(word), str(variant))
    return made and dress(in_case(made, case, "surname"), word)


def _kind(word: str, note: Note, mention: Mention) -> str | None:
    """The noun for the kind; what stands before it in a compound that is a name ("Siltasairaala") changes."""
    end = _kind_end(word)
    if (
        fold(word) in _kinds()
        or len(word) - len(end) < _SHORTEST_STEM
        or not (word[0].isupper() or mention.text.islower())
    ):
        return word
    if fold(word[: -len(end)]) in _first_parts():
        return word
    return _compound(word, end, note, mention.variant)


def _sibling(words: Sequence[tuple[str, str]], note: Note, variant: int) -> str | None:
    """Another noun of its kind for a name that has nothing proper: "poliklinikalla" becomes "klinikalla"."""
    groups = [line.split() for line in load_words("fi")["institutions"]["siblings"]]
    options: list[str] = []
    for i, (_, word) in enumerate(words):
        noun, case = _sibling_forms().get(fold(word), ("", ""))
        others: list[str] = next((group for group in groups if noun in group), [])
        forms = (dress(in_case(other, case, "noun"), word) for other in others if other != noun)
        options += ["".join(g + (form if j == i else w) for j, (g, w) in enumerate(words)) for form in forms]
    return note.pick("institution", options, "sibling", *(fold(word) for _, word in words), str(variant))


@cache
def _sibling_forms() -> Mapping[str, tuple[str, str]]:
    """The forms of nouns that stand for each other."""
    return forms_of((noun for line in load_words("fi")["institutions"]["siblings"] for noun in line.split()), "noun")


def _compound(word: str, end: str, note: Note, variant: int) -> str | None:
    """Another first part before the same last part."""
    stems: list[str] = load_words("fi")["institutions"]["stems"]
    pool = [stem + end.lower().lstrip("-") for stem in stems]
    made = note.pick("proper", pool, fold(word), str(variant))
    return made and dress(made, word)


def _whole(core: str, note: Note, mention: Mention) -> str | None:
    """A name that tells no kind: a company or a clinic, in the case of the last word."""
    words: Mapping[str, Any] = load_words("fi")["institutions"]
    variant = mention.variant
    if (group := _kindred().get(fold(core))) is not None:
        made = note.pick("institution", words["kindred"][group[0]], "kindred", group[1], str(variant))
        return made and dress(in_case(made, group[2], "noun"), core)
    pool = words["companies" if mention.label == "ORGANIZATION" else "clinics"]
    tail = _tail(core)
    if tail and " " not in core and len(core) - len(tail) >= _SHORTEST_STEM and fold(core) not in _company_forms():
        return _compound(core, tail, note, variant)
    name, case = _company_forms().get(fold(core), (core, guess_case(core.split()[-1])))
    made = note.pick("institution", pool, "company", fold(name), str(variant))
    if made is None or case == "nom":
        return made
    head, _, last = made.rpartition(" ")
    inflected = inflect_acronym(last, case) if last.isupper() else in_case(last, case, "noun")
    return f"{head} {inflected}".strip()


@cache
def _kindred() -> Mapping[str, tuple[int, str, str]]:
    """The forms of names that are known as those of a school or a county, folded → (group, name, case)."""
    groups = enumerate(load_words("fi")["institutions"]["kindred"])
    return {form: (i, *found) for i, names in groups for form, found in forms_of(names, "noun").items()}


@cache
def _company_forms() -> Mapping[str, tuple[str, str]]:
    """The forms of names of companies and hospitals that stand alone, folded → (name, case)."""
    words = load_words("fi")["institutions"]
    listed = [n for path in ("organizations", "hospitals") for n in read_lines("fi", f"synth/lists/{path}.txt")]
    return forms_of([*words["companies"], *(name for name in listed if " " not in name)], "noun")


@cache
def _kinds() -> Mapping[str, tuple[str, str]]:
    """The forms of nouns that tell the kind, folded → (nominative, case)."""
    return forms_of(str(load_words("fi")["institutions"]["kinds"]).split(), "noun")


@cache
def _first_parts() -> frozenset[str]:
    """What may stand before such a noun in a compound that is a common noun: "keskus", "kaupungin", "lasten"."""
    return frozenset(fold(word) for word in str(load_words("fi")["institutions"]["first_parts"]).split())


@cache
def _small() -> frozenset[str]:
    """Words between names, and adjectives of kinds in all cases, folded."""
    words = load_words("fi")["institutions"]
    adjectives = forms_of((w for w in str(words["adjectives"]).split() if not w.endswith("-")), "noun")
    return frozenset(fold(word) for word in str(words["small"]).split()) | frozenset(adjectives) | _COMPANIES


@cache
def _tails() -> Mapping[str, tuple[str, str]]:
    """The forms of last parts of names."""
    return forms_of(str(load_words("fi")["institutions"]["tails"]).split(), "noun")


def _kind_end(word: str) -> str:
    """The noun for a kind that a word is or ends in; "" if there is none."""
    return _longest_end(word, _kinds(), whole=True)


def _tail(word: str) -> str:
    """The last part of a name that is a compound, in its case; "" if there is none."""
    return _longest_end(word, _tails(), whole=False)


def _longest_end(word: str, forms: Mapping[str, tuple[str, str]], *, whole: bool) -> str:
    """The longest end of a word that is a form."""
    folded = fold(word)
    if len(folded) != len(word):
        return ""
    if whole and folded in forms:
        return word
    ends = (word[i:] for i in range(1, len(word) - 2) if folded[i:] in forms and len(word) - i > 3)
    return next(ends, "")


@cache
def _surnames() -> list[str]:
    """Common surnames, for the names of firms."""
    return [line.split(",")[0] for line in read_lines("fi", "names/surname.csv")[1:300]]
