"""Defines the REST routes for records of FHIR R4, HL7 v2 and CDA, which are released within their request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from ..errors import DeidError, Errors
from .access import user_of
from .audit_log import AuditLog
from .monitoring import Monitor
from .problems import PROBLEM, InvalidField, classify, declare_problems, make_problem
from .records import Issue, RecordAnswer, release_cda, release_fhir, release_hl7
from .schemas import CDA, FHIR, HL7
from .settings import JobSettings, ServiceSettings, check_encoding_name
from .text_api import refuse_if_full
from .workers import TextProcessor

STATUSES = (400, 408, 413, 422, 500, 503, 507)
"""HTTP statuses of problems that all of these routes can have."""


@dataclass
class RecordQuery:
    """The parameters of a request with records."""

    pipeline: str = ""
    operating_point: Literal["", "balanced", "high_recall", "max_recall"] = ""
    style: Literal["tag", "numbered", "mask", "remove", "surrogate"] = "tag"
    policy: Literal["strict", "safe_harbor", "limited_data_set"] = "strict"
    patient_system: str = ""
    accept_warnings: bool = False
    accept_partial: bool = False

    def check(self, service: ServiceSettings) -> JobSettings:
        """Return the settings for the texts of the records. RAISES: ConfigError as `JobSettings.check`."""
        return JobSettings(
            pipeline=self.pipeline, operating_point=self.operating_point, style=self.style, policy=self.policy
        ).check(service)

    def accepts(self, issue: Issue) -> bool:
        """Whether the client has accepted an issue: a warning, or a record that is not released."""
        return self.accept_warnings if issue.kind == "warning" else self.accept_partial


Settings = Annotated[RecordQuery, Depends()]
Release = Callable[..., RecordAnswer]


def add_record_routes(
    api: APIRouter, service: ServiceSettings, texts: TextProcessor, monitor: Monitor, audit: AuditLog
) -> None:
    """Add the routes that de-identify records. What is released is counted, and recorded in the audit log before."""

    async def release(
        request: Request, action: str, function: Release, query: RecordQuery, *more: str
    ) -> RecordAnswer:
        """De-identify the body of a request. Nothing is released with an issue that the client has not accepted."""
        settings = query.check(service)
        refuse_if_full(texts)
        try:
            data = await request.body()
            answer = await texts.release_records(function, data, settings, query.patient_system, *more)
            if not answer.data or not all(map(query.accepts, answer.issues)):
                monitor.count_text("withheld")
                request.scope["problem"] = "withheld"
                return answer._replace(data=b"")
            await run_in_threadpool(audit.record, user_of(request).name, action, released=answer.data)
        except DeidError as error:
            monitor.count_text(classify(error)[1])
            raise
        monitor.count_text("released")
        return answer

    @api.post("/fhir/$de-identify", tags=["fhir"], **describe_fhir())
    async def deidentify_fhir(request: Request, query: Settings) -> Response:
        """De-identify a resource or a Bundle of FHIR R4. The persons in it are searched for in all of its texts.

        Nothing is returned but an OperationOutcome if any resource has a warning, unless `accept_warnings` is set, or
        cannot be released, unless `accept_partial` is set: then a Bundle is returned without it.
        """
        answer = await release(request, "fhir", release_fhir, query)
        if not answer.data:
            return answer_outcome(map_issues(answer.issues), 422)
        return Response(answer.data, media_type=FHIR)

    @api.post("/hl7/$de-identify", tags=["hl7"], **describe_records(HL7, "One message of HL7 v2 or many"))
    async def deidentify_hl7(
        request: Request,
        query: Settings,
        encoding: Annotated[str, Query(description="Character encoding of messages without MSH-18")] = "utf-8",
    ) -> Response:
        """De-identify messages of HL7 v2: ORU, MDM and ADT. The persons in them are searched for in all texts.

        Nothing is returned but a problem if any message has a warning, unless `accept_warnings` is set, or cannot be
        released, unless `accept_partial` is set: then the others are returned.
        """
        check_encoding_name(encoding)
        answer = await release(request, "hl7", release_hl7, query, encoding)
        return Response(answer.data, media_type=HL7) if answer.data else answer_problem(answer.issues)

    @api.post("/cda/$de-identify", tags=["cda"], **describe_records(CDA, "A document of CDA R2"))
    async def deidentify_cda(request: Request, query: Settings) -> Response:
        """De-identify a document of CDA R2, such as one of C-CDA. The persons in it are searched for in all texts.

        Nothing is returned but a problem if it cannot be released, or has warnings, unless `accept_warnings` is set.
        """
        answer = await release(request, "cda", release_cda, query)
        return Response(answer.data, media_type=CDA) if answer.data else answer_problem(answer.issues)


def describe_fhir() -> dict[str, Any]:
    """Return the arguments of the route of FHIR that describe it in the OpenAPI document."""
    resource = {FHIR: {"schema": {"type": "object", "description": "A resource or a Bundle of FHIR R4"}}}
    outcome = {FHIR: {"schema": {"type": "object", "description": "An OperationOutcome, without content"}}}
    failures = {code: {**about, "content": outcome} for code, about in declare_problems(*STATUSES).items()}
    return _describe(resource, failures)


def describe_records(kind: str, description: str) -> dict[str, Any]:
    """Return the arguments of a route that describe it in the OpenAPI document.

    kind (str): content type of the request and of the response.
    description (str): what they contain.
    """
    content = {kind: {"schema": {"type": "string", "format": "binary", "description": description}}}
    return _describe(content, declare_problems(*STATUSES))


def _describe(content: dict[str, Any], failures: Mapping[int | str, dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a route whose request and response have the same content."""
    body = {"requestBody": {"required": True, "content": content}}
    return {
        "openapi_extra": body,
        "responses": {200: {"content": content}, **failures},
        "response_class": Response,
    }


def answer_problem(issues: Sequence[Issue]) -> Response:
    """Make the response for records that are not released: a problem with an entry for each issue."""
    fields = [InvalidField(loc=[issue.place], msg=issue.reason, type=issue.kind) for issue in issues]
    problem = make_problem(422, Errors.D1000, "withheld", fields)
    return JSONResponse(problem.model_dump(), problem.status, media_type=PROBLEM)


def map_issues(issues: Sequence[Issue]) -> list[dict[str, Any]]:
    """Convert issues to those of an OperationOutcome."""
    return [
        {
            "severity": "warning" if issue.kind == "warning" else "error",
            "code": "not-supported" if issue.kind == "removed" else "processing",
            "diagnostics": issue.reason,
            **({"expression": [issue.place]} if issue.place else {}),
        }
        for issue in issues
    ]


def answer_outcome(issues: Sequence[Mapping[str, Any]], code: int) -> Response:
    """Make a response with an OperationOutcome.

    issues (Sequence[Mapping]): its issues, without content.
    code (int): HTTP status.
    """
    return JSONResponse({"resourceType": "OperationOutcome", "issue": list(issues)}, code, media_type=FHIR)
