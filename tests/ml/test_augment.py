import pytest
import spacy
from spacy.training import Example

from spacy_deid.ml.augment import make_typing_augmenter, retype

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("es", config=CONFIG)


@pytest.fixture
def example(nlp):
    reference = nlp.make_doc("Ana Muñiz, 53 años.")
    reference.ents = [reference.char_span(0, 9, label="PATIENT"), reference.char_span(11, 18, label="AGE")]
    return Example(nlp.make_doc(reference.text), reference)


@pytest.mark.parametrize(
    ("hand", "expected"),
    [("upper", "STRAßE ÉL"), ("lower", "straße él"), ("plain", "Straße El")],
)
def test_a_hand_changes_characters_one_for_one(hand, expected):
    assert retype("Straße Él", hand) == expected


def test_the_note_itself_always_comes_first(nlp, example):
    assert list(make_typing_augmenter(0, 0, 0)(nlp, example)) == [example]
    assert next(make_typing_augmenter(1, 1, 1)(nlp, example)) is example


def test_copies_keep_their_entities(nlp, example):
    texts = {}
    for copy in list(make_typing_augmenter(1, 1, 1)(nlp, example))[1:]:
        texts[copy.reference.text] = [(ent.text, ent.label_) for ent in copy.reference.ents]
    assert texts == {
        "ANA MUÑIZ, 53 AÑOS.": [("ANA MUÑIZ", "PATIENT"), ("53 AÑOS", "AGE")],
        "ana muñiz, 53 años.": [("ana muñiz", "PATIENT"), ("53 años", "AGE")],
        "Ana Muniz, 53 anos.": [("Ana Muniz", "PATIENT"), ("53 anos", "AGE")],
    }


def test_excerpts_are_lines_of_the_note_with_their_entities(nlp):
    reference = nlp.make_doc("Nombre: Ana\nEdad: 53 años\n\nAcude Ana")
    spans = [(8, 11, "PATIENT"), (18, 25, "AGE"), (33, 36, "PATIENT")]
    reference.ents = [reference.char_span(start, end, label=label) for start, end, label in spans]
    augment, seen = make_typing_augmenter(0, 0, 0, excerpt=1), set()
    for _ in range(40):
        _, excerpt = augment(nlp, Example(nlp.make_doc(reference.text), reference))
        assert excerpt.reference.text in reference.text
        seen |= {(excerpt.reference.text, ent.text, ent.label_) for ent in excerpt.reference.ents}
    assert ("Acude Ana", "Ana", "PATIENT") in seen
    assert ("Nombre: Ana\n", "Ana", "PATIENT") in seen


def test_the_same_seed_draws_the_same_copies(nlp, example):
    def counts(seed):
        augment = make_typing_augmenter(0.5, 0.5, 0.5, seed=seed)
        return [len(list(augment(nlp, example))) for _ in range(20)]

    assert counts(1) == counts(1) != counts(2)
