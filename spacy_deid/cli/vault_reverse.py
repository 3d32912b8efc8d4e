"""``spacy-deid vault reverse``: released notes turned back, by the vault that kept what they were."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..errors import DeidError, Errors, InputError
from ..io import Job, check_encoding, decode, encode, find_notes, plan, read_bytes, whole_file
from ..vault.vault import Vault
from .batches import cut
from .console import say
from .options import Encoding, Overwrite, Paths, TextField
from .rows import BadRow, Row, read_rows, write_row

__all__ = ["Output", "reverse_notes"]

Output = Annotated[Path, typer.Option(help="Folder to write to; only you will be able to read the files.")]
_BATCH = 64


def reverse_notes(
    vault: Vault, paths: Paths, output: Path, encoding: Encoding, text_field: TextField, overwrite: Overwrite
) -> None:
    """Turn released notes back, each file whole or not at all.

    vault (Vault): the vault.
    paths (list[Path]): released .txt and .jsonl files, and folders of them.
    output (Path): the folder to write to.
    encoding (str): encoding of the notes.
    text_field (Optional[str]): key of the note in the rows of a JSONL file.
    overwrite (bool): whether files that are there may be replaced.
    RAISES: InputError as `io.find_notes` and `io.plan`; typer.Exit(1) if a file failed.
    """
    codec = check_encoding(encoding)
    notes, others = find_notes(paths, (".txt", ".jsonl") if text_field else (".txt",), skip=output)
    if not notes:
        hint = " or .jsonl" if text_field else " (.jsonl files need --text-field)"
        raise InputError(Errors.D406.format(count=others, jsonl=hint))
    jobs, _ = plan(notes, lambda relative: [output / relative], overwrite=overwrite)
    failed = []
    for job in jobs:
        try:
            _reverse(vault, job, codec, text_field)
        except DeidError as error:
            failed.append(job)
            say(f"failed: {job.source}: {str(error).removeprefix(f'{job.source}: ')}")
    typer.echo(f"{len(jobs) - len(failed)} file(s) turned back in {output}, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)


def _reverse(vault: Vault, job: Job, encoding: str, text_field: str | None) -> None:
    """Turn a file back."""
    with whole_file(job.targets[-1]) as part:
        part.chmod(0o600)
        if job.source.suffix.lower() == ".jsonl":
            with open(part, "w", encoding=encoding, newline="") as file:
                file.writelines(_lines(vault, job, encoding, text_field or ""))
            return
        text, own = decode(read_bytes(job.source), encoding, str(job.source))
        (original,) = vault.reverse([(job.relative.as_posix(), 0, text)])
        if isinstance(original, InputError):
            raise original
        part.write_bytes(encode(original, own, str(job.source)))


def _lines(vault: Vault, job: Job, encoding: str, text_field: str) -> Iterator[str]:
    """The rows of a JSONL file, with the notes as they were."""
    rows = (_require(row) for row in read_rows(job.source, text_field, encoding))
    for batch in cut(rows, lambda row: len(row.text), batch_size=_BATCH, n_process=1):
        originals = vault.reverse([(job.relative.as_posix(), row.number, row.text) for row in batch])
        for row, original in zip(batch, originals, strict=True):
            if isinstance(original, InputError):
                raise InputError(Errors.D405.format(row=row.number, reason=original))
            yield write_row(row, {**row.record, text_field: original})


def _require(row: Row | BadRow) -> Row:
    """Make sure that a row could be read. RAISES: InputError (D405)."""
    if isinstance(row, BadRow):
        raise InputError(Errors.D405.format(row=row.number, reason=row.reason))
    return row
