import pytest
import spacy
from spacy.tokens import SpanGroup
from spacy.training import Example
from spacy.util import registry

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, make_docs
from spacy_deid.tokenizer import make_clinical_tokenizer

NLP = spacy.blank("xx")
CLINICAL = make_clinical_tokenizer()(NLP)
TEXT = "Ana Rueda, DNI12345678, Lugo"


def example(gold: list[Entity], pred: list[Entity], text: str = TEXT) -> Example:
    """The reference by the clinical tokenizer, the prediction by that of the language."""
    (reference,), _ = make_docs([AnnotatedText("a", text, tuple(gold))], CLINICAL)
    (predicted,), _ = make_docs([AnnotatedText("a", text, tuple(pred))], NLP.make_doc)
    return Example(predicted, reference)


NAME, CITY = Entity(0, 9, "PATIENT"), Entity(24, 28, "CITY")
IDENT = Entity(14, 22, "NATIONAL_ID")


@pytest.fixture
def scorer():
    return registry.scorers.get("spacy_deid.deid_scorer.v1")()


def test_scores_of_a_worked_example(scorer):
    # Entities: the name is right, the id is widened to "DNI12345678" by the other tokens, the town is missed.
    # P = 1/2, R = 1/3, F = 2/5. Letters and digits: gold 8 + 8 + 4, predicted 8 + 11: P = 16/19, R = 16/20.
    assert scorer([example([NAME, IDENT, CITY], [NAME, IDENT])]) == {
        "deid_p": pytest.approx(1 / 2),
        "deid_r": pytest.approx(1 / 3),
        "deid_f": pytest.approx(2 / 5),
        "deid_char_p": pytest.approx(16 / 19),
        "deid_char_r": pytest.approx(16 / 20),
        "deid_clean": 0.0,
    }


def test_clean_is_the_share_of_documents_with_entities_and_nothing_missed(scorer):
    examples = [example([NAME], [NAME, CITY]), example([NAME], []), example([], [])]
    assert scorer(examples)["deid_clean"] == 0.5


def test_nothing_to_find_and_nothing_found_has_no_score(scorer):
    assert set(scorer([example([], []), example([], [], text="")]).values()) == {None}


def test_reference_without_annotation_is_left_out(scorer):
    unannotated = Example(NLP.make_doc(TEXT), NLP.make_doc(TEXT))
    assert scorer([unannotated, example([NAME], [NAME])])["deid_f"] == 1.0


def test_span_group_can_stand_for_the_predictions():
    scorer = registry.scorers.get("spacy_deid.deid_scorer.v1")(spans_key="deid/ner")
    one = example([NAME], [])
    one.predicted.spans["deid/ner"] = SpanGroup(one.predicted, spans=[one.predicted.char_span(0, 9, label="PATIENT")])
    assert scorer([one])["deid_f"] == 1.0


def test_group_that_is_not_there_costs_recall():
    scorer = registry.scorers.get("spacy_deid.deid_scorer.v1")(spans_key="deid/ner")
    assert scorer([example([NAME], [NAME])])["deid_char_r"] == 0.0


def test_different_texts_are_an_error_that_quotes_neither(scorer):
    wrong = example([NAME], [NAME])
    wrong.predicted = NLP.make_doc("Eva Rueda")
    with pytest.raises(InputError, match="different texts") as raised:
        scorer([wrong])
    assert "Rueda" not in str(raised.value)


def test_scorer_is_found_by_a_config():
    config = {"components": {"x": {"scorer": {"@scorers": "spacy_deid.deid_scorer.v1"}}}}
    assert callable(registry.resolve(config)["components"]["x"]["scorer"])
