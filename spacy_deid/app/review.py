"""Applies the decisions of reviewers to the findings of a file: to one span or to all occurrences, with undo.

A decision changes the stored findings at once. The released copy follows when the decisions are applied; until then
`preview_edits` shows what it will be. A span that a reviewer has looked at is *seen*; a file whose review is finished
is *reviewed*. Any later decision on the file ends this state.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ..errors import Errors, InputError
from ..labels import LABELS
from ..offsets import Edit
from ..surrogates.mention import Mention, number_entities
from .api import apply_review, findings_of
from .processing import apply_decision, change_span, decision_rows, is_identifier
from .settings import check_choice
from .store import FileRow, Store

MOST_LINKED = 3_000
"""Number of spans from which on occurrences are found by equal words only, not by the names of persons."""
MOST_UNDO = 100
"""Number of decisions on a file that can be undone."""

Spans = Sequence[dict[str, Any]]
Place = tuple[int, int]


class Change(BaseModel):
    """A reviewer's decision in the browser.

    action (str): "agree" marks spans as seen; "release", "restore", "relabel" and "add" as `apply_decision`; "undo"
        takes back the last decision; "warnings" confirms that the warnings of the file were checked; "finish" and
        "reopen" set and clear the state *reviewed* of the file.
    start, end (int): characters of the span.
    label (str): canonical label, for "relabel" and "add".
    everywhere (bool): whether the decision applies to all occurrences of the person or value.
    sure (bool): whether to finish although some spans were not seen.
    reviewer (int): 1, or 2 for the second reviewer of a file, who works on findings of their own.
    part (int): the part of the text that the browser shows.
    """

    model_config = ConfigDict(extra="forbid")

    action: Literal["agree", "release", "restore", "relabel", "add", "undo", "warnings", "finish", "reopen"]
    start: int = 0
    end: int = 0
    label: str = ""
    everywhere: bool = False
    sure: bool = False
    reviewer: Literal[1, 2] = 1
    part: int = 1


def read_text(store: Store, file: FileRow, part: str = "text") -> str:
    """Return a stored text of a file, "text" or "released_text"; "" if there is none."""
    return (store.get(file.id, part) or b"").decode("utf-8", "surrogatepass")


def read_findings(store: Store, file: FileRow, reviewer: int = 1) -> dict[str, Any]:
    """Return the findings of a file as a reviewer sees them.

    reviewer (int): 1 for the findings that are released; 2 for those of the second reviewer, who starts from what
        the detectors found and does not see the decisions of the first.
    RAISES: InputError as `findings_of`.
    """
    found = findings_of(store, file)
    if reviewer == 1:
        return found
    stored = store.get(file.id, "second") or store.get(file.id, "detected")
    second: dict[str, Any] = json.loads(stored) if stored else found
    return second


def change_file(store: Store, id: str, change: Change) -> FileRow:
    """Carry out a decision of a reviewer and log it.

    id (str): id of the file.
    RETURNS (FileRow): the file afterwards.
    RAISES: InputError as `findings_of` and `apply_decision`; if there is nothing to undo (D945), or if the review
        cannot be finished because warnings (D946) or spans (D947) were not checked.
    """
    # the lock keeps other requests from changing the findings between reading and writing
    with store.queue.lock:
        file = store.file(id)
        found = read_findings(store, file, change.reviewer)
        if change.action == "warnings":
            store.update(file.id, checked=list(file.about.get("warnings", ())))
            store.log(file, "warnings", 0, 0, "")
        elif change.action in ("finish", "reopen"):
            _finish(store, file, found, change)
        else:
            _decide(store, file, found, change)
        return store.file(id)


def _finish(store: Store, file: FileRow, found: Mapping[str, Any], change: Change) -> None:
    """Set or clear the state *reviewed* of a file. Decisions of the first reviewer are applied with it."""
    if change.action == "finish":
        if unchecked_warnings(file):
            raise InputError(Errors.D946.format(count=len(file.about["warnings"])))
        unseen = sum(not span.get("seen") for span in found["spans"])
        if unseen and not change.sure:
            raise InputError(Errors.D947.format(count=unseen))
    store.update(file.id, **{state_name(change.reviewer): change.action == "finish"})
    store.log(file, change.action, 0, 0, "")
    if change.action == "finish" and change.reviewer == 1 and file.about.get("open"):
        apply_review(store, file.id)


def read_applied(store: Store, file: FileRow) -> list[list[Any]] | None:
    """Return the `decision_rows` that the released copy of a file has; None if they are unknown."""
    rows: list[list[Any]] | None = json.loads(store.get(file.id, "applied") or b"null")
    return rows


def state_name(reviewer: int) -> str:
    """Return the name of the fact that says whether a reviewer has finished a file."""
    return "reviewed" if reviewer == 1 else "second_reviewed"


def unchecked_warnings(file: FileRow) -> bool:
    """Whether a file has warnings that no reviewer has confirmed."""
    warnings = list(file.about.get("warnings", ()))
    return bool(warnings) and file.about.get("checked") != warnings


def _decide(store: Store, file: FileRow, found: dict[str, Any], change: Change) -> None:
    """Change the findings by a decision or by undoing one, and log it."""
    text, spans = read_text(store, file), found["spans"]
    undo_part, findings_part = ("undo", "findings") if change.reviewer == 1 else ("undo_second", "second")
    history = json.loads(store.get(file.id, undo_part) or b"[]")
    if change.action == "undo":
        if not history:
            raise InputError(Errors.D945)
        made = history.pop()
        changed = undo_spans(spans, made["before"], made["after"])
        places = [(span["start"], span["end"]) for span in made["before"] or made["after"]]
        label = ""
    else:
        places = chosen_places(text, spans, change)
        changed = decide_spans(spans, change.action, places, change.label, len(text))
        label = change.label if change.action in ("relabel", "add") else ""
        wanted = set(places)
        history.append(
            {
                "before": [span for span in spans if (span["start"], span["end"]) in wanted],
                "after": [span for span in changed if (span["start"], span["end"]) in wanted],
            }
        )
    found["spans"] = changed
    store.put(file.id, undo_part, json.dumps(history[-MOST_UNDO:]).encode())
    store.put(file.id, findings_part, json.dumps(found).encode())
    for start, end in places:
        store.log(file, change.action, start, end, label)
    about: dict[str, Any] = {}
    if change.reviewer == 1:
        decided = decision_rows(changed) != read_applied(store, file)
        about["open"] = int(file.about.get("open", 0)) + (change.action != "agree") if decided else 0
        about["seen"] = sum(bool(span.get("seen")) for span in changed)
    if change.action != "agree":
        about[state_name(change.reviewer)] = False
    store.update(file.id, **about)


def decide_spans(spans: Spans, action: str, places: Sequence[Place], label: str, length: int) -> list[dict[str, Any]]:
    """Apply a decision to several spans.

    spans (Sequence[dict]): the spans of a text in order.
    action (str): "agree", or an action of `apply_decision`.
    places (Sequence[tuple[int, int]]): start and end of each span to decide on.
    label (str): canonical label, for "relabel" and "add".
    length (int): length of the text in characters.
    RETURNS (list[dict]): the new spans. Spans with a decision are seen.
    RAISES: as `apply_decision`.
    """
    if action == "add":
        changed = list(spans)
        for start, end in places:
            changed = apply_decision(changed, "add", start, end, label, length)
        added = set(places)
        return [{**span, "seen": True} if (span["start"], span["end"]) in added else span for span in changed]
    wanted = set(places)
    missing = wanted - {(span["start"], span["end"]) for span in spans}
    if missing or not wanted:
        start, end = min(missing, default=(0, 0))
        raise InputError(Errors.D910.format(start=start, end=end))
    if action == "relabel":
        check_choice("label", label, LABELS)
    changed = []
    for span in spans:
        if (span["start"], span["end"]) not in wanted:
            changed.append(span)
            continue
        new = dict(span) if action == "agree" else change_span(span, action, label)
        if new is not None:
            if action == "restore":
                new.pop("seen", None)
            else:
                new["seen"] = True
            changed.append(new)
    return changed


def undo_spans(spans: Spans, before: Spans, after: Spans) -> list[dict[str, Any]]:
    """Take back a decision.

    spans (Sequence[dict]): the current spans.
    before, after (Sequence[dict]): the spans concerned, before and after the decision.
    RETURNS (list[dict]): the spans as they were before.
    RAISES: InputError (D945) if the spans were changed otherwise since.
    """
    known = {(span["start"], span["end"]): span for span in spans}
    if any(known.get((span["start"], span["end"])) != span for span in after):
        raise InputError(Errors.D945)
    for span in after:
        del known[span["start"], span["end"]]
    if any((span["start"], span["end"]) in known for span in before):
        raise InputError(Errors.D945)
    return sorted([*known.values(), *before], key=lambda span: int(span["start"]))


def chosen_places(text: str, spans: Spans, change: Change) -> list[Place]:
    """Return the places that a decision applies to: the span itself, and all its occurrences if these are asked for.

    text (str): the original text.
    spans (Sequence[dict]): its spans in order.
    """
    place = (change.start, change.end)
    if not change.everywhere:
        return [place]
    if change.action == "add":
        return [place, *other_occurrences(text, spans, *place)]
    numbers = link_spans(text, spans)
    mine = next((numbers[i] for i, span in enumerate(spans) if (span["start"], span["end"]) == place), None)
    found = [(span["start"], span["end"]) for number, span in zip(numbers, spans, strict=True) if number == mine]
    return found if mine is not None else [place]


def other_occurrences(text: str, spans: Spans, start: int, end: int) -> list[Place]:
    """Find the other places of a text where the same words occur and nothing was found yet.

    start, end (int): characters of the words.
    """
    wanted = text[start:end].strip()
    if not wanted:
        return []
    words = r"\s+".join(map(re.escape, wanted.split()))
    taken = iter(sorted([(span["start"], span["end"]) for span in spans] + [(start, end)]))
    covered = next(taken, None)
    found = []
    for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
        while covered and covered[1] <= match.start():
            covered = next(taken, None)
        if not covered or match.end() <= covered[0]:
            found.append(match.span())
    return found


def link_spans(text: str, spans: Spans) -> list[int]:
    """Number the persons and values that spans name; spans of one person have the same number.

    text (str): the original text.
    spans (Sequence[dict]): its spans in order.
    RETURNS (list[int]): a number for each span.
    """
    mentions = [Mention(text[span["start"] : span["end"]], span["label"]) for span in spans]
    if len(spans) <= MOST_LINKED:
        return number_entities(mentions)
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault((one.label, one.text.casefold()), len(numbers) + 1) for one in mentions]


def preview_edits(spans: Spans, applied: Sequence[Sequence[Any]] | None, released: str) -> Iterator[Edit]:
    """Yield the edits that the copy will have when the decisions are applied.

    spans (Sequence[dict]): the spans of the findings.
    applied (Optional[Sequence]): see `read_applied`.
    released (str): the released text, as it was last written.
    YIELDS (Edit): the edits in order. A replacement that only applying can make is shown as the tag of its label.
    """
    known = {tuple(row) for row in applied or ()}
    for span, row in zip(spans, decision_rows(spans), strict=True):
        if not is_identifier(span):
            continue
        if tuple(row) not in known or "released" not in span:
            yield Edit(span["start"], span["end"], span["label"], f"[{span['label']}]")
        elif span["action"] != "keep":
            start, end = span["released"]
            yield Edit(span["start"], span["end"], span["label"], released[start:end])
