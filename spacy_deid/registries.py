"""Adds registries to spaCy for the parts of components that a config chooses by name, such as styles and scores.

A part without settings is a plain string. A part with settings is a config block of a registered function:

    [components.deid_surprisal]
    masking = "same_lemma"

    [components.deid_surprisal.mode]
    @deid_modes = "spacy_deid.spread_mode.v1"
    gap = 6

Another package adds parts of its own with the same decorator (``@registry.deid_modes("ward.random.v1")``) and an entry
point in the group ``spacy_deid_modes``. A part that needs no settings can then be named by a plain string as well.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import catalogue
from spacy.util import registry as spacy_registry

from .errors import ConfigError, Errors

REGISTRIES = {
    "deid_styles": "how replaced spans are written (deid_surrogate)",
    "deid_strategies": "which surrogate a mention gets (style 'surrogate')",
    "deid_lemmatizers": "which words are forms of the same word (deid_surprisal)",
    "deid_modes": "how many words are masked at once (deid_surprisal)",
    "deid_masking": "which words are masked together (deid_surprisal)",
    "deid_candidates": "which words are scored (deid_surprisal)",
    "deid_scores": "how a word's score is computed (deid_surprisal)",
}
"""Name of a registry → what the parts in it decide, and the component that uses them."""

registry: Any = spacy_registry
"""spaCy's registry, to which the registries above are added."""

for _name in REGISTRIES:
    if not hasattr(spacy_registry, _name):
        setattr(spacy_registry, _name, catalogue.create("spacy", _name, entry_points=True))


def choose_part(kind: str, value: Any, plain: Mapping[str, Callable[[], Any]], *, setting: str) -> Any:
    """Return the part of a component that the value of a setting refers to.

    kind (str): the registry, such as "deid_modes".
    value (Any): a plain name, the name of a registered function without required arguments, or the part itself, which
        is returned unchanged. spaCy has already resolved config blocks.
    plain (Mapping[str, Callable]): plain name → function without arguments that makes the part.
    setting (str): name of the setting, for error messages.
    RETURNS (Any): the part.
    RAISES: ConfigError for an unknown name (D697) or a registered function that needs settings (D698).
    """
    if not isinstance(value, str):
        return value
    if value in plain:
        return plain[value]()
    functions = getattr(registry, kind)
    if value not in functions:
        known = ", ".join([*plain, *sorted(functions.get_all())])
        raise ConfigError(Errors.D697.format(setting=setting, name=value, known=known, registry=kind))
    make = functions.get(value)
    arguments = inspect.signature(make).parameters.values()
    if any(a.default is a.empty and a.kind not in (a.VAR_POSITIONAL, a.VAR_KEYWORD) for a in arguments):
        raise ConfigError(Errors.D698.format(setting=setting, name=value, registry=kind))
    return make()
