"""``spacy-deid vault``: what stood where surrogates stand, for those who may know."""

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, Errors, InputError
from ..surrogates.keys import ProjectKey
from ..surrogates.salts import Salts
from ..surrogates.vault import Entry, Vault, check_apart
from .console import reporting
from .options import Overwrite

__all__ = ["vault"]

vault = typer.Typer(name="vault", no_args_is_help=True, help="The vault of originals. Every use is logged beside it.")

File = Annotated[Path, typer.Argument(help="The vault.")]
Key = Annotated[Path, typer.Option(help="File of the project key. It must not lie in the folder of the vault.")]
Patients = Annotated[list[str] | None, typer.Option("--patient", help="Id of a patient. May be given several times.")]


@vault.command(name="list")
def list_(
    file: File,
    key: Key,
    patients: Annotated[bool, typer.Option("--patients", help="By patient id instead of by label.")] = False,
) -> None:
    """Count the entries by label. No original is shown."""
    with reporting():
        counts: Counter[str] = Counter()
        found = _open(file, key).list()
        for (patient, label), number in found.items():
            counts[patient if patients else label] += number
        for name, number in sorted(counts.items()):
            typer.echo(f"{name}\t{number}")
        typer.echo(f"{sum(counts.values())} entries of {len({patient for patient, _ in found})} patient(s)")


@vault.command()
def export(
    file: File,
    key: Key,
    out: Annotated[Path, typer.Option(help="CSV file to write. Only you will be able to read it.")],
    patient: Annotated[str | None, typer.Option(help="Id of the only patient.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write originals and surrogates to a file."""
    with reporting():
        if out.exists() and not overwrite:
            raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
        entries = _open(file, key).export(patient)
        _write(out, entries)
        typer.echo(f"{len(entries)} entries in {out}")


@vault.command()
def purge(
    file: File,
    key: Key,
    patient: Patients = None,
    everything: Annotated[bool, typer.Option("--all", help="The entries of all patients.")] = False,
    salts: Annotated[
        Path | None, typer.Option(help="File of salts: the patients' are destroyed as well, if they have any.")
    ] = None,
) -> None:
    """Remove the entries of patients for good. With --salts nobody can make their surrogates again."""
    with reporting():
        if everything == bool(patient):
            names = {"first": "patient", "second": "all"}
            raise ConfigError(Errors.D412.format(**names) if patient else Errors.D411.format(option="patient"))
        opened = _open(file, key)
        destroyed = _purge_salts(salts, key, patient or []) if salts else 0
        removed = sum(map(opened.purge, patient)) if patient else opened.purge()
        typer.echo(f"{removed} entries removed" + (f", {destroyed} salt(s) destroyed" if salts else ""))


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


def _write(out: Path, entries: Sequence[Entry]) -> None:
    """Write a CSV file whole or not at all, for the owner alone."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows([Entry._fields, *entries])
    temporary = out.with_name(f".{out.name}.tmp")
    try:
        with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.getvalue().encode("utf-8", "surrogatepass"))
        os.replace(temporary, out)
    except OSError as error:
        raise InputError(Errors.D402.format(path=out, reason=os.strerror(error.errno or 0))) from None
