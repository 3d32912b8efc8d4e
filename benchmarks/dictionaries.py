"""Dictionaries of a whole hospital: building them, opening them, and searching notes with them.

    python -m benchmarks.dictionaries [--patients N] [--terms N] [--processes N] [--out FILE]

The tables are made by `simulated_ehr`. Every part runs in a process of its own:

- build: seconds from the tables to the dictionaries, and the memory of all its processes together, at its highest;
- serve: seconds to open the dictionaries and search a first note; milliseconds a note to find its patient's terms on
  disk, make them ready and search with them, each note of another patient;
- bare: how fast the institution's terms are found, relative to a plain pyahocorasick automaton over the same terms
  that reads the same notes, folded beforehand;
- peer: spaCy's PhraseMatcher and EntityRuler on the same terms and notes. They are given Docs, and `deid_ruler`'s
  search the text; what tokenizing costs is a figure of its own. They fold case and nothing else.

Ratios are medians over rounds taken in turn, in processor time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

import ahocorasick
import psutil
import spacy
from spacy.matcher import PhraseMatcher

from spacy_deid.background.counts import Ambiguity
from spacy_deid.dictionaries.normalise import normalise
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.ehr.builder import Settings, build_dictionary
from spacy_deid.ehr.cleaning import clean
from spacy_deid.ehr.entry_maker import Cell, EntryMaker
from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.ehr.report import BuildReport
from spacy_deid.ehr.sources import read_rows
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.synth.corpus import make_corpus

from .ruler import clock, get_ratio
from .simulated_ehr import write_tables

SEED = 20
PATIENTS, TERMS = 1_000_000, 2_000_000
NOTES, PLANTED = 500, 5
LENGTH = 3_500  # characters of a note, some 500 words
PEER_TERMS = 100_000
STAFF_FORMS = 30  # forms of a name of staff, about
TARGETS: dict[str, tuple[float | None, Literal["higher", "lower"]]] = {
    "institution terms": (2_000_000, "higher"),
    "patients": (1_000_000, "higher"),
    "build, seconds": (600, "lower"),
    "build, highest memory of all processes in MB": (4_000, "lower"),
    "size on disk in MB": (None, "lower"),
    "open and search a first note, seconds": (10, "lower"),
    "a patient's terms, milliseconds a note": (2, "lower"),
    "a patient's terms, milliseconds, 99th percentile": (None, "lower"),
    "speed over the bare automaton": (0.5, "higher"),
    "speed over the bare automaton, short notes": (None, "higher"),
    "microseconds a note": (None, "lower"),
    "microseconds a note, short notes": (None, "lower"),
    "seconds to make the bare automaton": (None, "lower"),
    "building over PhraseMatcher": (None, "higher"),
    "building over EntityRuler": (None, "higher"),
    "searching text over PhraseMatcher on Docs": (None, "higher"),
    "searching text over tokenizing and PhraseMatcher": (None, "higher"),
    "searching text over EntityRuler on Docs": (None, "higher"),
}


def make_notes(terms: list[str], length: int = LENGTH) -> list[str]:
    """Notes of some length, of synthetic ones put together, with a few terms of the institution in each."""
    rng = Random(SEED)
    pieces = [note.text for note in make_corpus("es", 3 * NOTES, SEED, "test", noise=0.0)]
    notes = []
    for _ in range(NOTES):
        note = rng.choice(pieces)
        while len(note) < length:
            note += "\n" + rng.choice(pieces)
        lines = note.split("\n")
        for term in rng.sample(terms, min(PLANTED, len(terms))):
            lines.insert(rng.randrange(len(lines) + 1), f"Visto en {term.title()}, se remite.")
        notes.append("\n".join(lines))
    return notes


def institution_terms(mapping: Path) -> Iterator[str]:
    """The terms of the institution, as the builder makes them."""
    mapped = read_mapping(mapping)
    report = BuildReport(mapped.tables)
    maker = EntryMaker(report, {"es": Ambiguity.of("es")})
    for table in mapped.tables:
        for batch in read_rows(table) if not table.patient_id else ():
            for (text,) in batch.rows:
                cell = Cell(table.columns[0], clean(table.columns[0].kind, text, "es")[0])
                yield from (entry.term for entry in maker.institution(table, [cell]))


def measure_build(folder: Path, processes: int) -> dict[str, float]:
    """Build the dictionaries."""
    start = time.perf_counter()
    mapping = read_mapping(folder / "mapping.toml")
    build_dictionary(mapping, folder / "local", folder / "report.json", Settings(processes=processes))
    return {"build, seconds": time.perf_counter() - start}


def measure_serve(folder: Path, processes: int) -> dict[str, float]:
    """Open the dictionaries and use them, as the ruler does."""
    notes = make_notes(["hospital zarzal"])
    start = time.perf_counter()
    store = LocalStore.open(folder / "local")
    store.institution.find(notes[0])
    figures = {"open and search a first note, seconds": time.perf_counter() - start}
    rng = Random(SEED)
    ids = rng.sample(sorted(store.patient_ids()), min(4 * NOTES, store.counts["patients"]))
    folded = [normalise(note) for note in notes]
    spent = []
    for i, patient_id in enumerate(ids):
        start = time.perf_counter()
        own = store.patient(patient_id)
        assert own is not None
        own.find(notes[i % NOTES], folded[i % NOTES])
        spent.append(1000 * (time.perf_counter() - start))
    size = sum(path.stat().st_size for path in (folder / "local").rglob("*") if path.is_file())
    return figures | {
        "institution terms": store.counts["institution_terms"],
        "patients": store.counts["patients"],
        "size on disk in MB": size / 1e6,
        "a patient's terms, milliseconds a note": statistics.mean(spent),
        "a patient's terms, milliseconds, 99th percentile": statistics.quantiles(spent, n=100)[98],
    }


def measure_bare(folder: Path, processes: int) -> dict[str, float]:
    """Time the search for the institution's terms, and a plain automaton's."""
    start = time.perf_counter()
    automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for i, term in enumerate(institution_terms(folder / "mapping.toml")):
        automaton.add_word(term, i)
    automaton.make_automaton()
    figures = {"seconds to make the bare automaton": time.perf_counter() - start}
    local = LocalStore.open(folder / "local").institution
    rng = Random(SEED)
    terms = rng.sample(sorted(islice(automaton, PEER_TERMS)), 1_000)
    for name, length in (("", LENGTH), (", short notes", 0)):
        notes = make_notes(terms, length)
        folded = [normalise(note).text for note in notes]
        bare, ours = clock(
            lambda: deque((deque(automaton.iter(note), 0) for note in folded), 0),  # noqa: B023 - used at once
            lambda: deque(map(local.find, notes), 0),  # noqa: B023
        )
        figures[f"speed over the bare automaton{name}"] = get_ratio(bare, ours)
        figures[f"microseconds a note{name}"] = statistics.median(ours) / len(notes) * 1e6
    return figures


def measure_peer(folder: Path, processes: int) -> dict[str, float]:
    """Time the same terms in a store, a PhraseMatcher and an EntityRuler."""
    terms = list(islice(dict.fromkeys(institution_terms(folder / "mapping.toml")), PEER_TERMS))
    nlp = spacy.blank("es")
    built = {}

    def timed(name: str, work: Callable[[], None]) -> None:
        start = time.perf_counter()
        work()
        built[name] = time.perf_counter() - start

    def build_ours() -> None:
        with StoreWriter(folder / "peer") as writer:
            writer.add_institution(LocalEntry(term, "HOSPITAL", "t.name") for term in terms)
            writer.commit({})

    matcher, ruler = (
        PhraseMatcher(nlp.vocab, attr="LOWER"),
        nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"}),
    )
    patterns = [{"label": "HOSPITAL", "pattern": term} for term in terms]
    timed("ours", build_ours)
    timed("matcher", lambda: matcher.add("HOSPITAL", list(map(nlp.make_doc, terms))))
    timed("ruler", lambda: ruler.add_patterns(patterns))
    local = LocalStore.open(folder / "peer").institution
    notes = make_notes(terms)
    reader = spacy.blank("es", vocab=nlp.vocab)  # the other tokenizer's cache is full of the terms
    docs = list(map(reader.make_doc, notes))
    ours, matched, made, ruled = clock(
        lambda: deque(map(local.find, notes), 0),
        lambda: deque(map(matcher, docs), 0),
        lambda: deque((matcher(reader.make_doc(note)) for note in notes), 0),
        lambda: deque(map(ruler.match, docs), 0),
    )
    return {
        "building over PhraseMatcher": built["matcher"] / built["ours"],
        "building over EntityRuler": built["ruler"] / built["ours"],
        "searching text over PhraseMatcher on Docs": get_ratio(matched, ours),
        "searching text over tokenizing and PhraseMatcher": get_ratio(made, ours),
        "searching text over EntityRuler on Docs": get_ratio(ruled, ours),
    }


PARTS = {"build": measure_build, "serve": measure_serve, "bare": measure_bare, "peer": measure_peer}


def run(part: str, folder: Path, processes: int) -> tuple[dict[str, float], float]:
    """Measure a part in a new process. RETURNS (tuple): figures, and the highest memory of it and its children."""
    command = [sys.executable, "-m", __spec__.name, "--measure", part, str(folder), "--processes", str(processes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        highest = 0.0
        process = psutil.Process(child.pid)
        while child.poll() is None:
            try:
                all_of_them = [process, *process.children(recursive=True)]
                highest = max(highest, sum(one.memory_info().rss for one in all_of_them) / 1e6)
            except psutil.NoSuchProcess:
                pass
            time.sleep(0.05)
        assert child.stdout
        figures: dict[str, float] = json.loads(child.stdout.read())
    return figures, highest


def main() -> None:
    """Measure, print a table and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=PATIENTS)
    parser.add_argument("--terms", type=int, default=TERMS, help="terms of the institution, about")
    parser.add_argument("--processes", type=int, default=2, help="processes that build patients")
    parser.add_argument("--folder", type=Path, help="where the tables and dictionaries go; there must be room")
    parser.add_argument("--out", type=Path, default=Path("metrics/dictionaries_speed.json"))
    parser.add_argument("--measure", nargs=2, metavar=("PART", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(PARTS[args.measure[0]](Path(args.measure[1]), args.processes)))
        return
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        phrases = round(args.terms * 0.36)
        write_tables(folder, args.patients, phrases, phrases, round(args.terms * 0.36 / STAFF_FORMS))
        for part in PARTS:
            found, highest = run(part, folder, args.processes)
            figures |= found
            if part == "build":
                figures["build, highest memory of all processes in MB"] = highest
            print(part, json.dumps(found), f"{highest:.0f} MB", file=sys.stderr)
    sizes = (
        ""
        if args.patients == PATIENTS and args.terms == TERMS
        else f" --patients {args.patients} --terms {args.terms}"
    )
    command = f"python -m benchmarks.dictionaries{sizes}"
    about = (f"simulated hospital, seed {SEED}", "synthetic", command, date.today().isoformat())
    write_rows(args.out, [MetricRow(name, round(figures[name], 3), *TARGETS[name], *about) for name in TARGETS])
    for name in TARGETS:
        target, better = TARGETS[name]
        print(f"{name:52} {figures[name]:14,.3f}  {f'target {target:g}, {better} is better' if target else ''}")


if __name__ == "__main__":
    main()
