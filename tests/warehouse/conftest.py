"""A table of notes in several kinds of files, and runs over it in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from spacy_deid.warehouse.inputs import InputSettings
from spacy_deid.warehouse.run import Run
from spacy_deid.warehouse.settings import Settings

pa = pytest.importorskip("pyarrow", reason="needs the extra 'warehouse'")


def make_rows(count: int, start: int = 0) -> dict[str, list[Any]]:
    """Notes with identifiers that the small pipeline finds, every tenth without one."""
    ids = range(start, start + count)
    text = "Nota {}. Vive en Puerto Esparza. Correo: ana{}@ejemplo.es"
    return {
        "note_id": [f"n{i}" for i in ids],
        "patient_id": [f"p{i % 50}" for i in ids],
        "ward": [i % 7 for i in ids],
        "text": [text.format(i, i) if i % 10 else f"Control {i}." for i in ids],
    }


def write_parquet(path: Path, rows: dict[str, list[Any]], **settings: Any) -> Path:
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(rows), path, **settings)
    return path


def read_notes(output: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """The released rows of a run, sorted by id."""
    from pyarrow import parquet

    rows = [
        row
        for path in sorted((output / "notes").glob("*.parquet"))
        for row in parquet.read_table(path, columns=columns).to_pylist()
    ]
    return sorted(rows, key=lambda row: row["note_id"])


def read_quarantine(output: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet

    files = sorted((output / "run" / "quarantine").glob("*.parquet"))
    return [row for path in files for row in parquet.read_table(path).to_pylist()]


def result_of(output: Path) -> dict[str, Any]:
    """Everything in the output that must not depend on how a run went: files byte for byte, and counts."""
    files = [*(output / "notes").glob("[!.]*"), *(output / "run" / "quarantine").glob("[!.]*")]
    found: dict[str, Any] = {str(path.relative_to(output)): path.read_bytes() for path in files}
    for path in (output / "run" / "partitions").glob("*.json"):
        found[path.name] = {**json.loads(path.read_bytes()), "seconds": None, "processor_seconds": None}
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder with 300 notes in two Parquet files."""
    write_parquet(tmp_path / "in" / "a.parquet", make_rows(200), row_group_size=70)
    write_parquet(tmp_path / "in" / "b.parquet", make_rows(100, 200))
    return tmp_path / "in"


@pytest.fixture
def make_run(pipeline_folder: Path, tmp_path: Path):
    """Make a run in this process, with partitions of 50 rows."""

    def make(where: Path | str, output: str = "out", *, rows: int = 50, n_process: int = 0, **given: Any) -> Run:
        inputs = {name: given.pop(name) for name in ("table", "query", "encoding") if name in given}
        driver = {name: given.pop(name) for name in ("engine", "changed", "retry", "every") if name in given}
        settings = Settings(given.pop("pipeline", str(pipeline_folder)), **given)
        source = InputSettings(str(where), rows=rows, **inputs)
        lines: list[str] = []
        run = Run(settings, source, tmp_path / output, n_process=n_process, say=lines.append, **driver)
        run.lines = lines  # type: ignore[attr-defined]
        return run

    return make
