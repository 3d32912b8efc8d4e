"""Evaluate pipelines on the authored development and test notes, by genre, difficulty, country and label.

    python -m benchmarks.authored baseline corpus/authored [--lang en] [--point balanced]
    python -m benchmarks.authored agreement corpus/authored
    python -m benchmarks.authored variety corpus/authored --assets corpus

Only letters and digits count, whatever the label under which they are found. *Direct* identifiers are names, numbers,
contacts, streets, postal codes and dates; the others (*quasi*: ages, professions, institutions, places) identify
together. Words of sex and kinship do not count as found, because the default policy keeps them. A note is *clean* if
it has identifiers and no direct one keeps a letter or digit. An *alarm* is a found span in a note without identifiers.

Half of the notes on which operating points are fitted are the development notes. The test notes were written last, by
other authors; nothing is fitted on them, and nobody who writes rules or lists reads them.

``agreement`` compares the notes with a second reading of the same texts (second/LANG.jsonl), by readers who did not
see the marks: agreement of characters is F1 of the covered letters and digits, agreement of labels is the share of
the characters covered by both that have the same label.

``variety`` compares the training notes with open notes: MTSamples, E3C and notes of visits in English, E3C and NUBes
in Spanish. The type-token ratio is the mean over stretches of 500 words; a heading is a line that ends with a colon,
or the words before a colon at the start of a line.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import srsly
import typer

import spacy_deid
from spacy_deid import Deidentifier
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.counts import alphanumeric_mask, coverage_mask
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.policies import load_policy
from spacy_deid.synth.authored import NAMES, AuthoredNote, read_authored
from spacy_deid.synth.carriers import read_carriers

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

QUASI = frozenset(
    "AGE PROFESSION HOSPITAL HEALTH_CENTER DEPARTMENT ORGANIZATION CITY STATE COUNTRY LOCATION_OTHER OTHER".split()
)
POINTS = ("balanced", "high_recall")
LANGUAGES = ("en", "es", "fi")
OPEN_NOTES = ("en", "es")  # languages with open clinical notes
Brief = Mapping[str, str]
Better = Literal["higher", "lower"]
# figure → its numerator and denominator in `Tally.counts`, and the better direction
FIGURES: dict[str, tuple[str, str, Better]] = {
    "direct recall": ("direct found", "direct", "higher"),
    "recall of names": ("names found", "names", "higher"),
    "quasi recall": ("quasi found", "quasi", "higher"),
    "precision": ("right", "found", "higher"),
    "clean notes": ("clean", "due", "higher"),
    "alarms per note without identifiers": ("alarms", "quiet", "lower"),
}
FEWEST = 5  # notes of a group that gets figures of its own
SPLITS = {"dev": "authored notes", "test": "unread notes"}  # split → name in detection_LANG.json
# (operating point, figure) → target
TARGETS = {
    ("balanced", "direct recall"): 0.97,
    ("balanced", "precision"): 0.93,
    ("balanced", "clean notes"): 0.6,
    ("balanced", "alarms per note without identifiers"): 1.5,
    ("high_recall", "direct recall"): 0.985,
    ("high_recall", "precision"): 0.87,
}
Folder = Annotated[Path, typer.Argument(help="Folder of the authored corpus.")]
Metrics = Annotated[Path, typer.Option(help="File of the metric rows.")]


def read_briefs(folder: Path, lang: str) -> dict[tuple[str, int], Brief]:
    """Read the briefs of a language. RETURNS (dict): (brief, number of the note) → columns of the table."""
    with (folder / "briefs" / f"{lang}.csv").open(encoding="utf8", newline="") as file:
        return {(row["brief"], int(row["note"])): row for row in csv.DictReader(file)}


def read_second(path: Path) -> Iterator[tuple[str, tuple[Entity, ...]]]:
    """Read a second reading: one JSON object per note with "name" and "entities" (start, end, label).

    YIELDS (tuple[str, tuple[Entity, ...]]): name of a note, and its entities.
    """
    for row in srsly.read_jsonl(path):
        yield row["name"], tuple(Entity(*entity) for entity in row["entities"])


class Tally:
    """Counts of letters and digits, and of notes.

    counts (dict[str, int]): "direct", "names" and "quasi" due, with " found" the covered ones; "found" and "right" for
        precision; "due" and "clean" notes; "quiet" notes without identifiers and "alarms" in them.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = defaultdict(int)

    def add(self, gold: AnnotatedText, found: Sequence[Entity]) -> None:
        """Count a note."""
        size, letters = len(gold.text), alphanumeric_mask(gold.text)
        marked, all_gold = coverage_mask(found, size) & letters, coverage_mask(gold.entities, size) & letters
        kinds = {
            "direct": [e for e in gold.entities if e.label not in QUASI],
            "names": [e for e in gold.entities if e.label in NAMES],
            "quasi": [e for e in gold.entities if e.label in QUASI],
        }
        for kind, entities in kinds.items():
            mask = coverage_mask(entities, size) & letters
            self.counts[kind] += int(mask.sum())
            self.counts[f"{kind} found"] += int((mask & marked).sum())
        direct = coverage_mask(kinds["direct"], size) & letters
        self.counts["found"] += int(marked.sum())
        self.counts["right"] += int((marked & all_gold).sum())
        self.counts["due"] += bool(gold.entities)
        self.counts["clean"] += bool(gold.entities) and not (direct & ~marked).any()
        self.counts["quiet"] += not gold.entities
        self.counts["alarms"] += 0 if gold.entities else len(found)

    @property
    def notes(self) -> int:
        """Number of notes counted."""
        return self.counts["due"] + self.counts["quiet"]

    def figures(self) -> Iterator[tuple[str, float, Better]]:
        """Yield name, value and direction of the figures that are defined."""
        for name, (part, whole, better) in FIGURES.items():
            if self.counts[whole]:
                yield name, self.counts[part] / self.counts[whole], better


def slices(note: AuthoredNote, brief: Brief) -> Iterator[str]:
    """Yield the groups that a note belongs to: all notes, its country, kind, difficulty and genre."""
    yield ""
    yield f"country {brief['region'].partition(',')[0]}" if "," in brief["region"] else f"region {brief['region']}"
    yield f"kind {brief['kind']}"
    if brief["difficulty"]:
        yield f"difficulty {brief['difficulty']}"
    yield f"genre {brief['genre']}"


def measure(
    notes: Sequence[AuthoredNote], found: Iterable[Sequence[Entity]], briefs: Mapping[tuple[str, int], Brief]
) -> tuple[dict[str, Tally], dict[str, list[int]]]:
    """Count the notes of all groups, and the letters and digits of each label.

    RETURNS (tuple): group → tally; label → letters and digits due, and covered ones.
    """
    groups: dict[str, Tally] = defaultdict(Tally)
    labels: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for note, entities in zip(notes, found, strict=True):
        gold = note.annotated()
        for group in slices(note, briefs[note.brief, note.number]):
            groups[group].add(gold, entities)
        letters = alphanumeric_mask(gold.text)
        marked = coverage_mask(entities, len(gold.text)) & letters
        for entity in gold.entities:
            part = np.s_[entity.start : entity.end]
            labels[entity.label][0] += int(letters[part].sum())
            labels[entity.label][1] += int(marked[part].sum())
    return groups, labels


@app.command()
def baseline(
    context: typer.Context,
    folder: Folder,
    lang: Annotated[list[str] | None, typer.Option(help="Languages; all by default.")] = None,
    point: Annotated[list[str] | None, typer.Option(help="Operating points; both by default.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Splits: dev and test; both by default.")] = None,
    metrics: Metrics = Path("metrics/authored.json"),
) -> None:
    """Evaluate the included pipelines on the development and test notes.

    The figures of all notes together are also written to detection_LANG.json, with their targets.
    """
    command, rows = command_line("benchmarks.authored baseline", context), list[MetricRow]()
    replaces, today = load_policy("strict").replaces, date.today().isoformat()
    summaries: dict[str, list[MetricRow]] = defaultdict(list)
    for code, name in product(lang or LANGUAGES, point or POINTS):
        deid, briefs = Deidentifier(spacy_deid.load(code), operating_point=name), read_briefs(folder, code)
        for part in split or SPLITS:
            notes = read_authored(folder / code / part)
            results = deid.detect([note.text for note in notes])
            found = [[Entity(*e[:3]) for e in result.entities if replaces(e[2])] for result in results]
            groups, labels = measure(notes, found, briefs)
            figures: list[tuple[str, float, Better]] = [
                (f"{title}, {group}" if group else title, value, better)
                for group, tally in sorted(groups.items())
                if tally.notes >= FEWEST
                for title, value, better in tally.figures()
            ]
            figures += [
                (f"recall of {label}", covered / due, "higher") for label, (due, covered) in sorted(labels.items())
            ]
            stamp = (f"authored {code}", part, command, today)
            for title, value, better in figures:
                row = MetricRow(f"{name}: {title}", round(value, 5), None, better, *stamp)
                rows.append(row)
                if title in FIGURES:
                    target = TARGETS.get((name, title))
                    summaries[code].append(replace(row, name=f"{SPLITS[part]}, {name}, {title}", target=target))
            shown = ", ".join(f"{title} {value:.3f}" for title, value, _ in groups[""].figures())
            typer.echo(f"{code} {name}, {len(notes)} {part} notes: {shown}")
    replace_rows(metrics, rows)
    for code, summary in summaries.items():
        replace_rows(metrics.with_name(f"detection_{code}.json"), summary)


@app.command()
def variety(
    context: typer.Context,
    folder: Folder,
    assets: Annotated[Path, typer.Option(help="Folder of the open corpora.")] = Path("corpus"),
    metrics: Metrics = Path("metrics/authored_variety.json"),
) -> None:
    """Compare the variety of words and headings with that of open notes."""
    command, rows, today = (
        command_line("benchmarks.authored variety", context),
        list[MetricRow](),
        date.today().isoformat(),
    )
    for code in LANGUAGES:
        texts = {f"authored {code}": [note.annotated().text for note in read_authored(folder / code / "train")]}
        if code in OPEN_NOTES:
            texts[f"open notes {code}"] = [text for _, text in read_carriers(assets, code)]
        for data, notes in texts.items():
            words = [word.casefold() for text in notes for word in re.findall(r"[^\W\d_]+", text)]
            stretches = [words[i : i + 500] for i in range(0, len(words) - 499, 500)]
            headings = [match.casefold() for text in notes for match in re.findall(r"(?m)^([^\n:]{3,40}):", text)]
            figures = {
                "type-token ratio of 500 words": float(np.mean([len(set(part)) / 500 for part in stretches])),
                "headings per note": len(headings) / len(notes),
                "share of headings that occur once": Counter(Counter(headings).values())[1] / max(1, len(headings)),
            }
            rows += [
                MetricRow(name, round(value, 4), None, "higher", data, "train", command, today)
                for name, value in figures.items()
            ]
            typer.echo(f"{data}, {len(notes)} notes: " + ", ".join(f"{k} {v:.3f}" for k, v in figures.items()))
    replace_rows(metrics, rows)


@app.command()
def agreement(
    context: typer.Context, folder: Folder, metrics: Metrics = Path("metrics/authored_agreement.json")
) -> None:
    """Compare the notes with their second reading."""
    command, rows = command_line("benchmarks.authored agreement", context), list[MetricRow]()
    for code in LANGUAGES:
        first = {note.name: note.annotated() for note in read_authored(folder / code)}
        second = dict(read_second(folder / "second" / f"{code}.jsonl"))
        both: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])  # label → first, second, both
        same = shared = 0
        for name, entities in second.items():
            note = first[name]
            mine, theirs = _labels(note), _labels(replace(note, entities=entities))
            for a, b in zip(mine, theirs, strict=True):
                for label in {a, b} - {""}:
                    counts = both[label]
                    counts[0] += a == label
                    counts[1] += b == label
                    counts[2] += a == b
                counts = both[""]
                counts[0] += a != ""
                counts[1] += b != ""
                counts[2] += a != "" and b != ""
                shared += a != "" and b != ""
                same += a != "" and a == b
        today = date.today().isoformat()
        agreed: list[tuple[str, float, float | None]] = [
            ("agreement of characters, F1", _f1(both.pop("")), 0.97),
            ("agreement of labels", same / shared, 0.95),
        ]
        agreed += [
            (f"agreement of characters, F1, {label}", _f1(counts), None) for label, counts in sorted(both.items())
        ]
        rows += [
            MetricRow(title, round(value, 5), target, "higher", f"authored {code}", "second reading", command, today)
            for title, value, target in agreed
        ]
        rows.append(
            MetricRow(
                "notes read twice", len(second), None, "higher", f"authored {code}", "second reading", command, today
            )
        )
        typer.echo(f"{code}, {len(second)} notes: characters {agreed[0][1]:.3f}, labels {agreed[1][1]:.3f}")
    replace_rows(metrics, rows)


@app.command()
def counts(context: typer.Context, folder: Folder, metrics: Metrics = Path("metrics/authored_counts.json")) -> None:
    """Count notes, genres, specialties, institutions and lengths."""
    command, rows = command_line("benchmarks.authored counts", context), list[MetricRow]()
    for code in LANGUAGES:
        notes, briefs = read_authored(folder / code), read_briefs(folder, code)
        own = [briefs[note.brief, note.number] for note in notes]
        words = np.array([len(note.text.split()) for note in notes])
        figures: list[tuple[str, float, int | None]] = [
            ("training notes", sum(note.split == "train" for note in notes), 400),
            ("development notes", sum(note.split == "dev" for note in notes), 100),
            ("test notes", sum(note.split == "test" for note in notes), None),
            ("genres", len({row["genre"] for row in own}), 25),
            ("specialties", len({row["specialty"] for row in own}), 25),
            ("institutions", len({note.fields["institution"] for note in notes}), 60),
            ("identifiers", sum(len(note.marks) for note in notes), None),
            ("share of notes under 80 words", float((words < 80).mean()), None),
            ("share of notes above 600 words", float((words > 600).mean()), None),
            ("share of notes without identifiers", float(np.mean([not note.marks for note in notes])), None),
        ]
        today = date.today().isoformat()
        rows += [
            MetricRow(title, round(value, 5), target, "higher", f"authored {code}", "all", command, today)
            for title, value, target in figures
        ]
        typer.echo(f"{code}: " + ", ".join(f"{title} {value:.4g}" for title, value, _ in figures))
    replace_rows(metrics, rows)


def _labels(note: AnnotatedText) -> list[str]:
    """Return the label of each letter and digit of a note, "" for none."""
    labels = [""] * len(note.text)
    for entity in note.entities:
        labels[entity.start : entity.end] = [entity.label] * (entity.end - entity.start)
    return [label for label, char in zip(labels, note.text, strict=True) if char.isalnum()]


def _f1(counts: Sequence[int]) -> float:
    """Return F1 of the characters of two readers."""
    first, second, both = counts
    return 2 * both / (first + second)


if __name__ == "__main__":
    app()
