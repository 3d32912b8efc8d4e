"""``spacy-deid serve``: the browser front end and the REST service."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from ..errors import ConfigError, Errors
from .console import reporting, say
from .options import Dictionaries

__all__ = ["serve"]

TOKEN = "SPACY_DEID_TOKEN"


def serve(
    data: Annotated[Path, typer.Option(help="Folder of jobs and their files; made if it is not there.")],
    host: Annotated[str, typer.Option(help="Address to listen at. Others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    name: Annotated[
        list[str] | None, typer.Option(help="Name that a proxy is reached by; others than this machine need a token.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")] = 8000,
    pipeline: Annotated[
        list[str] | None, typer.Option(help="Pipeline that may be chosen; the first is usual.")
    ] = None,
    dictionaries: Dictionaries = None,
    key: Annotated[Path | None, typer.Option(help="File of the project key, for the style surrogate.")] = None,
    files_key: Annotated[
        Path | None, typer.Option(help="File of a key that the files of jobs are sealed with; not in DATA.")
    ] = None,
    keep_hours: Annotated[float, typer.Option(min=0, help="Hours after which a job is deleted with its files.")] = 24,
    max_mb: Annotated[int, typer.Option(min=1, help="Megabytes that a file may have.")] = 50,
    max_files: Annotated[int, typer.Option(min=1, max=1000, help="Files that a job may have.")] = 500,
    max_job_mb: Annotated[int, typer.Option(min=1, help="Megabytes that the files of a job may have together.")] = 500,
    file_minutes: Annotated[float, typer.Option(min=0.01, help="Minutes that may be spent on a file.")] = 30,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Files that are worked on at once, and as many texts.")
    ] = 1,
    worker_gb: Annotated[float, typer.Option(min=0, help="Memory of each worker, in GB; 0 for no bound.")] = 8,
    llm: Annotated[list[str] | None, typer.Option(help="Local LLM that may be chosen: an address or a GGUF file.")] = (
        None
    ),
    llm_prompt: Annotated[
        list[Path] | None, typer.Option(help="File of a prompt that may be chosen beside those that ship.")
    ] = None,
    llm_allow: Annotated[list[str] | None, typer.Option(help="Host beside this machine where an LLM may be.")] = None,
) -> None:
    """Serve the browser front end and the REST interface, at this machine alone unless told otherwise.

    The token that others must bring stands in the environment variable SPACY_DEID_TOKEN. Interrupt it to stop; what it
    was doing goes on when it is started again with the same DATA.
    """
    with reporting():
        parts = _import()
        settings = parts.ServiceSettings(
            data=data,
            host=host,
            names=tuple(name or ()),
            port=port,
            token=os.environ.get(TOKEN, ""),
            pipelines=tuple(pipeline or ("es", "en", "fi")),
            dictionaries=dictionaries,
            project_key=key,
            files_key=files_key,
            keep_hours=keep_hours,
            max_mb=max_mb,
            max_files=max_files,
            max_job_mb=max_job_mb,
            file_minutes=file_minutes,
            workers=workers,
            worker_gb=worker_gb,
            llm=tuple(llm or ()),
            llm_prompts=tuple(llm_prompt or ()),
            llm_allow=tuple(llm_allow or ()),
        )
        app = parts.make_service(settings)
        with parts.only_one(data):
            say(f"http://{host}:{port}" + ("" if settings.token else " (this machine alone)"))
            parts.keep_content_out()
            # paths of requests hold no content, but names of what was asked for are nobody's business either
            quiet: dict[str, Any] = {"access_log": False, "log_config": None, "server_header": False}
            parts.uvicorn.run(app, host=host, port=port, http=parts.BoundedProtocol, ws="none", **quiet)


def _import() -> Any:
    """The parts that the extra "app" brings."""
    try:
        import uvicorn

        from ..app.connections import BoundedProtocol
        from ..app.lock import only_one
        from ..app.logs import keep_content_out
        from ..app.service import make_service
        from ..app.settings import ServiceSettings
    except ImportError as error:
        raise ConfigError(Errors.D917.format(package=error.name)) from None
    return SimpleNamespace(
        uvicorn=uvicorn,
        BoundedProtocol=BoundedProtocol,
        only_one=only_one,
        keep_content_out=keep_content_out,
        make_service=make_service,
        ServiceSettings=ServiceSettings,
    )
