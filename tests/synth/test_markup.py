"""The template language."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import Entity
from spacy_deid.synth.markup import Writer, parse, render, slots


def written(source, seed=0, sex="female"):
    writer = Writer()
    render(
        parse(source, "test"),
        writer,
        lambda slot, writer: writer.write(slot.what, slot.label),
        lambda who: sex,
        Random(seed),
    )
    return writer.finish("note")


def test_a_slot_carries_its_label_and_nothing_else_does():
    note = written("Visto por {clinician.full@CLINICIAN}, alta.")
    assert note.text == "Visto por full, alta."
    assert note.entities == (Entity(10, 14, "CLINICIAN"),)


def test_o_writes_a_slot_without_a_label():
    assert written("{decoy.full@O}").entities == ()


def test_text_with_a_label_is_one_entity_whatever_is_inside():
    note = written("su <<RELATIVE:tía de {relative.age@AGE}>>.")
    assert note.entities == (Entity(3, 13, "RELATIVE"),)


@pytest.mark.parametrize(("sex", "text"), [("male", "ingresado"), ("female", "ingresada")])
def test_agreement_follows_the_sex(sex, text):
    assert written("{patient.sex?ingresado|ingresada}", sex=sex).text == text


def test_choices_nest_and_may_be_empty():
    texts = {written("a[[b[[1|2]]|]]c", seed).text for seed in range(40)}
    assert texts == {"ab1c", "ab2c", "ac"}


def test_a_bar_outside_a_choice_is_a_bar():
    assert written("| a | b |").text == "| a | b |"


def test_blanks_at_the_edges_of_a_value_stay_outside_the_entity():
    writer = Writer()
    writer.write(" Ana ", "PATIENT")
    assert writer.finish("note").entities == (Entity(1, 4, "PATIENT"),)


@pytest.mark.parametrize(
    "source", ["[[a", "a]]", "{a}", "{", "<<RELATIVE:a", "a>>", "{patient.full@NOBODY}", "<<NO:a>>"]
)
def test_a_bad_template_is_refused(source):
    with pytest.raises(ConfigError, match=r"template file\.3|unknown label"):
        parse(source, "file.3")


def test_slots_of_every_branch_are_told():
    found = {(slot.who, slot.what) for slot in slots(parse("{a.b}[[{c.d}|<<AGE:{e.f}>>]]", "test"))}
    assert found == {("a", "b"), ("c", "d"), ("e", "f")}


@given(st.text(alphabet=st.characters(exclude_characters="{}[]<>|"), max_size=60))
def test_plain_text_stays_as_it_is(text):
    assert written(text).text == text
