"""deid_patterns: finds identifiers with a fixed form, by rules files and check digits."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang.inflection import forms_of_names
from ..ml.postprocess import propagate_names
from ..patterns import (
    COMMON,
    Rule,
    RuleMatcher,
    check_examples,
    check_unique,
    read_rules,
    resource_rules,
    rule_languages,
)
from ..patterns.validators import CHECK_DIGITS
from ..spans import Evidence, check_key, write_evidence

_PERSONS = frozenset(name for name, label in LABELS.items() if label.conll == "PER")


class Patterns:
    """Writes the matches of rules to a span group.

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
        propagate_names: bool = True,
    ) -> None:
        """Read the rules.

        name (str): name of the component, which is the source of its evidence.
        key (str): span group to write.
        languages (Sequence[str]): languages whose rules are used.
        paths (Sequence[str]): further rules files.
        disable (Sequence[str]): ids of rules to leave out.
        verify (bool): whether further rules files are run on their own examples.
        propagate_names (bool): whether each word of a person's name that was found is searched for in the whole note.
        RAISES: ConfigError for an invalid rules file (D101 – D109), a language without rules (D110), an unknown rule
            id (D111) or an invalid key (D007).
        """
        self.name = name
        self.key = check_key(key)
        self.propagate_names = propagate_names
        # A pipeline that is being loaded gets its rules from its own folder, so a missing file is an error only once
        # the component is used without them.
        self._disable = frozenset(disable)
        self._missing = [path for path in paths if not Path(path).exists()]
        self._files = [(lang, list(resource_rules(lang))) for lang in (COMMON, *dict.fromkeys(languages))]
        self._files += [(path, _read(path, verify)) for path in paths if path not in self._missing]
        rules: list[Rule] = []
        for source, added in self._files:
            rules += added
            check_unique(rules, source)
        unknown = sorted(self._disable - {rule.id for rule in rules})
        if unknown and not self._missing:
            raise ConfigError(Errors.D111.format(name=name, rules=", ".join(unknown)))
        self._set_rules(rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """tuple[Rule, ...]: The rules in use."""
        return tuple(self._matcher.rules)

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: Labels of the rules."""
        return self._matcher.labels

    def _set_rules(self, rules: Iterable[Rule]) -> None:
        """Compile the rules that are not disabled, and compute their version from their content."""
        self._matcher = RuleMatcher([rule for rule in rules if rule.id not in self._disable])
        # What a check digit confirms is an identifier, whatever it looks like: the receipt says so.
        self._checked = sorted(rule.id for rule in self._matcher.rules if rule.validator in CHECK_DIGITS)
        self._decisive = sorted(rule.id for rule in self._matcher.rules if rule.decisive)
        plain = json.dumps([rule.to_dict() for rule in self._matcher.rules], sort_keys=True)
        self.version = hashlib.sha256(plain.encode("utf8")).hexdigest()[:12]

    def use_package_rules(self) -> None:
        """Replace the rules that came with the package by those of the installed version.

        A saved pipeline keeps the rules it was assembled with. Rules of other files, and disabled ids, are not
        changed.
        """
        languages = [source for source, _ in self._files if source in rule_languages()]
        renewed = [rule for lang in languages for rule in resource_rules(lang)]
        others = [rule for rule in self.rules if rule.id.partition("/")[0] not in languages]
        check_unique([*renewed, *others], self.name)
        self._set_rules([*renewed, *others])

    def _check_rules(self) -> None:
        """Check that no rules are missing.

        RAISES: ConfigError (D100) if a rules file was not found and no saved rules replaced it.
        """
        if self._missing:
            raise ConfigError(Errors.D100.format(path=self._missing[0], reason="no such file"))

    def __call__(self, doc: Doc) -> Doc:
        """Find identifiers in a Doc and write the span group.

        doc (Doc): the Doc.
        RETURNS (Doc): the same Doc.
        """
        receipt = {"checked": self._checked, "decisive": self._decisive}
        write_evidence(doc, self.key, self.find(doc), version=self.version, **receipt)
        return doc

    def find(self, doc: Doc) -> list[Evidence]:
        """Find identifiers, without changing the Doc.

        doc (Doc): the Doc.
        RETURNS (list[Evidence]): in the order of the text; ``rule`` is the id of the rule. Evidence with a correct
            check digit is marked as validated.
        RAISES: ConfigError (D100) if a rules file is missing.
        """
        self._check_rules()
        found = [
            Evidence(match.start, match.end, match.label, self.name, match.score, match.rule, match.validated)
            for match in self._matcher.find(doc.text)
        ]
        return (
            sorted([*found, *self._propagated(doc, found)], key=lambda item: item.start)
            if self.propagate_names
            else found
        )

    def _propagated(self, doc: Doc, found: list[Evidence]) -> list[Evidence]:
        """Find further mentions of the persons' names among the detections."""
        if not any(item.label in _PERSONS for item in found):
            return []
        spans = [doc.char_span(item.start, item.end, alignment_mode="expand") for item in found]
        numbered = [(s.start, s.end, i, found[i].score) for i, s in enumerate(spans) if s is not None]
        persons = {i for i, item in enumerate(found) if item.label in _PERSONS}
        return [
            Evidence(doc[start].idx, doc[end - 1].idx + len(doc[end - 1]), found[i].label, self.name, score, "echo")
            for start, end, i, score in propagate_names(doc, numbered, persons, forms_of_names(doc.lang_))
        ]

    def _to_plain(self) -> dict[str, Any]:
        """Return the rules, and the languages and files they came from, as plain values."""
        self._check_rules()
        return {
            "files": [source for source, _ in self._files],
            "rules": [rule.to_dict() for rule in self._matcher.rules],
        }

    def _from_plain(self, data: dict[str, Any]) -> None:
        """Set saved rules, and keep the current rules of languages and files that the saved pipeline did not have."""
        rules = [Rule.from_dict(row) for row in data["rules"]]
        for source, added in self._files:
            if source not in data["files"]:
                rules += added
                check_unique(rules, source)
        self._missing = [path for path in self._missing if path not in data["files"]]
        self._files = [(path, []) for path in data["files"]] + [f for f in self._files if f[0] not in data["files"]]
        self._set_rules(rules)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the rules.

        exclude (Iterable[str]): parts to leave out: "rules".
        RETURNS (bytes): msgpack.
        """
        serializers: dict[str, Callable[[], Any]] = {"rules": lambda: srsly.msgpack_dumps(self._to_plain())}
        return bytes(util.to_bytes(serializers, exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Patterns":
        """Deserialize the rules in place; see `from_disk`.

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
        """Load the rules in place.

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
    """Read a rules file and, if requested, run its examples."""
    rules = read_rules(path)
    if verify:
        check_examples(rules, path)
    return rules
