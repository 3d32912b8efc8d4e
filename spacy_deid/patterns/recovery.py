"""Recovery expressions: rules files that describe findings which look like identifiers, and are none.

They have the form of other rules files, their examples and counter-examples too; the label of a rule means nothing.
"""

from functools import cache
from importlib.resources import files

from .matcher import RuleMatcher
from .rules import COMMON, Rule, parse_rules

__all__ = ["recovery_languages", "recovery_matcher", "recovery_rules"]

_FOLDER = files("spacy_deid") / "resources" / "recovery"


@cache
def recovery_languages() -> tuple[str, ...]:
    """The languages with recovery expressions of their own, beside those of all languages."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".toml") and name != f"{COMMON}.toml"))


def recovery_rules(lang: str) -> list[Rule]:
    """The recovery expressions for notes of a language: those of all languages, and its own.

    lang (str): language code; one without expressions of its own has the common ones.
    RETURNS (list[Rule]): in the order of the files.
    """
    sources = [COMMON, *([lang] if lang in recovery_languages() else [])]
    rules: list[Rule] = []
    for name in sources:
        path = _FOLDER / f"{name}.toml"
        rules += parse_rules(path.read_text(encoding="utf8"), f"recovery/{name}.toml")
    return rules


@cache
def recovery_matcher(lang: str) -> RuleMatcher:
    """The matcher of the expressions that ship, made once for each language.

    lang (str): language code.
    RETURNS (RuleMatcher): finds medical text.
    """
    return RuleMatcher(recovery_rules(lang))
