"""``spacy-deid counts``: how common phrases are in a background corpus."""

from pathlib import Path
from typing import Annotated

import typer

from ..background.corpora import CorpusReader
from ..background.counts import PhraseCounts, count_phrases
from ..errors import Errors, InputError
from .console import reporting
from .options import Overwrite

__all__ = ["counts"]

counts = typer.Typer(name="counts", no_args_is_help=True, help="Counts of phrases in a background corpus.")


@counts.command()
def build(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help=".txt, .jsonl, .csv (also .gz, .bz2, .xz), or folders.")
    ],
    out: Annotated[Path, typer.Option(help="File to write.")],
    text_field: Annotated[str, typer.Option(help="Key or column of the text in .jsonl and .csv files.")] = "text",
    max_words: Annotated[int, typer.Option(min=1, max=8, help="Words of the longest phrases.")] = 3,
    limit: Annotated[
        int, typer.Option(min=1000, help="Phrases kept in memory at a time, up to 50 bytes each; the rarest go.")
    ] = 20_000_000,
    keep: Annotated[int | None, typer.Option(min=1, help="Write the commonest phrases only, this many.")] = None,
    licence: Annotated[str, typer.Option(help="Licence of the corpus, noted in the file.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Count the phrases of a corpus. It is read once, as a stream, in bounded memory."""
    with reporting():
        if out.exists() and not overwrite:
            raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
        reader = CorpusReader([text_field])
        counted = count_phrases(reader.texts(paths), max_words, limit)
        if not counted.total:
            raise InputError(Errors.D707.format(path=paths[0], reason="holds no words"))
        if keep:
            counted.keep(keep)
        counted.manifest = {"licence": licence, "sources": [path.name for path in paths]}
        counted.to_file(out)
        _report(counted, reader, out)


def _report(counted: PhraseCounts, reader: CorpusReader, out: Path) -> None:
    """Say what was counted."""
    typer.echo(f"{len(counted)} phrases of {counted.total} words in {counted.texts} texts: {out}")
    typer.echo(f"a count is too low by {counted.error} at most")
    for reason, number in sorted(reader.skipped.items()):
        if number:
            typer.echo(f"skipped: {number} ({reason})")
