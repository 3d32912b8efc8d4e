"""Measure surrogates on corpora de-identified by their gold, so that errors of detection do not count.

    python -m benchmarks.surrogates corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan
    python -m benchmarks.surrogates corpus/en/test.spacy --lang en --data "synthetic en" --split test
    python -m benchmarks.surrogates corpus/authored/es/dev --lang es --data "authored es" --split dev

- *originals kept*: surrogates equal to the original, ignoring case, accents and the characters that a scan confuses
  ("De1gado" is "Delgado"), and surrogates of persons and towns that contain a damaged word of the original, or one of
  the runs of letters between its digits ("De0soro"). Values that remain true and identify nobody are counted
  separately as *kept because it stays true*: ages up to 89, also in repaired form ("6l"), relative days, weekdays,
  words for relatives and stages of life ("mother", "lactante"), and Spain in Spanish notes, whose towns are there.
- *collisions*: two persons (by full name) or two other values of a label that have the same surrogate in a note. In
  the authored corpus, the writers' keys say whether two spellings ("Hryhorenko", "Grigorenko"; "Bogotá", "Bogotá
  D.C.") are one person or place; *spellings with one surrogate* counts these as well, by the letters alone. Not
  counted are dates and ages, as 90+ and 2019 replace many; ZIP codes, which share three digits by law; countries,
  which have a name in each language; and territories, as a town may have the name of its province. Two spellings of a
  name that differ by a typing error are one person.
- *consistent*: mentions of a person that only contain words of the surrogate of the fullest mention (of any label, or
  of their own label); equal values that have equal surrogates.
- *dates seen*: dates that `date_reader.py`, which shares no code with the package, can read before and after, with
  the same parts (day, month, year, weekday …). A tag is not seen.
- *intervals*: pairs of a full date and another date of a note that can have been moved by the same number of days.
  Dates more than 89 years before the latest one are left out: they are shifted by additional years, so that they
  reveal no age above 90.
- *live ids*: surrogates of identifiers that have the correct check digits of a kind without a range that is set apart
  (`live_identifiers.py` draws every kind).
- *tags*: mentions for which no surrogate could be made.

Two keys are measured after a third one has filled the caches of the lists; rows contain the worse result. Rows are
written to metrics/surrogates.json, without text of notes.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import typer
from rapidfuzz.distance import Levenshtein

from spacy_deid.evaluation import AnnotatedText, read_folder
from spacy_deid.evaluation.gold_surrogates import ReleasedNote, replace_gold
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang.text import fold
from spacy_deid.patterns.validators import get_validator
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import PERSONS, Mention, number_entities
from spacy_deid.surrogates.strategies import FALLBACK, Replacement
from spacy_deid.synth.authored import read_authored

from .date_reader import find_shifts, moved_together

TIMES = frozenset({"DATE", "AGE"})
SHARED = frozenset({"ZIP", "TERRITORY", "COUNTRY"})
CHECKED = {  # validator → labels, because one in ten of any numbers passes Luhn's test
    "dni": {"NATIONAL_ID", "MRN"},
    "nuss": {"INSURANCE_ID"},
    "card": {"ACCOUNT"},
    "iban": {"ACCOUNT"},
    "npi": {"LICENSE"},
    "vin": {"VEHICLE"},
}
KEYS = (bytes(range(32)), bytes(range(100, 132)))
HYPHEN = re.compile(r"-\s*\n[>\s]*")  # in a word that a line end breaks; not the expression of the package
WORD = re.compile(r"[^\W\d_]{2,}")
NAMED = PERSONS | {"CITY"}
LETTERS = re.compile(r"[^\W\d_]{2,}")
SCANNED_WORD = re.compile(r"[^\W_]+(?:[|!][^\W_]+)*")
CONFUSED = str.maketrans("0125689|!i", "olzsgbqlll")
SPEED = 5_000


def aim(name: str) -> tuple[float | None, Literal["higher", "lower"]]:
    """Return target and direction of a figure."""
    if name in ("originals kept", "collisions", "live ids"):
        return 0.0, "lower"
    if name.startswith(("consistent", "intervals")):
        return 1.0, "higher"
    if name == "dates seen":
        return 0.95, "higher"
    return (SPEED, "higher") if name.startswith("entities/s") else (None, "lower")


Owners = Mapping[str, Mapping[tuple[int, int], str]]
"""Name of a note → offsets of a mark → the writers' key of its person, place or institution."""


def is_authored(path: Path) -> bool:
    """Test whether a folder is one of the authored corpus."""
    return path.resolve().parent.parent.name == "authored"


def read_notes(path: Path, scheme: str) -> Iterator[AnnotatedText]:
    """Read a corpus in any format, or a folder of the authored corpus."""
    if is_authored(path):
        return (note.annotated() for note in read_authored(path))
    return iter(read_folder(path, scheme=scheme))


def read_owners(paths: Iterable[Path]) -> Owners:
    """Read the keys of the marks of authored notes."""
    notes = (note for path in paths if is_authored(path) for note in read_authored(path))
    return {note.name: {(mark.start, mark.end): mark.key for mark in note.marks if mark.key} for note in notes}


def release(notes: Sequence[AnnotatedText], lang: str, secret: bytes) -> list[ReleasedNote]:
    """De-identify notes, each as that of another patient."""
    key = ProjectKey(secret)
    return [replace_gold(note, key.patient(note.name), lang) for note in notes]


def count(released: Iterable[ReleasedNote]) -> int:
    """Count the mentions."""
    return sum(len(note.mentions) for note in released)


def measure(released: Sequence[ReleasedNote], lang: str, owners: Owners = MappingProxyType({})) -> dict[str, float]:
    """Compute all figures except speed."""
    tags = Counter(m.label for note in released for m, r in pairs(note) if r.action == FALLBACK)
    figures: dict[str, float] = {
        "originals kept": sum(
            r.action == "replace" and keeps_original(m, r.text) and m.label != "AGE"
            for note in released
            for m, r in pairs(note)
        ),
        "kept because it stays true": sum(
            r.action == "keep" or (m.label == "AGE" and repaired(m.text) == repaired(r.text))
            for note in released
            for m, r in pairs(note)
        ),
        "collisions": sum(len(collisions(note, owners.get(note.document.name, {}))) for note in released),
        "spellings with one surrogate": sum(len(collisions(note)) for note in released),
        "consistent persons": share(flag for note in released for flag in consistent_persons(note)),
        "consistent values": share(flag for note in released for flag in consistent_values(note)),
        "intervals kept": share(flag for note in released for flag in intervals(note, lang)),
        "dates seen": share(flag for note in released for flag in seen(note, lang)),
        "live ids": sum(flag for note in released for flag in validity(note)),
        "share of mentions with a tag": sum(tags.values()) / max(1, count(released)),
    }
    return figures | {f"tags: {label}": number for label, number in sorted(tags.items())}


def pairs(note: ReleasedNote) -> Iterator[tuple[Mention, Replacement]]:
    """Pair the mentions of a note with their replacements."""
    return zip(note.mentions, note.replacements, strict=True)


def keeps_original(mention: Mention, made: str) -> bool:
    """Test whether a surrogate is the original, or contains a damaged word of a name or a piece of one."""
    if repaired(mention.text) == repaired(made):
        return True
    if mention.label not in NAMED:
        return False
    words = [fold(word) for word in SCANNED_WORD.findall(mention.text)]
    damaged = [word for word in words if word not in LETTERS.findall(word) and LETTERS.search(word)]
    kept, runs = repaired(made).split(), set(LETTERS.findall(fold(made)))
    return any(repaired(word) in kept or not runs.isdisjoint(LETTERS.findall(word)) for word in damaged)


def repaired(text: str) -> str:
    """Fold a text and write the characters that a scan confuses as one of them: "De1gado", "DeIgado" → "delgado".

    Words of one or two characters are only folded: the codes "LA" and "IA" are different states.
    """
    words = (word.strip(",.;:-") for word in fold(text).split())
    return " ".join(
        word.translate(CONFUSED).replace("rn", "m").replace("vv", "w")
        if LETTERS.search(word) and len(word) > 2
        else word
        for word in words
    )


def share(flags: Iterable[bool]) -> float:
    """Return the share of true values; 1 if there are none."""
    found = list(flags)
    return sum(found) / len(found) if found else 1.0


def collisions(
    note: ReleasedNote, keys: Mapping[tuple[int, int], str] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Return labels and surrogates that replace two entities.

    note (ReleasedNote): a note with its surrogates.
    keys (Mapping[tuple[int, int], str]): offsets → the writers' key. Values with one key are one entity.
    RETURNS (list[tuple[str, str]]): label and folded surrogate of each collision.
    """
    numbers = number_entities(note.mentions)
    holders: dict[tuple[str, str], dict[int, tuple[str, str]]] = defaultdict(dict)
    for i, ((mention, made), number) in enumerate(zip(pairs(note), numbers, strict=True)):
        named = mention.label in PERSONS
        if made.action != "replace" or mention.label in TIMES | SHARED:
            continue
        if not named or len(WORD.findall(made.text)) > 1:
            key = keys.get((note.entities[i].start, note.entities[i].end), "") if keys else ""
            value = (fold(mention.text), key)
            holders["PERSON" if named else mention.label, fold(made.text)].setdefault(number, value)
    return [value for value, found in holders.items() if any(clash(*two) for two in combinations(found.values(), 2))]


def clash(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Test whether two values, each with its key, are different entities."""
    return not (first[1] and first[1] == second[1]) and differ(first[0], second[0])


def differ(first: str, second: str) -> bool:
    """Test whether two values differ by more than a typing error."""
    return Levenshtein.distance(first, second, score_cutoff=1) > 1


def consistent_persons(note: ReleasedNote) -> Iterator[bool]:
    """For each mention of a person, test whether its words are in the fullest surrogate of any label or of its own
    label.
    """
    groups: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for (mention, made), number in zip(pairs(note), number_entities(note.mentions), strict=True):
        if mention.label in PERSONS and made.action == "replace" and WORD.search(mention.text):
            groups[number].append((mention.label, mention.text, made.text))
    for group in groups.values():
        for label, _, made in group if len(group) > 1 else ():
            own = [row for row in group if row[0] == label]
            words = starts(fullest(group)) | starts(fullest(own))
            yield starts(made) <= words


def fullest(group: Sequence[tuple[str, str, str]]) -> str:
    """Return the surrogate of the mention with the most different words."""
    return max(group, key=lambda row: len({fold(word) for word in WORD.findall(row[1])}))[2]  # "Anna Anna" has one


def starts(name: str) -> set[str]:
    """Return the case-folded beginnings of the words of a name, without the damage of a scan or a line end."""
    return {word[:3] for word in WORD.findall(repaired(HYPHEN.sub("", name)))}


def consistent_values(note: ReleasedNote) -> Iterator[bool]:
    """For each repeated value, test whether it has a single surrogate."""
    made: dict[tuple[str, str], set[str]] = defaultdict(set)
    times: Counter[tuple[str, str]] = Counter()
    for mention, replacement in pairs(note):
        if replacement.action == "generalize":  # says less, and is no surrogate: a field says it in other words
            continue
        value = (mention.label, fold(mention.text))
        made[value].add(fold(replacement.text))
        times[value] += 1
    return (len(made[value]) == 1 for value, number in times.items() if number > 1)


def intervals(note: ReleasedNote, lang: str) -> Iterator[bool]:
    """For each full date and each other date, test whether they were moved by the same number of days."""
    return moved_together([(m.text, made.text) for m, made in pairs(note) if m.label == "DATE"], lang)


def seen(note: ReleasedNote, lang: str) -> Iterator[bool]:
    """For each date, test whether original and surrogate can be read and say the same parts of a date."""
    return (bool(find_shifts(m.text, made.text, lang)) for m, made in pairs(note) if m.label == "DATE")


def validity(note: ReleasedNote) -> Iterator[bool]:
    """For each identifier and each kind of its label, test whether the surrogate has the correct check digits."""
    for mention, made in pairs(note):
        for name, labels in CHECKED.items():
            if made.action == "replace" and mention.label in labels:
                yield get_validator(name)(made.text)


WARM = bytes(range(200, 232))

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Folders of annotated corpora.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")] = "meddocan",
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")] = "train+dev",
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates.json"),
) -> None:
    """De-identify corpora by their gold and write the figures."""
    notes = [note for path in paths for note in read_notes(path, scheme)]
    owners = read_owners(paths)
    release(notes, lang, WARM)  # lists are read and the forms of their names made once, and that is not timed
    figures: list[dict[str, float]] = []
    for secret in KEYS:
        began = time.process_time()
        released = release(notes, lang, secret)
        seconds = time.process_time() - began
        figures.append(measure(released, lang, owners) | {"entities/s on one core": count(released) / seconds})
    command, today = command_line("benchmarks.surrogates", context), date.today().isoformat()
    rows = []
    for name in dict.fromkeys(name for figure in figures for name in figure):
        target, better = aim(name)
        values = [figure.get(name, 0.0) for figure in figures]
        worst = min(values) if better == "higher" else max(values)
        rows.append(MetricRow(name, round(worst, 5), target, better, data, split, command, today))
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}" + ("" if row.met is not False else "  (missed)"))


if __name__ == "__main__":
    app()
