"""Compares the readings of two reviewers of a file, and applies the decisions of a third person on their differences.

The first reviewer works on the findings that are released, the second on findings of their own. Their readings are
compared as they were before the adjudication. A *difference* is a region of the text in which the identifiers of the
two readings are not the same.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from ..evaluation.documents import Entity
from .api import findings_of
from .processing import decision_rows
from .results import list_entities
from .review import read_applied
from .store import FileRow, Store

Cells = Counter[tuple[str, str]]


class Difference(NamedTuple):
    """A region in which two readings differ.

    start, end (int): characters of the region.
    first, second (tuple[Entity]): the identifiers of each reviewer in it.
    taken (int): 1 or 2, the reading that was adjudicated to be right; 0 if that is open.
    """

    start: int
    end: int
    first: tuple[Entity, ...]
    second: tuple[Entity, ...]
    taken: int


def has_two_readings(file: FileRow) -> bool:
    """Whether two reviewers have finished a file, so that their readings can be compared."""
    compared = file.about.get("adjudicating") or (file.about.get("reviewed") and file.about.get("second_reviewed"))
    return file.state == "done" and file.task is None and bool(compared)


def read_readings(store: Store, file: FileRow) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the spans of the two readings of a file before the adjudication.

    RAISES: InputError as `findings_of`; D949 if there are no two readings.
    """
    found = findings_of(store, file)
    second = store.get(file.id, "second")
    if not second or not has_two_readings(file):
        raise InputError(Errors.D949)
    first = json.loads(store.get(file.id, "first") or b"null") or found
    return first["spans"], json.loads(second)["spans"]


def find_differences(store: Store, file: FileRow) -> list[Difference]:
    """Find the differences between the readings of a file, in order. RAISES: as `read_readings`."""
    first, second = map(list_entities, read_readings(store, file))
    taken = {tuple(row[:2]): row[2] for row in json.loads(store.get(file.id, "adjudicated") or b"[]")}
    differences = []
    for start, end in join_places((*first, *second)):
        one, two = (tuple(e for e in side if start <= e.start and e.end <= end) for side in (first, second))
        if one != two:
            differences.append(Difference(start, end, one, two, taken.get((start, end), 0)))
    return differences


def join_places(entities: Iterable[Entity]) -> list[tuple[int, int]]:
    """Join overlapping entities. RETURNS (list[tuple[int, int]]): start and end of each group, in order."""
    places: list[tuple[int, int]] = []
    for start, end in sorted((entity.start, entity.end) for entity in entities):
        if places and start < places[-1][1]:
            places[-1] = (places[-1][0], max(places[-1][1], end))
        else:
            places.append((start, end))
    return places


def count_cells(text: str, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> Cells:
    """Count the letters and digits of a text by the labels that two readings give them, "" for none."""
    readings: list[list[str]] = []
    for spans in (first, second):
        labels = [""] * len(text)
        for entity in list_entities(spans):
            labels[entity.start : entity.end] = [entity.label] * (entity.end - entity.start)
        readings.append(labels)
    triples = zip(text, *readings, strict=True)
    return Counter((one, two) for char, one, two in triples if char.isalnum())


def find_kappa(cells: Mapping[tuple[str, str], int]) -> float:
    """Compute Cohen's kappa (Cohen 1960, A coefficient of agreement for nominal scales).

    cells (Mapping): labels of both reviewers → number of units.
    RETURNS (float): 1 for complete agreement, 0 for that of independent readers; NaN without units, or if both gave
        all units the same label.
    """
    total = sum(cells.values())
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pair, count in cells.items():
        for side, label in zip(sides, pair, strict=True):
            side[label] += count
    expected = sum(count * sides[1][label] for label, count in sides[0].items())
    if not total or expected == total**2:
        return math.nan
    same = sum(count for (one, two), count in cells.items() if one == two)
    return (same * total - expected) / (total**2 - expected)


def adjudicate(store: Store, id: str, start: int, end: int, take: int) -> None:
    """Decide that one of two readings is right in a region. The findings that are released change at once; the
    released copy follows when the decisions are applied.

    id (str): id of the file.
    start, end (int): the region, as in `Difference`.
    take (int): 1 or 2.
    RAISES: InputError as `find_differences`; D949 if there is no such difference.
    """
    with store.queue.lock:
        file = store.file(id)
        found = findings_of(store, file)
        if take not in (1, 2) or not any(one[:2] == (start, end) for one in find_differences(store, file)):
            raise InputError(Errors.D949)
        readings = read_readings(store, file)
        if store.get(file.id, "first") in (None, b""):
            store.put(file.id, "first", json.dumps(found).encode())
        # places in an earlier copy would show wrong text in the preview
        taken = [
            {k: v for k, v in span.items() if k != "released"} for span in _inside(readings[take - 1], start, end)
        ]
        others = [span for span in found["spans"] if span["end"] <= start or end <= span["start"]]
        found["spans"] = sorted([*others, *taken], key=lambda span: int(span["start"]))
        store.put(file.id, "findings", json.dumps(found).encode())
        store.put(file.id, "undo", b"[]")
        decided = [row for row in json.loads(store.get(file.id, "adjudicated") or b"[]") if row[:2] != [start, end]]
        store.put(file.id, "adjudicated", json.dumps([*decided, [start, end, take]]).encode())
        changed = decision_rows(found["spans"]) != read_applied(store, file) or any("released" not in s for s in taken)
        store.update(file.id, adjudicating=True, open=int(file.about.get("open", 0)) + changed)
        store.log(file, f"take {take}", start, end, "")


def _inside(spans: Sequence[dict[str, Any]], start: int, end: int) -> list[dict[str, Any]]:
    """Return the spans that overlap a region."""
    return [span for span in spans if span["start"] < end and start < span["end"]]
