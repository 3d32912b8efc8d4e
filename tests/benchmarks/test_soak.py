"""The benchmark of long streams: it notices notes that are lost, doubled, mixed up, failed or released."""

from dataclasses import replace
from itertools import count, islice

import pytest

pytest.importorskip("psutil")
soak = pytest.importorskip("benchmarks.soak", reason="the benchmarks are not in the package")

from spacy_deid import Deidentifier, Result  # noqa: E402

NOTES = 30


@pytest.fixture(scope="module")
def results(pipeline_folder):
    """Results of some notes and their numbers."""
    stream = ((note, number) for number, (note, _) in enumerate(islice(soak.make_short_notes(1, "es"), NOTES)))
    return list(Deidentifier(pipeline_folder).pipe(stream, as_tuples=True))


def check(results):
    found = soak.check_stream(results, soak.make_short_notes(1, "es"), count(NOTES), 3)
    return {name: number for name, number in found.broken.items() if number}


def test_a_stream_that_is_whole_breaks_no_promise(results):
    assert len(results) == NOTES
    assert check(results) == {}


def test_what_breaks_a_promise_is_counted(results):
    assert check(results[:10] + results[12:]) == {"lost": 2}
    assert check(results[:-1]) == {"lost": 1}
    assert check(results[:5] + results[3:]) == {"doubled": 2}
    (first, _), (second, _) = results[3], results[4]
    swapped = [*results[:3], (replace(second, number=3), 3), (replace(first, number=4), 4), *results[5:]]
    assert check(swapped) == {"mixed up": 2}
    failed = Result("failed", "D001", number=3)
    assert check([*results[:3], (failed, 3), *results[4:]]) == {"failed": 1}


def test_rows_compare_the_end_with_the_first_tenth():
    samples = [soak.Sample(100 * n, 1000 * n, 2.0 * n, 500 + 10 * n) for n in range(11)]
    rows = {row.name: row.value for row in soak.make_rows(soak.Soak(samples=samples), "command")}
    assert rows["memory at the end over memory after the first tenth"] == pytest.approx(600 / 510, abs=1e-3)
    assert rows["words/s of the last tenth over those of the first"] == 1
    assert rows["words/s of the last tenth, processor time"] == 500
    assert rows["notes streamed"] == 1000
    assert rows["notes lost"] == 0
