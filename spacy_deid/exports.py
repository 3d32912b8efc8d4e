"""Release structured records, such as resources of FHIR, messages of HL7 v2 and documents of CDA.

The labelled values of a record are released in one call of `Deidentifier.release`, as the detections of one text. So
policy, style and surrogates are those of the notes, and the parts of a name stay together. `build_dictionary` opens a
temporary dictionary of the persons of an export, and `release_records` releases the records of HL7 v2 and CDA.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from .deidentifier import Deidentifier
from .dictionaries.store import LocalStore, StoreWriter
from .documents import File
from .ehr.export_dictionary import ExportDictionary, Person
from .errors import Errors, NotDeidentified, describe
from .io import whole_file
from .loading import borrow_dictionaries
from .offsets import Edit, apply_edits
from .results import Result
from .spans import Evidence

IDENTIFIER_LABELS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("MR", "PI", "PT"), "MRN"),
        **dict.fromkeys(("SS", "SB"), "SSN"),
        **dict.fromkeys(("DL", "MD", "NPI", "PRN", "LN"), "LICENSE"),
        **dict.fromkeys(("PPN", "NI"), "NATIONAL_ID"),
        **{"AN": "ACCOUNT", "VN": "ENCOUNTER_ID", "EI": "EMPLOYEE_ID", "MB": "HEALTH_PLAN", "SN": "DEVICE"},
    }
)
"""Type of an identifier (HL7 table 0203, https://terminology.hl7.org/CodeSystem-v2-0203.html) → label."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        "text/plain": ".txt",
        "text/html": ".html",
        "application/xhtml+xml": ".html",
        "text/rtf": ".rtf",
        "application/rtf": ".rtf",
        "application/pdf": ".pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
        "application/vnd.oasis.opendocument.text": ".odt",
        "image/png": ".png",
        "image/jpeg": ".jpg",
        "image/tiff": ".tif",
    }
)
"""Content type of an attachment → suffix of the file that it is read as. Other attachments are removed."""

_BETWEEN = "\n.\n"  # between labelled values: the period separates words of two values


def release_values(
    deid: Deidentifier, values: Sequence[tuple[str, str]], ehr: Mapping[str, Any], source: str, path: str
) -> list[str]:
    """De-identify labelled values of a record, all at once, so that they are consistent.

    deid (Deidentifier): the deidentifier.
    values (Sequence[tuple[str, str]]): each value and its canonical label.
    ehr (Mapping[str, Any]): the EHR context of the record.
    source (str): name of the standard, which is the name of the detector in the evidence.
    path (str): position of the record, for the message.
    RETURNS (list[str]): the released values, in order.
    RAISES: NotDeidentified (D985) if a step did not run.
    """
    if not values:
        return []
    text, places = "", []
    for value, _ in values:
        places.append((len(text), len(text) + len(value)))
        text += value + _BETWEEN
    evidence = [
        Evidence(start, end, label, source, 1.0, source, True)
        for (_, label), (start, end) in zip(values, places, strict=True)
    ]
    result = deid.release(text, {f"deid/{source}": evidence}, ehr)
    check_result(result, path)
    released = []
    for (value, _), (start, end) in zip(values, places, strict=True):
        inside = [edit for edit in result.edits if start <= edit.start and edit.end <= end]
        moved = [Edit(edit.start - start, edit.end - start, edit.label, edit.replacement) for edit in inside]
        released.append(apply_edits(value, moved))
    return released


def check_result(result: Result, path: str) -> None:
    """Raise an error if an item was not released. RAISES: NotDeidentified (D985)."""
    if not result.ok:
        raise NotDeidentified(Errors.D985.format(path=path, reason=result.reason))


def build_dictionary(
    deid: Deidentifier,
    stack: ExitStack,
    fill: Callable[[StoreWriter, Path], None],
    *,
    dictionaries: Path | None = None,
    folder: Path | None = None,
) -> None:
    """Make the temporary dictionary of an export and use it in a deidentifier until the end of a context.

    deid (Deidentifier): the deidentifier.
    stack (ExitStack): the context. At its end the dictionary is closed and deleted, and that of before is used again.
    fill (Callable): is called with the writer and the folder of the dictionary, and adds the terms.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, which are used as well. They are not copied.
    folder (Optional[Path]): where the temporary folder is made; None for the system's default.
    """
    temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spacy-deid-", dir=folder)))
    store = temporary / "dictionary"
    base = LocalStore.open(dictionaries) if dictionaries else None
    with StoreWriter(store, base=base) as writer:
        fill(writer, store)
    deid.close()  # worker processes have the dictionaries of the time at which they started
    stack.enter_context(borrow_dictionaries(deid.nlp, store))


# --- values that HL7 v2 and CDA write in the same way ---

_TIMESTAMP = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(\d{2,6}(?:\.\d{1,6})?)?)?)?([+-]\d{4})?")
_RELEASED_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_DAY = len("2000-01-31")
_OLDEST = 89  # years; 45 CFR 164.514(b)(2)(i)(C)
_PER_YEAR = {"mo": 12, "month": 12, "months": 12, "wk": 52, "week": 52, "weeks": 52, "d": 365, "day": 365, "days": 365}
"""Unit of an age → number of units in a year; others are years."""


def read_timestamp(text: str) -> tuple[str, str] | None:
    """Split a timestamp of HL7 (YYYYMMDDHHMMSS.S+ZZZZ, of which the end can be missing).

    RETURNS (Optional[tuple[str, str]]): the date in ISO 8601, as far as it is there, and the rest: time of day and
        time zone; None if it is no timestamp.
    """
    found = _TIMESTAMP.fullmatch(text.strip())
    if found is None:
        return None
    return "-".join(part for part in found.group(1, 2, 3) if part), (found[4] or "") + (found[5] or "")


def write_timestamp(released: str, rest: str) -> str:
    """Return the timestamp of HL7 for a released date.

    released (str): the date in ISO 8601, or what a style replaced it by.
    rest (str): time of day and time zone, which are left out if the released date has no day.
    RETURNS (str): the timestamp; "" if the released value is no date.
    """
    if not _RELEASED_DATE.fullmatch(released):
        return ""
    return released.replace("-", "") + rest * (len(released) == _DAY)


def limit_age(text: str, unit: str) -> str:
    """Return what replaces the number of an age if it is over 89 years: 90 years in its unit; otherwise "".

    text (str): the number, with signs such as ">", or several of them.
    unit (str): its unit, such as "a" or "mo"; unknown ones are years.
    """
    per_year = _PER_YEAR.get(unit.strip().lower(), 1)
    numbers = [float(number.replace(",", ".")) for number in re.findall(r"\d+(?:[.,]\d+)?", text)]
    return str((_OLDEST + 1) * per_year) if max(numbers, default=0) > _OLDEST * per_year else ""


# --- records of HL7 v2 and CDA ---


@dataclass(slots=True)
class Outcome:
    """What became of a record: a message of HL7 v2 or a document of CDA.

    type (str): its type, such as "ORU", if the profile names it; otherwise "".
    path (str): its position, such as "message 3"; "" for a file with one record.
    status (str): "released", "review" if a person should look at it, "removed" if the profile does not name its type,
        or "failed"; "pending" until one of these is decided.
    reason (str): why it failed, without content.
    data (Optional[bytes]): the released record.
    warnings (list[str]): what a person should look at.
    removed (Counter): field, segment or element → number of values that were removed.
    labels (Counter): label → number of spans that were changed in it.
    """

    type: str
    path: str
    status: str = "pending"
    reason: str = ""
    data: bytes | None = field(default=None, repr=False)
    warnings: list[str] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def fail(self, error: Exception) -> None:
        """Record why the record failed. The reason has no content."""
        self.status, self.reason, self.data = "failed", describe(error), None


class Item(Protocol):
    """A text or a file of a record, as an item for `Deidentifier.pipe`."""

    source: Any

    @property
    def path(self) -> str:
        """Its field or element, for messages."""
        ...


class Draft(Protocol):
    """A record that was split into what is kept and values to de-identify."""

    person: Person
    removed: Counter[str]

    @property
    def items(self) -> Sequence[Any]:
        """The texts and files, each an `Item`."""
        ...

    @property
    def ehr(self) -> Mapping[str, Any]:
        """The EHR context of everything in the record."""
        ...

    def fill(self, item: Any, result: Result) -> None:
        """Fill an item with its result. RAISES: NotDeidentified (D985) if it was not released."""
        ...

    def fill_values(self, deid: Deidentifier) -> Counter[str]:
        """De-identify the labelled values. RETURNS (Counter): label → number of values."""
        ...

    def join(self) -> bytes:
        """Return the released record, which was checked. RAISES: InputError if it is not valid."""
        ...


class Batches(NamedTuple):
    """How records go through the pipeline.

    size (int): number of records whose texts go through it together.
    n_process (int): number of worker processes.
    seconds (float): time limit for a document in a record, 0 for none.
    """

    size: int
    n_process: int
    seconds: float


def release_records(
    deid: Deidentifier,
    records: Iterable[bytes],
    split: Callable[[bytes, int], tuple[Outcome, Draft | None]],
    dictionary: ExportDictionary,
    batches: Batches,
) -> Iterator[Outcome]:
    """De-identify records. One that fails does not affect the others.

    deid (Deidentifier): the deidentifier.
    records (Iterable[bytes]): the records.
    split (Callable): takes a record and its number, from 1. Returns its outcome, which is final without parts, and its
        parts.
    dictionary (ExportDictionary): the dictionary of the export.
    batches (Batches): how they go through the pipeline.
    YIELDS (Outcome): one outcome per record, in order.
    RAISES: ConfigError (D989) if no records were read before.
    """
    numbered = enumerate(records, 1)
    while batch := list(islice(numbered, batches.size)):
        _ = dictionary.store
        pairs = [split(data, number) for number, data in batch]
        _release_drafts(deid, pairs, dictionary, batches)
        yield from (outcome for outcome, _ in pairs)


def _release_drafts(
    deid: Deidentifier,
    pairs: Sequence[tuple[Outcome, Draft | None]],
    dictionary: ExportDictionary,
    batches: Batches,
) -> None:
    """De-identify some records, whose texts go through the pipeline as one stream, and complete their outcomes.

    pairs (Sequence): outcome and parts of each record; one without parts is finished already.
    """
    items = [(outcome, draft, item) for outcome, draft in pairs if draft is not None for item in draft.items]
    limit = batches.seconds if any(isinstance(item.source, File) for *_, item in items) else 0
    sources = ((item.source, draft.ehr) for _, draft, item in items)
    results = deid.pipe(sources, n_process=batches.n_process, seconds=limit)
    for (outcome, draft, item), result in zip(items, results, strict=True):
        outcome.warnings += [f"{item.path}: {warning}" for warning in result.warnings]
        outcome.labels.update(edit.label for edit in result.edits if edit.label)
        try:
            draft.fill(item, result)
            if dictionary.has_weak_name(result.text, draft.person.patient_id):
                outcome.warnings.append(f"{item.path}: it has a common word that is also a name of the patient")
        except Exception as error:
            outcome.fail(error)
    for outcome, parts in pairs:
        if parts is None or outcome.status == "failed":
            continue
        try:
            labels = parts.fill_values(deid)
            data = parts.join()
            outcome.data, outcome.status = data, "review" if outcome.warnings else "released"
            outcome.removed = parts.removed
            outcome.labels += labels
        except Exception as error:
            outcome.fail(error)


def write_released(outcomes: Iterable[Outcome], target: Path, note: Callable[[Outcome], None]) -> bool:
    """Write the released records of a file completely or not at all.

    outcomes (Iterable[Outcome]): what became of the records.
    target (Path): the file to write.
    note (Callable): is called with each outcome.
    RETURNS (bool): whether the file was written; nothing is written if no record was released.
    RAISES: InputError (D402) if it cannot be written, and as the iterable.
    """
    written = 0
    with suppress(_NothingReleased), whole_file(target) as part:
        with open(part, "wb") as file:
            for outcome in outcomes:
                note(outcome)
                if outcome.data is not None:
                    file.write(outcome.data)
                    written += 1
        if not written:
            raise _NothingReleased
    return written > 0


class _NothingReleased(Exception):
    """No record of a file was released, so the file is not written."""
