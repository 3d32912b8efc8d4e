"""``spacy-deid hl7``: de-identify messages of HL7 v2."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ..hl7.profile import default_profile, read_profile
from ..hl7.run import SUFFIXES, Hl7Deidentifier
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
class Hl7Options(ExportOptions):
    """Options of a command: how messages are read and written."""

    panel: ClassVar[str] = "HL7 v2"

    patient_system: Annotated[
        str,
        typer.Option(
            help="Assigning authority (CX.4) of the identifier in PID-3 that is the patient's id in other notes, so "
            "that they get the same surrogates. Default: the record number, or else the first identifier."
        ),
    ] = ""
    encoding: Annotated[str, typer.Option(help="Character encoding of messages without MSH-18.")] = "utf-8"


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
        unit="message",
        open_run=partial(Hl7Deidentifier, profile=profile, encoding=options.encoding),
        about={"profile": profile.name},
    )
