"""Measure who is who: do the mentions of one person belong together, by the marks of the writers?

    python -m benchmarks.person_links corpus/authored/es/dev --lang es --split dev

The writers of the authored corpus marked every name with the key of its person, so the groups do not come from the
package. The names are those that the writers marked (gold spans): names that a detector misses or cuts do not count.

- *persons linked (gold spans)*: share of the mentions of persons with several mentions whose surrogate belongs to that
  person. A surrogate belongs to the person if its words are, by their first three letters, words of the surrogates of
  fuller mentions, nicknames of these, or their initials. A mention with a part of the name that no fuller mention has
  (the surname in a field of its own, a married name) may have one new word for each such part. The parts of names are
  those of the header of the note; spellings of one part that differ in less than 40 % of the letters are one part.
- *mentions parted*: share of the pairs of mentions of one person that the package takes for two persons.
- *mentions joined*: share of the pairs of mentions of two persons that it takes for one, and *patient joined* the same
  for pairs of a patient and another person.
- *persons merged*: share of pairs of persons of a note with the same full surrogate.

Rows are written to metrics/surrogates.json, without text of notes.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import typer
from rapidfuzz.distance import OSA

from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.damaged import read_damaged
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import PERSONS, Mention
from spacy_deid.surrogates.people import link_persons
from spacy_deid.surrogates.people.conventions import load_conventions
from spacy_deid.synth.authored import AuthoredNote, Person, read_authored

from .surrogates import KEYS, SCANNED_WORD, WORD, fullest, repaired, starts

MOST_INITIALS = 4
SHORTEST = 4  # letters of words that may be spelled in another way
BREAK = re.compile(r"(?<=\w)-[ \t]*\n[ \t]*")
ALIKE = 0.4  # share of letters that differ, below which two words are spellings of one part

TARGETS = {"persons linked (gold spans)": 0.97, "patient joined": 0.0, "persons merged": 0.0}

Row = tuple[str, str, str]
"""Label, original and surrogate of a mention."""


def read_note(note: AuthoredNote, lang: str) -> tuple[dict[str, list[Row]], list[tuple[str, str, int]]]:
    """Replace the marks of a note.

    note (AuthoredNote): the note.
    lang (str): its language.
    RETURNS (tuple): key of a person → rows of the mentions that got a surrogate; and for each name of the note its
        key, its label and the number of the person whom the package takes it for.
    """
    released = replace_gold(note.annotated(), ProjectKey(KEYS[0]).patient(note.name), lang)
    keys = {(mark.start, mark.end): mark.key for mark in note.marks if mark.label in PERSONS}
    groups: dict[str, list[Row]] = defaultdict(list)
    named: list[tuple[str, Mention]] = []
    rows = zip(released.entities, released.mentions, released.replacements, strict=True)
    for entity, mention, made in rows:
        key = keys.get((entity.start, entity.end))
        if key is None or not WORD.search(mention.text):
            continue
        named.append((key, mention))
        if made.action == "replace":
            groups[key].append((mention.label, mention.text, made.text))
    read = read_damaged([mention for _, mention in named], lang)
    whole = [(key, mention) for (key, _), mention in zip(named, read, strict=True) if mention]
    numbers = link_persons([mention for _, mention in whole], lang)
    found = [(key, mention.label, n) for (key, mention), n in zip(whole, numbers, strict=True) if n]
    return groups, found


def linked(person: Person, group: Sequence[Row], lang: str) -> list[bool]:
    """Test for each mention of a person whether its surrogate belongs to that of the fuller mentions."""
    conventions = load_conventions(lang)
    declared = [repaired(piece) for word in (*person.given, *person.surnames) for piece in word.split("-")]
    parts = {word: next(other for other in declared if alike(word, other)) for word in declared}
    seen, words, initials = set[str](), set[str](), set[str]()
    out = []
    for _, old, made in sorted(group, key=lambda row: -len(WORD.findall(row[1]))):
        old, made = BREAK.sub("", old), BREAK.sub("", made)
        own = set(map(repaired, SCANNED_WORD.findall(old)))
        covered = {parts[best] for word in own if len(word) > 1 and (best := closest(word, declared))}
        if not covered:
            covered = {parts[declared[0]]}  # a nickname
        new = {fold(word) for word in WORD.findall(made) if repaired(word) not in own}  # without titles
        letters = [fold(char) for char in made if char.isalpha()]
        short = len(letters) <= MOST_INITIALS and (old.isupper() or len(old) <= MOST_INITIALS)
        names = {
            w
            for word in new
            for w in (word, *conventions.nicknames.get(word, ()), *conventions.full_names.get(word, ()))
        }
        strange = [word for word in new if not starts(word) & words]
        unknown = len(covered - seen)
        fits = len(strange) <= unknown or (short and set(letters) <= initials)
        out.append(fits)
        if fits:
            seen |= covered
            words |= starts(" ".join(names))
            initials |= {char for word in made.replace("-", " ").split() for char in fold(word)[:1]}
            if short and old.isupper():
                initials |= set(letters)
    return out


def alike(first: str, second: str) -> bool:
    """Test whether two words are equal, one begins with the other, or they are spellings of one name."""
    short, long = sorted((first, second), key=len)
    if len(short) < SHORTEST:
        return first == second
    return long.startswith(short) or OSA.normalized_distance(first, second) < ALIKE


def closest(word: str, declared: Sequence[str]) -> str | None:
    """Return the declared word that a word is most like; None if it is like none."""
    found = [(OSA.normalized_distance(word, other), other) for other in declared if alike(word, other)]
    return min(found)[1] if found else None


def measure(notes: list[AuthoredNote], lang: str) -> dict[str, float]:
    """Compute all figures."""
    fits, merged = list[bool](), list[bool]()
    parted, joined, patients = list[bool](), list[bool](), list[bool]()
    for note in notes:
        groups, found = read_note(note, lang)
        for key, group in groups.items():
            fits += linked(note.persons[key], group, lang) if len(group) > 1 else []
        for (key, label, number), (other, label2, number2) in combinations(found, 2):
            if key == other:
                parted.append(number != number2)
            else:
                joined.append(number == number2)
                if (label == "PATIENT") != (label2 == "PATIENT"):
                    patients.append(number == number2)
        full = {key: fold(fullest(group)) for key, group in groups.items()}
        named = [name for name in full.values() if len(WORD.findall(name)) > 1]
        merged += [first == second for first, second in combinations(named, 2)]
    shares = {
        "persons linked (gold spans)": fits,
        "mentions parted": parted,
        "mentions joined": joined,
        "patient joined": patients,
        "persons merged": merged,
    }
    return {name: sum(flags) / max(1, len(flags)) for name, flags in shares.items()}


app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Folder of the authored corpus.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates.json"),
) -> None:
    """Write the shares of linked, parted, joined and merged mentions and persons."""
    command, today = command_line("benchmarks.person_links", context), date.today().isoformat()
    rows = []
    for name, value in measure(read_authored(path), lang).items():
        target = TARGETS.get(name)
        better: Literal["higher", "lower"] = "higher" if name.startswith("persons linked") else "lower"
        rows.append(MetricRow(name, round(value, 5), target, better, f"authored {lang}", split, command, today))
        typer.echo(f"{name}: {value:.4f}")
    replace_rows(metrics, rows)


if __name__ == "__main__":
    app()
