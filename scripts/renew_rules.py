"""Update the rules in saved pipelines to those of the package, leaving weights, lists and settings unchanged.

    python -m scripts.renew_rules spacy_deid/pipelines/es spacy_deid/pipelines/en spacy_deid/pipelines/fi

A saved pipeline includes the rules of the time when it was assembled. After a change of
spacy_deid/lang/XX/patterns.toml run this command, or train the pipeline again. With --output, pipelines are written to
another folder.
"""

from pathlib import Path
from typing import Annotated

import typer

import spacy_deid
from spacy_deid.saving import save

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    pipelines: Annotated[list[Path], typer.Argument(help="Folders of saved pipelines.")],
    output: Annotated[Path | None, typer.Option(help="Folder to write to; in place by default.")] = None,
) -> None:
    """Update the rules of pipelines."""
    for path in pipelines:
        nlp = spacy_deid.load(path)
        patterns = nlp.get_pipe("deid_patterns")
        before = patterns.version
        patterns.use_package_rules()
        target = output / path.name if output else path
        save(nlp, target)
        typer.echo(f"{target}: rules {before} -> {patterns.version}, {len(patterns.rules)} rules")


if __name__ == "__main__":
    app()
