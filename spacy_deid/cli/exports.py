"""What the commands for exports of a standard share: the counts of a run, and the release of a file."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import typer

from ..errors import DeidError, Errors, printable
from .console import say

_SHOWN = 20  # reasons on stderr for each file


class Outcome(Protocol):
    """What became of a resource or a message; see `fhir.run.Outcome` and `hl7.run.Outcome`."""

    type: str
    path: str
    status: str
    reason: str
    warnings: list[str]
    removed: Counter[str]
    labels: Counter[str]


class Releaser(Protocol):
    """A deidentifier of files of a standard, such as `FhirDeidentifier`."""

    def release_file(self, source: Path, target: Path, note: Callable[[Any], None]) -> bool:
        """De-identify a file. RETURNS (bool): whether it was written."""
        ...


@dataclass
class ExportTally:
    """The counts of a run.

    unit (str): what a file consists of: "resource" or "message".
    files (int): files that were written.
    units (Counter): (type, status) → number of resources or messages.
    removed (Counter): element → number of values that were removed.
    labels (Counter): label → number of values that were changed.
    """

    unit: str
    files: int = 0
    units: Counter[tuple[str, str]] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count a resource or a message."""
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
            "removed_elements" if self.unit == "resource" else "removed_fields": dict(sorted(self.removed.items())),
        }

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
