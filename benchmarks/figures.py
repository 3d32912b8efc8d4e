"""Collect the figures that have a target, and write the tables of figures in the documents from metrics/*.json.

    python -m benchmarks.figures            # collect and write
    python -m benchmarks.figures --check    # fail if a table is out of date

metrics/detection.json, dictionaries.json and surprisal.json collect the rows with a target from the files in
`SOURCES`. A row keeps its command, data, split and date, and its interval; the language is added to its name.

A table in a document is enclosed by two comments, which give the metrics file and optionally prefixes of row names:

    <!-- figures: foundation -->
    <!-- /figures -->

Rows with a target come first, missed targets on top; then tables of variants by figures; then all other rows. Brackets
contain 95 % intervals.
"""

import dataclasses
import re
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.evaluation.rows import ENDS

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

DOCUMENTS = (
    "README.md",
    "docs/figures.md",
    "docs/guides/audit.md",
    "docs/reference/authored_corpus.md",
    "docs/reference/benchmarks.md",
    "docs/reference/document_benchmarks.md",
    "docs/guides/evaluation.md",
    "docs/reference/experiments.md",
    "docs/guides/fairness.md",
    "docs/guides/languages.md",
    "docs/guides/llm.md",
    "docs/reference/model_card_en.md",
    "docs/reference/model_card_es.md",
    "docs/reference/model_card_fi.md",
    "docs/reference/model_card_masked_lm.md",
    "docs/design/security.md",
    "docs/design/surprisal.md",
    "docs/reference/surrogate_benchmarks.md",
    "docs/reference/peers.md",
    "docs/guides/recovery.md",
    "docs/guides/review.md",
    "docs/guides/transformers.md",
)
METRICS = Path("metrics")
SOURCES = {
    "detection": ["detection_*", "fairness_*", "throughput", "size", "peers", "inflection_fi"],
    "dictionaries": ["local_ablation", "dictionaries_speed", "dictionary_forms", "rare_names", "recovery", "audit"],
    "surprisal": ["surprisal_*", "masked_lm", "lemmatizers"],
}
RATIO = "divided by the best peer"
MET = ("**no**", "tie", "yes")
Line = tuple[str, str]  # variant and data
Ends = dict[tuple[str, str, str], float]
BLOCK = re.compile(r"(<!-- figures: (?P<name>\w+)(?: (?P<part>[^>]+?))? -->\n).*?(<!-- /figures -->)", re.DOTALL)


@app.command()
def main(check: Annotated[bool, typer.Option(help="Change nothing; fail if a table is out of date.")] = False) -> None:
    """Collect the figures with a target and write the tables, or check the tables."""
    if not check:
        collect_targets()
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
        typer.echo(f"out of date: {', '.join(stale)}; run python -m benchmarks.figures", err=True)
        raise typer.Exit(1)


def collect_targets() -> None:
    """Write the files of figures with a target and print which targets are missed."""
    for field in SOURCES:
        target = METRICS / f"{field}.json"
        rows = [
            row
            for pattern in SOURCES[field]
            for path in sorted(METRICS.glob(f"{pattern}.json"))
            for row in read_targets(path)
        ]
        target.unlink(missing_ok=True)
        write_rows(target, rows)
        aims = [row for row in rows if row.target is not None]
        missed = [row.name for row in aims if met(row) == "**no**"]
        ties = [row.name for row in aims if met(row) == "tie"]
        typer.echo(f"{target}: {len(aims)} figures with a target, {len(missed)} missed, {len(ties)} ties with a peer")
        typer.echo("".join(f"  {name}\n" for name in missed), nl=False)


def read_targets(path: Path) -> list[MetricRow]:
    """Read the rows of a file that have a target, and their intervals, adding the language to their names."""
    lang = re.search(r"_(es|en|fi)\.json$", path.name)
    found = read_rows(path)
    aims = {row.key for row in found if row.target is not None}
    ends = {(name + end, data, split) for name, data, split in aims for end in ENDS}
    rows = [row for row in found if row.key in aims | ends]
    return [dataclasses.replace(row, name=f"{lang[1]}: {row.name}") if lang else row for row in rows]


def render(name: str, part: str) -> str:
    """Render Markdown tables of the rows of metrics/NAME.json whose names begin with a prefix.

    Several prefixes are separated by "; ". Their rows keep this order; otherwise missed targets come first.
    """
    parts = part.split("; ")
    rows = [row for part in parts for row in read_rows(Path("metrics") / f"{name}.json") if row.name.startswith(part)]
    ends = {row.key: row.value for row in rows if row.name.endswith(ENDS)}
    rows = [row for row in rows if not row.name.endswith(ENDS)]
    aims = [row for row in rows if row.target is not None]
    if len(parts) == 1:
        aims.sort(key=lambda row: MET.index(met(row)))
    tables = [write_aims(aims, ends)] if aims else []
    alone = [row for row in rows if row.target is None]
    for lines in find_shared(rows):
        cells = {row.key for line in lines.values() for row in line.values()}
        if cells - {row.key for row in aims}:
            tables.append(write_shared(lines, ends))
            alone = [row for row in alone if row.key not in cells]
    if alone:
        body = [[row.name, value(row, ends), data(row)] for row in alone]
        tables.append(write_table(["figure", "value", "data"], body))
    return "\n".join(tables)


def write_aims(rows: list[MetricRow], ends: Ends) -> str:
    """Write the table of rows with a target."""
    signs = {"higher": "≥", "lower": "≤"}
    body = []
    for row in rows:
        sign = ">" if row.name.endswith(RATIO) else signs[row.better]
        body.append([row.name, value(row, ends), f"{sign} {number(row.target or 0)}", met(row), data(row)])
    return write_table(["figure", "value", "target", "met", "data"], body)


def met(row: MetricRow) -> str:
    """Say whether a target is met; a result equal to that of the best peer is a tie."""
    if row.name.endswith(RATIO) and row.value == row.target:
        return "tie"
    return "yes" if row.met else "**no**"


def split(name: str) -> tuple[str, str]:
    """Split the name of a row into variant and figure: "in capitals: strict F1", "balanced, strict F1"."""
    for variant, mark, figure in (name.partition(": "), name.rpartition(", ")):
        if mark:
            return variant, figure
    return "", name


def find_shared(rows: list[MetricRow]) -> list[dict[Line, dict[str, MetricRow]]]:
    """Group variants that have figures in common, each group for a table of at least two by two."""
    groups: list[dict[Line, dict[str, MetricRow]]] = []
    lines: dict[Line, dict[str, MetricRow]] = {}
    for row in rows:
        variant, figure = split(row.name)
        lines.setdefault((variant, data(row)), {})[figure] = row
    for line, figures in lines.items():
        kin = [group for group in groups if any(figures.keys() & other.keys() for other in group.values())]
        groups = [group for group in groups if group not in kin]
        groups.append({key: cells for group in kin for key, cells in group.items()} | {line: figures})
    return [group for group in groups if len(group) > 1 and max(map(len, group.values())) > 1]


def write_shared(lines: dict[Line, dict[str, MetricRow]], ends: Ends) -> str:
    """Write a table of variants by figures, with the longer dimension as rows."""
    names = dict(zip(lines, name_lines(list(lines)), strict=True))
    figures = list(dict.fromkeys(figure for cells in lines.values() for figure in cells))
    table = [[value(cells[figure], ends) if figure in cells else "" for figure in figures] for cells in lines.values()]
    across, down = figures, list(names.values())
    if len(across) > len(down):
        across, down, table = down, across, [list(column) for column in zip(*table, strict=True)]
    variants, corpora = zip(*lines, strict=True)
    corner = ", ".join(side[0] for side in (variants, corpora) if len(set(side)) == 1 and side[0])
    return write_table([corner, *across], [[name, *cells] for name, cells in zip(down, table, strict=True)])


def name_lines(lines: list[Line]) -> list[str]:
    """Return the names of variants without the parts that all have in common."""
    differing = [side for side in (0, 1) if len({line[side] for line in lines}) > 1]
    return [", ".join(line[side] for side in differing if line[side]) for line in lines]


def write_table(head: list[str], body: list[list[str]]) -> str:
    """Write a Markdown table; columns of numbers are right-aligned."""
    numeric = [any(re.match(r"-?\d", row[i]) for row in body) and i > 0 for i in range(len(head))]
    rule = ["---:" if right else "---" for right in numeric]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body)) + "\n"


def data(row: MetricRow) -> str:
    """Return the corpus and its split."""
    return row.data if row.split in ("none", row.data) else f"{row.data} {row.split}"


def value(row: MetricRow, ends: Ends) -> str:
    """Format a figure, with its interval if there is one."""
    interval = [ends[key] for end in ENDS if (key := (row.name + end, row.data, row.split)) in ends]
    return number(row.value) + (f" [{', '.join(map(number, interval))}]" if interval else "")


def number(value: float) -> str:
    """Format a number: four decimals for shares, none for counts."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    app()
