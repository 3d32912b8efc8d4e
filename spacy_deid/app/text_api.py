"""Defines the REST routes that answer within their request: texts, resources of FHIR, and the state of the service."""

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from .. import __version__
from ..errors import DeidError, Errors
from .access import ROLES, User, user_of
from .api import choices_of
from .audit_log import AuditLog
from .monitoring import Monitor
from .problems import classify, declare_problems, describe_problem, make_problem
from .schemas import (
    AuditEntry,
    AuditPage,
    BatchAnswer,
    BatchRequest,
    BatchResult,
    Choices,
    Health,
    InvalidItem,
    Me,
    Readiness,
    TextAnswer,
    TextRequest,
)
from .settings import JobSettings, ServiceSettings
from .workers import Supervisor, TextProcessor


def add_state_routes(root: APIRouter, supervisor: Supervisor, texts: TextProcessor, monitor: Monitor) -> None:
    """Add the routes that monitoring systems read: the state of the service and its metrics."""

    @root.get("/health", tags=["service"], responses=_unavailable(Health, "A worker is not running"))
    @root.get("/v1/health", include_in_schema=False)
    async def health(response: Response) -> Health:
        """The version of the service and its state, with status 503 while a worker is not running."""
        response.status_code = 200 if supervisor.alive else 503
        return Health(status="ok" if supervisor.alive else "starting", version=__version__)

    @root.get("/ready", tags=["service"], responses=_unavailable(Readiness, "The service is not ready"))
    @root.get("/v1/ready", include_in_schema=False)
    async def ready(response: Response) -> Readiness:
        """Whether the service can process texts and files now, with status 503 while it cannot."""
        is_ready = supervisor.alive and texts.ready and not texts.full
        response.status_code = 200 if is_ready else 503
        running = sum(worker.alive for worker in supervisor.workers)
        return Readiness(ready=is_ready, workers=running, pipelines=texts.pipelines, version=__version__)

    @root.get(
        "/metrics",
        tags=["service"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def metrics() -> Response:
        """Metrics in the text format of Prometheus, without content."""
        return Response(monitor.export(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _unavailable(model: type[BaseModel], description: str) -> dict[int | str, dict[str, Any]]:
    """Declare the status 503 with the same model as 200."""
    return {503: {"model": model, "description": description}}


def add_service_routes(api: APIRouter, service: ServiceSettings, audit: AuditLog) -> None:
    """Add the routes about the settings, the user and the audit log."""

    @api.get("/choices", tags=["service"])
    def choices() -> Choices:
        """The available pipelines, styles, policies, labels and local LLMs."""
        return Choices(**choices_of(service))

    @api.get("/me", tags=["service"])
    def me(request: Request) -> Me:
        """The user of the request and the roles of this user."""
        user = user_of(request)
        return Me(name=user.name, roles=[role for role in ROLES if role in user.roles])

    @api.get("/audit", tags=["service"], responses=declare_problems(422))
    def list_audit(
        limit: Annotated[int, Query(ge=1, le=1000, description="Maximal number of entries in this part")] = 1000,
        after: Annotated[int, Query(ge=0, le=2**62, description="Number of the last entry of the part before")] = 0,
    ) -> AuditPage:
        """The audit log, the oldest entries first: who did what, without content."""
        items = audit.page(limit, after)
        return AuditPage(
            items=[AuditEntry(**item) for item in items], next=items[-1]["number"] if len(items) == limit else None
        )


def add_text_routes(
    api: APIRouter, service: ServiceSettings, texts: TextProcessor, monitor: Monitor, audit: AuditLog
) -> None:
    """Add the routes that de-identify texts. What is released is counted, and recorded in the audit log before."""

    async def release(user: User, text: str, settings: JobSettings, trace: bool) -> TextAnswer:
        try:
            answer = TextAnswer(**await texts.release(text, settings, trace))
            released = answer.text.encode("utf-8", "surrogatepass")
            await run_in_threadpool(audit.record, user.name, "text", released=released)
        except DeidError as error:
            monitor.count_text(classify(error)[1])
            raise
        monitor.count_text("released")
        return answer

    @api.post("/deidentify", tags=["text"], responses=declare_problems(400, 408, 413, 422, 503, 507))
    async def deidentify(request: Request, body: TextRequest) -> TextAnswer:
        """De-identify a text. The request waits for a free worker; 503 if too many requests are waiting."""
        settings = JobSettings(**body.model_dump(exclude={"text", "trace"})).check(service)
        refuse_if_full(texts)
        return await release(user_of(request), body.text, settings, body.trace)

    @api.post("/deidentify/batch", tags=["text"], responses=declare_problems(400, 408, 413, 422, 503))
    async def deidentify_batch(request: Request, body: BatchRequest) -> BatchAnswer:
        """De-identify several texts, one after the other. Each has its own result: an answer or a problem."""
        usual, user = body.settings.check(service), user_of(request)
        refuse_if_full(texts)
        results = []
        for index, item in enumerate(body.items):
            if isinstance(item, InvalidItem):
                problem = make_problem(422, Errors.D943, "invalid_request", item.errors)
                results.append(BatchResult(index=index, problem=problem))
                monitor.count_text("invalid_request")
                continue
            own = {name: value for name, value in item.model_dump(exclude={"text"}).items() if value}
            try:
                settings = usual.model_copy(update=own).check(service)
                answer = await release(user, item.text, settings, body.trace)
                results.append(BatchResult(index=index, answer=answer))
            except DeidError as error:
                results.append(BatchResult(index=index, problem=describe_problem(error)))
        released = sum(result.answer is not None for result in results)
        return BatchAnswer(results=results, released=released, failed=len(results) - released)


def refuse_if_full(texts: TextProcessor) -> None:
    """Refuse a request if too many are waiting. RAISES: HTTPException (503)."""
    if texts.full:
        raise HTTPException(503, Errors.D923, {"Retry-After": "5"})
