"""Read rules for identifiers from TOML files, and check them. Errors name the file and the rule.

A file has a ``name``, an optional table ``[define]`` of fragments that patterns use as ``{fragment}``, and
``[[rules]]``. docs/guides/patterns.md describes the keys. The rules of a language are in ``lang/XX/patterns.toml``,
those of all languages in ``resources/patterns/common.toml``. Recovery rules have the same format; they match medical
text that looks like an identifier (``resources/recovery/common.toml``, ``lang/XX/recovery.toml``).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import get_language, language_codes
from .validators import get_validator, validator_names

COMMON = "common"
# Lists of words that a fragment may name, as "professions-es": files of the language, and whether only the first
# column of a table counts.
_WORD_LISTS = {
    "professions": (("synth/lists/professions.csv", "synth/lists/professions.txt"), False),
    "given-names": (("names/female.csv", "names/male.csv"), True),
    "surnames": (("names/surname.csv",), True),
}

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FRAGMENT = re.compile(r"\{([a-z][a-z_]*)\}")
_MARKED = re.compile(r"\[\[(.+?)\]\]")
_FLAGS = {"": 0, "i": re.IGNORECASE}
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>")
# References to groups by name: (?P=name) and (?(name)…).
_BY_NAME = re.compile(r"\(\?P=(\w+)\)|\(\?\(([^\W\d]\w*)\)")
_BEGINS = ("", "digit", "capital", "code")
_EDGES = {"word": (r"(?<!\w)", r"(?!\w)"), "digit": (r"(?<!\d)", r"(?!\d)"), "none": ("", "")}


@dataclass(frozen=True, slots=True)
class Context:
    """Words that a rule requires or forbids near a match.

    before, after (list[str]): words to search for before and after the match, regardless of case and accents. One of
        them is sufficient.
    within (int): maximum distance between the start of a word before the match, or of a word after it, and the match,
        in characters.
    """

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    within: int = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that finds identifiers with a regular expression. It consists of plain values, so it can be serialized.

    id (str): name of the file and of the rule, "file/rule".
    label (str): canonical label.
    pattern (str): Python `re` with the fragments filled in. A group ``phi``, or one with the name of a label in lower
        case, marks the identifier if it is only a part of the match.
    flags (str): "i" to ignore case.
    edges (str): where a match can begin and end: at the edge of a "word", of a number ("digit"), or anywhere ("none").
    after (list[str]): keywords. The pattern is tried immediately after each of them.
    starts_with (list[str]): words that the identifier begins with. The pattern describes what follows them.
    capital (bool): whether a word of `after` or `starts_with` must have a capital letter.
    stem (bool): whether letters can follow a word of `after` or `starts_with`. The pattern begins with the endings.
    compound (bool): whether letters can precede a word of `after` or `starts_with`, as in Finnish compounds.
    decisive (bool): whether the keyword determines the label, so that a detection of the classifier in the same words
        gets the label of the rule.
    begins (str): "digit", "capital" or "code" (either) if every match begins with one; the pattern is tried only
        there.
    needs (list[str]): words one of which a note must contain, regardless of case and accents, for the rule to run.
    context, not_context (Optional[Context]): words of which one must be, or none must be, near the match.
    validator (str): name of a validator of the matched text.
    score (float): probability that a match is PHI.
    examples, counter_examples (list[str]): texts with the identifiers in [[…]], and texts without any.
    """

    id: str
    label: str
    pattern: str = ""
    flags: str = ""
    edges: str = "word"
    after: list[str] = field(default_factory=list)
    starts_with: list[str] = field(default_factory=list)
    capital: bool = False
    stem: bool = False
    compound: bool = False
    decisive: bool = False
    begins: str = ""
    needs: list[str] = field(default_factory=list)
    context: Context | None = None
    not_context: Context | None = None
    validator: str = ""
    score: float = 1.0
    examples: list[str] = field(default_factory=list)
    counter_examples: list[str] = field(default_factory=list)

    def compile(self) -> re.Pattern[str]:
        """Compile the pattern together with the test for its edges. A rule with keywords has no left edge.

        RETURNS (re.Pattern): the compiled pattern.
        """
        return _compile(self._with_edges(), _FLAGS[self.flags])

    def alternative(self, prefix: str) -> str:
        """Return the pattern in a form that can be joined with those of other rules by "|".

        prefix (str): what the names of groups begin with, to be different for each rule.
        RETURNS (str): the pattern with edges and flags. Groups to which it refers by name get the prefix, other groups
            lose their names. It matches where that of `compile` does, unless it refers to groups by number.
        """
        text = self._with_edges()
        referred = set(chain.from_iterable(_BY_NAME.findall(text)))

        def rename(match: re.Match[str]) -> str:
            return f"(?P<{prefix}{match[1]}>" if match[1] in referred else "(?:"

        text = _NAMED_GROUP.sub(rename, text)
        text = _BY_NAME.sub(lambda m: f"(?P={prefix}{m[1]})" if m[1] else f"(?({prefix}{m[2]})", text)
        return f"(?{self.flags}:{text})"

    def _with_edges(self) -> str:
        """Return the pattern with its edges."""
        left, right = _EDGES[self.edges]
        if self.after or self.starts_with:
            left = ""
        return f"{left}(?:{self.pattern}){right}"

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a dict of plain values, for JSON and msgpack."""
        contexts = {key: asdict(value) for key in _CONTEXTS if (value := getattr(self, key)) is not None}
        return {name: getattr(self, name) for name in _NAMES} | contexts

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Rule":
        """Create a rule from a dict that `to_dict` returned."""
        values = dict(data)
        for key in ("context", "not_context"):
            if values.get(key) is not None:
                values[key] = Context(**values[key])
        return cls(**values)


# The cache of `re` is too small for the rules of several pipelines.
_compile = cache(re.compile)

_STRINGS = frozenset({"id", "label", "pattern", "flags", "edges", "validator", "begins"})
_LISTS = frozenset({"after", "starts_with", "needs", "examples", "counter_examples"})
_CONTEXTS = frozenset({"context", "not_context"})
_NAMES = tuple(item.name for item in fields(Rule))
_KEYS = frozenset(_NAMES)


def parse_example(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Parse an example of a rule, in which the identifiers are marked: "DNI [[12345678Z]]".

    text (str): text with identifiers in double brackets.
    RETURNS (tuple[str, list[tuple[int, int]]]): the text without brackets, and the spans that must be found, in order.
    """
    bare, spans, last = "", [], 0
    for match in _MARKED.finditer(text):
        bare += text[last : match.start()]
        spans.append((len(bare), len(bare) + len(match[1])))
        bare += match[1]
        last = match.end()
    return bare + text[last:], spans


def _common_text() -> str:
    """Read the rules file for all languages."""
    return (files("spacy_deid") / "resources" / "patterns" / "common.toml").read_text(encoding="utf8")


@cache
def _common() -> Mapping[str, str]:
    """Return the fragments of common.toml, which the patterns of every file can use."""
    return _fragments(tomllib.loads(_common_text()), "common.toml", {})


def rule_languages() -> list[str]:
    """List the available sets of rules: "common", which is for all languages, then the codes of the languages."""
    return [COMMON, *language_codes("patterns.toml")]


def check_language(lang: str) -> None:
    """Check that there is a rules file for a language. RAISES: ConfigError (D110) if not."""
    if lang not in rule_languages():
        raise ConfigError(Errors.D110.format(lang=lang, known=", ".join(rule_languages()[1:])))


def resource_rules(lang: str) -> list[Rule]:
    """Read the rules of a language that this package or an added language folder contains.

    lang (str): "common" or a language code.
    RETURNS (list[Rule]): the rules in the order of the file.
    RAISES: ConfigError (D110) if there are none for the language.
    """
    check_language(lang)
    if lang == COMMON:
        return parse_rules(_common_text(), "common.toml", check=False)
    path = get_language(lang).resource("patterns.toml")
    ships = Path(str(files("spacy_deid"))) in path.parents  # and not in a folder that was added
    return parse_rules(path.read_text(encoding="utf8"), f"{lang}.toml", check=not ships)


def recovery_rules(lang: str) -> list[Rule]:
    """Read the recovery rules of a language, which match medical text that looks like an identifier.

    lang (str): language code. A language without recovery rules of its own gets only the common ones.
    RETURNS (list[Rule]): the rules for all languages, then those of the language. Their labels are not used.
    """
    common = (files("spacy_deid") / "resources" / "recovery" / "common.toml").read_text(encoding="utf8")
    own = get_language(lang).read_text("recovery.toml")
    rules = parse_rules(common, f"recovery/{COMMON}.toml")
    return rules + (parse_rules(own, f"recovery/{lang}.toml") if own else [])


def read_rules(path: str | Path) -> list[Rule]:
    """Read a rules file.

    path (Union[str, Path]): TOML file.
    RETURNS (list[Rule]): the rules in the order of the file.
    RAISES: ConfigError (D100 – D107, D109) with the name of the file and, for an error in a rule, its id.
    """
    try:
        text = Path(path).read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(Errors.D100.format(path=path, reason=type(error).__name__)) from None
    return parse_rules(text, str(path))


def parse_rules(text: str, path: str, check: bool = True) -> list[Rule]:
    """Parse the text of a rules file.

    text (str): content of the file, in TOML.
    path (str): name of the file, for error messages.
    check (bool): whether to check the patterns, which compiles them. The rules of this package are checked by tests.
    RETURNS (list[Rule]): the rules in the order of the file.
    RAISES: ConfigError, see `read_rules`.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or deep nesting
        raise ConfigError(Errors.D101.format(path=path, reason=error)) from None
    _check_file(data, path)
    fragments = _fragments(data, path, {} if path == "common.toml" else _common())
    rules = [_rule(row, number, data["name"], fragments, path) for number, row in enumerate(data["rules"], 1)]
    for rule in rules if check else ():
        _check_pattern(rule, path)
    check_unique(rules, path)
    return rules


def check_unique(rules: Iterable[Rule], path: str) -> None:
    """Check that no rule id occurs twice.

    rules (Iterable[Rule]): rules of one pipeline.
    path (str): name of the file, for the error message.
    RAISES: ConfigError (D107) for a repeated id.
    """
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise ConfigError(Errors.D107.format(path=path, rule=rule.id))
        seen.add(rule.id)


def _check_file(data: Mapping[str, Any], path: str) -> None:
    """Check the top level of a rules file. RAISES: ConfigError (D109) for an unknown key or an invalid value."""
    reason = ""
    if unknown := sorted(set(data) - {"name", "define", "rules"}):
        reason = f"unknown key(s) {', '.join(unknown)}"
    elif not isinstance(data.get("name"), str) or not _NAME.fullmatch(data["name"]):
        reason = "'name' must be a word of a-z, 0-9, - and _"
    elif not isinstance(data.get("rules"), list) or not all(isinstance(row, dict) for row in data["rules"]):
        reason = "'rules' must be a list of tables: [[rules]]"
    if reason:
        raise ConfigError(Errors.D109.format(path=path, reason=reason))


def _fragments(data: Mapping[str, Any], path: str, common: Mapping[str, str]) -> dict[str, str]:
    """Return the fragments of a file and the common ones. A fragment can use those above it."""
    fragments = dict(common)
    for name, pattern in data.get("define", {}).items():
        words = _read_list(pattern["list"]) if isinstance(pattern, dict) and set(pattern) == {"list"} else []
        if words:
            fragments[name] = _any_of(words)
        elif isinstance(pattern, str):
            fragments[name] = f"(?:{_fill(pattern, fragments, path, name)})"
        else:
            lists = (f"{kind}-{code}" for kind in _WORD_LISTS for code in language_codes())
            known = ", ".join(item for item in lists if _read_list(item))
            reason = f"fragment '{name}' must be a string, or {{ list = … }} with one of {known}"
            raise ConfigError(Errors.D109.format(path=path, reason=reason))
    return fragments


def _read_list(name: Any) -> list[str]:
    """Read the words of a list such as "professions-es"; [] if there is no such list.

    They are the cells of a CSV file below its header, or the lines of another file.
    """
    kind, _, code = str(name).rpartition("-")
    if kind not in _WORD_LISTS or code not in language_codes():
        return []
    files, first_column = _WORD_LISTS[kind]
    words: set[str] = set()
    for file in files:
        lines = get_language(code).read_text(file).splitlines()
        if file.endswith(".csv"):
            lines = [cell for line in lines[1:] for cell in line.split(",")[: 1 if first_column else None]]
        words.update(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return sorted(words)


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of many words; the words are grouped by first letter for speed."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0], []).append(re.escape(word[1:]))
    return "(?:" + "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_letter.items()) + ")"


def _fill(pattern: str, fragments: Mapping[str, str], path: str, rule: str) -> str:
    """Replace the names of fragments in a pattern by the fragments.

    RAISES: ConfigError (D102) if one is not defined.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1] not in fragments:
            raise ConfigError(Errors.D102.format(path=path, rule=rule, reason=f"no fragment '{match[1]}'"))
        return fragments[match[1]]

    return _FRAGMENT.sub(fill, pattern)


def _rule(row: Mapping[str, Any], number: int, name: str, fragments: Mapping[str, str], path: str) -> Rule:
    """Check a table of a file and make a rule from it.

    RAISES: ConfigError for a wrong key or value (D102), label (D104) or validator (D105).
    """
    rule_id = str(row["id"]) if isinstance(row.get("id"), str) else f"number {number}"
    if reason := _wrong_row(row):
        raise ConfigError(Errors.D102.format(path=path, rule=rule_id, reason=reason))
    if row["label"] not in LABELS:
        raise ConfigError(Errors.D104.format(path=path, rule=rule_id, label=row["label"], known=", ".join(LABELS)))
    pattern = _fill(row.get("pattern", ""), fragments, path, rule_id)
    rule = Rule.from_dict({**row, "id": f"{name}/{rule_id}", "pattern": pattern})
    if rule.validator:
        try:
            get_validator(rule.validator, name)
        except KeyError:
            known = ", ".join([*validator_names(), "phone:REGION,…"])
            reason = Errors.D105.format(path=path, rule=rule_id, validator=rule.validator, known=known)
            raise ConfigError(reason) from None
    return rule


def _wrong_row(row: Mapping[str, Any]) -> str:
    """Describe what is wrong with the keys and values of a table; "" if nothing is."""
    if unknown := sorted(set(row) - _KEYS):
        return f"unknown key(s) {', '.join(unknown)}. Known keys: {', '.join(sorted(_KEYS))}"
    if missing := [key for key in ("id", "label") if key not in row]:
        return f"missing key(s) {', '.join(missing)}"
    if wrong := [key for key in _STRINGS & set(row) if not isinstance(row[key], str)]:
        return f"'{wrong[0]}' must be a string"
    if not _NAME.fullmatch(row["id"]):
        return "'id' must be a word of a-z, 0-9, - and _"
    if wrong := [key for key in _LISTS & set(row) if not _is_words(row[key])]:
        return f"'{wrong[0]}' must be a list of strings, none of them empty"
    for key in _CONTEXTS & set(row):
        if reason := _wrong_context(row[key]):
            return f"'{key}' {reason}"
    return _wrong_choice(row)


def _wrong_choice(row: Mapping[str, Any]) -> str:
    """Describe what is wrong with values of which only some are allowed; "" if nothing is."""
    if row.get("flags", "") not in _FLAGS or row.get("edges", "word") not in _EDGES:
        return f"'flags' is one of {list(_FLAGS)} and 'edges' one of {list(_EDGES)}"
    if row.get("begins", "") not in _BEGINS:
        return f"'begins' is one of {list(_BEGINS)}"
    if sum(bool(row.get(key)) for key in ("after", "starts_with", "begins")) > 1:
        return "give one of 'after', 'starts_with' and 'begins'"
    if not all(isinstance(row.get(key, False), bool) for key in ("capital", "stem", "compound", "decisive")):
        return "'capital', 'stem', 'compound' and 'decisive' must be true or false"
    score = row.get("score", 1.0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 < score <= 1:
        return "'score' must be a number above 0, at most 1"
    return "" if row.get("pattern") or row.get("starts_with") else "missing key(s) pattern"


def _is_words(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(x, str) and x for x in value)


def _wrong_context(value: Any) -> str:
    """Describe what is wrong with a context table; "" if nothing is."""
    if not isinstance(value, dict) or set(value) - {"before", "after", "within"}:
        return "must be a table of before, after and within"
    if not all(_is_words(value[key]) for key in ("before", "after") if key in value):
        return "must hold lists of words"
    within = value.get("within", 40)
    return "" if isinstance(within, int) and 0 < within <= 1000 else "needs 'within' from 1 to 1000"


def _check_pattern(rule: Rule, path: str) -> None:
    """Check that a pattern compiles, matches at least one character, and has only known groups."""
    rule_id = rule.id.partition("/")[2]
    try:
        bare = re.compile(rule.pattern, _FLAGS[rule.flags])
        compiled = rule.compile()
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(Errors.D103.format(path=path, rule=rule_id, reason=error)) from None
    known = {"phi", *chain.from_iterable(_BY_NAME.findall(rule.pattern))}
    unknown = [name for name in compiled.groupindex if name not in known and name.upper() not in LABELS]
    if unknown:
        reason = f"group '{unknown[0]}' is neither 'phi' nor a label in lower case nor referred to"
        raise ConfigError(Errors.D102.format(path=path, rule=rule_id, reason=reason))
    probes = ("", "a", "A1", "1.", " ")
    empty = any(match.start() == match.end() for text in probes for match in bare.finditer(text))
    if empty and not rule.starts_with:
        raise ConfigError(Errors.D106.format(path=path, rule=rule_id))
