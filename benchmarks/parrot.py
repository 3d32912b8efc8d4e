"""The parrot attack: find missed identifiers in released notes, because they differ from surrogates.

    python -m benchmarks.parrot corpus/meddocan/train.spacy --lang es --seeds 2 --p 0.1 --p 0.5

Defender: notes are de-identified by their gold, but a random share of the replaceable mentions is missed on purpose
and remains. Surrogates are made without knowledge of these.

Attacker (Carrell et al. 2019, 10.1093/jamia/ocz114): annotates all identifiers in one half of the released notes,
surrogates and leaks alike, trains a tagger, and applies it to the other half, in which all identifiers are visible
too.

- *untagged*: as in the paper, an identifier without any tagged token is taken for a leak. Recall: share of leaks taken
  for leaks; precision: share of leaks among identifiers taken for leaks.
- *ranked*: the attacker also has the program and knows the strategy. One half is de-identified again with another key
    and
  10 % missed, to learn how leaks differ: by scores of the tagger, by repetition of a value in its note, by words
  shared with other identifiers, by being the only identifier of its label, and by frequency among all notes. A
  logistic regression ranks the identifiers of the other half. With as many guesses as leaks, recall and precision are
  equal: *ranked, leaks found*; *ranked, repeated values* is the recall among leaks of values mentioned more than once
  in their note, where strategies differ. *chance* is the share of leaks, the result of random guessing.

Missed mentions are drawn uniformly; real misses are the difficult ones, which may be harder or easier to find. The
tagger is a logistic regression over words, shapes and neighbours (`parrot_tagger`), not a neural network. The attacker
uses no name lists. Counts are summed over seeds, that is over draws of missed identifiers and halves; the standard
deviation over seeds is that of the shares of single seeds. Rows are written to metrics/parrot.json, without text of
notes.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from statistics import stdev
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow, read_folder, write_rows
from spacy_deid.evaluation.gold_surrogates import make_disjoint, replace_gold
from spacy_deid.evaluation.rows import command_line
from spacy_deid.lang.text import fold
from spacy_deid.offsets import move_spans
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import PERSONS, number_entities
from spacy_deid.surrogates.strategies import Strategy, check_probability, consistent, markov, randomized
from spacy_deid.surrogates.style import SurrogateStyle

from .parrot_tagger import Logistic, Tagger, Text, fit_logistic, train_tagger

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

RATES = (0.05, 0.02, 0.01, 0.005, 0.001)
REHEARSED = 0.1
SPREAD = ("untagged, recall", "ranked, leaks found", "ranked, repeated values")


class Item(NamedTuple):
    """An identifier of a released note.

    leak (bool): whether it is an original.
    repeated (bool): whether the original note contains it more than once.
    """

    start: int
    end: int
    label: str
    leak: bool
    repeated: bool


class Output(NamedTuple):
    """A released note and all identifiers visible in it."""

    name: str
    text: str
    items: list[Item]

    def __repr__(self) -> str:
        return f"Output({len(self.items)} items)"

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Return the offsets of the identifiers."""
        return [(item.start, item.end) for item in self.items]


@app.command()
def main(
    context: typer.Context,
    gold: Annotated[Path, typer.Argument(help="Annotated notes.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    p: Annotated[list[float], typer.Option(help="Probabilities of a change for the strategy 'markov'.")] = [0.1],  # noqa: B006
    rate: Annotated[list[float], typer.Option(help="Shares of missed identifiers.")] = list(RATES),  # noqa: B006
    seeds: Annotated[int, typer.Option(min=1, help="Number of random draws of missed identifiers.")] = 1,
    notes: Annotated[int, typer.Option(min=4, help="Maximum number of notes.")] = 10_000,
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")] = "meddocan",
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")] = "train",
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/parrot.json"),
) -> None:
    """Attack releases of a corpus and write the figures."""
    corpus = read_folder(gold, scheme=scheme)[:notes]
    chains = {f"markov({value:g})": partial(markov, p=check_probability(value)) for value in p}
    command, today = command_line("benchmarks.parrot", context), date.today().isoformat()
    for missed in rate:
        for title, strategy in ({"consistent": consistent, "random": randomized} | chains).items():
            counts = [attack(corpus, lang, strategy, missed, seed) for seed in range(seeds)]
            figures = shares(sum(counts, Counter())) | spread(counts)
            about = (data, split, command, today)
            rows = [row(f"{name}, {title}, {missed:.1%} missed", value, *about) for name, value in figures.items()]
            write_rows(metrics, rows)
            typer.echo(f"{title:<14}{missed:>6.1%}  " + "  ".join(f"{k} {v:.4g}" for k, v in figures.items()))


def row(name: str, value: float, data: str, split: str, command: str, today: str) -> MetricRow:
    """Create a row without a target: a better tagger is a harder test and not a merit of surrogates."""
    way = "higher" if name.startswith("tagger") else "lower"
    return MetricRow(name, round(value, 5), None, way, data, split, command, today)


def attack(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, missed: float, seed: int) -> Counter[str]:
    """Release notes, attack one half with the other, and count."""
    released = plant(notes, lang, strategy, missed, f"defender {seed}")
    order = sorted(range(len(released)), key=lambda i: Random(f"half {seed} {i}").random())
    own, other = (sorted(half) for half in (order[: len(order) // 2], order[len(order) // 2 :]))
    mine, target = [released[i] for i in own], [released[i] for i in other]
    tagger = train_tagger([Text(output.text, output.spans) for output in mine])
    scores = tag(tagger, target)
    ranking = rehearse(mine, lang, strategy, seed).logits(columns(target, scores))
    return count([item for output in target for item in output.items], scores, ranking)


def plant(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, missed: float, seed: str) -> list[Output]:
    """De-identify notes, each as that of another patient, except for a share of replaceable mentions."""
    key = ProjectKey(hashlib.sha256(seed.encode()).digest())
    style = SurrogateStyle(strategy)
    return [_plant(note, key, lang, style, missed, Random(f"{seed} {note.name}")) for note in notes]


def _plant(
    note: AnnotatedText, key: ProjectKey, lang: str, style: SurrogateStyle, missed: float, chance: Random
) -> Output:
    """De-identify a note. What is missed at a rate is also missed at every higher rate."""
    whole = replace_gold(note, key.patient(note.name), lang, style)
    numbers = number_entities(whole.mentions)
    times = Counter(numbers)
    able = [made.action == "replace" for made in whole.replacements]
    leaks = [chance.random() < missed and possible for possible in able]
    kept = tuple(entity for entity, leak in zip(whole.entities, leaks, strict=True) if not leak)
    done = replace_gold(replace(note, entities=kept), key.patient(note.name), lang, style) if any(leaks) else whole
    moved = move_spans(done.edits, [(entity.start, entity.end) for entity in whole.entities])
    items = [
        Item(*span, entity.label, leak, times[number] > 1)
        for span, entity, leak, possible, number in zip(moved, whole.entities, leaks, able, numbers, strict=True)
        if possible and span[0] < span[1]
    ]
    return Output(note.name, done.document.text, items)


def tag(tagger: Tagger, outputs: Sequence[Output]) -> list[NDArray[np.float64]]:
    """Return the logits of the tagger for the tokens of each identifier."""
    return [scores for output in outputs for scores in tagger.logits(output.text, output.spans)]


def rehearse(mine: Sequence[Output], lang: str, strategy: Strategy, seed: int) -> Logistic:
    """Learn how leaks differ from the attacker's own half, de-identified again.

    Each half of it is tagged by a tagger trained on the other, because a tagger knows its training annotations.
    """
    notes = [
        AnnotatedText(output.name, output.text, tuple(make_disjoint(entities, output.text)))
        for output, entities in ((output, [Entity(*item[:3]) for item in output.items]) for output in mine)
    ]
    again = plant(notes, lang, strategy, REHEARSED, f"attacker {seed}")
    halves = (again[::2], again[1::2])
    tables = []
    for here, there in (halves, halves[::-1]):
        tagger = train_tagger([Text(output.text, output.spans) for output in there])
        tables.append(columns(here, tag(tagger, here)))
    labels = np.array([item.leak for half in halves for output in half for item in output.items])
    return fit_logistic(np.vstack(tables), labels)


def columns(outputs: Sequence[Output], scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the features of all identifiers, shape (identifiers, features)."""
    notes = [
        [(fold(o.text[item.start : item.end]), item.label in PERSONS, item.label) for item in o.items] for o in outputs
    ]
    values = Counter(value for note in notes for value in {value for value, _, _ in note})
    words = Counter(word for note in notes for word in {word for value, _, _ in note for word in long_words(value)})
    rows = []
    for note in notes:
        own, labels = Counter(value for value, _, _ in note), Counter(label for _, _, label in note)
        for value, person, label in note:
            others = [other for other in own if other != value]
            again = own[value] > 1
            shares_word = any(word in other for word in long_words(value) for other in others)
            odd = labels[label] > 1 and not again and not shares_word
            rarest = min((words[word] for word in long_words(value)), default=0)
            common = [np.log(values[value]), np.log1p(rarest - 1) if rarest else 0.0]
            rows.append(
                [again, shares_word, odd, *common, person, person and again, person and shares_word, person and odd]
            )
    tagged = [[score.mean(), score.min(), score.max()] for score in scores]
    return np.hstack([np.array(tagged, dtype=np.float64), np.array(rows, dtype=np.float64)])


def long_words(value: str) -> list[str]:
    """Return the words of at least three characters."""
    return [word for word in value.replace("@", " ").replace(".", " ").split() if len(word) > 2]


def count(items: Sequence[Item], scores: Sequence[NDArray[np.float64]], ranking: NDArray[np.float64]) -> Counter[str]:
    """Count what an attacker takes for leaks, and the leaks."""
    leaks = np.array([item.leak for item in items])
    repeated = leaks & np.array([item.repeated for item in items])
    untagged = np.array([score.max() < 0 for score in scores])
    first = np.zeros(len(items), dtype=bool)
    first[np.argsort(-ranking, kind="stable")[: leaks.sum()]] = True
    numbers = {
        "items": len(items),
        "leaks": leaks.sum(),
        "repeated": repeated.sum(),
        "untagged": untagged.sum(),
        "untagged leaks": (untagged & leaks).sum(),
        "first leaks": (first & leaks).sum(),
        "first repeated": (first & repeated).sum(),
    }
    return Counter({name: int(number) for name, number in numbers.items()})


def shares(counts: Counter[str]) -> dict[str, float]:
    """Compute the figures of counts, leaving out undefined ones."""
    figures = {
        "leaks": (counts["leaks"], 1),
        "chance": (counts["leaks"], counts["items"]),
        "tagger, identifiers found": (counts["items"] - counts["untagged"], counts["items"]),
        "untagged, recall": (counts["untagged leaks"], counts["leaks"]),
        "untagged, precision": (counts["untagged leaks"], counts["untagged"]),
        "ranked, leaks found": (counts["first leaks"], counts["leaks"]),
        "ranked, repeated values": (counts["first repeated"], counts["repeated"]),
    }
    return {name: found / whole for name, (found, whole) in figures.items() if whole}


def spread(counts: Sequence[Counter[str]]) -> dict[str, float]:
    """Compute the standard deviation over seeds of the shares that an attacker finds.

    counts (Sequence[Counter[str]]): output of `count` for each seed.
    RETURNS (dict[str, float]): a figure for each share that is defined for at least two seeds.
    """
    found = [shares(one) for one in counts]
    values = {name: [one[name] for one in found if name in one] for name in SPREAD}
    return {f"{name}, deviation over seeds": stdev(many) for name, many in values.items() if len(many) > 1}


if __name__ == "__main__":
    app()
