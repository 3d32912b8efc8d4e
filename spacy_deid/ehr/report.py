"""Count the rows, values and entries of a dictionary build by table and column, and write the counts to a report.

About persons, the report contains only numbers. Names of institutions that were dropped because they are common
phrases are listed, so that someone can review them. The file is readable only by its owner.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError, describe_system
from .mapping import Table

_LISTED = 1_000
_SURE = 20  # from this number of values on, a column is judged by its share of invalid values
_WRONG = 0.5


@dataclass
class ColumnTally:
    """The numbers of values and of spelling variants that a build has read from one column of a table.

    kind, label (str): kind of the column's values, and canonical label of their detections.
    used (int): number of values from which entries were made.
    skipped (Counter): reason ("empty", "placeholder", …) → number of values that were skipped for it.
    forms (int): number of spelling variants that were added to a dictionary.
    conditional (int): how many of these variants match only in the context of a name.
    dropped (int): number of variants that were not added because they are common words.
    """

    kind: str
    label: str
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    forms: int = 0
    conditional: int = 0
    dropped: int = 0

    def add(self, other: "ColumnTally") -> None:
        """Add the counts of another tally of the same column, which another process made."""
        self.used += other.used
        self.skipped += other.skipped
        self.forms += other.forms
        self.conditional += other.conditional
        self.dropped += other.dropped

    def as_json(self) -> dict[str, Any]:
        """Return the counts as values that JSON can represent; those that are zero or empty are left out."""
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
    """The counts of a dictionary build, and the names of institutions that it dropped.

    tables (Sequence[Table]): the tables of the mapping.
    columns (dict[str, ColumnTally]): rule of a column, "table.column" → its counts.
    rows (Counter): table → number of rows.
    without_id (Counter): table → number of rows without a patient id, which were skipped.
    repeated (Counter): table → number of rows that repeat a patient id.
    phrases (dict): rule → names of institutions that were dropped as common phrases, with their occurrences per
        million words.
    patients (int): number of patients written to the dictionaries.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.columns = {c.rule: ColumnTally(c.kind, c.label) for table in tables for c in table.columns}
        self.rows: Counter[str] = Counter()
        self.without_id: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        self.phrases: dict[str, dict[str, float]] = {}
        self.patients = 0

    def drop_phrase(self, rule: str, phrase: str, per_million: float) -> None:
        """Record the name of an institution that was dropped because it is a common phrase; at most 1,000 per column.

        rule (str): rule of the column, "table.column".
        phrase (str): the name.
        per_million (float): its occurrences per million words of running text.
        """
        listed = self.phrases.setdefault(rule, {})
        if len(listed) < _LISTED:
            listed[phrase] = round(per_million, 2)

    def add(self, other: "BuildReport") -> None:
        """Add the counts of a report on the same tables, such as that of one partition. Dropped names are not added.

        other (BuildReport): the report.
        """
        for rule, tally in other.columns.items():
            self.columns[rule].add(tally)
        self.rows += other.rows
        self.without_id += other.without_id
        self.repeated += other.repeated
        self.patients += other.patients

    def check(self, table: Table, *, some: bool = False) -> None:
        """Check by the counts that the columns of a table contain the kinds of values that the mapping states.

        table (Table): the table.
        some (bool): whether only the first rows have been read; a column is then refused only if at least 20 values
            are invalid and none is valid.
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
        """The number of values from which entries were made, in all columns."""
        return sum(tally.used for tally in self.columns.values())

    def manifest(self) -> dict[str, Any]:
        """Return the counts by table and column, to be stored in the manifest of the dictionaries.

        RETURNS (dict): values that JSON can represent. They contain no value of a patient record.
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
        about (Mapping): further values to write, such as the settings of the build.
        RAISES: InputError (D402) if the file cannot be written.
        """
        data = {**about, **self.manifest(), "patients": self.patients, "dropped_phrases": self.phrases}
        try:
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2, ensure_ascii=False)
                file.write("\n")
        except OSError as error:
            raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None
