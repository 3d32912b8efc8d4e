"""Languages as folders: what is found, and what an unknown or an empty language falls back to."""

import sys

import pytest

import spacy_deid.lang
from spacy_deid.lang import get_language, language_codes, shared_words
from spacy_deid.lang.language_data import RESOURCES
from spacy_deid.lang.text import fold


@pytest.fixture
def empty_language(tmp_path, monkeypatch):
    """A language folder with nothing but its code."""
    folder = tmp_path / "qx"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        'from spacy_deid.lang.language_data import LanguageData\n\nLANGUAGE = LanguageData(code="qx")\n', "utf8"
    )
    monkeypatch.setattr(spacy_deid.lang, "__path__", [*spacy_deid.lang.__path__, str(tmp_path)])
    get_language.cache_clear()
    yield "qx"
    sys.modules.pop("spacy_deid.lang.qx", None)
    get_language.cache_clear()


def test_each_folder_is_a_language_of_its_code():
    assert {"en", "es", "fi"} <= set(language_codes())
    assert all(get_language(code).code == code for code in language_codes())


def test_a_language_is_loaded_once():
    assert get_language("es") is get_language("es")


def test_languages_are_listed_by_the_resources_that_they_have():
    assert "de" in language_codes("prompts")
    assert "de" not in language_codes("patterns.toml")


@pytest.mark.parametrize("name", RESOURCES)
def test_each_named_resource_is_one_that_some_language_has(name):
    assert language_codes(name) or name == "recovery.toml"


@pytest.mark.parametrize("code", ["zz", "", "en/../es", "..", "english", "en-clinical-bert", "EN-x", "/", "es.names"])
def test_an_unknown_code_has_no_resources_and_does_not_fail(code):
    language = get_language(code)
    assert not any(language.has(name) for name in RESOURCES)
    assert (language.read_text("calendar.toml"), language.read_lines("offensive.txt")) == ("", [])
    assert language.read_toml("calendar.toml") == {}


@pytest.mark.parametrize("code", ["en-GB", "en_GB", "en-gb"])
def test_a_region_is_read_upon_its_language(code):
    language = get_language(code)
    assert (language.code, language.region) == ("en", "GB")
    assert language.read_toml("calendar.toml")["day_first"] is True
    assert not get_language("en").read_toml("calendar.toml").get("day_first")
    assert language.read_toml("calendar.toml")["months"] == get_language("en").read_toml("calendar.toml")["months"]


def test_a_region_without_files_has_those_of_its_language():
    assert get_language("es-MX").read_toml("people.toml") == get_language("es").read_toml("people.toml")


def test_a_folder_on_the_path_is_a_language_at_once(empty_language):
    assert empty_language in language_codes()
    assert get_language(empty_language).code == empty_language
    assert not any(get_language(empty_language).has(name) for name in RESOURCES)


@pytest.mark.parametrize(
    ("resource", "table", "key", "known"),
    [
        ("people.toml", "titles", "ignored", {"dra", "mrs", "lkt"}),
        ("people.toml", "particles", "common", {"del", "van", "von"}),
        ("people.toml", "particles", "kept", {"de", "van", "af"}),
        ("people.toml", "particles", "saints", {"san", "saint"}),
        ("people.toml", "particles", "addresses", {"dra", "del"}),
        ("people.toml", "suffixes", "generations", {"jr", "iii"}),
        ("calendar.toml", "age", "between", {"y", "to", "tai"}),
    ],
)
def test_words_of_all_languages_count_in_every_note(resource, table, key, known):
    words = shared_words(resource, table, key)
    assert known <= set(words)
    assert len(set(words)) == len(words)
    assert all(word == fold(word) for word in words)


def test_a_list_that_no_language_has_is_empty():
    assert shared_words("people.toml", "particles", "no such list") == ()
