"""The lists of names by origin and decade that ship: enough of them, as records spell them, without repeats."""

import pytest

from spacy_deid.lang import all_languages

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
