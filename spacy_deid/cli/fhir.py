"""``spacy-deid fhir``: de-identify resources of FHIR R4."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ..fhir.profile import default_profile, read_profile
from ..fhir.run import SUFFIXES, FhirDeidentifier
from .console import reporting
from .exports import ExportOptions, release_export
from .options import (
    ConfigFile,
    DetectionOptions,
    DocumentOptions,
    PolicyOptions,
    grouped,
)


@dataclass(frozen=True, slots=True)
class FhirOptions(ExportOptions):
    """Options of a command: how resources are read and written."""

    panel: ClassVar[str] = "FHIR"

    patient_system: Annotated[
        str,
        typer.Option(
            help="System of the identifier that is the patient's id in other notes, so that they get the same "
            "surrogates. Default: the id of the Patient."
        ),
    ] = ""


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
    with reporting():
        profile = read_profile(options.profile) if options.profile else default_profile()
    release_export(
        paths,
        SUFFIXES,
        detection,
        release,
        options,
        documents,
        config,
        unit="resource",
        open_run=partial(FhirDeidentifier, profile=profile),
        about={"fhir": "4.0.1", "profile": profile.name},
    )
