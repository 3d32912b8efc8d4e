"""``spacy-deid hl7``: de-identify messages of HL7 v2."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, Errors
from ..hl7.profile import default_profile, read_profile
from ..hl7.run import SUFFIXES, Hl7Deidentifier
from ..io import only_run, write_whole
from .console import progress, reporting, stoppable
from .exports import ExportTally
from .options import (
    BatchSize,
    ConfigFile,
    DetectionOptions,
    DocumentOptions,
    Overwrite,
    PolicyOptions,
    Processes,
    check_secrets,
    grouped,
    plan_notes,
)


@dataclass(frozen=True, slots=True)
class Hl7Options:
    """Options of a command: how messages are read and written."""

    panel: ClassVar[str] = "HL7 v2"

    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to. It gets the tree of the input.")]
    profile: Annotated[
        Path | None, typer.Option(help="TOML file that says for each field what is done with it. See the guide.")
    ] = None
    patient_system: Annotated[
        str,
        typer.Option(
            help="Assigning authority (CX.4) of the identifier in PID-3 that is the patient's id in other notes, so "
            "that they get the same surrogates. Default: the record number, or else the first identifier."
        ),
    ] = ""
    encoding: Annotated[str, typer.Option(help="Character encoding of messages without MSH-18.")] = "utf-8"
    report: Annotated[Path | None, typer.Option(help="JSON file for counts and versions. It has no content.")] = None
    overwrite: Overwrite = False
    batch_size: BatchSize = 64
    n_process: Processes = 1


@grouped
def hl7(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files of one export, .hl7, .er7, .mllp or .txt, or folders of them."),
    ],
    detection: DetectionOptions,
    release: PolicyOptions,
    options: Hl7Options,
    documents: DocumentOptions,
    config: ConfigFile = None,
) -> None:
    """De-identify messages of HL7 v2: ORU, MDM and ADT, in files with one message or many, also in MLLP frames.

    All files of a run are one export: the names and numbers in PID, NK1, PV1 and other segments are searched for in
    all text about the patient. What the profile does not name is left empty. A file is written completely or not at
    all, without the messages that failed, and the exit code is 1 if any failed. Files keep their names.
    """
    tally = ExportTally("message")
    with (
        reporting(),
        stoppable(lambda: f"stopped: {tally.files} file(s) written to {options.output}"),
        ExitStack() as stack,
    ):
        if release.style == "surrogate" and release.key is None:
            raise ConfigError(Errors.D988)
        check_secrets([release.key, release.salts], paths, options.output)
        stack.enter_context(only_run(options.output))
        read = [path for path in (release.key, release.salts, options.profile, config) if path]
        jobs, _ = plan_notes(
            paths,
            options.output,
            SUFFIXES,
            lambda relative: [options.output / relative],
            shared=[options.report] if options.report else [],
            inputs=read,
            overwrite=options.overwrite,
        )
        profile = read_profile(options.profile) if options.profile else default_profile()
        settings = {**detection.settings(), "policy": release.policy, "style": release.style}
        deid = Deidentifier(detection.pipeline, **settings, key=release.key, salts=release.salts)
        deid.documents = documents.settings(deid.nlp.lang or "", "utf-8")
        provenance = deid.provenance
        run = stack.enter_context(
            Hl7Deidentifier(
                deid,
                profile=profile,
                key=release.key,
                patient_system=options.patient_system,
                encoding=options.encoding,
                dictionaries=detection.dictionaries,
                batch_size=options.batch_size,
                n_process=options.n_process,
                seconds=60 * documents.file_minutes,
            )
        )
        run.read_files(job.source for job in jobs)
        with progress(len(jobs)) as bar:
            for job in jobs:
                tally.release_file(run, job.source, job.targets[0])
                bar.update(1)
        if options.report:
            report = {**provenance, "profile": profile.name, **tally.report()}
            write_whole(options.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
        tally.finish(options.output)
