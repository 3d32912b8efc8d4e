"""``spacy-deid fhir``: de-identify resources of FHIR R4."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, Errors
from ..fhir.profile import default_profile, read_profile
from ..fhir.run import SUFFIXES, FhirDeidentifier
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
class FhirOptions:
    """Options of a command: how resources are read and written."""

    panel: ClassVar[str] = "FHIR"

    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to. It gets the tree of the input.")]
    profile: Annotated[
        Path | None, typer.Option(help="TOML file that says for each element what is done with it. See the guide.")
    ] = None
    patient_system: Annotated[
        str,
        typer.Option(
            help="System of the identifier that is the patient's id in other notes, so that they get the same "
            "surrogates. Default: the id of the Patient."
        ),
    ] = ""
    report: Annotated[Path | None, typer.Option(help="JSON file for counts and versions. It has no content.")] = None
    overwrite: Overwrite = False
    batch_size: BatchSize = 64
    n_process: Processes = 1


@grouped
def fhir(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files of one export, .json or .ndjson, or folders of them."),
    ],
    detection: DetectionOptions,
    release: PolicyOptions,
    options: FhirOptions,
    documents: DocumentOptions,
    config: ConfigFile = None,
) -> None:
    """De-identify resources of FHIR R4: single resources, Bundles, and bulk data with one resource per line.

    All files of a run are one export: the names in Patient, RelatedPerson, Practitioner, Organization and Location are
    searched for in all text. What the profile does not name is removed. A file is written completely or not at all,
    without the resources that failed, and the exit code is 1 if any failed. Files keep their names.
    """
    tally = ExportTally("resource")
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
            FhirDeidentifier(
                deid,
                profile=profile,
                key=release.key,
                patient_system=options.patient_system,
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
            report = {**provenance, "fhir": "4.0.1", "profile": profile.name, **tally.report()}
            write_whole(options.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
        tally.finish(options.output)
