"""Every rule that ships does on its own examples what it says, and knows its place."""

from importlib.resources import files

import pytest

from spacy_deid.lang import get_language
from spacy_deid.patterns import RuleMatcher, check_examples, parse_example, resource_rules, rule_languages
from spacy_deid.patterns.rules import parse_rules


def test_the_languages_of_the_package_have_rules() -> None:
    assert {"common", "es", "en", "fi"} <= set(rule_languages())


@pytest.mark.parametrize("lang", rule_languages())
def test_rules_hold_on_their_examples(lang: str) -> None:
    rules = resource_rules(lang)
    assert rules
    assert [rule.id for rule in rules if not rule.examples or not rule.counter_examples] == []
    for rule in rules:
        check_examples([rule], "shipped")


@pytest.mark.parametrize("lang", rule_languages())
def test_examples_are_still_covered_when_all_rules_run_together(lang: str) -> None:
    matcher = RuleMatcher([rule for name in dict.fromkeys(("common", lang)) for rule in resource_rules(name)])
    for rule in resource_rules(lang):
        for example in rule.examples:
            text, spans = parse_example(example)
            covered = {i for match in matcher.find(text) for i in range(match.start, match.end)}
            assert covered.issuperset(i for start, end in spans for i in range(start, end)), rule.id


KINDS = set(
    "PATIENT CLINICIAN PERSON RELATIVE DATE AGE SEX PHONE FAX NATIONAL_ID MRN ENCOUNTER_ID HEALTH_PLAN ACCOUNT "
    "LICENSE EMPLOYEE_ID VEHICLE DEVICE ROOM USERNAME STREET ZIP STATE COUNTRY HOSPITAL ORGANIZATION".split()
)


@pytest.mark.parametrize("lang", [lang for lang in rule_languages() if lang != "common"])
def test_every_language_finds_every_kind(lang: str) -> None:
    assert KINDS - set(RuleMatcher(resource_rules(lang)).labels) == set()


def test_every_language_shares_the_common_kinds() -> None:
    common = {"EMAIL", "URL", "IP_ADDRESS", "ACCOUNT", "PHONE", "DATE", "VEHICLE"}
    assert common - set(RuleMatcher(resource_rules("common")).labels) == set()


@pytest.mark.parametrize("lang", [lang for lang in rule_languages() if lang != "common"])
def test_rules_that_ship_pass_the_checks_of_a_rules_file(lang: str) -> None:
    text = get_language(lang).read_text("patterns.toml")
    assert parse_rules(text, f"{lang}.toml") == resource_rules(lang)


def test_the_common_rules_pass_the_checks_of_a_rules_file() -> None:
    text = (files("spacy_deid") / "resources" / "patterns" / "common.toml").read_text(encoding="utf8")
    assert parse_rules(text, "common.toml") == resource_rules("common")
