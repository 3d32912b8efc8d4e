"""Measure in which ways of writing the dictionaries find the names and numbers of a patient and of the institution.

    python -m benchmarks.dictionary_forms --corpus corpus/authored [--show]

Three measurements, each per language:

- *ways of writing*: patients and institutions are made from the name lists of the package and written in sentences in
  every way of the table. The lists are split in two halves by a hash of the name. The rules were written while looking
  at one half (``--half development``); the figures are those of the other half, which was never printed.
- *authored notes*: the persons declared in the header of each note are put into a dictionary, and the marked names of
  the note are searched for. The share of names that are covered completely, and the same without initials.
- *false alarms*: each authored note is searched with the dictionaries of ten other, random patients, one at a time,
  and with the institutions and the staff of the ways of writing. Matches that touch no marked identifier, per 1,000
  words and dictionary; those of misspelt, broken and shortened names separately. With a single patient a note, one
  match more or less would change the figure by .04.

Only counts leave this program. ``--show`` prints what was missed, and is refused for the half and the notes that are
kept out.
"""

import csv
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rapidfuzz.distance import OSA

from spacy_deid.background.counts import Ambiguity
from spacy_deid.dictionaries.matcher import FUZZY
from spacy_deid.dictionaries.normalise import normal_form, normalise
from spacy_deid.dictionaries.search import search_note
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import OWN_PREFIX, LocalEntry
from spacy_deid.ehr.builder import Settings, build_dictionary
from spacy_deid.ehr.expansion import Form, expand, expand_person
from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.medical.known_words import ordinary_words
from spacy_deid.synth.authored import AuthoredNote, Person, read_authored

from .ways_of_writing import ALL, OWN, SEED, Case, make_cases

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

TARGET, ALARMS = 0.95, 0.05
OTHERS = 10  # random patients with whose dictionaries a note is searched for false alarms
LANGS = ("en", "es", "fi")
HALVES = {"development": 0, "kept out": 1}

CARRIERS = {
    "es": (
        "Hoy {} refiere dolor lumbar.",
        "Se llama y {} está de acuerdo.",
        "{} acude por tos.",
        "Visto con {}, se cita.",
    ),
    "en": (
        "Today {} reports back pain.",
        "We rang and {} agrees.",
        "{} was seen for a cough.",
        "Seen with {}, will return.",
    ),
    "fi": ("Tänään {} kertoo kivusta.", "Soitettu ja {} suostuu.", "{} tuli yskän vuoksi.", "Sovittu että {} palaa."),
}
PROSE = {
    "es": "Buen estado general. No fiebre. Se pauta paracetamol y se revisa en una semana.",
    "en": "In good general condition. No fever. Started on paracetamol, to be reviewed in a week.",
    "fi": "Yleistila hyvä. Ei kuumetta. Aloitettu parasetamoli, kontrolli viikon kuluttua.",
}
COLUMNS = {
    "patients": {
        "given": "given",
        "surname": "surname",
        "surname2": "surname",
        "rel_given": "relative.given",
        "rel_surname": "relative.surname",
        "born": "birth_date",
        "mrn": "id:MRN",
        "national": "id:NATIONAL_ID",
        "phone": "phone",
        "email": "email",
        "street": "street",
        "zip": "zip",
        "city": "city",
    },
    "clinics": {"clinic": "clinic"},
    "staff": {"staff_given": "clinician.given", "staff_surname": "clinician.surname"},
}


def build(cases: Sequence[Case], folder: Path) -> LocalStore:
    """Write the tables of a record system and build its dictionaries."""
    rows = [
        {
            "id": f"p{c.number}",
            "given": c.given,
            "surname": c.surnames[0],
            "surname2": " ".join(c.surnames[1:]),
            "rel_given": c.relative[0],
            "rel_surname": c.relative[1],
            "born": c.born.isoformat(),
            **{name: getattr(c, name) for name in ("mrn", "national", "phone", "email", "street", "zip", "city")},
            "clinic": c.clinic,
            "staff_given": c.staff[0],
            "staff_surname": c.staff[1],
        }
        for c in cases
    ]
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    lines = [f'lang = "{cases[0].lang}"']
    for table, columns in COLUMNS.items():
        lines += [f'[sources.{table}]\npath = "rows.csv"', f'[tables.{table}]\nsource = "{table}"']
        lines += ['patient_id = "id"'] * (table == "patients")
        lines += [f"[tables.{table}.columns]", *(f'{name} = "{kind}"' for name, kind in columns.items())]
    (folder / "mapping.toml").write_text("\n".join(lines), encoding="utf-8")
    build_dictionary(read_mapping(folder / "mapping.toml"), folder / "local", folder / "report.json", Settings())
    return LocalStore.open(folder / "local")


def covers(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether every letter and digit of a range is in one of the spans."""
    held = {i for first, last in spans for i in range(first, last)}
    return all(i in held or not text[i].isalnum() for i in range(start, end))


def find(store: LocalStore, patient: str, text: str, lang: str) -> list[tuple[int, int, str]]:
    """Search a note as `deid_ruler` does with its default settings. RETURNS (list): start, end and rule."""
    words = ordinary_words(lang) if store.fuzzy else None
    return [
        (m.start, m.end, m.rule)
        for m in search_note(store, store.patient(patient), text, normalise(text), words, lang)
    ]


def measure_ways(lang: str, half: str, show: bool) -> Iterator[tuple[str, float, int]]:
    """Yield each way of writing, the share that is found completely, and the number of sentences."""
    cases = list(make_cases(lang, HALVES[half]))
    with tempfile.TemporaryDirectory() as name:
        store = build(cases, Path(name))
        for way, write in (OWN | ALL).items():
            rng = Random(f"{SEED}/{lang}/{way}")
            found = total = 0
            for case in cases:
                for carrier in rng.sample(CARRIERS[lang], 2):
                    written = write(case, rng)
                    sentence = carrier.format("\x00")
                    before, after = sentence.split("\x00")
                    text = f"{PROSE[lang]}\n{before}{written}{after} {PROSE[lang]}"
                    start = len(PROSE[lang]) + 1 + len(before)
                    spans = [
                        (a, b)
                        for a, b, rule in find(store, f"p{case.number}", text, lang)
                        if rule.startswith(OWN_PREFIX) == (way in OWN)
                    ]
                    if way == "staff, title and surname":
                        start += 4
                    hit = covers(text, start, len(PROSE[lang]) + 1 + len(before) + len(written), spans)
                    found += hit
                    total += 1
                    if show and not hit:
                        typer.echo(f"{lang}\t{way}\t{written!r}\t{before}_{after}")
            yield way, found / total, total


def declare(note: AuthoredNote) -> Iterator[LocalEntry]:
    """Yield the entries of the persons whom the header of a note declares."""
    words = Ambiguity.of(note.lang)

    def weak(form: Form) -> bool:
        return form.weak or words.is_weak_name(form.basis or form.text)

    for person in note.persons.values():
        parts = {"given": [" ".join(person.given)], "surname": [" ".join(person.surnames)]}
        parts = {kind: [value for value in values if value] for kind, values in parts.items()}
        forms = [form for kind, values in parts.items() for value in values for form in expand(kind, value, note.lang)]
        forms += expand_person({kind: values for kind, values in parts.items() if values}, note.lang)
        for form in forms:
            yield LocalEntry(
                form.text, "PATIENT", f"persons.{'given' if form in forms[:0] else 'name'}", "name" * weak(form)
            )


def kind_of(written: str, person: Person) -> str:
    """Name the way in which an authored note writes a name: by what its words have in common with the full name."""
    names = [
        word for name in (*person.given, *person.surnames) for word in normal_form(name).replace("'", " ").split()
    ]
    if "-\n" in written:
        return "broken at a line end"
    words = [word.strip(".,()\"'") for word in normal_form(written).split()]
    words = [word for word in words if word]
    if all(len(word) == 1 or word.isupper() for word in words) or re.fullmatch(r"(\w\.? ?-?){1,4}", written):
        return "initials"
    if any(any(char.isdigit() for char in word) for word in words):
        return "scanned"
    long = [word for word in words if len(word) > 2]
    if all(word in names for word in long):
        return "as declared, or in part"
    odd = [word for word in long if word not in names]
    if all(any(word.startswith(name[: max(3, len(name) - 2)]) for name in names) for word in odd):
        return "inflected or shortened"
    near = [min(OSA.distance(word, name) for name in names) if names else 9 for word in odd]
    return "misspelt" if max(near) <= 2 and min(map(len, odd)) > 4 else "nicknames and other forms"


def measure_notes(folder: Path, lang: str, split: str, show: bool) -> Iterator[tuple[str, float, int]]:
    """Yield ways of writing names, the share that is found, and their number, in the authored notes of a split."""
    notes = list(read_authored(folder / lang / split))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    alarms: Counter[str] = Counter()
    rng = Random(SEED)
    with tempfile.TemporaryDirectory() as name:
        with StoreWriter(Path(name) / "local") as writer:
            for note in notes:
                writer.add_patient(note.name, declare(note))
            writer.commit({"fuzzy": True})
        store = LocalStore.open(Path(name) / "local")
        words = 0
        for note in notes:
            spans = [(a, b) for a, b, _ in find(store, note.name, note.text, lang)]
            for mark in note.marks:
                person = note.persons.get(mark.key)
                if (
                    mark.label not in ("PATIENT", "RELATIVE")
                    or person is None
                    or len(person.surnames) + len(person.given) < 2
                ):
                    continue
                written = note.text[mark.start : mark.end]
                kind = kind_of(written, person)
                hit = covers(note.text, mark.start, mark.end, spans)
                for group in {kind, "all names"} | ({"all names but initials"} if kind != "initials" else set()):
                    counts[group][0] += hit
                    counts[group][1] += 1
                if show and not hit:
                    typer.echo(f"{lang}\t{kind}\t{written!r}\t{' '.join((*person.given, *person.surnames))}")
            words += len(note.text.split())
            marked = [(mark.start, mark.end) for mark in note.marks]
            for other in rng.sample([one for one in notes if one.brief != note.brief], OTHERS):
                for start, end, rule in find(store, other.name, note.text, lang):
                    if not any(start < last and first < end for first, last in marked):
                        alarms[FUZZY if rule.endswith(FUZZY) else "exact"] += 1
                        if show:
                            around = note.text[max(0, start - 20) : end + 20]
                            typer.echo(f"{lang}\talarm {rule}\t{note.text[start:end]!r}\t{around!r}")
    for kind, (found, total) in sorted(counts.items()):
        yield kind, found / total, total
    yield "false alarms per 1,000 words, misspelt or broken", 1000 * alarms[FUZZY] / words / OTHERS, words
    yield "false alarms per 1,000 words, as in the dictionary", 1000 * alarms["exact"] / words / OTHERS, words


def measure_institution(folder: Path, lang: str, split: str, half: str) -> tuple[str, float, int]:
    """Return the false alarms of misspelt terms of an institution in the authored notes, and the number of words."""
    notes = list(read_authored(folder / lang / split))
    with tempfile.TemporaryDirectory() as name:
        store = build(list(make_cases(lang, HALVES[half])), Path(name))
        alarms = 0
        for note in notes:
            matches = search_note(store, None, note.text, normalise(note.text), ordinary_words(lang), lang)
            fuzzy = [match for match in matches if match.rule.endswith(FUZZY)]
            alarms += sum(not any(m.start < mark.end and mark.start < m.end for mark in note.marks) for m in fuzzy)
    words = sum(len(note.text.split()) for note in notes)
    return "false alarms per 1,000 words, misspelt institutions and staff", 1000 * alarms / words, words


@app.command()
def main(
    corpus: Annotated[Path, typer.Option(help="Folder of the authored notes.")] = Path("corpus/authored"),
    half: Annotated[str, typer.Option(help="Half of the lists: 'kept out' or 'development'.")] = "kept out",
    split: Annotated[str, typer.Option(help="Authored notes: dev or train.")] = "dev",
    lang: Annotated[list[str] | None, typer.Option(help="Language to measure; all by default.")] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print what was missed; only for what is not kept out.")
    ] = False,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/dictionary_forms.json"),
) -> None:
    """Measure the ways of writing, the authored notes, and the false alarms."""
    if show and (half == "kept out" or split == "dev"):
        raise typer.BadParameter("--show needs --half development --split train")
    rows = []
    command = "python -m benchmarks.dictionary_forms"
    if half != "kept out" or split != "dev":
        command += f" --half '{half}' --split {split}"
    for code in lang or LANGS:
        row = partial(MetricRow, split=code, command=command, date=date.today().isoformat())
        for way, value, total in measure_ways(code, half, show):
            typer.echo(f"{code}  {way:50} {value:.3f}  of {total}")
            data = f"names of the package, half {half}"
            rows.append(row(f"way of writing: {way}", round(value, 4), TARGET, "higher", data))
        found = [*measure_notes(corpus, code, split, show), measure_institution(corpus, code, split, half)]
        for way, value, total in found:
            typer.echo(f"{code}  {split}: {way:50} {value:.3f}  of {total}")
            alarm = way.startswith("false alarms")
            target = (ALARMS if "misspelt" in way else None) if alarm else None
            better = "lower" if alarm else "higher"
            rows.append(row(f"authored notes: {way}", round(value, 4), target, better, f"authored notes, {split}"))
    write_rows(metrics, rows)


if __name__ == "__main__":
    app()
