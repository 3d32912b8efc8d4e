"""The strategy `self_decoded`: which proposals of a model are drawn or refused, and what is left to `consistent`.

The model is a table of proposals, so that the expected results are known.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import find_mentions
from spacy_deid.surrogates.self_decoded import SelfDecoded
from spacy_deid.surrogates.style import replace_mentions

KEY, OTHER = (ProjectKey(bytes([i]) * 32).patient("7") for i in (1, 2))
STARTS = [(start, 1.0) for start in ("Mar", "Bel", "Tor", "Vil", "Gan", "Lor")]
ENDS = [(end, 1.0) for end in ("ana", "ero", "inda", "oso", "uzo", "ibel")]


def propose(names):
    """Propose two subwords for each word."""
    return [[(*found.span(), [STARTS, ENDS]) for found in re.finditer(r"\w+", name)] for name in names]


def strategy(starts=STARTS, ends=ENDS, **settings):
    def table(names):
        return [[(start, end, [starts, ends]) for start, end, _ in words] for words in propose(names)]

    return SelfDecoded(table, "es", **settings)


def release(text, names, chosen=None, key=KEY, lang="es", label="PATIENT"):
    spans = [(found.start(), found.end(), label) for found in re.finditer("|".join(names), text)]
    assert spans
    made = replace_mentions(find_mentions(text, spans), key, lang, {label: chosen or strategy()})
    return [replacement.text for replacement in made]


def is_made(text):
    return all(any(fold(word) == fold(a + b) for a, _ in STARTS for b, _ in ENDS) for word in re.findall(r"\w+", text))


def test_every_word_becomes_one_of_the_proposed_ones():
    (made,) = release("Acude Ana Zumalabe Ruiz.", ["Ana Zumalabe Ruiz"])
    assert is_made(made)
    assert len(made.split()) == 3


def test_the_mentions_of_a_person_follow_the_fullest_one_in_their_own_spelling():
    names = ["Zumalabe, Ana", "ANA ZUMALABE", r"A\. Zumalabe", "zumalabe"]
    first, upper, initial, lower = release("Zumalabe, Ana; ANA ZUMALABE; A. Zumalabe; zumalabe", names)
    surname, given_name = first.split(", ")
    assert upper == f"{given_name} {surname}".upper()
    assert initial == f"{given_name[0]}. {surname}"
    assert lower == surname.lower()


def test_another_key_draws_other_names_and_the_same_key_the_same():
    names = ["Ana Zumalabe Ruiz"]
    assert release(names[0], names) == release(names[0], names)
    assert release(names[0], names) != release(names[0], names, key=OTHER)


def test_particles_are_kept():
    (made,) = release("Ana de la Zumalabe", ["Ana de la Zumalabe"])
    assert re.fullmatch(r"\w+ de la \w+", made)


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        ([("Zuma", 1.0)], [("labe", 1.0)]),  # the same
        ([("ZÚMA", 1.0)], [("labe", 1.0)]),  # the same, folded
        ([("A", 1.0)], [("l", 1.0)]),  # too short
        ([("Brt", 1.0)], [("hk", 1.0)]),  # cannot be said
        ([("Put", 1.0)], [("a", 1.0)]),  # offensive
    ],
)
def test_words_that_must_not_be_released_are_left_to_consistent(starts, ends):
    (made,) = release("Zumalabe", ["Zumalabe"], strategy(starts, ends))
    assert made == release("Zumalabe", ["Zumalabe"], lambda mentions, setting: [0])[0]
    assert fold(made) not in {"zumalabe", "puta", "al", "brthk"}


def test_a_name_without_proposals_is_left_to_consistent():
    nothing = SelfDecoded(lambda names: [[] for _ in names], "es")
    assert release("Ana Ruiz", ["Ana Ruiz"], nothing) == release("Ana Ruiz", ["Ana Ruiz"], lambda m, s: [0])


def test_another_language_is_left_to_consistent():
    assert not is_made(release("Juhani Virtanen", ["Juhani Virtanen"], lang="fi")[0])


def test_an_inflected_mention_leaves_its_person_to_consistent():
    chosen = SelfDecoded(propose, "fi")
    names = ["Heikki Virtanen", "Virtasen"]
    made = release("Heikki Virtanen. Virtasen vaimo.", names, chosen, lang="fi")
    assert not any(is_made(text) for text in made[:1]) or is_made(made[1])
    assert not re.search("irta[ns]", " ".join(made))


def test_two_persons_of_a_note_share_no_word():
    names = ["Ana Zumalabe", "Luis Ferrándiz"]
    first, second = release("Ana Zumalabe y Luis Ferrándiz", names)
    assert not set(first.split()) & set(second.split())


def test_a_name_in_the_context_of_a_mention_is_not_drawn():
    ends = [("ana", 1.0)]
    for text in ("Zumalabe, hijo de Mariana", "Zumalabe"):
        only = strategy([("Mari", 1.0)], ends)
        assert ("Mariana" in release(text, ["Zumalabe"], only)) == ("Mariana" not in text)


def test_labels_of_other_values_are_left_to_consistent():
    made = release("vive en Soria", ["Soria"], label="CITY")
    assert made == release("vive en Soria", ["Soria"], lambda mentions, setting: [0], label="CITY")


@given(st.text(max_size=40))
def test_no_name_is_kept(name):
    taken = set()
    made = strategy().replace_names([name], KEY, taken)
    if made is not None:
        words = {fold(word) for word in re.findall(r"[^\W\d_]+", name) if not word.islower()}
        assert not words & {fold(word) for word in re.findall(r"[^\W\d_]+", made[0])}


def test_a_repr_shows_no_name():
    assert repr(strategy()) == "SelfDecoded('es')"
