"""Write the tables of figures in the documents from metrics/*.json, so that no document says what was not measured.

A table stands between two comments that name its file, and perhaps a part of the names of its rows:

    <!-- figures: foundation -->
    <!-- /figures -->

`python scripts/figures.py` writes the tables, `python scripts/figures.py --check` fails if one is out of date.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation import MetricRow, read_rows

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

DOCUMENTS = (
    "README.md",
    "docs/benchmarks.md",
    "docs/experiments.md",
    "docs/fairness.md",
    "docs/model_card_en.md",
    "docs/model_card_es.md",
    "docs/model_card_fi.md",
    "docs/peers.md",
    "docs/transformers.md",
)
BLOCK = re.compile(r"(<!-- figures: (?P<name>\w+)(?: (?P<part>[^>]+?))? -->\n).*?(<!-- /figures -->)", re.DOTALL)


@app.command()
def main(check: Annotated[bool, typer.Option(help="Change nothing; fail if a table is out of date")] = False) -> None:
    """Write or check the tables."""
    stale = []
    for name in DOCUMENTS:
        path = Path(name)
        old = path.read_text(encoding="utf8")
        new = BLOCK.sub(lambda match: match[1] + render(match["name"], match["part"] or "") + match[4], old)
        if new != old and check:
            stale.append(name)
        elif new != old:
            path.write_text(new, encoding="utf8")
    if stale:
        typer.echo(f"out of date: {', '.join(stale)}; run python scripts/figures.py", err=True)
        raise typer.Exit(1)


def render(name: str, part: str) -> str:
    """A Markdown table of the rows of metrics/NAME.json whose names begin with a part."""
    rows = [row for row in read_rows(Path("metrics") / f"{name}.json") if row.name.startswith(part)]
    lines = ["| figure | value | target | met | data |", "| --- | ---: | ---: | --- | --- |"]
    return "\n".join([*lines, *map(line, rows), ""])


def line(row: MetricRow) -> str:
    """One row of the table."""
    sign = "≥" if row.better == "higher" else "≤"
    target = "" if row.target is None else f"{sign} {number(row.target)}"
    met = {True: "yes", False: "**no**", None: ""}[row.met]
    data = row.data if row.split == "none" else f"{row.data} {row.split}"
    return f"| {row.name} | {number(row.value)} | {target} | {met} | {data} |"


def number(value: float) -> str:
    """Four decimals for shares, none for counts."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    app()
