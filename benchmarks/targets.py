"""Gather every figure that has a target in one file a field of work, whatever command measured it.

    python -m benchmarks.targets [detection|dictionaries|surprisal]

A row keeps its command, data, split and date, and the rows of its interval; its name says the language where the file
does.
"""

import dataclasses
import re
import sys
from pathlib import Path

from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.evaluation.rows import ENDS

from .figures import met

METRICS = Path("metrics")
SOURCES = {
    "detection": ["detection_*", "fairness_*", "throughput", "size", "peers", "inflection_fi"],
    "dictionaries": ["local_ablation", "dictionaries_speed", "rare_names", "recovery", "audit"],
    "surprisal": ["surprisal_*", "masked_lm", "lemmatizers"],
}


def main(fields: list[str]) -> None:
    """Write the files anew."""
    for field in fields:
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
        print(f"{target}: {len(aims)} figures with a target, {len(missed)} missed, {len(ties)} ties with a peer")
        print("\n".join(f"  {name}" for name in missed))


def read_targets(path: Path) -> list[MetricRow]:
    """Rows of a file that have a target, and their intervals, with the language in their names."""
    lang = re.search(r"_(es|en|fi)\.json$", path.name)
    found = read_rows(path)
    aims = {row.key for row in found if row.target is not None}
    ends = {(name + end, data, split) for name, data, split in aims for end in ENDS}
    rows = [row for row in found if row.key in aims | ends]
    return [dataclasses.replace(row, name=f"{lang[1]}: {row.name}") if lang else row for row in rows]


if __name__ == "__main__":
    main(sys.argv[1:] or list(SOURCES))
