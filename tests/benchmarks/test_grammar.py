"""The grammar of surrogates, measured: what is asked, and what judges. All persons are invented."""

from itertools import islice
from random import Random

import pytest

from benchmarks import grammar
from spacy_deid.surrogates.keys import ProjectKey


def asked(n=40):
    return list(islice(grammar.spanish(Random(3)), n))


def test_a_name_is_judged_by_the_sex_that_bears_it_more_often():
    assert grammar.of_sex("female")("Carmen Ruiz Soto")
    assert not grammar.of_sex("male")("Carmen Ruiz Soto")
    assert grammar.of_sex("male")("Josefi Ruiz Soto") is None


def test_particles_have_to_be_those_of_the_name():
    right = grammar.surnames_are(1)
    assert right("de la Torre")
    assert right("García")
    assert not right("del Torre")
    assert not right("de la")
    assert not right("García Ruiz")


def test_surnames_are_counted_after_the_given_name():
    assert grammar.after_given("Ana de la Torre Ruiz")
    assert not grammar.after_given("Ana de las Torre Ruiz")


def test_a_given_name_with_particles_is_a_womans():
    assert grammar.double_given("María del Carmen Ruiz")
    assert grammar.double_given("Ana de la Torre Ruiz")
    assert not grammar.double_given("José del Carmen Ruiz")
    assert not grammar.double_given("María de Carmen de Ruiz")


def test_words_are_cut_into_listed_phrases():
    assert grammar.parses(["a", "b", "c"], {"a", "b", "b c", "c"}) == {2, 3}
    assert grammar.parses(["a", "d"], {"a"}) == set()


def test_the_same_seed_asks_the_same():
    assert [a[:4] for a in asked()] == [a[:4] for a in asked()]
    assert {a.kind.split(",")[0] for a in asked()} == {"sex", "particles"}
    assert not [a for a in asked() if a.text in repr(a)]


def test_originals_of_the_lists_are_right_themselves():
    verdicts = [(a.kind, a.right(a.text)) for a in asked(80)]
    assert sum(verdict is False for _, verdict in verdicts) <= 2


def test_surrogates_come_without_what_stands_before():
    key = ProjectKey(bytes(32))
    first = asked(1)[0]
    made = grammar.replaced(first, key, "1", "es")
    assert made
    assert made != first.text


def test_voikko_tells_cases():
    pytest.importorskip("libvoikko")
    try:
        grammar.voikko()
    except Exception:
        pytest.skip("Voikko or its dictionary is not installed")
    assert grammar.reads("Virtasen", "omanto", False)
    assert not grammar.reads("Virtasen", "osanto", False)
    assert grammar.reads("Tampereella", "sisaolento", True)
    assert grammar.reads("qzwx", "omanto", False) is None
