"""``spacy-deid fhir``: de-identify resources of FHIR R4."""

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, printable
from ..fhir.profile import default_profile, read_profile
from ..fhir.run import SUFFIXES, FhirDeidentifier, Outcome
from ..io import only_run, write_whole
from .console import progress, reporting, say, stoppable
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

_SHOWN = 20  # reasons on stderr for each file


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


@dataclass
class FhirTally:
    """The counts of a run.

    files (int): files that were written.
    resources (Counter): (type, status) → number of resources.
    removed (Counter): element → number of values that were removed.
    labels (Counter): label → number of values that were changed.
    """

    files: int = 0
    resources: Counter[tuple[str, str]] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count a resource."""
        self.resources[outcome.type or "unknown", outcome.status] += 1
        self.removed += outcome.removed
        self.labels += outcome.labels

    def count(self, *statuses: str) -> int:
        """Return the number of resources with one of some statuses."""
        return sum(number for (_, status), number in self.resources.items() if status in statuses)

    def report(self) -> dict[str, Any]:
        """Return the counts as values that JSON can represent."""
        by_type: dict[str, dict[str, int]] = {}
        for (kind, status), number in sorted(self.resources.items()):
            by_type.setdefault(kind, {})[status] = number
        return {
            "files": self.files,
            "resources": by_type,
            "labels": dict(sorted(self.labels.items())),
            "removed_elements": dict(sorted(self.removed.items())),
        }


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
    tally = FhirTally()
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
                _release_file(run, job.source, job.targets[0], tally)
                bar.update(1)
        if options.report:
            report = {**provenance, "fhir": "4.0.1", "profile": profile.name, **tally.report()}
            write_whole(options.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
        _finish(tally, options.output)


def _release_file(run: FhirDeidentifier, source: Path, target: Path, tally: FhirTally) -> None:
    """De-identify a file, and print why resources failed. A file that cannot be read counts as a failed resource."""
    failed = 0
    removed: Counter[str] = Counter()

    def note(outcome: Outcome) -> None:
        """Count a resource, and print what a person should know about it."""
        nonlocal failed
        tally.add(outcome)
        removed.update([outcome.type] if outcome.status == "removed" else [])
        for warning in outcome.warnings:
            say(f"warning: {source}: {' '.join(filter(None, (outcome.path, warning)))}")
        if outcome.status == "failed":
            failed += 1
            if failed <= _SHOWN:
                say(f"failed: {source}: {outcome.reason}")

    try:
        written = run.release_file(source, target, note)
    except DeidError as error:
        written = False
        note(Outcome("", "", "failed", str(error).removeprefix(f"{source}: ")))
    if failed > _SHOWN:
        say(f"failed: {source}: {failed - _SHOWN} more resource(s)")
    if removed:
        types = ", ".join(sorted(removed))
        say(f"warning: {Errors.D986.format(path=source, count=removed.total(), types=types)}")
    tally.files += written
    if failed and not written:
        say(f"failed: {Errors.D987.format(path=source, count=failed + removed.total())}")


def _finish(tally: FhirTally, output: Path) -> None:
    """Print the summary. RAISES: typer.Exit(1) if a resource failed."""
    review = tally.count("review")
    if review:
        say(f"{review} resource(s) with warnings: check them before you release them")
    typer.echo(
        f"{tally.files} file(s) with {tally.count('released', 'review')} resource(s) written to "
        f"{printable(str(output))}, {tally.labels.total()} value(s) changed, {tally.removed.total()} removed; "
        f"{tally.count('removed')} resource(s) removed, {tally.count('failed')} failed"
    )
    if tally.count("failed"):
        raise typer.Exit(1)
