"""``spacy-deid hl7``: de-identify messages of HL7 v2."""

import json
import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from ..errors import ConfigError, Errors
from ..hl7.profile import Profile, default_profile, read_profile
from ..hl7.run import SUFFIXES, Hl7Deidentifier
from ..io import only_run, write_whole
from ..surrogates.keys import ProjectKey
from .console import reporting, say
from .exports import ExportOptions, ExportTally, open_deidentifier, release_export
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
    listen: Annotated[
        str, typer.Option(help="HOST:PORT to receive messages at over MLLP, or a PORT of this machine.")
    ] = ""
    peer: Annotated[
        list[str] | None, typer.Option(help="Address or network that may connect, if HOST is not this machine.")
    ] = None
    max_mb: Annotated[float, typer.Option(min=0.001, help="Maximum size of a received message in megabytes.")] = 16


@grouped
def hl7(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Files of one export, .hl7, .er7, .mllp or .txt, or folders of them."),
    ] = None,
    *,
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

    With --listen, messages are received over MLLP instead, until SIGTERM. Each is de-identified by itself, written to
    a file, and answered: AA if the file was written, AE if it failed, AR if its type is not in the profile.
    """
    with reporting():
        if bool(paths) == bool(options.listen):
            raise ConfigError(Errors.D996)
        profile = read_profile(options.profile) if options.profile else default_profile()
    if options.listen:
        _listen(profile, detection, release, options, documents)
        return
    release_export(
        paths or [],
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


def _listen(
    profile: Profile,
    detection: DetectionOptions,
    release: PolicyOptions,
    options: Hl7Options,
    documents: DocumentOptions,
) -> None:
    """Receive messages until SIGTERM, and write the report. The worker processes are started by the first message."""
    from ..hl7.listener import Bounds, Listener, MessageReleaser, read_address, read_peers

    tally = ExportTally("message")
    with reporting():
        host, port = read_address(options.listen)
        peers = read_peers(host, options.peer or [])
        deid = open_deidentifier(detection, release, documents)
        key = ProjectKey.from_file(release.key) if release.key else None
        provenance = deid.provenance
        settings: dict[str, Any] = {"profile": profile, "key": key, "dictionaries": detection.dictionaries}
        settings |= {"patient_system": options.patient_system, "encoding": options.encoding}
        listener = Listener(
            MessageReleaser(deid, **settings),
            options.output,
            tally.note,
            peers,
            Bounds(message=round(options.max_mb * 1e6)),
            options.n_process,
            60 * documents.file_minutes,
            key.derive("hl7 files") if key else secrets.token_bytes(32),
        )
        with only_run(options.output):
            listener.run(host, port, lambda place: say(f"listening at {place}"))
        tally.files = tally.count("released", "review")
        if options.report:
            report = {**provenance, "profile": profile.name, **tally.report()}
            write_whole(options.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
        tally.finish(options.output)
