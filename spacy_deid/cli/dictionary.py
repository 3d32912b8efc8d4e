"""``spacy-deid dictionary``, ``medical`` and ``counts``: build the dictionaries of a hospital and of medicine."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..background.corpora import CorpusReader
from ..background.counts import LIMIT, PhraseCounts, count_phrases
from ..dictionaries.matcher import Match
from ..dictionaries.store import LocalStore
from ..ehr.builder import Settings
from ..ehr.builder import build_dictionary as build_local
from ..ehr.mapping import read_mapping
from ..ehr.report import BuildReport
from ..errors import ConfigError, Errors, InputError, printable
from ..io import write_whole
from ..medical.build import build_dictionary as build_terms
from ..medical.dictionary import KINDS, MedicalDictionary, MedicalTerm
from ..medical.harvest import Note
from ..medical.harvest import harvest as harvest_terms
from ..medical.terminologies import READERS, TerminologySource, read_terminology
from .console import reporting, say
from .options import Dictionaries, OutputFile, Overwrite, Processes, check_new

dictionary = typer.Typer(
    name="dictionary", no_args_is_help=True, help="Dictionaries of an institution and its patients."
)
medical = typer.Typer(name="medical", no_args_is_help=True, help="The dictionary of medical terms.")
counts = typer.Typer(name="counts", no_args_is_help=True, help="Counts of phrases in a background corpus.")

_PROCESSES = min(4, os.cpu_count() or 1)
_KIND_OF = {"rf2": "other"}  # default kind of terms; the full names of SNOMED concepts are in another file

Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="FORMAT[:KIND]=PATH",
        help=f"File of a terminology, can be given several times. Formats: {', '.join(READERS)}. Kind of its terms, "
        f"if the format does not say it: {', '.join(KINDS)}.",
    ),
]


@dictionary.command(name="build")
def build_dictionary(
    mapping: Annotated[Path, typer.Argument(help="TOML file that says which column of which table has what.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write the dictionaries to. Only you can read them.")
    ],
    limit: Annotated[
        float, typer.Option(min=0.0, help="A phrase with more occurrences per million words than this is ambiguous.")
    ] = LIMIT,
    background: Annotated[
        Path | None, typer.Option(help="Your own counts, from 'counts build', instead of the shipped counts.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Add to the existing dictionaries.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="With --update: first remove the terms of the patients in these tables.")
    ] = False,
    fuzzy: Annotated[
        bool,
        typer.Option(
            help="Also match misspelt and scanned names, nicknames and numbers in other groups of a patient."
        ),
    ] = True,
    n_process: Processes = _PROCESSES,
    report: Annotated[
        Path | None, typer.Option(help="JSON file for counts by column and reason. Default: OUTPUT-report.json.")
    ] = None,
) -> None:
    """Build dictionaries from CSV, Parquet or database tables. If a step fails, the old dictionaries stay."""
    with reporting():
        if replace and not update:
            raise ConfigError(Errors.D411.format(option="update"))
        phrases = PhraseCounts.from_file(background) if background else None
        target = report or output.with_name(f"{output.name}-report.json")
        settings = Settings(phrases, limit, update=update, replace=replace, fuzzy=fuzzy, processes=n_process)
        done = build_local(
            read_mapping(mapping), output, target, settings, lambda what, count: say(f"{what}: {count:,}")
        )
        _print_build(done)
        store = LocalStore.open(output)
        typer.echo(
            f"{store.counts['patients']} patient(s) with {store.counts['patient_terms']} terms and "
            f"{store.counts['institution_terms']} terms of the institution in {output}; report in {target}"
        )


@dictionary.command()
def show(folder: Annotated[Path, typer.Argument(help="Folder that 'dictionary build' wrote.")]) -> None:
    """Show counts and sources of dictionaries. No term and no patient id is shown."""
    with reporting():
        store = LocalStore.open(folder)
        for name in ("patients", "patient_terms", "institution_terms"):
            typer.echo(f"{name.replace('_', ' ')}: {store.counts[name]}")
        for name, where in store.manifest.get("sources", {}).items():
            typer.echo(printable(f"source {name}: {where}"))
        for name, table in store.manifest.get("tables", {}).items():
            typer.echo(f"table {name}: {table['rows']} row(s)")
        for rule, tally in store.manifest.get("columns", {}).items():
            skipped = sum(tally.get("skipped", {}).values())
            typer.echo(
                f"  {rule}: {tally['kind']} ({tally['label']}), {tally.get('used', 0)} value(s), {skipped} skipped"
            )


def _print_build(done: BuildReport) -> None:
    """Print how many values were used, skipped or found ambiguous."""
    skipped = sum(sum(tally.skipped.values()) for tally in done.columns.values())
    empty = sum(tally.skipped["empty"] for tally in done.columns.values())
    say(f"{done.used:,} values used, {empty:,} empty, {skipped - empty:,} skipped as no values")
    conditional = sum(tally.conditional for tally in done.columns.values())
    dropped = sum(tally.dropped for tally in done.columns.values())
    say(f"ambiguous: {conditional:,} forms of patients match only next to a name, {dropped:,} were dropped")
    if without_id := sum(done.without_id.values()):
        say(f"{without_id:,} row(s) without a patient id were skipped")
    if repeated := sum(done.repeated.values()):
        say(f"{repeated:,} row(s) repeat a patient id")


@medical.command(name="build")
def build_medical(
    lang: Annotated[str, typer.Argument(help="Language of the terms: en, es, fi or another code.")],
    output: OutputFile,
    source: Sources = None,
    base: Annotated[
        bool, typer.Option("--base/--no-base", help="Start from the shipped dictionary of the language.")
    ] = True,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the files. FDA files are read as Windows-1252.")
    ] = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Compile terminologies and the shipped lists into one medical dictionary."""
    with reporting():
        check_new(output, overwrite)
        start = MedicalDictionary.from_bytes(MedicalDictionary.load(lang).to_bytes()) if base else None
        readings: dict[str, TerminologySource] = {}
        sources = dict(_open_source(value, lang, encoding, readings) for value in source or [])
        built = build_terms(lang, sources, start)
        if not len(built):
            raise ConfigError(Errors.D709)
        write_whole(output, built.to_bytes())
        for name, number in built.manifest["sources"].items():
            typer.echo(f"{name}: {number} terms and forms{_describe_skipped(readings.get(name))}")
        typer.echo(f"{len(built)} in {output}")


def _open_source(
    value: str, lang: str, encoding: str, readings: dict[str, TerminologySource]
) -> tuple[str, Iterable[MedicalTerm]]:
    """Open a file of medical terms that ``--source`` names.

    value (str): value of ``--source``.
    lang (str): language of the terms.
    encoding (str): encoding of the file.
    readings (dict[str, TerminologySource]): gets a new entry: name of the file → counts of its rows and terms.
    RETURNS (tuple[str, Iterable[MedicalTerm]]): name of the file and its terms.
    RAISES: ConfigError for a wrong value (D708) or a second file of the same name (D707).
    """
    format_and_kind, equals, path = value.partition("=")
    format, _, kind = format_and_kind.partition(":")
    if not equals or format not in READERS or (kind and kind not in KINDS):
        raise ConfigError(Errors.D708.format(value=value, known=", ".join(READERS)))
    name = Path(path).name
    if name in readings:
        raise ConfigError(Errors.D707.format(path=path, reason="another source has the same name"))
    readings[name] = TerminologySource(lang, kind or _KIND_OF.get(format, "disease"), encoding)
    return name, read_terminology(format, Path(path), readings[name])


def _describe_skipped(reading: TerminologySource | None) -> str:
    """Describe how many terms and rows of a terminology were skipped, as the end of a message."""
    if reading is None:
        return ""
    row, reason = reading.first
    broken = f"; {reading.broken} of {reading.rows} rows skipped, first row {row}: {reason}" if reading.broken else ""
    return f" ({reading.left_out} left out{broken})"


@medical.command()
def harvest(
    notes: Annotated[list[Path], typer.Argument(metavar="PATH...", help=".jsonl or .csv files of notes, or folders.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    science: Annotated[Path, typer.Option(help="Counts of scientific text, from 'counts build'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write: terms and their counts.")],
    text_field: Annotated[str, typer.Option(help="Key or column of the text.")] = "text",
    patient_field: Annotated[str, typer.Option(help="Key or column of the patient's id.")] = "patient_id",
    min_patients: Annotated[int, typer.Option(min=1, help="Number of patients whose notes must have a phrase.")] = 10,
    min_science: Annotated[int, typer.Option(min=1, help="Number of occurrences in scientific text.")] = 1,
    dictionaries: Dictionaries = None,
    overwrite: Overwrite = False,
) -> None:
    """Collect the terms that the institution's notes share with scientific text, for 'medical build'."""
    with reporting():
        check_new(output, overwrite)
        reader = CorpusReader([text_field, patient_field])
        found = harvest_terms(
            _read_notes(reader, notes, text_field, patient_field),
            PhraseCounts.from_file(science),
            lang,
            min_patients=min_patients,
            min_science=min_science,
            identifiers=_find_identifiers(LocalStore.open(dictionaries)) if dictionaries else None,
        )
        write_whole(output, found.to_csv().encode())
        typer.echo(f"{len(found.taken)} terms from {found.notes} notes of {found.patients} patients in {output}")
        for reason, number in sorted(found.left.items()):
            typer.echo(f"left out: {number} ({reason})")
        _print_skipped(reader)


def _read_notes(reader: CorpusReader, paths: list[Path], text_field: str, patient_field: str) -> Iterator[Note]:
    """Yield the notes in files and folders with the ids of their patients."""
    for path in paths:
        for _, values in reader.read(path):
            yield Note(values[patient_field], values[text_field])


def _find_identifiers(store: LocalStore) -> Callable[[str, str], list[Match]]:
    """Make a function that finds the terms of the institution and of a patient in a text of this patient."""

    def find(patient: str, text: str) -> list[Match]:
        own = store.patient(patient)
        return [*store.institution.find(text), *(own.find(text) if own else ())]

    return find


@counts.command(name="build")
def build_counts(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help=".txt, .jsonl, .csv (also .gz, .bz2, .xz), or folders.")
    ],
    output: OutputFile,
    text_field: Annotated[str, typer.Option(help="Key or column of the text in .jsonl and .csv files.")] = "text",
    max_words: Annotated[int, typer.Option(min=1, max=8, help="Number of words of the longest phrases.")] = 3,
    limit: Annotated[
        int,
        typer.Option(min=1000, help="Number of phrases in memory, up to 50 bytes each. The rarest are dropped."),
    ] = 20_000_000,
    keep: Annotated[int | None, typer.Option(min=1, help="Write only this many phrases, the most frequent.")] = None,
    licence: Annotated[str, typer.Option(help="Licence of the corpus, which is written to the file.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Count the phrases of a corpus. It is read once, as a stream, in bounded memory."""
    with reporting():
        check_new(output, overwrite)
        reader = CorpusReader([text_field])
        counted = count_phrases(reader.texts(paths), max_words, limit)
        if not counted.total:
            raise InputError(Errors.D707.format(path=paths[0], reason="holds no words"))
        if keep:
            counted.keep(keep)
        counted.manifest = {"licence": licence, "sources": [path.name for path in paths]}
        counted.to_file(output)
        typer.echo(f"{len(counted)} phrases of {counted.total} words in {counted.texts} texts: {output}")
        typer.echo(f"each count is too low by at most {counted.error}")
        _print_skipped(reader)


def _print_skipped(reader: CorpusReader) -> None:
    """Print how many texts were skipped, by reason."""
    for reason, number in sorted(reader.skipped.items()):
        if number:
            typer.echo(f"skipped: {number} ({reason})")
