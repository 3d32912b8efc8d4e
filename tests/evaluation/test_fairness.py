"""Name-swap fairness: contexts, names and figures."""

from random import Random

import numpy as np
import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.fairness import (
    AXES,
    Context,
    Pool,
    Swap,
    blend,
    compare,
    count_found,
    draw_swaps,
    fill,
    format_fairness,
    load_contexts,
    load_pools,
    make_rows,
    measure,
    parse_contexts,
)
from spacy_deid.lang import all_languages
from spacy_deid.lang.inflection import inflect


def swap(pool="spanish", axis="origin", sex="female", context=0):
    note = AnnotatedText("1", "Ana Vega, y Ana.", (Entity(0, 8, "PATIENT"), Entity(12, 15, "PATIENT")))
    return Swap(context, axis, pool, sex, note)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], (0, 2)),
        ([Entity(0, 8, "PATIENT")], (1, 2)),
        ([Entity(0, 7, "PATIENT"), Entity(12, 15, "PATIENT")], (1, 2)),
        ([Entity(0, 3, "CITY"), Entity(4, 8, "DATE"), Entity(10, 16, "PATIENT")], (2, 2)),
    ],
)
def test_a_mention_is_found_if_no_letter_of_it_is_left_whatever_the_label(found, expected):
    assert count_found(swap(), found) == expected


def test_the_blank_within_a_name_need_not_be_covered():
    assert count_found(swap(), [Entity(0, 3, "PATIENT"), Entity(4, 8, "PATIENT")]) == (1, 2)


def counts(*found, mentions=10):
    return np.array([[n, mentions] for n in found], dtype=np.int64)


def test_groups_are_compared_with_all_and_with_each_other():
    result = compare({"a": counts(10, 10), "b": counts(10, 5), "c": counts(10, 8)}, 200, 0)
    assert result["groups"]["a"]["recall"]["value"] == 1.0
    assert result["groups"]["b"]["difference"]["value"] == pytest.approx(15 / 20 - 53 / 60)
    assert len(result["pairs"]) == 3
    assert (result["largest"]["higher"], result["largest"]["lower"]) == ("a", "b")
    assert result["largest"]["difference"]["value"] == pytest.approx(0.25)
    low, high = result["largest"]["difference"]["ci"]
    assert low <= 0.25 <= high


def test_the_interval_is_of_pairs_a_difference_that_all_contexts_have_has_no_width():
    result = compare({"a": counts(10, 6, 3), "b": counts(9, 5, 2)}, 200, 0)
    low, high = result["largest"]["difference"]["ci"]
    assert low == pytest.approx(0.1)
    assert high == pytest.approx(0.1)


def test_the_interval_of_the_largest_difference_is_that_of_the_largest_and_not_of_one_pair():
    table = {"a": counts(10, 0, 5), "b": counts(0, 10, 5), "c": counts(5, 5, 5)}
    result = compare(table, 500, 0)
    assert result["largest"]["difference"]["value"] == 0
    low, high = result["largest"]["difference"]["ci"]
    assert low >= 0
    assert high == pytest.approx(1)
    assert min(pair["difference"]["ci"][0] for pair in result["pairs"]) < 0


def test_sexes_are_compared_on_the_names_of_the_origin_groups():
    results = [
        (swap(pool, axis, sex, context), (2 if sex == "female" else 1, 2))
        for axis, pool in (("origin", "spanish"), ("origin", "chinese"), ("decade", "1930s"), ("decade", "2010s"))
        for sex in ("female", "male")
        for context in (0, 1)
    ]
    result = measure(results, 2, bootstrap=50)
    assert set(result) == set(AXES)
    assert result["sex"]["groups"]["female"]["mentions"] == 8
    assert result["sex"]["largest"]["difference"]["value"] == pytest.approx(0.5)
    assert result["origin"]["largest"]["difference"]["value"] == 0


def test_rows_have_the_target_and_the_table_every_group():
    groups = {"a": counts(10, 9), "b": counts(9, 9)}
    result = {axis: compare(groups, 50, 0) for axis in AXES}
    rows = make_rows(result, lang="es", names="listed", n=2, seed=1, command="c", date="2026-01-01")
    assert rows[0].name == "largest recall difference between two origin groups"
    assert (rows[0].target, rows[0].better, rows[0].met) == (0.01, "lower", False)
    assert len({(row.name, row.split) for row in rows if "largest" in row.name}) == 9
    table = format_fairness(result)
    assert all(kind in table for kind in AXES.values())
    assert "largest difference: +0.0500" in table


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


NAME = "names/origins.toml"
ORIGINS = {language.code: language.read_toml(NAME) for language in all_languages(NAME)}
LISTS = [
    (lang, kind, group, field)
    for lang, kinds in ORIGINS.items()
    for kind, groups in kinds.items()
    for group, fields in groups.items()
    for field in fields
]
LEAST = {("groups", "female"): 50, ("groups", "male"): 50, ("groups", "surname"): 80}


def test_each_language_has_groups_and_the_same_decades():
    assert set(ORIGINS) == {"es", "en", "fi"}
    assert all(len(kinds["groups"]) >= 7 for kinds in ORIGINS.values())
    assert {tuple(kinds["decades"]) for kinds in ORIGINS.values()} == {("1930s", "1960s", "1990s", "2010s")}


def test_each_group_has_given_names_per_sex_and_surnames_and_each_decade_given_names():
    for kinds in ORIGINS.values():
        assert all(set(group) == {"female", "male", "surname"} for group in kinds["groups"].values())
        assert all(set(decade) == {"female", "male"} for decade in kinds["decades"].values())


@pytest.mark.parametrize(("lang", "kind", "group", "field"), LISTS)
def test_a_list_is_long_enough_and_repeats_no_name(lang, kind, group, field):
    names = ORIGINS[lang][kind][group][field]
    assert len(names) >= LEAST.get((kind, field), 30)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("lang", "kind", "group", "field"), LISTS)
def test_a_name_is_capitalised_and_made_of_letters(lang, kind, group, field):
    for name in ORIGINS[lang][kind][group][field]:
        assert name[0].isupper()
        assert name == name.strip()
        assert all(part.isalpha() for part in name.replace("-", " ").split(" "))
