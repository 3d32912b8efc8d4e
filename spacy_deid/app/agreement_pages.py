"""Defines the pages for two reviewers: their agreement, the adjudication of differences, and the export of gold."""

import math
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from ..evaluation import FORMATS
from .agreement import (
    Cells,
    Difference,
    adjudicate,
    count_cells,
    find_differences,
    find_kappa,
    has_two_readings,
    read_readings,
)
from .api import attachment, show_file
from .rendering import render
from .results import zip_gold
from .review import read_text
from .review_view import kind_of
from .settings import check_choice
from .store import Store

CONTEXT = 60
"""Characters of the text that are shown before and after a difference."""


def add_agreement(pages: APIRouter, store: Store) -> None:
    """Add the pages for two reviewers of the files of a job."""

    @pages.get("/jobs/{job}/agreement")
    def agreement(request: Request, job: str) -> Response:
        """Show the agreement of two reviewers for each file that both have finished, and for all of them."""
        row = store.job(job)
        rows, total = list_files(store, row.id)
        formats = [name for name in FORMATS if name in ("brat", "i2b2", "jsonl", "spacy")]
        return render(request, "agreement", job=row.id, files=rows, kappa=shorten(total), formats=formats)

    @pages.get("/jobs/{job}/gold")
    def gold(job: str, format: str = "brat") -> Response:
        """Return the reviewed files as gold annotations."""
        row = store.job(job)
        data = zip_gold(store, row, check_choice("format", format, FORMATS))
        return Response(data, media_type="application/zip", headers=attachment(f"gold-{row.id}.zip"))

    @pages.get("/files/{file}/differences")
    def differences(request: Request, file: str) -> Response:
        """Show the differences between the readings of two reviewers, each with buttons to decide on it."""
        row = store.file(file)
        text = read_text(store, row)
        shown = [describe(text, one) for one in find_differences(store, row)]
        return render(request, "differences", file=show_file(row), differences=shown)

    @pages.post("/files/{file}/differences")
    def decide(
        file: str, start: Annotated[int, Form()], end: Annotated[int, Form()], take: Annotated[int, Form()]
    ) -> Response:
        """Adjudicate a difference."""
        adjudicate(store, file, start, end, take)
        return RedirectResponse(f"/files/{file}/differences#at-{start}", 303)


def list_files(store: Store, job: str) -> tuple[list[dict[str, Any]], Cells]:
    """List the files of a job with the progress of both reviewers and their agreement.

    RETURNS (tuple[list[dict], Counter]): the files, with "kappa", "differences" and "left" if both have finished; and
        the counts of `count_cells` over all of these.
    """
    total: Cells = Counter()
    rows = []
    for file in store.files(job):
        row = show_file(file)
        if has_two_readings(file):
            cells = count_cells(read_text(store, file), *read_readings(store, file))
            total += cells
            found = find_differences(store, file)
            row |= {"kappa": shorten(cells), "differences": len(found), "left": sum(not one.taken for one in found)}
        if row["state"] == "done":
            rows.append(row)
    return rows, total


def shorten(cells: Cells) -> str:
    """Format Cohen's kappa; "1.000" if both readings are the same although it is not defined, "" without units."""
    kappa = find_kappa(cells)
    if not math.isnan(kappa):
        return f"{kappa:.3f}"
    return "1.000" if cells else ""


def describe(text: str, one: Difference) -> dict[str, Any]:
    """Describe a difference for the page, with the text around it."""
    readings = []
    for side in (one.first, one.second):
        pieces = []
        for entity in side:
            words = text[entity.start : entity.end]
            pieces.append({"text": words, "label": entity.label, "kind": kind_of(entity.label)})
        readings.append(pieces)
    return {
        "start": one.start,
        "end": one.end,
        "before": text[max(0, one.start - CONTEXT) : one.start],
        "text": text[one.start : one.end],
        "after": text[one.end : one.end + CONTEXT],
        "readings": readings,
        "taken": one.taken,
    }
