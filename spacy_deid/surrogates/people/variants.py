"""Give all variants of a name in a note the same lemma: nicknames, transliterations, and words that are initials.

A variant is only joined with a name that the note has, and only among mentions with the same label: "Sasha" of a
patient Aleksandr is that patient, "Sasha" of a relative is not. The lists of a language decide for common nicknames
(`resolve_nicknames`); rare ones, derived ones ("Winnie" of Winifred) and beginnings ("Abdi" of Abdirahman) need a name
in the note that no other name competes with.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from rapidfuzz.distance import OSA

from ...dictionaries.nicknames import is_nickname
from ..mention import Mention
from .name_lists import NameLists
from .name_parts import NamePart, NameParts

_NICKNAME_ONLY = 100  # ratio of bearers from which a nickname is not a name of its own
_NAME_AND_NICKNAME = 3000  # bearers from which a nickname is a name of its own
_NAME_NOT_DERIVED = 1000  # the same for a derived nickname
_SHORTEST_BEGINNING = 3
_MOST_INITIALS = 3  # letters of "mjb"
_TWO_INITIALS = 2
_VOWEL = re.compile("[aeiouy]")
_PRONOUNCED = re.compile("(?=.*[aeiouy])(?!.*[^aeiouy]{3})(?:[^aeiouy]?[aeiouy]|[bcdfgkpst][lrh]|s[cklmnptvw]).*")
_FREQUENT = 50  # bearers of a name that is not another spelling of a second frequent one
_MOST_COMPARED = 150  # different full names of a note that are compared with each other
_LEAST_CONSONANTS = 2
_LEAST_CONSONANTS_ALONE = 4

_SPECIAL = str.maketrans("đøłħðı", "dolhdi")
# Spellings of one sound in transliterations, in this order; vowels are dropped afterwards.
_SOUNDS = (
    (re.compile("sch|[cstz]h|[cs]z|t[sz]|tch|c(?=[eiy])|[zcx]"), "s"),
    (re.compile("kh|gh|[hg]|j(?=[^aeiouy])"), "g"),
    (re.compile("ph|ff?|[wvb]"), "v"),
    (re.compile("ck|qu|[kq]"), "k"),
    (re.compile("th|dt|[td]"), "t"),
    (re.compile("[aeiouyj'’-]"), ""),
    (re.compile(r"(.)\1+"), r"\1"),
)


# --- initials ---


def settle_initials(read: Sequence[NameParts], mentions: Sequence[Mention], names: NameLists) -> None:
    """Correct which words in capitals or of two or three letters are initials, by the other names of the note.

    A word in capitals that was taken for initials ("EMER", "Florence BELL") is a name if another mention has it, or if
    it follows a given name and can be pronounced. A mention of two capitals of a clinician, or of two or three letters
    that begin the words of a name with the same label, consists of initials; so does an unlisted signature in lower
    case ("tl").

    read (Sequence[list[NamePart]]): the words of each mention, which are changed.
    mentions (Sequence[Mention]): the mentions.
    names (NameLists): the name lists of the language.
    """
    fuller = [(parts, m.label) for parts, m in zip(read, mentions, strict=True) if len(parts) > 1]
    single = {parts[0].folded for parts in read if len(parts) == 1 and parts[0].role == "name"}
    whole = {part.folded for parts, _ in fuller for part in parts if part.role == "name"}
    starts: dict[str, list[str]] = defaultdict(list)
    for parts, label in fuller:
        starts[label].append("".join(part.folded[:1] for part in parts if part.role in ("name", "initial")))
    for parts, mention in zip(read, mentions, strict=True):
        _join_capitals(parts, mention, whole | single if len(parts) > 1 else whole, names)
        if len(parts) != 1 or parts[0].role != "name":
            continue
        part, joined = parts[0], parts[0].folded
        letters = len(part.text)
        if joined in whole or not joined.isalpha() or letters != len(joined):  # "ß", or a letter and its mark
            continue
        known = any(sorted(joined) == sorted(some[:letters]) for some in starts[mention.label])
        capitals = part.text.isupper() and mention.label == "CLINICIAN"
        signed = part.text.islower() and mention.label == "CLINICIAN" and not names.is_listed(joined)
        alike = part.text in (part.text.upper(), part.text.lower())
        if (letters == _TWO_INITIALS and (capitals or signed)) or (
            _TWO_INITIALS <= letters <= _MOST_INITIALS and alike and (known or (signed and not _VOWEL.search(joined)))
        ):
            parts[:] = [
                NamePart(char, part.start + i, part.start + i + 1, "initial", folded)
                for i, (char, folded) in enumerate(zip(part.text, joined, strict=True))
            ]
            parts[-1].ending = part.ending


def _join_capitals(parts: NameParts, mention: Mention, whole: Collection[str], names: NameLists) -> None:
    """Join the letters of words in capitals that are names of the note, or can be pronounced behind a given name.

    parts (list[NamePart]): the words of the mention, which are changed.
    mention (Mention): the mention.
    whole (Collection[str]): folded names of the note.
    names (NameLists): the name lists of the language.
    """
    first = 0
    while first < len(parts):
        last = first
        while (
            last < len(parts)
            and parts[last].role == "initial"
            and parts[last].start == parts[first].start + last - first
        ):
            last += 1
        run = parts[first:last]
        text = mention.text[run[0].start : run[-1].end] if run else ""
        if len(run) > _MOST_INITIALS and text.isalpha():
            joined, before = "".join(part.folded for part in run), parts[first - 1] if first else None
            given = before and names.count("given", before.folded) > names.count("surname", before.folded)
            behind = before and (given or mention.text[before.end : run[0].start] == "-")
            ends = mention.text[run[-1].end :][:1] in ("", ",") and _PRONOUNCED.fullmatch(joined)
            if joined in whole or (behind and ends):
                parts[first:last] = [
                    NamePart(
                        text, run[0].start, run[-1].end, "name", joined, maiden=run[0].maiden, ending=run[-1].ending
                    )
                ]
                last = first + 1
        first = max(last, first + 1)


# --- nicknames ---


def resolve_nicknames(read: Sequence[NameParts], mentions: Sequence[Mention], names: NameLists) -> None:
    """Replace the lemma of each nickname by that of the full given name, so that both get matching surrogates.

    The full name is the one that occurs in the note. If none does, it is the first listed one, unless the nickname is
    common as a name of its own.

    read (Sequence[list[NamePart]]): the words of each mention, with lemmas and kinds. They are changed.
    mentions (Sequence[Mention]): the mentions.
    names (NameLists): the name lists of the language.
    """
    given = {part.lemma for parts in read for part in parts if part.kind == "given"}
    surnames = {part.lemma for parts in read for part in parts if part.kind == "surname"}
    with_surname = {
        part.lemma
        for parts in read
        for part in parts
        if part.kind == "given" and any(other.kind == "surname" for other in parts)
    }
    for part in (part for parts in read for part in parts):
        if part.role != "name" or part.kind != "given" or part.lemma in surnames:
            continue
        full = names.conventions.full_names.get(part.lemma, ())
        here = [name for name in full if given.issuperset(name.split()) and name != part.lemma]
        bearers = names.count("given", part.lemma)
        if len(here) == 1 and not (part.lemma in with_surname and bearers >= _NAME_AND_NICKNAME):
            part.known_as, part.lemma = part.lemma, here[0].split()[0]
        elif full and not here:
            first = full[0].replace("-", " ").split()[0]  # of a double name, its first part
            if _NICKNAME_ONLY * bearers < names.count("given", first) + 1:
                part.known_as, part.lemma = part.lemma, first
    _resolve_rare_nicknames(read, mentions, names)


def _resolve_rare_nicknames(read: Sequence[NameParts], mentions: Sequence[Mention], names: NameLists) -> None:
    """Do the same for nicknames that can be those of only one given name of the mentions with the same label."""
    surnames: dict[str, dict[str, list[set[str]]]] = defaultdict(lambda: defaultdict(list))  # beside each given name
    full: dict[str, set[str]] = defaultdict(set)  # names with another name beside them
    for parts, mention in zip(read, mentions, strict=True):
        named = [part for part in parts if part.role == "name"]
        for part in named:
            if part.kind == "given" and not part.known_as:
                beside = {other.lemma for other in named if other.kind == "surname"}
                surnames[mention.label][part.lemma].append(beside)
            if len(named) > 1:
                full[mention.label].add(part.lemma)
    for parts, mention in zip(read, mentions, strict=True):
        named = [part for part in parts if part.role == "name"]
        first = [part for part in named if part.kind == "given"] or (named if len(named) == 1 else [])
        if not first:
            continue
        part = first[0]
        if part.known_as or (len(named) == 1 and part.lemma in full[mention.label]):
            continue
        spellings, own = (
            {part.lemma, part.folded},
            {other.lemma for other in named if other.kind == "surname"} - {part.lemma},
        )
        found = [
            (rank, name)
            for name, beside in surnames[mention.label].items()
            if name not in spellings
            and (rank := _nickname_rank(spellings, name, names)) > (len(named) > 1)
            and (not own or any(not other or other & own for other in beside))
        ]
        best = [name for rank, name in found if rank == max(found)[0]]
        if len(best) == 1:
            part.known_as, part.lemma, part.kind = part.lemma, best[0], "given"


def _nickname_rank(spellings: set[str], name: str, names: NameLists) -> int:
    """Return how surely a word is a nickname of a given name: 3 if it is listed, 2 if derived, 1 for a beginning."""
    rare = names.conventions.rare_full_names
    if any(name in rare.get(word, ()) or name in names.conventions.full_names.get(word, ()) for word in spellings):
        return 3
    if max(names.count("given", word) for word in spellings) >= _NAME_NOT_DERIVED:
        return 0
    if any(is_nickname(word, name, names.lang) for word in spellings):
        return 2
    return int(any(len(word) >= _SHORTEST_BEGINNING and name.startswith(word) for word in spellings))


# --- transliterations ---


def join_spellings(read: Sequence[NameParts], mentions: Sequence[Mention], names: NameLists) -> None:
    """Give one lemma to spellings of a name that differ in accents or transliteration: "Hryhorenko", "Grigorenko".

    Two words are spellings of one name if they differ in letters such as đ, if they are parts of two full names with
    the same label whose words all agree by their consonants (`sound`), or if one of them is unlisted and they agree in
    at least four consonants.

    read (Sequence[list[NamePart]]): the words of each mention, with lemmas and kinds. The lemmas are changed.
    mentions (Sequence[Mention]): the mentions.
    names (NameLists): the name lists of the language.
    """
    parts = [part for words in read for part in words if part.role == "name"]
    lemmas = dict.fromkeys(part.lemma for part in parts)
    leader = {lemma: lemma for lemma in lemmas}

    def join(first: str, second: str) -> None:
        one, other = leader[first], leader[second]
        for lemma, old in leader.items():
            if old == other:
                leader[lemma] = one

    for lemma in lemmas:
        if (plain := lemma.translate(_SPECIAL)) != lemma and plain in leader:
            join(plain, lemma)
    together = {frozenset((a.lemma, b.lemma)) for words in read for a in words for b in words}
    by_sound: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for lemma, kind in dict.fromkeys((part.lemma, part.kind) for part in parts):
        if len(sound(lemma)) >= _LEAST_CONSONANTS_ALONE:
            by_sound[kind, sound(lemma), lemma.endswith("a")].append(lemma)
    for alike in by_sound.values():
        for old in alike[1:]:
            listed = names.is_listed(alike[0]) and names.is_listed(old)
            if not listed and frozenset((alike[0], old)) not in together:
                join(alike[0], old)
    for first, second in _agreeing(read, mentions, names):
        join(first, second)
    for part in parts:
        part.lemma = leader[part.lemma]


def _agreeing(read: Sequence[NameParts], mentions: Sequence[Mention], names: NameLists) -> Iterator[tuple[str, str]]:
    """Yield the pairs of lemmas of full names whose words agree by their consonants but not by their letters."""
    full: dict[str, dict[tuple[str, ...], None]] = defaultdict(dict)
    for parts, mention in zip(read, mentions, strict=True):
        words = tuple(sorted(part.lemma for part in parts if part.role == "name"))
        if len(words) > 1:
            full[mention.label][words] = None
    for different_names in full.values():
        compared = list(different_names)[:_MOST_COMPARED]
        sounds = {word: sound(word) for words in compared for word in words}
        for one, other in combinations(compared, 2):
            short, long = sorted((one, other), key=len)
            pairs = _pair(short, long, sounds)
            different = [(first, second) for first, second in pairs if first != second]
            if len(pairs) == len(short) and different:
                # "Marta Gil" and "Mirta Gil", "Arto Alanen" and "Arttu Ylinen" are two persons.
                listed = all(names.is_listed(word) for pair in different for word in pair)
                frequent = len(different) < len(pairs) and any(_frequent(*pair, names) for pair in different)
                yield from () if listed or frequent else different


def _frequent(first: str, second: str, names: NameLists) -> bool:
    """Return whether two words are both names with many bearers, so that neither is a spelling of the other."""
    return all(names.count("given", word) + names.count("surname", word) >= _FREQUENT for word in (first, second))


def _pair(short: Sequence[str], long: Sequence[str], sounds: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pair the words of a name with words of a longer name that are equal or agree by their consonants.

    RETURNS (list[tuple[str, str]]): the pairs found until a word has none.
    """
    free, pairs = list(long), list[tuple[str, str]]()
    for word in sorted(short, key=lambda word: word not in long):
        match = word if word in free else next((other for other in free if _agree(word, other, sounds)), None)
        if match is None:
            break
        free.remove(match)
        pairs.append((word, match))
    return pairs


def _agree(first: str, second: str, sounds: Mapping[str, str]) -> bool:
    """Return whether two words agree by their consonants, with at most one difference in a long word."""
    one, other = sounds[first], sounds[second]
    length = min(len(one), len(other))
    if first.endswith("a") != second.endswith("a") or length < _LEAST_CONSONANTS:
        return False
    return one == other or (length >= _LEAST_CONSONANTS_ALONE and OSA.distance(one, other) == 1)


def sound(word: str) -> str:
    """Return the consonants of a word, those that transliterations confuse as one: "grgrnk" for "hryhorenko"."""
    word = word.translate(_SPECIAL)
    for pattern, new in _SOUNDS:
        word = pattern.sub(new, word)
    return word
