"""Make the released tables: the notes with the columns of a data model, and one row for each span that was replaced.

The rows of the spans have the columns of NOTE_NLP in OMOP CDM 5.4
(https://ohdsi.github.io/CommonDataModel/cdm54.html#note_nlp). The column "offset" is the position in the released
text, "lexical_variant" is the replacement, and "term_modifiers" names the label. No column has original text.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol

from ..results import Result
from ..surrogates.keys import FormatPreservingCipher, IdentityKey, ProjectKey
from .model import CODE, DATE, DATETIME, HASH, ID, KEEP, NUMBER, TEXT, DataModel
from .people import People

EXTRA = ("status", "reason", "fingerprint")
"""Columns that are added to the released notes in files, as in other runs."""

_CODE = re.compile(r"[\w:.|@/\\+-]{1,50}", re.ASCII)
_DAY = len("2000-01-31")
_SMALL, _LARGE = 2**31, 2**63 - 2**31  # ids that fit into 32 bits stay so
_VARIANT = 250  # characters of "lexical_variant"


class Row(Protocol):
    """The result of a note; see `warehouse.batches.Row`."""

    status: str
    reason: str
    texts: dict[str, str | None]
    results: dict[str, Result]

    @property
    def ok(self) -> bool: ...


class TableIds:
    """Replaces the ids of tables. Surrogates depend only on the project key and the kind of the id.

    key (ProjectKey): the project key.
    """

    def __init__(self, key: ProjectKey) -> None:
        self._key = IdentityKey(key.derive("ids of tables"))
        self._cipher = FormatPreservingCipher(self._key)
        self.number = cache(self._number)

    def __repr__(self) -> str:
        return "TableIds(…)"

    def _number(self, kind: str, value: int) -> int:
        """Replace a number by another one; different numbers of one kind have different surrogates.

        kind (str): kind of the id, such as "person".
        value (int): from 0 to 2^63 - 1.
        RETURNS (int): the surrogate. It is below 2^31 if the value is.
        RAISES: ConfigError (D670) if libffx is not installed.
        """
        if value < _SMALL:
            return self._cipher.permute(value, _SMALL, "id", kind)
        return _SMALL + self._cipher.permute(value - _SMALL, _LARGE, "large id", kind)

    def text(self, kind: str, value: str) -> str:
        """Replace an id that is text. RETURNS (str): 16 hexadecimal digits."""
        return self._key.derive("text id", kind, value).hex()[:16]


class ReleasedTables:
    """Makes the released tables of record batches of notes.

    model (DataModel): the data model.
    key (ProjectKey): the project key, on which ids depend.
    people (People): the persons of the database.
    """

    def __init__(self, model: DataModel, key: ProjectKey, people: People) -> None:
        self._model, self.people = model, people
        self._ids = TableIds(key)

    def __repr__(self) -> str:
        return f"ReleasedTables({self._model.name!r})"

    def mark_doubtful(self, rows: Sequence[Row], batch: Any) -> None:
        """Give notes the status "review" in whose released text a word may be a name of the patient.

        rows (Sequence[Row]): the results of the notes; changed in place.
        batch (pyarrow.RecordBatch): the notes.
        """
        keys = batch.column(self._model.person).to_pylist()
        for row, key in zip(rows, keys, strict=True):
            person = self.people.find(key) if row.ok else None
            if person is None:
                continue
            for column, text in row.texts.items():
                if text and self.people.dictionary.has_weak_name(text, person.patient_id):
                    reason = f"column '{column}' has a common word that is also a name of the patient"
                    row.status, row.reason = "review", "; ".join(filter(None, [row.reason, reason]))

    @property
    def notes_schema(self) -> Any:
        """The Arrow schema of the released notes: the columns of the model and `EXTRA`."""
        import pyarrow as pa

        kinds = {DATE: pa.date32(), DATETIME: pa.timestamp("us"), NUMBER: pa.int64(), ID: pa.int64()}
        fields = [
            (name, kinds.get(action.partition(":")[0], pa.string())) for name, action in self._model.columns.items()
        ]
        return pa.schema([*fields, *((name, pa.string()) for name in EXTRA)])

    @property
    def spans_schema(self) -> Any:
        """The Arrow schema of the spans: the columns of NOTE_NLP."""
        import pyarrow as pa

        whole, text = pa.int64(), pa.string()
        return pa.schema(
            {
                **{"note_nlp_id": whole, "note_id": whole, "section_concept_id": whole, "snippet": text},
                **{"offset": text, "lexical_variant": text, "note_nlp_concept_id": whole},
                **{"note_nlp_source_concept_id": whole, "nlp_system": text, "nlp_date": pa.date32()},
                **{"nlp_datetime": pa.timestamp("us"), "term_exists": text, "term_temporal": text},
                "term_modifiers": text,
            }
        )

    def notes(self, rows: Sequence[Row], batch: Any, fingerprint: str) -> Any:
        """Make the released notes of a record batch.

        rows (Sequence[Row]): the result of each note.
        batch (pyarrow.RecordBatch): the notes, all columns as strings.
        fingerprint (str): value of the column "fingerprint".
        RETURNS (pyarrow.RecordBatch): the notes that were released, with `notes_schema`.
        """
        import pyarrow as pa

        released = [i for i, row in enumerate(rows) if row.ok]
        persons = batch.column(self._model.person).to_pylist()
        arrays = []
        for item in self.notes_schema:
            if item.name in EXTRA:
                values: list[Any] = [getattr(rows[i], item.name, fingerprint) or None for i in released]
            else:
                action = self._model.columns[item.name]
                cells = batch.column(item.name).to_pylist()
                values = [self._cell(action, item.name, cells[i], rows[i], persons[i]) for i in released]
            arrays.append(pa.array(values, item.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.notes_schema)

    def _cell(self, action: str, column: str, value: str | None, row: Row, person: str) -> Any:
        """Return the released value of a column."""
        action, _, kind = action.partition(":")
        if action in (TEXT, DATE, DATETIME):
            text = row.texts.get(column)
            return text if action == TEXT else _read_date(text, value or "", with_time=action == DATETIME)
        if value is None or action == KEEP:
            return value
        if action == NUMBER:
            return int(value)
        if action == ID:
            return self._ids.number(kind, int(value))
        if action == HASH:
            return self._ids.text(kind, value)
        return value if action == CODE and self._is_code(value, person) else None

    def _is_code(self, value: str, key: str) -> bool:
        """Whether a value looks like a code and contains no name or number of a person in the database."""
        found = self.people.find(key)
        patient = found.patient_id if found else ""
        return bool(_CODE.fullmatch(value)) and not self.people.dictionary.finds_identifier(value, patient)

    def spans(self, rows: Sequence[Row], batch: Any) -> Any:
        """Make the rows of the spans that were replaced in the texts of a record batch.

        rows (Sequence[Row]): the result of each note.
        batch (pyarrow.RecordBatch): the notes.
        RETURNS (pyarrow.RecordBatch): one row per span of the released notes, with `spans_schema`.
        """
        import pyarrow as pa

        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        always = {"section_concept_id": 0, "note_nlp_concept_id": 0, "note_nlp_source_concept_id": 0}
        system = f"spacy-deid {version('spacy-deid')}"
        when = {"nlp_system": system, "nlp_date": now.date(), "nlp_datetime": now, "term_exists": "Y"}
        kind = self._model.columns[self._model.id]
        records = []
        for row, note in zip(rows, batch.column(self._model.id).to_pylist(), strict=True):
            result = row.results.get(self._model.text) if row.ok else None
            if result is None:
                continue
            note_id = self._cell(kind, self._model.id, note, row, "")
            for number, (start, label, text) in enumerate(_released_spans(result)):
                ids = {"note_nlp_id": _span_id(note_id, number), "note_id": note_id}
                found = {"offset": str(start), "lexical_variant": text, "term_modifiers": f"label={label}"}
                records.append({**ids, **always, **found, **when})
        return pa.RecordBatch.from_pylist(records, schema=self.spans_schema)


def _released_spans(result: Result) -> Iterator[tuple[int, str, str]]:
    """Yield position in the released text, label and replacement of each span with a label."""
    moved = 0
    for edit in result.edits:
        if edit.label:
            yield edit.start + moved, edit.label, edit.replacement[:_VARIANT]
        moved += len(edit.replacement) - (edit.end - edit.start)


def _span_id(note_id: int, number: int) -> int:
    """Return an id for a span: a hash of the released id of its note and its number in the note, with 63 bits."""
    digest = hashlib.sha256(f"{note_id} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _read_date(day: str | None, original: str, *, with_time: bool) -> date | datetime | None:
    """Return a released date, with the time of day of the original one; None if nothing is left that is a date.

    day (Optional[str]): the released date.
    original (str): the original value, in ISO 8601.
    with_time (bool): whether the column has a time of day.
    RETURNS (Optional[Union[date, datetime]]): the date.
    """
    try:
        released = date.fromisoformat(day or "")
    except ValueError:
        return None
    if not with_time:
        return released
    try:
        clock = time.fromisoformat(original[_DAY + 1 :]).replace(tzinfo=None)
    except ValueError:
        clock = time()
    return datetime.combine(released, clock)
