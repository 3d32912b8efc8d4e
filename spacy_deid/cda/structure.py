"""Parse documents of CDA R2 safely, and check what the package relies on.

The schema of CDA belongs to HL7 and does not ship with the package. The checks cover the root and the type of the
document, the children that classes of the schema require, one body, and references between elements. They do not cover
the order of elements, data types, vocabularies and templates such as those of C-CDA. Source: HL7 CDA, Release 2.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ..documents import markup
from ..documents.archive import check_elements
from ..errors import Errors, InputError
from .profile import default_profile

V3 = "urn:hl7-org:v3"
"""Namespace of CDA."""

NAMESPACES: Mapping[str, str] = MappingProxyType(
    {"xsi": "http://www.w3.org/2001/XMLSchema-instance", "sdtc": "urn:hl7-org:sdtc"}
)
"""Prefix in profiles → namespace."""

XSI_TYPE = f"{{{NAMESPACES['xsi']}}}type"
LARGEST = 64 * 1024 * 1024
"""Bytes of the largest document that is read."""

_ROOT = "2.16.840.1.113883.1.3"  # typeId of CDA R2
_EXTENSION = "POCD_HD000040"
_REQUIRED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ClinicalDocument": (
            "typeId", "id", "code", "effectiveTime", "confidentialityCode", "recordTarget", "author", "custodian",
            "component",
        ),
        "recordTarget": ("patientRole",),
        "patientRole": ("id",),
        "author": ("time", "assignedAuthor"),
        "assignedAuthor": ("id",),
        "assignedEntity": ("id",),
        "custodian": ("assignedCustodian",),
        "assignedCustodian": ("representedCustodianOrganization",),
        "representedCustodianOrganization": ("id",),
        "legalAuthenticator": ("time", "signatureCode", "assignedEntity"),
        "authenticator": ("time", "signatureCode", "assignedEntity"),
        "dataEnterer": ("assignedEntity",),
        "informationRecipient": (),
        "inFulfillmentOf": ("order",),
        "order": ("id",),
        "documentationOf": ("serviceEvent",),
        "relatedDocument": ("parentDocument",),
        "parentDocument": ("id",),
        "authorization": ("consent",),
        "consent": ("statusCode",),
        "componentOf": ("encompassingEncounter",),
        "encompassingEncounter": ("effectiveTime",),
        "structuredBody": ("component",),
        "nonXMLBody": ("text",),
        "observation": ("code",),
        "act": ("code",),
        "organizer": ("statusCode",),
        "observationMedia": ("value",),
        "substanceAdministration": ("consumable",),
        "consumable": ("manufacturedProduct",),
        "performer": ("assignedEntity",),
        "referenceRange": ("observationRange",),
        "precondition": ("criterion",),
        "specimen": ("specimenRole",),
    }
)  # fmt: skip
"""Class → children that the schema requires."""


def name_of(tag: Any) -> str:
    """Return the name of an element or attribute as in profiles: "id", "sdtc:raceCode", "@xsi:type" without "@".

    RETURNS (str): the name; "" for other namespaces.
    """
    if not isinstance(tag, str):
        return ""
    namespace, _, local = tag.rpartition("}")
    if namespace[1:] == V3:
        return local
    prefix = next((name for name, known in NAMESPACES.items() if known == namespace[1:]), "")
    return f"{prefix}:{local}" if prefix else ""


def children(element: Any, name: str) -> list[Any]:
    """Return the children of an element with a name."""
    return [child for child in element if name_of(child.tag) == name]


def find(element: Any, path: str) -> Iterator[Any]:
    """Yield the elements at a path, such as "recordTarget/patientRole"."""
    name, _, rest = path.partition("/")
    for child in children(element, name):
        if rest:
            yield from find(child, rest)
        else:
            yield child


def known_name(element: Any) -> str:
    """Return the name of an element for messages; "…" if CDA does not define it, because it can be content then."""
    name = name_of(element.tag)
    return name if name in _known_names() else "…"


def place_of(element: Any) -> str:
    """Return the position of an element for messages: "ClinicalDocument/component/structuredBody/component[2]"."""
    parts = []
    for one in [element, *element.iterancestors()]:
        name, parent = known_name(one), one.getparent()
        alike = children(parent, name) if parent is not None else []
        parts.append(f"{name}[{alike.index(one) + 1}]" if len(alike) > 1 else name)
    return "/".join(reversed(parts))


@cache
def _known_names() -> frozenset[str]:
    """Return the names of elements that the profile of the package names."""
    parts = {part for rule in default_profile().types.values() for part in rule.parts}
    return frozenset({"ClinicalDocument", *_REQUIRED, *parts})


def parse_document(data: bytes, path: str) -> Any:
    """Parse a document, and check it.

    data (bytes): the document, in the encoding that it declares.
    path (str): name of the file, for messages.
    RETURNS: the root element, without comments and processing instructions.
    RAISES: InputError (D715) as `markup.parse` and if it is larger than `LARGEST` or has too many elements, (D979) as
        `check_document`.
    """
    if len(data) > LARGEST:
        raise InputError(Errors.D715.format(path=path, reason=f"larger than {LARGEST // 1024**2} MB"))
    check_elements([data], path)
    root = markup.parse(data, path)
    check_document(root)
    return root


def check_document(root: Any) -> None:
    """Check a document. RAISES: InputError (D979) that names the element by names of CDA and numbers."""
    if name_of(root.tag) != "ClinicalDocument":
        raise wrong("document", "its root is not ClinicalDocument of the namespace urn:hl7-org:v3")
    kinds = [(kind.get("root"), kind.get("extension")) for kind in children(root, "typeId")]
    if kinds != [(_ROOT, _EXTENSION)]:
        raise wrong("ClinicalDocument/typeId", f"it is not that of CDA R2, {_EXTENSION}")
    for element in root.iter():
        required = _REQUIRED.get(name_of(element.tag), ())
        if required and not element.get("nullFlavor"):
            have = {name_of(child.tag) for child in element}
            if missing := [name for name in required if name not in have]:
                raise wrong(place_of(element), f"the element {missing[0]} is missing")
    bodies = [*find(root, "component/structuredBody"), *find(root, "component/nonXMLBody")]
    if len(bodies) != 1:
        raise wrong("ClinicalDocument/component", "it must have one structuredBody or nonXMLBody")


def wrong(path: str, reason: str) -> InputError:
    """Return the error for an element."""
    return InputError(Errors.D979.format(path=path, reason=reason))


def anchors(root: Any) -> set[str]:
    """Return the IDs of the elements of a document."""
    return {element.get("ID") for element in root.iter() if element.get("ID")}
