"""Training that goes on where another training ended."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.util import registry

from ..errors import ConfigError, Errors

__all__ = ["make_start_from"]


@registry.callbacks("spacy_deid.start_from.v1")
def make_start_from(path: str | None = None, name: str = "deid_ner") -> Callable[[Language], Language]:
    """Make the callback that gives a classifier the labels and weights of a trained one before its first step.

    path (Optional[str]): folder of a pipeline that was trained with the same network settings; None to start anew.
    name (str): name of the component, in both.
    RETURNS (Callable): for the setting "after_init" of the initialization.
    RAISES: ConfigError (D213) when it runs, if the folder has no such component.
    """

    def start(nlp: Language) -> Language:
        folder = Path(path, name) if path is not None else None
        if folder is not None:
            if not folder.is_dir():
                raise ConfigError(Errors.D213.format(path=path, name=name))
            cast(TrainablePipe, nlp.get_pipe(name)).from_disk(folder, exclude=["vocab"])
        return nlp

    return start
