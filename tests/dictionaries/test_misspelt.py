"""Tests of misspelt terms of an institution."""

from random import Random

import numpy as np
import pytest
from rapidfuzz.distance import OSA

from spacy_deid.dictionaries.institution import WordHashes
from spacy_deid.dictionaries.misspelt import correct
from spacy_deid.dictionaries.normalise import code_points, normalise
from spacy_deid.dictionaries.search import search_note
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

TERMS = [
    LocalEntry("Hospital Villaseca Roca", "HOSPITAL", "clinics.name"),
    LocalEntry("Olalla Quintanar", "CLINICIAN", "staff.name"),
    LocalEntry("Quintanar, Olalla", "CLINICIAN", "staff.name"),
    LocalEntry("Quintanar", "CLINICIAN", "staff.name"),
    LocalEntry("O. Quintanar", "CLINICIAN", "staff.name"),
    LocalEntry("Rosa Quintero", "CLINICIAN", "staff.name", "name"),
]
WORDS = frozenset("visto en el por la consulta hoy hospital rosa".split())


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "local"
    with StoreWriter(folder) as writer:
        writer.add_institution(TERMS)
        writer.commit({})
    return LocalStore.open(folder)


def _find(store, text, fuzzy=True):
    found = search_note(store, None, text, normalise(text), WORDS.__contains__ if fuzzy else None)
    return [(text[m.start : m.end], m.label, m.rule) for m in found]


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("Hopsital Villaseca Roca", "clinics.name~"),
        ("Hospital Vilaseca Roca", "clinics.name~"),
        ("Hospital Villaseca Rocca", "clinics.name~"),
        ("HOSPITAL VILLASECCA ROCA", "clinics.name~"),
        ("Hospital\nVillaesca Roca", "clinics.name~"),
        ("Olalla Quintsnar", "staff.name~"),
        ("Olala Quintanar", "staff.name~"),
        ("Quintanra, Olalla", "staff.name~"),
    ],
)
def test_a_term_with_one_misspelt_word_is_found_whole(store, written, rule):
    found = _find(store, f"Visto en consulta por {written} hoy.")
    assert (written, "HOSPITAL" if "clinics" in rule else "CLINICIAN", rule) in found


@pytest.mark.parametrize(
    "text",
    [
        "Visto hoy por Quintsnar.",  # a single word
        "Visto por O. Quintsnar hoy.",  # an initial is no evidence
        "Visto por Rosa Quintera hoy.",  # the term has a condition
        "Visto por Olalla Quinsnar hoy.",  # two errors
        "Visto por Olalla Auintanar hoy.",  # the first letter
        "Visto en el Hospital Villaseca hoy.",
        "visto por olalla quintsnar Hoy.",
    ],
)
def test_what_is_no_sufficient_evidence_is_not_found(store, text):
    assert all(not rule.endswith("~") for _, _, rule in _find(store, text))


def test_nothing_misspelt_is_found_without_fuzzy(store):
    assert _find(store, "Visto por Olalla Quintsnar hoy.", fuzzy=False) == []


def test_misspelt_terms_of_the_base_are_found(store, tmp_path):
    with StoreWriter(tmp_path / "local", base=store) as writer:
        writer.add_institution([LocalEntry("Clínica Peñafiel Alta", "HOSPITAL", "clinics.name")])
        writer.commit({})
    both = LocalStore.open(tmp_path / "local")
    found = _find(both, "Visto en Clínica Peñafile Alta por Olalla Quintsnar hoy.")
    assert [text for text, _, _ in found] == ["Clínica Peñafile Alta", "Olalla Quintsnar"]


def test_the_hashes_are_those_of_all_words_at_distance_one_with_the_same_first_letter():
    rng, words = Random(1), ["abba", "roca", "villa", "ab"]
    made = correct(words)
    hashed = {(int(owner), int(value)) for owner, value in zip(made.owners, made.hashes, strict=True)}
    lengths = {int(value): int(length) for value, length in zip(made.hashes, made.lengths, strict=True)}
    for i, word in enumerate(words):
        for _ in range(300):
            at, letter = rng.randrange(1, len(word) + 1), rng.choice("abcdefghijklmnopqrstuvwxyz")
            for other in (
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 :],
            ):
                if OSA.distance(word, other) != 1:
                    continue
                codes = code_points(other)
                value = int(WordHashes(codes).hash(np.array([0]), np.array([len(other)]))[0])
                assert (i, value) in hashed
                assert lengths[value] == len(other)
