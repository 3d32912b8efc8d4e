"""Constructions of notes that detectors got wrong once, decided by whole pipelines with the rules of the package."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from spacy.language import Language

import spacy_deid

CASES = tomllib.loads((Path(__file__).parents[1] / "data" / "constructions.toml").read_text(encoding="utf8"))
PLACES = dict.fromkeys(("CITY", "STATE", "ZIP", "LOCATION_OTHER"), "TERRITORY")
MARKED = re.compile(r"\[\[([A-Z_]+) (.+?)\]\]", re.DOTALL)


@cache
def pipeline(lang: str) -> Language:
    """A pipeline that ships, with the rules as they stand in the source."""
    nlp = spacy_deid.load(lang)
    nlp.get_pipe("deid_patterns").use_package_rules()
    return nlp


def read_marked(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The bare text, and the spans that are marked in it."""
    bare, spans, last = "", [], 0
    for match in MARKED.finditer(marked):
        bare += marked[last : match.start()]
        spans.append((len(bare), len(bare) + len(match[2]), match[1]))
        bare += match[2]
        last = match.end()
    return bare + marked[last:], spans


@pytest.mark.parametrize(("lang", "marked"), [(lang, marked) for lang, cases in CASES.items() for marked in cases])
def test_construction_is_found_with_its_labels_and_nothing_else(lang, marked):
    text, expected = read_marked(marked)
    doc = pipeline(lang)(text)
    found = [(ent.start_char, ent.end_char, PLACES.get(ent.label_, ent.label_)) for ent in doc.ents]
    assert [(text[start:end], label) for start, end, label in found] == [
        (text[s:e], label) for s, e, label in expected
    ]
    assert found == expected
