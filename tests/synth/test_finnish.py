"""The Finnish templates: all of them render, in every case, and hold what they promise."""

from random import Random

from spacy_deid.lang.inflection import inflect
from spacy_deid.synth.corpus import make_corpus, render_template
from spacy_deid.synth.identity import Case
from spacy_deid.synth.language import load_language
from spacy_deid.synth.markup import slots

FINNISH = load_language("fi")
NOTE_TYPES = """epikriisi hoitopalaute hoitaja rontgen patologia puhelin lahete resepti laboratorio esitieto kotihoito
paivystys sosiaalityo fysioterapia lyhyt""".split()
CASES = {"gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra"}


def is_silent(template):
    """Whether nothing in a template identifies anybody."""
    return not any(
        slot.label != "O" and slot.what not in ("drug", "diagnosis", "eponym") for slot in slots(template.nodes)
    )


def test_every_note_type_has_templates_for_both_splits():
    types = {template.name.partition(".")[0] for template in FINNISH.notes}
    assert set(NOTE_TYPES) <= types
    assert len(FINNISH.notes) >= 60
    assert {template.split for template in FINNISH.notes} == {"train", "dev", "test"}


def test_there_are_sentences_to_inject_and_sentences_that_must_stay_silent():
    silent = [template for template in FINNISH.sentences if is_silent(template)]
    assert len(silent) >= 120
    assert len(FINNISH.sentences) - len(silent) >= 250


def test_only_silent_templates_render_without_entities():
    templates = [*FINNISH.notes, *FINNISH.sentences]
    without = {t.name for t in templates if not render_template(t, FINNISH, Random(t.name), "test", "note").entities}
    assert without == {template.name for template in templates if is_silent(template)}


def test_patients_stand_in_every_case():
    used = {name for t in (*FINNISH.notes, *FINNISH.sentences) for slot in slots(t.nodes) for name in slot.filters}
    assert used >= CASES


def test_a_slot_with_a_case_holds_the_inflected_name():
    template = next(t for t in FINNISH.sentences if [s.filters for s in slots(t.nodes)] == [("gen",)])
    slot = next(iter(slots(template.nodes)))
    note = render_template(template, FINNISH, Random(3), "test", "note")
    person = Case(FINNISH, Random(3), "test", {(slot.who, slot.what)}).person(slot.who)
    kind = slot.what if slot.what in ("given", "surname") else "name"
    entity = note.entities[0]
    assert note.text[entity.start : entity.end] == inflect(getattr(person, slot.what), "fi", "gen", kind=kind)


def test_the_same_seed_makes_the_same_notes():
    first = [(note.text, note.entities) for note in make_corpus("fi", 20, seed=3)]
    assert first == [(note.text, note.entities) for note in make_corpus("fi", 20, seed=3)]
    assert sum(bool(entities) for _, entities in first) > 10


def test_lists_are_long_enough_to_be_drawn_from():
    sizes = {name: len(rows) for name, rows in FINNISH.lists.items()}
    assert sizes["professions"] >= 300
    assert sizes["hospitals"] >= 100
    assert sizes["health_centers"] >= 100
    assert len({row["city"] for row in FINNISH.lists["places"]}) >= 295
