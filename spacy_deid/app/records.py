"""De-identifies records of FHIR R4, HL7 v2 and CDA in a worker process. Each request is an export of its own."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, Literal, NamedTuple

from .. import exports
from ..errors import ConfigError, Errors, InputError
from ..fhir import run as fhir_run
from ..fhir.json_values import read_json, write_json
from ..hl7.messages import parse_message, split_stream
from ..hl7.run import Hl7Deidentifier
from ..io import decode
from .processing import Deidentifiers
from .results import MEMORY
from .settings import JobSettings


class Issue(NamedTuple):
    """What a client should know about a record: a resource, a message or a document.

    place (str): its position, such as "Bundle.entry[3].resource" or "message 2"; "" for a request with one record.
    kind (str): "failed", "removed" if the profile does not name its type, or "warning" if a person should look at it.
    reason (str): why, without content.
    """

    place: str
    kind: Literal["failed", "removed", "warning"]
    reason: str


class RecordAnswer(NamedTuple):
    """What became of the records of a request.

    data (bytes): the released records; b"" if none was released.
    issues (Sequence[Issue]): what a client should know about them.
    """

    data: bytes
    issues: Sequence[Issue]

    def __repr__(self) -> str:
        return f"RecordAnswer({len(self.data)} bytes, {len(self.issues)} issues)"


def release_fhir(
    deidentifiers: Deidentifiers, data: bytes, settings: JobSettings, patient_system: str
) -> RecordAnswer:
    """De-identify a resource or a Bundle of FHIR R4.

    data (bytes): the JSON text.
    settings (JobSettings): settings for its texts.
    patient_system (str): the system of the identifier that is the patient's id; "" for the id of the Patient.
    RETURNS (RecordAnswer): what was released, as JSON.
    RAISES: InputError (D980) if it is no JSON object.
    """
    resource = read_json(decode(data, "utf-8", "resource")[0])
    deid = deidentifiers.get(settings)
    with fhir_run.FhirDeidentifier(deid, **_run_settings(deidentifiers, patient_system)) as fhir:
        fhir.read([resource])
        released, outcomes = fhir.release_one(resource)
    issues = [
        issue for outcome in outcomes for issue in list_issues(outcome, removed=Errors.D990.format(type=outcome.type))
    ]
    return RecordAnswer(b"" if released is None else write_json(released).encode(), issues)


def release_hl7(
    deidentifiers: Deidentifiers, data: bytes, settings: JobSettings, patient_system: str, encoding: str
) -> RecordAnswer:
    """De-identify messages of HL7 v2.

    data (bytes): one message or many, also in MLLP frames.
    settings (JobSettings): settings for their texts.
    patient_system (str): see `Hl7Deidentifier`.
    encoding (str): character encoding of messages without MSH-18.
    RETURNS (RecordAnswer): the released messages, one after the other.
    RAISES: InputError (D992) if no message can be read; ConfigError (D400) for an unknown encoding.
    """
    messages = list(split_stream(BytesIO(data), "request"))
    deid = deidentifiers.get(settings)
    with Hl7Deidentifier(deid, encoding=encoding, **_run_settings(deidentifiers, patient_system)) as hl7:
        _check_messages(messages, encoding)
        hl7.read(messages)
        return _join(list(hl7.release(messages)), Errors.D999)


def _check_messages(messages: Sequence[bytes], encoding: str) -> None:
    """Raise the error of the first message if no message can be read. RAISES: InputError (D992)."""
    first: InputError | None = None
    for number, data in enumerate(messages, 1):
        try:
            parse_message(data, f"message {number}", encoding)
            return
        except InputError as error:
            first = first or error
    raise first or InputError(Errors.D992.format(path="request", reason="it is empty"))


def release_cda(deidentifiers: Deidentifiers, data: bytes, settings: JobSettings, patient_system: str) -> RecordAnswer:
    """De-identify a document of CDA R2.

    data (bytes): the document, in the encoding that it declares.
    settings (JobSettings): settings for its texts.
    patient_system (str): see `CdaDeidentifier`.
    RETURNS (RecordAnswer): the released document.
    RAISES: InputError (D715, D979) if it is no document of CDA; ConfigError (D713) if a package is not installed.
    """
    try:
        from ..cda.run import CdaDeidentifier
        from ..cda.structure import parse_document
    except ImportError as error:
        raise ConfigError(Errors.D713.format(path="CDA", package=error.name)) from None

    parse_document(data, "document")
    deid = deidentifiers.get(settings)
    with CdaDeidentifier(deid, **_run_settings(deidentifiers, patient_system)) as cda:
        cda.read([data])
        return _join(list(cda.release([data], "document")), Errors.D999)


def _run_settings(deidentifiers: Deidentifiers, patient_system: str) -> dict[str, Any]:
    """Return the settings of an export that all standards have."""
    service = deidentifiers.service
    return {
        "key": service.project_key,
        "patient_system": patient_system,
        "dictionaries": service.dictionaries,
        "seconds": 60 * service.file_minutes,
        "folder": MEMORY if MEMORY.is_dir() else None,
    }


def _join(outcomes: Sequence[exports.Outcome], removed: str) -> RecordAnswer:
    """Join the released records, and list what a client should know about all of them."""
    issues = [issue for outcome in outcomes for issue in list_issues(outcome, removed)]
    return RecordAnswer(b"".join(outcome.data or b"" for outcome in outcomes), issues)


def list_issues(outcome: exports.Outcome | fhir_run.Outcome, removed: str) -> Iterator[Issue]:
    """Yield the issues of a record; none if it was released without warnings.

    removed (str): the reason for a record that the profile does not name.
    """
    if outcome.status == "failed":
        yield Issue(outcome.path, "failed", outcome.reason)
    elif outcome.status == "removed":
        yield Issue(outcome.path, "removed", removed)
    for warning in outcome.warnings:
        yield Issue(outcome.path, "warning", warning)
