"""Measure `deid_ruler` with a million terms: time, memory, and speed relative to a bare automaton and PhraseMatcher.

    python -m benchmarks.ruler [--terms 1000000] [--out metrics/ruler.json]

Terms and notes are generated from syllables with a seed. Each measurement runs in its own process, so that peak memory
is that of a process with only spaCy and the ruler.
"""

import argparse
import csv
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice, product
from pathlib import Path
from typing import Literal

import ahocorasick
import spacy
from spacy.language import Language
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc

from spacy_deid.dictionaries.normalise import normal_form, normalise
from spacy_deid.dictionaries.terms import is_too_general
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.pipeline.ruler import Ruler

SEED = 20
PEER_TERMS = 100_000
NOTES, WORDS, ROUNDS = 600, 500, 15
DATA = "synthetic names and notes, seed 20"
TARGETS: dict[str, tuple[float | None, Literal["higher", "lower"]]] = {
    "ruler_build_s": (60.0, "lower"),
    "ruler_rss_mb": (600.0, "lower"),
    "ruler_speed_ratio": (0.5, "higher"),
    "ruler_us_per_token": (3.0, "lower"),
    "ruler_phrase_matcher_speed_ratio": (None, "higher"),
    "phrase_matcher_covered_share": (None, "lower"),
}
FILLERS = [
    *("el", "paciente", "presenta", "dolor", "en", "la", "zona", "lumbar", "desde", "hace", "dos", "días", "y", "que"),
    *("refiere", "no", "toma", "tratamiento", "con", "de", "fiebre", "se", "realiza", "analítica", "normal"),
]


def make_names(rng: random.Random, count: int) -> list[str]:
    """Generate distinct words that look like names."""
    onsets = [*"bcdfghjlmnprstvz", "ll", "ch", "br", "tr", "gr"]
    vowels = [*"aeiou", "é", "ía"]
    syllables = ["".join(parts) for parts in product(onsets, vowels, ["", "", "n", "r", "s", "l"])]
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(rng.choices(syllables, k=rng.choice((2, 2, 3, 3, 4)))).capitalize()
        if not is_too_general(normal_form(name)):
            names[name] = None
    return list(names)


def make_terms(count: int) -> Iterator[str]:
    """Generate distinct terms: 10 % surnames, 30 % names with one surname, 60 % with two."""
    rng = random.Random(SEED)
    given, surnames = make_names(rng, 3_000), make_names(rng, max(count // 10, 3_000))
    yield from surnames[: count // 10]
    for i in rng.sample(range(len(given) * len(surnames)), count * 3 // 10):
        yield f"{given[i % len(given)]} {surnames[i // len(given)]}"
    rest = count - count // 10 - count * 3 // 10
    for i in rng.sample(range(len(given) * len(surnames) ** 2), rest):
        first, second = divmod(i // len(given), len(surnames))
        yield f"{given[i % len(given)]} {surnames[first]}{' -'[i % 2]}{surnames[second]}"


def make_notes(terms: list[str]) -> list[str]:
    """Generate notes of ordinary words, unknown names and, about every tenth word, a term in one of its spellings."""
    rng = random.Random(SEED + 1)
    names = make_names(rng, 5_000)
    spellings: list[Callable[[str], str]] = [str, str.upper, str.lower, lambda term: term.replace(" ", "\u00a0")]
    notes = []
    for _ in range(NOTES):
        words = [rng.choice(FILLERS) if rng.random() < 0.9 else rng.choice(names).lower() for _ in range(WORDS)]
        for i in range(0, WORDS, rng.randint(8, 12)):
            words[i] = rng.choice(spellings)(rng.choice(terms)) + rng.choice([",", ".\n", ":", ""])
        notes.append(" ".join(words))
    return notes


def clock(*works: Callable[[], object]) -> list[list[float]]:
    """Measure processor seconds of each task in alternating rounds."""
    rounds = []
    for _ in range(ROUNDS):
        seconds = []
        for work in works:
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
        rounds.append(seconds)
    return [list(seconds) for seconds in zip(*rounds, strict=True)]


def get_ratio(seconds: list[float], others: list[float]) -> float:
    """Return the median over rounds of the ratio of two tasks."""
    return statistics.median(a / b for a, b in zip(seconds, others, strict=True))


def read_terms(path: Path, step: int = 1) -> Iterator[str]:
    """Read every n-th term of a list."""
    with path.open(encoding="utf-8") as file:
        yield from (row["term"] for row in islice(csv.DictReader(file), 0, None, step))


def make_ruler(path: Path) -> tuple[Language, Ruler]:
    """Create a pipeline with a ruler of one list."""
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    ruler = nlp.add_pipe("deid_ruler")
    assert isinstance(ruler, Ruler)
    ruler.add_lists([path])
    return nlp, ruler


def get_peak() -> float:
    """Return the peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_ruler(path: Path) -> dict[str, float]:
    """Build a ruler from a list and run it on Docs."""
    start = time.perf_counter()
    nlp, ruler = make_ruler(path)
    figures = {"ruler_build_s": time.perf_counter() - start, "ruler_rss_mb": get_peak()}
    docs = [nlp.make_doc(note) for note in make_notes(list(read_terms(path, 50)))]
    [rounds] = clock(lambda: deque(map(ruler, docs), 0))
    return figures | {"ruler_us_per_token": statistics.median(rounds) / sum(map(len, docs)) * 1e6}


def measure_bare(path: Path) -> dict[str, float]:
    """Time a ruler's search, and that of a plain automaton on the same normalized notes."""
    start = time.perf_counter()
    automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for i, term in enumerate(read_terms(path)):
        automaton.add_word(normal_form(term), i)
    automaton.make_automaton()
    figures = {"bare_build_s": time.perf_counter() - start, "bare_rss_mb": get_peak()}
    find = make_ruler(path)[1].confidential.find
    notes = make_notes(list(read_terms(path, 50)))
    folded = [normalise(note).text for note in notes]
    bare, ours = clock(
        lambda: deque((deque(automaton.iter(note), 0) for note in folded), 0),
        lambda: deque(map(find, notes), 0),
    )
    megabytes = sum(map(len, notes)) / 1e6
    figures["bare_mb_per_s"] = megabytes / statistics.median(bare)
    figures["ruler_mb_per_s"] = megabytes / statistics.median(ours)
    return figures | {"ruler_speed_ratio": get_ratio(bare, ours)}


def measure_peer(path: Path) -> dict[str, float]:
    """Time a ruler and a PhraseMatcher with the same terms and tokenized notes."""
    nlp, ruler = make_ruler(path)
    start = time.perf_counter()
    peer = PhraseMatcher(nlp.vocab, attr="LOWER")
    peer.add("TERM", [nlp.make_doc(term) for term in read_terms(path)])
    figures = {"phrase_matcher_build_s": time.perf_counter() - start}
    docs = [nlp.make_doc(note) for note in make_notes(list(read_terms(path, 5)))]
    ours, theirs = clock(lambda: deque(map(ruler.find, docs), 0), lambda: deque(map(peer, docs), 0))
    figures["ruler_phrase_matcher_speed_ratio"] = get_ratio(theirs, ours)
    return figures | {"phrase_matcher_covered_share": get_share(docs, ruler, peer)}


def get_share(docs: list[Doc], ruler: Ruler, peer: PhraseMatcher) -> float:
    """Return the share of tokens covered by the ruler that the PhraseMatcher, which only ignores case, covers."""
    ours = theirs = 0
    for doc in docs:
        covered = {token.i for span in ruler(doc).spans[ruler.key] for token in span}
        ours += len(covered)
        theirs += len(covered & {token.i for span in peer(doc, as_spans=True) for token in span})
    return theirs / ours


def run(part: str, count: int) -> dict[str, float]:
    """Write a list and measure it in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("term", "label"))
            rows.writerows((term, "PERSON") for term in make_terms(count))
        command = [sys.executable, "-m", __spec__.name, "--measure", part, str(path)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Measure, print a table and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terms", type=int, default=1_000_000, help="number of terms")
    parser.add_argument("--metrics", type=Path, default=Path("metrics/ruler.json"), help="file of the metric rows")
    parser.add_argument("--measure", nargs=2, metavar=("PART", "LIST"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure = {"ruler": measure_ruler, "bare": measure_bare, "peer": measure_peer}[args.measure[0]]
        print(json.dumps(measure(Path(args.measure[1]))))
        return
    sizes = {"ruler": args.terms, "bare": args.terms, "peer": min(PEER_TERMS, args.terms)}
    figures = {name: value for part, size in sizes.items() for name, value in run(part, size).items()}
    for name, value in figures.items():
        target, better = TARGETS.get(name, (None, ""))
        print(f"{name:34} {value:10.3f}  {f'target {target:g}, {better} is better' if target else ''}")
    about = (DATA, "synthetic", f"python -m benchmarks.ruler --terms {args.terms}", date.today().isoformat())
    rows = [MetricRow(name, round(figures[name], 3), *TARGETS[name], *about) for name in TARGETS]
    write_rows(args.metrics, rows)


if __name__ == "__main__":
    main()
