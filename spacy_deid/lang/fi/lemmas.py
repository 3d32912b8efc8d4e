"""Find the lemmas (nominatives) of Finnish names and places by rules, without a statistical model.

The rules undo case endings, consonant gradation, possessive suffixes and clitics. A form can often belong to several
names: "Lahden" to Lahti or Lahde, "Karin" to Kari or Karin. The name to which most words of the note can belong is
chosen; if several are equal, the most frequent listed name, or the unlisted name whose ending is most common among
listed names.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf, log
from types import MappingProxyType
from unicodedata import normalize

from .. import get_language
from .declension_lists import DECLENSIONS
from .inflection import case_forms
from .stems import Stems, find_plural, find_stems

_LOCAL = "ssa ssä sta stä lla llä lta ltä".split()
_POSSESSIVES = "ni si mme nne nsa nsä".split()
_CLITICS = tuple("kinko kinkö kohan köhän kin kaan kään ko kö han hän pa pä".split())
_LEAST = 2  # letters of a stem
# How often names occur in a case: rough shares of the proper nouns in running text.
_SHARES = {"n": 0.25, "lle": 0.04, "t": 0.01, "ksi": 0.005, "tta": 0.002, "ttä": 0.002, "na": 0.01, "nä": 0.01}
_SHARES |= dict.fromkeys(_LOCAL, 0.03)
_POSSESSED = 0.002
_FREQUENT = log(0.02)  # minimum for an ending that a listed name may end with
NOMINATIVE, OTHER_FORM, CLITIC = log(0.3), log(0.05), log(0.01)
"""The same for a word as it stands, for a partitive or illative, and what a clitic adds."""


def lower_form(word: str) -> str:
    """Return a word in lower case and in Unicode's composed form (NFC), which is the form of lemmas."""
    return normalize("NFC", word).lower()


def _endings() -> Iterator[tuple[str, str, float]]:
    """Yield (ending, kind of the stem before it, frequency). A possessive suffix follows the strong stem or a case
    ending.
    """
    yield from ((ending, "strong" if ending in ("na", "nä") else "weak", share) for ending, share in _SHARES.items())
    for person in _POSSESSIVES:
        yield person, "strong", _POSSESSED
        yield from ((case + person, "weak", _POSSESSED / 10) for case in ("lle", "kse", *_LOCAL))
        yield from ((case + person, "strong", _POSSESSED / 10) for case in ("na", "nä"))
    yield from ((case + case[-1] + "n", "weak", _POSSESSED / 10) for case in (*_LOCAL, "lle", "kse"))
    yield from ((case + case[-1] + "n", "strong", _POSSESSED / 10) for case in ("na", "nä"))


_ENDINGS = MappingProxyType({ending: (slot, log(share)) for ending, slot, share in _endings()})
_LENGTHS = tuple(sorted({len(ending) for ending in _ENDINGS}))


def split_endings(word: str) -> list[tuple[str, str, float]]:
    """Split a word into stem and case ending in every possible way.

    word (str): in lower case.
    RETURNS (list[tuple[str, str, float]]): (kind of stem, stem, log frequency of the case); the first is ("whole",
        word, …).
    """
    found = [("whole", word, OTHER_FORM)]
    most = len(word) - _LEAST
    for length in _LENGTHS:
        if length > most:
            break
        known = _ENDINGS.get(word[-length:])
        if known:
            found.append((known[0], word[:-length], known[1]))
    return found


def split_clitic(word: str) -> str | None:
    """Remove a clitic, an attached particle such as "-kin" or "-ko", from a word: "virtanenkin", "juhako".

    word (str): in lower case.
    RETURNS (Optional[str]): the word without it; None if it has none.
    """
    for clitic in _CLITICS:
        if word.endswith(clitic) and len(word) - len(clitic) > _LEAST:
            return word[: -len(clitic)]
    return None


_FORMS = """
    minä: minun minut minua minussa minusta minuun minulla minulta minulle
    sinä: sinun sinut sinua sinussa sinusta sinuun sinulla sinulta sinulle
    hän: hänen hänet häntä hänessä hänestä häneen hänellä häneltä hänelle hänenkin hänkin
    me: meidän meidät meitä meissä meistä meihin meillä meiltä meille
    te: teidän teidät teitä teissä teistä teihin teillä teiltä teille
    he: heidän heidät heitä heissä heistä heihin heillä heiltä heille
    se: sen sitä siinä siitä siihen sillä siltä sille sinä siksi ne niiden niitä
    se: niissä niistä niihin niillä niiltä niille
    tämä: tämän tätä tässä tästä tähän tällä tältä tälle tänä täksi
    tämä: nämä näiden näitä näissä näistä näihin näillä näille
    tuo: tuon tuota tuossa tuosta tuohon tuolla tuolta tuolle nuo noiden noita noissa noista noihin noilla noille
    joka: jonka jota jossa josta johon jolla jolta jolle jona joksi
    joka: jotka joiden joita joissa joista joihin joilla joille
    mikä: minkä mitä missä mistä mihin millä miltä mille minä miksi mitkä
    kuka: kenen ketä kenessä kenestä keneen kenellä keneltä kenelle ketkä
    jokin: jonkin jotain jotakin jossain jossakin jostain jostakin johonkin jollain jollakin joltain joltakin joillekin
    mikään: minkään mitään missään mistään mihinkään millään miltään millekään
    itse: itseä itsensä itseään itsessään itsestään itseensä itsellään itseltään itselleen
    olla: on ovat olen olet olemme olette oli olivat olin olit olimme olitte
    olla: ole onko olisi olisivat olisin ollut olleet olevan
    ei: en et emme ette eivät eikä eivätkä enkä
    """


@cache
def load_function_words() -> dict[str, str]:
    """Load the lemmas of pronouns, the verbs "to be" and "not", and words that do not inflect, which the rules do not
    handle.

    RETURNS (dict[str, str]): form → lemma, in lower case; words that do not inflect map to themselves.
    """
    words = [word for line in get_language("fi").read_lines("function_words.txt") for word in line.split()]
    lemmas: dict[str, str] = {}
    for line in _FORMS.strip().splitlines():
        lemma, forms = line.split(":")
        for form in (lemma.strip(), *forms.split()):  # "minä" is a pronoun before it is a form of "mikä"
            lemmas.setdefault(form, lemma.strip())
    return dict(zip(words, words, strict=True)) | lemmas


_NAME_LISTS = (("female", "given"), ("male", "given"), ("surname", "surname"))
_PLACES = (
    "synth/lists/places.csv",
    "synth/lists/villages.txt",
    "synth/lists/countries.txt",
    "names/world_places.txt",
)
_NOUNS = ("synth/lists/professions.txt",)
_PLACE_COUNT = 10_000  # as many bearers as a frequent name has
_NOUN_COUNT = 500


def read_names() -> Iterator[tuple[str, str, int]]:
    """Read the lists of names, places and nouns that forms are mapped to.

    YIELDS (tuple[str, str, int]): (word in lower case, kind, frequency); kinds as in `lang.inflection`.
    """
    for stem, kind in _NAME_LISTS:
        for row in csv.DictReader(_lines(f"names/{stem}.csv")):
            if row["name"].isalpha() and len(row["name"]) > 1:
                yield lower_form(row["name"]), kind, int(row["count"])
    for path in _PLACES:
        places = {line.partition(",")[0] for line in _lines(path)} - {"city"}
        yield from ((lower_form(place), "place", _PLACE_COUNT) for place in sorted(places) if _is_name(place))
    nouns = {lower_form(line.split()[-1]) for path in _NOUNS for line in _lines(path) if line.strip()}
    for noun in sorted(nouns | set(DECLENSIONS)):
        if noun.isalpha():
            yield noun, "noun", _NOUN_COUNT


def _lines(path: str) -> list[str]:
    """Return the lines of a resource."""
    return get_language("fi").read_text(path).splitlines()


def _is_name(text: str) -> bool:
    """Return whether a place is a single word, possibly with hyphens."""
    return text.replace("-", "").isalpha()


_SLOTS = ("weak", "strong", "whole")
_LONGEST = 4  # last letters of a stem by which a rule is chosen, at most
_RULES = 3  # rules that are tried for an ending
_LIKENESS = 5  # last letters by which a name is compared with listed names, at most
_ENOUGH = 4  # minimum number of listed names with an ending to estimate a probability
_LETTER = 2.3  # cost of each letter before the shared ending, in nats

Slot = str
Rule = tuple[int, str]  # number of letters to remove from a stem, and letters to append


@dataclass(frozen=True, slots=True)
class NameIndex:
    """An index of listed names by their stems, and statistics for names that are not listed.

    `case_forms` makes the forms of the listed names once, and the index stores the stems that endings follow. It also
    counts how the last letters of stems differ from those of their names, so that an unlisted name is restored like
    listed names with the same ending.

    names (dict[Slot, dict[str, tuple[str, ...]]]): kind of stem → stem → names in lower case. Kinds: "weak" and
        "strong" stems, and "whole" for forms without an ending to remove.
    counts (Counter[str]): name → frequency.
    rules (dict[Slot, dict[str, dict[Rule, int]]]): kind of stem → last letters of a stem → rules with their counts.
    ends (Counter[str]): last letters of a name → number of listed names with this ending.
    """

    names: dict[Slot, dict[str, tuple[str, ...]]] = field(default_factory=lambda: {slot: {} for slot in _SLOTS})
    counts: Counter[str] = field(default_factory=Counter)
    rules: dict[Slot, dict[str, dict[Rule, int]]] = field(default_factory=lambda: {slot: {} for slot in _SLOTS})
    ends: Counter[str] = field(default_factory=Counter)

    def find(self, slot: Slot, stem: str) -> tuple[str, ...]:
        """Return the listed names that have a stem.

        slot (str): kind of stem, "weak", "strong" or "whole".
        stem (str): in lower case.
        RETURNS (tuple[str, ...]): names in lower case; empty if there is none.
        """
        return self.names[slot].get(stem, ())

    def guess(self, slot: Slot, stem: str) -> list[str]:
        """Return the names that a stem can belong to, restored by the rules of listed names with the same ending.

        slot (str): kind of stem, "weak", "strong" or "whole".
        stem (str): in lower case.
        RETURNS (list[str]): names in lower case, the most probable first; only the stem itself if there is no rule.
        """
        table = self.rules[slot]
        for length in range(min(_LONGEST, len(stem)), 0, -1):
            rules = table.get(stem[-length:])
            if rules:
                return [stem[: len(stem) - cut] + added for cut, added in rules]
        return [stem]

    def likelihood(self, name: str) -> float:
        """Return how probable a name is, by the number of listed names with the same ending.

        name (str): in lower case.
        RETURNS (float): unnormalized log probability; letters before the shared ending have a constant cost.
        """
        for length in range(min(_LIKENESS, len(name)), 0, -1):
            count = self.ends[name[-length:]]
            if count >= _ENOUGH:
                return log(count) - _LETTER * (len(name) - length)
        return -_LETTER * len(name)

    def add(self, name: str, kind: str, count: int) -> None:
        """Add a listed name.

        name (str): in lower case.
        kind (str): as for `lang.inflection.inflect`.
        count (int): frequency.
        """
        if name not in self.counts:
            self.ends.update(name[-length:] for length in range(1, _LIKENESS + 1))
        self.counts[name] += count
        stems = find_stems(name, kind)
        for slot, stem in _stems(name, stems):
            if self._hold(slot, stem, name):
                self._learn(slot, stem, name)
        for slot, stem in _more(name, kind, stems):
            self._hold(slot, stem, name)

    def _hold(self, slot: Slot, stem: str, name: str) -> bool:
        """Store the mapping from a stem to a name."""
        held = self.names[slot].get(stem, ())
        if name in held:
            return False
        self.names[slot][stem] = (*held, name)
        return True

    def _learn(self, slot: Slot, stem: str, name: str) -> None:
        """Count the rule that restores a name from its stem, for each ending of the stem that shows the difference."""
        same = 0
        while same < min(len(stem), len(name)) and stem[same] == name[same]:
            same += 1
        rule = (len(stem) - same, name[same:])
        table = self.rules[slot]
        for length in range(max(1, rule[0]), min(_LONGEST, len(stem)) + 1):
            end = stem[-length:]
            ways = table.get(end)
            if ways is None:
                table[end] = {rule: 1}
            else:
                ways[rule] = ways.get(rule, 0) + 1


@cache
def load_index() -> NameIndex:
    """Build the index of the Finnish name lists in this package. It never contains a word of a note.

    RETURNS (NameIndex): the index, which is built once per process.
    """
    index = NameIndex()
    for name, kind, count in read_names():
        index.add(name, kind, count)
    for table in index.rules.values():
        for end, ways in table.items():
            table[end] = dict(sorted(ways.items(), key=lambda way: -way[1])[:_RULES])
    return index


def _stems(name: str, stems: Stems) -> Iterator[tuple[Slot, str]]:
    """Yield the stems that endings of the singular follow, and the forms without an ending to remove."""
    yield from (("whole", name), ("weak", stems.weak), ("strong", stems.strong))
    yield from (("whole", stems.partitive), ("whole", stems.illative))


def _more(name: str, kind: str, stems: Stems) -> Iterator[tuple[Slot, str]]:
    """Yield further stems, which are only searched for listed names.

    Families are referred to in the plural (Virtaset, Virtasten, Virtasilla). Some places inflect in both parts or in
    the plural (Uudessakaupungissa, Kauniaisissa).
    """
    if kind == "place":
        yield from (("whole", form) for form in (*case_forms(name, "place"), *case_forms(name)))
    else:
        plural = find_plural(name, stems)
        yield from (("weak", plural.inner), ("strong", plural.outer))
        yield from (("whole", plural.genitive), ("whole", plural.partitive), ("whole", plural.illative))


_HEAD = re.compile(r"(?:.*[-‐‑–])?(?=[^\W\d_]{3,}$)")  # matches the text before the part that inflects
_ACRONYM = re.compile(r"([^\W\d_]+)[:'’][^\W\d_]{1,6}$")  # HUS:iin, Dubois'n
_SHORTEST = 3  # letters of an unlisted name

Candidates = dict[str, float]
Split = tuple[str, str, float]


def lemmatize(words: Sequence[str]) -> list[str]:
    """Return the nominative of every word of a note.

    words (Sequence[str]): the words of a note in order, as written.
    RETURNS (list[str]): one lemma per word, in lower case; the same for all occurrences of a word, however each is
        capitalized.
    """
    forms = [lower_form(word) for word in words]
    lemmas = _function_words(words, forms)
    distinct = dict.fromkeys(form for form in forms if form not in lemmas)
    parts = {form: part for form in distinct if (part := _split(form)) is not None}
    candidates = {tail: find_candidates(tail) for tail in dict.fromkeys(tail for _, tail in parts.values())}
    support = Counter(name for found in candidates.values() for name in found)
    chosen = {tail: _choose(found, support) for tail, found in candidates.items()}
    lemmas |= {form: head + chosen[tail] for form, (head, tail) in parts.items()}
    return [lemmas.get(form) or _without_ending(form) for form in forms]


def _function_words(words: Sequence[str], forms: Sequence[str]) -> dict[str, str]:
    """Return the lemmas of pronouns and similar words, except capitalized words that are also names (Ole, Eli)."""
    known, names = load_function_words(), load_index().counts
    small = {form for word, form in zip(words, forms, strict=True) if not word[:1].isupper()}
    return {form: known[form] for form in forms if form in known and (form in small or form not in names)}


def _split(word: str) -> tuple[str, str] | None:
    """Return the part before the last hyphen, and the part that inflects; None for other tokens than words."""
    found = _HEAD.match(word)
    return (word[: found.end()], word[found.end() :]) if found else None


def _without_ending(word: str) -> str:
    """Remove the ending after the colon of an acronym; other words are not changed."""
    found = _ACRONYM.match(word)
    return found[1] if found else word


def _choose(found: Candidates, support: Counter[str]) -> str:
    """Return the name to which most words of the note can belong; of equal ones the most probable, then the first in
    the alphabet.
    """
    return min(found, key=lambda name: (-support[name], -found[name], name))


def find_candidates(word: str) -> Candidates:
    """Find the names of which a word can be an inflected form.

    word (str): a word of letters in lower case.
    RETURNS (dict[str, float]): name → score; never empty. Only listed names if there are any.
    """
    splits = split_endings(word)
    bare = split_clitic(word)
    found = _listed(splits) or (_listed(split_endings(bare)) if bare else {})
    if not found:
        found = _guessed(splits)
        for name, value in (_guessed(split_endings(bare)) if bare else {}).items():
            found.setdefault(name, value + CLITIC)
    return found


def _listed(splits: Sequence[Split]) -> Candidates:
    """Return listed names with their frequency. If the word itself is a listed name, it is no form of a rarer name
    ("Camilla", "Cam") and has no rare ending ("Marianne" is not "your Maria").
    """
    counts = load_index().counts
    own = counts[splits[0][1]]
    likely = [split for split in splits if not own or split[2] >= _FREQUENT]
    names = (name for slot, stem, _ in likely for name in load_index().find(slot, stem))
    return {name: float(counts[name]) for name in names if counts[name] >= own}


def _guessed(splits: Sequence[Split]) -> Candidates:
    """Return unlisted names, scored by their ending and the frequency of the case."""
    index = load_index()
    word = splits[0][1]
    found = {word: index.likelihood(word) + NOMINATIVE}
    for slot, stem, share in splits:
        for name in index.guess(slot, stem):
            if name != word and len(name) >= _SHORTEST:
                found[name] = max(found.get(name, -inf), index.likelihood(name) + share)
    return found
