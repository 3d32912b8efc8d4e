"""Notes to adapt to: checks, parts, labels, and the notes that are replayed."""

from pathlib import Path

import pytest

from spacy_deid.adaptation.notes import Replay, check_notes, deal, learned_label, make_replay, relabel_notes
from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample" / "train"
NO_REPLAY = Replay("synthetic", list, [], [])
AUTHORED = """#! brief: {brief}
=== 1
#! genre: letter
#! institution: Harrowgate Infirmary
#! date: 2019-11-07
#! patient = Marjorie / Ellwood, f
Seen today: [Marjorie Ellwood](PATIENT patient), {tail} who is well and walks every day with her dog along the
canal and sleeps better since the tablets were changed in the autumn, and has no pain at all.
"""


@pytest.fixture(scope="module")
def notes():
    return read_folder(SAMPLE, scheme="meddocan")


def note(name, text, *entities):
    return AnnotatedText(name, text, tuple(Entity(*entity) for entity in entities))


def authored(folder, *briefs):
    folder.mkdir(exist_ok=True)
    for brief in briefs:
        text = AUTHORED.format(brief=brief, tail=f"file {brief[-2:]},")
        (folder / f"{brief}.txt").write_text(text, encoding="utf8")
    return folder


def test_notes_that_pass_all_checks(notes):
    assert len(notes) >= 20
    check_notes(notes, NO_REPLAY)


def test_too_few_notes_are_refused_with_the_number_needed(notes):
    with pytest.raises(InputError, match="got 19, need at least 20"):
        check_notes(notes[:19], NO_REPLAY)


def test_notes_without_identifiers_are_refused(notes):
    bare = [note(one.name, one.text) for one in notes]
    with pytest.raises(InputError, match=r"with identifiers: 0 note\(s\) have any, need at least 10"):
        check_notes(bare, NO_REPLAY)


def test_gold_that_overlaps_is_refused_by_offsets(notes):
    wrong = note("wrong", "Ana Bustarviejo", (0, 15, "PATIENT"), (4, 15, "CITY"))
    with pytest.raises(InputError, match="'wrong': the entities at 0:15 and 4:15 overlap") as error:
        check_notes([*notes, wrong], NO_REPLAY)
    assert "Bustarviejo" not in str(error.value)


def test_a_note_that_occurs_twice_is_refused(notes):
    with pytest.raises(InputError, match="1 of the annotated notes, for example 'copy'"):
        check_notes([*notes, note("copy", notes[0].text.upper())], NO_REPLAY)


def test_notes_of_the_replay_corpus_are_refused(notes):
    replay = Replay("authored", list, [notes[3]], [])
    with pytest.raises(InputError, match=f"for example '{notes[3].name}', are already among the authored notes"):
        check_notes(notes, replay)


def test_a_note_of_the_replay_corpus_is_recognized_with_other_identifiers(notes):
    frame = "{} fue vista en consulta por dolor lumbar de tres semanas sin irradiación ni fiebre y toma paracetamol "
    frame += "con alivio parcial desde hace unos días y duerme bien"
    one, other = (note(name, frame.format(name), (0, len(name), "PATIENT")) for name in ("Aurelia", "Bo"))
    with pytest.raises(InputError, match="'Bo'"):
        check_notes([*notes, other], Replay("authored", list, [], [one]))


@pytest.mark.parametrize(
    ("label", "known", "learned"),
    [
        ("CITY", {"CITY", "TERRITORY"}, "CITY"),
        ("CITY", {"TERRITORY"}, "TERRITORY"),
        ("TERRITORY", {"CITY"}, "CITY"),
        ("KINSHIP", {"RELATIVE"}, "KINSHIP"),
        ("VEHICLE", {"PATIENT"}, "VEHICLE"),
    ],
)
def test_a_label_is_learned_as_one_that_the_classifier_has(label, known, learned):
    assert learned_label(label, known) == learned
    (changed,) = relabel_notes([note("a", "Jaca", (0, 4, label))], known)
    assert changed.entities == (Entity(0, 4, learned),)


def test_notes_are_dealt_by_their_number_of_identifiers():
    notes = [note(str(i), "x" * 40, *((k, k + 1, "ZIP") for k in range(i))) for i in range(24)]
    parts = deal(notes, 4, seed=3)
    assert sorted(i for part in parts for i in part) == list(range(24))
    sums = [sum(len(notes[i].entities) for i in part) for part in parts]
    assert max(sums) - min(sums) <= 18
    assert {len(part) for part in parts} == {6}
    assert deal(notes, 4, seed=3) == parts != deal(notes, 4, seed=4)


def test_synthetic_notes_are_replayed_and_others_calibrate():
    replay, again = (make_replay("es", dev=3, seed=5) for _ in range(2))
    assert [one.text for one in replay.read()] == [one.text for one in again.read()]
    assert len(replay.dev) == 3
    assert {one.text for one in replay.dev}.isdisjoint(one.text for one in replay.train)


def test_a_language_without_templates_needs_authored_notes(tmp_path):
    with pytest.raises(ConfigError, match="--replay"):
        make_replay("qq")


def test_authored_notes_are_filled_anew_in_each_pass(tmp_path):
    replay = make_replay("en", authored(tmp_path, "en-t01", "en-t02", "en-d01", "fi-t01"))
    assert replay.name == "authored"
    assert [one.name for one in replay.train] == ["en-t01-01", "en-t02-01"]
    assert [one.name for one in replay.dev] == ["en-d01-01"]
    first, second = ([one.text for one in replay.read()] for _ in range(2))
    assert "Marjorie" in first[0]
    assert "Marjorie" not in second[0]
    refilled = next(iter(replay.read()))
    with pytest.raises(InputError, match=refilled.name):
        check_notes([refilled, *read_folder(SAMPLE, scheme="meddocan")], replay)


def test_a_fifth_of_the_authored_notes_calibrates_if_none_is_for_development(tmp_path):
    replay = make_replay("en", authored(tmp_path, *(f"en-t{i:02}" for i in range(1, 11))))
    assert (len(replay.train), len(replay.dev)) == (8, 2)


def test_authored_notes_of_another_language_are_refused(tmp_path):
    with pytest.raises(InputError, match="no authored notes of language 'es'"):
        make_replay("es", authored(tmp_path, "en-t01", "en-d01"))
