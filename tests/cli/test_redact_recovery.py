"""``spacy-deid redact`` with a pipeline that recovers: the report counts it, the trace says why."""

import json

import pytest
import spacy

from spacy_deid.saving import save


@pytest.fixture(scope="module")
def recovering(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recovering") / "en_names"
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.meta["name"] = "names"
    names = folder.parent / "names.csv"
    names.write_text("term,label\nCrohn,PERSON\nBell,PERSON\n", encoding="utf8")
    nlp.add_pipe("deid_ruler", config={"paths": [str(names)]})
    for factory in ("deid_merge", "deid_recovery", "deid_surrogate"):
        nlp.add_pipe(factory)
    save(nlp, folder)
    return folder


def test_what_was_recovered_is_counted_and_traced(cli, recovering, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Mr. Bell has Crohn's disease.", encoding="utf8")
    row = json.dumps({"text": "Crohn's disease. Crohn's disease."})
    (tmp_path / "in" / "b.jsonl").write_text(row + "\n", encoding="utf8")
    settings = ("--pipeline", recovering, "--text-field", "text", "--trace", "--report", tmp_path / "report.json")
    result = cli("redact", tmp_path / "in", "--output", tmp_path / "out", *settings)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf8") == "Mr. [PERSON] has Crohn's disease."
    assert json.loads((tmp_path / "report.json").read_text())["recovered"] == {"eponym:disease": 3}
    spans = json.loads((tmp_path / "out" / "a.trace.json").read_text())["spans"]
    assert [span["action"] for span in spans] == ["replace", "recover"]
    written = (tmp_path / "report.json").read_text() + (tmp_path / "out" / "a.trace.json").read_text()
    assert "Crohn" not in written
    assert "Bell" not in written


def test_a_pipeline_that_recovers_nothing_says_nothing_of_it(redact, tmp_path):
    (tmp_path / "a.txt").write_text("Vive en Puerto Esparza.", encoding="utf8")
    assert redact(tmp_path / "a.txt", "--report", tmp_path / "report.json").exit_code == 0
    assert "recovered" not in json.loads((tmp_path / "report.json").read_text())
