"""Assembles the commands of ``spacy-deid``, which is also ``python -m spacy_deid``.

Typer's own tracebacks are turned off, because they print local variables, which contain notes.
"""

from typing import Annotated

import typer

from .. import __version__
from ..processes import forbid_core_dumps
from .adapt import adapt_pipeline
from .calibrate import calibrate
from .cda import cda
from .corpus import annotate, convert, synth
from .dictionary import counts, dictionary, medical
from .doctor import check_installation
from .dossier import dossier
from .fhir import fhir
from .hl7 import hl7
from .info import demo, info
from .measure import evaluate, fairness, report, surrogates
from .redact import redact
from .review import review
from .sample import audit, sample
from .serve import serve
from .surprisal import surprisal
from .user import user
from .vault import key, vault
from .warehouse import run

app = typer.Typer(
    name="spacy-deid",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
for command in (redact, annotate, evaluate, info, demo, convert, calibrate, fairness, report, sample, audit, synth):
    app.command()(command)
app.command(name="doctor")(check_installation)
app.command()(fhir)
app.command()(hl7)
app.command()(cda)
app.command()(run)
app.command(name="adapt")(adapt_pipeline)
app.command()(serve)
app.add_typer(dictionary)
app.add_typer(dossier)
app.add_typer(key)
app.add_typer(counts)
app.add_typer(medical)
app.add_typer(review)
app.add_typer(surprisal)
app.add_typer(surrogates)
app.add_typer(user)
app.add_typer(vault)


def _print_version(value: bool) -> None:
    """Print the version and exit."""
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
    forbid_core_dumps()
