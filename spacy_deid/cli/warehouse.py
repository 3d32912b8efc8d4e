"""``spacy-deid run``: de-identify a warehouse of notes, partition by partition."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from ..documents.tables import DROP, KEEP, TEXT, read_columns
from ..ehr_fields import RowFields
from ..errors import ConfigError, Errors, printable
from ..labels import LABELS
from .console import reporting, say, stoppable
from .options import (
    BatchSize,
    ConfigFile,
    DetectionOptions,
    Encoding,
    PatientField,
    PolicyOptions,
    Processes,
    check_secrets,
    grouped,
)

if TYPE_CHECKING:
    from ..data_models.model import DataModel
    from ..warehouse.inputs import InputSettings
    from ..warehouse.settings import Settings, TableColumns


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of a command: where the notes are, and their columns."""

    panel: ClassVar[str] = "Input"

    input: Annotated[
        str,
        typer.Option(
            "--input",
            "-i",
            help="Notes: a .parquet, .jsonl or .csv file or a folder of them, a .duckdb, .db or .sqlite file, a "
            "database URL, or env:NAME for the environment variable with the URL.",
        ),
    ]
    table: Annotated[str, typer.Option(help="Table of a database.")] = ""
    query: Annotated[str, typer.Option(help="SELECT statement for a database, instead of a table.")] = ""
    encoding: Encoding = "utf-8"
    id_field: Annotated[str, typer.Option(help="Column of the note's id. The output has it, too.")] = "note_id"
    text_field: Annotated[
        list[str] | None, typer.Option(help="Column of the note's text. It can be given several times. Default: text.")
    ] = None
    keep_field: Annotated[list[str] | None, typer.Option(help="Another column to write. It is not de-identified.")] = (
        None
    )
    columns: Annotated[
        Path | None,
        typer.Option(help="TOML file that says for each column of the table: text, label:NAME, keep or drop."),
    ] = None
    patient_field: PatientField = None
    date_field: Annotated[str | None, typer.Option(help="Column of the note's date, for surrogates.")] = None
    name_field: Annotated[str | None, typer.Option(help="Column of the patient's name, for surrogates.")] = None
    sex_field: Annotated[str | None, typer.Option(help="Column of the patient's sex, for surrogates.")] = None
    data_model: Annotated[
        str | None,
        typer.Option(
            help="Data model of the database: omop, i2b2, or a TOML file. It names the tables of the notes and the "
            "persons, and what is done with each column."
        ),
    ] = None
    database_schema: Annotated[str, typer.Option(help="Schema with the tables of the data model.")] = ""
    type_field: Annotated[str | None, typer.Option(help="Column of the note's type, for the report.")] = None
    partition_rows: Annotated[int, typer.Option(min=1, help="Largest number of notes in a partition.")] = 10_000

    def table_columns(self) -> "TableColumns":
        """Return the columns of the table and what is done with each.

        RAISES: ConfigError if options exclude each other (D412), the file of ``--columns`` is invalid (D721), or a
            column has a reserved name or two roles (D950).
        """
        from ..warehouse.settings import TableColumns

        if model := self.model():
            return TableColumns.of_model(model)
        fields = RowFields(self.patient_field, self.date_field, self.name_field, self.sex_field)
        texts, keep, labels = list(self.text_field or []), list(self.keep_field or []), {}
        if self.columns:
            if texts or keep:
                raise ConfigError(Errors.D412.format(first="columns", second="text-field or --keep-field"))
            for name, action in read_columns(self.columns, LABELS).items():
                if action in (TEXT, KEEP):
                    (texts if action == TEXT else keep).append(name)
                elif action != DROP:
                    labels[name] = action.partition(":")[2]
        texts = texts or ([] if self.columns else ["text"])
        return TableColumns(self.id_field, tuple(texts), labels, tuple(keep), self.type_field, fields)

    def model(self) -> "DataModel | None":
        """Return the data model; None without one. RAISES: ConfigError as `read_model`."""
        from ..data_models.model import read_model

        return read_model(self.data_model, self.database_schema) if self.data_model else None

    def settings(self) -> "InputSettings":
        """Return the settings for reading the input.

        RAISES: ConfigError for options that exclude each other (D412), or for a database without a table and a query
            (D411), or a data model without a database (D874).
        """
        from ..warehouse.inputs import InputSettings

        if model := self.model():
            for name in ("table", "query", "columns", "text_field", "keep_field", "patient_field", "date_field"):
                if getattr(self, name):
                    raise ConfigError(Errors.D412.format(first="data-model", second=name.replace("_", "-")))
            found = InputSettings(self.input, "", model.query, self.encoding, self.partition_rows)
            if not found.is_database:
                raise ConfigError(Errors.D874)
            return found
        found = InputSettings(self.input, self.table, self.query, self.encoding, self.partition_rows)
        if self.table and self.query:
            raise ConfigError(Errors.D412.format(first="table", second="query"))
        if found.is_database and not (self.table or self.query):
            raise ConfigError(Errors.D411.format(option="table"))
        return found


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a command: what is written, and what is processed again."""

    panel: ClassVar[str] = "Output"

    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder to write to. Its folder 'notes' gets the released notes as Parquet."
        ),
    ]
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be removed, by label and source, and write no text.")
    ] = False
    changed: Annotated[
        bool,
        typer.Option(
            "--changed", help="Process again what a change of the settings or of the input touches, and nothing else."
        ),
    ] = False
    retry: Annotated[bool, typer.Option("--retry", help="Process partitions again that have notes in quarantine.")] = (
        False
    )
    max_quarantine: Annotated[
        float, typer.Option(min=0, max=1, help="Largest share of notes in quarantine for exit code 0.")
    ] = 0.01


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of a command: where the work is done."""

    panel: ClassVar[str] = "Engine"

    engine: Annotated[
        Literal["local", "ray", "spark"],
        typer.Option(help="Worker processes of this machine, tasks of Ray, or tasks of Spark."),
    ] = "local"
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster or master of a Spark cluster. Default: this machine.")
    ] = None
    n_process: Processes = 1
    batch_size: BatchSize = 64
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Give each worker a GPU of its own, for transformer pipelines.")
    ] = False


@grouped
def run(
    detection: DetectionOptions,
    policy: PolicyOptions,
    table: TableOptions,
    output: RunOptions,
    engine: EngineOptions,
    config: ConfigFile = None,
) -> None:
    """De-identify a warehouse of notes: Parquet, JSONL and CSV files, or a database.

    The work is done partition by partition. The same command continues a run that was stopped or killed. Notes that
    cannot be released go to quarantine, with a reason and without text; the exit code is 1 if there are too many of
    them, or if a partition could not be read. The folder 'run' in the output folder has ids of notes and names of
    files: release the folder 'notes' only.
    """
    from ..warehouse.engines import make_engine
    from ..warehouse.run import Run

    with reporting():
        source = table.settings()
        places = [] if source.is_database else [Path(table.input)]
        check_secrets([policy.key, policy.salts], places, output.output)
        settings = make_settings(detection, policy, table, output, engine)
        task = Run(
            settings,
            source,
            output.output,
            make_engine(engine.engine, engine.address),
            engine.n_process,
            changed=output.changed,
            retry=output.retry,
            say=say,
        )
        with stoppable(lambda: f"stopped: {task.describe()}. Run the command again to continue"):
            summary = task()
        finish(summary, output)


def make_settings(
    detection: DetectionOptions,
    policy: PolicyOptions,
    table: TableOptions,
    output: RunOptions,
    engine: EngineOptions,
) -> "Settings":
    """Make the settings of a run.

    RAISES: ConfigError as `TableOptions.table_columns`, or for a data model without a key (D873).
    """
    from ..warehouse.settings import Settings

    model = table.model()
    if model and policy.key is None:
        raise ConfigError(Errors.D873)
    given: dict[str, Any] = detection.settings()
    paths: dict[str, Any] = {"dictionaries": given.pop("dictionaries"), "key": policy.key, "salts": policy.salts}
    given |= {name: str(path) if path else None for name, path in paths.items()}
    return Settings(
        detection.pipeline,
        table.table_columns(),
        **given,
        policy=policy.policy,
        style=policy.style,
        audit=output.dry_run,
        batch_size=engine.batch_size,
        gpu=engine.gpu,
        data_model=model.to_json() if model else None,
    )


def finish(summary: dict[str, Any], output: RunOptions) -> None:
    """Print the summary of a run. RAISES: typer.Exit(1) if partitions failed or too many notes are in quarantine."""
    rows, partitions = summary["rows"], summary["partitions"]
    for row in summary["failed"]:
        say(f"failed: {row['source']}: {row['reason']}")
    for reason, count in summary["reasons"].items():
        say(f"quarantine: {count:,} note(s): {reason}")
    if summary["duplicates"]:
        say(f"warning: {summary['duplicates']['ids']} note id(s) occur more than once; see the report")
    if partitions["removed"]:
        say(f"{partitions['removed']} partition(s) removed, because the input does not have them any more")
    verb = "would be released" if output.dry_run else "released"
    typer.echo(
        f"{rows['read']:,} note(s) read, {rows['released']:,} {verb}, {rows['quarantined']:,} in quarantine; "
        f"{sum(summary['labels'].values()):,} span(s) {'to remove' if output.dry_run else 'removed'}; "
        f"{partitions['processed']} partition(s) processed, {partitions['kept']} kept, {partitions['failed']} failed; "
        f"report: {printable(str(output.output / 'run' / 'report.html'))}"
    )
    if summary["failed"] or rows["quarantined"] > output.max_quarantine * rows["read"]:
        raise typer.Exit(1)
