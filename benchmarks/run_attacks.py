"""Run all attacks of the catalogue (tests/attacks) and write the number of recovered strings of each.

python -m benchmarks.run_attacks [--output metrics/attacks.json]
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
    """Run an attack and create its row.

    attack (Attack): the attack.
    RETURNS (dict): metric row with the number of recovered strings as value, and the numbers of planted and found
        strings.
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
    output: Annotated[Path, typer.Option(help="File of the metric rows.")] = ROOT / "metrics" / "attacks.json",
) -> None:
    """Run all attacks. Exits with code 1 if a planted string is recovered."""
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
