"""A language folder with nothing but its code: the common rules, tags, and no crash."""

import sys

import pytest
import spacy

import spacy_deid.lang
from spacy_deid.labels import LABELS
from spacy_deid.lang import add_folder, get_language
from spacy_deid.loading import use_style
from spacy_deid.surrogates.keys import ProjectKey

CONFIG = {
    "nlp": {
        "lang": "ga",
        "pipeline": ["deid_patterns", "deid_merge", "deid_recovery", "deid_surrogate"],
        "tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"},
    },
    "components": {
        "deid_patterns": {"factory": "deid_patterns"},
        "deid_merge": {"factory": "deid_merge", "sources": ["deid/patterns"]},
        "deid_recovery": {"factory": "deid_recovery"},
        "deid_surrogate": {"factory": "deid_surrogate"},
    },
}
ORIGINAL = "Zyxwalda Qvist 4711"


@pytest.fixture
def empty_language(tmp_path, monkeypatch):
    folder = tmp_path / "ga"
    folder.mkdir()
    code = 'from spacy_deid.lang.language_data import LanguageData\n\nLANGUAGE = LanguageData(code="ga")\n'
    (folder / "__init__.py").write_text(code, encoding="utf8")
    monkeypatch.setattr(spacy_deid.lang, "__path__", [*spacy_deid.lang.__path__])
    add_folder(tmp_path)
    assert get_language("ga").resource("patterns.toml").parent == folder
    yield
    sys.modules.pop("spacy_deid.lang.ga", None)
    get_language.cache_clear()


@pytest.fixture
def nlp(empty_language):
    return spacy.util.load_model_from_config(CONFIG, auto_fill=True)


def test_the_common_rules_find_and_tag(nlp):
    text = "Litir ó ana@example.org, 2024-05-03, IBAN ES91 2100 0418 4502 0005 1332."
    assert nlp(text)._.deid_text == "Litir ó [EMAIL], [DATE], IBAN [ACCOUNT]."


@pytest.mark.parametrize("label", LABELS)
def test_no_original_of_any_label_is_left_in_style_surrogate(nlp, label):
    use_style(nlp, "surrogate", ProjectKey(bytes(range(32))))
    doc = nlp.make_doc(f"Tháinig {ORIGINAL} inniu.")
    for name, component in nlp.pipeline:
        if name == "deid_surrogate":
            doc.set_ents([doc.char_span(8, 8 + len(ORIGINAL), label=label)])
        doc = component(doc)
    released = doc._.deid_text
    assert released.startswith("Tháinig ")
    assert released.endswith(" inniu.")
    assert not any(word in released for word in ORIGINAL.split())
