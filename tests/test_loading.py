"""Loading pipelines by name, folder or package."""

import importlib
import json
import shutil
import sys
from pathlib import Path

import pytest
import spacy
from spacy.cli.package import package as package_pipeline

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.loading import read_language
from spacy_deid.saving import CHECKSUMS, save

OTHER_VERSION = r"cannot be loaded .*created with spacy_deid 0\.0\.7 and spaCy .*; installed are spacy_deid"


@pytest.fixture
def folder(tmp_path):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler").add_terms(["Ana Ruiz"], "PATIENT")
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate")
    nlp.get_pipe("deid_ruler").drop_lists()
    save(nlp, tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_is_loaded(folder, kind):
    nlp = spacy_deid.load(kind(folder))
    assert nlp.pipe_names == ["deid_ruler", "deid_merge", "deid_surrogate"]


def test_settings_are_passed_on(folder):
    nlp = spacy_deid.load(folder, config={"components": {"deid_surrogate": {"policy": "safe_harbor"}}})
    assert nlp.get_pipe("deid_surrogate").policy.name == "safe_harbor"


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="pipeline 'nowhere' not found"):
        spacy_deid.load("nowhere")


def test_the_shipped_pipelines_are_folders_with_a_config():
    for name, path in spacy_deid.shipped_pipelines().items():
        assert path.name == name
        assert (path / "config.cfg").is_file()


def made_by(folder, version):
    meta = json.loads((folder / "meta.json").read_text())
    meta["deid"] = {"spacy_deid": version}
    (folder / "meta.json").write_text(json.dumps(meta))


def test_a_pipeline_of_another_version_is_loaded_with_a_warning(folder):
    made_by(folder, "0.0.7")
    with pytest.warns(UserWarning, match=r"created with spacy_deid 0\.0\.7, but spacy_deid"):
        spacy_deid.load(folder)


def test_a_pipeline_of_another_version_that_cannot_be_read_is_refused_with_the_versions(folder):
    made_by(folder, "0.0.7")
    (folder / CHECKSUMS).unlink()
    config = (folder / "config.cfg").read_text()
    (folder / "config.cfg").write_text(config.replace('factory = "deid_ruler"', 'factory = "deid_lexer"'))
    with pytest.raises(ConfigError, match=OTHER_VERSION), pytest.warns(UserWarning, match="has no checksums"):
        spacy_deid.load(folder)


@pytest.fixture
def package(folder, tmp_path, monkeypatch):
    """An installed package of the folder, made by another version."""
    made_by(folder, "0.0.7")
    place = tmp_path / "site" / "es_probe"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\n\n\n"
        "def load(**overrides):\n    return load_model_from_init_py(__file__, **overrides)\n"
    )
    meta = json.loads((folder / "meta.json").read_text()) | {"lang": "es", "name": "probe", "version": "0.0.1"}
    (place / "meta.json").write_text(json.dumps(meta))
    folder.rename(place / "es_probe-0.0.1")
    info = tmp_path / "site" / "es_probe-0.0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: es_probe\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield place
    sys.modules.pop("es_probe", None)


def test_a_package_of_another_version_is_loaded_with_a_warning(package):
    with pytest.warns(UserWarning, match=r"pipeline 'es_probe' was created with spacy_deid 0\.0\.7"):
        assert "deid_ruler" in spacy_deid.load("es_probe").pipe_names


def test_a_package_of_another_version_that_cannot_be_read_is_refused_with_the_versions(package):
    path = package / "es_probe-0.0.1" / "config.cfg"
    path.write_text(path.read_text().replace('factory = "deid_ruler"', 'factory = "deid_lexer"'))
    (path.parent / CHECKSUMS).unlink()
    with (
        pytest.raises(ConfigError, match=f"'es_probe' .*{OTHER_VERSION}"),
        pytest.warns(UserWarning, match="checksums"),
    ):
        spacy_deid.load("es_probe")


def test_a_saved_pipeline_says_which_version_made_it(folder, tmp_path):
    save(spacy_deid.load(folder), tmp_path / "again")
    assert json.loads((tmp_path / "again" / "meta.json").read_text())["deid"]["spacy_deid"] == spacy_deid.__version__


def flip_bytes(folder):
    path = folder / "deid_ner" / "model"
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(255 - byte for byte in data[len(data) // 2 :][:64])
    path.write_bytes(data)


DAMAGES = {
    "deid_ner/model differs": flip_bytes,
    "deid_ner/model is missing": lambda folder: (folder / "deid_ner" / "model").unlink(),
    "deid_patterns/rules.json differs": lambda folder: (folder / "deid_patterns" / "rules.json").write_text("[]"),
    "vocab/key2row is missing": lambda folder: shutil.rmtree(folder / "vocab"),
    "tokenizer cannot be read": lambda folder: ((folder / "tokenizer").unlink(), (folder / "tokenizer").mkdir()),
    "checksums.json cannot be read": lambda folder: (folder / CHECKSUMS).write_text("{"),
}


@pytest.fixture(scope="module")
def shipped_copy(tmp_path_factory):
    """A copy of the Finnish pipeline, as a user's own folder."""
    return shutil.copytree(spacy_deid.shipped_pipelines()["fi"], tmp_path_factory.mktemp("copy") / "fi_copy")


@pytest.mark.parametrize("problem", DAMAGES)
@pytest.mark.parametrize("load", [spacy_deid.load, spacy.load])
def test_a_damaged_pipeline_is_refused_with_its_name_and_the_file(shipped_copy, tmp_path, problem, load):
    folder = shutil.copytree(shipped_copy, tmp_path / "fi_copy")
    DAMAGES[problem](folder)
    with pytest.raises(ConfigError, match=rf"pipeline '.*fi_copy' is damaged: its file {problem}"):
        load(folder)


def test_a_shipped_pipeline_without_checksums_is_refused(shipped_copy, monkeypatch):
    (shipped_copy / CHECKSUMS).rename(shipped_copy / "moved.json")
    monkeypatch.setattr("spacy_deid.loading.shipped_pipelines", lambda: {"fi": shipped_copy})
    with pytest.raises(ConfigError, match=r"pipeline 'fi' is damaged: its file checksums\.json is missing"):
        spacy_deid.load("fi")
    (shipped_copy / "moved.json").rename(shipped_copy / CHECKSUMS)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # spaCy leaves the files open that it writes
def test_a_pipeline_that_spacy_packaged_is_checked_too(folder, tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    package_pipeline(folder, tmp_path / "packages", create_sdist=False, create_wheel=False, name="probe", silent=True)
    place = tmp_path / "packages" / "es_probe-0.0.0" / "es_probe"
    shutil.copy(place.parent / "meta.json", place)  # as the package's setup.py does
    data = place / "es_probe-0.0.0"
    assert spacy_deid.load(data).pipe_names == ["deid_ruler", "deid_merge", "deid_surrogate"]
    (data / "deid_ruler" / "terms").write_bytes(b"")
    monkeypatch.syspath_prepend(place.parent)
    with pytest.raises(ConfigError, match="its file deid_ruler/terms differs from what was saved"):
        importlib.import_module("es_probe").load()
    sys.modules.pop("es_probe", None)


def test_a_loaded_pipeline_has_the_meta_that_was_saved():
    nlp, saved = spacy_deid.load("es"), json.loads((spacy_deid.shipped_pipelines()["es"] / "meta.json").read_text())
    assert {name: nlp.meta[name] for name in ("name", "version", "sources")} == {
        name: saved[name] for name in ("name", "version", "sources")
    }
    assert list(nlp.meta["labels"]["deid_patterns"]) == list(nlp.get_pipe("deid_patterns").labels)


def test_the_language_is_read_without_loading(folder):
    assert read_language(folder) == "es"
    assert read_language("fi") == "fi"
    with pytest.raises(ConfigError, match="no_such"):
        read_language("no_such")
