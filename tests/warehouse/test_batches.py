"""The pure function: an Arrow record batch in, an Arrow record batch out."""

import json
import math
import pickle
from itertools import pairwise

import pytest
from conftest import build_pipeline
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid import Deidentifier
from spacy_deid.ehr_fields import RowFields
from spacy_deid.errors import ConfigError, InputError
from spacy_deid.saving import save
from spacy_deid.warehouse.batches import ArrowMapper, deidentify_batch
from spacy_deid.warehouse.settings import Settings, TableColumns, fingerprint_of, fingerprint_parts

pa = pytest.importorskip("pyarrow", reason="needs the extra 'warehouse'")
SECRET = "Puerto Esparza"
COLUMNS = TableColumns()


@pytest.fixture(scope="module")
def deid(pipeline_folder):
    return Deidentifier(pipeline_folder)


def batch_of(**columns):
    return pa.RecordBatch.from_pydict(columns)


def test_a_row_has_text_edits_trace_status_and_fingerprint(deid):
    out = deidentify_batch(batch_of(note_id=[7], text=[f"Vive en {SECRET}."]), deid, COLUMNS, fingerprint="f")
    (row,) = out.to_pylist()
    trace = json.loads(row.pop("trace"))
    assert row == {
        "note_id": "7",
        "text": "Vive en [CITY].",
        "edits": [{"column": "text", "start": 8, "end": 22, "label": "CITY", "replacement": "[CITY]"}],
        "status": "released",
        "reason": None,
        "fingerprint": "f",
    }
    assert [(span["label"], span["evidence"][0]["source"]) for span in trace] == [("CITY", "deid_ruler")]
    assert SECRET not in str(trace)


BAD = {
    "null": (None, "column 'text' has no text"),
    "NaN": (math.nan, "column 'text' has no text"),
}


@pytest.mark.parametrize(("value", "reason"), BAD.values(), ids=BAD)
def test_a_row_without_text_fails_alone(deid, value, reason):
    kind = pa.float64() if value is not None else pa.string()
    texts = pa.array([value, None], kind)
    out = deidentify_batch(pa.record_batch({"note_id": ["a", "b"], "text": texts}), deid, COLUMNS)
    assert [(row["status"], row["reason"], row["text"]) for row in out.to_pylist()] == [("failed", reason, None)] * 2


def test_bad_rows_do_not_affect_others(deid):
    broken = pa.array([b"ok", b"\xff\xfe", b"Vive en Puerto Esparza."]).view(pa.string())
    out = deidentify_batch(pa.record_batch({"note_id": ["a", "b", None], "text": broken}), deid, COLUMNS).to_pylist()
    assert [row["text"] for row in out] == ["ok", None, None]
    assert [row["reason"] for row in out] == [
        None,
        "column 'text' is not valid Unicode",
        "column 'note_id' has no note id",
    ]
    assert [row["edits"] for row in out] == [[], None, None]


def test_numbers_in_the_text_column_fail(deid):
    out = deidentify_batch(batch_of(note_id=["a"], text=[5]), deid, COLUMNS).to_pylist()
    assert out[0]["reason"] == "column 'text' is not text"


def test_a_missing_column_is_an_error(deid):
    with pytest.raises(InputError, match="no column 'text'"):
        deidentify_batch(batch_of(note_id=["a"]), deid, COLUMNS)


def test_an_empty_batch_has_the_same_schema(deid):
    full = deidentify_batch(batch_of(note_id=["a"], text=["b"]), deid, COLUMNS)
    empty = deidentify_batch(
        pa.RecordBatch.from_pylist([], full.schema.empty_table().select([0, 1]).schema), deid, COLUMNS
    )
    assert empty.num_rows == 0
    assert empty.schema == full.schema


def test_a_withheld_row_has_no_text(deid, tmp_path, nlp):
    nlp.get_pipe("deid_merge").sources = ["deid/patterns", "deid/ruler", "deid/ner"]
    out = deidentify_batch(batch_of(note_id=["a"], text=[SECRET]), Deidentifier(nlp), COLUMNS).to_pylist()
    assert (out[0]["status"], out[0]["text"], out[0]["edits"], out[0]["trace"]) == ("withheld", None, None, None)
    assert SECRET not in str(out)


def test_columns_are_text_label_or_kept(deid):
    columns = TableColumns("id", ("a", "b"), {"name": "PATIENT"}, ("ward",))
    batch = batch_of(
        id=[1, 2], a=[SECRET, "x"], b=[None, "correo@ejemplo.es"], name=[" Ana Ruiz ", None], ward=[3, 4], other=[5, 6]
    )
    first, second = deidentify_batch(batch, deid, columns).to_pylist()
    assert (first["a"], first["b"], first["name"], first["ward"]) == ("[CITY]", None, "[PATIENT]", 3)
    assert (second["a"], second["b"], second["name"], second["ward"]) == ("x", "[EMAIL]", None, 4)
    assert {edit["column"] for edit in first["edits"]} == {"a", "name"}
    assert {span["column"] for span in json.loads(first["trace"])} == {"a", "name"}
    assert "other" not in first


def test_a_kept_value_of_a_failed_row_is_null(deid):
    columns = TableColumns(keep=("ward",))
    out = deidentify_batch(batch_of(note_id=["a"], text=pa.array([None], pa.string()), ward=[3]), deid, columns)
    assert out.to_pylist()[0]["ward"] is None


def test_an_invalid_patient_or_date_fails_its_row(deid):
    columns = TableColumns(fields=RowFields("patient", "day"))
    batch = batch_of(note_id=["a", "b", "c"], text=["x"] * 3, patient=["1", "", "2"], day=["2024-01-02", "", "May"])
    out = deidentify_batch(batch, deid, columns).to_pylist()
    assert [row["reason"] for row in out] == [
        None,
        "'patient' does not contain a valid patient id",
        "'day' does not contain a valid date in ISO 8601, as 2024-11-30",
    ]


@pytest.mark.parametrize(
    "columns",
    [{"texts": ()}, {"texts": ("edits",)}, {"texts": ("a",), "keep": ("a",)}, {"note_id": ""}],
    ids=str,
)
def test_columns_with_two_roles_are_refused(columns):
    with pytest.raises(ConfigError, match=r"column|required"):
        TableColumns(**columns)


TEXTS = ("", SECRET, "ana@ejemplo.es", "Villarrubia del Monte " * 9)
NOTES = [f"Nota {i}. {text}" for i in range(3) for text in TEXTS]


@given(cuts=st.lists(st.integers(0, len(NOTES)), max_size=4), size=st.integers(1, 20))
@settings(max_examples=10, deadline=None)
def test_the_output_does_not_depend_on_the_batches(deid, cuts, size):
    batch = batch_of(note_id=list(range(len(NOTES))), text=NOTES)
    bounds = [0, *sorted(cuts), len(NOTES)]
    parts = [batch.slice(start, stop - start) for start, stop in pairwise(bounds)]
    cut = [deidentify_batch(part, deid, COLUMNS, batch_size=size) for part in parts]
    assert pa.Table.from_batches(cut).to_pylist() == deidentify_batch(batch, deid, COLUMNS).to_pylist()


def test_a_mapper_is_pickled_as_a_path_and_maps_batches_and_tables(pipeline_folder, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(Settings(str(pipeline_folder)).to_json()))
    mapper = ArrowMapper(str(path))
    batch = batch_of(note_id=["a"], text=[SECRET])
    (out,) = mapper.batches(iter([batch]))
    data = pickle.dumps(mapper)
    assert len(data) < 1000
    assert pickle.loads(data)(pa.Table.from_batches([batch])).to_pylist() == out.to_pylist()
    assert out.to_pylist()[0]["text"] == "[CITY]"


def test_a_fingerprint_names_what_changed(pipeline_folder, tmp_path):
    def parts(pipeline=pipeline_folder, **given):
        made = Settings(str(pipeline), **given)
        return fingerprint_parts(made, made.open())

    base = parts()
    other = build_pipeline(tmp_path, towns="term,label\nMonte Nuevo,CITY\n")
    save(other, tmp_path / "es_towns")
    changes = {
        "style": parts(style="mask"),
        "columns": parts(columns=TableColumns("id")),
        "mode": parts(audit=True),
        "pipeline": parts(tmp_path / "es_towns"),
        "policy": parts(policy="safe_harbor"),
    }
    assert parts() == base
    assert parts(batch_size=3) == base
    for part, changed in changes.items():
        assert {name for name in base if base[name] != changed.get(name)} == {part}
        assert fingerprint_of(base) != fingerprint_of(changed)
