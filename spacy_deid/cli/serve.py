"""``spacy-deid serve``: the browser front end and the REST service."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, Errors
from .console import reporting, say

__all__ = ["serve"]

TOKEN = "SPACY_DEID_TOKEN"


def serve(
    data: Annotated[Path, typer.Option(help="Folder of jobs and their files; made if it is not there.")],
    host: Annotated[str, typer.Option(help="Address to listen at. Others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")] = 8000,
    pipeline: Annotated[
        list[str] | None, typer.Option(help="Pipeline that may be chosen; the first is usual.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="File of the project key, for the style surrogate.")] = None,
    files_key: Annotated[
        Path | None, typer.Option(help="File of a key that the files of jobs are sealed with; not in DATA.")
    ] = None,
    keep_hours: Annotated[float, typer.Option(min=0, help="Hours after which a job is deleted with its files.")] = 24,
    max_mb: Annotated[int, typer.Option(min=1, help="Megabytes that a file may have.")] = 50,
    max_files: Annotated[int, typer.Option(min=1, help="Files that a job may have.")] = 500,
    llm: Annotated[list[str] | None, typer.Option(help="Local LLM that may be chosen: an address or a GGUF file.")] = (
        None
    ),
    llm_allow: Annotated[list[str] | None, typer.Option(help="Host beside this machine where an LLM may be.")] = None,
) -> None:
    """Serve the browser front end and the REST interface, at this machine alone unless told otherwise.

    The token that others must bring stands in the environment variable SPACY_DEID_TOKEN. Interrupt it to stop; what it
    was doing goes on when it is started again with the same DATA.
    """
    with reporting():
        uvicorn, make_service, service_settings = _import()
        settings = service_settings(
            data=data,
            host=host,
            port=port,
            token=os.environ.get(TOKEN, ""),
            pipelines=tuple(pipeline or ("es", "en", "fi")),
            project_key=key,
            files_key=files_key,
            keep_hours=keep_hours,
            max_mb=max_mb,
            max_files=max_files,
            llm=tuple(llm or ()),
            llm_allow=tuple(llm_allow or ()),
        )
        app = make_service(settings)
        say(f"http://{host}:{port}" + ("" if settings.token else " (this machine alone)"))
        # paths of requests hold no content, but names of what was asked for are nobody's business either
        uvicorn.run(app, host=host, port=port, access_log=False, log_level="warning", server_header=False)


def _import() -> tuple[Any, Any, Any]:
    """The parts that the extra "app" brings."""
    try:
        import uvicorn

        from ..app.service import make_service
        from ..app.settings import ServiceSettings
    except ImportError as error:
        raise ConfigError(Errors.D917.format(package=error.name)) from None
    return uvicorn, make_service, ServiceSettings
