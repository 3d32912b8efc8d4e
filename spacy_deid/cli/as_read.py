"""Notes are searched as a person reads them, and released with everything else as it was written."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..documents.visible_text import VisibleText
from ..offsets import apply_edits, map_offsets
from ..vault.vault import changes_from_edits
from .review import Proposed

if TYPE_CHECKING:
    from .redaction import Released

__all__ = ["as_written"]


def as_written(reading: VisibleText, released: "Released") -> "Released":
    """Carry what was done in the reading of a note over to the note.

    reading (VisibleText): what `read_as_seen` gave for the note.
    released (Released): what the pipeline made of the reading.
    RETURNS (Released): with text, offsets and undoing of the note.
    """
    edits = reading.raw_edits(released.edits)
    undoing = released.undoing
    if undoing.changes:
        undoing = undoing._replace(changes=changes_from_edits(reading.raw, edits))
    review = [_moved(row, reading) for row in released.review.rows]
    for row in review:
        row["released"] = map_offsets(edits, [row["start"], row["end"]], len(reading.raw))
    return replace(
        released,
        text=apply_edits(reading.raw, edits),
        edits=tuple(edits),
        trace=[_moved(row, reading) for row in released.trace],
        review=Proposed(released.review.words, review),
        undoing=undoing,
    )


def _moved(row: dict[str, Any], reading: VisibleText) -> dict[str, Any]:
    """A row of a trace with offsets of the note, also in its evidence."""
    start, end = reading.raw_span(row["start"], row["end"])
    moved = {**row, "start": start, "end": end}
    if "evidence" in row:
        moved["evidence"] = [_moved(item, reading) for item in row["evidence"]]
    return moved
