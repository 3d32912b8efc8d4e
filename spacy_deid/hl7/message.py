"""Split a message by the profile, and put it together again: what is kept, and a `Slot` of each value to de-identify.

Texts and files are items for `Deidentifier.pipe`. Consecutive OBX segments of one observation, and consecutive NTE
segments, are lines of one text, so that a name is found that a line end divides. Names, numbers and dates have a
label; all those of a message are released together by `exports.release_values`.
"""

import base64
import binascii
import hmac
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..deidentifier import Deidentifier
from ..documents import File
from ..ehr.export_dictionary import Person
from ..errors import Errors, InputError
from ..exports import IDENTIFIER_LABELS, check_result, limit_age, read_timestamp, release_values, write_timestamp
from ..offsets import Edit
from ..results import Result
from .identities import Identities
from .messages import Message, Segment, Text, parse_message, read_text
from .profile import Profile, Rule, SegmentRule

_NULL = '""'  # the value that deletes a field of the receiver
_NUMBER = re.compile(r"[-+<>=.,/%:\s\d]{1,24}")
_LINES = ("OBX-5", "NTE-3")  # fields whose text can go on in the next segment
_OWNERS = {"PATIENT": "MRN", "RELATIVE": "ID_OTHER", "CLINICIAN": "LICENSE"}  # role → label of a number without a type
_SUFFIXES = {"pdf": ".pdf", "rtf": ".rtf", "html": ".html", "xhtml": ".html", "jpeg": ".jpg", "png": ".png"}
_SUFFIXES |= {"jpg": ".jpg", "tiff": ".tif", "tif": ".tif", "plain": ".txt", "txt": ".txt", "text": ".txt"}
"""Subtype of encapsulated data → suffix of the file that it is read as. Other data is removed."""


@dataclass(slots=True)
class Slot:
    """A value to de-identify.

    source (str): the value, without escape sequences.
    path (str): the field, such as "PID-5".
    label (str): canonical label of the whole value; "" for text and files.
    kept (str): end of a date that is not de-identified: the time and the time zone.
    written (Optional[Text]): the text as it is in the message, for text.
    released (str): what is written into the message.
    """

    source: str = field(repr=False)
    path: str
    label: str = ""
    kept: str = ""
    written: Text | None = field(default=None, repr=False)
    released: str = field(default="", repr=False)


@dataclass(slots=True)
class Item:
    """An item for the pipeline: a text of one or several lines in the message, or a file.

    source (Union[str, File]): the text or the file.
    slots (list[Slot]): its lines, or the one slot of the file.
    """

    source: Any = field(repr=False)
    slots: list[Slot] = field(repr=False)

    @property
    def path(self) -> str:
        """The field, such as "OBX-5"."""
        return self.slots[0].path


@dataclass(slots=True)
class Draft:
    """A message that was split.

    message (Message): the message.
    path (str): its position, for messages.
    person (Person): the patient.
    note_date (str): date of the notes in it, in ISO 8601; "" if it is unknown.
    lines (list): segment and parts of each of its fields: text that is kept, or slots.
    values (list[Slot]): slots with a label.
    items (list[Item]): texts and files.
    removed (Counter): field → number of values that were removed.
    """

    message: Message = field(repr=False)
    path: str
    person: Person
    note_date: str = ""
    lines: list[tuple[Segment, list[list[str | Slot]]]] = field(default_factory=list, repr=False)
    values: list[Slot] = field(default_factory=list, repr=False)
    items: list[Item] = field(default_factory=list, repr=False)
    removed: Counter[str] = field(default_factory=Counter)

    @property
    def ehr(self) -> dict[str, Any]:
        """The EHR context of everything in the message."""
        return self.person.ehr(self.note_date)

    def fill(self, item: Item, result: Result) -> None:
        """Fill the slots of an item with the result of `Deidentifier.pipe`.

        RAISES: NotDeidentified (D985) if it was not released.
        """
        encoding, path = self.message.encoding, f"{self.path}: {item.path}"
        check_result(result, path)
        if isinstance(item.source, File):
            item.slots[0].released = base64.b64encode(result.copy).decode("ascii")
            return
        at = 0
        for slot in item.slots:
            end = at + len(slot.source)
            edits = [edit for edit in result.edits if edit.start < end and at < edit.end]
            inside = [
                (max(edit.start - at, 0), min(edit.end, end) - at, _part_of(edit, item.source, at, end))
                for edit in edits
            ]
            assert slot.written is not None
            slot.released = slot.written.write(inside, encoding)
            at = end + 1

    def fill_values(self, deid: Deidentifier) -> Counter[str]:
        """De-identify the labelled values. RETURNS (Counter): label → number of values.

        RAISES: NotDeidentified (D985) if a step did not run.
        """
        values = [(slot.source, slot.label) for slot in self.values]
        released = release_values(deid, values, self.ehr, "hl7", self.path)
        for slot, value in zip(self.values, released, strict=True):
            if slot.label == "DATE":
                slot.released = write_timestamp(value, slot.kept)
            else:
                slot.released = self.message.encoding.write(value)
        return Counter(slot.label for slot in self.values)

    def join(self) -> bytes:
        """Return the released message, which was parsed once more.

        RAISES: InputError (D413) if its encoding lacks a character, and as `messages.parse_message`.
        """
        encoding = self.message.encoding
        segments = []
        for segment, fields in self.lines:
            texts = ["".join(part if isinstance(part, str) else part.released for part in parts) for parts in fields]
            segments.append(Segment(segment.name, texts, segment.end))
        data = Message(encoding, segments, self.message.before, self.message.after).write(self.path)
        parse_message(data, self.path, encoding.charset)
        return data


def _part_of(edit: Edit, text: str, start: int, end: int) -> str:
    """Return what of a replacement is written into a line of a text.

    If the replacement has as many lines as the replaced text, each is written into its line; otherwise all of it is
    written into the first.

    edit (Edit): the edit.
    text (str): the text.
    start, end (int): where the line of the message starts and ends in the text. It can have line breaks of its own.
    """
    lines = edit.replacement.split("\n")
    number = text.count("\n", edit.start, start) if start > edit.start else 0
    ends = text.count("\n", edit.start, edit.end)
    if len(lines) != ends + 1:
        return "" if number else edit.replacement
    last = text.count("\n", edit.start, min(edit.end, end))
    return "\n".join(lines[number : last + 1])


class Splitter:
    """Splits messages.

    profile (Profile): the allow-list.
    identities (Identities): the persons of the export.
    secret (bytes): the key of the surrogates of message ids.
    limits_ages (bool): whether ages over 89 years become 90 years.
    """

    def __init__(self, profile: Profile, identities: Identities, secret: bytes, *, limits_ages: bool = True) -> None:
        self.limits_ages = limits_ages
        self.profile = profile
        self.identities = identities
        self._secret = secret

    def new_id(self, old: str) -> str:
        """Return the surrogate of the id of a message: 20 hexadecimal digits, the limit of MSH-10."""
        return hmac.digest(self._secret, old.encode("utf-8", "surrogatepass"), "sha256").hex()[:20]

    def split(self, message: Message, path: str) -> Draft:
        """Split a message.

        message (Message): the message, whose type is in the profile.
        path (str): its position, for messages.
        RETURNS (Draft): the parts.
        RAISES: InputError as `Identities.find_person`, (D993) for a damaged escape sequence, (D994) for encapsulated
            data that cannot be decoded.
        """
        draft = Draft(message, path, self.identities.find_person(message, path), _find_date(message, self.profile))
        before: tuple[str, str] | None = None
        lines: dict[str, Item] = {}
        for segment in message.segments:
            rule = self.profile.segments.get(segment.name)
            if rule is None:
                draft.removed[segment.name] += 1
                before = None
                continue
            walk = _Walk(self, draft, segment, rule)
            draft.lines.append((segment, walk.fields()))
            key = (segment.name, segment.get(3) if segment.name == "OBX" else "")
            lines = _add_texts(draft, walk.texts, lines if key == before else {})
            before = key
        return draft


def _add_texts(draft: Draft, slots: list[Slot], lines: dict[str, Item]) -> dict[str, Item]:
    """Add the texts of a segment to the items of a message.

    draft (Draft): the message.
    slots (list[Slot]): the texts.
    lines (dict[str, Item]): field → text of the segment before, which these texts go on; empty if they do not.
    RETURNS (dict[str, Item]): field → text that the next segment can go on.
    """
    found: dict[str, Item] = {}
    for slot in slots:
        item = lines.get(slot.path) or found.get(slot.path)
        if item is None or slot.path not in _LINES:
            item = Item(slot.source, [slot])
            draft.items.append(item)
        else:
            item.source += "\n" + slot.source
            item.slots.append(slot)
        found[slot.path] = item
    return found


def _find_date(message: Message, profile: Profile) -> str:
    """Return the date of the notes in a message; "" if no field has a full date."""
    for name, number in profile.dated:
        for segment in message.segments:
            text = segment.get(number).split(message.encoding.repetition)[0] if segment.name == name else ""
            found = read_timestamp(text.split(message.encoding.component)[0])
            if found and len(found[0]) == len("2000-01-31"):
                return found[0]
    return ""


class _Walk:
    """Splits one segment, and collects its texts."""

    def __init__(self, splitter: Splitter, draft: Draft, segment: Segment, rule: SegmentRule) -> None:
        self._splitter = splitter
        self._profile = splitter.profile
        self._draft = draft
        self._encoding = draft.message.encoding
        self._segment = segment
        self._rule = rule
        self._path = ""
        self._number = 0
        self.texts: list[Slot] = []

    def fields(self) -> list[list[str | Slot]]:
        """Return the parts of each field."""
        made: list[list[str | Slot]] = []
        for number, raw in enumerate(self._segment.fields, 1):
            self._number, self._path = number, f"{self._segment.name}-{number}"
            if self._segment.name == "MSH" and number <= 2:
                made.append([raw])  # the encoding characters
                continue
            rule = self._rule.fields.get(number)
            if rule is not None and rule.action == "value":
                rule = self._profile.values.get(self._segment.get(2).strip())
            made.append(self._field(raw, rule))
        return made

    def _field(self, raw: str, rule: Rule | None) -> list[str | Slot]:
        """Return the parts of a field."""
        if not raw or raw == _NULL:
            return [raw]
        if rule is None:
            self._draft.removed[self._path] += 1
            return [""]
        if rule.action == "text":  # separators in it are characters
            return [self._text(raw)]
        parts: list[str | Slot] = []
        for i, text in enumerate(raw.split(self._encoding.repetition)):
            parts += [self._encoding.repetition] if i else []
            parts += self._file(text) if rule.action == "file" else self._components(text, rule)
        return parts

    def _components(self, raw: str, rule: Rule) -> list[str | Slot]:
        """Return the parts of one repetition of a field."""
        encoding, components = self._encoding, raw.split(self._encoding.component)
        kind = self._profile.types[rule.name] if rule.action == "type" else None
        parts: list[str | Slot] = []
        for i, text in enumerate(components, 1):
            parts += [encoding.component] if i > 1 else []
            own = kind.parts.get(i) if kind else rule
            if own is None or not text:
                self._draft.removed.update([self._path] if text else [])
                continue
            system = components[i] if own.action == "display" and len(components) > i else ""
            id_type = components[kind.id_type - 1] if kind and 0 < kind.id_type <= len(components) else ""
            for j, leaf in enumerate(text.split(encoding.subcomponent)):
                parts += [encoding.subcomponent] if j else []
                parts += [self._leaf(leaf, own, system, id_type)] if leaf else []
        names = [i for i, own in kind.parts.items() if own.action == "name"] if kind else []
        if len(names) > 1:
            self._add_full_name([components[i - 1] for i in names if i <= len(components)])
        return parts

    def _add_full_name(self, names: list[str]) -> None:
        """Add a slot of the full name, which is in no field, so that the parts get the surrogates of one person."""
        family, *given = [*(read_text(name, self._encoding, self._place()).text for name in names), ""]
        full = " ".join(part for part in (*given, family) if part)
        if family and any(given):
            self._draft.values.append(Slot(full, self._path, self._rule.role_of(self._number)))

    def _place(self) -> str:
        """Return the position of the field, for messages."""
        return f"{self._draft.path}: {self._path}"

    def _leaf(self, raw: str, rule: Rule, system: str, id_type: str) -> str | Slot:
        """Return a component or a subcomponent: what is kept of it, or a slot."""
        written = read_text(raw, self._encoding, self._place())
        plain, role = written.text, self._rule.role_of(self._number)
        match rule.action:
            case "number" if not _NUMBER.fullmatch(plain):
                return self._text(raw)
            case "number" if limited := self._limit_age(plain):
                return limited
            case "keep" | "number":
                return self._keep(raw, plain)
            case "display":
                return self._keep(raw, plain) if system in self._profile.systems else self._text(raw)
            case "text":
                return self._text(raw)
            case "date":
                return self._date(plain)
            case "id":
                return self._splitter.new_id(plain)
            case "name":
                return self._value(plain, role)
            case "contact":
                return self._value(plain, "EMAIL" if "@" in plain else "PHONE")
            case "identifier":
                return self._value(plain, IDENTIFIER_LABELS.get(id_type, _OWNERS.get(role, "ID_OTHER")))
            case "label":
                return self._value(plain, rule.name)
        raise AssertionError(rule.action)

    def _limit_age(self, plain: str) -> str:
        """Return what replaces the number of an observation if it is an age over 89 years; otherwise ""."""
        if not self._splitter.limits_ages or self._path != "OBX-5":
            return ""
        name = self._segment.get(3).replace(self._encoding.repetition, self._encoding.component)
        parts = set(name.lower().split(self._encoding.component))
        if not (parts | set(re.findall(r"\w+", name.lower()))) & self._profile.ages:
            return ""
        return limit_age(plain, self._segment.get(6).split(self._encoding.component)[0])

    def _keep(self, raw: str, plain: str) -> str:
        """Keep a value, unless it contains a name or a number of a person in the export."""
        if not self._splitter.identities.dictionary.finds_identifier(plain, self._draft.person.patient_id):
            return raw
        self._draft.removed[self._path] += 1
        return ""

    def _value(self, plain: str, label: str, kept: str = "") -> Slot:
        """Make a slot of a value that is an identifier as a whole."""
        slot = Slot(plain, self._path, label, kept)
        self._draft.values.append(slot)
        return slot

    def _date(self, plain: str) -> str | Slot:
        """Make a slot of a date. The time of day is kept; what is no date is removed."""
        found = read_timestamp(plain)
        if found is None:
            self._draft.removed[self._path] += 1
            return ""
        return self._value(found[0], "DATE", found[1])

    def _text(self, raw: str) -> Slot:
        """Make a slot of free text."""
        written = read_text(raw, self._encoding, self._place())
        slot = Slot(written.text, self._path, written=written)
        self.texts.append(slot)
        return slot

    def _file(self, raw: str) -> list[str | Slot]:
        """Return the parts of encapsulated data: source^type^subtype^encoding^data. Data of unknown types is removed.

        RAISES: InputError (D994) if the data is damaged.
        """
        mark = self._encoding.component
        _, kind, subtype, encoding, data = (raw.split(mark, 4) + [""] * 5)[:5]
        suffix = _SUFFIXES.get(subtype.lower().rpartition("/")[2], ".txt" if kind.upper() in ("TEXT", "TX") else "")
        heads = [self._keep(part, part) for part in (kind, subtype, encoding)]
        parts: list[str | Slot] = [mark + mark.join(heads) + mark]
        if encoding.upper() == "A" and suffix == ".txt" and data:
            return [*parts, self._text(data)]
        if not suffix or not data:
            self._draft.removed[self._path] += 1
            return parts
        content = re.sub(r"\s", "", read_text(data, self._encoding, self._place()).text)
        try:
            if encoding.upper() not in ("BASE64", "HEX"):
                raise ValueError
            found = (
                base64.b64decode(content, validate=True) if encoding.upper() == "BASE64" else bytes.fromhex(content)
            )
        except (ValueError, binascii.Error):
            reason = "the data is not valid in the encoding that its fourth component names"
            raise InputError(Errors.D994.format(path=self._place(), reason=reason)) from None
        slot = Slot("", self._path)
        self._draft.items.append(Item(File(found, f"attachment{suffix}"), [slot]))
        return [f"{mark}{mark.join([*heads[:2], 'Base64'])}{mark}", slot]
