"""Loading pipelines: those that ship, a folder, or an installed package."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import is_package

from .errors import ConfigError, Errors
from .saving import protect

__all__ = ["load", "shipped_pipelines"]


def shipped_pipelines() -> dict[str, Path]:
    """The pipelines that come with the package.

    RETURNS (dict[str, Path]): name → folder, in the order of the names.
    """
    folder = Path(str(files("spacy_deid"))) / "pipelines"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/config.cfg"))}


def load(name: str | Path, **kwargs: Any) -> Language:
    """Load a pipeline. Works offline. No word of a note gets into what is saved of it; see `saving.protect`.

    name (Union[str, Path]): name of a shipped pipeline ("es"), a folder, or an installed pipeline package.
    kwargs (Any): passed on to ``spacy.load``, such as ``exclude`` or ``config``.
    RETURNS (Language): the pipeline.
    RAISES: ConfigError (D008) if there is no such pipeline.
    """
    known = shipped_pipelines()
    if str(name) in known:
        nlp = spacy.load(known[str(name)], **kwargs)
    elif Path(name).is_dir() or is_package(str(name)):
        nlp = spacy.load(name, **kwargs)
    else:
        raise ConfigError(Errors.D008.format(name=name, known=", ".join(known) or "none"))
    protect(nlp, nlp.vocab.strings)
    return nlp
