"""``spacy-deid medical``: the dictionary of terms that are medicine, whoever they are named after."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..background.corpora import CorpusReader
from ..background.counts import PhraseCounts
from ..dictionaries.matcher import Match
from ..dictionaries.store import LocalStore
from ..errors import ConfigError, Errors, InputError
from ..io import write_whole
from ..medical.build import build_dictionary
from ..medical.dictionary import KINDS, MedicalDictionary, MedicalTerm
from ..medical.harvest import Harvest, Note
from ..medical.harvest import harvest as collect
from ..medical.terminologies import READERS, TerminologySource, read_terminology
from .console import reporting
from .options import Overwrite

__all__ = ["medical"]

medical = typer.Typer(name="medical", no_args_is_help=True, help="The dictionary of medical terms.")

_KIND_OF = {"rf2": "other"}  # of concepts whose full names stand in another file

Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="FORMAT[:KIND]=PATH",
        help=f"A terminology, once for each file. Formats: {', '.join(READERS)}. Kind of its terms where the format "
        f"does not say it: {', '.join(KINDS)}.",
    ),
]


@medical.command()
def build(
    lang: Annotated[str, typer.Argument(help="Language of the terms: en, es, fi or another code.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    source: Sources = None,
    base: Annotated[
        bool, typer.Option("--base/--no-base", help="Start from the dictionary that ships for the language.")
    ] = True,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the files. FDA files are read as Windows-1252.")
    ] = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Compile terminologies and the lists that ship into one medical dictionary."""
    with reporting():
        _refuse(out, overwrite)
        start = MedicalDictionary.from_bytes(MedicalDictionary.load(lang).to_bytes()) if base else None
        readings: dict[str, TerminologySource] = {}
        sources = {name: terms for value in source or [] for name, terms in [_open(value, lang, encoding, readings)]}
        dictionary = build_dictionary(lang, sources, start)
        if not len(dictionary):
            raise ConfigError(Errors.D709)
        write_whole(out, dictionary.to_bytes())
        for name, number in dictionary.manifest["sources"].items():
            typer.echo(f"{name}: {number} terms and forms{_account(readings.get(name))}")
        typer.echo(f"{len(dictionary)} in {out}")


@medical.command()
def harvest(
    notes: Annotated[list[Path], typer.Argument(metavar="PATH...", help=".jsonl or .csv files of notes, or folders.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    science: Annotated[Path, typer.Option(help="Counts of scientific text, from `spacy-deid counts build`.")],
    out: Annotated[Path, typer.Option(help="CSV file to write: terms and their counts.")],
    text_field: Annotated[str, typer.Option(help="Key or column of the text.")] = "text",
    patient_field: Annotated[str, typer.Option(help="Key or column of the patient's id.")] = "patient_id",
    patients: Annotated[int, typer.Option("--patients", min=1, help="Patients that must have a phrase.")] = 10,
    min_science: Annotated[int, typer.Option(min=1, help="How often it must stand in scientific text.")] = 1,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the institution's dictionaries of identifiers.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Collect the terms that the institution's notes share with scientific text, for `medical build`."""
    with reporting():
        _refuse(out, overwrite)
        reader = CorpusReader([text_field, patient_field])
        found = collect(
            _notes(reader, notes, text_field, patient_field),
            PhraseCounts.from_file(science),
            lang,
            min_patients=patients,
            min_science=min_science,
            identifiers=_identifiers(LocalStore.open(store)) if store else None,
        )
        write_whole(out, found.to_csv().encode())
        _report(found, reader, out)


def _open(
    value: str, lang: str, encoding: str, readings: dict[str, TerminologySource]
) -> tuple[str, Iterable[MedicalTerm]]:
    """Name and terms of a source, from what the option says; its account is put among the readings."""
    format_and_kind, equals, path = value.partition("=")
    format, _, kind = format_and_kind.partition(":")
    if not equals or format not in READERS or (kind and kind not in KINDS):
        raise ConfigError(Errors.D708.format(value=value, known=", ".join(READERS)))
    name = Path(path).name
    if name in readings:
        raise ConfigError(Errors.D707.format(path=path, reason="another source has the same name"))
    readings[name] = TerminologySource(lang, kind or _KIND_OF.get(format, "disease"), encoding)
    return name, read_terminology(format, Path(path), readings[name])


def _account(reading: TerminologySource | None) -> str:
    """What was skipped of a source."""
    if reading is None:
        return ""
    row, reason = reading.first
    broken = f"; {reading.broken} of {reading.rows} rows skipped, first row {row}: {reason}" if reading.broken else ""
    return f" ({reading.left_out} left out{broken})"


def _notes(reader: CorpusReader, paths: list[Path], text_field: str, patient_field: str) -> Iterator[Note]:
    """The notes of files and folders."""
    for path in paths:
        for _, values in reader.read(path):
            yield Note(values[patient_field], values[text_field])


def _identifiers(store: LocalStore) -> Callable[[str, str], list[Match]]:
    """What the dictionaries of identifiers find in a patient's note."""

    def find(patient: str, text: str) -> list[Match]:
        own = store.patient(patient)
        return [*store.institution.find(text), *(own.find(text) if own else ())]

    return find


def _report(found: Harvest, reader: CorpusReader, out: Path) -> None:
    """Say what was taken and what was not, by numbers."""
    typer.echo(f"{len(found.taken)} terms from {found.notes} notes of {found.patients} patients in {out}")
    for reason, number in sorted(found.left.items()):
        typer.echo(f"left out: {number} ({reason})")
    for reason, number in sorted(reader.skipped.items()):
        if number:
            typer.echo(f"skipped: {number} ({reason})")


def _refuse(out: Path, overwrite: bool) -> None:
    """Leave what is there."""
    if out.exists() and not overwrite:
        raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
