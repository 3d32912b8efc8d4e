"""Measure who is who: do the surrogates of the mentions of one person belong together, by the writers' marks?

    python -m benchmarks.person_links corpus/authored/es/dev --lang es --split dev

The writers of the authored corpus marked every name with the key of its person, so the groups do not come from the
package. *Linked* is the share of mentions of a person with several mentions whose surrogate has only words, or
initials, of the surrogates of the person's fullest mention of each label. *Merged* is the share of pairs of persons of
a note with the same full surrogate. Rows are written to metrics/surrogates.json, without text of notes.
"""

from collections import defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import PERSONS
from spacy_deid.synth.authored import AuthoredNote, read_authored

from .surrogates import KEYS, WORD, fullest, starts

MOST_INITIALS = 4


def persons_of(note: AuthoredNote, lang: str) -> dict[str, list[tuple[str, str, str]]]:
    """Replace the marks of a note and group the names by the key of their person: label, original and surrogate."""
    released = replace_gold(note.annotated(), ProjectKey(KEYS[0]).patient(note.name), lang)
    keys = {(mark.start, mark.end): mark.key for mark in note.marks if mark.label in PERSONS}
    groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    rows = zip(released.entities, released.mentions, released.replacements, strict=True)
    for entity, mention, made in rows:
        key = keys.get((entity.start, entity.end))
        if key and made.action == "replace" and WORD.search(mention.text):
            groups[key].append((mention.label, mention.text, made.text))
    return groups


def measure(notes: list[AuthoredNote], lang: str) -> dict[str, float]:
    """Return the share of linked mentions, and that of merged persons."""
    linked, merged = list[bool](), list[bool]()
    for note in notes:
        groups = persons_of(note, lang)
        for group in groups.values():
            labels = {row[0] for row in group}
            best = [fullest(group), *(fullest([row for row in group if row[0] == label]) for label in labels)]
            words = set[str]().union(*map(starts, best))
            initials = {word[:1] for word in words}
            for _, old, made in group if len(group) > 1 else ():
                letters = fold("".join(char for char in made if char.isalpha()))
                short = old.isupper() and len(letters) <= MOST_INITIALS  # "RTM", "P. S."
                linked.append(starts(made) <= words or (short and set(letters) <= initials))
        full = {key: fold(fullest(group)) for key, group in groups.items()}
        named = [name for name in full.values() if len(WORD.findall(name)) > 1]
        merged += [first == second for first, second in combinations(named, 2)]
    return {
        "persons linked": sum(linked) / max(1, len(linked)),
        "persons merged": sum(merged) / max(1, len(merged)),
    }


app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Folder of the authored corpus.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates.json"),
) -> None:
    """Write the share of linked mentions and of merged persons."""
    command, today = command_line("benchmarks.person_links", context), date.today().isoformat()
    rows = []
    for name, value in measure(read_authored(path), lang).items():
        high = name == "persons linked"
        target, better = (0.97, "higher") if high else (0.0, "lower")
        rows.append(MetricRow(name, round(value, 5), target, better, f"authored {lang}", split, command, today))
        typer.echo(f"{name}: {value:.4f}")
    replace_rows(metrics, rows)


if __name__ == "__main__":
    app()
