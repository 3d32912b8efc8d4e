"""The mentions of a note, and which of them name the same person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.mention import (
    AROUND,
    Mention,
    find_mentions,
    number_entities,
    number_mentions,
    number_persons,
)


def test_spellings_of_one_value_fold_to_one():
    assert fold("JOSÉ  María\nPeña") == fold("jose maria pena") == "jose maria pena"


def test_values_are_numbered_by_first_appearance():
    assert number_mentions(["Madrid", "Soria", "MADRID", "León", "leon"]) == [1, 2, 1, 3, 3]


@pytest.mark.parametrize(
    ("mentions", "numbers"),
    [
        (["Ana García Luna", "García Luna", "Ana", "Luis Mas"], [1, 1, 1, 2]),
        (["Ana", "García Luna", "Ana García Luna"], [1, 1, 1]),
        (["Ana García", "Luis García", "García", "Ana", "García"], [1, 2, 2, 1, 1]),
        (["García", "Ana García", "Luis García"], [1, 1, 2]),
        (["GARCÍA LUNA", "Dra. Garcia"], [1, 1]),
        (["Ana García Luna", "A. García"], [1, 1]),
        (["Ana García Luna", "A. G. L."], [1, 1]),
        (["Dr.", "Dr. Mas"], [1, 2]),
        (["Ana", "Ana"], [1, 1]),
        (["", "...", " "], [1, 2, 1]),
    ],
    ids=[
        "parts",
        "before",
        "last one",
        "first fits",
        "title",
        "initial",
        "initials",
        "bare title",
        "same",
        "no words",
    ],
)
def test_a_mention_belongs_to_the_fuller_name_that_has_its_words(mentions, numbers):
    assert number_persons(mentions) == numbers


NAMES = st.lists(
    st.lists(st.sampled_from(["Ana", "García", "Luis", "Mas", "A.", "Dr.", "L."]), min_size=1, max_size=3).map(
        " ".join
    ),
    max_size=12,
)


@given(NAMES)
def test_numbers_count_up_from_one_in_the_order_of_the_text(mentions):
    numbers = number_persons(mentions)
    assert len(numbers) == len(mentions)
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))


@given(NAMES)
def test_persons_who_share_no_word_are_never_one(mentions):
    numbers = number_persons(mentions)
    for name, number in zip(mentions, numbers, strict=True):
        same = " ".join(m for m, n in zip(mentions, numbers, strict=True) if n == number and m != name)
        letters = {word[0] for word in fold(same).split()}
        assert not same or letters & {word[0] for word in fold(name).split()}


def test_a_list_of_many_persons_is_numbered_without_comparing_every_pair():
    mentions = [f"Nombre{i} Apellido{i % 997}" for i in range(20_000)]
    assert number_persons(mentions) == list(range(1, 20_001))


def test_a_mention_has_its_context():
    (mention,) = find_mentions("a" * 100 + "Soria" + "b" * 100, [(100, 105, "CITY")])
    assert mention == Mention("Soria", "CITY", "a" * AROUND, "b" * AROUND)


def test_a_mention_at_the_edge_of_a_note_has_less_context():
    (mention,) = find_mentions("Soria.", [(0, 5, "CITY")])
    assert mention == Mention("Soria", "CITY", "", ".")


def test_entities_are_numbered_by_person_and_by_value():
    labels = ["PATIENT", "CITY", "PERSON", "CITY", "STATE", "PATIENT", "CITY"]
    texts = ["Ana Ruiz Gil", "Soria", "Ruiz", "SORIA", "Soria", "Luis Mas", "Lugo"]
    numbers = number_entities([Mention(text, label) for text, label in zip(texts, labels, strict=True)])
    assert numbers[0] == numbers[2] != numbers[5]
    assert numbers[1] == numbers[3] != numbers[6]
    assert len(set(numbers)) == 5
