"""``spacy-deid vault``: what stood where surrogates stand, for those who may know."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, Errors, InputError, printable
from ..io import whole_file
from ..surrogates.keys import ProjectKey
from ..vault.encryption import check_apart
from ..vault.salts import Salts
from ..vault.vault import Entry, Vault
from .console import reporting
from .options import Encoding, Overwrite, Paths, TextField
from .vault_reverse import Output, reverse_notes

__all__ = ["vault"]

vault = typer.Typer(name="vault", no_args_is_help=True, help="The vault of originals. Every use is logged beside it.")

File = Annotated[Path, typer.Argument(help="The vault.")]
Key = Annotated[Path, typer.Option(help="File of the vault's key. It must not lie in the folder of the vault.")]
Patients = Annotated[list[str] | None, typer.Option("--patient", help="Id of a patient. May be given several times.")]


@vault.command(name="open")
def open_(file: File, key: Key) -> None:
    """Make sure that a key opens a vault and that everything in it is as it was written."""
    with reporting():
        typer.echo(f"{_open(file, key).check()} note(s), all of them whole")


@vault.command(name="list")
def list_(
    file: File,
    key: Key,
    patients: Annotated[bool, typer.Option("--patients", help="By patient id instead of by label.")] = False,
) -> None:
    """Count what was changed by label. No original is shown."""
    with reporting():
        counts: Counter[str] = Counter()
        found = _open(file, key).list()
        for (patient, label), number in found.items():
            counts[patient if patients else label] += number
        for name, number in sorted(counts.items()):
            typer.echo(f"{printable(name)}\t{number}")
        typer.echo(f"{sum(counts.values())} change(s) in notes of {len({patient for patient, _ in found})} patient(s)")


@vault.command()
def export(
    file: File,
    key: Key,
    out: Annotated[Path, typer.Option(help="CSV file to write. Only you will be able to read it.")],
    patient: Annotated[str | None, typer.Option(help="Id of the only patient.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write originals and surrogates to a file, one change a row, with its place in the released note."""
    with reporting():
        if out.exists() and not overwrite:
            raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
        count = _write(out, _open(file, key).export(patient))
        typer.echo(f"{count} change(s) in {out}")


@vault.command()
def purge(
    file: File,
    key: Key,
    patient: Patients = None,
    everything: Annotated[bool, typer.Option("--all", help="The notes of all patients.")] = False,
    salts: Annotated[
        Path | None, typer.Option(help="File of salts: the patients' are destroyed as well, if they have any.")
    ] = None,
    salts_key: Annotated[
        Path | None, typer.Option(help="File of the project key, which seals the salts, if it is another one.")
    ] = None,
) -> None:
    """Remove the notes of patients for good. With --salts nobody can make their surrogates again."""
    with reporting():
        if everything == bool(patient):
            names = {"first": "patient", "second": "all"}
            raise ConfigError(Errors.D412.format(**names) if patient else Errors.D411.format(option="patient"))
        opened = _open(file, key)
        destroyed = _purge_salts(salts, salts_key or key, patient or []) if salts else 0
        removed = sum(map(opened.purge, patient)) if patient else opened.purge()
        typer.echo(f"{removed} note(s) removed" + (f", {destroyed} salt(s) destroyed" if salts else ""))


@vault.command()
def reverse(
    file: File,
    paths: Paths,
    key: Key,
    output: Output,
    encoding: Encoding = "utf-8",
    text_field: TextField = None,
    overwrite: Overwrite = False,
) -> None:
    """Turn released notes back into what they were, to the last byte. A note that was changed since is not."""
    with reporting():
        reverse_notes(_open(file, key), paths, output, encoding, text_field, overwrite)


def _open(file: Path, key: Path) -> Vault:
    """The vault, if its key lies elsewhere."""
    check_apart(file, key)
    return Vault.open(file, ProjectKey.from_file(key))


def _purge_salts(file: Path, key: Path, patients: Sequence[str]) -> int:
    """Destroy salts. All of them at once is what deleting the file is for."""
    if not patients:
        raise ConfigError(Errors.D412.format(first="salts", second="all"))
    check_apart(file, key)
    if not file.is_file():
        raise InputError(Errors.D402.format(path=file, reason="no such file or folder"))
    salts = Salts(file, ProjectKey.from_file(key))
    return sum(salts.purge(name) for name in patients)


def _write(out: Path, entries: Iterable[Entry]) -> int:
    """Write a CSV file whole or not at all, for the owner alone, and count its rows."""
    count = 0
    with whole_file(out) as part:
        part.chmod(0o600)
        with open(part, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["patient", "note", "row", "label", "start", "end", "original", "surrogate"])
            for entry in entries:
                count += len(entry.changes)
                rows.writerows(_rows(entry))
    return count


def _rows(entry: Entry) -> Iterator[tuple[str | int, ...]]:
    """The changes of a note, one a row; start and end are characters of the released text."""
    for start, label, original, surrogate in entry.changes:
        row = entry.row or ""
        yield entry.patient, entry.note, row, label, start, start + len(surrogate), original, surrogate
