"""``spacy-deid redact``: notes in, de-identified notes out."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..errors import ConfigError, DeidError, Errors, InputError
from ..io import Job, check_encoding, decode, encode, find_notes, plan, write_whole
from ..saving import fingerprint
from .batches import Failure, find_component, load_pipeline, point_in_force
from .console import progress, reporting, say
from .documents import (
    DOCUMENTS,
    Columns,
    DocumentRedaction,
    FileMinutes,
    Files,
    OcrLanguages,
    Pictures,
    PicturesOption,
    document_settings,
    is_document,
    refuse_documents,
)
from .llm import add_llm
from .options import (
    LLM,
    BatchSize,
    Dictionaries,
    Encoding,
    LLMAllow,
    LLMPrompt,
    OperatingPoint,
    OutputFolder,
    Overwrite,
    PatientField,
    Pipeline,
    Processes,
    Resume,
    Review,
    ReviewBudget,
    Style,
    Surprisal,
    SurprisalModel,
    TextField,
)
from .redaction import Redaction, targets
from .review import add_surprisal, open_review
from .surrogates import Key, PatientIdFrom, SaltFile, give_key
from .vault_writing import VaultKey, VaultPath, open_vault

__all__ = ["redact"]


def redact(
    paths: Files,
    pipeline: Pipeline,
    output: OutputFolder = None,
    style: Annotated[Style | None, typer.Option(help="How replaced spans are written.")] = None,
    operating_point: OperatingPoint = None,
    dictionaries: Dictionaries = None,
    patient_field: PatientField = None,
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
    columns: Columns = None,
    pictures: PicturesOption = Pictures.ocr,
    file_minutes: FileMinutes = 30,
    encoding: Encoding = "utf-8",
    text_field: TextField = None,
    keep_field: Annotated[list[str] | None, typer.Option(help="Key of a JSONL row that is written as it is.")] = None,
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
    with reporting():
        check_options(paths, output, trace=trace, report=report, review=review, resume=resume, overwrite=overwrite)
        name = check_encoding(encoding)
        jobs: list[Job] = []
        skipped = 0
        if output:
            # Before the pipeline is loaded: what is refused is refused at once.
            jobs, skipped = plan_files(
                paths, output, text_field, trace, [report, review], overwrite=overwrite, resume=resume
            )
        nlp = load_pipeline(pipeline, operating_point, dictionaries)
        add_surprisal(nlp, surprisal, surprisal_model, review_budget, wanted=review is not None)
        add_llm(nlp, llm, llm_prompt, llm_allow)
        reading = document_settings(nlp.lang, name, ocr_language, columns, pictures, n_process)
        stamp = configure(nlp, pipeline, style, policy, key, salts)
        if vault:
            refuse_documents(jobs)
        kept = open_vault(vault, vault_key, output)
        with open_review(review, review_budget) as found:
            redaction = Redaction(
                nlp,
                stamp,
                name,
                text_field or "",
                keep_field or (),
                patient_field,
                trace,
                found,
                patient_id_from,
                kept,
                batch_size=batch_size,
                n_process=n_process,
            )
            if not output:
                return redact_stream(redaction)
            redaction.tally.skipped = skipped
            with progress(len(jobs)) as bar:
                redaction.run([job for job in jobs if not is_document(job)], bar)
                DocumentRedaction(redaction, reading, file_minutes).run([job for job in jobs if is_document(job)], bar)
        finish(redaction, output, report)


def check_options(
    paths: list[Path],
    output: Path | None,
    *,
    trace: bool,
    report: Path | None,
    review: Path | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """Make sure that the options go together. RAISES: ConfigError (D402, D410 – D412)."""
    for second, wanted in (("overwrite", overwrite), ("review", review)):  # of some notes would look like of all
        if resume and wanted:
            raise ConfigError(Errors.D412.format(first="resume", second=second))
    if Path("-") in paths:
        given = {"output": output, "trace": trace, "report": report, "review": review}
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
    shared: list[Path | None],
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
    (result,) = redaction.release([text])
    if isinstance(result, Failure):
        raise DeidError(Errors.D402.format(path=name, reason=result.reason))
    stdout = typer.get_binary_stream("stdout")
    stdout.write(encode(result.text, encoding, name))
    stdout.flush()


def finish(redaction: Redaction, output: Path, report: Path | None) -> None:
    """Say what came of it. RAISES: typer.Exit(1) if a file failed."""
    tally = redaction.tally
    files = {"written": tally.written, "failed": len(tally.failed), "skipped": tally.skipped}
    if report:
        counts = {"files": files, "notes": tally.notes, "labels": dict(sorted(tally.labels.items()))}
        if tally.recovered:
            counts["recovered"] = dict(sorted(tally.recovered.items()))
        if tally.identities:
            counts["identities"] = dict(sorted(tally.identities.items()))
            counts["no_surrogate"] = dict(sorted(tally.fallbacks.items()))
        if tally.dictionaries:
            counts["dictionaries"] = dict(sorted(tally.dictionaries.items()))
        write_whole(report, (json.dumps({**redaction.stamp, **counts}, indent=2) + "\n").encode("utf-8"))
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
    typer.echo(
        f"{tally.written} file(s) with {tally.notes} note(s) written to {output}, {spans} span(s) changed; "
        f"{tally.skipped} skipped, {len(tally.failed)} failed"
    )
    if tally.failed:
        raise typer.Exit(1)
