"""What a service offers is there before anybody asks for it: else each file would fail, and only later."""

from pathlib import Path

from ..dictionaries.store import LocalStore
from ..errors import ConfigError, Errors
from ..llm.prompts import load_prompt
from ..llm.server import Endpoint
from ..loading import find_pipeline
from ..surrogates.keys import ProjectKey
from .settings import ServiceSettings

__all__ = ["check_offer"]


def check_offer(service: ServiceSettings) -> None:
    """Look for pipelines, dictionaries, key and language models. Nothing is loaded, and no server is asked.

    service (ServiceSettings): what it is told.
    RAISES: ConfigError for a pipeline that is not there (D008), dictionaries that cannot be used (D160 - D162), a key
        that cannot be (D640 - D642), a language model that is not there (D733) or may not be asked (D731).
    """
    for name in service.pipelines:
        find_pipeline(name)
    if service.dictionaries:
        LocalStore.open(service.dictionaries)
    if service.project_key:
        ProjectKey.from_file(service.project_key)
    for prompt in service.llm_prompts:
        load_prompt(str(prompt), "en")
    for location in service.llm:
        if "://" in location:
            Endpoint(location, service.llm_allow).resolve()
        elif not Path(location).is_file():
            raise ConfigError(Errors.D733.format(path=location, reason="there is no such file"))
