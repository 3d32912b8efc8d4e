"""Update the rules in saved pipelines to those of the package, leaving weights, lists and settings unchanged.

    python -m scripts.renew_rules spacy_deid/pipelines/es spacy_deid/pipelines/en spacy_deid/pipelines/fi

A saved pipeline includes the rules of the time when it was assembled. After a change of
spacy_deid/lang/XX/patterns.toml run this command, or train the pipeline again. With --output, pipelines are written to
another folder; with --package-version, they get the version of the package.
"""

from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language

import spacy_deid
from spacy_deid.saving import save

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    pipelines: Annotated[list[Path], typer.Argument(help="Folders of saved pipelines.")],
    output: Annotated[Path | None, typer.Option(help="Folder to write to; in place by default.")] = None,
    package_version: Annotated[
        bool, typer.Option("--package-version", help="Give the pipelines the version of the package as well.")
    ] = False,
) -> None:
    """Update the rules of pipelines."""
    for path in pipelines:
        nlp = spacy_deid.load(path)
        patterns = nlp.get_pipe("deid_patterns")
        before = patterns.version
        patterns.use_package_rules()
        if package_version:
            use_package_version(nlp)
        target = output / path.name if output else path
        save(nlp, target)
        typer.echo(
            f"{target} {nlp.meta['version']}: rules {before} -> {patterns.version}, {len(patterns.rules)} rules"
        )


def use_package_version(nlp: Language) -> None:
    """Give a pipeline the version of the package. The version of its classifier keeps the hash of the weights."""
    nlp.meta["version"] = spacy_deid.__version__
    ner = nlp.get_pipe("deid_ner")
    ner.cfg["version"] = f"{spacy_deid.__version__}+{ner.cfg['version'].partition('+')[2]}"


if __name__ == "__main__":
    app()
