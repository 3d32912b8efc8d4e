"""Count and list what was missed, by category of identifier and by risk level.

The categories are defined in ``resources/risk_levels.json``, with their source and a reason for each level.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from .counts import Mask, alphanumeric_mask, coverage_mask, find_words
from .documents import AnnotatedText, Entity, pair_documents

LEVELS = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Category:
    """A category of identifiers with its risk level, as a privacy board groups them.

    name (str): name of the category.
    risk (str): "high", "medium" or "low".
    labels (tuple[str, ...]): canonical labels.
    reason (str): reason for the risk level.
    """

    name: str
    risk: str
    labels: tuple[str, ...]
    reason: str


@cache
def _table() -> dict[str, Any]:
    """Load the file of categories."""
    text = (files("spacy_deid") / "resources" / "risk_levels.json").read_text(encoding="utf8")
    table: dict[str, Any] = json.loads(text)
    return table


def load_categories() -> tuple[Category, ...]:
    """Return the categories, those of high risk first."""
    rows = _table()["categories"]
    return tuple(Category(row["name"], row["risk"], tuple(row["labels"]), row["reason"]) for row in rows)


def source() -> str:
    """Return the source of the categories and their levels."""
    return str(_table()["source"])


def category_of(label: str) -> Category:
    """Return the category of a canonical label."""
    return next(category for category in load_categories() if label in category.labels)


def count_misses(gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText]) -> dict[str, Any]:
    """Count missed identifiers; an identifier that was found under another label is not missed.

    A word is missed if none of its letters and digits is covered. An entity is missed partly if one of them is not
    covered, and wholly if none is.

    gold, pred (Sequence[AnnotatedText]): the same documents.
    RETURNS (dict): "categories", one row each with "words", "missed_words", "entities", "missed_entities" (partly or
        wholly), "wholly_missed", "documents" (with a miss) and "per_1000_notes" (missed entities per 1,000 notes); and
        "levels", the sums by risk level and in total. Plain numbers without text or names.
    RAISES: InputError if the two sides cannot be paired (D308–D310).
    """
    pairs = pair_documents(gold, pred)
    counts = {category.name: np.zeros(5, dtype=np.int64) for category in load_categories()}
    notes: dict[str, set[str]] = {category.name: set() for category in load_categories()}
    for one, other in pairs:
        letters, got = alphanumeric_mask(one.text), coverage_mask(other.entities, len(one.text))
        for entity in one.entities:
            name = category_of(entity.label).name
            row = _count(one.text, entity, letters, got)
            counts[name] += row
            if row[3]:
                notes[name].add(one.name)
    rows = [
        {"name": c.name, "risk": c.risk, "reason": c.reason, **_row(counts[c.name], notes[c.name], len(pairs))}
        for c in load_categories()
    ]
    levels = {level: [c.name for c in load_categories() if c.risk == level] for level in LEVELS} | {
        "all": list(counts)
    }
    added = {level: _row(_sum(counts, names), _union(notes, names), len(pairs)) for level, names in levels.items()}
    return {"notes": len(pairs), "categories": rows, "levels": added, "source": source()}


def _count(text: str, entity: Entity, letters: Mask, got: Mask) -> list[int]:
    """Count words, missed words, entities, missed entities and wholly missed entities of an entity."""
    words = find_words(text, entity.start, entity.end)
    part = slice(entity.start, entity.end)
    due, covered = letters[part], (letters & got)[part]
    counts = bool(due.any())
    partly, wholly = counts and bool((due & ~covered).any()), counts and not covered.any()
    missed = sum(not got[start:end].any() for start, end in words)
    return [len(words), missed, int(counts), int(partly), int(wholly)]


def _sum(counts: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Sum the counts of several categories."""
    return sum((counts[name] for name in names), start=np.zeros(5, dtype=np.int64))


def _union(notes: Mapping[str, set[str]], names: Sequence[str]) -> set[str]:
    """Return the documents with a miss in any of several categories."""
    return set().union(*(notes[name] for name in names))


def _row(counts: Any, notes: set[str], documents: int) -> dict[str, Any]:
    """Compute the figures of a row."""
    words, missed, entities, partly, wholly = counts.tolist()
    return {
        "words": words,
        "missed_words": missed,
        "word_recall": None if not words else round(1 - missed / words, 5),
        "entities": entities,
        "missed_entities": partly,
        "wholly_missed": wholly,
        "documents": len(notes),
        "per_1000_notes": round(1000 * partly / documents, 2) if documents else None,
    }


def list_misses(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText], around: int = 60
) -> list[dict[str, str]]:
    """Quote what was missed with its context. The result is note text and as confidential as the notes.

    gold, pred (Sequence[AnnotatedText]): the same documents.
    around (int): number of characters of context on each side.
    RETURNS (list[dict]): "name" of the document, "label", "category", "risk", "before", "missed", "after"; high risk
        first.
    """
    found = []
    for one, other in pair_documents(gold, pred):
        letters, got = alphanumeric_mask(one.text), coverage_mask(other.entities, len(one.text))
        for e in one.entities:
            if _count(one.text, e, letters, got)[3]:
                category = category_of(e.label)
                where = {"name": one.name, "label": e.label, "category": category.name, "risk": category.risk}
                before, after = one.text[max(0, e.start - around) : e.start], one.text[e.end : e.end + around]
                found.append({**where, "before": before, "missed": one.text[e.start : e.end], "after": after})
    return sorted(found, key=lambda row: (LEVELS.index(row["risk"]), row["category"], row["name"]))
