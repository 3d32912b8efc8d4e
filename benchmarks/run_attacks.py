"""Run every attack of the catalogue (tests/attacks) and write one row an attack: how many planted strings are left.

usage: python -m benchmarks.run_attacks [--output metrics/attacks.json]
"""

import json
import sys
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from attacks.catalogue import Attack, load_attacks


def row(attack: Attack) -> dict[str, Any]:
    """Run an attack and write its row.

    attack (Attack): the attack.
    RETURNS (dict): a row of figures: the strings that are left as its value, and how many were planted and found.
    """
    with TemporaryDirectory() as folder:
        outcome = attack.run(Path(folder))
    return {
        "name": attack.title,
        "value": outcome.left,
        "target": 0,
        "better": "lower",
        "planted": outcome.planted,
        "found": outcome.planted - outcome.left,
        "ending": outcome.ending,
        "data": "tests/attacks",
        "split": "attacks",
        "command": "python -m benchmarks.run_attacks",
        "date": date.today().isoformat(),
    }


def main(
    output: Annotated[Path, typer.Option(help="File for the rows")] = ROOT / "metrics" / "attacks.json",
) -> None:
    """Run all attacks. Exits with 1 if a planted string is left."""
    rows = []
    for attack in load_attacks().values():
        rows.append(row(attack))
        typer.echo(f"{rows[-1]['found']:>3} found {rows[-1]['value']:>3} left  {rows[-1]['ending']:<9} {attack.title}")
    output.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    left = sum(item["value"] > 0 for item in rows)
    typer.echo(f"{len(rows)} attacks, {left} with something left")
    raise typer.Exit(int(left > 0))


if __name__ == "__main__":
    typer.run(main)
