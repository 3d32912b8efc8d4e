"""``spacy-deid serve``: starts the browser front end and the REST service."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, Errors, describe
from .console import reporting, say
from .options import Dictionaries, Key

TOKEN = "SPACY_DEID_TOKEN"


def serve(
    data: Annotated[Path, typer.Option(help="Folder of jobs and their files. It is made if it is missing.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any other than the loopback address needs a token.")
    ] = "127.0.0.1",
    name: Annotated[list[str] | None, typer.Option(help="Host name of a proxy. It needs a token.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port, 0 for any free port.")] = 8000,
    pipeline: Annotated[
        list[str] | None, typer.Option(help="Pipeline that users can choose. The first is the default.")
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(help="File of the users and their roles, made by 'user add'. It must not be in DATA."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a reverse proxy that names the user in a header. It needs --users."),
    ] = None,
    user_header: Annotated[str, typer.Option(help="Header in which a proxy names the user.")] = "X-Forwarded-User",
    webhook_key: Annotated[
        Path | None, typer.Option(help="File of the secret that signs webhooks of jobs. It must not be in DATA.")
    ] = None,
    webhook_allow: Annotated[
        list[str] | None, typer.Option(help="Host, address or network that webhooks may be sent to.")
    ] = None,
    preload: Annotated[
        bool, typer.Option("--preload", help="Load the pipelines before the service is ready.")
    ] = False,
    dictionaries: Dictionaries = None,
    key: Key = None,
    files_key: Annotated[
        Path | None, typer.Option(help="File of the key that encrypts the files of jobs. It must not be in DATA.")
    ] = None,
    keep_hours: Annotated[float, typer.Option(min=0, help="Hours after which a job and its files are deleted.")] = 24,
    max_mb: Annotated[int, typer.Option(min=1, help="Maximum size of a file in megabytes.")] = 50,
    max_files: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of files in a job.")] = 500,
    max_job_mb: Annotated[int, typer.Option(min=1, help="Maximum size of all files of a job in megabytes.")] = 500,
    file_minutes: Annotated[float, typer.Option(min=0.01, help="Time limit of a file in minutes.")] = 30,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Number of files, and of texts, that are processed at once.")
    ] = 1,
    worker_gb: Annotated[float, typer.Option(min=0, help="Memory limit of each worker in GB, 0 for none.")] = 8,
    llm: Annotated[
        list[str] | None, typer.Option(help="Local LLM that users can choose: an address or a GGUF file.")
    ] = None,
    llm_prompt: Annotated[
        list[Path] | None, typer.Option(help="File of another prompt that users can choose.")
    ] = None,
    llm_allow: Annotated[
        list[str] | None, typer.Option(help="Host other than this machine that an LLM may run on.")
    ] = None,
) -> None:
    """Serve the browser front end and the REST interface, by default for this machine only.

    Set the environment variable SPACY_DEID_TOKEN to the token that other clients must send, or give users and their
    roles with --users. After an interrupt, jobs continue when the service is started again with the same DATA.
    """
    with reporting():
        try:
            import uvicorn

            from ..app.connections import BoundedProtocol
            from ..app.logs import configure_logging
            from ..app.service import make_service
            from ..app.settings import ServiceSettings
            from ..app.workers import lock_folder
        except ImportError as error:
            raise ConfigError(Errors.D917.format(package=error.name)) from None
        chosen: dict[str, Any] = {"pipelines": tuple(pipeline)} if pipeline else {}
        settings = ServiceSettings(
            data=data,
            host=host,
            names=tuple(name or ()),
            port=port,
            token=os.environ.get(TOKEN, ""),
            users=users,
            proxies=tuple(proxy or ()),
            user_header=user_header,
            webhook_key=webhook_key,
            webhook_allow=tuple(webhook_allow or ()),
            preload=preload,
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
            **chosen,
        )
        try:
            app = make_service(settings)
        except OSError as error:
            raise ConfigError(Errors.D402.format(path=data, reason=describe(error))) from None
        with lock_folder(data):
            say(f"http://{host}:{port}" + ("" if settings.token or users else " (this machine only)"))
            configure_logging()
            # the service reads the headers of proxies itself
            # no access log: the paths of requests have no content, but they show who asked for what
            quiet: dict[str, Any] = {
                "access_log": False,
                "log_config": None,
                "server_header": False,
                "proxy_headers": False,
            }
            uvicorn.run(app, host=host, port=port, http=BoundedProtocol, ws="none", **quiet)
