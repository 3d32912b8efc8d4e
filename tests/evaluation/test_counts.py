import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.evaluation import HIPAA_I2B2, Entity
from spacy_deid.evaluation.counts import (
    confuse,
    count_exact,
    count_merged,
    count_relaxed,
    count_sentences,
    count_tokens,
    find_words,
    header_mask,
    is_covered,
    merge_spans,
)
from spacy_deid.labels import SCHEMES

# 0123456789...
# Ana, Eva y Leo      Ana 0:3, Eva 5:8, Leo 11:14
TEXT = "Ana, Eva y Leo"
ANA, EVA, LEO = (0, 3), (5, 8), (11, 14)


def entity(start: int, end: int, label: str = "PATIENT") -> Entity:
    return Entity(start, end, label)


@pytest.mark.parametrize(
    ("found", "expected"), [([(0, 3), (4, 7)], True), ([(0, 6)], False), ([(0, 2), (2, 9)], True), ([], False)]
)
def test_an_entity_is_covered_if_no_letter_of_it_is_open(found, expected):
    entities = [Entity(start, end, "DATE") for start, end in found]
    assert is_covered("Ana Gil, 5", Entity(0, 7, "PATIENT"), entities) is expected


def test_exact_counts_what_is_equal_on_both_sides():
    # Hit: Ana. Only predicted: 5:9. Only gold: Eva, Leo.
    assert count_exact([ANA, EVA, LEO], [ANA, (5, 9)]) == (1, 1, 2)


def test_exact_counts_an_entity_once_however_often_it_stands():
    assert count_exact([ANA, ANA], [ANA, ANA]) == (1, 0, 0)


def test_spans_are_united_if_nothing_alphanumeric_is_between_them():
    # ", " between Ana and Eva; " y " between Eva and Leo.
    assert merge_spans(TEXT, [LEO, EVA, ANA]) == {(0, 8), LEO}


def test_spans_are_united_across_a_line_end():
    assert merge_spans("Ana\n(Eva)", [(0, 3), (5, 8)]) == {(0, 8)}


def test_one_span_over_two_is_right_once_they_are_united():
    # United, both sides are {0:8, Leo}; hits = {Leo} | {0:8, Leo} = 2. The wrong 0:8 and the missed Ana and Eva lie
    # within a hit and are forgiven.
    assert count_merged(TEXT, [ANA, EVA, LEO], [(0, 8), LEO]) == (2, 0, 0)
    assert count_exact([ANA, EVA, LEO], [(0, 8), LEO]) == (1, 1, 2)


def test_hits_are_the_union_of_strict_and_united_ones():
    # Strict hits Ana and Eva, united hit 0:8: 3. Missed: Leo. Comparing united spans alone would give (1, 0, 1).
    assert count_merged(TEXT, [ANA, EVA, LEO], [ANA, EVA]) == (3, 0, 1)


def test_errors_outside_of_every_hit_stay_errors():
    # United gold 0:8 and Leo, united prediction Ana, and 9:14: hit Ana alone. Eva and Leo are missed, 9:14 is wrong.
    assert count_merged(TEXT, [ANA, EVA, LEO], [ANA, (9, 14)]) == (1, 1, 2)


@pytest.mark.parametrize(("gold", "pred"), [([], []), ([ANA], []), ([], [ANA])])
def test_empty_sides_of_merged_spans(gold, pred):
    assert count_merged(TEXT, gold, pred) == (0, len(pred), len(gold))


spans = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda s: (s[0], s[0] + s[1])), max_size=6)


@given(text=st.text("a ,", min_size=20, max_size=20), gold=spans, pred=spans)
def test_merged_counts_are_those_of_the_definition(text, gold, pred):
    golds, preds = set(gold), set(pred)
    hits = (golds & preds) | (merge_spans(text, gold) & merge_spans(text, pred))

    def outside(span):
        return not any(start <= span[0] and span[1] <= end for start, end in hits)

    expected = len(hits), sum(map(outside, preds - golds)), sum(map(outside, golds - preds))
    assert count_merged(text, gold, pred) == expected


@pytest.mark.parametrize(
    ("pred", "triple"),
    [
        (entity(0, 9), (1, 0, 0)),
        (entity(0, 11), (1, 0, 0)),
        (entity(0, 7), (1, 0, 0)),
        (entity(0, 12), (0, 1, 1)),
        (entity(1, 9), (0, 1, 1)),
        (entity(0, 9, "DOCTOR"), (0, 1, 1)),
    ],
)
def test_relaxed_lets_the_end_be_two_characters_off_and_nothing_else(pred, triple):
    assert count_relaxed([entity(0, 9)], [pred]) == triple


def test_relaxed_counts_no_more_hits_than_either_side_has_entities():
    # Both predictions are near the one gold entity: neither is wrong, and it is one hit.
    assert count_relaxed([entity(0, 9)], [entity(0, 8), entity(0, 10)]) == (1, 0, 0)
    assert count_relaxed([entity(0, 8), entity(0, 10)], [entity(0, 9)]) == (1, 0, 0)


def test_tokens_are_the_alphanumeric_runs_with_their_label():
    # Gold: García, Rueda, Gil as PATIENT; 57 as AGE. Predicted: García, Rueda as PATIENT; 57 as PHONE.
    text = "García Rueda-Gil 57"
    gold = [entity(0, 16), entity(17, 19, "AGE")]
    assert count_tokens(text, gold, [entity(0, 13), entity(17, 19, "PHONE")]) == (2, 1, 2)


def test_token_is_cut_where_its_entity_is():
    assert count_tokens("12345", [entity(0, 5)], [entity(0, 4)]) == (0, 1, 1)


def test_words_are_runs_of_letters_and_digits():
    assert find_words("a_b 12-ñ\n😀") == [(0, 1), (2, 3), (4, 6), (7, 8)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("\n-- \n", 0),
        ("Uno", 1),
        ("Uno. Dos", 2),
        ("Uno.\nDos\n\nTres", 3),
        ("3.5 mg al dia.", 1),
        ("¿Sí? ¡No!", 2),
    ],
)
def test_sentences_end_at_lines_and_at_marks_before_white_space(text, count):
    assert count_sentences(text) == count


def test_sentences_of_a_megabyte_of_marks_are_counted_at_once():
    assert count_sentences("-" * 1_000_000 + "." * 100_000) == 0


def test_header_is_the_lines_of_less_than_160_characters():
    mask = header_mask("x" * 159 + "\n" + "y" * 160 + "\n")
    assert mask.tolist() == [True] * 160 + [False] * 161


def test_carriage_return_does_not_make_a_line_longer():
    assert header_mask("x" * 159 + "\r\n").all()


def test_header_of_nothing_is_nothing():
    assert header_mask("").tolist() == []


def test_hipaa_subset_is_of_the_scheme():
    assert set(SCHEMES["i2b2"]) >= HIPAA_I2B2
    assert not {"DOCTOR", "HOSPITAL", "PROFESSION", "COUNTRY", "STATE", "USERNAME", "IDNUM"} & HIPAA_I2B2


def test_confusion_pairs_labels_of_the_same_span():
    table = confuse([entity(0, 3), entity(5, 8)], [entity(0, 3, "CITY"), entity(5, 9)])
    assert table == {("PATIENT", "CITY"): 1, ("PATIENT", ""): 1, ("", "PATIENT"): 1}
