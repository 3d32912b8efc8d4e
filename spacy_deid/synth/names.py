"""Names by their frequency, by origin and by what else they mean, with some kept for the test alone.

A table is ``lang/XX/names/PART.csv``: ``name,count``, most frequent first. Groups of origin are in
``lang/XX/names/origins.toml``.
"""

import csv
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from random import Random

from ..errors import ConfigError, Errors
from ..lang import get_language

__all__ = ["COMMON", "NameTable", "is_reserved", "read_origins", "read_table", "stable_hash"]

COMMON = 500  # so many names of a list are too common to be kept for the test


def stable_hash(text: str) -> int:
    """Hash a text the same way on every machine and in every run, unlike ``hash``.

    text (str): any text.
    RETURNS (int): 64 bits.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def is_reserved(name: str, rank: int) -> bool:
    """Whether a name is kept for the test: one in ten of the rare ones.

    name (str): the name.
    rank (int): its place in its list, from 0.
    RETURNS (bool): never true among the `COMMON` commonest.
    """
    return rank >= COMMON and stable_hash(name) % 10 == 0


@dataclass(frozen=True)
class NameTable:
    """Names of one kind, to be drawn.

    names (tuple[str, ...]): commonest first.
    cumulative (tuple[float, ...]): running sums of the counts.
    """

    names: tuple[str, ...]
    cumulative: tuple[float, ...]

    @classmethod
    def from_counts(cls, rows: Sequence[tuple[str, float]]) -> "NameTable":
        """Make a table. rows (Sequence[tuple[str, float]]): name and count, commonest first."""
        return cls(tuple(name for name, _ in rows), tuple(accumulate(count for _, count in rows)))

    def draw(self, rng: Random, split: str, flat: float = 0.3) -> str:
        """Draw a name.

        rng (Random): the source of chance.
        split (str): "train" never draws a reserved name.
        flat (float): share that is drawn evenly, so that rare names occur as well.
        RETURNS (str): the name.
        """
        while True:
            if rng.random() < flat:
                rank = rng.randrange(len(self.names))
            else:
                rank = bisect(self.cumulative, rng.random() * self.cumulative[-1])
            name = self.names[min(rank, len(self.names) - 1)]
            if split == "test" or not is_reserved(name, rank):
                return name


@lru_cache(maxsize=32)
def read_table(lang: str, part: str) -> NameTable:
    """Read the names of a language.

    lang (str): code of the language.
    part (str): "female", "male" or "surname".
    RETURNS (NameTable): the names.
    RAISES: ConfigError (D604) if the file is not there or has another form.
    """
    path = get_language(lang).resource(f"names/{part}.csv")
    try:
        with path.open(encoding="utf8", newline="") as file:
            rows = [(row["name"], float(row["count"])) for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(Errors.D604.format(path=path.name, reason=type(error).__name__)) from None
    if not rows:
        raise ConfigError(Errors.D604.format(path=path.name, reason="no rows"))
    return NameTable.from_counts(rows)


@lru_cache(maxsize=8)
def read_origins(lang: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Read the groups of origin of a language.

    lang (str): code of the language.
    RETURNS (Mapping[str, Mapping[str, tuple[str, ...]]]): group → "female", "male", "surname" → names; empty where
        there are none.
    RAISES: ConfigError (D604) if the file is no TOML.
    """
    try:
        groups = get_language(lang).read_toml("names/origins.toml").get("groups", {})
    except ValueError:
        raise ConfigError(Errors.D604.format(path="origins.toml", reason="not valid TOML")) from None
    return {name: {part: tuple(names) for part, names in group.items()} for name, group in groups.items()}
