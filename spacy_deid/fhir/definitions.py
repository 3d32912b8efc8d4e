"""The elements of every type of FHIR R4 (4.0.1), and the check of a resource against them.

The file ``resources/fhir/r4_definitions.json`` is made from the StructureDefinitions of HL7 by
``scripts/fhir_definitions.py``. The check covers names, types, cardinality, the format of primitive values and the
codes of required bindings. It does not cover invariants, slices and profiles.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..errors import Errors, InputError
from .json_values import Number

DATES = frozenset({"date", "dateTime", "instant"})
"""Primitive types of dates."""
_NUMBERS = frozenset({"decimal", "integer", "unsignedInt", "positiveInt"})


@dataclass(frozen=True, slots=True)
class Element:
    """The definition of one element of a type, as it is named in JSON.

    name (str): name in JSON, such as "status" or "valueString".
    type (str): its type: a primitive or complex type, "Resource", or a backbone such as "Observation.component".
    least (int): 1 if the element is required.
    many (bool): whether the value is a list.
    choice (str): the name of a choice of types, such as "value[x]"; otherwise "".
    codes (frozenset[str]): the codes of a required binding; empty if all codes are allowed.
    targets (tuple[str, ...]): the types of resources that a reference can refer to; empty for all.
    """

    name: str
    type: str
    least: int
    many: bool
    choice: str
    codes: frozenset[str]
    targets: tuple[str, ...] = ()


class Definitions:
    """The types of FHIR R4.

    version (str): version of FHIR.
    resources (frozenset[str]): names of all resource types.
    primitives (Mapping[str, re.Pattern]): primitive type → pattern of its values.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.version: str = data["version"]
        self.resources = frozenset(data["resources"])
        self.primitives = {name: re.compile(pattern) for name, pattern in data["primitives"].items()}
        self._codes = {name: frozenset(codes) for name, codes in data["codes"].items()}
        self._types: Mapping[str, Mapping[str, str]] = data["types"]
        self._elements: dict[str, dict[str, Element]] = {}

    def elements(self, type_name: str) -> Mapping[str, Element]:
        """Return the elements of a type.

        type_name (str): a resource type, a complex type or a backbone.
        RETURNS (Mapping[str, Element]): name in JSON → element. A choice of types has one name per type.
        RAISES: KeyError for an unknown type.
        """
        if (known := self._elements.get(type_name)) is None:
            listed = (element for item in self._types[type_name].items() for element in self._expand(*item))
            known = self._elements[type_name] = {element.name: element for element in listed}
        return known

    def has(self, type_name: str) -> bool:
        """Whether a name is a type with elements."""
        return type_name in self._types

    def _expand(self, name: str, description: str) -> Iterator[Element]:
        """Yield the elements that a line of the file describes: one, or one per type of a choice."""
        types, cardinality, *value_set = description.split(" ")
        least, _, most = cardinality.partition("..")
        codes = self._codes[value_set[0]] if value_set else frozenset()
        choice = name if name.endswith("[x]") else ""
        for listed in types.split("|"):
            kind, _, targets = listed.rstrip(")").partition("(")
            key = name.removesuffix("[x]") + kind[0].upper() + kind[1:] if choice else name
            yield Element(key, kind, int(least), most == "*", choice, codes, tuple(filter(None, targets.split(","))))


@cache
def load_definitions() -> Definitions:
    """Read the definitions of R4 that ship with the package."""
    text = (files("spacy_deid") / "resources" / "fhir" / "r4_definitions.json").read_text(encoding="utf-8")
    return Definitions(json.loads(text))


def check_resource(resource: Any, path: str = "", *, contained: bool = False) -> None:
    """Check a resource against the definitions of R4.

    resource (Any): the parsed resource, from `json_values.read_json`.
    path (str): position of the resource in its Bundle, for the message; "" for a resource of its own.
    contained (bool): whether it is contained in another resource, so that it may contain none itself.
    RAISES: InputError (D981) that names the element by names of the definitions and numbers, never by content.
    """
    name = resource.get("resourceType") if isinstance(resource, dict) else None
    definitions = load_definitions()
    if not isinstance(name, str) or not name:
        raise _wrong(path or "resource", "it has no resourceType")
    if name not in definitions.resources:
        raise _wrong(path or "resource", "FHIR R4 has no resource of this type")
    path = f"{path}.{name}" if path else name
    if contained and "contained" in resource:
        raise _wrong(path, "a contained resource must not contain others")
    _check_object(resource, name, path)


def _wrong(path: str, reason: str) -> InputError:
    """Return the error for an element."""
    return InputError(Errors.D981.format(path=path, reason=reason))


def _check_object(value: Any, type_name: str, path: str) -> None:
    """Check the elements of a resource or of a value of a complex type."""
    if not isinstance(value, dict) or not value:
        raise _wrong(path, "it must be an object that is not empty")
    elements = load_definitions().elements(type_name)
    primitives = load_definitions().primitives
    chosen: dict[str, str] = {}
    for key, item in value.items():
        name = key.removeprefix("_")
        if key == "resourceType" and type_name in load_definitions().resources:
            continue
        element = elements.get(name)
        if element is None or (key != name and element.type not in primitives):
            raise _wrong(path, "it has an element that FHIR R4 does not define. Is it of another version of FHIR?")
        if element.choice and chosen.setdefault(element.choice, name) != name:
            raise _wrong(path, f"it has several values for {element.choice}")
        _check_values(item, element, f"{path}.{key}", extended=key != name, other=value.get("_" + key))
    for element in elements.values():
        is_there = element.choice in chosen if element.choice else {element.name, "_" + element.name} & set(value)
        if element.least and not is_there:
            raise _wrong(path, f"the element {element.choice or element.name} is missing")


def _check_values(item: Any, element: Element, path: str, *, extended: bool, other: Any) -> None:
    """Check one value, or each value of a list. `other` are the extensions of primitive values."""
    if isinstance(item, list) != element.many or item == []:
        raise _wrong(path, "it must be a list" if element.many else "it must be a single value")
    for i, one in enumerate(item if isinstance(item, list) else [item]):
        place = f"{path}[{i}]" if element.many else path
        if one is None and element.many and (extended or isinstance(other, list)):
            continue  # a list of values and the list of their extensions have the same length
        if extended:
            _check_object(one, "Element", place)
        elif element.type in load_definitions().primitives:
            if not is_valid(one, element):
                raise _wrong(place, f"it is not a valid {element.type}" + (" of its value set" * bool(element.codes)))
        elif element.type == "Resource":
            check_resource(one, place, contained=element.name == "contained")
        else:
            _check_object(one, element.type, place)


def is_valid(value: Any, element: Element) -> bool:
    """Whether a value has the primitive type of an element, and is one of its codes if the binding is required.

    value (Any): the value in JSON.
    element (Element): the element, whose type is primitive.
    RETURNS (bool): True if it is valid.
    """
    if element.type == "boolean":
        return isinstance(value, bool)
    if element.type in _NUMBERS:
        return isinstance(value, Number) and bool(load_definitions().primitives[element.type].fullmatch(value.text))
    if not isinstance(value, str) or isinstance(value, Number) or not value.strip():
        return False
    if element.codes:
        return value in element.codes
    if element.type == "base64Binary":
        return decode_base64(value) is not None
    if element.type in ("string", "markdown", "xhtml"):
        return True
    return bool(load_definitions().primitives[element.type].fullmatch(value))


def decode_base64(text: str) -> bytes | None:
    """Decode base64, which may contain white space. RETURNS (Optional[bytes]): the bytes; None if it is not valid."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
