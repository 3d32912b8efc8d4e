"""``spacy-deid dictionary``: an institution's and its patients' own terms, from the tables of its record system."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ..background.ambiguity import LIMIT
from ..background.counts import PhraseCounts
from ..dictionaries.store import LocalStore
from ..ehr.builder import Settings, build_dictionary
from ..ehr.mapping import read_mapping
from ..ehr.report import BuildReport
from ..errors import ConfigError, Errors, printable
from .console import reporting, say

__all__ = ["dictionary"]

dictionary = typer.Typer(
    name="dictionary", no_args_is_help=True, help="Dictionaries of an institution and its patients."
)


@dictionary.command()
def build(
    mapping: Annotated[Path, typer.Argument(help="A .toml file that says which column of which table holds what.")],
    folder: Annotated[Path, typer.Argument(help="Where the dictionaries go. Only you will be able to read them.")],
    limit: Annotated[
        float, typer.Option(min=0.0, help="A phrase is ambiguous above so many occurrences in a million words.")
    ] = LIMIT,
    background: Annotated[
        Path | None, typer.Option(help="Counts of your own, from 'counts build', in place of those that ship.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Add to the dictionaries that are there.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="With --update: forget what they had of the patients in these tables.")
    ] = False,
    fuzzy: Annotated[
        bool, typer.Option("--fuzzy", help="Let long names of a note's own patient count with a slip of the pen too.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="Processes that build patients.")] = min(
        4, os.cpu_count() or 1
    ),
    report: Annotated[
        Path | None, typer.Option(help="Counts by column and reason, as JSON. Default: FOLDER-report.json.")
    ] = None,
) -> None:
    """Build dictionaries from CSV, Parquet or database tables. If anything fails, the old dictionaries stay."""
    with reporting():
        if replace and not update:
            raise ConfigError(Errors.D411.format(option="update"))
        counts = PhraseCounts.from_file(background) if background else None
        target = report or folder.with_name(f"{folder.name}-report.json")
        settings = Settings(counts, limit, update=update, replace=replace, fuzzy=fuzzy, processes=processes)
        done = build_dictionary(
            read_mapping(mapping), folder, target, settings, lambda what, count: say(f"{what}: {count:,}")
        )
        _say_counts(done)
        store = LocalStore.open(folder)
        typer.echo(
            f"{store.counts['patients']} patient(s) with {store.counts['patient_terms']} terms and "
            f"{store.counts['institution_terms']} terms of the institution in {folder}; report in {target}"
        )


@dictionary.command()
def show(folder: Annotated[Path, typer.Argument(help="A folder that 'dictionary build' wrote.")]) -> None:
    """Show counts and sources of dictionaries. No term and no patient id is shown."""
    with reporting():
        store = LocalStore.open(folder)
        for name in ("patients", "patient_terms", "institution_terms"):
            typer.echo(f"{name.replace('_', ' ')}: {store.counts[name]}")
        for name, where in store.manifest.get("sources", {}).items():
            typer.echo(printable(f"source {name}: {where}"))
        for name, counts in store.manifest.get("tables", {}).items():
            typer.echo(f"table {name}: {counts['rows']} row(s)")
        for rule, tally in store.manifest.get("columns", {}).items():
            skipped = sum(tally.get("skipped", {}).values())
            typer.echo(
                f"  {rule}: {tally['kind']} ({tally['label']}), {tally.get('used', 0)} value(s), {skipped} skipped"
            )


def _say_counts(done: BuildReport) -> None:
    """Say what was left out, in numbers."""
    skipped = sum(sum(tally.skipped.values()) for tally in done.columns.values())
    empty = sum(tally.skipped["empty"] for tally in done.columns.values())
    say(f"{done.used:,} values used, {empty:,} empty, {skipped - empty:,} skipped as no values")
    conditional = sum(tally.conditional for tally in done.columns.values())
    dropped = sum(tally.dropped for tally in done.columns.values())
    say(f"ambiguous: {conditional:,} forms of patients count in a name's context, {dropped:,} were dropped")
    if ids := sum(done.without_id.values()):
        say(f"{ids:,} row(s) without a patient id were skipped")
    if again := sum(done.repeated.values()):
        say(f"{again:,} row(s) give a patient id again")
