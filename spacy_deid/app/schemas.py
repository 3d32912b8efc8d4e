"""Defines the requests and responses of the REST interface, from which the OpenAPI document is made."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from .access import Role
from .problems import InvalidField, Problem, invalid_fields
from .settings import JobSettings

FHIR = "application/fhir+json"
"""Content type of resources of FHIR."""
HL7 = "application/hl7-v2"
"""Content type of messages of HL7 v2 (HL7 over HTTP)."""
CDA = "application/xml"
"""Content type of documents of CDA."""
MOST_TEXTS = 200  # maximal number of texts in a batch
Note = Annotated[str, Field(description="The note", max_length=10_000_000)]


class TextRequest(JobSettings):
    """A text to de-identify, with settings."""

    text: Note
    trace: bool = Field(default=False, description="Whether to return the evidence of each span")


class Span(BaseModel):
    """A span that was changed or kept. Offsets count characters (Unicode code points)."""

    start: int
    end: int
    label: str
    action: str
    released: list[int] = Field(description="Start and end in the released text")
    evidence: list[dict[str, Any]] = Field(description="Detections that overlap the span, if a trace was requested")


class PipelineInfo(BaseModel):
    """The pipeline that de-identified a text."""

    name: str
    version: str
    fingerprint: str


class TextAnswer(BaseModel):
    """A de-identified text."""

    text: str
    spans: list[Span]
    warnings: list[str] = Field(description="Reasons to check the text before it is passed on, without content")
    pipeline: PipelineInfo


class BatchItem(BaseModel):
    """A text of a batch, with what identifies its patient. Empty fields keep the value of the batch's settings."""

    model_config = ConfigDict(extra="forbid")

    text: Note
    patient_id: str = Field(default="", description=JobSettings.model_fields["patient_id"].description)
    note_date: str = Field(default="", description=JobSettings.model_fields["note_date"].description)
    patient_name: str = Field(default="", description=JobSettings.model_fields["patient_name"].description)
    patient_sex: Literal["", "female", "male"] = ""


class InvalidItem(BaseModel):
    """Stands for an item of a batch that does not match the schema, so that the other items are processed."""

    errors: list[InvalidField]


def _keep_invalid(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate an item; return an `InvalidItem` instead of failing the batch."""
    try:
        return validate(value)
    except ValidationError as error:
        return InvalidItem(errors=invalid_fields(error.errors(), frozenset(BatchItem.model_fields)))


class BatchRequest(BaseModel):
    """Texts to de-identify with the same settings. An invalid item does not fail the others."""

    model_config = ConfigDict(extra="forbid")

    items: list[Annotated[BatchItem, WrapValidator(_keep_invalid)]] = Field(min_length=1, max_length=MOST_TEXTS)
    settings: JobSettings = Field(default_factory=JobSettings)
    trace: bool = Field(default=False, description="Whether to return the evidence of each span")


class BatchResult(BaseModel):
    """What became of an item of a batch: either an answer or a problem."""

    index: int = Field(description="Position of the item in the request, from 0")
    answer: TextAnswer | None = None
    problem: Problem | None = None


class BatchAnswer(BaseModel):
    """The results of a batch, one for each item and in the same order."""

    results: list[BatchResult]
    released: int = Field(description="Number of items with an answer")
    failed: int = Field(description="Number of items with a problem")


class Health(BaseModel):
    """Whether the service is alive."""

    status: Literal["ok", "starting"]
    version: str


class Readiness(BaseModel):
    """Whether the service can process texts and files now."""

    ready: bool
    workers: int = Field(description="Workers for files that are running")
    pipelines: dict[str, Literal["loaded", "loading", "failed", "on demand"]] = Field(
        description="Whether each pipeline is loaded"
    )
    version: str


class Choices(BaseModel):
    """The values that clients can choose for settings."""

    model_config = ConfigDict(extra="allow")

    pipeline: list[str]
    operating_point: list[str]
    style: list[str]
    policy: list[str]
    encoding: list[str]
    llm: list[str]
    prompts: list[str]
    labels: list[str]


class Me(BaseModel):
    """The user of a request."""

    name: str
    roles: list[Role]


class AuditEntry(BaseModel):
    """An entry of the audit log."""

    number: int
    at: float = Field(description="Unix time")
    user: str
    action: str
    job: str = Field(description="Id of the job; empty if the action concerns none")
    file: str = Field(description="Id of the file; empty if the action concerns none")
    digest: str = Field(description="HMAC-SHA256 of what was released, with a key derived from the files key")
    seal: str = Field(description="HMAC-SHA256 of this entry and the seal before")


class AuditPage(BaseModel):
    """Part of the audit log."""

    items: list[AuditEntry]
    next: int | None = Field(description="The value of `after` for the next part; null for the last part")


class FileInfo(BaseModel):
    """A file of a job: its state and facts about it, without content but its name. Facts depend on the format."""

    model_config = ConfigDict(extra="allow")

    id: str
    job: str
    name: str
    size: int
    state: str = Field(
        description="waiting, parsing, parsed, queued, running, writing, done, failed, cancelled or uploading"
    )
    reason: str = Field(description="Why it failed")
    pages: int | None = None
    characters: int | None = None
    warnings: list[str] = Field(default_factory=list, description="What a person should check in the copy")
    spans: int | None = Field(default=None, description="Number of spans")
    open: int | None = Field(default=None, description="Decisions that are not yet applied to the copy")


class JobInfo(BaseModel):
    """A job with its files and its progress."""

    id: str
    created: float = Field(description="Unix time")
    settings: JobSettings
    cancelled: bool
    files: list[FileInfo] = Field(description="The files; empty if they were not asked for")
    states: dict[str, int] = Field(description="State → number of files")
    total: int
    done: int
    failed: int
    busy: int = Field(description="Files that have a task")
    ahead: int = Field(description="Files of older jobs that come first")
    seconds_left: float | None


class JobSummary(BaseModel):
    """A job with the counts of its files."""

    id: str
    created: float = Field(description="Unix time")
    total: int
    done: int
    failed: int
    busy: int


class JobPage(BaseModel):
    """Part of the list of jobs, the latest first."""

    items: list[JobSummary]
    next: str | None = Field(description="Cursor of the next part; null for the last part")


class Decision(BaseModel):
    """A reviewer's decision on a span of the original text."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["release", "restore", "relabel", "add"]
    start: int
    end: int
    label: str = ""


class FoundSpan(BaseModel):
    """A span of the original text. "released" is missing before the span is applied."""

    model_config = ConfigDict(extra="allow")

    start: int
    end: int
    label: str
    action: str
    released: list[int] | None = Field(default=None, description="Start and end in the released text")
    reviewed: str | None = Field(default=None, description="What a reviewer decided")
    evidence: list[dict[str, Any]]


class Findings(BaseModel):
    """The findings of a file, and the pipeline and settings that made them."""

    model_config = ConfigDict(extra="allow")

    pipeline: PipelineInfo
    spacy_deid: str
    settings: dict[str, Any]
    spans: list[FoundSpan]


class ReviewAnswer(BaseModel):
    """What a decision changed."""

    open: int = Field(description="Decisions that are not yet applied to the copy")
    spans: list[FoundSpan] = Field(description="The changed span; empty if it was removed")


class LoggedDecision(BaseModel):
    """A decision in the log."""

    model_config = ConfigDict(extra="allow")

    made: float = Field(description="Unix time")
    job: str
    file: str
    action: str
    start: int
    end: int
    label: str


class DecisionPage(BaseModel):
    """Part of the log of decisions, the oldest first."""

    items: list[LoggedDecision]
    next: str | None = Field(description="Cursor of the next part; null for the last part")
