"""Evidence in span groups, and the filter that unites it without uncovering a token."""

from itertools import pairwise

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_deid.errors import ConfigError, DeidError, NotDeidentified
from spacy_deid.spans import (
    Candidate,
    Evidence,
    check_key,
    read_evidence,
    refuse_entities,
    refuse_groups,
    require_groups,
    settle_label,
    union_filter,
    write_evidence,
)

NLP = spacy.blank("es")
KEY = "deid/x"
ANA = Evidence(8, 11, "PATIENT", "x", 0.75, "header")
TEL = Evidence(18, 21, "PHONE", "x")


@pytest.fixture
def doc():
    doc = NLP("Nombre: Ana; Tel: 600 123.")
    write_evidence(doc, KEY, [TEL, ANA], version="1", note="kept")
    return doc


def test_evidence_is_read_back_in_the_order_of_the_spans(doc):
    assert read_evidence(doc, KEY) == [ANA, TEL]
    assert [span.text for span in doc.spans[KEY]] == ["Ana", "600"]
    assert [span.label_ for span in doc.spans[KEY]] == ["PATIENT", "PHONE"]


def test_the_receipt_names_the_version_and_what_the_detector_adds(doc):
    assert doc.spans[KEY].attrs["version"] == "1"
    assert doc.spans[KEY].attrs["note"] == "kept"


def test_an_empty_group_is_the_receipt_of_a_detector_that_found_nothing(doc):
    write_evidence(doc, "deid/empty", [])
    require_groups(doc, ["deid/empty"])
    assert read_evidence(doc, "deid/empty") == []


def test_groups_and_records_survive_bytes(doc):
    loaded = Doc(NLP.vocab).from_bytes(doc.to_bytes())
    assert read_evidence(loaded, KEY) == [ANA, TEL]


def test_groups_and_records_survive_a_docbin(doc):
    loaded = next(DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(NLP.vocab))
    assert read_evidence(loaded, KEY) == [ANA, TEL]
    assert loaded.spans[KEY].attrs["version"] == "1"


@pytest.mark.parametrize(
    ("start", "end", "widened"),
    [(9, 10, "Ana"), (9, 20, "Ana; Tel: 600"), (8, 12, "Ana;"), (17, 21, "600"), (18, 22, "600"), (16, 19, ": 600")],
    ids=["inside", "across", "mark", "space before", "space after", "mark before"],
)
def test_a_detection_that_does_not_align_is_widened_to_whole_tokens(doc, start, end, widened):
    write_evidence(doc, KEY, [Evidence(start, end, "OTHER", "x")])
    (span,) = doc.spans[KEY]
    assert span.text == widened
    assert read_evidence(doc, KEY) == [Evidence(start, end, "OTHER", "x")]


@given(text=st.text(alphabet="aB1 .\n\u0301ñ-", min_size=1, max_size=30), data=st.data())
def test_no_character_that_belongs_to_a_token_is_lost_by_widening(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    doc = NLP.make_doc(text)
    tokens = {i for token in doc for i in range(token.idx, token.idx + len(token))}
    if not tokens & set(range(start, end)):
        with pytest.raises(DeidError, match="empty"):
            write_evidence(doc, KEY, [Evidence(start, end, "OTHER", "x")])
        return
    write_evidence(doc, KEY, [Evidence(start, end, "OTHER", "x")])
    (span,) = doc.spans[KEY]
    assert tokens & set(range(start, end)) <= set(range(span.start_char, span.end_char))


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (5, 4), (20, 27), (26, 27), (11, 11)], ids=str)
def test_evidence_outside_the_text_is_refused_by_its_offsets(doc, start, end):
    with pytest.raises(DeidError, match=f"invalid evidence from 'x' at {start}:{end}: .* text of 26 characters"):
        write_evidence(doc, KEY, [Evidence(start, end, "OTHER", "x")])


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan")])
def test_a_score_that_is_no_probability_is_refused(doc, score):
    with pytest.raises(DeidError, match="must be between 0 and 1"):
        write_evidence(doc, KEY, [Evidence(8, 11, "PATIENT", "x", score)])


def test_an_unknown_label_is_refused(doc):
    with pytest.raises(ConfigError, match="unknown label 'PER'"):
        write_evidence(doc, KEY, [Evidence(8, 11, "PER", "x")])


def test_refused_evidence_leaves_the_group_as_it_was(doc):
    with pytest.raises(DeidError):
        write_evidence(doc, KEY, [ANA, Evidence(0, 99, "OTHER", "x")])
    assert read_evidence(doc, KEY) == [ANA, TEL]


@pytest.mark.parametrize("key", ["x", "deid/", "deid/a.b", "deid/a:b", "DEID/x"])
def test_a_key_that_a_config_could_not_hold_is_refused(key):
    with pytest.raises(ConfigError, match="span group key"):
        check_key(key)


def test_a_missing_group_is_named(doc):
    with pytest.raises(NotDeidentified, match="deid/ner, deid/llm are missing"):
        require_groups(doc, [KEY, "deid/ner", "deid/llm"])
    with pytest.raises(NotDeidentified, match="deid/ner"):
        read_evidence(doc, "deid/ner")


def test_a_group_that_nobody_merges_is_named(doc):
    doc.spans["other"] = []
    refuse_groups(doc, [KEY], "deid_merge")
    with pytest.raises(NotDeidentified, match=r"deid/x have detections that 'deid_merge' did not merge"):
        refuse_groups(doc, ["deid/ner"], "deid_merge")


def test_an_empty_group_that_was_set_by_hand_is_no_receipt(doc):
    doc.spans["deid/empty"] = []
    for read in (lambda: require_groups(doc, ["deid/empty"]), lambda: read_evidence(doc, "deid/empty")):
        with pytest.raises(NotDeidentified, match="'deid/empty' has no receipt"):
            read()


def test_a_group_that_was_assigned_again_has_lost_its_evidence(doc):
    doc.spans[KEY] = list(doc.spans[KEY])
    with pytest.raises(NotDeidentified, match="'deid/x' has 2 span\\(s\\) but 0 evidence record\\(s\\)"):
        read_evidence(doc, KEY)


CANDIDATES = st.lists(
    st.builds(
        lambda start, length, label, rank: Candidate(start, start + length, label, (rank,)),
        st.integers(0, 20),
        st.integers(1, 6),
        st.sampled_from(["PATIENT", "CLINICIAN", "DATE"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


def tokens(candidates):
    return {i for candidate in candidates for i in range(candidate.start, candidate.end)}


@given(CANDIDATES)
def test_the_tokens_of_the_union_are_exactly_those_of_the_candidates(candidates):
    merged = union_filter(candidates)
    assert tokens(merged) == tokens(candidates)
    assert sum(candidate.end - candidate.start for candidate in merged) == len(tokens(merged))


@given(CANDIDATES)
def test_the_union_is_in_order_and_disjoint(candidates):
    merged = union_filter(candidates)
    assert all(left.end <= right.start for left, right in pairwise(merged))


@given(CANDIDATES)
def test_each_token_has_the_label_of_a_best_candidate_that_covers_it(candidates):
    for merged in union_filter(candidates):
        for i in range(merged.start, merged.end):
            here = [c for c in candidates if c.start <= i < c.end]
            best = min(here, key=lambda c: (c.rank, c.start, c.end, c.label))
            assert merged.label == best.label


@given(CANDIDATES, st.randoms())
def test_the_order_of_the_candidates_does_not_matter(candidates, random):
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert union_filter(shuffled) == union_filter(candidates)


@given(CANDIDATES)
def test_what_is_united_stays_as_it_is(candidates):
    merged = union_filter(candidates)
    assert union_filter(merged) == merged


def test_a_loser_is_trimmed_and_not_dropped():
    street, name = Candidate(0, 4, "STREET", (1,)), Candidate(1, 2, "PATIENT", (0,))
    assert [(c.start, c.end, c.label) for c in union_filter([street, name])] == [
        (0, 1, "STREET"),
        (1, 2, "PATIENT"),
        (2, 4, "STREET"),
    ]


def test_overlapping_candidates_of_one_label_become_one():
    short, long = Candidate(0, 2, "PATIENT", (0,)), Candidate(1, 4, "PATIENT", (1,))
    assert [(c.start, c.end) for c in union_filter([short, long])] == [(0, 4)]


def test_candidates_of_one_label_that_only_touch_stay_two():
    left, right = Candidate(0, 2, "PATIENT", (0,)), Candidate(2, 4, "PATIENT", (0,))
    assert [(c.start, c.end) for c in union_filter([left, right])] == [(0, 2), (2, 4)]


@pytest.mark.parametrize(
    ("cues", "label"),
    [
        ({0: "LICENSE", 1: "LICENSE"}, "LICENSE"),
        ({0: "LICENSE"}, "PHONE"),
        ({0: "LICENSE", 1: "MRN"}, "PHONE"),
        ({}, "PHONE"),
    ],
)
def test_a_guess_takes_the_label_of_cues_that_agree_and_hold_nearly_all_of_it(cues, label):
    assert settle_label(0, 2, "PHONE", cues) == label


@pytest.mark.parametrize(
    ("decided", "refused"),
    [([], True), ([(0, 3)], False), ([(0, 8)], False), ([(0, 2)], True), ([(4, 8)], True), ([(0, 3), (4, 8)], False)],
)
def test_an_entity_lies_within_what_was_decided(decided, refused):
    doc = NLP("Ana Ruiz")
    doc.ents = [Span(doc, 0, 1, "PATIENT")]
    if not refused:
        return refuse_entities(doc, decided)
    with pytest.raises(NotDeidentified, match="PATIENT at 0:3"):
        refuse_entities(doc, decided)


def test_entities_of_other_kinds_need_no_decision():
    doc = NLP("Ana Ruiz")
    doc.ents = [Span(doc, 0, 2, "DISEASE")]
    refuse_entities(doc, [])


def test_groups_that_nobody_merged_are_named_in_order(doc):
    for key in ("deid/z", "deid/b"):
        write_evidence(doc, key, [])
    with pytest.raises(NotDeidentified, match="deid/b, deid/z"):
        refuse_groups(doc, [KEY], "deid_merge")
