"""De-identify the notes in an Arrow record batch, and return a batch with one released note per row.

    with Settings("es").open() as deid:
        out = deidentify_batch(batch, deid, TableColumns(), fingerprint="")

The function depends on nothing but its arguments, so the same rows give the same output in any batch, process and
engine. A row that cannot be released has the status "withheld" or "failed", a reason, and no text; other rows are not
affected.

An output batch has the note id as a string, the released text of each text and label column, the kept columns, and

    edits        list of {column, start, end, label, replacement}; offsets in characters of the original text
    trace        JSON: why each span was changed or kept, without text; see `context.get_trace`
    status       "released", "review", "withheld" or "failed"; see `results.Result`
    reason       why a row was withheld or failed, or why a person should look at it. It quotes no text
    fingerprint  what the output depends on; see `settings.fingerprint`

Columns of a row with several texts share one status: the worst of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from ..deidentifier import Deidentifier
from ..errors import Errors, InputError
from ..io import read_bytes
from ..offsets import Edit
from ..patient_ids import normal_id
from ..results import Result
from ..spans import Evidence
from .settings import Settings, TableColumns, fingerprint_of, fingerprint_parts

ORDER = ("released", "review", "withheld", "failed")
"""Statuses of a row, the worst last."""

_COLUMN = "deid/columns"  # span group of a cell that is an identifier by its column
_DAY = len("2000-01-31")
_DIGITS = 3  # of scores; further digits depend on which texts go through the network together


Identify = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]


@dataclass(slots=True)
class Row:
    """The result of de-identifying one row of the table. Its repr shows no text or id.

    note_id (str): id of the note, "" if it has none.
    status (str): one of `ORDER`.
    reason (str): why the row was not released, or why a person should review it.
    texts (dict[str, Optional[str]]): column → released text, for text, label and date columns. Empty if it was not
        released.
    results (dict[str, Result]): column → result of its cell, for cells that are not null.
    """

    note_id: str = field(default="", repr=False)
    status: str = "released"
    reason: str = ""
    texts: dict[str, str | None] = field(default_factory=dict, repr=False)
    results: dict[str, Result] = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        """Whether the row was released."""
        return self.status in ("released", "review")

    def fail(self, reason: str, status: str = "failed") -> None:
        """Mark the row as not released and remove its texts. The reason of an earlier failure is kept."""
        if self.ok:
            self.reason = reason
        self.status = max(self.status, status, key=ORDER.index)
        self.texts = {}


def deidentify_batch(
    batch: Any, deid: Deidentifier, columns: TableColumns, *, fingerprint: str = "", batch_size: int = 64
) -> Any:
    """De-identify an Arrow record batch of notes.

    batch (pyarrow.RecordBatch): the notes. It must have the columns that are read; others are ignored.
    deid (Deidentifier): the deidentifier.
    columns (TableColumns): what is done with each column.
    fingerprint (str): value of the column "fingerprint" in every row.
    batch_size (int): maximum number of texts that the pipeline processes together.
    RETURNS (pyarrow.RecordBatch): one row per row of the input, in the same order, with the schema `output_schema`.
    RAISES: InputError (D741) if a column is missing; ConfigError as `Deidentifier.__call__`. A row that
        cannot be processed is no error: its status is "failed".
    """
    rows = deidentify_rows(batch, deid, columns, batch_size=batch_size)
    return make_batch(rows, batch, columns, fingerprint)


def deidentify_rows(
    batch: Any,
    deid: Deidentifier,
    columns: TableColumns,
    *,
    batch_size: int = 64,
    seconds: float = 0,
    broken: Mapping[int, str] | None = None,
    identify: Identify | None = None,
) -> list[Row]:
    """De-identify the rows of a record batch, without creating the output batch; see `deidentify_batch`.

    batch, deid, columns, batch_size: as for `deidentify_batch`.
    seconds (float): time limit of a text, 0 for none. With a limit, texts are processed in a worker process, so that
        a text that kills the process fails alone.
    broken (Optional[Mapping[int, str]]): index of a row in the batch → why it could not be read; such rows fail.
    identify (Optional[Callable]): takes the values of a row and the EHR context in its columns, and returns the EHR
        context to use. It raises an InputError for a row that must not be processed.
    RETURNS (list[Row]): the result of each row.
    """
    check_columns(batch.schema.names, columns.read)
    values = {name: _to_list(batch.column(name)) for name in columns.read}
    rows = [Row() for _ in range(batch.num_rows)]
    cells: list[tuple[Any, tuple[int, str]]] = []
    for number, row in enumerate(rows):
        record = {name: column[number] for name, column in values.items()}
        row.note_id = "" if isinstance(record[columns.note_id], _Unreadable) else normal_id(record[columns.note_id])
        try:
            ehr = _check_row(record, columns, (broken or {}).get(number, ""))
            ehr = identify(record, ehr) if identify else ehr
        except InputError as error:
            row.fail(str(error))
            continue
        row.texts = dict.fromkeys(columns.written)
        cells += [((record[name], ehr), (number, name)) for name in columns.texts if record[name] is not None]
        for name, label in columns.labels.items():
            if (value := record[name]) is not None and value == value:
                _add(rows[number], name, _replace_cell(str(value), label, deid, ehr))
        days: dict[str, Result] = {}  # the date and the time of a note are usually of the same day
        for name in columns.dates:
            if day := _read_day(record[name]):
                days[day] = days.get(day) or _replace_cell(day, "DATE", deid, ehr)
                _add(rows[number], name, days[day])
    # an iterator: the groups of a list with a length depend on the number of processes
    for result, (number, name) in deid.pipe(iter(cells), as_tuples=True, batch_size=batch_size, seconds=seconds):
        _add(rows[number], name, result)
    return rows


def check_columns(names: Sequence[str], wanted: Sequence[str], source: str = "record batch") -> None:
    """Check that a table has all columns. RAISES: InputError (D741) naming the first missing one."""
    for name in wanted:
        if name not in names:
            raise InputError(Errors.D741.format(source=source, column=name, known=", ".join(names)))


class _Unreadable:
    """Stands for a value that is not valid UTF-8."""


def _to_list(column: Any) -> list[Any]:
    """Convert a column to Python values. A string that is not valid UTF-8 becomes an `_Unreadable`."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = []
        for value in column:
            try:
                values.append(value.as_py())
            except UnicodeDecodeError:
                values.append(_Unreadable())
    return values


def _check_row(record: dict[str, Any], columns: TableColumns, broken: str) -> dict[str, Any]:
    """Check the values of a row and return its EHR context. RAISES: InputError that does not quote the values."""
    if broken:
        raise InputError(broken)
    for name, value in record.items():
        if isinstance(value, _Unreadable) or (isinstance(value, str) and not _is_encodable(value)):
            raise InputError(Errors.D951.format(column=name, reason="is not valid Unicode"))
    if not normal_id(record[columns.note_id]):
        raise InputError(Errors.D951.format(column=columns.note_id, reason="has no note id"))
    for name in columns.texts:
        if record[name] is not None and record[name] != record[name]:
            record[name] = None  # NaN is what pandas writes for a missing text
        if not isinstance(record[name], str | None):
            raise InputError(Errors.D951.format(column=name, reason="is not text"))
    if all(record[name] is None for name in columns.texts):
        raise InputError(Errors.D951.format(column=", ".join(columns.texts), reason="has no text"))
    return columns.fields.read(record)


def _is_encodable(text: str) -> bool:
    """Test whether a text can be encoded as UTF-8: it contains no half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _replace_cell(text: str, label: str, deid: Deidentifier, ehr: Mapping[str, Any]) -> Result:
    """Replace a whole cell as one identifier, including leading and trailing white space."""
    text = text.strip()
    if not text:
        return Result("released", released_text="")
    return deid.release(text, {_COLUMN: [Evidence(0, len(text), label, "columns", validated=True)]}, ehr)


def _read_day(value: Any) -> str:
    """Return the date in a value, without its time; "" if it has none."""
    if value is None:
        return ""
    try:
        return date.fromisoformat(str(value)[:_DAY]).isoformat()
    except ValueError:
        return ""


def _add(row: Row, column: str, result: Result) -> None:
    """Add the result of a cell to its row. If the cell was not released, neither is the row."""
    if not result.ok:
        row.fail(result.reason, result.status)
    elif row.ok:
        row.status = max(row.status, result.status, key=ORDER.index)
        row.reason = "; ".join(dict.fromkeys(filter(None, [row.reason, *result.warnings])))
        row.texts[column] = result.text
        row.results[column] = result


def output_schema(schema: Any, columns: TableColumns) -> Any:
    """Return the Arrow schema of an output batch.

    schema (pyarrow.Schema): schema of the input, for the types of the kept columns.
    columns (TableColumns): what is done with each column.
    RETURNS (pyarrow.Schema): the schema; only the kept columns depend on the input.
    """
    import pyarrow as pa

    edit = pa.struct({"column": pa.string(), "start": pa.int64(), "end": pa.int64(), "label": pa.string()})
    edit = pa.struct([*edit, pa.field("replacement", pa.string())])
    fields = [(columns.note_id, pa.string())]
    fields += [(name, pa.string()) for name in columns.written]
    fields += [(name, schema.field(name).type) for name in columns.keep]
    fields += [("edits", pa.list_(edit)), ("trace", pa.string()), ("status", pa.string()), ("reason", pa.string())]
    return pa.schema([*fields, ("fingerprint", pa.string())])


def make_batch(rows: Sequence[Row], batch: Any, columns: TableColumns, fingerprint: str) -> Any:
    """Create the output batch from the results of its rows.

    rows (Sequence[Row]): the result of each row.
    batch (pyarrow.RecordBatch): the input batch, for the kept columns.
    columns (TableColumns): what is done with each column.
    fingerprint (str): value of the column "fingerprint" in every row.
    RETURNS (pyarrow.RecordBatch): the batch; kept columns are null in rows without a text.
    """
    import pyarrow as pa

    schema = output_schema(batch.schema, columns)
    places = pa.array([number if row.ok else None for number, row in enumerate(rows)], pa.int64())
    several = len(columns.written) > 1
    table: dict[str, Any] = {columns.note_id: [row.note_id or None for row in rows]}
    for name in columns.written:
        table[name] = [row.texts.get(name) for row in rows]
    for name in columns.keep:
        table[name] = batch.column(name).take(places)
    table["edits"] = [[_edit_record(*edit) for edit in _edits(row)] if row.ok else None for row in rows]
    table["trace"] = [_dump_trace(row, several) if row.ok else None for row in rows]
    table["status"] = [row.status for row in rows]
    table["reason"] = [row.reason or None for row in rows]
    table["fingerprint"] = [fingerprint] * len(rows)
    arrays = [
        table[field.name] if isinstance(table[field.name], pa.Array) else pa.array(table[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _edits(row: Row) -> Iterator[tuple[str, Edit]]:
    """Yield each edit of a row with the name of its column."""
    for name in row.texts:
        if name in row.results:
            yield from ((name, edit) for edit in row.results[name].edits)


def _edit_record(column: str, edit: Edit) -> dict[str, Any]:
    """Convert an edit to a value of the column "edits"."""
    values = {"start": edit.start, "end": edit.end, "label": edit.label, "replacement": edit.replacement}
    return {"column": column, **values}


def _dump_trace(row: Row, several: bool) -> str:
    """Return the trace of a row as JSON, with column names if several columns are de-identified."""
    records = [
        {**({"column": name} if several else {}), **span, "evidence": [_round(item) for item in span["evidence"]]}
        for name in row.texts
        if name in row.results
        for span in row.results[name].trace
    ]
    return json.dumps(records, ensure_ascii=False)


def _round(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Round the score of a detection, because further digits depend on the batch."""
    return {**evidence, "score": round(evidence["score"], _DIGITS)} if "score" in evidence else dict(evidence)


class ArrowMapper:
    """De-identifies streams of record batches with `mapInArrow` of Spark or with Ray Data, as a settings file says.

        spark_frame.mapInArrow(ArrowMapper("settings.json").batches, schema)
        ray_dataset.map_batches(ArrowMapper, fn_constructor_args=("settings.json",), batch_format="pyarrow")

    Only the path of the file is pickled. The pipeline is loaded in the worker, with the first batch.

    settings (str): path of a JSON file with the value of `Settings.to_json`. Each worker must be able to read it and
        the files that it names.
    """

    def __init__(self, settings: str) -> None:
        self.settings = settings
        self._opened: tuple[Any, Deidentifier, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "_opened": None}

    def batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """De-identify record batches, see `deidentify_batch`. YIELDS (pyarrow.RecordBatch): a batch for each."""
        for batch in batches:
            settings, deid, made = self._open()
            yield deidentify_batch(batch, deid, settings.columns, fingerprint=made, batch_size=settings.batch_size)

    def __call__(self, table: Any) -> Any:
        """De-identify an Arrow table for Ray. RETURNS (pyarrow.Table): the rows of `deidentify_batch`."""
        import pyarrow as pa

        schema = output_schema(table.schema, self._open()[0].columns)
        return pa.Table.from_batches(self.batches(table.to_batches()), schema)

    def _open(self) -> tuple[Any, Deidentifier, str]:
        """Read the settings and load the pipeline, once per process."""
        if self._opened is None:
            settings = Settings.from_json(json.loads(read_bytes(Path(self.settings))))
            deid = settings.open()
            self._opened = settings, deid, fingerprint_of(fingerprint_parts(settings, deid))
        return self._opened
