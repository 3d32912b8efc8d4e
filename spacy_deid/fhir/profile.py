"""Read a profile, the allow-list that says what is done with each element of each resource.

A profile is a TOML file; ``resources/fhir/profile.toml`` ships with the package and explains its keys. Every name in
it is checked against the definitions of R4, so that a misspelt element is an error and not a lost element.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import Errors
from ..export_profiles import ProfileParser
from ..labels import LABELS
from .definitions import DATES, Element, load_definitions

KEEP, DATE, TEXT, TYPE = "keep", "date", "text", "type"
_TEXTS = frozenset({"string", "markdown"})
_IDS = frozenset({"string", "id", "uri", "oid", "uuid"})
ACTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        KEEP: frozenset(),  # every primitive type but those that another action removes content from
        DATE: DATES,
        TEXT: _TEXTS,
        "name": _TEXTS,
        "contact": _TEXTS,
        "identifier": _TEXTS,
        "display": _TEXTS,
        "target": _TEXTS,
        "reference": frozenset({"string"}),
        "id": _IDS,
        "narrative": frozenset({"xhtml"}),
        "file": frozenset({"base64Binary"}),
        "url": frozenset({"url"}),
        "label": _TEXTS,
    }
)
"""Action on a primitive value → the types that it can be done with; empty for all."""

SOURCES = ("patient", "relative", "clinician", "organization", "location")
"""Kinds of resources that say who a patient is."""

_TOP = frozenset({"name", "fhir", "security_label", "systems", "extensions", "by_type", "types", "resources"})
_RESOURCE = frozenset({"about", "dated", "source", "role", "roles"})


class Rule(NamedTuple):
    """What is done with an element.

    action (str): a key of `ACTIONS`, or "type" for a complex value, whose elements have rules of their own.
    label (str): canonical label, for the action "label".
    """

    action: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """What a profile says about a type of resource beyond its elements.

    about (tuple[str, ...]): elements with references to the patient, such as "participant.actor".
    dated (tuple[str, ...]): elements with the date of the notes in it, the most precise first.
    source (str): one of `SOURCES`, or "".
    role (str): canonical label of the names of persons in it.
    roles (Mapping[str, str]): element → label of the names in it, if it differs.
    """

    about: tuple[str, ...] = ()
    dated: tuple[str, ...] = ()
    source: str = ""
    role: str = "PERSON"
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A checked profile.

    name (str): its name, for reports.
    security_label (bool): whether released resources get a security label.
    display_systems (tuple[str, ...]): beginnings of the URLs of code systems whose displays are kept.
    resources (Mapping[str, ResourceRule]): the types of resources that are released.
    rules (Mapping[str, Mapping[str, Rule]]): resource type, complex type or backbone → element → rule.
    extensions (Mapping[str, Mapping[str, Rule]]): URL of an extension → element of the extension → rule.
    """

    name: str
    security_label: bool
    display_systems: tuple[str, ...]
    resources: Mapping[str, ResourceRule]
    rules: Mapping[str, Mapping[str, Rule]]
    extensions: Mapping[str, Mapping[str, Rule]]


@cache
def default_profile() -> Profile:
    """Read the profile that ships with the package."""
    return _Parser.read_default()


def read_profile(path: str | Path) -> Profile:
    """Read a profile from a file.

    path (Union[str, Path]): a TOML file.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D982) if it cannot be read, or names something that FHIR R4 or the package does not have.
    """
    return _Parser.read_file(path)


def parse_profile(text: str, path: str) -> Profile:
    """Parse and check a profile.

    text (str): the content of the file.
    path (str): name of the file, for error messages.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D982) as `read_profile`.
    """
    return _Parser.read_text(text, path)


class _Parser(ProfileParser[Profile]):
    """Converts the content of a file to a `Profile`."""

    standard, message = "fhir", Errors.D982
    hint = ". Names of elements are strings"

    def __init__(self, path: str, data: Mapping[str, Any]) -> None:
        super().__init__(path, data)
        self._rules: dict[str, dict[str, Rule]] = {}
        self._by_type: dict[str, str] = {}

    def parse(self) -> Profile:
        """Check the tables and convert them."""
        data, definitions = self._data, load_definitions()
        self.check("key", set(data), _TOP)
        if data.get("fhir") != definitions.version:
            raise self.wrong(f"'fhir' must be \"{definitions.version}\", the supported version")
        for action, names in data.get("by_type", {}).items():
            self.check("action", {action}, set(ACTIONS))
            self._by_type.update(dict.fromkeys(names.split(), action))
        self.check("primitive type", set(self._by_type), set(definitions.primitives))
        tables = {**data.get("types", {}), **data.get("resources", {})}
        for name in tables:  # before the elements, which may have these types
            if not definitions.has(name):
                raise self.wrong(f"FHIR R4 has no type '{name}'")
            self._rules[name] = {}
        for name, table in tables.items():
            for owner, element, rule in self._read(name, table):
                self._rules.setdefault(owner, {})[element] = rule
        self._pass_backbones()
        self.check("resource", set(data.get("resources", {})), definitions.resources)
        return Profile(
            str(data.get("name", Path(self._path).stem)),
            bool(data.get("security_label", False)),
            tuple(data.get("systems", {}).get("display", [])),
            {name: self._resource(name, table) for name, table in data.get("resources", {}).items()},
            self._rules,
            {url: self._extension(table) for url, table in data.get("extensions", {}).items()},
        )

    def _resource(self, name: str, table: Mapping[str, Any]) -> ResourceRule:
        """Read what a table says about a type of resource."""
        source, role, roles = table.get("source", ""), table.get("role", "PERSON"), table.get("roles", {})
        self.check("source", {source} - {""}, SOURCES)
        self.check("label", {role, *roles.values()}, LABELS)
        about, dated = (tuple(table.get(key, "").split()) for key in ("about", "dated"))
        for path in (*about, *dated, *roles):
            for _ in self._find(name, path):
                pass
        return ResourceRule(about, dated, source, role, roles)

    def _extension(self, table: Mapping[str, Any]) -> dict[str, Rule]:
        """Read the rules of an extension. Its URL is always kept."""
        return {"url": Rule(KEEP)} | {element: rule for _, element, rule in self._read("Extension", table)}

    def _read(self, name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str, Rule]]:
        """Yield owner, element and rule for each name in the table of a type."""
        self.check(f"key in the table of {name}:", set(table), {"elements", "labels", *ACTIONS, *_RESOURCE})
        for key in ("elements", *(set(ACTIONS) - {"label"})):
            for path in table.get(key, "").split():
                for owner, element in self._find(name, path):
                    yield owner, element.name, self._rule(f"{name}.{path}", element, "" if key == "elements" else key)
        for label, names in table.get("labels", {}).items():
            self.check("label", {label}, LABELS)
            for path in names.split():
                for owner, element in self._find(name, path):
                    self._rule(f"{name}.{path}", element, "label")
                    yield owner, element.name, Rule("label", label)

    def _find(self, name: str, path: str) -> list[tuple[str, Element]]:
        """Find an element by its path: one, or one per type of a choice. RETURNS: pairs of owner and element."""
        definitions, owner = load_definitions(), name
        *parents, last = path.split(".")
        for parent in parents:
            element = definitions.elements(owner).get(parent)
            if element is None or not definitions.has(element.type):
                raise self.wrong(f"FHIR R4 has no element '{name}.{path}'")
            owner = element.type
        found = [element for element in definitions.elements(owner).values() if last in (element.name, element.choice)]
        if not found:
            raise self.wrong(f"FHIR R4 has no element '{name}.{path}'")
        return [(owner, element) for element in found]

    def _rule(self, path: str, element: Element, action: str) -> Rule:
        """Return the rule of an element: of an action, or of the type of the element if none is given."""
        is_primitive = element.type in load_definitions().primitives
        if not action:
            if is_primitive:
                action = self._by_type.get(element.type, "")
            elif element.type in self._rules or "." in element.type or element.type == "Resource":
                return Rule(TYPE)
            if not action:
                raise self.wrong(f"'{path}' needs an action, because [by_type] and [types] have no {element.type}")
        elif not is_primitive or (ACTIONS[action] and element.type not in ACTIONS[action]):
            raise self.wrong(f"'{action}' is not possible for '{path}', which is of the type {element.type}")
        return Rule(action)

    def _pass_backbones(self) -> None:
        """Add the rules of the backbones whose elements have rules."""
        definitions = load_definitions()
        for owner in sorted((name for name in self._rules if "." in name), key=len, reverse=True):
            parent, _, name = owner.rpartition(".")
            while parent and name in definitions.elements(parent):
                self._rules.setdefault(parent, {}).setdefault(name, Rule(TYPE))
                parent, _, name = parent.rpartition(".")
