"""Find the matches of rules in a note, without trying every regular expression at every position.

One Aho-Corasick automaton finds the keywords of all rules, and the pattern of a rule is tried only after its keywords.
A rule without keywords is tried where its setting `begins` allows, or on the whole text. Each rule is matched
independently of the others. A pattern is compiled when it is first tried, so most rules cost nothing on most texts.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from re import Match as ReMatch
from re import Pattern

import ahocorasick

from ..errors import ConfigError, Errors
from ..labels import LABELS
from .normalization import NormalizedText, fold, normalize_text
from .rules import Context, Rule, parse_example, recovery_rules
from .validators import get_validator, has_check_digit

Positions = dict[str, list[int]]
# Where rules with the setting `begins` are tried.
_BEGINS = {
    "digit": re.compile(r"\d+"),
    "capital": re.compile(r"[A-ZÀ-ÖØ-ÞĀ-ſ]\w*"),
    "code": re.compile(r"\d+|[A-ZÀ-ÖØ-ÞĀ-ſ]\w*"),
}
_GROUP = re.compile(r"\(\?P<(\w+)>")
# What a pattern cannot contain to be tried together with others: references to its own groups by number.
_REFERENCE = re.compile(r"\\[1-9]|\(\?\(\d")
_LONGEST_COMPOUND = 40  # characters before the last part of a compound
_BEFORE_TAIL = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*-?\Z")


@dataclass(frozen=True, slots=True)
class Match:
    """An identifier that a rule has found in a text.

    start, end (int): character offsets in the text, end exclusive.
    label (str): canonical label.
    rule (str): id of the rule.
    score (float): score of the rule.
    validated (bool): whether a rule with this label found a correct check digit in these characters.
    """

    start: int
    end: int
    label: str
    rule: str
    score: float
    validated: bool = False


class _Compiled:
    """A rule prepared for matching: its words without case and accents, its validator, and its pattern, which is
    compiled on first use."""

    def __init__(self, rule: Rule, order: int) -> None:
        self.rule, self.order = rule, order
        language = rule.id.partition("/")[0]
        self.validator = get_validator(rule.validator, language) if rule.validator else None
        self.words = {fold(word) for word in (*rule.after, *rule.starts_with)}
        self.needs = [fold(word) for word in rule.needs]
        self.context, self.not_context = _folded(rule.context), _folded(rule.not_context)
        self.refers = bool(_REFERENCE.search(rule.pattern))

    @cached_property
    def pattern(self) -> Pattern[str]:
        """Pattern[str]: The compiled pattern."""
        return self.rule.compile()

    @cached_property
    def groups(self) -> list[tuple[str | int, str]]:
        """list[tuple[str | int, str]]: The groups that mark identifiers, with their labels; 0 is the whole match."""
        named: list[tuple[str | int, str]] = [
            (name, self.rule.label if name == "phi" else name.upper())
            for name in _GROUP.findall(self.rule.pattern)  # without compiling the pattern
            if name == "phi" or name.upper() in LABELS
        ]
        return named or [(0, self.rule.label)]


class _Scan:
    """Matches all rules without keywords that have the same setting `begins`.

    One pattern with all rules as alternatives finds the few places where any of them matches. Only there the rules are
    tried one by one.

    begins (str): where the rules are tried, a key of `_BEGINS`; "" for the whole text.
    """

    def __init__(self, begins: str) -> None:
        self.begins = begins
        self.items: list[_Compiled] = []

    @cached_property
    def _joint(self) -> Pattern[str]:
        """Pattern of a place where the rules are tried. Group 1 is set if a rule without group numbers matches."""
        alternatives = "|".join(item.rule.alternative(f"r{item.order}_") for item in self.items if not item.refers)
        place = f"(?:{_BEGINS[self.begins].pattern})"
        return re.compile(f"(?={place})(?:(?=({alternatives or '(?!)'}))|){place}")

    def find(self, text: str, folded: str) -> Iterator[tuple[_Compiled, ReMatch[str]]]:
        """Yield the matches of each rule. Those of one rule do not overlap.

        text (str): the normalized text.
        folded (str): the same text without case and accents, which is searched for the words that rules need.
        """
        needed = [item for item in self.items if not item.needs or any(need in folded for need in item.needs)]
        if not self.begins:
            for item in needed:
                for match in item.pattern.finditer(text):
                    yield item, match
            return
        places = [(match.start(), match.start(1) >= 0) for match in self._joint.finditer(text)] if needed else []
        hits = [start for start, hit in places if hit]
        for item in needed:
            starts = [start for start, _ in places] if item.refers else hits
            for match in _tried(item.pattern, text, starts) if starts else ():
                yield item, match


Found = tuple[_Compiled, int, ReMatch[str]]


class RuleMatcher:
    """Finds the identifiers in a note that match one of a list of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Index the rules by their keywords.

        rules (Sequence[Rule]): the rules. If two rules match the same characters, a rule with keywords is preferred,
            then the one that comes first in the list.
        RAISES: KeyError if a rule names an unknown validator.
        """
        self.rules = list(rules)
        self._compiled = [_Compiled(rule, order) for order, rule in enumerate(self.rules)]
        self._scans: dict[str, _Scan] = {}
        self._keyed: dict[str, list[_Compiled]] = defaultdict(list)
        self._stems: set[str] = set()
        self._tails: set[str] = set()
        self._words: set[str] = set()
        for item in self._compiled:
            for word in item.words:
                self._keyed[word].append(item)
            if not item.words:
                self._scans.setdefault(item.rule.begins, _Scan(item.rule.begins)).items.append(item)
            if item.rule.stem:
                self._stems |= item.words
            if item.rule.compound:
                self._tails |= item.words
            for context in filter(None, (item.context, item.not_context)):
                self._words.update(context.before, context.after)
        self._automaton = _automaton(
            (word, word in self._words, word in self._keyed, word in self._tails, word in self._stems)
            for word in self._words | set(self._keyed)
        )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: Labels of the rules, sorted."""
        return tuple(sorted({label for item in self._compiled for _, label in item.groups}))

    def __reduce__(self) -> tuple[type["RuleMatcher"], tuple[list[Rule]]]:
        """Pickle the rules only: validators are closures, which cannot be pickled."""
        return RuleMatcher, (self.rules,)

    def find(self, text: str) -> list[Match]:
        """Find the identifiers in a note.

        A match inside a longer one is dropped, because the longer match covers it and usually has the better label. A
        match with a correct check digit is dropped only inside another match with a correct check digit.

        text (str): the note, not normalized.
        RETURNS (list[Match]): the matches in the order of the text, with offsets in the note.
        """
        reading = normalize_text(text)
        hits, words = self._hits(reading)
        found = [
            (*reading.to_note(start, end), -bool(item.words), item.order, label, item.rule)
            for item, first, match in chain(self._keyed_matches(reading, hits), self._scan_matches(reading))
            for start, end, label in _accept(item, first, match, words, reading)
        ]
        return _outermost(found)

    def _hits(self, reading: NormalizedText) -> tuple[list[tuple[int, int, str]], Positions]:
        """Find the keywords and the context words of all rules in a text, at word boundaries.

        A keyword that is a stem can be followed by letters, and one that is the last part of a compound preceded.

        RETURNS (tuple): (start, end, word) of each keyword found, and context word → its start offsets.
        """
        hits: list[tuple[int, int, str]] = []
        words: Positions = defaultdict(list)
        if self._automaton is None:
            return hits, words
        text, length = reading.text, len(reading.text)
        for last, (word, size, context, key, tail, stem) in self._automaton.iter(reading.folded):
            # `_starts_free` and `_ends_free`, without a call for each of the many words inside words
            start, end = last + 1 - size, last + 1
            before, first = text[start - 1] if start else " ", text[start]
            free = not (before.isalpha() and first.isalnum()) or (before.islower() and first.isupper())
            if not (free or tail):
                continue
            ends = not (end < length and text[end].isalpha() and text[last].isalpha())
            if context and free and ends:
                words[word].append(start)
            if key and (ends or stem):
                hits.append((start, end, word))
        return hits, words

    def _keyed_matches(self, reading: NormalizedText, hits: Iterable[tuple[int, int, str]]) -> Iterator[Found]:
        """Try each rule immediately after its keywords."""
        text = reading.text
        for start, end, word in hits:
            for item in self._keyed[word]:
                first = _compound_start(text, start) if item.rule.compound else start
                if first == start and not _starts_free(text, start):
                    continue
                if item.rule.capital and not text[first].isupper():
                    continue
                match = item.pattern.match(text, end)
                if match and (item.rule.stem or _ends_free(text, end)):
                    yield item, first if item.rule.starts_with else -1, match

    def _scan_matches(self, reading: NormalizedText) -> Iterator[Found]:
        """Try the rules without keywords at the places that their setting `begins` allows, or on the whole text."""
        for scan in self._scans.values():
            for item, match in scan.find(reading.text, reading.folded):
                yield item, -1, match


def _tried(pattern: Pattern[str], text: str, starts: Iterable[int]) -> Iterator[ReMatch[str]]:
    """Yield the matches that begin at given offsets and do not overlap."""
    reach, tried = -1, pattern.match
    for start in starts:
        match = tried(text, start)
        if match and start >= reach:
            reach = match.end()
            yield match


def _folded(context: Context | None) -> Context | None:
    if context is None:
        return None
    return Context([fold(word) for word in context.before], [fold(word) for word in context.after], context.within)


def _automaton(words: Iterable[tuple[str, bool, bool, bool, bool]]) -> ahocorasick.Automaton | None:
    """Build an Aho-Corasick automaton, or None if there are no words.

    words (Iterable[tuple[str, bool, bool, bool, bool]]): words, and whether each is a context word, a keyword, the
        last part of a compound, and a stem.
    RETURNS (Optional[Automaton]): automaton whose values are (word, length, …) with the same flags.
    """
    automaton = ahocorasick.Automaton()
    for word, *flags in sorted(words):
        automaton.add_word(word, (word, len(word), *flags))
    if not len(automaton):
        return None
    automaton.make_automaton()
    return automaton


def _starts_free(text: str, start: int) -> bool:
    """Whether a word can begin at an offset; True also after a digit ("12NHC") and in joined words ("GarcíaNºCol")."""
    before = text[start - 1] if start else " "
    if not (before.isalpha() and text[start].isalnum()):
        return True
    return before.islower() and text[start].isupper()


def _compound_start(text: str, end: int) -> int:
    """Return the start of the compound whose last part begins at `end`; a hyphen between letters belongs to it."""
    before = _BEFORE_TAIL.search(text, max(0, end - _LONGEST_COMPOUND), end)
    return before.start() if before else end


def _ends_free(text: str, end: int) -> bool:
    """Whether a word can end at an offset; True also before a digit ("CP28035")."""
    return not (end < len(text) and text[end].isalpha() and text[end - 1].isalpha())


def _accept(
    item: _Compiled, first: int, match: ReMatch[str], words: Positions, reading: NormalizedText
) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of a match that its validator and its context accept.

    first (int): start of the keyword if it belongs to the identifier, else -1.
    """
    for group, label in item.groups:
        start, end = match.span(group)
        if group == 0 and first >= 0:
            start = first
        if start < 0 or start == end:
            continue
        if item.validator and label == item.rule.label and not item.validator(reading.text[start:end]):
            continue
        if item.context and not _near(item.context, start, end, words):
            continue
        if item.not_context and _near(item.not_context, start, end, words):
            continue
        yield start, end, label


def _near(context: Context, start: int, end: int, words: Positions) -> bool:
    """Whether one of the context words is near a span."""
    return any(_between(words.get(word), start - context.within, start) for word in context.before) or any(
        _between(words.get(word), end, end + context.within) for word in context.after
    )


def _between(positions: list[int] | None, low: int, high: int) -> bool:
    """Whether one of the sorted offsets is in [low, high)."""
    if not positions:
        return False
    i = bisect_left(positions, low)
    return i < len(positions) and positions[i] < high


def _outermost(found: list[tuple[int, int, int, int, str, Rule]]) -> list[Match]:
    """Remove matches inside longer matches. Of matches with equal spans, one of a rule with keywords is kept, then the
    first in the order of the rules.

    A match with a correct check digit is kept even inside a match without. A match counts as validated if a rule with
    the same label has found a correct check digit in the same characters.
    """
    found.sort(key=lambda f: (f[0], -f[1], f[2], f[3], f[4]))
    checked = {
        (start, end, label)
        for start, end, _, _, label, rule in found
        if has_check_digit(rule.validator) and label == rule.label
    }
    kept: list[Match] = []
    reach = reach_checked = -1
    for start, end, _, _, label, rule in found:
        validated = (start, end, label) in checked
        if end > reach or (validated and end > reach_checked):
            kept.append(Match(start, end, label, rule.id, rule.score, validated))
            reach = max(reach, end)
            reach_checked = end if validated else reach_checked
    return kept


@cache
def recovery_matcher(lang: str) -> RuleMatcher:
    """Return the matcher of medical text that looks like an identifier, such as a genetic variant; it is cached.

    lang (str): ISO 639-1 code.
    RETURNS (RuleMatcher): the matcher, with the rules for all languages and those of the language.
    """
    return RuleMatcher(recovery_rules(lang))


def check_examples(rules: Iterable[Rule], path: str) -> None:
    """Check that each rule finds the marked identifiers in its examples, and nothing in its counter-examples.

    rules (Iterable[Rule]): the rules of a file.
    path (str): name of the file, for the error message.
    RAISES: ConfigError (D108) if a rule fails; it names the rule and the number of the example, not its text.
    """
    for rule in rules:
        matcher = RuleMatcher([rule])
        for kind, texts in (("example", rule.examples), ("counter-example", rule.counter_examples)):
            for number, marked in enumerate(texts, 1):
                text, expected = parse_example(marked)
                found = [(match.start, match.end) for match in matcher.find(text)]
                if found != expected or (kind == "example") != bool(expected):
                    raise ConfigError(
                        Errors.D108.format(
                            path=path,
                            rule=rule.id,
                            kind=kind,
                            number=number,
                            expected=expected or "nothing",
                            found=found or "nothing",
                        )
                    )
