"""The templates of every language: each renders, and what it labels is what the label says."""

from itertools import pairwise
from random import Random

import pytest

from spacy_deid.labels import LABELS
from spacy_deid.lang import language_codes
from spacy_deid.patterns.validators import get_validator
from spacy_deid.synth import load_language
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.identity import Case
from spacy_deid.synth.language import Template
from spacy_deid.synth.markup import slots
from spacy_deid.synth.values import Filler

LANGS = language_codes("synth/notes")
MARKUP = {"{", "}", "[[", "]]", "<<", ">>"}


def whole(lang):
    """All templates of a language; the body of a frame is taken out."""
    language = load_language(lang)
    for frame in language.frames:
        nodes = tuple(node for node in frame.nodes if getattr(node, "what", "") != "body")
        yield Template(frame.name, nodes, frame.split, frame.directives)
    yield from language.notes
    yield from language.sentences
    yield from (clause for _, clause in language.clauses)


def test_there_are_languages():
    assert "es" in LANGS


@pytest.fixture(scope="module", params=LANGS)
def rendered(request):
    """Notes of every template of a language for several people: (name of the template, note)."""
    language = load_language(request.param)
    templates = list(whole(request.param))
    assert templates
    return [
        (template.name, render_template(template, language, Random(seed), split, template.name))
        for template in templates
        for seed, split in ((0, "train"), (1, "train"), (2, "test"))
    ]


def test_a_template_renders_to_text_without_markup(rendered):
    assert [name for name, note in rendered if "{" in note.text or MARKUP & set(note.text.split())] == []


def test_entities_have_known_labels_and_no_blanks_at_their_edges(rendered):
    values = [(name, note.text[e.start : e.end], e.label) for name, note in rendered for e in note.entities]
    assert values
    assert [(name, value) for name, value, _ in values if value != value.strip()] == []
    assert {label for *_, label in values} <= LABELS.keys()


def test_entities_of_a_note_do_not_overlap(rendered):
    apart = {name: all(a.end <= b.start for a, b in pairwise(note.entities)) for name, note in rendered}
    assert [name for name, apart in apart.items() if not apart] == []


@pytest.mark.parametrize("lang", LANGS)
def test_both_splits_have_templates_and_share_none(lang):
    language = load_language(lang)
    names = {split: {t.name for t in language.notes if t.split == split} for split in ("train", "test")}
    assert all(names.values())
    assert not names["train"] & names["test"]


@pytest.mark.parametrize(
    ("kind", "validator"),
    [
        ("dni", "dni"), ("nie", "dni"), ("nuss", "nuss"), ("hetu", "hetu"), ("ssn", "ssn"), ("npi", "npi"),
        ("dea", "dea"), ("vin", "vin"), ("iban_es", "iban"), ("iban_fi", "iban"), ("card", "card"), ("imei", "luhn"),
        ("business_id_fi", "business_id_fi"),
    ],
)  # fmt: skip
def test_identifiers_pass_the_check_of_their_kind(kind, validator):
    from spacy_deid.synth.identity import make_id

    for seed in range(200):
        rng = Random(seed)
        case = Case(load_language("es"), rng, "train")
        value = make_id(kind, rng, case.person("patient").bearer())
        assert get_validator(validator)(value), (kind, seed)


def case_of(seed, **directives):
    return Case(load_language("es"), Random(seed), "train", directives=directives)


def test_a_case_is_coherent():
    for seed in range(100):
        case = case_of(seed)
        patient, mother, father = (case.person(who) for who in ("patient", "mother", "father"))
        assert mother.age(case.day) - patient.age(case.day) >= 17 or mother.age(case.day) >= 104
        assert (father.sex, mother.sex) == ("male", "female")
        assert patient.surnames[0] == father.surnames[0]
        assert patient.surnames[-1] in mother.surnames
        assert case.person("patient") is patient


def test_a_postal_code_begins_with_that_of_the_province():
    for seed in range(50):
        case = case_of(seed)
        filler = Filler(case)
        zip_code = filler.plain("{patient.zip}", "patient")
        assert len(zip_code) == 5
        assert zip_code[:2] == case.person("patient").place["zip"][:2]


def test_directives_bound_age_and_sex():
    for seed in range(50):
        case = case_of(seed, age="0..13", sex="male")
        assert case.person("patient").age(case.day) <= 13
        assert case.person("patient").sex == "male"


def test_a_parent_is_grown_up():
    for seed in range(50):
        case = Case(load_language("es"), Random(seed), "train", {("daughter", "given")})
        assert case.person("patient").age(case.day) >= 34


def test_slots_of_the_templates_ask_for_known_roles():
    from spacy_deid.synth.identity import ROLES, base_of

    asked = {base_of(s.who) for lang in LANGS for t in whole(lang) for s in slots(t.nodes)}
    assert asked <= ROLES.keys()
