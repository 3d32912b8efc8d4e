"""What a build did, in counts: by column and by reason. The report is for the owner of the data alone.

Of persons it holds numbers only. Names of institutions that were dropped as too common are listed, so that somebody
can see whether they are; the report is written so that others cannot read it.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .mapping import Column, Table

_LISTED = 1_000
_SURE = 20  # values without a single one of their kind are few; from so many on a share decides
_WRONG = 0.5


@dataclass
class ColumnTally:
    """Counts of one column: values that were used and skipped, forms that were made, made conditional and dropped."""

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
        """Plain values; what is zero is left out."""
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

    columns (dict[str, ColumnTally]): by rule, "table.column".
    rows (Counter): rows by table.
    without_id (Counter): rows without a patient id by table.
    repeated (Counter): rows that give a patient id again, by table.
    phrases (dict): rule → names of institutions that were dropped, and how often they stand in a million words.
    patients (int): patients that were written.
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
        per_million (float): how common it is.
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
        """Make sure that columns hold what the mapping says. RAISES: InputError (D183).

        table (Table): the table.
        some (bool): whether only some rows were read; then a column is refused only if nothing of it is right.
        """
        for column in table.columns:
            self._check(table, column, some)

    def _check(self, table: Table, column: Column, some: bool) -> None:
        """Refuse a column most of which is of another kind: it would leave most patients without."""
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
        """How many values were used."""
        return sum(tally.used for tally in self.columns.values())

    def manifest(self) -> dict[str, Any]:
        """Counts alone, for the dictionary's own manifest.

        RETURNS (dict): plain values, none of which is from the record.
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

        path (Path): the file; it is replaced.
        about (Mapping): what else to say: settings, versions.
        RAISES: InputError (D402) if it cannot be written.
        """
        data = {**about, **self.manifest(), "patients": self.patients, "dropped_phrases": self.phrases}
        try:
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2, ensure_ascii=False)
                file.write("\n")
        except OSError as error:
            raise InputError(Errors.D402.format(path=path, reason=os.strerror(error.errno or 0))) from None
