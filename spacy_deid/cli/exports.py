"""What the commands for exports of a standard share: a run, its counts, and the release of a file."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, printable
from ..io import only_run, write_whole
from .console import progress, reporting, say, stoppable
from .options import (
    BatchSize,
    DetectionOptions,
    DocumentOptions,
    Overwrite,
    PolicyOptions,
    Processes,
    check_secrets,
    plan_notes,
)

_SHOWN = 20  # reasons on stderr for each file


class Outcome(Protocol):
    """What became of a resource, a message or a document; see `fhir.run.Outcome` and `exports.Outcome`."""

    type: str
    path: str
    status: str
    reason: str
    warnings: list[str]
    removed: Counter[str]
    labels: Counter[str]


class Releaser(Protocol):
    """A deidentifier of the files of an export, such as `FhirDeidentifier`."""

    def read_files(self, paths: Iterable[Path]) -> None:
        """Read all files, to learn whom they are about."""
        ...

    def release_file(self, source: Path, target: Path, note: Callable[[Any], None]) -> bool:
        """De-identify a file. RETURNS (bool): whether it was written."""
        ...


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of a command: how the files of an export are read and written."""

    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to. It gets the tree of the input.")]
    profile: Annotated[
        Path | None, typer.Option(help="TOML file that says what is done with each value. See the guide.")
    ] = None
    patient_system: str = ""
    report: Annotated[Path | None, typer.Option(help="JSON file for counts and versions. It has no content.")] = None
    overwrite: Overwrite = False
    batch_size: BatchSize = 64
    n_process: Processes = 1


@dataclass
class ExportTally:
    """The counts of a run.

    unit (str): what a file consists of: "resource", "message" or "document".
    files (int): files that were written.
    units (Counter): (type, status) → number of units.
    removed (Counter): element → number of values that were removed.
    labels (Counter): label → number of values that were changed.
    """

    unit: str
    files: int = 0
    units: Counter[tuple[str, str]] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count a unit."""
        self.units[outcome.type or "unknown", outcome.status] += 1
        self.removed += outcome.removed
        self.labels += outcome.labels

    def count(self, *statuses: str) -> int:
        """Return the number of units with one of some statuses."""
        return sum(number for (_, status), number in self.units.items() if status in statuses)

    def report(self) -> dict[str, Any]:
        """Return the counts as values that JSON can represent."""
        by_type: dict[str, dict[str, int]] = {}
        for (kind, status), number in sorted(self.units.items()):
            by_type.setdefault(kind, {})[status] = number
        return {
            "files": self.files,
            f"{self.unit}s": by_type,
            "labels": dict(sorted(self.labels.items())),
            "removed_fields" if self.unit == "message" else "removed_elements": dict(sorted(self.removed.items())),
        }

    def note(self, outcome: Outcome) -> None:
        """Count a received unit, and print what a person should know about it."""
        self.add(outcome)
        for warning in outcome.warnings:
            say(f"warning: {outcome.path} {warning}")
        if outcome.status == "failed":
            say(f"failed: {outcome.reason if outcome.path in outcome.reason else f'{outcome.path}: {outcome.reason}'}")

    def release_file(self, run: Releaser, source: Path, target: Path) -> None:
        """De-identify a file, and print why parts of it failed. A file that cannot be read counts as a failed part."""
        failed = 0
        removed: Counter[str] = Counter()

        def fail(reason: str) -> None:
            """Print why a unit failed."""
            nonlocal failed
            failed += 1
            if failed <= _SHOWN:
                say(f"failed: {source}: {reason}")

        def note(outcome: Outcome) -> None:
            """Count a unit, and print what a person should know about it."""
            self.add(outcome)
            removed.update([outcome.type or "unknown"] if outcome.status == "removed" else [])
            for warning in outcome.warnings:
                say(f"warning: {source}: {' '.join(filter(None, (outcome.path, warning)))}")
            if outcome.status == "failed":
                fail(outcome.reason)

        try:
            written = run.release_file(source, target, note)
        except DeidError as error:
            written = False
            self.units["unknown", "failed"] += 1
            fail(str(error).removeprefix(f"{source}: "))
        if failed > _SHOWN:
            say(f"failed: {source}: {failed - _SHOWN} more {self.unit}(s)")
        if removed:
            types = ", ".join(sorted(removed))
            say(f"warning: {Errors.D986.format(unit=self.unit, path=source, count=removed.total(), types=types)}")
        self.files += written
        if failed and not written:
            say(f"failed: {Errors.D987.format(unit=self.unit, path=source, count=failed + removed.total())}")

    def finish(self, output: Path) -> None:
        """Print the summary. RAISES: typer.Exit(1) if a unit failed."""
        review = self.count("review")
        if review:
            say(f"{review} {self.unit}(s) with warnings: check them before you release them")
        typer.echo(
            f"{self.files} file(s) with {self.count('released', 'review')} {self.unit}(s) written to "
            f"{printable(str(output))}, {self.labels.total()} value(s) changed, {self.removed.total()} removed; "
            f"{self.count('removed')} {self.unit}(s) removed, {self.count('failed')} failed"
        )
        if self.count("failed"):
            raise typer.Exit(1)


def open_deidentifier(detection: DetectionOptions, release: PolicyOptions, documents: DocumentOptions) -> Deidentifier:
    """Make the deidentifier of a run from the options of a command. RAISES: ConfigError (D988) if a key is missing."""
    if release.style == "surrogate" and release.key is None:
        raise ConfigError(Errors.D988)
    settings = {**detection.settings(), "policy": release.policy, "style": release.style}
    deid = Deidentifier(detection.pipeline, **settings, key=release.key, salts=release.salts)
    deid.documents = documents.settings(deid.nlp.lang or "", "utf-8")
    return deid


def release_export(
    paths: list[Path],
    suffixes: Sequence[str],
    detection: DetectionOptions,
    release: PolicyOptions,
    options: ExportOptions,
    documents: DocumentOptions,
    config: Path | None,
    *,
    unit: str,
    open_run: Callable[..., AbstractContextManager[Releaser]],
    about: Mapping[str, str],
) -> None:
    """De-identify all files of an export, print the counts, and write the report.

    paths (list[Path]): files or folders.
    suffixes (Sequence[str]): suffixes of the files that are read.
    detection, release, options, documents, config: the options of the command.
    unit (str): what a file consists of: "resource", "message" or "document".
    open_run (Callable): takes the deidentifier and settings by name, and returns the deidentifier of files.
    about (Mapping[str, str]): what the report says about the standard, such as the name of the profile.
    RAISES: typer.Exit(1) if a unit failed.
    """
    tally = ExportTally(unit)
    with (
        reporting(),
        stoppable(lambda: f"stopped: {tally.files} file(s) written to {options.output}"),
        ExitStack() as stack,
    ):
        check_secrets([release.key, release.salts], paths, options.output)
        stack.enter_context(only_run(options.output))
        jobs, _ = plan_notes(
            paths,
            options.output,
            suffixes,
            lambda relative: [options.output / relative],
            shared=[options.report] if options.report else [],
            inputs=[path for path in (release.key, release.salts, options.profile, config) if path],
            overwrite=options.overwrite,
        )
        deid = open_deidentifier(detection, release, documents)
        provenance = deid.provenance
        run = stack.enter_context(
            open_run(
                deid,
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
            report = {**provenance, **about, **tally.report()}
            write_whole(options.report, (json.dumps(report, indent=2) + "\n").encode("utf-8"))
        tally.finish(options.output)
