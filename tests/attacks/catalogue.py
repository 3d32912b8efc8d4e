"""The attacks that were tried on the product, each with what may not be left after it.

An attack builds its hostile input in a folder, runs the product on it and counts what can still be read of the strings
that it planted. The modules ``*_attacks.py`` beside this file hold the attacks; ``test_attacks.py`` runs each of them,
and ``benchmarks/run_attacks.py`` writes their outcomes to ``metrics/attacks.json``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

__all__ = ["ATTACKS", "Attack", "Outcome", "attack", "load_attacks"]


@dataclass(frozen=True)
class Outcome:
    """What an attack achieved.

    planted (int): strings that were planted, at least one.
    left (int): planted strings that can still be read in what was released.
    ending (str): how the product reacted: "removed", "warned" (released with a warning that names the place),
        "withheld" (no copy) or "refused" (an error before anything was released).
    """

    planted: int
    left: int
    ending: str = "removed"


@dataclass(frozen=True)
class Attack:
    """An attack: its title as the table of attacks shows it, and the function that carries it out in a folder.

    slow (bool): whether it runs only with `pytest -m slow`, because it takes long and quick tests cover its behaviour.
    """

    title: str
    run: Callable[[Path], Outcome]
    slow: bool = False


ATTACKS: dict[str, Attack] = {}


def attack(title: str, *, slow: bool = False) -> Callable[[Callable[[Path], Outcome]], Callable[[Path], Outcome]]:
    """Add a function to the catalogue.

    title (str): unique; names the kind of file or the interface first, as in "PDF: text in a tiling pattern".
    slow (bool): as in `Attack`.
    RETURNS (Callable): the decorator. The function gets an empty folder and returns an `Outcome`.
    RAISES: ValueError if two attacks have one title.
    """

    def add(run: Callable[[Path], Outcome]) -> Callable[[Path], Outcome]:
        if title in ATTACKS:
            raise ValueError(f"two attacks are called {title!r}")
        ATTACKS[title] = Attack(title, run, slow)
        return run

    return add


def load_attacks() -> dict[str, Attack]:
    """Import every module of attacks.

    RETURNS (dict[str, Attack]): title → attack, in the order of the titles.
    """
    for path in sorted(Path(__file__).parent.glob("*_attacks.py")):
        import_module(f"attacks.{path.stem}")
    return dict(sorted(ATTACKS.items()))
