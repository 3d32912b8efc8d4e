"""Release the slots of a resource, and put it together again.

The labelled values of a resource are released together by `exports.release_values`. A required element of which
nothing is left gets the extension data-absent-reason with the code "masked". The result is checked against the
definitions of R4.
"""

import base64
import hashlib
import re
from functools import partial
from typing import Any

from ..deidentifier import Deidentifier
from ..exports import check_result, release_values
from ..results import Result
from .definitions import Element, check_resource, decode_base64, is_valid, load_definitions
from .json_values import Number
from .profile import Profile
from .resource import DAY, Draft, Slot

_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
_OBSERVATION_VALUE = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue"


def fill_values(deid: Deidentifier, draft: Draft) -> None:
    """De-identify the labelled values of a resource, all at once, so that they are consistent.

    deid (Deidentifier): the deidentifier.
    draft (Draft): the resource; its slots of the kind "value" are filled.
    RAISES: NotDeidentified (D985) if a step did not run.
    """
    slots = [slot for slot in draft.slots if slot.label]
    values = [(slot.source, slot.label) for slot in slots]
    for slot, value in zip(slots, release_values(deid, values, draft.ehr, "fhir", draft.path), strict=True):
        released = value + slot.kept if slot.label == "DATE" and len(value) == DAY else value
        slot.released = released if is_valid(released, slot.element) else None


def fill(slot: Slot, result: Result, path: str) -> None:
    """Fill a slot with the result of `Deidentifier.pipe`.

    slot (Slot): a slot of a text, a narrative or a file.
    result (Result): its result.
    path (str): position of the resource, for the message.
    RAISES: NotDeidentified (D985) if it was not released.
    """
    check_result(result, path)
    if slot.kind == "text":
        slot.released = result.text if result.text.strip() else None
    elif slot.kind == "narrative":
        slot.released = _to_div(result.copy)
    else:
        slot.released = base64.b64encode(result.copy).decode("ascii")


def _to_div(page: bytes) -> str | None:
    """Return the ``<div>`` of a narrative from a released HTML page, as XHTML; None if nothing is left."""
    from lxml import etree
    from lxml.html import document_fromstring

    body = document_fromstring(page.decode("utf-8")).find("body")
    if body is None:
        return None
    divs = [item for item in body if item.tag == "div"]
    if len(divs) == 1 and len(body) == 1:
        root = divs[0]
        root.tail = None
    else:
        root, body.tag = body, "div"
    text: str = etree.tostring(root, encoding="unicode", method="xml")
    shown = "".join(root.itertext()).strip()
    return re.sub(r"^<div\b", '<div xmlns="http://www.w3.org/1999/xhtml"', text, count=1) if shown else None


def join(draft: Draft, profile: Profile, style: str) -> dict[str, Any]:
    """Put a resource together from its parts.

    draft (Draft): the parts, with filled slots.
    profile (Profile): the allow-list.
    style (str): the style of the run, for the security label.
    RETURNS (dict[str, Any]): the released resource.
    RAISES: InputError (D981) if it is not valid.
    """
    finish = partial(_finish, draft)
    resource: dict[str, Any] = finish(draft.tree, draft.type)
    if profile.security_label:
        code = "PSEUDED" if style == "surrogate" else "REDACTED"
        meta = resource.pop("meta", {})
        labels = [*meta.get("security", ()), {"system": _OBSERVATION_VALUE, "code": code}]
        head: dict[str, Any] = {key: resource.pop(key) for key in ("resourceType", "id") if key in resource}
        resource = {**head, "meta": meta | {"security": labels}, **resource}
    check_resource(resource, draft.path)
    return resource


def _finish(draft: Draft, tree: dict[str, Any], owner: str) -> dict[str, Any]:
    """Copy a tree with the values of its slots, without empty elements, and mark required ones as masked."""
    elements = load_definitions().elements(owner)
    made: dict[str, Any] = {}
    for name, item in tree.items():
        if name == "resourceType":
            made[name] = item
            continue
        if name.startswith("_"):
            continue
        element = elements[name]
        values = [_finish_value(draft, one, element) for one in (item if element.many else [item])]
        others = [
            _finish(draft, other, "Element") if other else None
            for other in _as_list(tree.get("_" + name), element.many, len(values))
        ]
        kept = [(value, other) for value, other in zip(values, others, strict=True) if value is not None or other]
        if any(value is not None for value, _ in kept):
            made[name] = [value for value, _ in kept] if element.many else kept[0][0]
        if any(other for _, other in kept):
            made["_" + name] = [other for _, other in kept] if element.many else kept[0][1]
        if not kept and element.least:
            made |= _mask(element)
    if owner in ("Attachment", "Binary") and "data" in made:
        data = decode_base64(made["data"]) or b""
        if owner == "Attachment":
            made["size"] = Number(str(len(data)))
            made["hash"] = base64.b64encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode("ascii")
    return made


def _finish_value(draft: Draft, value: Any, element: Element) -> Any:
    """Return a released value; None if nothing is left of it."""
    if isinstance(value, Slot):
        if value.released is None:
            draft.removed[value.path] += 1
        return value.released
    if not isinstance(value, dict):
        return value
    owner = value["resourceType"] if element.type == "Resource" else element.type
    return _finish(draft, value, owner) or None


def _as_list(item: Any, many: bool, length: int) -> list[Any]:
    """Return the extensions of primitive values as a list with one item per value."""
    items = list(item or []) if many else [item]
    return [*items, *[None] * (length - len(items))]


def _mask(element: Element) -> dict[str, Any]:
    """Return a required element without a value: an extension says that it is masked."""
    absent = {"extension": [{"url": _ABSENT, "valueCode": "masked"}]}
    primitive = element.type in load_definitions().primitives
    return {("_" if primitive else "") + element.name: [absent] if element.many else absent}
