"""Measure `spacy-deid audit` on notes with leaks planted at a known rate.

    python -m benchmarks.audit --metrics metrics/audit.json

Uses a simulated hospital (`simulated_ehr`), its dictionaries, and synthetic notes in English, Spanish and Finnish. The
gold identifiers of the notes are replaced by tags, or by surrogates, which are values of other patients' records. In a
note that leaks, one replaced identifier is instead an identifier of its patient, written as in a record or as people
write it, split, or misspelt. These forms are generated here, independently of the expansion used by the audit; only
Finnish cases come from the same grammar.

Every note of a pool is searched twice for each redaction style, as a note that leaks and as one that does not. A
simulated audit draws patients from the pool and decides which notes leak; the counts of the chosen searches are given
to the estimate of the package. Figures: how often the interval contains the planted rate; the error of the estimate,
and of the share of notes with a hit before correction for chance hits; which leaks are found; notes per second.
"""

import csv
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from spacy_deid.audit.estimate import Rate, estimate
from spacy_deid.audit.run import NoteReader
from spacy_deid.audit.search import ALL, Searcher, Tally
from spacy_deid.ehr.builder import build_dictionary
from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.lang.inflection import case_forms
from spacy_deid.notes.source import Columns, NoteKey
from spacy_deid.synth.corpus import make_corpus

from .simulated_ehr import write_tables

SEED = 9
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
STYLES = ("tags", "surrogates")
PATTERNS = {"notes leak independently": False, "patients leak all notes or none": True}
SIZES = {"300 patients with two notes": (300, 2, 2), "240 patients with one to four notes": (240, 1, 4)}
MOST = 4  # notes of a patient in the pool
COVERED, TOO_WIDE, OFF, NOTES = 0.93, 0.97, 0.005, 200.0  # the nominal coverage is 95 %
FOUND = {"as written": 0.99, "broken up": 0.95, "misspelt": None}  # short names are only searched for as written
LANGS = ("en", "es", "fi")
FORMS = {"as written": 0.7, "broken up": 0.15, "misspelt": 0.15}
_PERSONS = ("PATIENT", "RELATIVE", "CLINICIAN", "PERSON")
_TOWNS = ("CITY", "TERRITORY", "STATE")
_KINDS = {"name": 6, "born": 1, "phone": 1, "mrn": 1, "national_id": 1, "email": 1, "street": 1}
_LABELS = {"name": _PERSONS, "born": ("DATE",), "phone": ("PHONE", "FAX"), "email": ("EMAIL",), "street": ("STREET",)}
_NUMBERS = ("MRN", "NATIONAL_ID", "SSN", "INSURANCE_ID", "ID_OTHER")
_DATES = {"en": "{0.month}/{0.day}/{0.year}", "es": "{0:%d}/{0:%m}/{0.year}", "fi": "{0.day}.{0.month}.{0.year}"}
_LETTERS = "aeiourstln"

Record = Mapping[str, str]


class Leak(NamedTuple):
    """A planted leak: position and written form."""

    start: int
    end: int
    form: str


@dataclass(frozen=True)
class World:
    """Records and notes by language. Patients are audited, bystanders are not."""

    patients: Mapping[str, Sequence[Record]]
    bystanders: Mapping[str, Sequence[Record]]
    notes: Mapping[str, Sequence[AnnotatedText]]

    @classmethod
    def read(cls, folder: Path, notes: int, seed: int) -> "World":
        """Read the tables of `simulated_ehr` and generate notes; every third record is a bystander's."""
        records: dict[str, list[Record]] = {}
        for lang in LANGS:
            with (folder / f"patients_{lang}.csv").open(encoding="utf-8", newline="") as file:
                records[lang] = list(csv.DictReader(file))
        patients = {lang: [row for i, row in enumerate(rows) if i % 3] for lang, rows in records.items()}
        made = {lang: list(make_corpus(lang, notes, seed, "test")) for lang in LANGS}
        return cls(patients, {lang: rows[::3] for lang, rows in records.items()}, made)


class Rows:
    """A table of notes in memory."""

    name = "simulated notes"
    columns: Sequence[str] = ("note_id", "patient_id", "lang", "text")

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self._rows = rows

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`."""
        places = [self.columns.index(name) for name in columns]
        return (tuple(row[place] for place in places) for row in self._rows)

    def texts(self, keys: Sequence[NoteKey], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`."""
        return ((key.row, self._rows[key.row - 1][3]) for key in keys)

    def close(self) -> None:
        """Do nothing."""


def make_table(world: World, rng: Random, patients: int, style: str) -> tuple[Rows, dict[int, Leak]]:
    """Generate `MOST` pairs of notes for each patient: one that does not leak, and the same note with a leak.

    world (World): records and notes.
    rng (Random): random generator.
    patients (int): number of patients.
    style (str): "tags" or "surrogates".
    RETURNS (tuple[Rows, dict[int, Leak]]): the notes, and leaks by row.
    """
    rows: list[tuple[str, ...]] = []
    leaks: dict[int, Leak] = {}
    for lang in LANGS:
        for record in rng.sample(world.patients[lang], patients // len(LANGS)):
            for _ in range(MOST):
                note, state = rng.choice(world.notes[lang]), rng.getstate()
                for leaking in (None, record):
                    rng.setstate(state)  # the same surrogates
                    text, leak = _write(note, leaking, world.bystanders[lang], lang, style, rng)
                    rows.append((f"n{len(rows)}", record["mrn"], lang, text))
                    if leak:
                        leaks[len(rows)] = leak
    return Rows(rows), leaks


def _write(
    note: AnnotatedText, record: Record | None, bystanders: Sequence[Record], lang: str, style: str, rng: Random
) -> tuple[str, Leak | None]:
    """Write a note without its identifiers, and with an identifier of a record."""
    kind, form, value = _draw(record, lang, rng) if record else ("", "", "")
    place = _choose(note, kind, rng) if record else -1
    pieces: list[str] = []
    length = done = 0
    leak = None
    for i, entity in enumerate(note.entities):
        if entity.start < done:
            continue
        original = note.text[entity.start : entity.end]
        new = value if i == place else f"[{entity.label}]"
        if i != place and style == "surrogates":
            new = _surrogate(entity.label, original, rng.choice(bystanders), lang, rng) or new
        before = note.text[done : entity.start]
        start = length + len(before)
        leak = Leak(start, start + len(new), form) if i == place else leak
        pieces += [before, new]
        length, done = start + len(new), entity.end
    pieces.append(note.text[done:])
    if record and leak is None:  # nothing was replaced
        text = "".join(pieces) + "\n"
        return text + value, Leak(len(text), len(text) + len(value), form)
    return "".join(pieces), leak


def _choose(note: AnnotatedText, kind: str, rng: Random) -> int:
    """Choose the entity that a leaked identifier replaces, of the same kind if possible."""
    fitting = [i for i, entity in enumerate(note.entities) if entity.label in _LABELS.get(kind, _NUMBERS)]
    return rng.choice(fitting or list(range(len(note.entities))) or [-1])


def _draw(record: Record, lang: str, rng: Random) -> tuple[str, str, str]:
    """Draw an identifier of a record: kind, form, and written text."""
    kinds = [kind for kind in _KINDS if kind == "name" or record[kind]]
    kind = rng.choices(kinds, [_KINDS[kind] for kind in kinds])[0]
    form = rng.choices(list(FORMS), list(FORMS.values()))[0]
    if kind == "name":
        return kind, form, _name(record, lang, form, rng)
    value = _DATES[lang].format(date.fromisoformat(record["born"])) if kind == "born" else record[kind]
    return kind, "as written", value


def _name(record: Record, lang: str, form: str, rng: Random) -> str:
    """Write a patient's name in a form that occurs in notes."""
    given, surname = record["given"], record["surname"]
    if form == "misspelt":
        return _slip(surname, rng)
    if form == "broken up":
        half = len(surname) // 2
        return f"{surname[:half]}-\n{surname[half:]}" if len(surname) > 5 else f"{given}\n   {surname}"
    if lang == "fi" and rng.random() < 0.4:
        surname = rng.choice(sorted(case_forms(surname, lang)))
    return rng.choice(
        (f"{given} {surname}", f"{surname}, {given}", surname, surname.upper(), f"{given[0]}. {surname}")
    )


def _slip(name: str, rng: Random) -> str:
    """Swap, drop, double or replace one letter of a name, but not the first."""
    i = rng.randrange(1, len(name))
    return rng.choice(
        (
            name[: i - 1] + name[i] + name[i - 1] + name[i + 1 :] if i > 1 else name[:i] + name[i:][::-1],
            name[:i] + name[i + 1 :],
            name[:i] + name[i] + name[i:],
            name[:i] + rng.choice(_LETTERS) + name[i + 1 :],
        )
    )


def _surrogate(label: str, original: str, record: Record, lang: str, rng: Random) -> str:
    """Return the replacement of an identifier; "" for a tag."""
    if label in _PERSONS:
        return f"{record['given']} {record['surname']}" if " " in original else record["surname"]
    if label == "DATE":
        return _DATES[lang].format(date(1930, 1, 1) + timedelta(days=rng.randrange(34_000)))
    if label in _TOWNS:
        return record["city"]
    columns = {"PHONE": "phone", "EMAIL": "email", "STREET": "street", "ZIP": "zip", "MRN": "mrn"}
    return record.get(columns.get(label, ""), "")


# ---------------------------------------------------------------- measurement


@dataclass
class Pool:
    """The searched notes of a redaction style.

    counts (NDArray): counts of each note without and with a leak, with the columns of `Tally`. Shape
        (patients, `MOST`, 2, columns).
    planted, found (Counter): number of leaks, and of those with a hit at their position, by form.
    seconds (float): time of the searches.
    """

    counts: NDArray[np.int64]
    planted: Counter[str]
    found: Counter[str]
    seconds: float

    @property
    def notes(self) -> int:
        """Number of searched notes."""
        return int(np.prod(self.counts.shape[:3]))


def search_pool(world: World, store: Path, style: str, patients: int) -> Pool:
    """Generate the notes of a pool and search them as an audit does."""
    table, leaks = make_table(world, Random(f"{SEED}/{style}"), patients, style)
    start = time.process_time()
    reader = NoteReader(table, Columns(note_type=""), ("lang",), draws=5, seed=SEED)
    searcher = Searcher(store)
    reader.find_patients(searcher.knows)
    counts, planted, found = [], Counter[str](), Counter[str]()
    for note, _ in reader.read():
        result = searcher.search(note)
        counts.append(result.counts[ALL])
        if leak := leaks.get(note.row):
            planted[leak.form] += 1
            found[leak.form] += any(hit.start < leak.end and leak.start < hit.end for hit in result.hits)
    shape = (patients, MOST, 2, len(counts[0]))
    return Pool(np.array(counts, dtype=np.int64).reshape(shape), planted, found, time.process_time() - start)


@dataclass
class Outcome:
    """Results of simulated audits: the planted rate, the share of notes that leak, and the estimate of each."""

    rate: float
    audits: list[tuple[float, Rate]] = field(default_factory=list)

    @property
    def covered(self) -> float:
        """Share of the intervals that contain the planted rate."""
        return float(mean(result.interval[0] <= self.rate <= result.interval[1] for _, result in self.audits))

    def off(self, name: str) -> float:
        """Return the error of the mean of a figure."""
        return abs(float(mean(getattr(result, name) - share for share, result in self.audits)))


def simulate(pool: Pool, rate: float, size: tuple[int, int, int], runs: int, *, clustered: bool) -> Outcome:
    """Draw audits from a pool.

    pool (Pool): searched notes.
    rate (float): probability that a note leaks.
    size (tuple[int, int, int]): number of patients, and minimum and maximum number of notes of each.
    runs (int): number of audits.
    clustered (bool): whether all notes of a patient leak, or none.
    RETURNS (Outcome): the estimates.
    """
    patients, least, most = size
    rng = np.random.default_rng([SEED, round(1000 * rate), patients, clustered])
    outcome = Outcome(rate)
    for _ in range(runs):
        chosen = rng.integers(len(pool.counts), size=patients)
        leaking = rng.random((patients, 1 if clustered else MOST)) < rate
        leaking = np.broadcast_to(leaking, (patients, MOST))
        # The notes of a patient are a random selection of those in the pool.
        order = rng.random((patients, MOST)).argsort(axis=1)
        held = order < rng.integers(least, most + 1, size=patients)[:, None]
        notes = np.where(leaking[..., None], pool.counts[chosen, :, 1], pool.counts[chosen, :, 0])
        share = float((leaking & held).sum() / held.sum())
        outcome.audits.append((share, estimate((notes * held[..., None]).sum(axis=1))))
    return outcome


def make_pools(patients: int) -> dict[str, Pool]:
    """Build the dictionaries of a simulated hospital and search the notes of each redaction style."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mapping = write_tables(folder, 2 * patients, clinics=10, wards=10, staff=10)
        build_dictionary(read_mapping(mapping), folder / "store", folder / "report.json")
        world = World.read(folder, 1000, SEED)
        return {style: search_pool(world, folder / "store", style, patients) for style in STYLES}


Figure = tuple[str, float, float | None, Literal["higher", "lower"], str]


def coverage_figures(name: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield the figures of a pattern of leaks: name, value, target, direction, data."""
    *some, none = outcomes
    for outcome in some:
        about = f"{len(outcome.audits)} audits with {outcome.rate:.0%} of the notes leaking"
        yield f"by rate, {name}: share of intervals with the rate", outcome.covered, None, "higher", about
    rates = f"{len(some[0].audits)} audits for each of {len(some)} rates from {RATES[0]:.0%} to {RATES[-1]:.0%}"
    covered = [outcome.covered for outcome in some]
    yield f"{name}: least share of intervals with the rate", min(covered), COVERED, "higher", rates
    yield f"{name}: greatest share of intervals with the rate", max(covered), TOO_WIDE, "lower", rates
    yield f"{name}: leak rate is off by", max(one.off("leak_rate") for one in outcomes), OFF, "lower", rates
    yield f"{name}: share with a hit is off by", max(one.off("observed") for one in outcomes), None, "lower", rates
    without = f"{len(none.audits)} audits of notes that leak nothing"
    yield f"{name}: share of intervals with the rate", none.covered, COVERED, "higher", without


def figures(pools: Mapping[str, Pool], runs: int) -> Iterator[Figure]:
    """Yield all figures."""
    for (style, pool), (pattern, clustered), (about, size) in product(pools.items(), PATTERNS.items(), SIZES.items()):
        outcomes = [simulate(pool, rate, size, runs, clustered=clustered) for rate in (*RATES, 0.0)]
        yield from coverage_figures(f"{style}, {pattern}, {about}", outcomes)
    for form, target in FOUND.items():
        planted = sum(pool.planted[form] for pool in pools.values())
        found = sum(pool.found[form] for pool in pools.values())
        yield f"leaks found, {form}", found / planted, target, "higher", f"{planted} leaks"
    checks = sum(pool.counts[:, :, 0].sum(axis=(0, 1)) for pool in pools.values())
    tally = Tally(*checks.tolist())
    measured = "sensitivity to misspelt names, as measured by the audit"
    yield measured, tally.found / tally.planted, None, "higher", f"{tally.planted} planted names"
    speed = sum(pool.notes for pool in pools.values()) / sum(pool.seconds for pool in pools.values())
    yield "notes a second", speed, NOTES, "higher", "one core, five other patients a note"


def make_rows(pools: Mapping[str, Pool], runs: int) -> list[MetricRow]:
    """Convert figures to metric rows."""
    today, command = date.today().isoformat(), "python -m benchmarks.audit"
    return [
        MetricRow(name, round(value, 5), target, better, about, "simulated", command, today)
        for name, value, target, better, about in figures(pools, runs)
    ]


def main(
    runs: Annotated[int, typer.Option(help="Simulated audits per style, pattern of leaks, size and rate.")] = 1000,
    patients: Annotated[int, typer.Option(help="Patients in the pool.")] = 1800,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/audit.json"),
) -> None:
    """Measure the audit and write the metric rows."""
    rows = make_rows(make_pools(patients), runs)
    for metric in rows:
        mark = {True: "met", False: "NOT MET", None: ""}[metric.met]
        print(f"{metric.name:110} {metric.value:10.4f}  {mark}  {metric.data}")
    metrics.unlink(missing_ok=True)
    write_rows(metrics, rows)


if __name__ == "__main__":
    typer.run(main)
