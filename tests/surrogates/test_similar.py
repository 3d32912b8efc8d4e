"""The strategy `similar`: which candidates are ranked and drawn, and what is left to `consistent`.

The ranker is a function of the word, so that the result is known; tests/pipeline has the models that ship.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import find_mentions
from spacy_deid.surrogates.people.name_lists import load_names
from spacy_deid.surrogates.similar import Similar
from spacy_deid.surrogates.strategies import Setting
from spacy_deid.surrogates.style import replace_mentions

KEYS = [ProjectKey(bytes([i]) * 32).patient("7") for i in range(1, 9)]
KEY = KEYS[0]
NAMED = ("PATIENT", "RELATIVE", "CLINICIAN", "CITY")


class Table:
    """A ranker that scores words by functions and records its calls."""

    def __init__(self, near=len, likely=len):
        self.near, self.likely = near, likely
        self.seen = []
        self.asked = []

    def likelihoods(self, text, places, place, words):
        self.asked.append((text, [text[start:end] for start, end in places], place, list(words)))
        return [self.likely(word) for word in words]

    def cosines(self, text, start, end, words):
        self.seen.append((text[start:end], list(words)))
        return [self.near(word) for word in words]


class Blind(Table):
    """A model that cannot read the place."""

    def likelihoods(self, text, places, place, words):
        return []

    def cosines(self, text, start, end, words):
        return []


def release(text, spans, strategy, key=KEY, lang="es", labels=NAMED):
    found, at = [], 0
    for value, label in spans:
        start = text.index(value, at)
        at = start + len(value)
        found.append((start, at, label))
    assert found
    made = replace_mentions(find_mentions(text, found), key, lang, dict.fromkeys(labels, strategy))
    return [replacement.text for replacement in made]


def consistent(mentions, setting):
    return [0] * len(mentions)


NOTE = "Ana Zumalabe. ZUMALABE, ANA. Dr. Luis Ochoa (lochoa@hospital.example). Su hija Eva Zumalabe. A. Zumalabe"
SPANS = [
    ("Ana Zumalabe", "PATIENT"),
    ("ZUMALABE, ANA", "PATIENT"),
    ("Luis Ochoa", "CLINICIAN"),
    ("lochoa@hospital.example", "EMAIL"),
    ("Eva Zumalabe", "RELATIVE"),
    ("A. Zumalabe", "PATIENT"),
]


def test_the_surrogate_is_one_of_the_best_ranked_candidates():
    table = Table()
    made = release("Ingresa Ana Zumalabe hoy.", [("Ana Zumalabe", "PATIENT")], Similar(table, "es", 3, 20))[0]
    ranked = {original: sorted(words, key=lambda word: (-len(word), word))[:3] for original, words in table.seen}
    assert [len(words) for _, words in table.seen] == [20, 20]
    assert all(new in ranked[old] for old, new in zip(("Ana", "Zumalabe"), made.split(), strict=True))


def test_different_keys_draw_different_candidates():
    drawn = {release("Ana Zumalabe", [("Ana Zumalabe", "PATIENT")], Similar(Table(), "es"), key)[0] for key in KEYS}
    assert len(drawn) > 4
    again = [release("Ana Zumalabe", [("Ana Zumalabe", "PATIENT")], Similar(Table(), "es"))[0] for _ in range(2)]
    assert len(set(again)) == 1


def test_half_of_the_candidates_are_the_most_probable_with_the_whole_name_masked():
    table = Table(likely=lambda word: word.count("a"))
    release("Ingresa Ana Zumalabe.", [("Ana Zumalabe", "PATIENT")], Similar(table, "es", 2, 20))
    masked, scored = next((masked, words) for _, masked, place, words in table.asked if place == 0)
    assert masked == ["Ana", "Zumalabe"]
    ranked = dict(table.seen)["Ana"]
    assert len(ranked) == 20
    least = min(word.count("a") for word in ranked[:10])
    others = [word.count("a") for word in scored if word not in ranked and fold(word)[0] != "a"]
    assert others
    assert max(others) <= least
    assert min(word.count("a") for word in ranked[10:]) < least


def test_all_forms_of_a_name_follow_in_a_note_and_relatives_share_their_surname():
    first, turned, clinician, address, relative, initial = release(NOTE, SPANS, Similar(Table(), "es"))
    given_name, surname = first.split()
    assert turned == f"{surname}, {given_name}".upper()
    assert relative.split()[1] == surname
    assert initial == f"{given_name[0]}. {surname}"
    assert address.startswith(fold(clinician[0] + clinician.split()[1]))
    assert len({surname, clinician.split()[1], "Zumalabe", "Ochoa"}) == 4


def test_two_labels_of_one_person_agree():
    spans = [("Ana Zumalabe", "PATIENT"), ("Zumalabe", "CLINICIAN")]
    full, part = release("Ana Zumalabe. Firma: Zumalabe", spans, Similar(Table(), "es"))
    assert full.split()[1] == part


def test_finnish_names_are_ranked_and_written_in_the_case_of_the_original():
    table = Table()
    spans = [("Virtasen", "CLINICIAN"), ("Espoossa", "CITY")]
    text = "Lääkäri Virtasen mukaan. Asuu Espoossa."
    surname, town = release(text, spans, Similar(table, "fi", best=2), lang="fi")
    forms = dict(table.seen)
    assert all(form.endswith("n") for form in forms["Virtasen"])
    assert all(form.endswith(("ssa", "ssä", "lla", "llä")) for form in forms["Espoossa"])
    assert surname in forms["Virtasen"]
    assert town in forms["Espoossa"]


def test_towns_stay_in_the_region_that_replaces_their_own():
    text = "Vive en Getxo (Vizcaya). De Barakaldo."
    spans = [("Getxo", "CITY"), ("Vizcaya", "STATE"), ("Barakaldo", "CITY")]
    near = Similar(Table(), "es", best=2, candidates=20)
    town, region, other = release(text, spans, near)
    plain = release(text, spans, consistent)
    assert region == plain[1]
    assert town != other
    assert near.asked == 2


def test_names_that_the_model_cannot_read_are_left_to_consistent_and_counted():
    near = Similar(Blind(), "es")
    assert release(NOTE, SPANS, near) == release(NOTE, SPANS, consistent)
    assert near.asked == near.left > 0


def test_names_with_too_few_candidates_are_left_to_consistent():
    near = Similar(Table(), "es", best=500, candidates=500)
    assert release(NOTE, SPANS, near) == release(NOTE, SPANS, consistent)
    assert near.left == near.asked > 0


def test_another_language_and_other_labels_are_left_to_consistent():
    near = Similar(Table(), "en")
    assert release(NOTE, SPANS, near) == release(NOTE, SPANS, consistent)
    spans = [("04/11/2024", "DATE"), ("4471906", "MRN")]
    text = "Ingreso 04/11/2024, NHC 4471906"
    made = release(text, spans, Similar(Table(), "es"), labels=("DATE", "MRN"))
    assert made == release(text, spans, consistent, labels=("DATE", "MRN"))
    assert near.asked == 0


def test_forbidden_names_are_not_ranked():
    table = Table()
    text = "Ana Zumalabe"
    mentions = find_mentions(text, [(0, len(text), "PATIENT")])
    never = load_names("es").pool(load_names("es").stratum("female", "ana"))[::2]
    replace_mentions(mentions, KEY, "es", {"PATIENT": Similar(table, "es")}, lambda name: name in never)
    ranked = dict(table.seen)["Ana"]
    assert ranked
    assert not set(ranked) & set(never)


@pytest.mark.parametrize(("best", "candidates"), [(1, 20), (21, 20), (0, 0)])
def test_impossible_numbers_of_candidates_are_refused(best, candidates):
    with pytest.raises(ConfigError, match="'candidates' must be"):
        Similar(Table(), "es", best, candidates)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=30), st.sampled_from(["es", "en", "fi"]))
def test_no_original_is_kept(name, lang):
    text = f"Nimi: {name} "
    mentions = find_mentions(text, [(6, 6 + len(name), "PATIENT")])
    (made,) = replace_mentions(mentions, KEY, lang, {"PATIENT": Similar(Table(), lang)})
    assert fold(made.text) != fold(name)


def test_reprs_show_no_name():
    near = Similar(Table(), "es")
    mentions = find_mentions("Ana Zumalabe", [(0, 12, "PATIENT")])
    chosen = near(mentions, Setting(KEY, "es", "", [1]))
    assert "Zumalabe" not in repr(chosen) + repr(near) + repr(chosen[0].suggest.names)
