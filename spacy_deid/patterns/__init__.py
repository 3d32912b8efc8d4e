"""Rules for identifiers that have a form: rules files, check digits, dates, and the matcher. Knows no component."""

from .matcher import Match, RuleMatcher, check_examples
from .rules import COMMON, LANGUAGES, Context, Rule, check_unique, parse_example, read_rules, resource_rules
from .validators import VALIDATORS, get_validator

__all__ = [
    "COMMON",
    "LANGUAGES",
    "VALIDATORS",
    "Context",
    "Match",
    "Rule",
    "RuleMatcher",
    "check_examples",
    "check_unique",
    "get_validator",
    "parse_example",
    "read_rules",
    "resource_rules",
]
