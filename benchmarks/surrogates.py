"""Measure surrogates on corpora de-identified by their gold, so that errors of detection do not count.

    python -m benchmarks.surrogates corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan
    python -m benchmarks.surrogates corpus/en/test.spacy --lang en --data "synthetic en" --split test

- *originals kept*: surrogates equal to the original, ignoring case and accents. Values that remain true and identify
  nobody are counted separately as *kept because it stays true*: ages up to 89, relative days, words for relatives and
  stages of life ("mother", "lactante"), and Spain in Spanish notes, whose towns are there.
- *collisions*: two persons (by full name) or two other values of a label that have the same surrogate in a note. Not
  counted are dates and ages, as 90+ and 2019 replace many; ZIP codes, which share three digits by law; countries,
  which have a name in each language; and territories, as a town may have the name of its province. Two spellings of a
  name that differ by a typing error are one person.
- *consistent*: mentions of a person that only contain words of the surrogate of the fullest mention (of any label, or
    of
  their own label); equal values that have equal surrogates.
- *intervals*: pairs of full numeric dates of a note whose distance in days is unchanged. Dates more than 89 years
    before
  the latest one are left out: they are shifted by additional years, so that they reveal no age above 90.
- *valid*: originals with valid check digits whose surrogates are valid too.
- *tags*: mentions for which no surrogate could be made.

Two keys are measured after a third one has filled the caches of the lists; rows contain the worse result. Rows are
written to metrics/surrogates.json, without text of notes.
"""

import time
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation import read_folder
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows

from .surrogate_figures import KEYS, aim, count, measure, release

WARM = bytes(range(200, 232))

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Annotated corpora")],
    lang: Annotated[str, typer.Option(help="Language of the notes")],
    scheme: Annotated[str, typer.Option(help="Scheme of the labels")] = "canonical",
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows")] = "meddocan",
    split: Annotated[str, typer.Option(help="Split in the rows")] = "train+dev",
    metrics: Annotated[Path, typer.Option(help="File of rows")] = Path("metrics/surrogates.json"),
) -> None:
    """De-identify corpora by their gold and write the figures."""
    notes = [note for path in paths for note in read_folder(path, scheme=scheme)]
    release(notes, lang, WARM)  # lists are read and the forms of their names made once, and that is not timed
    figures: list[dict[str, float]] = []
    for secret in KEYS:
        began = time.process_time()
        released = release(notes, lang, secret)
        seconds = time.process_time() - began
        figures.append(measure(released, lang) | {"entities/s on one core": count(released) / seconds})
    command, today = command_line("benchmarks.surrogates", context), date.today().isoformat()
    rows = []
    for name in dict.fromkeys(name for figure in figures for name in figure):
        target, better = aim(name)
        values = [figure.get(name, 0.0) for figure in figures]
        worst = min(values) if better == "higher" else max(values)
        rows.append(MetricRow(name, round(worst, 5), target, better, data, split, command, today))
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}" + ("" if row.met is not False else "  (missed)"))


if __name__ == "__main__":
    app()
