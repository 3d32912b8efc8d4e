"""deid_patterns: finds identifiers that have a fixed form, with the rules of rules files and with check digits."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang.inflection import forms_of_names
from ..medical.known_words import known_words
from ..ml.postprocess import propagate_names
from ..patterns import (
    COMMON,
    Rule,
    RuleMatcher,
    check_examples,
    check_language,
    check_unique,
    read_rules,
    resource_rules,
    rule_languages,
)
from ..patterns.validators import has_check_digit
from ..spans import Evidence, check_key, write_evidence

_PERSONS = frozenset(name for name, label in LABELS.items() if label.conll == "PER")


class _Ruleset:
    """Compiled rules, and a version that changes when any of them does."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.matcher = RuleMatcher(list(rules))
        # What a check digit confirms is an identifier, whatever it looks like, so the receipt names these rules.
        self.checked = sorted(rule.id for rule in self.matcher.rules if has_check_digit(rule.validator))
        self.decisive = sorted(rule.id for rule in self.matcher.rules if rule.decisive)

    @cached_property
    def version(self) -> str:
        """str: Short hash of the rules."""
        plain = json.dumps([rule.to_dict() for rule in self.matcher.rules], sort_keys=True)
        return hashlib.sha256(plain.encode("utf8")).hexdigest()[:12]


class Patterns:
    """Finds the matches of rules in a Doc and writes them to a span group.

    A saved pipeline contains its rules, so it does not need the files they came from.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        languages: Sequence[str],
        paths: Sequence[str],
        disable: Sequence[str],
        verify: bool,
        propagate_names: bool,
    ) -> None:
        """Read the rules files; see `factories.make_patterns`.

        RAISES: ConfigError for an invalid rules file (D101 – D109), a language without rules (D110), an unknown rule
            id (D111) or an invalid key (D007).
        """
        self.name = name
        self.key = check_key(key)
        self.propagate_names = propagate_names
        self._disable = frozenset(disable)
        # A pipeline that is being loaded gets its rules from its own folder. So a missing file is an error only when
        # the component is used without them, and rules that ship are read only then.
        self._missing = [path for path in paths if not Path(path).exists()]
        self._sources = [COMMON, *dict.fromkeys(languages)]
        for lang in self._sources:
            check_language(lang)
        self._files = {path: _read(path, verify) for path in paths if path not in self._missing}
        self._sources += [path for path in paths if path not in self._missing]
        self._rules: _Ruleset | None = None
        if self._disable or self._files:
            self._set_rules([], self._sources)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """tuple[Rule, ...]: The rules in use."""
        return tuple(self._ready.matcher.rules)

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: The labels that the rules assign."""
        return self._ready.matcher.labels

    @property
    def version(self) -> str:
        """str: Short hash of the rules, which the span group records."""
        return self._ready.version

    @property
    def _ready(self) -> _Ruleset:
        """The rules. If no saved ones were loaded, they are read from their files on first use."""
        return self._rules or self._set_rules([], self._sources)

    def _set_rules(self, rules: Sequence[Rule], sources: Iterable[str]) -> _Ruleset:
        """Use the given rules and those of the sources (languages or files), except the disabled ones.

        RAISES: ConfigError for an id that occurs twice (D107), or an unknown id that is disabled (D111).
        """
        found = list(rules)
        for source in sources:
            found += self._files[source] if source in self._files else resource_rules(source)
            check_unique(found, source)
        unknown = sorted(self._disable - {rule.id for rule in found})
        if unknown and not self._missing and not rules:
            raise ConfigError(Errors.D111.format(name=self.name, rules=", ".join(unknown)))
        self._rules = _Ruleset(rule for rule in found if rule.id not in self._disable)
        return self._rules

    def use_package_rules(self) -> None:
        """Replace the rules that a saved pipeline took from the package by those of the installed version.

        A saved pipeline keeps the rules it was assembled with. Rules of other files, and disabled ids, are not
        changed.
        """
        languages = [source for source in self._sources if source in rule_languages()]
        others = [rule for rule in self.rules if rule.id.partition("/")[0] not in languages]
        renewed = [rule for lang in languages for rule in resource_rules(lang)]
        check_unique([*renewed, *others], self.name)
        self._rules = _Ruleset(rule for rule in [*renewed, *others] if rule.id not in self._disable)

    def _check_rules(self) -> None:
        """Check that no rules are missing.

        RAISES: ConfigError (D100) if a rules file was not found and no saved rules replaced it.
        """
        if self._missing:
            raise ConfigError(Errors.D100.format(path=self._missing[0], reason="no such file"))

    def __call__(self, doc: Doc) -> Doc:
        """Find identifiers in a Doc and write them to the span group.

        doc (Doc): the Doc.
        RETURNS (Doc): the same Doc.
        RAISES: ConfigError (D100) if a rules file is missing.
        """
        evidence, rules = self.find(doc), self._ready
        write_evidence(doc, self.key, evidence, version=rules.version, checked=rules.checked, decisive=rules.decisive)
        return doc

    def find(self, doc: Doc) -> list[Evidence]:
        """Find identifiers, without changing the Doc.

        doc (Doc): the Doc.
        RETURNS (list[Evidence]): the matches, in the order of the text. Their ``rule`` is the id of the rule, or
            "echo" for a further mention of a name; a match with a correct check digit is marked as validated.
        RAISES: ConfigError (D100) if a rules file is missing.
        """
        self._check_rules()
        found = [
            Evidence(match.start, match.end, match.label, self.name, match.score, match.rule, match.validated)
            for match in self._ready.matcher.find(doc.text)
        ]
        persons = {i for i, item in enumerate(found) if item.label in _PERSONS}
        if not (persons and self.propagate_names):
            return found
        spans = [doc.char_span(item.start, item.end, alignment_mode="expand") for item in found]
        numbered = [(s.start, s.end, i, found[i].score) for i, s in enumerate(spans) if s is not None]
        forms, is_known = forms_of_names(doc.lang_), known_words(doc.lang_)
        further = [
            Evidence(doc[start].idx, doc[end - 1].idx + len(doc[end - 1]), found[i].label, self.name, score, "echo")
            for start, end, i, score in propagate_names(doc, numbered, persons, forms, is_known)
        ]
        return sorted([*found, *further], key=lambda item: item.start)

    def _to_plain(self) -> dict[str, Any]:
        """Return the rules, and the languages and files that they came from, as values that JSON can represent."""
        self._check_rules()
        return {"files": self._sources, "rules": [rule.to_dict() for rule in self.rules]}

    def _from_plain(self, data: dict[str, Any]) -> None:
        """Set saved rules, and keep the current rules of languages and files that the saved pipeline did not have."""
        added = [source for source in self._sources if source not in data["files"]]
        self._missing = [path for path in self._missing if path not in data["files"]]
        self._set_rules([Rule.from_dict(row) for row in data["rules"]], added)
        self._sources = [*data["files"], *added]

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the rules, so that the pipeline can be loaded without their files.

        exclude (Iterable[str]): parts to leave out: "rules".
        RETURNS (bytes): msgpack.
        """
        serializers: dict[str, Callable[[], Any]] = {"rules": lambda: srsly.msgpack_dumps(self._to_plain())}
        return bytes(util.to_bytes(serializers, exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Patterns":
        """Load serialized rules into this component; see `from_disk`.

        data (bytes): output of `to_bytes`.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (Patterns): the component.
        """
        deserializers = {"rules": lambda b: self._from_plain(srsly.msgpack_loads(b))}
        util.from_bytes(data, deserializers, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the rules as JSON.

        path (str | Path): folder of the component.
        exclude (Iterable[str]): parts to leave out: "rules".
        """
        serializers = {"rules": lambda p: srsly.write_json(p.with_suffix(".json"), self._to_plain())}
        util.to_disk(util.ensure_path(path), serializers, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Patterns":
        """Load saved rules into this component.

        They replace the current rules, except those of languages and files that the saved pipeline did not have: rules
        that are configured when a pipeline is loaded are added to it.

        path (str | Path): folder of the component.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (Patterns): the component.
        """
        deserializers = {"rules": lambda p: self._from_plain(srsly.read_json(p.with_suffix(".json")))}
        util.from_disk(util.ensure_path(path), deserializers, exclude)
        return self


def _read(path: str, verify: bool) -> list[Rule]:
    """Read a rules file and, if `verify` is set, check that its rules match their own examples."""
    rules = read_rules(path)
    if verify:
        check_examples(rules, path)
    return rules
