"""Options of a local large language model."""

from collections.abc import Sequence
from typing import Any

from spacy.language import Language

from ..loading import use_llm
from .batches import find_component

__all__ = ["add_llm"]


def add_llm(nlp: Language, location: str | None, prompt: str | None, allow: Sequence[str] | None) -> None:
    """Let a pipeline ask a language model, as the options say; see `loading.use_llm`.

    nlp (Language): the pipeline.
    location (Optional[str]): GGUF file or address; None to ask none.
    prompt (Optional[str]): name or file of the prompt.
    allow (Optional[Sequence[str]]): hosts that are allowed beside this machine.
    RAISES: DeidError if the model cannot be opened or does not answer. It is asked for its name now, so that not every
        note fails.
    """
    if location is None:
        return
    settings: dict[str, Any] = {"prompt": prompt} if prompt else {}
    use_llm(nlp, location, **settings, **({"server": {"allow": list(allow)}} if allow else {}))
    _ = find_component(nlp, "deid_llm", f"{nlp.lang}_{nlp.meta['name']}").extractor.backend.name
