"""``spacy-deid key`` and ``spacy-deid vault``: make keys, and restore or remove the originals of released notes."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, DeidError, Errors, InputError, printable
from ..io import Job, check_encoding, decode, encode, read_bytes, whole_file
from ..surrogates.keys import ProjectKey
from ..vault.encryption import check_apart
from ..vault.salts import Salts
from ..vault.vault import Entry, Vault
from .console import reporting, say
from .options import JSONL_HINT, Encoding, Overwrite, Paths, TextField, check_new, plan_notes
from .rows import BadRow, Row, cut, read_rows, write_row

_BATCH = 64  # notes that are reversed together

key = typer.Typer(name="key", no_args_is_help=True, help="Keys of surrogates and vaults.")
vault = typer.Typer(
    name="vault", no_args_is_help=True, help="The vault of originals. Every use is logged in a file beside it."
)

VaultFile = Annotated[Path, typer.Argument(metavar="VAULT", help="File of the vault.")]
VaultKey = Annotated[Path, typer.Option(help="File of the vault's key. It must be in another folder.")]
Patients = Annotated[list[str] | None, typer.Option("--patient", help="Id of a patient. Can be given several times.")]
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write to. Only you can read the files.")]


@key.callback()
def key_main() -> None:
    """Keys of surrogates and vaults."""


@key.command()
def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File to write. Only you can read it.")],
) -> None:
    """Make a new key. With it, and only with it, the same surrogates can be made again."""
    with reporting():
        made = ProjectKey.make()
        made.to_file(path)
        typer.echo(f"key {made.fingerprint} written to {path}. Store it apart from the notes, and keep a copy")


@vault.command(name="open")
def open_(file: VaultFile, vault_key: VaultKey) -> None:
    """Check that a key opens a vault and that all its entries are intact."""
    with reporting():
        typer.echo(f"{open_vault(file, vault_key).check()} note(s), all intact")


@vault.command(name="list")
def list_(
    file: VaultFile,
    vault_key: VaultKey,
    by_patient: Annotated[bool, typer.Option("--by-patient", help="Count by patient id instead of by label.")] = False,
) -> None:
    """Count the changes. No original is shown."""
    with reporting():
        counts: Counter[str] = Counter()
        found = open_vault(file, vault_key).list()
        for (patient, label), number in found.items():
            counts[patient if by_patient else label] += number
        for name, number in sorted(counts.items()):
            typer.echo(f"{printable(name)}\t{number}")
        typer.echo(f"{sum(counts.values())} change(s) in notes of {len({patient for patient, _ in found})} patient(s)")


@vault.command()
def export(
    file: VaultFile,
    vault_key: VaultKey,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write. Only you can read it.")],
    patient: Annotated[str | None, typer.Option(help="Id of the only patient to export.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write originals and surrogates to a file, one change per row, with its offsets in the released note."""
    with reporting():
        check_new(output, overwrite)
        count = write_changes(output, open_vault(file, vault_key).export(patient))
        typer.echo(f"{count} change(s) in {output}")


@vault.command()
def purge(
    file: VaultFile,
    vault_key: VaultKey,
    patient: Patients = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove the notes of all patients.")] = False,
    salts: Annotated[
        Path | None, typer.Option(help="File of salts, from which the salts of the patients are removed as well.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="File of the project key, which encrypts the salts. Default: the vault's key.")
    ] = None,
) -> None:
    """Remove the notes of patients for good. With --salts, their surrogates cannot be made again either."""
    with reporting():
        if everything == bool(patient):
            names = {"first": "patient", "second": "all"}
            raise ConfigError(
                Errors.D412.format(**names) if patient else Errors.D411.format(option="patient or --all")
            )
        opened = open_vault(file, vault_key)
        destroyed = purge_salts(salts, key or vault_key, patient or []) if salts else 0
        removed = sum(map(opened.purge, patient)) if patient else opened.purge()
        typer.echo(f"{removed} note(s) removed" + (f", {destroyed} salt(s) removed" if salts else ""))


@vault.command()
def reverse(
    file: VaultFile,
    paths: Paths,
    vault_key: VaultKey,
    output: OutputFolder,
    encoding: Encoding = "utf-8",
    text_field: TextField = None,
    overwrite: Overwrite = False,
) -> None:
    """Restore the originals of released notes, byte for byte. A note that was changed since then fails."""
    with reporting():
        opened, codec = open_vault(file, vault_key), check_encoding(encoding)
        suffixes, hint = ((".txt", ".jsonl"), " or .jsonl") if text_field else ((".txt",), JSONL_HINT)
        jobs, _ = plan_notes(paths, output, suffixes, lambda relative: [output / relative], hint, overwrite=overwrite)
        failed = []
        for job in jobs:
            try:
                reverse_file(opened, job, codec, text_field or "")
            except DeidError as error:
                failed.append(job)
                say(f"failed: {job.source}: {str(error).removeprefix(f'{job.source}: ')}")
        typer.echo(f"{len(jobs) - len(failed)} file(s) restored in {output}, {len(failed)} failed")
        if failed:
            raise typer.Exit(1)


def open_vault(file: Path, key: Path) -> Vault:
    """Open a vault. RAISES: ConfigError (D648) if its key is in the same folder, or as `Vault.open`."""
    check_apart(file, key)
    return Vault.open(file, ProjectKey.from_file(key))


def purge_salts(file: Path, key: Path, patients: Sequence[str]) -> int:
    """Remove the salts of patients from a file of salts. RETURNS (int): number of salts that were removed.

    RAISES: ConfigError (D412) for no patients: to remove all salts, delete the file.
    """
    if not patients:
        raise ConfigError(Errors.D412.format(first="salts", second="all"))
    check_apart(file, key)
    if not file.is_file():
        raise InputError(Errors.D402.format(path=file, reason="no such file or folder"))
    salts = Salts(file, ProjectKey.from_file(key))
    return sum(salts.purge(name) for name in patients)


def write_changes(path: Path, entries: Iterable[Entry]) -> int:
    """Write the changes in vault entries to a CSV file that only its owner can read. RETURNS (int): number of rows."""
    count = 0
    with whole_file(path) as part:
        part.chmod(0o600)
        with open(part, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["patient", "note", "row", "label", "start", "end", "original", "surrogate"])
            for entry in entries:
                count += len(entry.changes)
                for start, label, original, surrogate in entry.changes:  # offsets in the released text
                    place = (entry.patient, entry.note, entry.row or "", label, start, start + len(surrogate))
                    rows.writerow([*place, original, surrogate])
    return count


def reverse_file(vault: Vault, job: Job, encoding: str, text_field: str) -> None:
    """Write the original of a released file, completely or not at all, to a file that only its owner can read.

    RAISES: InputError if a note is not in the vault or was changed.
    """
    with whole_file(job.targets[-1]) as part:
        part.chmod(0o600)
        if job.source.suffix.lower() == ".jsonl":
            with open(part, "w", encoding=encoding, newline="") as file:
                file.writelines(reverse_rows(vault, job, encoding, text_field))
            return
        text, own = decode(read_bytes(job.source), encoding, str(job.source))
        (original,) = vault.reverse([(job.relative.as_posix(), 0, text)])
        if isinstance(original, InputError):
            raise original
        part.write_bytes(encode(original, own, str(job.source)))


def reverse_rows(vault: Vault, job: Job, encoding: str, text_field: str) -> Iterator[str]:
    """Restore the originals in the rows of a JSONL file.

    YIELDS (str): lines of the restored file.
    RAISES: InputError (D405) with the number of the row, if a row is invalid or its original cannot be restored.
    """

    def read() -> Iterator[Row]:
        for row in read_rows(job.source, text_field, encoding):
            if isinstance(row, BadRow):
                raise InputError(Errors.D405.format(row=row.number, reason=row.reason))
            yield row

    for batch in cut(read(), lambda row: len(row.text), batch_size=_BATCH, n_process=1):
        originals = vault.reverse([(job.relative.as_posix(), row.number, row.text) for row in batch])
        for row, original in zip(batch, originals, strict=True):
            if isinstance(original, InputError):
                raise InputError(Errors.D405.format(row=row.number, reason=original))
            yield write_row(row, {**row.record, text_field: original})
