"""Names put into the same notes: contexts, pools and draws."""

from random import Random

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.evaluation.swaps import (
    Context,
    Pool,
    blend,
    draw_swaps,
    fill,
    load_contexts,
    load_pools,
    parse_contexts,
)
from spacy_deid.lang.inflection import inflect

LANGUAGES = ("es", "en", "fi")


def keep(text, case, kind):
    return text


def finnish(text, case, kind):
    return inflect(text, "fi", case, kind=kind)


def one(line, section="patient"):
    return parse_contexts(f"[{section}]\n{line}\n", "my.txt").contexts[0]


def quoted(note):
    return [note.text[e.start : e.end] for e in note.entities]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_language_has_forty_contexts_for_patients_relatives_and_clinicians(lang):
    contexts = load_contexts(lang).contexts
    assert len(contexts) >= 40
    assert {context.label for context in contexts} == {"PATIENT", "RELATIVE", "CLINICIAN"}
    assert len({context.source for context in contexts}) == len(contexts)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_groups_with_two_surnames_are_groups(lang):
    two = load_contexts(lang).two_surnames
    pools = load_pools(lang, two)
    assert two <= {pool.name for pool in pools if pool.axis == "origin"}
    assert {pool.axis for pool in pools} == {"origin", "decade"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_pool_and_sex_is_drawn_in_the_same_contexts(lang):
    contexts = load_contexts(lang)
    pools = load_pools(lang, contexts.two_surnames)
    swaps = list(draw_swaps(contexts.contexts, pools, 50, 1, finnish))
    assert len(swaps) == 50 * 2 * len(pools)
    used = {}
    for swap in swaps:
        used.setdefault((swap.pool, swap.sex), []).append((swap.context, len(swap.note.entities)))
    assert len(used) == 2 * len(pools)
    assert len(set(map(tuple, used.values()))) == 1
    assert not any("{" in swap.note.text for swap in swaps)


def test_the_same_seed_draws_the_same_notes_and_another_one_others():
    contexts = load_contexts("es")
    pools = load_pools("es", contexts.two_surnames)
    first, again, other = (list(draw_swaps(contexts.contexts, pools, 3, seed, keep)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_mention_is_an_entity_with_the_label_of_its_section():
    context = one(r"Vive con {sex?su marido|su mujer}, {full}.\n{given} llama a diario.", "relative")
    note = fill(context, "1", "Ana", "Vega Soto", "female", keep)
    assert note.text == "Vive con su mujer, Ana Vega Soto.\nAna llama a diario."
    assert quoted(note) == ["Ana Vega Soto", "Ana"]
    assert {entity.label for entity in note.entities} == {"RELATIVE"}


def test_letters_are_changed_by_filters():
    assert quoted(fill(one("{formal:upper} / {full:lower}"), "1", "Ana", "Vega", "female", keep)) == [
        "VEGA, ANA",
        "ana vega",
    ]


def test_a_case_is_asked_of_the_inflector():
    note = fill(one("{full:gen} vointi; {surname:all} ohje"), "1", "Anna", "Virtanen", "female", finnish)
    assert quoted(note) == ["Anna Virtasen", "Virtaselle"]


@pytest.mark.parametrize(
    "text",
    ["{full} before a section", "[patient]\nno slot here", "[patient]\n{full} and {nme}", "[doctor]\n{full}"],
)
def test_a_line_that_cannot_be_read_is_named_by_its_number(text):
    with pytest.raises(ConfigError, match=r"D371|my\.txt, line [12]") as caught:
        parse_contexts(text, "my.txt")
    assert "nme" not in str(caught.value)


def test_a_language_without_names_is_refused():
    with pytest.raises(ConfigError, match=r"'xx'.*en, es, fi"):
        load_contexts("xx")
    with pytest.raises(ConfigError, match="'xx'"):
        load_pools("xx", frozenset())


def test_unlisted_names_are_made_of_listed_ones_and_are_none_of_them():
    pool = Pool("origin", "one", {"female": ["Marjatta", "Kaarina"], "male": ["Antero", "Juhani"]}, ["Korhonen"], 1)
    context = Context("PATIENT", "{given} {surname} came")
    swaps = list(draw_swaps([context], [pool], 40, 1, lambda text, case, kind: text, unlisted=True))
    given = {swap.note.text[swap.note.entities[0].start : swap.note.entities[0].end] for swap in swaps}
    assert len(given - {"Marjatta", "Kaarina", "Antero", "Juhani"}) > 10
    assert all(name.isalpha() and name.istitle() and len(name) >= 4 for name in given)


def test_short_names_and_names_with_a_hyphen_are_not_blended():
    assert blend("Ana", "Marjatta", Random(1)) == "Ana"
    assert blend("Anna-Liisa", "Marjatta", Random(1)) == "Anna-Liisa"
