"""Gather every figure that has a target in metrics/detection.json, whatever command measured it.

    python scripts/targets.py

A row keeps its command, data, split and date; its name says the language where the file does.
"""

import dataclasses
import re
from pathlib import Path

from spacy_deid.evaluation import MetricRow, read_rows, write_rows

METRICS = Path("metrics")
SOURCES = ("detection_*.json", "fairness_*.json", "throughput.json", "size.json", "peers.json", "inflection_fi.json")


def main() -> None:
    """Write the file anew."""
    target = METRICS / "detection.json"
    rows = [row for pattern in SOURCES for path in sorted(METRICS.glob(pattern)) for row in read_targets(path)]
    target.unlink(missing_ok=True)
    write_rows(target, rows)
    missed = [row.name for row in rows if row.met is False]
    print(f"{target}: {len(rows)} figures with a target, {len(missed)} missed" + "".join(f"\n  {m}" for m in missed))


def read_targets(path: Path) -> list[MetricRow]:
    """Rows of a file that have a target, with the language in their names."""
    lang = re.search(r"_(es|en|fi)\.json$", path.name)
    rows = [row for row in read_rows(path) if row.target is not None]
    return [dataclasses.replace(row, name=f"{lang[1]}: {row.name}") if lang else row for row in rows]


if __name__ == "__main__":
    main()
