"""Recovery expressions: rules files that describe findings which look like identifiers, and are none.

They have the form of other rules files, their examples and counter-examples too; the label of a rule means nothing.
"""

from functools import cache
from importlib.resources import files

from ..lang import get_language, language_codes
from .matcher import RuleMatcher
from .rules import COMMON, Rule, parse_rules

__all__ = ["recovery_languages", "recovery_matcher", "recovery_rules"]


@cache
def recovery_languages() -> tuple[str, ...]:
    """The languages with recovery expressions of their own, beside those of all languages."""
    return tuple(language_codes("recovery.toml"))


def recovery_rules(lang: str) -> list[Rule]:
    """The recovery expressions for notes of a language: those of all languages, and its own.

    lang (str): language code; one without expressions of its own has the common ones.
    RETURNS (list[Rule]): in the order of the files.
    """
    common = (files("spacy_deid") / "resources" / "recovery" / "common.toml").read_text(encoding="utf8")
    own = get_language(lang).read_text("recovery.toml")
    rules = parse_rules(common, f"recovery/{COMMON}.toml")
    return rules + (parse_rules(own, f"recovery/{lang}.toml") if own else [])


@cache
def recovery_matcher(lang: str) -> RuleMatcher:
    """The matcher of the expressions that ship, made once for each language.

    lang (str): language code.
    RETURNS (RuleMatcher): finds medical text.
    """
    return RuleMatcher(recovery_rules(lang))
