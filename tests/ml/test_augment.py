import random

import pytest
import spacy
from spacy.training import Example

from spacy_deid.ml.augment import join_fields, make_casing_augmenter, rename_persons, retype

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
    assert list(make_casing_augmenter(0, 0, 0)(nlp, example)) == [example]
    assert next(make_casing_augmenter(1, 1, 1)(nlp, example)) is example


def test_copies_keep_their_entities(nlp, example):
    texts = {}
    for copy in list(make_casing_augmenter(1, 1, 1)(nlp, example))[1:]:
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
    augment, seen = make_casing_augmenter(0, 0, 0, excerpt=1), set()
    for _ in range(40):
        _, excerpt = augment(nlp, Example(nlp.make_doc(reference.text), reference))
        assert excerpt.reference.text in reference.text
        seen |= {(excerpt.reference.text, ent.text, ent.label_) for ent in excerpt.reference.ents}
    assert ("Acude Ana", "Ana", "PATIENT") in seen
    assert ("Nombre: Ana\n", "Ana", "PATIENT") in seen


def test_the_same_seed_draws_the_same_copies(nlp, example):
    def counts(seed):
        augment = make_casing_augmenter(0.5, 0.5, 0.5, seed=seed)
        return [len(list(augment(nlp, example))) for _ in range(20)]

    assert counts(1) == counts(1) != counts(2)


def test_fields_of_a_form_stand_side_by_side_and_keep_their_entities():
    nlp = spacy.blank("en")
    doc = nlp.make_doc("Last name: Okafor\nFirst name: Ada\nCity: Reno\n\nSeen today, doing well.")
    doc.ents = [doc.char_span(11, 17, label="PATIENT"), doc.char_span(30, 33, label="PATIENT")]
    example = Example(nlp.make_doc(doc.text), doc)
    made = [join_fields(nlp, example, random.Random(seed)) for seed in range(20)]
    texts = {one.reference.text for one in made if one}
    assert len(texts) > 5
    for one in filter(None, made):
        assert [ent.text for ent in one.reference.ents] == ["Okafor", "Ada"]
        assert one.reference.text.split() == one.predicted.text.split()
        assert one.reference.text.endswith("\n\nSeen today, doing well.")


def test_prose_has_no_fields_to_join():
    nlp = spacy.blank("en")
    doc = nlp.make_doc("Seen today.\nDoing well.\n")
    assert join_fields(nlp, Example(nlp.make_doc(doc.text), doc), random.Random(0)) is None


def test_an_entity_that_an_excerpt_cuts_keeps_what_is_left_of_it(nlp):
    reference = nlp.make_doc("Vive en\nCalle Mayor 5\n46001 Valencia\nAcude hoy")
    reference.ents = [reference.char_span(8, 36, label="STREET")]
    augment = make_casing_augmenter(0, 0, 0, excerpt=1)
    excerpts = [list(augment(nlp, Example(nlp.make_doc(reference.text), reference)))[1] for _ in range(60)]
    for excerpt in excerpts:
        for word in excerpt.reference:
            assert word.ent_type_ == (
                "STREET" if word.text in {"Calle", "Mayor", "5", "46001", "Valencia"} else ""
            ) or (word.is_space)
    assert any(excerpt.reference.text == "Calle Mayor 5\n" for excerpt in excerpts)


def test_renamed_persons_keep_their_labels_and_the_rest_of_the_note_its_words():
    nlp = spacy.blank("fi")
    doc = nlp.make_doc("Potilas Virtanen, Hki. Soitettu VIRTASELLE ja äidille. Tri Korhonen.")
    spans = [(8, 16, "PATIENT"), (18, 21, "CITY"), (32, 42, "PATIENT"), (46, 53, "RELATIVE"), (59, 67, "CLINICIAN")]
    doc.ents = [doc.char_span(start, end, label=label) for start, end, label in spans]
    for seed in range(20):
        new = rename_persons(nlp, Example(nlp.make_doc(doc.text), doc), ["Marjatta", "Kettunen"], random.Random(seed))
        ents = new.reference.ents
        assert [ent.label_ for ent in ents] == ["PATIENT", "CITY", "PATIENT", "RELATIVE", "CLINICIAN"]
        assert [ents[1].text, ents[3].text] == ["Hki", "äidille"]
        assert ents[0].text.istitle()
        assert ents[0].text.endswith("en")
        assert ents[2].text.isupper()
        assert ents[2].text.endswith("LE")
        assert new.reference.text.startswith("Potilas ")
        assert new.reference.text.endswith(f"Tri {ents[4].text}.")


def test_a_name_stays_one_name_in_a_note():
    nlp = spacy.blank("es")
    doc = nlp.make_doc("Nadia duerme. NADIA come.")
    doc.ents = [doc.char_span(0, 5, label="PATIENT"), doc.char_span(14, 19, label="PATIENT")]
    new = rename_persons(nlp, Example(nlp.make_doc(doc.text), doc), ["Rosalinda"], random.Random(3)).reference
    assert new.ents[0].text.upper() == new.ents[1].text
    assert new.ents[0].text != "Nadia"
