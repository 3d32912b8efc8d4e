"""Run rules over a text. One automaton finds the words that rules hang on; patterns are tried where they must be.

A rule with keywords costs nothing on a text without them, however many rules there are; one that says how its matches
begin is tried only there; the others are one linear scan each. No rule sees another's matches.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from re import Match as ReMatch
from re import Pattern

import ahocorasick

from ..errors import ConfigError, Errors
from ..labels import LABELS
from .normalization import NormalizedText, fold, normalize_text
from .rules import Context, Rule, parse_example, recovery_rules
from .validators import CHECK_DIGITS, get_validator

Positions = dict[str, list[int]]
# The first number and the first capital of each run: where the rules that say how they begin are tried.
_BEGINS = {
    "digit": re.compile(r"\d+"),
    "capital": re.compile(r"[A-ZÀ-ÖØ-ÞĀ-ſ]\w*"),
    "code": re.compile(r"\d+|[A-ZÀ-ÖØ-ÞĀ-ſ]\w*"),
}


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that fired.

    start, end (int): characters in the text, end exclusive.
    label (str): canonical label.
    rule (str): the rule's id.
    score (float): the rule's score.
    validated (bool): whether a rule of this label found a right check digit in these characters.
    """

    start: int
    end: int
    label: str
    rule: str
    score: float
    validated: bool = False


@dataclass(slots=True)
class _Compiled:
    """A rule, ready to run."""

    rule: Rule
    order: int
    pattern: Pattern[str]
    validator: Callable[[str], bool] | None
    groups: list[tuple[str | int, str]]
    needs: list[str]
    context: Context | None
    not_context: Context | None
    keyed: bool
    inclusive: bool


Found = tuple[_Compiled, int, ReMatch[str]]


class RuleMatcher:
    """Finds what rules describe."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Compile rules.

        rules (Sequence[Rule]): rules; where two match the same characters, the first counts.
        """
        self.rules = list(rules)
        compiled = [_compile(rule, order) for order, rule in enumerate(self.rules)]
        self._scans: dict[str, list[_Compiled]] = defaultdict(list)
        self._keyed: dict[str, list[_Compiled]] = defaultdict(list)
        self._stems: set[str] = set()
        self._words: set[str] = set()
        for item in compiled:
            self._index(item)
        self._automaton = _automaton(self._words | set(self._keyed))
        self.labels = tuple(sorted({label for item in compiled for _, label in item.groups}))

    def __reduce__(self) -> tuple[type["RuleMatcher"], tuple[list[Rule]]]:
        """A spawned worker compiles the rules anew: validators are closures, which do not pickle."""
        return RuleMatcher, (self.rules,)

    def _index(self, item: _Compiled) -> None:
        """Put a rule where its words, or the want of them, lead to it."""
        words = {fold(word) for word in [*item.rule.after, *item.rule.starts_with]}
        for word in words:
            self._keyed[word].append(item)
        if not words:
            self._scans[item.rule.begins].append(item)
        if item.rule.stem:
            self._stems |= words
        for context in filter(None, (item.context, item.not_context)):
            self._words.update(context.before, context.after)

    def find(self, text: str) -> list[Match]:
        """Find identifiers.

        A match inside another one's characters is left out: nothing is uncovered by that, and the longer one knows
        better what it is. A match with a right check digit is left out only inside another such match.

        text (str): the note.
        RETURNS (list[Match]): in the order of the text.
        """
        reading = normalize_text(text)
        hits, words = self._hits(reading)
        found = [
            (*reading.to_note(start, end), -item.keyed, item.order, label, item.rule)
            for item, first, match in chain(self._keyed_matches(reading, hits), self._scan_matches(reading))
            for start, end, label in _accept(item, first, match, words, reading)
        ]
        return _outermost(found)

    def _hits(self, reading: NormalizedText) -> tuple[list[tuple[int, int, str]], Positions]:
        """Words that stand free in the text: (start, end, word) of keywords, and the starts of context words.

        Stems are among the keywords with whatever follows them.
        """
        hits: list[tuple[int, int, str]] = []
        words: Positions = defaultdict(list)
        if self._automaton is None:
            return hits, words
        text, folded = reading.text, reading.folded
        for last, word in self._automaton.iter(folded):
            start, end = last + 1 - len(word), last + 1
            if not _starts_free(text, start):
                continue
            if _ends_free(text, end):
                if word in self._words:
                    words[word].append(start)
                if word in self._keyed:
                    hits.append((start, end, word))
            elif word in self._stems:
                hits.append((start, end, word))
        return hits, words

    def _keyed_matches(self, reading: NormalizedText, hits: Iterable[tuple[int, int, str]]) -> Iterator[Found]:
        """Try each rule right after its keywords."""
        text = reading.text
        for start, end, word in hits:
            for item in self._keyed[word]:
                match = item.pattern.match(text, end)
                if match and (item.rule.stem or _ends_free(text, end)) and _cased(item.rule, text, start):
                    yield item, start if item.inclusive else -1, match

    def _scan_matches(self, reading: NormalizedText) -> Iterator[Found]:
        """Run the rules without keywords, where they begin or over the whole text."""
        text, folded = reading.text, reading.folded
        for begins, items in self._scans.items():
            starts = [match.start() for match in _BEGINS[begins].finditer(text)] if begins else []
            for item in items:
                if not item.needs or any(need in folded for need in item.needs):
                    matches = _tried(item.pattern, text, starts) if begins else item.pattern.finditer(text)
                    for match in matches:
                        yield item, -1, match


def _tried(pattern: Pattern[str], text: str, starts: Iterable[int]) -> Iterator[ReMatch[str]]:
    """Matches at the given places that do not overlap."""
    reach, tried = -1, pattern.match
    for start in starts:
        match = tried(text, start)
        if match and start >= reach:
            reach = match.end()
            yield match


def _cased(rule: Rule, text: str, start: int) -> bool:
    return not rule.capital or text[start].isupper()


def _compile(rule: Rule, order: int) -> _Compiled:
    """Prepare a rule."""
    pattern = rule.compile()
    groups: list[tuple[str | int, str]] = [
        (name, rule.label if name == "phi" else name.upper())
        for name in pattern.groupindex
        if name == "phi" or name.upper() in LABELS
    ]
    return _Compiled(
        rule=rule,
        order=order,
        pattern=pattern,
        validator=get_validator(rule.validator) if rule.validator else None,
        groups=groups or [(0, rule.label)],
        needs=[fold(word) for word in rule.needs],
        context=_folded(rule.context),
        not_context=_folded(rule.not_context),
        keyed=bool(rule.after or rule.starts_with),
        inclusive=bool(rule.starts_with),
    )


def _folded(context: Context | None) -> Context | None:
    if context is None:
        return None
    return Context([fold(word) for word in context.before], [fold(word) for word in context.after], context.within)


def _automaton(words: Iterable[str]) -> ahocorasick.Automaton | None:
    """An Aho-Corasick automaton over words, or None if there are none."""
    automaton = ahocorasick.Automaton()
    for word in sorted(words):
        automaton.add_word(word, word)
    if not len(automaton):
        return None
    automaton.make_automaton()
    return automaton


def _starts_free(text: str, start: int) -> bool:
    """Whether a word begins here. "GarcíaNºCol" runs two words together; a digit may stand before: "12NHC"."""
    before = text[start - 1] if start else " "
    if not (before.isalpha() and text[start].isalnum()):
        return True
    return before.islower() and text[start].isupper()


def _ends_free(text: str, end: int) -> bool:
    """Whether a word ends here; a digit may follow: "CP28035"."""
    return not (end < len(text) and text[end].isalpha() and text[end - 1].isalpha())


def _accept(
    item: _Compiled, first: int, match: ReMatch[str], words: Positions, reading: NormalizedText
) -> Iterator[tuple[int, int, str]]:
    """The spans of a match that its validator and its context admit; `first` is where its keyword stands, or -1."""
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
    """Whether one of the words stands near a span."""
    return any(_between(words.get(word), start - context.within, start) for word in context.before) or any(
        _between(words.get(word), end, end + context.within) for word in context.after
    )


def _between(positions: list[int] | None, low: int, high: int) -> bool:
    """Whether one of the sorted positions lies in [low, high)."""
    if not positions:
        return False
    i = bisect_left(positions, low)
    return i < len(positions) and positions[i] < high


def _outermost(found: list[tuple[int, int, int, int, str, Rule]]) -> list[Match]:
    """Leave out what lies inside another match; of equals, a rule with a keyword comes first, then file order.

    A match with a right check digit stays inside one without. If the two have the same characters and the same label,
    the one that stays counts as validated.
    """
    found.sort(key=lambda f: (f[0], -f[1], f[2], f[3], f[4]))
    checked = {
        (start, end, label)
        for start, end, _, _, label, rule in found
        if rule.validator in CHECK_DIGITS and label == rule.label
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
    """Return the matcher of the recovery expressions of a language, compiled once per process.

    lang (str): language code.
    RETURNS (RuleMatcher): finds medical text that looks like an identifier.
    """
    return RuleMatcher(recovery_rules(lang))


def check_examples(rules: Iterable[Rule], path: str) -> None:
    """Run each rule on its own examples.

    rules (Iterable[Rule]): the rules of a file.
    path (str): the file to name.
    RAISES: ConfigError (D108) naming the rule and the number of the example, not its text.
    """
    for rule in rules:
        matcher = RuleMatcher([rule])
        for kind, texts in (("example", rule.examples), ("counter-example", rule.counter_examples)):
            for number, marked in enumerate(texts, 1):
                text, expected = parse_example(marked)
                found = [(match.start, match.end) for match in matcher.find(text)]
                if found != expected or (kind == "example") != bool(expected):
                    _example_failed(path, rule.id, kind, number, expected, found)


def _example_failed(
    path: str, rule: str, kind: str, number: int, expected: list[tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    message = Errors.D108.format(
        path=path, rule=rule, kind=kind, number=number, expected=expected or "nothing", found=found or "nothing"
    )
    raise ConfigError(message)
