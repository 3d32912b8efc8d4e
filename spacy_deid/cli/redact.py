"""``spacy-deid redact``: notes in, de-identified notes out."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..errors import ConfigError, DeidError, Errors, InputError, printable
from ..io import Job, check_encoding, decode, encode, find_notes, only_run, plan, write_whole
from ..processes import Failure
from ..saving import fingerprint
from .batches import find_component, load_pipeline, point_in_force
from .console import progress, reporting, say, stoppable
from .documents import (
    DOCUMENTS,
    Codes,
    CodesOption,
    Columns,
    DocumentRedaction,
    FileMinutes,
    Files,
    Ocr,
    OcrLanguages,
    OcrOption,
    Pictures,
    PicturesOption,
    Unread,
    UnreadOption,
    VerifyOcr,
    VerifyOcrOption,
    document_settings,
    is_document,
    refuse_documents,
)
from .facts import Context, PatientIdFrom, RowFields, file_facts
from .llm import add_llm
from .options import (
    LLM,
    BatchSize,
    DateField,
    Dictionaries,
    Encoding,
    LLMAllow,
    LLMPrompt,
    NameField,
    OperatingPoint,
    OutputFolder,
    Overwrite,
    PatientField,
    Pipeline,
    Processes,
    RejectsFile,
    Resume,
    Review,
    ReviewBudget,
    SexField,
    Style,
    Surprisal,
    SurprisalModel,
    TextField,
    WithoutPatient,
)
from .redaction import Redaction, Tally, targets
from .review import add_surprisal, open_review
from .rows import open_rejects
from .surrogates import Key, SaltFile, check_secrets, give_key
from .vault_writing import VaultKey, VaultPath, open_vault

__all__ = ["redact"]


def redact(
    paths: Files,
    pipeline: Pipeline,
    output: OutputFolder = None,
    style: Annotated[Style | None, typer.Option(help="How replaced spans are written.")] = None,
    operating_point: OperatingPoint = None,
    dictionaries: Dictionaries = None,
    without_patient: WithoutPatient = None,
    patient_field: PatientField = None,
    date_field: DateField = None,
    name_field: NameField = None,
    sex_field: SexField = None,
    context: Context = None,
    key: Key = None,
    patient_id_from: PatientIdFrom = None,
    salts: SaltFile = None,
    vault: VaultPath = None,
    vault_key: VaultKey = None,
    policy: Annotated[str | None, typer.Option(help="What is done with each label: a name or a .toml file.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Write NAME.trace.json: why each span was changed.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write counts and versions as JSON, without file names.")] = None,
    surprisal: Surprisal = None,
    surprisal_model: SurprisalModel = None,
    llm: LLM = None,
    llm_prompt: LLMPrompt = None,
    llm_allow: LLMAllow = None,
    review: Review = None,
    review_budget: ReviewBudget = None,
    ocr_language: OcrLanguages = None,
    ocr: OcrOption = Ocr.auto,
    pictures: PicturesOption = Pictures.ocr,
    codes: CodesOption = Codes.remove,
    unread: UnreadOption = Unread.keep,
    verify_ocr: VerifyOcrOption = VerifyOcr.ocr,
    columns: Columns = None,
    file_minutes: FileMinutes = 30,
    encoding: Encoding = "utf-8",
    text_field: TextField = None,
    keep_field: Annotated[list[str] | None, typer.Option(help="Key of a JSONL row that is written as it is.")] = None,
    rejects: RejectsFile = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
) -> None:
    """De-identify notes: .txt files, JSONL files, documents, folders of them, or '-' for standard input.

    Documents are PDF, PNG, JPEG, TIFF, DOCX, ODT, RTF, HTML, EML, CSV, XLSX and Parquet: each becomes a file of its
    kind. Every file is written whole or not at all. The exit code is 1 if any file failed. Of a JSONL row only the
    note is written, and what --keep-field names, because nothing else in it is de-identified. Files and folders keep
    their names: rename those that name a patient first.
    """
    tally = Tally()
    told = partial(tell_stopped, tally, output, overwrite=overwrite, review=review)
    with reporting(), stoppable(told), ExitStack() as stack:
        check_options(
            paths,
            output,
            trace=trace,
            report=report,
            review=review,
            rejects=rejects,
            context=context,
            resume=resume,
            overwrite=overwrite,
        )
        check_secrets([key, salts, vault, vault_key], paths, output)
        fields = RowFields(patient_field, date_field, name_field, sex_field)
        if not text_field and (keep_field or any(fields)):
            raise ConfigError(Errors.D411.format(option="text-field, the key of the note in each row,"))
        name = check_encoding(encoding)
        jobs: list[Job] = []
        skipped = 0
        if output:
            # Before the pipeline is loaded: what is refused is refused at once.
            stack.enter_context(only_run(output))
            written, read = [report, review, rejects], [context, columns, key, salts, vault, vault_key]
            read += [Path(policy)] if policy else []
            jobs, skipped = plan_files(
                paths, output, text_field, trace, written, read, overwrite=overwrite, resume=resume
            )
        known = file_facts(patient_id_from, context)
        nlp = load_pipeline(pipeline, operating_point, dictionaries, without_patient)
        add_surprisal(nlp, surprisal, surprisal_model, review_budget, wanted=review is not None)
        add_llm(nlp, llm, llm_prompt, llm_allow)
        scans: dict[str, Any] = {"ocr": ocr, "pictures": pictures, "codes": codes, "unread": unread}
        settings = document_settings(nlp.lang, name, ocr_language, columns, n_process, **scans, verify_ocr=verify_ocr)
        stamp = configure(nlp, pipeline, style, policy, key, salts)
        if vault:
            refuse_documents(jobs)
        kept = open_vault(vault, vault_key, output)
        with open_review(review, review_budget) as found, open_rejects(rejects) as bad_rows:
            redaction = Redaction(
                nlp,
                stamp,
                name,
                text_field or "",
                keep_field or (),
                fields,
                trace,
                found,
                known,
                kept,
                rejects=bad_rows,
                tally=tally,
                batch_size=batch_size,
                n_process=n_process,
            )
            if not output:
                return redact_stream(redaction)
            redaction.tally.skipped = skipped
            with progress(len(jobs)) as bar:
                redaction.run([job for job in jobs if not is_document(job)], bar)
                DocumentRedaction(redaction, settings, file_minutes).run(
                    [job for job in jobs if is_document(job)], bar
                )
        finish(redaction, output, report)


def check_options(
    paths: list[Path],
    output: Path | None,
    *,
    trace: bool,
    report: Path | None,
    review: Path | None,
    rejects: Path | None,
    context: Path | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """Make sure that the options go together. RAISES: ConfigError (D402, D410 – D412)."""
    for second, wanted in (("overwrite", overwrite), ("review", review)):  # of some notes would look like of all
        if resume and wanted:
            raise ConfigError(Errors.D412.format(first="resume", second=second))
    if Path("-") in paths:
        given = {
            "output": output,
            "trace": trace,
            "report": report,
            "review": review,
            "rejects": rejects,
            "context": context,
        }
        used = [option for option, value in given.items() if value]
        if used or len(paths) > 1:
            raise ConfigError(Errors.D410.format(option=(used or ["output"])[0]))
    elif output is None:
        raise ConfigError(Errors.D411.format(option="output"))
    elif output.exists() and not output.is_dir():
        raise ConfigError(Errors.D402.format(path=output, reason="not a folder"))


def plan_files(
    paths: list[Path],
    output: Path,
    text_field: str | None,
    trace: bool,
    shared: Sequence[Path | None],
    inputs: Sequence[Path | None],
    *,
    overwrite: bool,
    resume: bool,
) -> tuple[list[Job], int]:
    """Decide what is read and written; see `io.plan`."""
    suffixes = (".txt", *DOCUMENTS, *([".jsonl"] if text_field else []))
    notes, others = find_notes(paths, suffixes, skip=output)
    if not notes:
        hint = " or .jsonl" if text_field else " (.jsonl files need --text-field)"
        raise InputError(Errors.D406.format(count=others, jsonl=hint))
    if others:
        say(f"{others} other file(s) left alone")
    return plan(
        notes,
        lambda relative: targets(output, relative, trace),
        shared=[path for path in shared if path],
        inputs=[path for path in inputs if path],
        overwrite=overwrite,
        resume=resume,
    )


def configure(
    nlp: Language,
    pipeline: str,
    style: str | None,
    policy: str | None,
    key: Path | None = None,
    salts: Path | None = None,
) -> dict[str, Any]:
    """Set style, policy, key and salts of a pipeline, and say what decides."""
    surrogate = find_component(nlp, "deid_surrogate", pipeline)
    if style:
        surrogate.set_style(str(style))
    if policy:
        surrogate.set_policy(policy)
    give_key(surrogate, key, salts)
    meta = {"name": f"{nlp.lang}_{nlp.meta['name']}", "version": nlp.meta["version"], "fingerprint": fingerprint(nlp)}
    versions = {"spacy_deid": __version__, "spacy": spacy_version}
    return {
        "pipeline": meta,
        **versions,
        **point_in_force(nlp),
        "policy": surrogate.policy.name,
        "style": surrogate.style_name,
    }


def redact_stream(redaction: Redaction) -> None:
    """Read a note from standard input and write it to standard output, which gets nothing else."""
    name = "standard input"
    text, encoding = decode(typer.get_binary_stream("stdin").read(), redaction.encoding, name)
    with redaction.workers:
        (result,) = redaction.release([text])
    if isinstance(result, Failure):
        raise DeidError(Errors.D402.format(path=name, reason=result.reason))
    redaction.tally.warn(name, result.warnings)
    stdout = typer.get_binary_stream("stdout")
    stdout.write(encode(result.text, encoding, name))
    stdout.flush()


def tell_stopped(tally: Tally, output: Path | None, *, overwrite: bool, review: Path | None) -> str:
    """Say what a run that was stopped has written, and how to go on."""
    if output is None or not tally.written:
        return "stopped: nothing was written"
    again = "Run the command again" if overwrite else "Run it again with --resume to do the others"
    if review and not overwrite:
        again = "Run it again with --overwrite, because --review needs all notes"
    return f"stopped: {tally.written} file(s) written to {output}, {len(tally.failed)} failed. {again}"


def finish(redaction: Redaction, output: Path, report: Path | None) -> None:
    """Say what came of it. RAISES: typer.Exit(1) if a file or row failed."""
    tally = redaction.tally
    files = {"written": tally.written, "failed": len(tally.failed), "skipped": tally.skipped}
    failed_rows = redaction.rejects.count
    if report:
        counts = {
            "files": files,
            "notes": tally.notes,
            "failed_rows": failed_rows,
            "labels": dict(sorted(tally.labels.items())),
        }
        if tally.recovered:
            counts["recovered"] = dict(sorted(tally.recovered.items()))
        if tally.warnings:
            counts["with_warnings"] = tally.warned
            counts["warnings"] = dict(sorted(tally.warnings.items()))
        if tally.identities:
            counts["identities"] = dict(sorted(tally.identities.items()))
            counts["no_surrogate"] = dict(sorted(tally.fallbacks.items()))
        if tally.dictionaries:
            counts["dictionaries"] = dict(sorted(tally.dictionaries.items()))
        write_whole(report, (json.dumps({**redaction.stamp, **counts}, indent=2) + "\n").encode("utf-8"))
    redaction.rejects.summarize()
    if alike := redaction.alike.describe():
        say(f"warning: {alike}")
    absent = [key for key, count in tally.lacking.items() if count == tally.rows]
    for key, count in sorted(tally.lacking.items()):
        say(f"warning: {count} of {tally.rows} row(s) have no '{key}', which --keep-field names")
    if tally.warned:
        say(f"{tally.warned} note(s) or document(s) with warnings: look at them before you pass them on")
    for path, reason in tally.failed:
        say(f"failed: {path}: {reason}")
    for used, count in sorted(tally.dictionaries.items()):
        if used.startswith("institution: "):
            say(f"{count} note(s) searched without their patient's terms: {used.removeprefix('institution: ')}")
    if redaction.review:
        say(f"{redaction.review.spans} span(s) to look at")
    if tally.fallbacks:
        say(f"{tally.fallbacks.total()} span(s) with their tag: no surrogate could be made")
    spans = tally.labels.total()
    where = printable(str(output))
    typer.echo(
        f"{tally.written} file(s) with {tally.notes} note(s) written to {where}, {spans} span(s) changed; "
        f"{tally.skipped} skipped, {len(tally.failed)} failed" + (f"; {failed_rows} row(s) failed" * (failed_rows > 0))
    )
    if tally.failed or failed_rows or absent:
        raise typer.Exit(1)
