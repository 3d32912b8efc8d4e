"""Notes to annotate next: the uncertain ones first, none twice, ids without text."""

import pytest

import spacy_deid
from spacy_deid.adaptation.suggest import rate, suggest
from spacy_deid.errors import InputError
from spacy_deid.spans import Evidence, write_evidence

PLAIN = "El paciente refiere dolor lumbar desde hace tres semanas, sin fiebre ni irradiación.\n"
ODD = "Zx Qorvel (ktm 4471-B/q) acude con Ubaldiño Trescastro-Mbeki, 'el de la finca', a Otxandiola bai.\n"


@pytest.fixture(scope="module")
def nlp():
    return spacy_deid.load("es")


def test_the_uncertain_note_comes_first(nlp):
    found = suggest(nlp, [("plain", PLAIN), ("odd", ODD), ("blank", " \n")], 2)
    assert [one.name for one in found] == ["odd", "plain"]
    assert found[0].value == found[0].uncertainty + found[0].disagreement
    assert found[0].uncertainty > found[1].uncertainty >= 0
    assert found[0].disagreement > found[1].disagreement >= 0
    assert "Trescastro" not in repr(found)


def test_a_note_like_a_chosen_one_comes_last(nlp):
    found = suggest(nlp, [("odd", ODD), ("same", ODD.replace("4471", "4472")), ("plain", PLAIN)], 3)
    assert [one.name for one in found][1] == "plain"
    assert len(suggest(nlp, [("odd", ODD), ("same", ODD)], 1)) == 1


def test_another_detector_that_disagrees_raises_the_value(nlp):
    ner = nlp.get_pipe("deid_ner")
    docs = [nlp.make_doc(PLAIN) for _ in range(2)]
    write_evidence(docs[0], "deid/patterns", [])
    write_evidence(docs[1], "deid/patterns", [Evidence(12, 19, "PATIENT", "test", 1.0, "rule")])
    one, other = rate(ner, docs, ["a", "b"], ["deid/patterns"])
    assert one.uncertainty == pytest.approx(other.uncertainty, rel=1e-5)  # sums of float32 depend on the batch
    assert other.disagreement > one.disagreement


def test_annotated_notes_are_not_suggested(nlp):
    assert [one.name for one in suggest(nlp, [("plain", PLAIN), ("odd", ODD)], 5, known=[ODD])] == ["plain"]
    with pytest.raises(InputError, match="no note that is not annotated yet"):
        suggest(nlp, [("odd", ODD)], 1, known=[ODD])
