"""``spacy-deid cda``: de-identify documents of CDA and C-CDA."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from ..cda.profile import default_profile, read_profile
from ..errors import ConfigError, Errors
from .console import reporting
from .exports import ExportOptions, Releaser, release_export
from .options import (
    ConfigFile,
    DetectionOptions,
    DocumentOptions,
    PolicyOptions,
    grouped,
)

SUFFIXES = (".xml", ".cda", ".ccda")
"""Suffixes of the files that are read: one document each."""


@dataclass(frozen=True, slots=True)
class CdaOptions(ExportOptions):
    """Options of a command: how documents are read and written."""

    panel: ClassVar[str] = "CDA"

    patient_system: Annotated[
        str,
        typer.Option(
            help="Root (OID) of the identifier in patientRole that is the patient's id in other notes, so that they "
            "get the same surrogates. Default: the first identifier."
        ),
    ] = ""


@grouped
def cda(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files of one export, .xml, .cda or .ccda, or folders of them."),
    ],
    detection: DetectionOptions,
    release: PolicyOptions,
    options: CdaOptions,
    documents: DocumentOptions,
    config: ConfigFile = None,
) -> None:
    """De-identify documents of CDA R2 and C-CDA, one per file.

    All files of a run are one export: the names and numbers of the header, and of persons in the body, are searched
    for in all text about the patient. What the profile does not name is removed. A file is written completely or not
    at all, and the exit code is 1 if any failed. Files keep their names.
    """
    with reporting():
        profile = read_profile(options.profile) if options.profile else default_profile()

    def open_run(*arguments: Any, **settings: Any) -> AbstractContextManager[Releaser]:
        """Open the deidentifier. RAISES: ConfigError (D713) if a package for documents is not installed."""
        try:
            from ..cda.run import CdaDeidentifier
        except ImportError as error:
            raise ConfigError(Errors.D713.format(path="CDA", package=error.name)) from None

        return CdaDeidentifier(*arguments, profile=profile, **settings)

    release_export(
        paths,
        SUFFIXES,
        detection,
        release,
        options,
        documents,
        config,
        unit="document",
        open_run=open_run,
        about={"cda": "R2", "profile": profile.name},
    )
