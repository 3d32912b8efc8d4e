"""Recovery expressions: their examples hold, and what identifies is none of them."""

import pytest

from spacy_deid.patterns.matcher import check_examples, recovery_matcher
from spacy_deid.patterns.rules import recovery_rules


def found(text, lang="en"):
    return [text[match.start : match.end] for match in recovery_matcher(lang).find(text)]


@pytest.mark.parametrize("lang", ["en", "es", "fi", "de"])
def test_the_examples_of_the_rules_hold(lang):
    rules = recovery_rules(lang)
    assert len(rules) > 30
    check_examples(rules, f"recovery/{lang}")


def test_every_rule_has_examples_and_counter_examples():
    assert [rule.id for rule in recovery_rules("en") if not rule.examples or not rule.counter_examples] == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("variant g.32913055A>G", "g.32913055A>G"),
        ("VARIANT G.32913055A>G", "G.32913055A>G"),
        ("NM_004006.2:c.4375C>T", "NM_004006.2:c.4375C>T"),
        ("p.(Trp24Cys)", "p.(Trp24Cys)"),
        ("BP 120/80", "120/80"),
        ("metoprolol 25 mg", "25 mg"),
        ("cada 8 h", "8 h"),
        ("PVR 3.2 Wood units", "3.2 Wood units"),
        ("stage pT2N0M0", "pT2N0M0"),
    ],
)
def test_findings_are_found(text, finding):
    assert finding in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "30 November 1938 in Eastbourne",
        "she will turn 67 in September",
        "que en 1995 ingresó",
        "cita 20/10 en traumatología",
        "alta el 6/5.",
        "aika 20.10. kirurgille",
        "paikka 2.",
        "08907 L’Hospitalet",
        "Ni1s-Göran",
    ],
)
def test_dates_codes_and_places_are_no_findings(text):
    assert found(text) == []
