"""``spacy-deid redact``: de-identify notes and documents."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, printable
from ..io import Job, check_encoding, decode, encode, only_run, write_whole
from ..vault.vault import Vault
from .console import progress, reporting, say, stoppable
from .ehr_context import ContextOptions
from .options import (
    JSONL_HINT,
    BatchSize,
    ConfigFile,
    DetectionOptions,
    DocumentOptions,
    Encoding,
    Overwrite,
    Processes,
    ReleaseOptions,
    Resume,
    TextField,
    check_secrets,
    grouped,
    plan_notes,
)
from .redaction import DOCUMENTS, RedactionRun, Tally, is_document, open_review, target_files
from .rows import open_rejects


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Options of a command: how notes are read."""

    panel: ClassVar[str] = "Input"

    encoding: Encoding = "utf-8"
    text_field: TextField = None
    keep_field: Annotated[
        list[str] | None, typer.Option(help="Another key of a JSONL row to write. It is not de-identified.")
    ] = None


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options of a command: what is written, and where."""

    panel: ClassVar[str] = "Output"

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to. It gets the tree of the input folder.")
    ] = None
    trace: Annotated[
        bool, typer.Option("--trace", help="Write NAME.trace.json for each file: why each span was changed.")
    ] = False
    report: Annotated[Path | None, typer.Option(help="JSON file for counts and versions. It names no file.")] = None
    rejects: Annotated[
        Path | None,
        typer.Option(help="JSONL file for the rows that failed: file, row and reason, no text. Default: stderr."),
    ] = None
    review: Annotated[
        Path | None,
        typer.Option(help="JSONL file for spans that a person should check: offsets and scores, no text."),
    ] = None
    review_budget: Annotated[
        float | None,
        typer.Option(min=0, help="Spans to review per 1,000 words, the best of all notes. Default: some per note."),
    ] = None
    overwrite: Overwrite = False
    resume: Resume = False

    @property
    def files(self) -> list[Path]:
        """The files that are written once for all notes together: report, review and rejects."""
        return [path for path in (self.report, self.review, self.rejects) if path]


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """Options of a command: how the work is shared among processes."""

    panel: ClassVar[str] = "Processes"

    batch_size: BatchSize = 64
    n_process: Processes = 1


@grouped
def redact(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, folders, or '-' for a note from standard input.")
    ],
    detection: DetectionOptions,
    release: ReleaseOptions,
    output: OutputOptions,
    inputs: InputOptions,
    context: ContextOptions,
    documents: DocumentOptions,
    processes: ProcessOptions,
    config: ConfigFile = None,
) -> None:
    """De-identify notes: .txt files, JSONL files, documents, folders of them, or '-' for standard input.

    Documents are PDF, PNG, JPEG, TIFF, DOCX, ODT, RTF, HTML, EML, CSV, XLSX and Parquet files. Each gives a file of
    the same kind. A file is written completely or not at all, and the exit code is 1 if any file failed. Of a JSONL
    row only the note and the keys of --keep-field are written, because nothing else in it is de-identified. Files and
    folders keep their names: rename those that contain a patient's name first.
    """
    tally = Tally()
    with reporting(), stoppable(partial(describe_stop, tally, output)), ExitStack() as stack:
        check_options(paths, output, inputs, context)
        secrets = [release.key, release.salts, release.vault, release.vault_key]
        check_secrets(secrets, paths, output.output)
        encoding = check_encoding(inputs.encoding)
        jobs: list[Job] = []
        if output.output:  # before the pipeline is loaded, so that a wrong path is reported at once
            stack.enter_context(only_run(output.output))
            policy = Path(release.policy) if release.policy else None
            read = [path for path in (*secrets, context.context, documents.columns, policy, config) if path]
            jobs, tally.skipped = plan_files(paths, output, inputs, read)
        run = RedactionRun(
            make_deidentifier(detection, release, output, documents, encoding),
            encoding,
            inputs.text_field or "",
            inputs.keep_field or (),
            context.fields,
            context.read(),
            output.trace,
            vault=open_vault(release, output.output, jobs),
            batch_size=processes.batch_size,
            n_process=processes.n_process,
            file_minutes=documents.file_minutes,
            tally=tally,
        )
        if not output.output:
            return redact_stream(run)
        with (
            open_review(output.review, output.review_budget) as run.review,
            open_rejects(output.rejects) as run.rejects,
            progress(len(jobs)) as bar,
        ):
            run.run(jobs, bar)
        finish(run, output)


def make_deidentifier(
    detection: DetectionOptions,
    release: ReleaseOptions,
    output: OutputOptions,
    documents: DocumentOptions,
    encoding: str,
) -> Deidentifier:
    """Make the deidentifier of a run. RAISES: ConfigError as `Deidentifier` does."""
    deid = Deidentifier(
        detection.pipeline,
        **detection.settings(output.review_budget),
        policy=release.policy,
        style=release.style,
        key=release.key,
        salts=release.salts,
        review=output.review is not None,
    )
    deid.documents = documents.settings(deid.nlp.lang or "", encoding)
    _ = deid.provenance  # computed now, before the pipeline processes notes
    return deid


def check_options(paths: list[Path], output: OutputOptions, inputs: InputOptions, context: ContextOptions) -> None:
    """Check that the options can be combined. RAISES: ConfigError (D402, D410 - D412)."""
    # after --resume, a review of some notes would look like a review of all notes
    for second, given in (("overwrite", output.overwrite), ("review", output.review)):
        if output.resume and given:
            raise ConfigError(Errors.D412.format(first="resume", second=second))
    if Path("-") in paths:
        names = ("output", "trace", "report", "review", "rejects")
        used = [name for name in names if getattr(output, name)] + ["context"] * bool(context.context)
        if used or len(paths) > 1:
            raise ConfigError(Errors.D410.format(option=(used or ["output"])[0]))
    elif output.output is None:
        raise ConfigError(Errors.D411.format(option="output"))
    elif output.output.exists() and not output.output.is_dir():
        reason = "not a folder. Choose another one with --output"
        raise ConfigError(Errors.D402.format(path=output.output, reason=reason))
    if not inputs.text_field and (inputs.keep_field or any(context.fields)):
        raise ConfigError(Errors.D411.format(option="text-field, the key of the note in each row,"))


def plan_files(
    paths: list[Path], output: OutputOptions, inputs: InputOptions, read: list[Path]
) -> tuple[list[Job], int]:
    """Decide which files are read and written; see `plan_notes`. The files in `read` are not overwritten."""
    folder = output.output or Path()
    return plan_notes(
        paths,
        folder,
        (".txt", *DOCUMENTS, *([".jsonl"] if inputs.text_field else [])),
        lambda relative: target_files(folder, relative, output.trace),
        " or .jsonl" if inputs.text_field else JSONL_HINT,
        shared=output.files,
        inputs=read,
        overwrite=output.overwrite,
        resume=output.resume,
    )


def open_vault(release: ReleaseOptions, output: Path | None, jobs: list[Job]) -> Vault | None:
    """Open the vault of a run, or create it.

    RETURNS (Optional[Vault]): the vault; None without ``--vault``.
    RAISES: ConfigError if an option is missing (D410, D411), if there are documents, which cannot be reversed (D790),
        if vault and key are in one folder (D648), or if the key is wrong (D640 - D642, D647).
    """
    path, key = release.vault, release.vault_key
    if path is None or key is None:
        if path or key:
            raise ConfigError(Errors.D411.format(option="vault-key" if path else "vault"))
        return None
    for job in filter(is_document, jobs):
        raise ConfigError(Errors.D790.format(path=job.source))
    if output is None:
        raise ConfigError(Errors.D410.format(option="vault"))
    return Vault.open_or_create(path, key)


def redact_stream(run: RedactionRun) -> None:
    """De-identify a note from standard input and write only the released note to standard output."""
    name = "standard input"
    text, encoding = decode(typer.get_binary_stream("stdin").read(), run.encoding, name)
    (result,) = run.pipe([text], [{}])
    if not result.ok:
        raise DeidError(Errors.D402.format(path=name, reason=result.reason))
    run.tally.show_warnings(name, result.warnings)
    stdout = typer.get_binary_stream("stdout")
    stdout.write(encode(result.text, encoding, name))
    stdout.flush()


def describe_stop(tally: Tally, output: OutputOptions) -> str:
    """Return a message that says what an interrupted run has written and how to continue it."""
    if output.output is None or not tally.written:
        return "stopped: nothing was written"
    again = "Run the command again" if output.overwrite else "Run it again with --resume to do the others"
    if output.review and not output.overwrite:
        again = "Run it again with --overwrite, because --review needs all notes"
    return f"stopped: {tally.written} file(s) written to {output.output}, {len(tally.failed)} failed. {again}"


def finish(run: RedactionRun, output: OutputOptions) -> None:
    """Write the report and print the summary. RAISES: typer.Exit(1) if a file or row failed."""
    tally, failed_rows = run.tally, run.rejects.count
    if output.report:
        report = {**run.deid.provenance, **tally.report(failed_rows)}
        write_whole(output.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
    run.rejects.summarize()
    if similar := run.similar_ids.describe():
        say(f"warning: {similar}")
    for key, count in sorted(tally.missing_keys.items()):
        say(f"warning: {count} of {tally.rows} row(s) have no key '{key}' (--keep-field)")
    if tally.with_warnings:
        say(f"{tally.with_warnings} note(s) or document(s) with warnings: check them before you release them")
    for path, reason in tally.failed:
        say(f"failed: {path}: {reason}")
    for used, count in sorted(tally.dictionaries.items()):
        if used.startswith("institution: "):
            reason = used.removeprefix("institution: ")
            say(f"{count} note(s) searched without the terms of their patient: {reason}")
    if run.review:
        say(f"{len(run.review.choose())} span(s) to review")
    if tally.fallbacks:
        say(f"{tally.fallbacks.total()} span(s) replaced by a tag: no surrogate could be made")
    typer.echo(
        f"{tally.written} file(s) with {tally.notes} note(s) written to {printable(str(output.output))}, "
        f"{tally.labels.total()} span(s) changed; {tally.skipped} skipped, {len(tally.failed)} failed"
        + (f"; {failed_rows} row(s) failed" if failed_rows else "")
    )
    if tally.failed or failed_rows or tally.rows in tally.missing_keys.values():
        raise typer.Exit(1)
