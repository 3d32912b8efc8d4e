"""Release the labelled values of structured records, such as resources of FHIR and messages of HL7 v2.

The values of a record are released in one call of `Deidentifier.release`, as the detections of one text. So policy,
style and surrogates are those of the notes, and the parts of a name stay together. `build_dictionary` opens a
temporary dictionary of the persons of an export.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .deidentifier import Deidentifier
from .dictionaries.store import LocalStore, StoreWriter
from .errors import Errors, NotDeidentified
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
