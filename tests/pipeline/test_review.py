"""deid_review: what is proposed to a person, within which budget, and what every component owes."""

import json
import logging
import pickle
import time
import warnings

import pytest
import spacy
from conftest import long_notes
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline.scoring import make, proposed, scored, with_scores
from spacy.tokens import DocBin

import spacy_deid
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.pipeline.review import choose_runs
from spacy_deid.review.evidence import FEATURES, describe_words
from spacy_deid.review.ranking import Ranking
from spacy_deid.spans import DECISIONS, MERGED, PROBABILITIES, REVIEW, SCORES, read_evidence, reopen_groups

CANARY = "Zumalabe"
TEXT = "Today the mayor saw Kontiomaa, the wife of Wilmer, in Parkano."


@pytest.fixture(scope="module")
def english():
    return make()


# What is proposed


def test_the_highest_words_are_proposed_within_the_budget():
    nlp = make(at_least=2)
    doc = nlp(scored(nlp, TEXT, mayor=0.4, Kontiomaa=0.9, Wilmer=0.7))
    assert proposed(doc) == ["Kontiomaa", "Wilmer"]
    assert [item.score for item in read_evidence(doc, REVIEW)] == [0.9, 0.7]


@pytest.mark.parametrize(("words", "spans"), [(100, 1), (1000, 5), (2000, 10)])
def test_the_budget_grows_with_the_note(english, words, spans):
    names = {f"name{chr(97 + i % 26) * (1 + i // 26)}": 0.5 + i / 1000 for i in range(30)}
    text = " the ".join(names) + " the" * (words - 59)
    assert len(english(scored(english, text, **names))._.deid_review) == spans


def test_nothing_is_proposed_that_is_not_above_the_floor():
    nlp = make(at_least=9, floor=0.5)
    assert proposed(nlp(scored(nlp, TEXT, mayor=0.5, Wilmer=0.51))) == ["Wilmer"]


def test_a_budget_of_nothing_proposes_nothing():
    nlp = make(at_least=0, per_1000_words=0)
    doc = nlp(scored(nlp, TEXT, Wilmer=0.9))
    assert REVIEW in doc.spans
    assert doc._.deid_review == []


def test_neighbours_cost_as_much_as_one_word(english):
    doc = english(
        scored(english, "He met José María Iturgaiz at noon with Bo", José=0.9, María=0.6, Iturgaiz=0.8, Bo=0.1)
    )
    assert proposed(doc) == ["José María Iturgaiz"]
    (row,) = doc._.deid_review
    assert row["score"] == 0.9
    assert row["columns"] == {"surprisal": 9.0, "entropy": 1.0}


def test_a_line_break_and_a_common_word_part_what_is_proposed():
    nlp = make(at_least=5)
    assert proposed(nlp(scored(nlp, "Ana\nBea", Ana=0.9, Bea=0.9))) == ["Ana", "Bea"]
    assert proposed(nlp(scored(nlp, "Ana and Bea, Cea", Ana=0.9, Bea=0.8, Cea=0.9))) == ["Ana", "Bea, Cea"]


def test_a_neighbour_that_is_less_than_half_as_surprising_stays_outside(english):
    assert proposed(english(scored(english, "María del Bosque", María=0.9, Bosque=0.8, **{"del": 0.4}))) == ["María"]


def test_no_span_is_longer_than_it_may_be():
    nlp = make(at_least=2, longest=2)
    scores = {"ax": 0.9, "bx": 0.8, "cx": 0.7, "dx": 0.6, "ex": 0.5}
    assert proposed(nlp(scored(nlp, "ax bx cx dx ex", **scores))) == ["ax bx", "cx dx"]


def test_what_a_detector_holds_is_left_out(english):
    doc = english(scored(english, TEXT, ("Kontiomaa", "PERSON"), Kontiomaa=0.9, Wilmer=0.7))
    assert proposed(doc) == ["Wilmer"]


def test_an_entity_that_is_no_identifier_holds_nothing():
    nlp = make(surrogate=False)
    ruler = nlp.add_pipe("entity_ruler", before="deid_review")
    ruler.add_patterns([{"label": "DISEASE", "pattern": "Wilmer"}])
    doc = nlp(scored(nlp, TEXT, Wilmer=0.7))
    assert [ent.label_ for ent in doc.ents] == ["DISEASE"]
    assert proposed(doc) == ["Wilmer"]


def test_medical_terms_are_left_out_unless_wanted(english):
    text, scores = "Angiosarcoma of Wilmer", {"Angiosarcoma": 0.9, "Wilmer": 0.1}
    assert proposed(english(scored(english, text, **scores))) == ["Wilmer"]
    plain = make(medical=False)
    assert proposed(plain(scored(plain, text, **scores))) == ["Angiosarcoma"]


def test_a_name_of_a_disease_is_looked_at_because_it_may_be_a_persons(english):
    assert proposed(english(scored(english, "Seen by Crohn today", Crohn=0.9))) == ["Crohn"]


@pytest.mark.parametrize(("recovered", "found"), [(True, ["Crohn"]), (False, [])])
def test_what_was_let_go_as_medical_is_looked_at_or_not(recovered, found):
    nlp = make(recovery=True, recovered=recovered)
    doc = nlp(scored(nlp, "Crohn's disease", ("Crohn", "PERSON"), Crohn=0.9))
    assert list(doc.ents) == []
    assert proposed(doc) == found


def test_a_score_that_is_no_probability_stays_in_the_row_alone(english):
    doc = english(scored(english, TEXT, probability=False, Wilmer=17.5))
    assert [item.score for item in read_evidence(doc, REVIEW)] == [1.0]
    (row,) = doc._.deid_review
    assert (row["score"], row["probability"], row["by"], row["version"]) == (17.5, False, "entropy-1", "test-1")


def test_words_are_ranked_by_a_column_if_one_is_named():
    nlp = make(column="entropy")
    doc = scored(nlp, TEXT, Wilmer=0.9)
    doc.user_data[SCORES]["features"]["entropy"] = [float(start == TEXT.index("Parkano")) for start in starts(doc)]
    assert proposed(nlp(doc)) == ["Parkano"]
    (row,) = doc._.deid_review
    assert (row["score"], row["probability"], row["by"]) == (1.0, False, "entropy")
    with pytest.raises(ConfigError, match=r"'rank'. Its columns: surprisal, entropy"):
        make(column="rank")(scored(nlp, TEXT))


def starts(doc):
    return doc.user_data[SCORES]["starts"]


def test_a_language_without_a_medical_dictionary_goes_without():
    nlp = make("de")
    assert proposed(nlp(scored(nlp, "Angiosarkom bei Wilmer", Angiosarkom=0.9))) == ["Angiosarkom"]


# All evidence

ODDS = dict.fromkeys((*FEATURES, "bias"), 0.0) | {"probability": 1.0}


def with_probabilities(nlp, text, spans=(), **probabilities):
    """Make a Doc with probabilities of the classifier: .001, or those of the given words."""
    doc = scored(nlp, text, *spans)
    tokens = [token for token in doc if not token.is_space]
    united = [probabilities.get(token.text, 0.001) for token in tokens]
    starts, ends = [token.idx for token in tokens], [token.idx + len(token) for token in tokens]
    record = {"starts": starts, "ends": ends, "united": united, "first": united, "labels": ["PATIENT"] * len(tokens)}
    doc.user_data[PROBABILITIES] = record
    return doc


def test_words_below_the_threshold_of_the_classifier_are_proposed_first():
    nlp = make(at_least=2)
    doc = nlp(with_probabilities(nlp, TEXT, Wilmer=0.3, mayor=0.01))
    assert "Wilmer" in proposed(doc)
    row = next(row for row in doc._.deid_review if doc.text[row["start"] : row["end"]] == "Wilmer")
    assert (row["by"], row["probability"]) == ("evidence", True)
    assert row["columns"]["probability"] == pytest.approx(-0.847, abs=1e-3)
    assert row["columns"]["capital_inside_a_sentence"] == 1
    assert 0 < doc.spans[REVIEW].attrs["leak"] < 1


def test_the_weights_rank_the_words():
    nlp = make(at_least=1)
    nlp.get_pipe("deid_review").ranking = Ranking(ODDS, "test")
    doc = nlp(with_probabilities(nlp, TEXT, mayor=0.4, Wilmer=0.3))
    assert proposed(doc) == ["mayor"]
    assert doc._.deid_review[0]["score"] == pytest.approx(0.4)


def test_a_missing_weight_is_refused():
    with pytest.raises(ConfigError, match="no weight 'capital'"):
        Ranking({name: weight for name, weight in ODDS.items() if name != "capital"}, "test")


def test_words_of_entities_have_no_evidence():
    nlp = make()
    doc = nlp(with_probabilities(nlp, TEXT, [("Kontiomaa", "PERSON")], Wilmer=0.3))
    words = describe_words(doc)
    texts = [doc.text[start:end] for start, end in zip(words.starts, words.ends, strict=True)]
    assert "Wilmer" in texts
    assert "Kontiomaa" not in texts
    assert words.values.shape == (len(texts), len(FEATURES))
    beside = dict(zip(texts, words.values[:, FEATURES.index("beside an entity")], strict=True))
    assert beside["wife"] == 0
    assert beside["saw"] == 1


def test_entities_in_the_same_line_are_described():
    nlp = make()
    text = "saw Kontiomaa, the wife\nof Wilmer in Parkano"
    doc = nlp(with_probabilities(nlp, text, [("Kontiomaa", "PATIENT"), ("Parkano", "CITY")], wife=0.3))
    words = describe_words(doc)
    rows = {doc.text[s:e]: row for s, e, row in zip(words.starts, words.ends, words.values, strict=True)}

    def value(word, name):
        return rows[word][FEATURES.index(name)]

    assert (value("wife", "after person"), value("wife", "distance of the entity before")) == (1, 3)
    assert (value("wife", "before place"), value("wife", "distance of the entity after")) == (0, 9)
    assert (value("Wilmer", "before place"), value("Wilmer", "after person")) == (1, 0)
    assert value("Wilmer", "distance of the entity after") == 2
    assert value("wife", "next") < value("the", "next")
    assert value("wife", "like person") == 1


def test_an_identifier_of_several_words_is_proposed_as_a_whole():
    nlp = make(at_least=1, surrogate=False)
    nlp.get_pipe("deid_review").ranking = Ranking(ODDS, "test")
    assert proposed(nlp(with_probabilities(nlp, TEXT, Wilmer=0.4, the=0.001, of=0.05))) == ["of Wilmer"]


def test_probabilities_of_another_text_are_refused():
    nlp = make()
    doc = with_probabilities(nlp, TEXT)
    doc.user_data[PROBABILITIES]["ends"][-1] = 999
    with pytest.raises(NotDeidentified, match="another text"):
        nlp(doc)


def test_a_named_score_ranks_although_there_is_other_evidence():
    nlp = make(column="score", at_least=1)
    doc = with_probabilities(nlp, TEXT, mayor=0.4)
    doc.user_data[SCORES]["values"] = [float(start == TEXT.index("Wilmer")) for start in starts(doc)]
    assert proposed(nlp(doc)) == ["Wilmer"]


def test_the_classifier_keeps_probabilities_only_for_a_review():
    nlp = spacy_deid.load("en")
    assert PROBABILITIES not in nlp("Seen by Dr. Wilmer.").user_data
    nlp.add_pipe("deid_review")
    doc = nlp("Seen by Dr. Wilmer.")
    assert len(doc.user_data[PROBABILITIES]["united"]) == 6
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert again._.deid_review == doc._.deid_review


# Its place


@pytest.mark.parametrize("last", [True, False])
def test_it_changes_neither_entities_nor_edits_before_and_after_the_surrogate(last):
    nlp = make(review_last=last)
    doc = nlp(scored(nlp, TEXT, ("Kontiomaa", "PERSON"), Wilmer=0.7))
    assert doc._.deid_text == TEXT.replace("Kontiomaa", "[PERSON]")
    assert [ent.text for ent in doc.ents] == ["Kontiomaa"]
    assert [row["label"] for row in doc._.deid_trace] == ["PERSON"]
    assert proposed(doc) == ["Wilmer"]


def test_released_text_needs_no_review():
    assert REVIEW in DECISIONS
    nlp = make()
    with nlp.select_pipes(disable=["deid_review"]):
        doc = nlp(scored(nlp, TEXT, ("Kontiomaa", "PERSON")))
    assert "[PERSON]" in doc._.deid_text
    with pytest.raises(NotDeidentified, match="deid_review"):
        _ = doc._.deid_review


def test_a_new_decision_takes_the_old_review_away(english):
    doc = english(scored(english, TEXT, Wilmer=0.7))
    assert REVIEW in doc.spans
    reopen_groups(doc)
    assert REVIEW not in english.get_pipe("deid_merge")(doc).spans


def test_merging_takes_no_review_for_a_detector():
    nlp = spacy.blank("en")
    nlp.add_pipe("flag_stretches")
    nlp.get_pipe("flag_stretches")
    nlp.add_pipe("deid_review")
    with pytest.raises(ConfigError, match="no sources"):
        nlp.add_pipe("deid_merge")


# Bad input


def test_without_scores_nothing_is_proposed_and_it_says_so(english):
    with pytest.raises(NotDeidentified, match="did not run") as caught:
        english("Wilmer")
    assert "Wilmer" not in str(caught.value)


def test_without_a_decision_nothing_is_proposed():
    nlp = spacy.blank("en")
    nlp.add_pipe("deid_review")
    with pytest.raises(NotDeidentified, match="deid_merge"):
        nlp(scored(nlp, "Wilmer", Wilmer=0.9))


@pytest.mark.parametrize(
    "damage",
    [{"values": []}, {"ends": [99, 99]}, {"starts": [5, 0], "ends": [8, 4]}, {"features": {"entropy": [1.0]}}],
    ids=["too few", "outside", "out of order", "short column"],
)
def test_scores_of_another_text_are_refused(english, damage):
    doc = scored(english, "Anna Bell", Anna=0.9)
    doc.user_data[SCORES] |= damage
    with pytest.raises(NotDeidentified, match="computed for another text"):
        english(doc)


@pytest.mark.parametrize("setting", [{"per_1000_words": -1}, {"at_least": -1}, {"longest": 0}])
def test_a_budget_that_is_none_is_refused(setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        make(**setting)


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "\ud7ff\u0301"])
def test_a_note_of_nothing_has_an_empty_group(english, text):
    doc = english(scored(english, text))
    assert doc._.deid_review == []
    assert len(doc.spans[REVIEW]) == 0


# What every component owes


def test_config_bytes_and_disk_give_the_same_pipeline(tmp_path):
    nlp = make(at_least=2, floor=0.2)
    nlp.to_disk(tmp_path / "nlp")
    again = [spacy.load(tmp_path / "nlp"), make(at_least=2, floor=0.2).from_bytes(nlp.to_bytes())]
    for other in [*again, pickle.loads(pickle.dumps(nlp))]:
        assert other.config["components"] == nlp.config["components"]
        assert proposed(other(scored(other, TEXT, mayor=0.1, Wilmer=0.9, Parkano=0.3))) == ["Wilmer", "Parkano"]


def test_docbin_keeps_the_group_and_its_rows(english):
    doc = english(scored(english, TEXT, Wilmer=0.9))
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(english.vocab)
    assert again._.deid_review == doc._.deid_review != []


def test_worker_processes_find_the_same(english):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork, in a process with threads
        docs = [scored(english, TEXT, Wilmer=0.9) for _ in range(4)]
        assert [proposed(doc) for doc in english.pipe(docs, n_process=2, batch_size=1)] == [["Wilmer"]] * 4


@long_notes
def test_a_long_note_takes_seconds(english, length):
    text = "Wilmer had angiosarcoma and saw the mayor of Parkano. " * (length // 54)
    doc = with_scores(english.make_doc(text), {"Wilmer": 0.9, "Parkano": 0.3, "mayor": 0.2})
    start = time.process_time()
    doc = english(doc)
    assert time.process_time() - start < 60
    assert len(doc._.deid_review) == int(len(text.split()) * 5 / 1000)


def test_no_name_gets_into_records_rows_and_logs(english, caplog):
    with caplog.at_level(logging.DEBUG):
        doc = english(scored(english, f"Mr. {CANARY}", **{CANARY: 0.9}))
    assert proposed(doc) == [CANARY]
    stored = [json.dumps(doc._.deid_review), repr(doc.spans[REVIEW].attrs), caplog.text]
    assert not any(CANARY in text for text in stored)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), *[st.booleans()] * 2), max_size=40), st.integers(0, 8), st.integers(1, 5))
def test_runs_are_disjoint_and_hold_the_best(words, budget, longest):
    values = [value for value, *_ in words]
    wanted = [i for i, (_, chosen, _) in enumerate(words) if chosen]
    joined = [together for *_, together in words[1:]]
    runs = choose_runs(values, wanted, joined, budget, longest)
    taken = [word for run in runs for word in run]
    assert taken == sorted(set(taken))
    assert set(taken) <= set(wanted)
    assert len(runs) <= budget
    assert all(len(run) <= longest and all(joined[i] for i in run[:-1]) for run in runs)
    left = [values[i] for i in wanted if i not in taken]
    assert not left or len(runs) == budget
    assert all(max(values[i] for i in run) >= max(left, default=0) for run in runs)


WORDS = ["Wilmer", "mayor", "Parkano", "angiosarcoma", "the", "\n", "12", "a@b.es", "."]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.data())
def test_what_is_proposed_is_held_by_nobody(english, words, data):
    doc = english.make_doc(" ".join(words))
    places = st.integers(0, max(len(doc) - 1, 0))
    chosen = data.draw(st.lists(st.tuples(places, places), max_size=3)) if len(doc) else []
    doc.user_data["flags"] = [
        (doc[min(pair)].idx, doc[max(pair)].idx + len(doc[max(pair)]), "PERSON") for pair in chosen
    ]
    scores = {word: data.draw(st.floats(0, 1)) for word in WORDS}
    doc = english(with_scores(doc, scores))
    held = {i for span in doc.spans[MERGED] for i in range(span.start, span.end)}
    shown = {i for span in doc.spans[REVIEW] for i in range(span.start, span.end)}
    assert held.isdisjoint(shown)
