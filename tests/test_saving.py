"""What is saved of a pipeline holds no word of a note, and the pipeline works as before."""

import copy
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from conftest import NOTE, TOWNS, build_pipeline
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.saving import fingerprint, kept_strings, protect, save, verify_checksums

WORDS = ("Zyxwalda", "zyxwalda", "Qvistberg", "qvistberg")
TEXT = "Zyxwalda Qvistberg vive"


def holds(data: bytes) -> list[str]:
    """The canary's words in some bytes, whatever the encoding."""
    return [word for word in WORDS for codec in ("utf-8", "utf-16-le", "utf-16-be") if word.encode(codec) in data]


def holds_folder(folder: Path) -> dict[str, list[str]]:
    """The canary's words in the files of a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return {path.name: found for path in files if (found := holds(path.read_bytes()))}


@pytest.fixture(scope="module")
def trained() -> Language:
    """spaCy's own components, protected by their config and trained on the canary. Tests do not change them."""
    nlp = spacy.blank("es", config={"nlp": {"after_creation": {"@callbacks": "spacy_deid.protect.v1"}}})
    for name in ("ner", "tagger", "trainable_lemmatizer", "morphologizer"):
        nlp.add_pipe(name)
    gold = {
        "entities": [(0, 18, "PATIENT")],
        "tags": ["TAGN", "TAGN", "TAGV"],
        "lemmas": ["Zyxwalda", "Qvistberg", "vivir"],
        "pos": ["PROPN", "PROPN", "VERB"],
        "morphs": ["", "", "Mood=Ind"],
    }
    examples = [Example.from_dict(nlp.make_doc(TEXT), gold) for _ in range(10)]
    nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples)
    return nlp


def analyse(doc: Doc) -> list[object]:
    """All that the components of `trained` write."""
    return [(t.tag_, t.lemma_, t.pos_, str(t.morph), t.ent_type_) for t in doc]


def test_unprotected_pipeline_would_leak(tmp_path: Path):
    nlp = spacy.blank("es")
    nlp(TEXT)
    nlp.to_disk(tmp_path / "plain")
    assert holds_folder(tmp_path / "plain")
    assert holds(pickle.dumps(nlp))


def test_trained_pipeline_leaks_nothing_and_works_when_loaded(trained: Language, tmp_path: Path):
    expected = analyse(trained(TEXT))
    assert ("TAGV", "vivir", "VERB", "Mood=Ind", "") in expected
    trained.to_disk(tmp_path / "saved")
    assert holds_folder(tmp_path / "saved") == {}
    assert analyse(spacy.load(tmp_path / "saved")(TEXT)) == expected


@pytest.mark.parametrize("clone", [lambda nlp: pickle.loads(pickle.dumps(nlp)), copy.deepcopy])
def test_copies_work_and_are_protected_too(trained: Language, clone, tmp_path: Path):
    expected = analyse(trained(TEXT))
    assert holds(pickle.dumps(trained)) == []
    other = clone(trained)
    assert analyse(other(TEXT)) == expected
    assert holds(pickle.dumps(other)) == []
    assert holds(other.to_bytes()) == []
    other.to_disk(tmp_path / "saved")
    assert holds_folder(tmp_path / "saved") == {}


def test_bytes_leak_nothing_and_come_back(trained: Language):
    expected = analyse(trained(TEXT))
    data = trained.to_bytes()
    assert holds(data) == []
    other = spacy.blank("es", config={"nlp": {"after_creation": {"@callbacks": "spacy_deid.protect.v1"}}})
    for name in trained.pipe_names:
        other.add_pipe(name)
    other.from_bytes(data)
    assert analyse(other(TEXT)) == expected
    assert holds(other.to_bytes()) == []


def test_loaded_pipeline_is_protected_by_plain_spacy_too(pipeline_folder: Path, tmp_path: Path):
    for load in (spacy_deid.load, spacy.load):
        nlp = load(pipeline_folder)
        nlp(TEXT)
        nlp.to_disk(tmp_path / load.__module__)
        assert holds_folder(tmp_path / load.__module__) == {}
        assert holds(pickle.dumps(nlp)) == []


def test_docs_stay_usable_after_saving(nlp: Language, tmp_path: Path):
    doc = nlp(TEXT)
    nlp.to_disk(tmp_path / "saved")
    assert doc.text == TEXT
    assert nlp(TEXT)[0].text == "Zyxwalda"
    assert pickle.loads(pickle.dumps(doc)).text == TEXT


def test_strings_that_a_pipeline_came_with_are_kept(tmp_path: Path):
    nlp = spacy.blank("es")
    nlp.vocab.strings.add("parte_del_modelo")
    nlp.to_disk(tmp_path / "plain")
    with pytest.warns(UserWarning, match="has no checksums"):
        loaded = spacy_deid.load(tmp_path / "plain")
    loaded(TEXT)
    loaded.to_disk(tmp_path / "saved")
    assert "parte_del_modelo" in srsly.read_json(tmp_path / "saved" / "vocab" / "strings.json")
    assert holds_folder(tmp_path / "saved") == {}


def test_words_with_vectors_are_kept(tmp_path: Path):
    nlp = spacy.blank("es")
    protect(nlp)
    nlp.vocab.set_vector("casa", np.ones(3, dtype="f"))
    nlp(TEXT)
    assert "casa" in kept_strings(nlp)
    other = pickle.loads(pickle.dumps(nlp))
    assert other.vocab["casa"].vector.tolist() == [1, 1, 1]
    assert holds(pickle.dumps(nlp)) == []


def test_excluded_parts_are_left_out(nlp: Language, tmp_path: Path):
    nlp.to_disk(tmp_path / "a", exclude=["vocab"])
    assert not (tmp_path / "a" / "vocab").exists()
    nlp.to_disk(tmp_path / "b", exclude=["strings"])
    assert not (tmp_path / "b" / "vocab" / "strings.json").exists()
    assert "vocab" not in srsly.msgpack_loads(nlp.to_bytes(exclude=["vocab"]))


def test_other_string_stores_are_pickled_as_ever():
    vocab = Vocab(strings=["casa"])
    assert "casa" in pickle.loads(pickle.dumps(vocab)).strings


def test_saved_pipeline_is_replaced_whole_or_not_at_all(nlp: Language, tmp_path: Path, monkeypatch):
    save(nlp, tmp_path / "saved")
    before = fingerprint(spacy_deid.load(tmp_path / "saved"))

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(srsly, "write_json", fail)
        with pytest.raises(OSError, match="No space"):
            save(nlp, tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    save(nlp, tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert fingerprint(spacy_deid.load(tmp_path / "saved")) == before


def test_the_saved_pipeline_comes_back_if_the_new_one_cannot_take_its_place(
    nlp: Language, tmp_path: Path, monkeypatch
):
    target, replace, moves = tmp_path / "pipeline", os.replace, []

    def fail_once(source, destination):
        moves.append(destination)
        if len(moves) == 2:
            raise OSError("disk removed")
        replace(source, destination)

    save(nlp, target)
    before = {path.name for path in target.iterdir()}
    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(OSError, match="disk removed"):
        save(nlp, target)
    assert {path.name for path in target.iterdir()} == before != set()
    assert [path.name for path in tmp_path.iterdir()] == ["pipeline"]


def test_a_pipeline_is_saved_to_a_folder_in_folders_that_are_not_there(nlp: Language, tmp_path: Path):
    save(nlp, tmp_path / "a" / "b" / "pipeline")
    assert spacy_deid.load(tmp_path / "a" / "b" / "pipeline").pipe_names == nlp.pipe_names


def test_folder_that_is_no_pipeline_is_not_replaced(nlp: Language, tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    with pytest.raises(ConfigError, match="neither a saved pipeline"):
        save(nlp, tmp_path / "notes")
    assert (tmp_path / "notes" / "a.txt").read_text() == NOTE


def test_fingerprint_tells_lists_apart_and_not_what_was_read(nlp: Language, pipeline_folder: Path, tmp_path: Path):
    before = fingerprint(nlp)
    nlp(NOTE)
    assert fingerprint(nlp) == before == fingerprint(spacy_deid.load(pipeline_folder))
    for folder, towns in (("same", TOWNS), ("other", TOWNS + "Otra Ciudad,CITY\n")):
        (tmp_path / folder).mkdir()
        save(build_pipeline(tmp_path / folder, towns=towns), tmp_path / folder / "saved")
    rules = {"components": {"deid_ruler": {"paths": [str(pipeline_folder.parent / "towns.csv")]}}}
    assert fingerprint(spacy_deid.load(tmp_path / "same" / "saved", config=rules)) == before
    assert fingerprint(spacy_deid.load(tmp_path / "other" / "saved")) != before
    with pytest.raises(ConfigError, match="towns"):
        spacy_deid.load(tmp_path / "other" / "saved", config=rules)


def test_a_folder_without_meta_is_loaded(nlp: Language, tmp_path: Path):
    save(nlp, tmp_path / "saved")
    (tmp_path / "saved" / "meta.json").unlink()
    nlp.from_disk(tmp_path / "saved")
    assert nlp(NOTE).ents


def test_kept_strings_are_sorted_and_not_empty(nlp: Language):
    kept = kept_strings(nlp, ["zz", "", "aa"])
    assert kept == sorted(kept)
    assert {"zz", "aa", "CITY"} <= set(kept)
    assert "" not in kept


def test_bytes_without_strings_have_a_vocab_without_them(nlp: Language):
    vocab = srsly.msgpack_loads(srsly.msgpack_loads(nlp.to_bytes(exclude=["strings"]))["vocab"])
    assert "strings" not in vocab
    assert vocab
    assert "strings" in srsly.msgpack_loads(srsly.msgpack_loads(nlp.to_bytes())["vocab"])


def test_protecting_again_keeps_what_is_known_and_a_callback_of_ones_own():
    own = {"@callbacks": "spacy_deid.load_weights.v1", "path": None}
    nlp = spacy.blank("es")
    nlp.config["nlp"]["after_creation"] = own
    protect(nlp, ["uno"])
    guarded = nlp.to_disk
    protect(nlp, ["dos"])
    assert nlp.to_disk == guarded
    assert nlp.config["nlp"]["after_creation"] == own
    assert {"uno", "dos"} <= set(
        srsly.json_loads(srsly.msgpack_loads(srsly.msgpack_loads(nlp.to_bytes())["vocab"])["strings"])
    )


def test_checksums_are_there_or_not_and_cover_each_file(nlp: Language, tmp_path: Path):
    assert verify_checksums(tmp_path) is False
    save(nlp, tmp_path / "saved")
    assert verify_checksums(tmp_path / "saved") is True
    sums = srsly.read_json(tmp_path / "saved" / "checksums.json")["sha256"]
    files = {
        path.relative_to(tmp_path / "saved").as_posix() for path in (tmp_path / "saved").rglob("*") if path.is_file()
    }
    assert set(sums) == files - {"meta.json", "checksums.json"}
    assert list(sums) == sorted(sums, key=lambda name: name.split("/"))
    assert len(fingerprint(nlp)) == 16


def test_meta_can_be_excluded_and_the_path_named(nlp: Language, tmp_path: Path):
    nlp.meta["description"] = "saved"
    save(nlp, tmp_path / "saved")
    nlp.meta["description"] = "in memory"
    assert nlp.from_disk(path=tmp_path / "saved", exclude=["meta"]) is nlp
    assert nlp.meta["description"] == "in memory"
    nlp.from_disk(tmp_path / "saved")
    assert nlp.meta["description"] == "saved"
