"""Pipelines as the settings of a job or a text want them, and what is taken out of the Docs that they make."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc

from .. import __version__
from ..loading import load, use_llm, use_style
from ..offsets import Edit, map_offsets
from ..saving import fingerprint
from .settings import FACTS, JobSettings, LlmSettings, ServiceSettings

__all__ = ["Pipelines", "add_places", "ehr_of", "stamp", "take"]

LOADED = 3  # pipelines that are held at once


class Pipelines:
    """Those that a service offers. Not for several threads: the settings of a pipeline change.

    service (ServiceSettings): settings of the service.
    """

    def __init__(self, service: ServiceSettings) -> None:
        self.service = service
        self._load = lru_cache(LOADED)(self._make)

    def get(self, settings: JobSettings) -> Language:
        """The pipeline of a job, loaded once."""
        llm = settings.llm.model_dump_json() if settings.llm else ""
        nlp = self._load(settings.pipeline, settings.operating_point, llm)
        key = self.service.project_key if settings.style == "surrogate" else None
        use_style(nlp, settings.style, key)
        for name in nlp.pipe_names:
            if nlp.get_pipe_meta(name).factory == "deid_surrogate":
                cast(Any, nlp.get_pipe(name)).set_policy(settings.policy)
        return nlp

    def _make(self, name: str, point: str, llm: str) -> Language:
        nlp = load(name, operating_point=point or None, dictionaries=self.service.dictionaries)
        if llm:
            use_llm(nlp, **llm_config(LlmSettings.model_validate_json(llm), self.service))
        return nlp


def llm_config(settings: LlmSettings, service: ServiceSettings) -> dict[str, Any]:
    """The settings of ``deid_llm`` that were chosen; what is left empty is as usual."""
    prompt = service.prompts.get(settings.prompt, "")
    server = {"allow": list(service.llm_allow), "model_name": settings.model or None}
    given = {name: value for name, value in {"prompt": prompt, "labels": settings.labels}.items() if value}
    return {"model": settings.location, "server": server, **given}


@lru_cache(LOADED)
def _fingerprint(nlp: Language) -> str:
    """The fingerprint of a pipeline, which takes a while."""
    return fingerprint(nlp)


def ehr_of(settings: JobSettings) -> dict[str, Any]:
    """What is known beside the text."""
    return {key: value for name, key in FACTS.items() if (value := getattr(settings, name))}


def take(doc: Doc) -> tuple[list[dict[str, Any]], list[Edit], str]:
    """Copy out of a Doc what is kept of it: spans with their traces, edits, the released text."""
    edits: list[Edit] = doc._.deid_edits
    return [dict(row) for row in doc._.deid_trace], edits, doc._.deid_text


def add_places(spans: Sequence[dict[str, Any]], edits: Sequence[Edit], length: int) -> None:
    """Say of each span where it stands in the released text."""
    starts, ends = (map_offsets(edits, [span[side] for span in spans], length) for side in ("start", "end"))
    for span, start, end in zip(spans, starts, ends, strict=True):
        span["released"] = [start, end]


def stamp(nlp: Language, settings: JobSettings) -> dict[str, Any]:
    """What decided: it heads the findings of a file."""
    name = f"{nlp.lang}_{nlp.meta['name']}"
    pipeline = {"name": name, "version": nlp.meta["version"], "fingerprint": _fingerprint(nlp)}
    given = settings.model_dump(exclude=set(FACTS))
    return {"pipeline": pipeline, "spacy_deid": __version__, "settings": given}
