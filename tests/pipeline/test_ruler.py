import logging
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from conftest import long_notes
from spacy.tokens import Doc, DocBin

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.pipeline.ruler import Ruler
from spacy_deid.spans import read_evidence

CANARY = "Zósimo Quebrantado"
TRACES = [b"Quebrantado", b"quebrantado", b"QUEBRANTADO"]
TEXT = "Don ZOSIMO\u00a0QUEBRANTADO vive en Villaseca."
DOC_PAGE = Path(__file__).parents[2] / "docs" / "guides" / "lists.md"


@pytest.fixture
def towns(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text("term,label\nVillaseca,CITY\n", encoding="utf-8")
    return path


@pytest.fixture
def patients(tmp_path):
    path = tmp_path / "patients.csv"
    path.write_text(f"term,label\n{CANARY},PATIENT\n", encoding="utf-8")
    return path


@pytest.fixture
def nlp(towns):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler", config={"paths": [str(towns)]})
    return nlp


@pytest.fixture
def private(nlp, patients):
    nlp.get_pipe("deid_ruler").add_lists([patients])
    return nlp


def found(doc, key="deid/ruler"):
    return [(doc.text[e.start : e.end], e.label, e.rule) for e in read_evidence(doc, key)]


BOTH = [("ZOSIMO\u00a0QUEBRANTADO", "PATIENT", "patients"), ("Villaseca", "CITY", "towns")]


def test_terms_of_public_and_confidential_lists_are_found(private):
    doc = private(TEXT)
    assert found(doc) == BOTH
    assert {(e.source, e.score) for e in read_evidence(doc, "deid/ruler")} == {("deid_ruler", 1.0)}
    assert doc.spans["deid/ruler"].attrs["version"] == private.get_pipe("deid_ruler").version
    assert doc.ents == ()


def test_find_leaves_the_doc_alone(private):
    doc = private.make_doc(TEXT)
    assert len(private.get_pipe("deid_ruler").find(doc)) == 2
    assert not doc.spans


def test_a_ruler_that_finds_nothing_leaves_its_receipt(nlp):
    assert found(nlp("Sin novedad.")) == []
    assert found(spacy.blank("es").add_pipe("deid_ruler")(nlp.make_doc("Villaseca"))) == []


def test_key_name_and_default_label_are_settings(tmp_path):
    path = tmp_path / "staff.csv"
    path.write_text("term\nGervasio Pinto\n", encoding="utf-8")
    nlp = spacy.blank("es")
    config = {"key": "deid/staff", "paths": [str(path)], "label": "CLINICIAN"}
    nlp.add_pipe("deid_ruler", name="staff_ruler", config=config)
    doc = nlp("Gervasio Pinto")
    assert found(doc, "deid/staff") == [("Gervasio Pinto", "CLINICIAN", "staff")]
    assert read_evidence(doc, "deid/staff")[0].source == "staff_ruler"
    assert nlp.get_pipe("staff_ruler").labels == ("CLINICIAN",)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"key": "ruler"}, "'ruler': it must start with 'deid/'"),
        ({"label": "NAME"}, "unknown label 'NAME'.*PATIENT"),
        ({"paths": ["DIR/bad.csv"]}, r"bad\.csv: the terms of row\(s\) 2 "),
    ],
)
def test_wrong_settings_are_refused_when_the_component_is_made(tmp_path, config, message):
    (tmp_path / "bad.csv").write_text("term,label\nde,CITY\n", encoding="utf-8")
    config = {**config, "paths": [path.replace("DIR", str(tmp_path)) for path in config.get("paths", [])]}
    with pytest.raises(ConfigError, match=message):
        spacy.blank("es").add_pipe("deid_ruler", config=config)


def test_a_missing_public_list_stops_every_doc_and_every_save(tmp_path):
    nlp = spacy.blank("es")
    ruler = nlp.add_pipe("deid_ruler", config={"paths": [str(tmp_path / "nowhere.csv")]})
    for work in (lambda: nlp("Villaseca"), ruler.to_bytes, lambda: ruler.to_disk(tmp_path / "x")):
        with pytest.raises(ConfigError, match="nowhere"):
            work()


def test_a_list_of_a_language_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nlp = spacy.blank("sv")
    nlp.add_pipe("deid_ruler", config={"paths": ["lang:sv/gazetteer.csv"]})
    assert found(nlp("Bor i Uppsala.")) == [("Uppsala", "CITY", "gazetteer")]


def test_config_round_trip(nlp):
    config = nlp.config.from_str(nlp.config.to_str())
    assert found(spacy.util.load_model_from_config(config)("Villaseca")) == [BOTH[1]]


def test_a_saved_pipeline_needs_its_public_lists_no_more(nlp, towns, tmp_path):
    nlp.to_disk(tmp_path / "model")
    data = nlp.to_bytes()
    towns.unlink()
    loaded = [spacy.load(tmp_path / "model"), spacy.util.load_model_from_config(nlp.config).from_bytes(data)]
    for other in loaded:
        assert found(other(TEXT)) == [BOTH[1]]
        assert other.get_pipe("deid_ruler").version == nlp.get_pipe("deid_ruler").version
        assert other.get_pipe("deid_ruler").to_bytes() == nlp.get_pipe("deid_ruler").to_bytes()


def test_a_list_named_when_a_saved_pipeline_is_loaded_is_added(nlp, tmp_path):
    (tmp_path / "more.csv").write_text("term,label\nVillanueva,CITY\n", encoding="utf-8")
    nlp.to_disk(tmp_path / "model")
    config = {"components.deid_ruler.paths": [str(tmp_path / "more.csv")]}
    again = spacy.load(tmp_path / "model", config=config)
    assert found(again("Villaseca y Villanueva")) == [("Villaseca", "CITY", "towns"), ("Villanueva", "CITY", "more")]
    again.to_disk(tmp_path / "both")
    assert len(found(spacy.load(tmp_path / "both")("Villaseca y Villanueva"))) == 2


def test_a_list_named_when_a_saved_pipeline_is_loaded_must_be_there(nlp, tmp_path):
    nlp.to_disk(tmp_path / "model")
    again = spacy.load(tmp_path / "model", config={"components.deid_ruler.paths": ["nowhere.csv"]})
    with pytest.raises(ConfigError, match="nowhere"):
        again("Villaseca")


@pytest.mark.parametrize("part", ["cfg", "terms"])
def test_parts_can_be_left_out(nlp, tmp_path, part):
    ruler = nlp.get_pipe("deid_ruler")
    ruler.to_disk(tmp_path / "ruler", exclude=[part])
    assert {path.name for path in (tmp_path / "ruler").iterdir()} == {"cfg", "terms"} - {part}
    assert len(ruler.to_bytes(exclude=[part])) < len(ruler.to_bytes())
    assert ruler.from_disk(tmp_path / "ruler", exclude=[part]).from_bytes(ruler.to_bytes(), exclude=[part]) is ruler


def test_confidential_terms_are_saved_nowhere(private, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    ruler = private.get_pipe("deid_ruler")
    ruler.add_terms([CANARY], label="PERSON")
    private.to_disk(tmp_path / "model")
    files = [path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert len(files) > 3
    saved = [*files, private.to_bytes(), pickle.dumps(ruler), private.config.to_str().encode(), repr(ruler).encode()]
    with pytest.raises(ConfigError) as caught:
        ruler.add_terms([CANARY, "x"], label="PERSON")
    output = capfd.readouterr()
    saved += [str(caught.value).encode(), caplog.text.encode(), output.out.encode(), output.err.encode()]
    assert not [trace for trace in TRACES for part in saved if trace in part]


def copies(nlp, tmp_path):
    nlp.to_disk(tmp_path / "model")
    ruler = nlp.get_pipe("deid_ruler")
    yield spacy.load(tmp_path / "model").get_pipe("deid_ruler")
    empty = Ruler("deid_ruler", key="deid/ruler", paths=[], label=None, without_patient="institution", fuzzy=None)
    yield empty.from_bytes(ruler.to_bytes())
    yield pickle.loads(pickle.dumps(ruler))


def test_a_saved_pipeline_fails_closed_until_it_has_its_confidential_lists(private, patients, tmp_path):
    private.get_pipe("deid_ruler").add_terms(["Gervasio Pinto"], label="CLINICIAN")
    for ruler in copies(private, tmp_path):
        with pytest.raises(NotDeidentified, match=r"2 confidential list\(s\).* has 0"):
            ruler(private.make_doc(TEXT))
        ruler.add_lists([patients])
        with pytest.raises(NotDeidentified, match="has 1"):
            ruler(private.make_doc(TEXT))
        ruler.add_terms(["Gervasio Pinto"], label="CLINICIAN")
        assert found(ruler(private.make_doc(TEXT))) == BOTH


def test_a_pipeline_saved_before_it_has_its_lists_again_still_expects_them(private, tmp_path):
    for ruler in copies(private, tmp_path):
        assert pickle.loads(pickle.dumps(ruler)).expects_lists == 1


def test_dropping_the_lists_goes_on_without(private, tmp_path):
    for ruler in [*copies(private, tmp_path), private.get_pipe("deid_ruler")]:
        ruler.drop_lists()
        assert found(ruler(private.make_doc(TEXT))) == [BOTH[1]]
        assert pickle.loads(pickle.dumps(ruler)).expects_lists == 0


def test_no_text_leaves_a_pipeline_that_swallows_the_refusal(private):
    ruler = pickle.loads(pickle.dumps(private.get_pipe("deid_ruler")))
    ruler.set_error_handler(spacy.util.ignore_error)
    docs = list(ruler.pipe([private.make_doc(TEXT)]))
    assert [doc for doc in docs if "deid/ruler" in doc.spans] == []


def test_the_version_follows_the_content_and_tells_nothing_of_confidential_names(nlp, towns):
    ruler = nlp.get_pipe("deid_ruler")
    versions = {ruler.version}
    for name in ("Ana Ruiz", "Eva Gil"):
        copy = pickle.loads(pickle.dumps(ruler))
        copy.add_terms([name], label="PERSON")
        versions.add(copy.version)
    assert len(versions) == 2
    towns.write_text("term,label\nVillalba,CITY\n", encoding="utf-8")
    assert spacy.blank("es").add_pipe("deid_ruler", config={"paths": [str(towns)]}).version not in versions


def test_docs_survive_bytes_and_docbin(private):
    doc = private(TEXT)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    for copy in (
        Doc(private.vocab).from_bytes(doc.to_bytes()),
        next(DocBin().from_bytes(stored).get_docs(private.vocab)),
    ):
        assert found(copy) == BOTH
        assert copy.spans["deid/ruler"].attrs["version"]


def test_forked_workers_have_the_confidential_lists(private):
    docs = list(private.pipe([TEXT] * 4, n_process=2, batch_size=2))
    assert [found(doc) for doc in docs] == [BOTH] * 4


def test_spawned_workers_have_the_confidential_lists(towns, patients, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import multiprocessing, spacy
from spacy_deid.spans import read_evidence
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.blank("es")
    ruler = nlp.add_pipe("deid_ruler", config={{"paths": [{str(towns)!r}]}})
    ruler.add_lists([{str(patients)!r}])
    for doc in nlp.pipe([{TEXT!r}] * 2, n_process=2, batch_size=1):
        print([e.label for e in read_evidence(doc, "deid/ruler")])
""",
        encoding="utf-8",
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.splitlines() == ["['PATIENT', 'CITY']"] * 2


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u00a0", "\u0301", "😀"])
def test_empty_and_blank_docs_pass(private, text):
    assert found(private(text)) == []


@long_notes
def test_every_mention_of_a_long_note_is_found(private, length):
    text = ("Don Zósimo Quebrantado, sin alergias conocidas.\n" * (length // 40))[:length]
    assert len(private.get_pipe("deid_ruler").find(private.make_doc(text))) == text.count("Quebrantado")


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOC_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 5
    exec("\n".join(blocks), {})
