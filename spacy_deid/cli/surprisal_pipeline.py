"""The pipeline that the commands of ``spacy-deid surprisal`` score with, from their options."""

import inspect
import json
import sys
from dataclasses import dataclass
from typing import Any

import spacy
from spacy.language import Language

from ..errors import ConfigError, Errors
from ..evaluation.score_store import FACTORY
from ..masked_lm.modes import PLAIN_MODES
from ..masked_lm.scores import PLAIN_SCORES
from ..registries import registry

__all__ = ["ScoreOptions", "find_part", "make_blank", "make_pipeline", "name_parts"]

KINDS = {
    "mode": ("deid_modes", [*PLAIN_MODES]),
    "masking": ("deid_masking", ["none", "same_word", "same_lemma"]),
    "score": ("deid_scores", [*PLAIN_SCORES, "combined"]),
}
"""Option → registry, plain names."""
_PREFIX, _VERSION = "spacy_deid.", ".v1"


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """What scores the words; what is None is as the component has it.

    lang (str): language of the notes.
    model (Optional[str]): folder or name of a masked language model.
    mode, masking, score (Optional[str]): registered parts, by the short or the whole name.
    """

    lang: str
    model: str | None = None
    mode: str | None = None
    masking: str | None = None
    score: str | None = None


def make_pipeline(options: ScoreOptions, threshold: float | None = None) -> Language:
    """Make a pipeline with ``deid_surprisal`` alone, which takes notes of any length.

    options (ScoreOptions): what scores.
    threshold (Optional[float]): from what score on a word is found; None as the component has it.
    RETURNS (Language): the pipeline.
    RAISES: ConfigError for an unknown part (D837), or as the component.
    """
    nlp = make_blank(options.lang)
    config: dict[str, Any] = {"model": options.model, "threshold": threshold}
    for kind in KINDS:
        name = getattr(options, kind)
        config[kind] = find_part(kind, name, options.lang) if name else None
    nlp.add_pipe(FACTORY, config={key: value for key, value in config.items() if value is not None})
    return nlp


def make_blank(lang: str) -> Language:
    """Make a pipeline that cuts notes of any length into tokens, and no more.

    lang (str): language of the notes.
    RETURNS (Language): the pipeline.
    """
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.max_length = sys.maxsize
    return nlp


def name_parts(kind: str) -> list[str]:
    """List the names that an option accepts.

    kind (str): "mode", "masking" or "score".
    RETURNS (list[str]): plain names, and short names of registered parts: "spread" for "spacy_deid.spread_mode.v1".
    """
    end = f"_{kind}{_VERSION}"
    registered = [name for name in getattr(registry, KINDS[kind][0]).get_all() if name.endswith(end)]
    return sorted({*KINDS[kind][1], *(name.removeprefix(_PREFIX).removesuffix(end) for name in registered)})


def find_part(kind: str, name: str, lang: str) -> str | dict[str, Any]:
    """Convert the value of an option to a config value.

    kind (str): "mode", "masking" or "score".
    name (str): a plain or registered name, optionally with settings: "spread:gap=4".
    lang (str): language of the notes, for settings "lang" and "source" that are not given.
    RETURNS (Union[str, dict]): the plain name, or a config block of a registered part.
    RAISES: ConfigError (D837) if there is no such name or setting.
    """
    name, _, settings = name.partition(":")
    functions = getattr(registry, KINDS[kind][0])
    if name in KINDS[kind][1] and not settings:
        return name
    whole = name if name in functions else f"{_PREFIX}{name}_{kind}{_VERSION}"
    if whole not in functions:
        raise ConfigError(Errors.D837.format(kind=kind, name=name, known=", ".join(name_parts(kind))))
    asked = inspect.signature(functions.get(whole)).parameters
    part: dict[str, Any] = {f"@{KINDS[kind][0]}": whole}
    for setting in filter(None, settings.split(",")):
        key, _, value = setting.partition("=")
        if key not in asked:
            raise ConfigError(Errors.D837.format(kind=f"setting of '{name}'", name=key, known=", ".join(asked)))
        part[key] = find_part(key, value, lang) if key in KINDS else _read(value)
    return {**{key: lang for key in ("lang", "source") if key in asked}, **part}


def _read(value: str) -> Any:
    """A value of a setting: as JSON says it, or the words themselves."""
    try:
        return json.loads(value)
    except ValueError:
        return value
