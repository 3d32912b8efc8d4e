"""The report of a dictionary build: counts by column and by reason.

For persons it contains only numbers. Names of institutions that were dropped as too common are listed, so that someone
can review them. The file is readable only by its owner.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .mapping import Table

_LISTED = 1_000
_SURE = 20  # from this number of values on, a column is judged by its share of invalid values
_WRONG = 0.5


@dataclass
class ColumnTally:
    """Counts of one column.

    kind, label (str): of the column.
    used (int): values that were used.
    skipped (Counter): skipped values by reason.
    forms, conditional (int): variants that were added, and how many of them count only in the context of a name.
    dropped (int): variants that were dropped as common words.
    """

    kind: str
    label: str
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    forms: int = 0
    conditional: int = 0
    dropped: int = 0

    def add(self, other: "ColumnTally") -> None:
        """Add the counts of another tally."""
        self.used += other.used
        self.skipped += other.skipped
        self.forms += other.forms
        self.conditional += other.conditional
        self.dropped += other.dropped

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON, without zeros."""
        data = {
            "kind": self.kind,
            "label": self.label,
            "used": self.used,
            "skipped": dict(sorted(self.skipped.items())),
            "forms": self.forms,
            "conditional": self.conditional,
            "dropped": self.dropped,
        }
        return {key: value for key, value in data.items() if value}


class BuildReport:
    """Counts of a build.

    tables (Sequence[Table]): the tables of the mapping.
    columns (dict[str, ColumnTally]): counts by rule, "table.column".
    rows (Counter): number of rows by table.
    without_id (Counter): rows without a patient id, by table.
    repeated (Counter): rows with a repeated patient id, by table.
    phrases (dict): rule → dropped names of institutions, with their occurrences per million words.
    patients (int): number of patients written.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.columns = {c.rule: ColumnTally(c.kind, c.label) for table in tables for c in table.columns}
        self.rows: Counter[str] = Counter()
        self.without_id: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        self.phrases: dict[str, dict[str, float]] = {}
        self.patients = 0

    def drop_phrase(self, rule: str, phrase: str, per_million: float) -> None:
        """List the name of an institution that was dropped.

        rule (str): "table.column".
        phrase (str): the name.
        per_million (float): its occurrences per million words.
        """
        listed = self.phrases.setdefault(rule, {})
        if len(listed) < _LISTED:
            listed[phrase] = round(per_million, 2)

    def add(self, other: "BuildReport") -> None:
        """Add the counts of another report on the same tables.

        other (BuildReport): the report.
        """
        for rule, tally in other.columns.items():
            self.columns[rule].add(tally)
        self.rows += other.rows
        self.without_id += other.without_id
        self.repeated += other.repeated
        self.patients += other.patients

    def check(self, table: Table, *, some: bool = False) -> None:
        """Check that the columns contain what the mapping says.

        table (Table): the table.
        some (bool): whether only the first rows were read. Then a column is refused only if none of its values is
            valid.
        RAISES: InputError (D183) if most values of a column are invalid for its kind.
        """
        for column in table.columns:
            tally = self.columns[column.rule]
            wrong = tally.skipped[f"no {column.kind}"]
            total = wrong + tally.used
            if some:
                refused = wrong >= _SURE and not tally.used
            else:
                refused = wrong > 0 and (not tally.used or (total >= _SURE and wrong > total * _WRONG))
            if refused:
                values = {"table": table.name, "column": column.name, "count": wrong, "total": total}
                raise InputError(Errors.D183.format(**values, kind=column.kind))

    @property
    def used(self) -> int:
        """The number of values that were used."""
        return sum(tally.used for tally in self.columns.values())

    def manifest(self) -> dict[str, Any]:
        """Return the counts for the manifest of the dictionaries.

        RETURNS (dict): plain values, none of them from the record.
        """
        return {
            "tables": {
                name: {
                    "rows": self.rows[name],
                    "without_patient_id": self.without_id[name],
                    "repeated_patient_ids": self.repeated[name],
                }
                for name in self.rows
            },
            "columns": {rule: tally.as_json() for rule, tally in self.columns.items()},
        }

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write the report as JSON that only its owner can read.

        path (Path): the file; an existing one is replaced.
        about (Mapping): further values to write, such as settings.
        RAISES: InputError (D402) if the file cannot be written.
        """
        data = {**about, **self.manifest(), "patients": self.patients, "dropped_phrases": self.phrases}
        try:
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2, ensure_ascii=False)
                file.write("\n")
        except OSError as error:
            raise InputError(Errors.D402.format(path=path, reason=os.strerror(error.errno or 0))) from None
