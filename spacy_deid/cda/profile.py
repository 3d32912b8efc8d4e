"""Read a profile, the allow-list that says what is done with each element and attribute of a document.

A profile is a TOML file; ``resources/cda/profile.toml`` ships with the package and explains its keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors
from ..export_profiles import ProfileParser
from ..labels import LABELS

ACTIONS = frozenset(
    {
        "keep", "number", "date", "text", "content", "name", "contact", "identifier",
        "id", "root", "anchor", "reference", "display", "value", "narrative",
    }
)  # fmt: skip
"""What can be done with a value; "label" and "type" have tables of their own."""

KINDS = frozenset({"given", "surname", "full", "phone", "id", "street", "zip", "city", "organization", "location"})
"""What a value can be in the dictionary of the documents; see `ehr.export_dictionary`."""

SOURCES = frozenset({"patient", "relative", "clinician", "organization", "location"})
"""Persons and institutions that a type can describe."""

NARRATIVE = "StrucDoc"
"""The type of narrative blocks and of the elements in them."""

_TOP = frozenset({"name", "systems", "ages", "roots", "attributes", "values", "types"})
_TYPE = ACTIONS | {"elements", "types", "labels", "role", "source", "kinds", "classes"}


class Rule(NamedTuple):
    """What is done with an element, an attribute or a text.

    action (str): one of `ACTIONS`, "label" or "type".
    name (str): canonical label or name of the type, for "label" and "type".
    """

    action: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class TypeRule:
    """What is done with a class or a data type.

    name (str): its name.
    parts (Mapping[str, Rule]): child, "@attribute" or "#" for the text → rule.
    kinds (Mapping[str, str]): the same → what it is in the dictionary.
    classes (Mapping[str, str]): value of classCode → name of the type that holds instead.
    role (str): canonical label of names in it; "" for that of the element around it.
    source (str): one of `SOURCES`; "" if it does not describe a person of its own.
    """

    name: str
    parts: Mapping[str, Rule]
    kinds: Mapping[str, str]
    classes: Mapping[str, str]
    role: str
    source: str

    @property
    def is_data_type(self) -> bool:
        """Whether it is a data type, so that an empty element gets a nullFlavor."""
        return self.name.isupper()


@dataclass(frozen=True, slots=True)
class Profile:
    """A checked profile.

    name (str): its name, for reports.
    systems (tuple[str, ...]): OIDs of the code systems whose display names are kept.
    ages (frozenset[str]): codes, and words of display names in lower case, of observations that are ages.
    roots (Mapping[str, str]): well-known root of identifiers → label of the number below it.
    attributes (Mapping[str, Rule]): attribute that any element can have → rule.
    values (Mapping[str, str]): xsi:type → name of the type; "" for elements without one.
    types (Mapping[str, TypeRule]): type → rules.
    """

    name: str
    systems: tuple[str, ...]
    ages: frozenset[str]
    roots: Mapping[str, str]
    attributes: Mapping[str, Rule]
    values: Mapping[str, str]
    types: Mapping[str, TypeRule]

    def type_of(self, name: str, class_code: str) -> TypeRule:
        """Return the rules of a type for an element with a class code."""
        rule = self.types[name]
        return self.types[rule.classes[class_code]] if class_code in rule.classes else rule


@cache
def default_profile() -> Profile:
    """Read the profile that ships with the package."""
    return _Parser.read_default()


def read_profile(path: str | Path) -> Profile:
    """Read a profile from a file.

    path (Union[str, Path]): a TOML file.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D978) if it cannot be read or has an unknown key, action, type or label.
    """
    return _Parser.read_file(path)


def parse_profile(text: str, path: str) -> Profile:
    """Parse and check a profile.

    text (str): the content of the file.
    path (str): name of the file, for error messages.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D978) as `read_profile`.
    """
    return _Parser.read_text(text, path)


class _Parser(ProfileParser[Profile]):
    """Converts the content of a file to a `Profile`."""

    standard, message = "cda", Errors.D978

    def __init__(self, path: str, data: Mapping[str, Any]) -> None:
        super().__init__(path, data)
        self._types = frozenset(data.get("types", {}))

    def parse(self) -> Profile:
        """Check the tables and convert them."""
        data = self._data
        self.check("key", data, _TOP)
        roots, values = data.get("roots", {}), dict(data.get("values", {}))
        self.check("label", roots.values(), LABELS)
        default = values.pop("default", "")
        self.check("type", {*values, default} - {""}, self._types)
        self.check("type", {"ClinicalDocument"}, self._types)
        attributes = data.get("attributes", {})
        self.check("key in [attributes]:", attributes, {"keep", "anchor"})
        return Profile(
            str(data.get("name", Path(self._path).stem)),
            tuple(data.get("systems", [])),
            frozenset(data.get("ages", [])),
            roots,
            dict(self._rules("attributes", attributes)),
            {kind: name for name, kinds in values.items() for kind in kinds.split()}
            | ({"": default} if default else {}),
            {name: self._type(name, table) for name, table in data["types"].items()},
        )

    def _type(self, name: str, table: Mapping[str, Any]) -> TypeRule:
        """Read the table of a type."""
        self.check(f"key in the table of {name}:", table, _TYPE)
        role, source, kinds = table.get("role", ""), table.get("source", ""), table.get("kinds", {})
        classes = table.get("classes", {})
        self.check("label", {role} - {""}, LABELS)
        self.check("source", {source} - {""}, SOURCES)
        self.check("kind", kinds, KINDS)
        self.check("type", classes, self._types)
        parts: dict[str, Rule] = {}
        for part, rule in self._rules(name, table):
            if part in parts:
                raise self.wrong(f"'{part}' in the table of {name} has two rules")
            if part[0] != "@" and rule.action in ("root", "anchor", "reference", "display", "number"):
                raise self.wrong(f"'{part}' in the table of {name} must be an attribute for '{rule.action}'")
            parts[part] = rule
        return TypeRule(
            name,
            parts,
            {part: kind for kind, listed in kinds.items() for part in listed.split()},
            {code: other for other, codes in classes.items() for code in codes.split()},
            role,
            source,
        )

    def _rules(self, name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Rule]]:
        """Yield the parts in a table and their rule."""
        for action in sorted(ACTIONS & set(table)):
            yield from ((part, Rule(action)) for part in table[action].split())
        labels, types = table.get("labels", {}), table.get("types", {})
        self.check("label", labels, LABELS)
        self.check("type", types, self._types)
        for action, named in (("label", labels), ("type", types)):
            for key, listed in named.items():
                yield from ((part, Rule(action, key)) for part in listed.split())
        for part in table.get("elements", "").split():
            self.check("type", [part], self._types)
            yield part, Rule("type", part)
