"""Every rule that ships does on its own examples what it says, and knows its place."""

import pytest

from spacy_deid.patterns import Rule, RuleMatcher, check_examples, parse_example, resource_rules, rule_languages

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
