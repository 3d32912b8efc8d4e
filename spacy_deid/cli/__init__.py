"""The command line: ``spacy-deid`` and ``python -m spacy_deid``. One command a file.

Typer's own tracebacks are off: they print the local variables, and those hold notes.
"""

from typing import Annotated

import typer

from .. import __version__
from .annotate import annotate
from .audit import audit
from .calibrate import calibrate
from .convert import convert
from .counts import counts
from .demo import demo
from .dictionary import dictionary
from .evaluate import evaluate
from .fairness import fairness
from .info import info
from .medical import medical
from .redact import redact
from .report import report
from .sample import sample
from .serve import serve
from .surprisal import surprisal
from .surrogates import key
from .surrogates_evaluate import surrogates
from .synth import synth
from .vault import vault

__all__ = ["app"]

app = typer.Typer(
    name="spacy-deid",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
for command in (redact, annotate, evaluate, info, demo, convert, calibrate, fairness, report, sample, audit, synth):
    app.command()(command)
app.command()(serve)
app.add_typer(dictionary)
app.add_typer(key)
app.add_typer(counts)
app.add_typer(medical)
app.add_typer(surprisal)
app.add_typer(surrogates)
app.add_typer(vault)


def _print_version(value: bool) -> None:
    """Print the version and stop."""
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    """De-identify clinical text."""
