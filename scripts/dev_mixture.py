"""Build a development set of two styles, on which the operating points of a pipeline are fitted.

    python -m scripts.dev_mixture en corpus/en/dev.spacy --output corpus/en/dev_mixture.jsonl
    python -m scripts.dev_mixture es corpus/meddocan/dev/brat --scheme meddocan --output corpus/es/dev_mixture.jsonl

One half are the authored development notes of the language, the other half as many notes of the given corpus, drawn by
the hash of their names. The file has the labels of the scheme of the corpus. With the scheme "meddocan", words of
kinship and sex are labelled in the authored notes too, because they are in MEDDOCAN.
"""

from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.cli.measure import read_gold
from spacy_deid.evaluation.formats import write_jsonl
from spacy_deid.synth.authored import read_authored
from spacy_deid.synth.language import stable_hash
from spacy_deid.synth.training import mark_describing

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language of the authored notes.")],
    corpus: Annotated[Path, typer.Argument(help="Development notes of another style, in any format.")],
    output: Annotated[Path, typer.Option(help="JSONL file to write.")],
    scheme: Annotated[str, typer.Option(help="Labels of the corpus.")] = "canonical",
    authored: Annotated[Path, typer.Option(help="Folder of the authored corpus.")] = Path("corpus/authored"),
) -> None:
    """Write the mixture."""
    written = [note.annotated() for note in read_authored(authored / lang / "dev")]
    if scheme == "meddocan":
        written = [mark_describing(note, lang) for note in written]
    others = sorted(read_gold(corpus, scheme), key=lambda note: stable_hash(note.name))[: len(written)]
    write_jsonl([*written, *others], output, scheme=scheme)
    typer.echo(f"{output}: {len(written)} authored notes, {len(others)} of {corpus}")


if __name__ == "__main__":
    app()
