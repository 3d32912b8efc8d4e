"""The page that adds a language does so: its files and code run as they stand, nothing of the language is built in."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from spacy_deid.lemmatizers import choose_lemmatizer

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "languages.md"
FENCE = re.compile(r"^```(?P<kind>\w+) ?(?P<file>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIG_LINES = 20
LANG = "cs"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the page's code leaves behind, after it ran in a folder with the page's files."""
    folder = tmp_path_factory.mktemp("language")
    namespace = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in FENCE.finditer(PAGE.read_text(encoding="utf8")):
            if block["file"]:
                (folder / block["file"]).parent.mkdir(parents=True, exist_ok=True)
                (folder / block["file"]).write_text(block["body"], encoding="utf8")
            elif block["kind"] == "python":
                exec(compile(block["body"], str(PAGE), "exec"), namespace)
    return namespace


def masked_together(nlp, text, word):
    """The forms that are masked with a word."""
    doc = nlp.make_doc(text)
    words = [token.i for token in doc if token.is_alpha]
    found = nlp.get_pipe("deid_surprisal").masking.find(doc, words)
    place = [doc[i].text for i in words].index(word)
    return {doc[words[other]].text for other in found[place]}


def test_the_language_is_not_built_in():
    assert not (files("spacy_deid") / "lang" / LANG).is_dir()


def test_the_config_is_short():
    blocks = [block["body"] for block in FENCE.finditer(PAGE.read_text(encoding="utf8")) if block["kind"] == "ini"]
    assert 0 < sum(len(block.strip().splitlines()) for block in blocks) <= CONFIG_LINES


def test_the_lemmatizer_of_the_config_brings_forms_of_a_name_together(page):
    lemmatizer = choose_lemmatizer(page["config"]["components"]["deid_surprisal"].get("lemmatizer"), LANG)
    lemmas = lemmatizer(page["nlp"].make_doc("Novák Nováka Novákovi Praha Praze"))
    assert lemmas == ["novák"] * 3 + ["praha"] * 2


def test_all_forms_of_a_name_are_masked_with_it(page):
    text = "Volal Novák. Předáno Novákovi, v Brně, Dvořák byl v Praze a jede do Prahy"
    assert masked_together(page["nlp"], text, "Novák") == {"Novák", "Novákovi"}
    assert masked_together(page["nlp"], text, "Praze") == {"Praze", "Prahy"}
    assert masked_together(page["nlp"], text, "Dvořák") == {"Dvořák"}
