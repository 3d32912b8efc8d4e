"""The comparison with peers: gold from values, what is counted, and the talk with a process."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import figures as figures_of_documents
from benchmarks import peers
from spacy_deid.errors import DeidError
from spacy_deid.evaluation import AnnotatedText, Entity

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

ADAPTER = """
from channel import one_by_one, serve
def find(text):
    print("a peer that prints a note:", text)
    return [(text.index("Ana"), text.index("Ana") + 3)] if "Ana" in text else []
serve(lambda: one_by_one(find))
"""


def quoted(note):
    return [note.text[e.start : e.end] for e in note.entities]


def corpus(*notes, complete=True):
    return peers.Corpus("mine", "test", list(notes), complete)


def test_corpora_are_read_and_a_visit_without_a_name_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "AUTHORED", tmp_path / "authored")
    queries, visits = tmp_path / peers.QUERIES, tmp_path / peers.VISITS
    queries.parent.mkdir(parents=True)
    visits.mkdir(parents=True)
    tag = json.dumps({"identifier_type": "NAME", "value": "Ana B."})
    records = "".join(f"===QUERY===\nIs Ana B. well, {n}?\n===PHI_TAGS===\n{tag}\n\n" for n in range(9))
    queries.write_text(records, encoding="utf8")
    (visits / "valid.csv").write_text("encounter_id,note\n1,Ana saw Dr. Gut.\n2,No name.\n", encoding="utf8")
    head = "encounter_id,doctor_name,patient_firstname,patient_familyname\n"
    (visits / "valid_metadata.csv").write_text(head + "1,Dr. Gut,Ana ,Vega\n2,,Eva,\n", encoding="utf8")
    asked, seen, made = peers.read_corpora(tmp_path, [AnnotatedText("1", "No name.", ())])
    assert 0 < len(asked.notes) < 9
    assert {text for note in asked.notes for text in quoted(note)} == {"Ana B."}
    assert [quoted(note) for note in seen.notes] == [["Ana", "Gut"]]
    assert [note.text for note in made.notes] == ["No name."]
    assert [corpus.complete for corpus in (asked, seen, made)] == [True, False, True]


def test_a_corpus_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DeidError, match="asq_phi"):
        list(peers.read_corpora(tmp_path, []))


def test_ages_below_ninety_and_years_count_for_nobody():
    text = "A 58-year-old man, 95 years old, since 2021, bed 2022-7"
    marked = "".join(c for c, m in zip(text, peers.neutral_mask(text), strict=True) if m)
    assert marked == "58-year-old20212022"


def test_figures_count_letters_by_their_aim():
    gold = AnnotatedText("1", "Ana, nurse, 3 May, no pain", (Entity(0, 3, "PATIENT"), Entity(5, 10, "PROFESSION")))
    found = AnnotatedText("1", gold.text, (Entity(0, 2, "OTHER"), Entity(5, 10, "OTHER"), Entity(22, 26, "OTHER")))
    figures = peers.score(corpus(gold), [found])
    assert figures["character recall"] == pytest.approx(2 / 3)
    assert figures["character precision"] == pytest.approx(2 / 6)
    assert figures["documents with nothing missed"] == 0


def test_a_year_is_due_from_nobody_but_the_digits_of_a_number_are():
    entities = (Entity(0, 4, "DATE"), Entity(6, 16, "DATE"), Entity(18, 26, "PHONE"))
    gold = AnnotatedText("1", "2019, 3 May 2020, 555-2014", entities)
    day_alone = AnnotatedText("1", gold.text, (Entity(6, 11, "OTHER"),))
    assert peers.score(corpus(gold), [day_alone])["character recall"] == pytest.approx(4 / 11)
    most = AnnotatedText("1", gold.text, (Entity(6, 11, "OTHER"), Entity(18, 26, "OTHER")))
    everything = AnnotatedText("1", gold.text, (Entity(0, 26, "OTHER"),))
    for found in (most, everything):
        figures = peers.score(corpus(gold), [found])
        assert (figures["documents with nothing missed"], figures["character precision"]) == (1, 1)


def test_a_note_without_phi_counts_as_left_alone_or_not():
    notes = [AnnotatedText(name, "No pain.", ()) for name in "ab"]
    found = [notes[0], AnnotatedText("b", "No pain.", (Entity(0, 2, "OTHER"),))]
    assert peers.score(corpus(*notes), found)["documents without PHI left alone"] == 0.5
    assert peers.score(corpus(*notes, complete=False), found)["character precision"] is None


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    (tmp_path / "run_mine.py").write_text(ADAPTER, encoding="utf8")
    (tmp_path / "channel.py").write_text((BENCHMARKS / "peers" / "channel.py").read_text(encoding="utf8"))
    monkeypatch.setattr(peers, "ADAPTERS", tmp_path)
    return peers.Peer("", (), "run_mine.py")


def test_a_peer_answers_over_the_channel_whatever_it_prints(adapter):
    notes = [AnnotatedText("1", "Oh, Ana.", ()), AnnotatedText("2", "Nobody.\nÑ", ())]
    found, seconds = peers.run("mine", adapter, sys.executable, notes)
    assert [quoted(note) for note in found] == [["Ana"], []]
    assert seconds > 0


def test_a_peer_that_dies_is_named_and_its_words_are_not(adapter, tmp_path):
    (tmp_path / "run_mine.py").write_text("raise SystemExit('a secret')", encoding="utf8")
    with pytest.raises(DeidError, match=r"'mine'.*exit code 1") as caught:
        peers.run("mine", adapter, sys.executable, [])
    assert "secret" not in str(caught.value)


def test_an_answer_that_is_missing_or_outside_the_note_is_an_error():
    notes = [AnnotatedText("n", "Ana.", ())]
    with pytest.raises(DeidError, match="no answer for 1"):
        peers.read_answers("mine", b"", notes)
    with pytest.raises(DeidError, match="3:9"):
        peers.read_answers("mine", b'{"name": "n", "spans": [[3, 9]]}', notes)


def test_rows_hold_every_system_and_ours_by_the_best_peer():
    figures = {"spacy_deid": {"character recall": 0.9}, "a": {"character recall": 0.6}, "b": {"character recall": 0.8}}
    rows = {row.name: row for row in peers.rows(corpus(), figures, "c")}
    assert rows["character recall: a"].value == 0.6
    assert rows["character recall: spacy_deid divided by the best peer"].value == 1.125
    assert rows["character recall: spacy_deid divided by the best peer"].met


@pytest.mark.parametrize("figure", ["character recall on names", "documents with nothing missed"])
def test_a_tie_is_no_lead(figure):
    figures = {"spacy_deid": {figure: 0.9}, "a": {figure: 0.9}}
    (row,) = [row for row in peers.rows(corpus(), figures, "c") if row.target]
    assert row.value == 1
    assert figures_of_documents.met(row) == "tie"


def test_a_step_behind_the_best_peer_is_a_miss():
    figures = {"spacy_deid": {"character recall on names": 0.98}, "a": {"character recall on names": 0.99}}
    (row,) = [row for row in peers.rows(corpus(), figures, "c") if row.target]
    assert row.met is False
