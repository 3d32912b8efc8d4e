"""Measure surrogates: annotated corpora de-identified by their gold, so that no error of a detector counts.

    python -m benchmarks.surrogates corpus/meddocan/train/brat corpus/meddocan/dev/brat --lang es --scheme meddocan
    python -m benchmarks.surrogates corpus/en/test.spacy --lang en --data "synthetic en" --split test

- *originals kept*: surrogates that are the original, whatever the case and accents. What stays because it stays true
  and names nobody is counted apart, as *kept because it stays true*: ages up to 89, days relative to others, words of
  kinship and for stages of life ("mother", "lactante"), and Spain in Spanish notes, whose towns lie there.
- *collisions*: two persons by their full names, or two other values of one label, with the same surrogate in a note.
  Left out are dates and ages, where 90+ and 2019 stand for many, ZIP codes, which share three digits by law,
  countries, which have a name in each language, and territories, as a town may bear the name of its province. Two
  spellings of a name a slip apart are one person.
- *consistent*: of mentions of one person, each has words of the surrogate of the fullest mention alone (of any label,
  or of its own); of equal values, each has the same surrogate.
- *intervals*: pairs of full numeric dates of a note that are as many days apart as before. Dates more than 89 years
  before the latest are left out: they move by whole years more, so that they tell no age above 90.
- *valid*: of originals that pass a check-digit test, the surrogates that pass it as well.
- *tags*: mentions that no surrogate could be made for.

Two keys are measured after a third one, which fills what is kept of the lists, and the rows hold the worse one. Rows
go to metrics/surrogates.json; no text of a note.
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
    """De-identify corpora by their gold and write what came of it."""
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
