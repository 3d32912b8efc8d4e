"""Surrogates of names stay in the language community of their originals."""

import pytest

from spacy_deid.lang import get_language
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.communities import read_communities
from spacy_deid.surrogates.people.name_lists import NAME_TYPES, load_names

PROJECT = ProjectKey(bytes(range(32)))


def replace(text: str, lang: str, patient: str = "1") -> str:
    return replace_persons([Mention(text, "PATIENT")], PROJECT.patient(patient), lang, lambda value: False)[0] or ""


@pytest.mark.parametrize(
    ("text", "lang", "community"),
    [
        ("Angharad Treharne", "en", "welsh"),
        ("Wiremu Parata", "en", "maori"),
        ("Dimitrios Papadopoulos", "en", "greek"),
        ("Itziar Garmendia", "es", "basque"),
    ],
)
def test_name_becomes_one_of_its_community(text: str, lang: str, community: str) -> None:
    data = get_language(lang).read_toml("names/communities.toml")
    known = {fold(name) for names in data[community].values() for name in names.split()}
    for patient in "12345":
        assert set(fold(replace(text, lang, patient)).split()) <= known


@pytest.mark.parametrize("lang", ["en", "es"])
def test_communities_are_disjoint_and_large_enough(lang: str) -> None:
    data = get_language(lang).read_toml("names/communities.toml")
    for name_type in NAME_TYPES:
        found = read_communities(data, name_type)
        names = [fold(name) for listed in found.values() for name in listed]
        assert len(names) == len(set(names))
        assert min(map(len, found.values())) >= 20


def test_unlisted_name_is_grouped_by_its_letters() -> None:
    names = load_names("en")
    assert names.group("surname", "papathanasopoulos") == "greek"
    assert names.group("surname", "smith") == ""


def test_language_without_communities_has_none() -> None:
    names = load_names("fi")
    assert not any(names.communities.values())
    assert names.group("surname", "xyzzyx") == ""
