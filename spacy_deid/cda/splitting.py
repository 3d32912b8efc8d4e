"""Split a document by the profile, and put it together again: what is kept, and values to de-identify.

The profile is an allow-list, so a new tree is built of what it names. Texts, narrative blocks and files are items for
`Deidentifier.pipe`. Names, numbers and dates have a label; all those of a document are released together by
`exports.release_values`.
"""

import base64
import binascii
import hmac
import re
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..deidentifier import Deidentifier
from ..documents import File
from ..documents.document import PlacedText
from ..documents.markup import TextNode, append, serialize, unwrap
from ..ehr.export_dictionary import Person
from ..exports import (
    SUFFIXES,
    check_result,
    limit_age,
    read_timestamp,
    release_values,
    write_timestamp,
)
from ..results import Result
from .identities import Identities, full_name, split_contact
from .narrative import own_texts, read_block, read_content, write_edits
from .profile import NARRATIVE, Profile, Rule, TypeRule
from .structure import (
    NAMESPACES,
    V3,
    XSI_TYPE,
    anchors,
    check_document,
    children,
    find,
    known_name,
    name_of,
    place_of,
    wrong,
)

_MASKED = "MSK"  # NullFlavor: masked
_PENDING = "-"  # the text of an element until its file was de-identified
_NUMBER = re.compile(r"[-+<>=.,/%:\s\dE]{1,24}")
_OID = re.compile(r"[0-2](\.(0|[1-9]\d*))+")
_LONG_NUMBER = re.compile(r"\d{5}|[0-9a-fA-F-]{16}")
_CONTACTS = {"mailto:": "EMAIL", "fax:": "FAX", "x-text-fax:": "FAX"}
_OWNERS = {"PATIENT": "MRN", "CLINICIAN": "LICENSE"}  # role → label of a number without a known root
_PRIMARY = ("value", "extension", "code")  # attributes without which a data type has no value
_DAY = len("2000-01-31")


@dataclass(slots=True)
class Slot:
    """A value that is an identifier as a whole.

    source (str): the value.
    label (str): its canonical label.
    place (Optional[TextNode]): where it is; None for a full name, which only makes the parts of a name consistent.
    before, after (str): what is kept before and after it: the scheme of an address, the time of a date.
    """

    source: str = field(repr=False)
    label: str
    place: TextNode | None = field(default=None, repr=False)
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)


@dataclass(slots=True)
class Item:
    """An item for the pipeline.

    source (Union[str, File]): a text or a file.
    old (Any): its element in the original.
    text (Optional[PlacedText]): the places of a text; None for a file.
    element (Any): the new element of a file.
    encode (Optional[Callable]): converts the content of the released file to text.
    """

    source: Any = field(repr=False)
    old: Any = field(repr=False)
    text: PlacedText | None = field(default=None, repr=False)
    element: Any = field(default=None, repr=False)
    encode: Callable[[bytes], str] | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """The position of its element, for messages."""
        return place_of(self.old)


@dataclass(slots=True)
class Draft:
    """A document that was split.

    root: root of the new tree.
    person (Person): the patient.
    note_date (str): date of the document, in ISO 8601; "" if it is unknown.
    targets (frozenset[str]): IDs that references of the original lead to, as in the new tree.
    values (list[Slot]): values with a label.
    items (list[Item]): texts and files.
    removed (Counter): element or attribute → number of values that were removed.
    """

    root: Any = field(repr=False)
    person: Person
    note_date: str = ""
    targets: frozenset[str] = field(default=frozenset(), repr=False)
    values: list[Slot] = field(default_factory=list, repr=False)
    items: list[Item] = field(default_factory=list, repr=False)
    removed: Counter[str] = field(default_factory=Counter)

    @property
    def ehr(self) -> dict[str, Any]:
        """The EHR context of everything in the document."""
        return self.person.ehr(self.note_date)

    def fill(self, item: Item, result: Result) -> None:
        """Write the result of an item into its element. RAISES: NotDeidentified (D985) if it was not released."""
        check_result(result, item.path)
        if item.text is not None:
            write_edits(item.text, result.edits, result.text, item.path)
        elif item.encode is not None:
            item.element.text = item.encode(result.copy)

    def fill_values(self, deid: Deidentifier) -> Counter[str]:
        """De-identify the labelled values. RETURNS (Counter): label → number of values.

        RAISES: NotDeidentified (D985) if a step did not run.
        """
        values = [(slot.source, slot.label) for slot in self.values]
        released = release_values(deid, values, self.ehr, "cda", "ClinicalDocument")
        for slot, value in zip(self.values, released, strict=True):
            if slot.place is None:
                continue
            made = write_timestamp(value, slot.after) if slot.label == "DATE" else slot.before + value + slot.after
            slot.place.set(made)
        return Counter(slot.label for slot in self.values)

    def join(self) -> bytes:
        """Return the released document, in UTF-8, which was checked.

        RAISES: InputError (D979) if it lacks an element that CDA requires, because the profile does not name it.
        """
        there = anchors(self.root)
        for element in self.root.iter():
            is_reference = name_of(element.tag) == "reference"
            for key in ("value", "href", "referencedObject", "IDREF") if not is_reference else ("value",):
                ids = element.get(key, "").removeprefix("#").split() if is_reference or key != "value" else []
                if any(one in self.targets and one not in there for one in ids):  # its target was removed
                    element.set(key, "")
                    self.removed[known_name(element)] += 1
            for key in [key for key, value in element.attrib.items() if not value]:
                del element.attrib[key]
                if key in _PRIMARY and not element.get("nullFlavor") and not len(element):
                    element.set("nullFlavor", _MASKED)
        check_document(self.root)
        return serialize(self.root)


class Splitter:
    """Splits documents.

    profile (Profile): the allow-list.
    identities (Identities): the persons of the export.
    secret (bytes): the key of the surrogates of ids.
    limits_ages (bool): whether ages over 89 years become 90 years.
    """

    def __init__(self, profile: Profile, identities: Identities, secret: bytes, *, limits_ages: bool = True) -> None:
        self.profile = profile
        self.identities = identities
        self.limits_ages = limits_ages
        self._secret = secret

    def new_id(self, *parts: str) -> bytes:
        """Return 32 bytes that depend on some strings and on the key."""
        return hmac.digest(self._secret, "\0".join(parts).encode("utf-8", "surrogatepass"), "sha256")

    def split(self, document: Any) -> Draft:
        """Split a document.

        document: the root element, which was checked.
        RETURNS (Draft): the parts.
        RAISES: InputError (D979) as `Identities.find_person`, and for a file that cannot be decoded.
        """
        dates = (read_timestamp(time.get("value", "")) for time in find(document, "effectiveTime"))
        found = next((date[0] for date in dates if date and len(date[0]) == _DAY), "")
        draft = Draft(None, self.identities.find_person(document), found)
        walk = _Walk(self, draft)
        draft.root = walk.document(document)
        draft.targets = frozenset(walk.anchor(name) for name in anchors(document))
        return draft


class _Walk:
    """Copies one document by the profile, and collects its values and texts."""

    def __init__(self, splitter: Splitter, draft: Draft) -> None:
        self._splitter = splitter
        self._profile = splitter.profile
        self._draft = draft
        self._roles = ["PERSON"]
        self._is_age = False
        self._systems = tuple(f"{system}." for system in splitter.profile.systems)
        self._found: dict[str, bool] = {}  # values that were searched for persons

    def document(self, old: Any) -> Any:
        """Return the copy of a document."""
        from lxml import etree

        namespaces: dict[str | None, str] = {None: V3}
        namespaces.update(NAMESPACES.items())
        root = etree.Element(f"{{{V3}}}ClinicalDocument", nsmap=namespaces)
        self._fill(old, root, self._profile.types["ClinicalDocument"])
        return root

    def _element(self, old: Any, parent: Any, rule: TypeRule) -> Any:
        """Append the copy of an element, by the rules of its type, to its new parent."""
        from lxml import etree

        new = etree.SubElement(parent, old.tag)
        new.tail = old.tail if (old.tail or "").isspace() else None
        self._fill(old, new, rule)
        return new

    def _fill(self, old: Any, new: Any, rule: TypeRule) -> None:
        """Copy the attributes, the text and the children of an element that the profile names."""
        self._roles += [rule.role] if rule.role else []
        was_age, self._is_age = self._is_age, self._is_age or self._names_age(old)
        removed = self._attributes(old, new, rule)
        text = rule.parts.get("#")
        new.text = old.text if text or (old.text or "").isspace() else None
        removed += new.text != old.text and bool(old.text)
        for child in old:
            done = self._rule_of(child, name_of(child.tag), rule)
            if done is not None:
                self._child(child, new, done)
            else:
                self._draft.removed[known_name(child)] += 1
            if text:
                if done is not None:
                    new[-1].tail = child.tail
                else:
                    append(new, len(new), child.tail)
            elif (child.tail or "").strip():
                removed += 1
        if text and text.action != "narrative":
            self._text(old, new, text)
        if removed:
            self._draft.removed[known_name(old)] += removed
        if rule.name == "PN" and children(old, "given") and children(old, "family"):
            # so that the parts get the surrogates of one person
            self._draft.values.append(Slot(full_name(old), self._roles[-1]))
        self._roles = self._roles[:-1] if rule.role else self._roles
        self._is_age = was_age

    def _attributes(self, old: Any, new: Any, rule: TypeRule) -> int:
        """Copy the attributes of an element. RETURNS (int): number of those that were removed."""
        removed = 0
        for key, value in old.attrib.items():
            name = "@" + (key if key[0] != "{" else name_of(key))
            done = rule.parts.get(name) or self._profile.attributes.get(name)
            if key == XSI_TYPE and self._type_name(value) in self._profile.values:
                new.set(key, self._type_name(value))
            elif done is not None and value.strip():
                new.set(key, value)
                self._value(old, TextNode(new, "@" + key), done)
                removed += key not in new.attrib
            else:
                removed += 1
        return removed

    def _rule_of(self, child: Any, name: str, rule: TypeRule) -> Rule | None:
        """Return what is done with a child; None if it is removed."""
        done = rule.parts.get(name)
        if done is not None and done.action == "value":
            kind = self._type_name(child.get(XSI_TYPE, ""))
            return Rule("type", self._profile.values[kind]) if kind in self._profile.values else None
        if done is not None and done.action == "narrative":
            return done if NARRATIVE in self._profile.types else None
        return done

    def _child(self, child: Any, parent: Any, done: Rule) -> None:
        """Append the copy of a child."""
        if done.action == "type":
            rule = self._profile.type_of(done.name, child.get("classCode", ""))
            new = self._element(child, parent, rule)
            if rule.is_data_type:
                self._draft_mask(child, new)
            return
        if done.action == "narrative":
            rule = self._profile.types[NARRATIVE]
            for inner in [*child.iterdescendants()]:
                if name_of(inner.tag) not in rule.parts:  # its text would otherwise divide a name, or be lost
                    self._draft.removed[known_name(inner)] += 1
                    unwrap(inner)
            new = self._element(child, parent, rule)
            text = read_block(new)
            if text.text:
                self._draft.items.append(Item(text.text, child, text))
            return
        new = self._element(child, parent, TypeRule("LEAF", {"#": done}, {}, {}, "", ""))
        self._draft_mask(child, new)

    def _draft_mask(self, old: Any, new: Any) -> None:
        """Mark an element of which nothing is left as masked."""
        is_empty = not len(new) and not (new.text or "").strip() and not any(key in new.attrib for key in _PRIMARY)
        if not is_empty or new.get("nullFlavor"):
            return
        if len(old) or (old.text or "").strip() or any(key in old.attrib for key in (*_PRIMARY, "root")):
            if old.get("root") and not old.get("extension") and new.get("root"):
                return
            new.set("nullFlavor", _MASKED)

    def _type_name(self, text: str) -> str:
        """Return the name of a data type without its prefix."""
        return text.strip().rpartition(":")[2]

    # --- texts and values ---

    def _text(self, old: Any, new: Any, done: Rule) -> None:
        """Do what the profile says with the text of an element."""
        if not any(node.get().strip() for node in own_texts(new)):
            return
        if done.action == "content" and self._file(old, new):
            return
        if done.action in ("text", "content"):
            self._draft.items.append(self._item(read_content(new), old))
            return
        for node in own_texts(new):
            if node.get().strip():
                self._value(old, node, done)

    def _item(self, text: PlacedText, old: Any) -> Item:
        """Return an item of a text."""
        return Item(text.text, old, text)

    def _file(self, old: Any, new: Any) -> bool:
        """Add the document that an element contains. One of an unknown type is removed.

        RETURNS (bool): whether it is a document; otherwise it is a text.
        RAISES: InputError (D979) if it is not valid base64.
        """
        media = old.get("mediaType", "text/plain").partition(";")[0].strip().lower()
        is_base64 = old.get("representation", "TXT") == "B64"
        suffix = SUFFIXES.get(media, "")
        if suffix == ".txt" and not is_base64:
            return False
        text = old.text or ""
        if not suffix or old.get("compression"):
            self._draft.removed[known_name(old)] += 1
            new.text = None
            return True
        try:
            data = base64.b64decode("".join(text.split()), validate=True) if is_base64 else text.encode("utf-8")
        except (binascii.Error, ValueError):
            raise wrong(place_of(old), "it is not valid base64") from None
        if not is_base64 and suffix not in (".html", ".rtf"):
            raise wrong(place_of(old), "a document of this type must be in base64")
        new.text = _PENDING
        made: Callable[[bytes], str] = _to_base64 if is_base64 else _to_text
        file = File(data, f"attachment{suffix}")
        self._draft.items.append(Item(file, old, element=new, encode=made))
        return True

    def _value(self, old: Any, place: TextNode, done: Rule) -> None:
        """Do what the profile says with a value: keep, replace or remove it, or collect it."""
        value, role = place.get(), self._roles[-1]
        match done.action:
            case "keep":
                self._set(place, "" if self._finds_person(value) else value)
            case "number":
                self._number(old, place, value)
            case "display":
                is_published = "code" in old.attrib and f"{old.get('codeSystem', '')}.".startswith(self._systems)
                if not is_published or self._finds_person(value):
                    text = PlacedText()
                    text.add(value, place)
                    self._draft.items.append(self._item(text, old))
            case "text" | "content":
                text = PlacedText()
                text.add(value, place)
                self._draft.items.append(self._item(text, old))
            case "date":
                if (found := read_timestamp(value)) is None:
                    self._set(place, "")
                else:
                    self._draft.values.append(Slot(found[0], "DATE", place, after=found[1]))
            case "id":
                self._set(place, self._splitter.new_id("id", old.get("root", ""), value).hex()[:32])
            case "root":
                self._set(place, self._root(value, "extension" in old.attrib or "nullFlavor" in old.attrib))
            case "anchor":
                self._set(place, " ".join(map(self.anchor, value.split())))
            case "reference":
                self._set(place, "#" + self.anchor(value[1:]) if value[0] == "#" and value[1:] else "")
            case "contact":
                scheme, rest = split_contact(value)
                if not rest.strip():
                    return
                label = "URL" if "://" in rest else "EMAIL" if "@" in rest else _CONTACTS.get(scheme.lower(), "PHONE")
                self._draft.values.append(Slot(rest, label, place, scheme))
            case "identifier":
                label = self._profile.roots.get(old.get("root", ""), _OWNERS.get(role, "ID_OTHER"))
                self._draft.values.append(Slot(value, label, place))
            case "name" | "label":
                kept = value[: len(value) - len(value.lstrip())], value[len(value.rstrip()) :]
                label = role if done.action == "name" else done.name
                self._draft.values.append(Slot(value.strip(), label, place, *kept))
            case _:
                raise AssertionError(done.action)

    def _set(self, place: TextNode, value: str) -> None:
        """Write a value; an empty one removes the attribute."""
        if value or place.field[0] != "@":
            place.set(value)
        else:
            del place.element.attrib[place.field[1:]]

    def _number(self, old: Any, place: TextNode, value: str) -> None:
        """Keep a number, or limit an age. What is no number is removed."""
        limited = limit_age(value, old.get("unit", "a")) if self._is_age and self._splitter.limits_ages else ""
        is_kept = _NUMBER.fullmatch(value) and not self._finds_person(value)
        self._set(place, limited or (value if is_kept else ""))

    def _root(self, value: str, is_namespace: bool) -> str:
        """Return the surrogate of an OID or a UUID. A well-known one is kept if it does not identify by itself."""
        if is_namespace and value in self._profile.roots:
            return value
        made = uuid.UUID(bytes=self._splitter.new_id("root", value.lower())[:16], version=4)
        return f"2.25.{made.int}" if _OID.fullmatch(value) else str(made)

    def anchor(self, name: str) -> str:
        """Return the ID of an element: the same, or a surrogate if it has a long number or names a person."""
        plain = " ".join(re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+", name))
        if _LONG_NUMBER.search(name) or self._finds_person(name) or self._finds_person(plain):
            return f"id-{self._splitter.new_id('anchor', name).hex()[:16]}"
        return name

    def _finds_person(self, value: str) -> bool:
        """Whether a value that would be kept names a person of the export."""
        if (known := self._found.get(value)) is None:
            dictionary, person = self._splitter.identities.dictionary, self._draft.person
            known = self._found[value] = dictionary.finds_identifier(value, person.patient_id)
        return known

    def _names_age(self, old: Any) -> bool:
        """Whether an element has a code of an age."""
        if name_of(old.tag) != "observation":
            return False
        said = [text for code in children(old, "code") for text in (code.get("code", ""), code.get("displayName", ""))]
        words = {word for text in said for word in re.findall(r"\w+", text.lower())}
        return bool({*said, *words} & self._profile.ages)


def _to_base64(data: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(data).decode("ascii")


def _to_text(data: bytes) -> str:
    """Return the text of a file."""
    return data.decode("utf-8", "replace")
