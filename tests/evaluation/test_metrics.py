import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import REGIONS, AnnotatedText, Entity, evaluate, format_table

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


def test_document_of_a_megabyte_is_counted():
    text = "Ana Rueda, Lugo.\n" * 60_000
    gold = AnnotatedText("a", text, tuple(Entity(i * 17, i * 17 + 9, "PATIENT") for i in range(0, 60_000, 20)))
    pred = AnnotatedText("a", text, gold.entities[1:])
    assert triple(evaluate([gold], [pred], bootstrap=0)["all"]["ner"]) == (2999, 0, 1)
