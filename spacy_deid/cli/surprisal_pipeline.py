"""The pipeline that the commands of ``spacy-deid surprisal`` score with, from their options."""

import inspect
import json
import sys
from dataclasses import dataclass
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import registry

from ..errors import ConfigError, Errors
from ..evaluation.score_store import FACTORY

__all__ = ["ScoreOptions", "find_part", "make_blank", "make_pipeline", "name_parts"]

KINDS = ("mode", "masking", "score")
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
    """The short names of what is registered of a kind.

    kind (str): "mode", "masking" or "score".
    RETURNS (list[str]): "exact" for "spacy_deid.exact_mode.v1".
    """
    end = f"_{kind}{_VERSION}"
    known = [name for name in registry.misc.get_all() if name.startswith(_PREFIX) and name.endswith(end)]
    return sorted(name.removeprefix(_PREFIX).removesuffix(end) for name in known)


def find_part(kind: str, name: str, lang: str) -> dict[str, Any]:
    """A registered part for a config. What it asks for and is not given it gets: the language and its lemmatizer.

    kind (str): "mode", "masking" or "score".
    name (str): the short name, or the whole one, and perhaps settings: "entropy:weight=0.5".
    lang (str): language of the notes.
    RETURNS (dict): what a config says of it.
    RAISES: ConfigError (D837) if nothing of that name is registered, or it has no such setting.
    """
    name, _, settings = name.partition(":")
    whole = name if name in registry.misc else f"{_PREFIX}{name}_{kind}{_VERSION}"
    if whole not in registry.misc:
        raise ConfigError(Errors.D837.format(kind=kind, name=name, known=", ".join(name_parts(kind))))
    asked = inspect.signature(registry.misc.get(whole)).parameters
    part: dict[str, Any] = {"@misc": whole}
    for setting in filter(None, settings.split(",")):
        key, _, value = setting.partition("=")
        if key not in asked:
            raise ConfigError(Errors.D837.format(kind=f"setting of '{name}'", name=key, known=", ".join(asked)))
        part[key] = find_part(key, value, lang) if key in KINDS else _read(value)
    known = {"lang": lang, "source": lang, "lemmatizer": {"@misc": "spacy_deid.default_lemmas.v1", "lang": lang}}
    return {**{key: value for key, value in known.items() if key in asked}, **part}


def _read(value: str) -> Any:
    """A value of a setting: as JSON says it, or the words themselves."""
    try:
        return json.loads(value)
    except ValueError:
        return value
