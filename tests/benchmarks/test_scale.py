"""The benchmark of warehouse runs: what it compares and how it extrapolates."""

import pytest

pytest.importorskip("pyarrow", reason="needs the extra 'warehouse'")
pytest.importorskip("psutil")
scale = pytest.importorskip("benchmarks.scale", reason="the benchmarks are not in the package")
from pyarrow import parquet  # noqa: E402
from pyarrow import table as make_table  # noqa: E402


def write(folder, ids):
    (folder / "notes").mkdir(parents=True)
    parquet.write_table(make_table({"note_id": ids, "text": ["x"] * len(ids)}), folder / "notes" / "a.parquet")
    return folder


def test_lost_doubled_and_broken_notes_are_counted(tmp_path):
    expected = scale.read_result(write(tmp_path / "a", ["1", "2", "3"]))
    found = write(tmp_path / "b", ["1", "2", "2", "4"])
    (found / "notes" / "b.parquet").write_bytes(b"PAR1")
    assert scale.compare(expected, tmp_path / "a") == {"lost": 0, "doubled": 0, "different": 0, "half-written": 0}
    assert scale.compare(expected, found) == {"lost": 1, "doubled": 1, "different": 1, "half-written": 1}


def test_hours_fall_with_the_cores_down_to_the_time_of_the_start():
    one = scale.Measured(processor=0.0036, rate=270, start=5, rest=36, load=0, partition=4)
    hours = [scale.estimate_hours(one, one, cores) for cores in (1, 16, 10**9)]
    assert hours[0] == pytest.approx(100 + 0.01)
    assert hours[1] == pytest.approx(100 / 16 + 0.01 + 4 / 3600)
    assert hours[2] == pytest.approx(40 / 3600, abs=1e-3)
