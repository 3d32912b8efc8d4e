"""Figures of an evaluation, their intervals, the scorer, and the table."""

import json

import numpy as np
import pytest
import spacy
from conftest import long_notes
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import SpanGroup
from spacy.training import Example
from spacy.util import registry

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import REGIONS, AnnotatedText, Entity, evaluate, format_table, make_docs
from spacy_deid.evaluation.metrics import interval, resample, score_triple
from spacy_deid.tokenizer import make_clinical_tokenizer

CANARY = "Wenzeslaus"
# Line 1 is header (23 characters), line 2 narrative (200).
HEAD = "Nombre: Ana Rueda (M01)"
BODY = "Acude Ana a Lugo. " + "x" * 182
TEXT = HEAD + "\n" + BODY
NAME, IDENT, AGAIN, TOWN = (
    Entity(8, 17, "PATIENT"),
    Entity(19, 22, "MRN"),
    Entity(30, 33, "PATIENT"),
    Entity(36, 40, "CITY"),
)
KINDS = ("ner", "ner_relaxed", "span_strict", "span_merged", "token", "word", "character")


def note(*entities: Entity, name: str = "a", text: str = TEXT) -> AnnotatedText:
    return AnnotatedText(name, text, entities)


def triple(entry: dict) -> tuple[int, int, int]:
    return entry["tp"], entry["fp"], entry["fn"]


@pytest.fixture(scope="module")
def result():
    """Gold: all four. Predicted: "Ana" for "Ana Rueda", the id, the town as a hospital; the second "Ana" is missed."""
    pred = note(Entity(8, 11, "PATIENT"), IDENT, Entity(36, 40, "HOSPITAL"))
    return evaluate([note(NAME, IDENT, AGAIN, TOWN)], [pred], bootstrap=50)


def test_text_of_the_example_is_as_the_figures_assume():
    assert [TEXT[e.start : e.end] for e in (NAME, IDENT, AGAIN, TOWN)] == ["Ana Rueda", "M01", "Ana", "Lugo"]
    assert (len(HEAD), len(BODY)) == (23, 200)


@pytest.mark.parametrize(
    ("region", "kind", "expected"),
    [
        # Right: M01. Wrong: Ana, Lugo as HOSPITAL. Missed: Ana Rueda, Ana, Lugo.
        ("all", "ner", (1, 2, 3)),
        ("header", "ner", (1, 1, 1)),
        ("narrative", "ner", (0, 1, 2)),
        # Without labels Lugo is right.
        ("all", "span_strict", (2, 1, 2)),
        # United gold: 8:22 for the name and the id, 30:33, 36:40. Of the predictions, 8:11 and 19:22 stay apart.
        # Hits: M01, Lugo. Wrong: Ana. Missed: Ana Rueda, Ana.
        ("all", "span_merged", (2, 1, 2)),
        # The end of Ana Rueda is six characters off.
        ("all", "ner_relaxed", (1, 2, 3)),
        # Gold tokens: Ana, Rueda, M01, Ana, Lugo. Predicted: Ana, M01, Lugo (HOSPITAL).
        ("all", "token", (2, 1, 3)),
        # Letters and digits. Gold: 8 + 3 + 3 + 4. Covered: 3 + 3 + 4.
        ("all", "character", (10, 0, 8)),
        ("header", "character", (6, 0, 5)),
        ("narrative", "character", (4, 0, 3)),
        # Words. Gold: Ana, Rueda, M01, Ana, Lugo. Predicted: Ana, M01, Lugo.
        ("all", "word", (3, 0, 2)),
        ("header", "word", (2, 0, 1)),
    ],
)
def test_counts_of_a_worked_example(result, region, kind, expected):
    assert triple(result[region][kind]) == expected


def test_clean_and_leak_of_a_worked_example(result):
    assert {key: result["all"]["clean"][key] for key in ("clean", "documents", "share")} == {
        "clean": 0,
        "documents": 1,
        "share": 0.0,
    }
    # Sentences: the header line, "Acude Ana a Lugo.", the x's. Missed entities: 3.
    assert {key: result["all"]["leak"][key] for key in ("fn", "sentences", "leak")} == {
        "fn": 3,
        "sentences": 3,
        "leak": 1.0,
    }


def test_labels_of_a_worked_example(result):
    labels = result["all"]["labels"]
    assert triple(labels["PATIENT"]["ner"]) == (0, 1, 2)
    assert triple(labels["HOSPITAL"]["ner"]) == (0, 1, 0)
    # Lugo is covered, though by another label; of Ana Rueda and Ana 3 of 11 letters are.
    assert labels["CITY"]["character"]["recall"] == 1.0
    assert labels["PATIENT"]["character"]["recall"] == pytest.approx(3 / 11)


def test_confusion_of_a_worked_example(result):
    assert result["all"]["confusion"] == {
        "": {"PATIENT": 1},
        "CITY": {"HOSPITAL": 1},
        "MRN": {"MRN": 1},
        "PATIENT": {"": 2},
    }


def test_labels_are_compared_in_the_scheme():
    gold, pred = [note(Entity(36, 40, "TERRITORY"))], [note(TOWN)]
    assert evaluate(gold, pred, bootstrap=0)["all"]["ner"]["recall"] == 0.0
    assert evaluate(gold, pred, scheme="meddocan", bootstrap=0)["all"]["ner"]["recall"] == 1.0


def test_hipaa_figures_are_of_the_subset_and_of_i2b2_alone():
    gold, pred = [note(NAME, Entity(36, 40, "COUNTRY"))], [note(NAME)]
    part = evaluate(gold, pred, scheme="i2b2", bootstrap=0)["all"]
    assert (part["ner"]["recall"], part["hipaa_ner"]["recall"]) == (0.5, 1.0)
    assert "hipaa_ner" not in evaluate(gold, pred, bootstrap=0)["all"]


def test_sentence_counts_can_be_given():
    # 1 missed entity in 4 sentences.
    leak = evaluate([note(NAME)], [note()], sentences={"a": 4}, bootstrap=0)["all"]["leak"]
    assert leak == {"fn": 1, "sentences": 4, "leak": 0.25}


def test_missing_sentence_count_is_an_error():
    with pytest.raises(InputError, match="'a' has no sentence count"):
        evaluate([note(NAME)], [note()], sentences={"b": 4})


def test_documents_without_entities_are_not_counted_as_clean():
    gold = [note(NAME), note(name="b"), note(IDENT, name="c")]
    pred = [note(NAME), note(name="b"), note(name="c")]
    clean = evaluate(gold, pred, bootstrap=0)["all"]["clean"]
    assert clean == {"clean": 1, "documents": 2, "share": 0.5}


def test_marks_that_are_not_covered_leave_a_document_clean():
    gold, pred = [note(Entity(8, 18, "PATIENT"))], [note(NAME)]
    assert evaluate(gold, pred, bootstrap=0)["all"]["clean"]["share"] == 1.0


@pytest.mark.parametrize("scheme", ["canonical", "meddocan", "i2b2", "conll", "tab"])
def test_gold_against_itself_is_perfect(scheme):
    gold = [note(NAME, IDENT, AGAIN, TOWN)]
    result = evaluate(gold, gold, scheme=scheme, bootstrap=20)
    for region in REGIONS:
        for kind in KINDS:
            entry = result[region][kind]
            assert (entry["precision"], entry["recall"], entry["f1"]) == (1.0, 1.0, 1.0)
            assert entry["ci"]["recall"] == [1.0, 1.0]
        assert result[region]["clean"]["share"] == 1.0


entities = st.lists(st.sampled_from([NAME, IDENT, AGAIN, TOWN]), unique=True, min_size=2)


@given(found=entities)
def test_dropping_an_entity_costs_recall_and_no_precision(found):
    gold = [note(*found)]
    part = evaluate(gold, [note(*found[1:])], bootstrap=0)["all"]
    for kind in KINDS:
        assert part[kind]["precision"] == 1.0
        assert part[kind]["recall"] < 1.0
    assert part["clean"]["share"] == 0.0


@given(gold=entities, pred=entities)
def test_turning_the_sides_round_turns_precision_and_recall_round(gold, pred):
    there = evaluate([note(*gold)], [note(*pred)], bootstrap=0)["all"]
    back = evaluate([note(*pred)], [note(*gold)], bootstrap=0)["all"]
    for kind in KINDS:
        assert there[kind]["precision"] == back[kind]["recall"]


@given(gold=entities, pred=entities)
def test_header_and_narrative_add_up(gold, pred):
    result = evaluate([note(*gold)], [note(*pred)], bootstrap=0)
    for kind in ("ner", "span_strict", "token", "word", "character"):
        parts = [triple(result[region][kind]) for region in ("header", "narrative")]
        assert triple(result["all"][kind]) == tuple(map(sum, zip(*parts, strict=True)))


@pytest.mark.parametrize("documents", [[], [note()], [note(text="")], [note(text=" \n")]])
def test_nothing_to_find_and_nothing_found_defines_no_figure(documents):
    result = evaluate(documents, documents, bootstrap=10)
    assert result["documents"] == len(documents)
    for region in REGIONS:
        assert (result[region]["ner"]["recall"], result[region]["ner"]["f1"]) == (None, None)
    assert "-" in format_table(result)


def test_predicting_nothing_has_no_recall_and_leaves_precision_undefined():
    entry = evaluate([note(NAME)], [note()], bootstrap=0)["all"]["character"]
    assert (entry["precision"], entry["recall"], entry["f1"]) == (None, 0.0, 0.0)


def test_same_seed_gives_the_same_result():
    gold = [note(NAME, TOWN, name=str(i)) for i in range(8)]
    pred = [note(*[NAME, TOWN][: i % 3], name=str(i)) for i in range(8)]
    one, other = (evaluate(gold, pred, bootstrap=30, seed=3) for _ in range(2))
    assert one == other
    assert one != evaluate(gold, pred, bootstrap=30, seed=4)


def test_result_is_json_and_holds_neither_text_nor_names():
    gold = [note(Entity(0, 10, "PATIENT"), name="expediente-de-wenzel", text=f"{CANARY} acude")]
    result = evaluate(gold, gold, scheme="meddocan", bootstrap=10)
    written = json.dumps(result, allow_nan=False) + format_table(result)
    assert CANARY not in written
    assert "wenzel" not in written


def test_unknown_scheme_is_an_error():
    with pytest.raises(ConfigError, match="unknown label scheme"):
        evaluate([note(NAME)], [note(NAME)], scheme="klingon")


@long_notes
def test_a_long_document_is_counted(length):
    lines = length // 17
    gold_entities = tuple(Entity(i * 17, i * 17 + 9, "PATIENT") for i in range(0, lines, 20))
    gold = AnnotatedText("a", "Ana Rueda, Lugo.\n" * lines, gold_entities)
    pred = AnnotatedText("a", gold.text, gold.entities[1:])
    assert triple(evaluate([gold], [pred], bootstrap=0)["all"]["ner"]) == (len(gold_entities) - 1, 0, 1)


NONE = np.zeros((0, 3), dtype=np.int64)


def test_figures_of_a_triple():
    # P = 6 / (6 + 2), R = 6 / (6 + 4), F1 = 12 / (12 + 2 + 4)
    entry = score_triple(np.array([6, 2, 4]), NONE)
    assert entry == {"tp": 6, "fp": 2, "fn": 4, "precision": 0.75, "recall": 0.6, "f1": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("triple", "figures"),
    [([0, 0, 0], (None, None, None)), ([0, 3, 0], (0.0, None, 0.0)), ([0, 0, 3], (None, 0.0, 0.0))],
)
def test_figure_with_nothing_to_divide_by_is_not_defined(triple, figures):
    entry = score_triple(np.array(triple), NONE)
    assert (entry["precision"], entry["recall"], entry["f1"]) == figures


def test_replicate_is_a_sum_over_as_many_documents():
    replicates = resample(np.ones((7, 2, 3), dtype=np.int64), 20, seed=0)
    assert replicates.shape == (20, 2, 3)
    assert (replicates == 7).all()


def test_documents_are_drawn_whole():
    # Document 0 has only hits, document 1 only misses: each replicate has two documents' worth of both together.
    replicates = resample(np.array([[[1, 0, 0]], [[0, 0, 1]]]), 200, seed=0)[:, 0]
    assert {tuple(row) for row in replicates.tolist()} == {(2, 0, 0), (1, 0, 1), (0, 0, 2)}


def test_same_seed_gives_the_same_draws_and_another_seed_others():
    counts = np.arange(30, dtype=np.int64).reshape(10, 1, 3)
    assert (resample(counts, 50, 1) == resample(counts, 50, 1)).all()
    assert (resample(counts, 50, 1) != resample(counts, 50, 2)).any()


def test_no_document_gives_replicates_of_nothing():
    assert (resample(np.zeros((0, 2, 3), dtype=np.int64), 5, 0) == np.zeros((5, 2, 3))).all()


def test_interval_holds_the_middle_95_percent_of_what_is_defined():
    # 0, 1, …, 1000: the 2.5 % and 97.5 % quantiles are 25 and 975.
    assert interval(np.array([*range(1001), np.nan])) == pytest.approx([25.0, 975.0])
    assert interval(np.array([np.nan])) is None


def test_interval_is_as_wide_as_the_binomial_says():
    # 400 documents of one entity, 3 in 4 found: the interval is about 0.75 ± 1.96 sqrt(0.75 * 0.25 / 400) = ± 0.0424.
    counts = np.array([[[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]], [[0, 0, 1]]] * 100)
    low, high = score_triple(counts.sum(axis=0)[0], resample(counts, 2000, 0)[:, 0])["ci"]["recall"]
    assert low == pytest.approx(0.75 - 0.0424, abs=0.006)
    assert high == pytest.approx(0.75 + 0.0424, abs=0.006)


NLP = spacy.blank("xx")
CLINICAL = make_clinical_tokenizer()(NLP)
TEXT_SCORER = "Ana Rueda, DNI12345678, Lugo"


def example(gold: list[Entity], pred: list[Entity], text: str = TEXT_SCORER) -> Example:
    """The reference by the clinical tokenizer, the prediction by that of the language."""
    (reference,), _ = make_docs([AnnotatedText("a", text, tuple(gold))], CLINICAL)
    (predicted,), _ = make_docs([AnnotatedText("a", text, tuple(pred))], NLP.make_doc)
    return Example(predicted, reference)


NAME_SCORER, CITY = Entity(0, 9, "PATIENT"), Entity(24, 28, "CITY")
IDENT_SCORER = Entity(14, 22, "NATIONAL_ID")


@pytest.fixture
def scorer():
    return registry.scorers.get("spacy_deid.deid_scorer.v1")()


def test_scores_of_a_worked_example(scorer):
    # Entities: the name is right, the id is widened to "DNI12345678" by the other tokens, the town is missed.
    # P = 1/2, R = 1/3, F = 2/5. Letters and digits: gold 8 + 8 + 4, predicted 8 + 11: P = 16/19, R = 16/20.
    assert scorer([example([NAME_SCORER, IDENT_SCORER, CITY], [NAME_SCORER, IDENT_SCORER])]) == {
        "deid_p": pytest.approx(1 / 2),
        "deid_r": pytest.approx(1 / 3),
        "deid_f": pytest.approx(2 / 5),
        "deid_char_p": pytest.approx(16 / 19),
        "deid_char_r": pytest.approx(16 / 20),
        "deid_clean": 0.0,
    }


def test_clean_is_the_share_of_documents_with_entities_and_nothing_missed(scorer):
    examples = [example([NAME_SCORER], [NAME_SCORER, CITY]), example([NAME_SCORER], []), example([], [])]
    assert scorer(examples)["deid_clean"] == 0.5


def test_nothing_to_find_and_nothing_found_has_no_score(scorer):
    assert set(scorer([example([], []), example([], [], text="")]).values()) == {None}


def test_reference_without_annotation_is_left_out(scorer):
    unannotated = Example(NLP.make_doc(TEXT_SCORER), NLP.make_doc(TEXT_SCORER))
    assert scorer([unannotated, example([NAME_SCORER], [NAME_SCORER])])["deid_f"] == 1.0


def test_span_group_can_stand_for_the_predictions():
    scorer = registry.scorers.get("spacy_deid.deid_scorer.v1")(spans_key="deid/ner")
    one = example([NAME_SCORER], [])
    one.predicted.spans["deid/ner"] = SpanGroup(one.predicted, spans=[one.predicted.char_span(0, 9, label="PATIENT")])
    assert scorer([one])["deid_f"] == 1.0


def test_group_that_is_not_there_costs_recall():
    scorer = registry.scorers.get("spacy_deid.deid_scorer.v1")(spans_key="deid/ner")
    assert scorer([example([NAME_SCORER], [NAME_SCORER])])["deid_char_r"] == 0.0


def test_different_texts_are_an_error_that_quotes_neither(scorer):
    wrong = example([NAME_SCORER], [NAME_SCORER])
    wrong.predicted = NLP.make_doc("Eva Rueda")
    with pytest.raises(InputError, match="different texts") as raised:
        scorer([wrong])
    assert "Rueda" not in str(raised.value)


def test_scorer_is_found_by_a_config():
    config = {"components": {"x": {"scorer": {"@scorers": "spacy_deid.deid_scorer.v1"}}}}
    assert callable(registry.resolve(config)["components"]["x"]["scorer"])


GOLD = [AnnotatedText("a", "Ana Rueda", (Entity(0, 3, "PATIENT"), Entity(4, 9, "PATIENT")))]
PRED = [AnnotatedText("a", "Ana Rueda", (Entity(0, 3, "PATIENT"),))]


def test_table_has_a_line_for_each_score_and_label():
    lines = format_table(evaluate(GOLD, PRED, bootstrap=10)).splitlines()
    # One of two entities; 3 of 8 letters.
    assert "entity and label, strict          1.0000  0.5000  0.6667   [0.5000, 0.5000]" in lines
    assert "character                         1.0000  0.3750  0.5455   [0.3750, 0.3750]" in lines
    assert "PATIENT                             1.0000  0.5000  0.6667  0.3750        2" in lines


def test_table_does_without_intervals_and_labels():
    table = format_table(evaluate(GOLD, PRED, bootstrap=0), labels=False)
    assert "[" not in table
    assert "PATIENT" not in table
