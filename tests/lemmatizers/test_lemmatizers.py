"""What every lemmatizer does: one lemma a token, never empty, nothing changed, nothing kept."""

import pickle
import re
from importlib.resources import files
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_deid.errors import ConfigError
from spacy_deid.lemmatizers import Lemmatizer, choose_lemmatizer, lower_form, make_capitalised_lemmatizer, read_lemmas

BLOCK = "@deid_lemmatizers"
CAPITALISED = "spacy_deid.capitalised_lemmatizer.v1"
CONFIGS = {
    "doc": ("doc", "fi"),
    "lookup": ("lookup", "es"),
    "simplemma": ("simplemma", "fi"),
    "rules": ("rules", "fi"),
    "default en": (None, "en"),
    "default es": (None, "es"),
    "default fi": (None, "fi"),
    "first": (["doc", "rules"], "fi"),
    "capitalised": ({BLOCK: CAPITALISED, "capitalised": "rules", "others": "doc", "lang": "fi"}, "fi"),
}
WORDS = (
    "VIRTASEN Juhan juhan.virtanen@sairaala.fi 12.3.2020 , \n ' -- Ångströmin HUS:iin O'Brien's a Ä niños 53v".split(
        " "
    )
)


def make(config, lang):
    return choose_lemmatizer(spacy.registry.resolve({"lemmatizer": config})["lemmatizer"], lang)


@pytest.fixture(params=CONFIGS)
def lemmatizer(request):
    return make(*CONFIGS[request.param])


@pytest.fixture
def vocab():
    return spacy.blank("fi").vocab


def test_each_token_has_a_lemma_that_is_not_empty(lemmatizer, vocab):
    lemmas = lemmatizer(Doc(vocab, words=WORDS))
    assert len(lemmas) == len(WORDS)
    assert all(isinstance(lemma, str) and lemma for lemma in lemmas)


def test_an_empty_doc_has_no_lemmas(lemmatizer, vocab):
    assert lemmatizer(Doc(vocab)) == []


def test_lemmas_are_in_lower_case_and_composed(lemmatizer, vocab):
    lemmas = lemmatizer(Doc(vocab, words=WORDS))
    assert lemmas == [lower_form(lemma) for lemma in lemmas]


def test_capitals_and_decomposed_accents_make_no_difference(lemmatizer, vocab):
    upper, lower, apart = lemmatizer(Doc(vocab, words=["MÄKELÄ", "mäkelä", "Ma\u0308kela\u0308"]))
    assert upper == lower == apart


def test_marks_are_their_own_lemmas(lemmatizer, vocab):
    words = [",", "--", "12", "@"]
    assert lemmatizer(Doc(vocab, words=words)) == words


def test_the_doc_stays_as_it_is(lemmatizer, vocab):
    doc = Doc(vocab, words=WORDS)
    before = doc.to_bytes()
    lemmatizer(doc)
    assert doc.to_bytes() == before


def test_it_goes_to_another_process(lemmatizer, vocab):
    doc = Doc(vocab, words=WORDS)
    assert pickle.loads(pickle.dumps(lemmatizer))(doc) == lemmatizer(doc)


def test_it_keeps_no_word_of_a_note(lemmatizer, vocab):
    lemmatizer(Doc(vocab, words=["Xyzzyqvistin"]))
    assert b"yzzyqvist" not in pickle.dumps(lemmatizer)
    assert "yzzyqvist" not in repr(lemmatizer)


@pytest.mark.parametrize(
    ("config", "lang", "message"),
    [
        ("lookup", "fi", "spacy-lookups-data"),
        ("simplemma", "xx", "simplemma"),
        ({BLOCK: "spacy_deid.edit_tree_lemmatizer.v1", "path": "no/such/folder"}, "fi", "no/such/folder"),
        ("spacy_deid.edit_tree_lemmatizer.v1", "fi", r"lemmatizer 'spacy_deid.*' needs settings"),
        ("rules", "sv", "Languages with one: .*fi"),
        ("nonsense", "fi", "unknown lemmatizer 'nonsense'. Known names: rules, simplemma, lookup, voikko, doc"),
    ],
)
def test_a_lemmatizer_that_cannot_be_made_is_an_error_that_says_why(config, lang, message):
    with pytest.raises(ConfigError, match=message):
        make(config, lang)


VOCAB = Vocab()


def table(**lemmas: str) -> Lemmatizer:
    """A lemmatizer that knows some words and says nothing about others."""
    return lambda doc: [lemmas.get(token.text, "") for token in doc]


def first(*lemmatizers):
    return choose_lemmatizer(list(lemmatizers), "fi")


def capitalised(names, others):
    return make_capitalised_lemmatizer(names, others, "fi")


def test_the_pipelines_own_lemmas_are_read():
    doc = Doc(VOCAB, words=["Juhan", "vaimo"], lemmas=["Juha", ""])
    assert read_lemmas(doc) == ["juha", "vaimo"]


def test_a_word_with_two_lemmas_gets_one():
    doc = Doc(VOCAB, words=["leaves", "Leaves", "LEAVES"], lemmas=["leave", "leaf", ""])
    assert read_lemmas(doc) == ["leave"] * 3


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_lemma_is_none(blank):
    doc = Doc(VOCAB, words=["Juhan"], lemmas=[blank])
    assert read_lemmas(doc) == ["juhan"]
    assert first(table(Juhan=blank))(doc) == ["juhan"]


def test_the_first_that_knows_a_word_is_taken():
    lemmatizer = first(table(talon="talo"), table(talon="x", Juhan="juha"))
    assert lemmatizer(Doc(VOCAB, words=["talon", "Juhan", "ja"])) == ["talo", "juha", "ja"]


def test_the_first_of_none_is_an_error():
    with pytest.raises(ConfigError, match="at least one"):
        first()


def test_finnish_names_fall_back_on_the_rule():
    lemmatizer = first(table(talossa="talo"), "rules")
    assert lemmatizer(Doc(VOCAB, words=["Virtasen", "talossa"])) == ["virtanen", "talo"]


def test_capitals_within_a_sentence_go_to_the_one_for_names():
    lemmatizer = capitalised(table(Juhan="juha", juhan="juha"), table(Juhan="x", talon="talo"))
    assert lemmatizer(Doc(VOCAB, words=["se", "Juhan", "talon", "juhan"])) == ["se", "juha", "talo", "juha"]


def test_at_the_start_of_a_sentence_the_one_for_words_is_asked_first():
    lemmatizer = capitalised(table(Talon="x", Juhan="juha"), table(Talon="talo"))
    assert lemmatizer(Doc(VOCAB, words=["Talon", "ovi", ".", "Juhan", "ovi"])) == ["talo", "ovi", ".", "juha", "ovi"]


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
