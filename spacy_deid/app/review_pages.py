"""Defines the routes of the review: the page of a file, its pages as pictures, and the decisions made on it."""

import json
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from ..errors import DeidError, Errors, InputError
from ..labels import LABELS
from .api import apply_review, show_file
from .page_images import PageDrawer, has_pages, read_layout
from .processing import is_identifier
from .rendering import language_of, render, translate_error
from .review import (
    Change,
    change_file,
    preview_edits,
    read_applied,
    read_findings,
    read_text,
    state_name,
    unchecked_warnings,
)
from .review_view import (
    KINDS,
    count_states,
    cut_parts,
    cut_text,
    describe_span,
    kind_of,
    list_spans,
    original_pieces,
    place_released,
    released_pieces,
)
from .store import FileRow, NotFound, Store
from .summaries import next_to_review, summarize_job


def add_review(pages: APIRouter, store: Store, drawer: PageDrawer) -> None:
    """Add the page of a file, the evidence of a span, and the decisions of reviewers."""

    @pages.get("/files/{file}")
    def review(request: Request, file: str, part: int = 1, reviewer: int = 1) -> Response:
        """Show one part of a file: original text, preview of the released text, and the list of its spans."""
        row = store.file(file)
        shown = desk_of(store, row, part, check_reviewer(reviewer))
        return render(request, "file", **shown, **queue_of(store, row), **page_of(store, row))

    @pages.post("/files/{file}/review")
    def change(request: Request, file: str, change: Change) -> Response:
        """Carry out a decision. Returns the counts of the file, or where to continue when its review is finished."""
        try:
            row = change_file(store, file, change)
        except NotFound:
            raise
        except DeidError as error:
            unseen = str(error).endswith(Errors.D947.rpartition("}")[2])
            detail, _ = translate_error(str(error), language_of(request))
            return JSONResponse({"detail": detail, "again": unseen}, 400)
        if change.action == "finish":
            return JSONResponse({"next": next_url(store, row)})
        counts = count_states(read_findings(store, row, change.reviewer)["spans"])
        return JSONResponse({**counts, "open": int(row.about.get("open", 0)), "part": change.part})

    @pages.get("/files/{file}/spans/{number}")
    def why(request: Request, file: str, number: int, reviewer: int = 1) -> Response:
        spans = read_findings(store, store.file(file), check_reviewer(reviewer))["spans"]
        if not 0 <= number < len(spans):
            raise InputError(Errors.D910.format(start=number, end=number))
        return render(request, "why", span=spans[number], kind=kind_of(spans[number]["label"]))

    @pages.post("/files/{file}/apply")
    def apply(file: str) -> Response:
        return RedirectResponse(f"/jobs/{apply_review(store, file).job}", 303)

    @pages.get("/files/{file}/pages/{number}")
    def page(file: str, number: int, reviewer: int = 1) -> dict[str, Any]:
        """Return the size of a page of a document, and the areas of its spans."""
        return areas_of(store, store.file(file), number, check_reviewer(reviewer))

    @pages.get("/files/{file}/pages/{number}/picture")
    async def picture(file: str, number: int, reviewer: int = 1, released: bool = False) -> Response:
        """Draw a page of a document as it was uploaded, or as it is released with the decisions made so far."""
        row = store.file(file)
        spans = read_findings(store, row, check_reviewer(reviewer))["spans"]
        edits = None
        if released:
            made = preview_edits(spans, read_applied(store, row), read_text(store, row, "released_text"))
            edits = [(edit.start, edit.end, edit.label, edit.replacement) for edit in made]
        layout = read_layout(store, row, number)
        data = store.get(row.id, "original") or b""
        drawn = await drawer.draw(data, row.about["kind"], number, layout, read_text(store, row), edits)
        return Response(drawn, media_type="image/jpeg")


def check_reviewer(number: int) -> int:
    """Return the number of a reviewer. RAISES: InputError (D927) unless it is 1 or 2."""
    if number not in (1, 2):
        raise InputError(Errors.D927)
    return number


def desk_of(store: Store, row: FileRow, part: int, reviewer: int) -> dict[str, Any]:
    """Collect what the review page shows of a part of a file and what changes with decisions.

    part (int): number of the part, starting at 1; the nearest one is shown if it does not exist.
    reviewer (int): 1 or 2, see `read_findings`.
    RETURNS (dict): variables of the template "file".
    """
    spans = read_findings(store, row, reviewer)["spans"]
    text = read_text(store, row)
    parts = cut_parts(text, spans)
    number = min(max(part, 1), len(parts))
    place = parts[number - 1]
    nearly = [one for one in json.loads(store.get(row.id, "nearly") or b"[]") if not _is_taken(one, spans)]
    released = read_text(store, row, "released_text")
    if reviewer == 1 and not row.about.get("open"):
        written = [span for span in spans if "released" in span]
        copied = place_released(written, place[0]), place_released(written, place[1])
        after = list(cut_text(released, written, [tuple(span["released"]) for span in written], copied))
    else:
        edits = list(preview_edits(spans, read_applied(store, row), released))
        after = released_pieces(text, spans, edits, place)
    listed = list_spans(text, spans, place)
    undo = json.loads(store.get(row.id, "undo" if reviewer == 1 else "undo_second") or b"[]")
    return {
        "file": show_file(row),
        "reviewer": reviewer,
        "finished": bool(row.about.get(state_name(reviewer))),
        "unchecked": unchecked_warnings(row),
        "labels": {name: kind_of(name) for name in LABELS},
        "kinds": [kind for kind in KINDS if any(span["kind"] == kind for span in listed)],
        "found_labels": sorted({span["label"] for span in listed}),
        "sources": sorted({source for span in listed for source in span["sources"]}),
        "counts": count_states(spans),
        "nearly": len(nearly),
        "undo": len(undo),
        "part": number,
        "parts": len(parts),
        "offset": place[0],
        "original": original_pieces(text, spans, nearly, place),
        "released": after,
        "spans": listed,
    }


def _is_taken(place: dict[str, Any], spans: list[dict[str, Any]]) -> bool:
    """Whether a span overlaps a place."""
    return any(span["start"] < place["end"] and place["start"] < span["end"] for span in spans)


def queue_of(store: Store, row: FileRow) -> dict[str, Any]:
    """Count the files of a job that are reviewed. RETURNS (dict): "queue" with the counts and the next file."""
    summary, following = summarize_job(store.database, row.job), next_to_review(store.database, row.job, but=row.id)
    return {"queue": {"total": summary.readable, "reviewed": summary.reviewed, "next": following}}


def next_url(store: Store, row: FileRow) -> str:
    """Return the address to continue at after a file is finished: the next file by risk, or the job."""
    following = next_to_review(store.database, row.job, but=row.id)
    return f"/files/{following}" if following else f"/jobs/{row.job}"


def page_of(store: Store, row: FileRow) -> dict[str, Any]:
    """Return the pages of a document that can be shown. RETURNS (dict): "pages", their starts in the text."""
    if not has_pages(store, row):
        return {"pages": []}
    return {"pages": json.loads(store.get(row.id, "pages") or b"[]")}


def areas_of(store: Store, row: FileRow, number: int, reviewer: int) -> dict[str, Any]:
    """Find the areas of spans on a page.

    RETURNS (dict): "number", "width" and "height" of the page; "areas", for each span on it the fields of
        `describe_span`, whether it is "removed", and the corners of its areas.
    RAISES: NotFound (D901) if there is no such page.
    """
    from ..documents.page_views import load_layout, span_areas

    layout = load_layout(read_layout(store, row, number))
    spans = read_findings(store, row, reviewer)["spans"]
    start = min((segment.start[0] for segment in layout.segments), default=0)
    end = max((segment.end[-1] for segment in layout.segments), default=0)
    near = [span for span in spans if span["start"] < end and start < span["end"]]
    areas = span_areas(layout, [(span["start"], span["end"]) for span in near])
    shown = [
        {**describe_span(span), "removed": is_identifier(span) and span["action"] != "keep", "areas": found}
        for span, found in zip(near, areas, strict=True)
        if found
    ]
    return {"number": number, "width": layout.width, "height": layout.height, "areas": shown}
