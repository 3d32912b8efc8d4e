"""Every rule that ships does on its own examples what it says, and knows its place."""

from importlib.resources import files

import pytest

from spacy_deid.lang import get_language
from spacy_deid.patterns import Rule, RuleMatcher, check_examples, parse_example, resource_rules, rule_languages
from spacy_deid.patterns.rules import parse_rules

RULES = [rule for lang in rule_languages() for rule in resource_rules(lang)]


def test_the_languages_of_the_package_have_rules() -> None:
    assert {"common", "es", "en", "fi"} <= set(rule_languages())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_holds_on_its_examples(rule: Rule) -> None:
    assert rule.examples
    assert rule.counter_examples
    check_examples([rule], "shipped")


@pytest.mark.parametrize("lang", rule_languages())
def test_examples_are_still_covered_when_all_rules_run_together(lang: str) -> None:
    matcher = RuleMatcher([rule for name in dict.fromkeys(("common", lang)) for rule in resource_rules(name)])
    for rule in resource_rules(lang):
        for example in rule.examples:
            text, spans = parse_example(example)
            covered = {i for match in matcher.find(text) for i in range(match.start, match.end)}
            assert covered.issuperset(i for start, end in spans for i in range(start, end)), rule.id


@pytest.mark.parametrize("lang", [lang for lang in rule_languages() if lang != "common"])
@pytest.mark.parametrize(
    "label",
    "PATIENT CLINICIAN PERSON RELATIVE DATE AGE SEX PHONE FAX NATIONAL_ID MRN ENCOUNTER_ID HEALTH_PLAN ACCOUNT "
    "LICENSE EMPLOYEE_ID VEHICLE DEVICE ROOM USERNAME STREET ZIP STATE COUNTRY HOSPITAL ORGANIZATION".split(),
)
def test_every_language_finds_every_kind(lang: str, label: str) -> None:
    assert label in RuleMatcher(resource_rules(lang)).labels


@pytest.mark.parametrize("label", ["EMAIL", "URL", "IP_ADDRESS", "ACCOUNT", "PHONE", "DATE", "VEHICLE"])
def test_every_language_shares_the_common_kinds(label: str) -> None:
    assert label in RuleMatcher(resource_rules("common")).labels


@pytest.mark.parametrize("lang", [lang for lang in rule_languages() if lang != "common"])
def test_rules_that_ship_pass_the_checks_of_a_rules_file(lang: str) -> None:
    text = get_language(lang).read_text("patterns.toml")
    assert parse_rules(text, f"{lang}.toml") == resource_rules(lang)


def test_the_common_rules_pass_the_checks_of_a_rules_file() -> None:
    text = (files("spacy_deid") / "resources" / "patterns" / "common.toml").read_text(encoding="utf8")
    assert parse_rules(text, "common.toml") == resource_rules("common")
