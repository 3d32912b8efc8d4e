"""What lists know of a word: whether names, places or professions hold it, how common it is, which words it is like.

A lexicon is a table from the hash of a word to two numbers. It holds no word, so it can be saved with a model, and it
is looked up once for each word form, whatever its case and accents.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import srsly
from spacy.strings import hash_string  # type: ignore[attr-defined]

from ..errors import ConfigError, Errors

__all__ = ["BANDS", "Lexicon", "band", "build_lexicon", "fold_word"]

BANDS = 8  # bands of word frequency, three bits
_BAND_BITS = 3
_MOST_LISTS = 13  # lists and band fill sixteen bits


def fold_word(word: str) -> str:
    """The form under which a word is looked up: no accents, no case.

    word (str): a word.
    RETURNS (str): the folded form; "" for a word of combining marks alone.
    """
    parts = unicodedata.normalize("NFD", word.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def band(count: int) -> int:
    """Frequency band of a count: 0 for unseen, then one more for each factor of four.

    count (int): how often the word was counted in lower case.
    RETURNS (int): 0 to 7.
    """
    return 0 if count <= 0 else min(BANDS - 1, 1 + int(np.log2(count)) // 2)


def _key(word: str) -> int:
    """The upper half of a word's hash: of 100,000 words two meet about once."""
    return int(hash_string(fold_word(word))) >> 32


class Lexicon:
    """Lists, frequencies and clusters of words, by hash."""

    def __init__(self, keys: np.ndarray, kinds: np.ndarray, clusters: np.ndarray, groups: np.ndarray) -> None:
        """
        keys (ndarray): uint32, sorted, shape (words,).
        kinds (ndarray): uint16, the lists that hold the word as bits above its frequency band.
        clusters (ndarray): uint16, number of the word's cluster, 0 for none.
        groups (ndarray): uint16, number of the wider group of each cluster, shape (clusters + 1,).
        """
        self.keys, self.kinds, self.clusters, self.groups = keys, kinds, clusters, groups

    def __len__(self) -> int:
        return len(self.keys)

    def look_up(self, word: str) -> tuple[int, int, int]:
        """Look a word up.

        word (str): word as written.
        RETURNS (tuple[int, int, int]): its kind, the group of its cluster, its cluster; zeros for an unknown word.
        """
        key = _key(word)
        at = int(self.keys.searchsorted(np.uint32(key)))  # a plain int would have the whole column cast
        if at == len(self.keys) or int(self.keys[at]) != key:
            return 0, 0, 0
        cluster = int(self.clusters[at])
        return int(self.kinds[at]), int(self.groups[cluster]), cluster

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): the table, which `from_bytes` reads."""
        parts = {"keys": self.keys, "kinds": self.kinds, "clusters": self.clusters, "groups": self.groups}
        return bytes(srsly.msgpack_dumps({name: part.tobytes() for name, part in parts.items()}))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """Read what `to_bytes` wrote.

        data (bytes): the table.
        RETURNS (Lexicon): the lexicon.
        RAISES: ConfigError (D210) if it is something else.
        """
        try:
            parts = srsly.msgpack_loads(data)
            keys = np.frombuffer(parts["keys"], dtype="<u4")
            kinds, clusters, groups = (np.frombuffer(parts[k], dtype="<u2") for k in ("kinds", "clusters", "groups"))
        except Exception:
            raise ConfigError(Errors.D210.format(reason="it cannot be read")) from None
        if not len(keys) == len(kinds) == len(clusters):
            raise ConfigError(Errors.D210.format(reason="its columns differ in length"))
        if len(clusters) and clusters.max() >= len(groups):
            raise ConfigError(Errors.D210.format(reason="a cluster has no group"))
        return cls(keys, kinds, clusters, groups)

    @classmethod
    def from_disk(cls, path: str | Path) -> "Lexicon":
        """Read a lexicon file.

        path (str | Path): the file.
        RETURNS (Lexicon): the lexicon.
        RAISES: ConfigError (D211) if there is no such file, (D210) if it is no lexicon.
        """
        if not Path(path).is_file():
            raise ConfigError(Errors.D211.format(path=path))
        return cls.from_bytes(Path(path).read_bytes())


def build_lexicon(
    lists: Mapping[str, Iterable[str]], counts: Mapping[str, int], clusters: Mapping[str, int], groups: Sequence[int]
) -> Lexicon:
    """Build a lexicon.

    lists (Mapping[str, Iterable[str]]): name of a list → its words, 13 lists at most; their order gives the bits.
    counts (Mapping[str, int]): word → how often it stands in lower case in a background corpus.
    clusters (Mapping[str, int]): word → number of its cluster, from 1.
    groups (Sequence[int]): group of each cluster, from 1.
    RETURNS (Lexicon): the lexicon.
    RAISES: ConfigError (D212) for too many lists.
    """
    if len(lists) > _MOST_LISTS:
        raise ConfigError(Errors.D212.format(most=_MOST_LISTS, given=len(lists)))
    kinds: dict[int, int] = {}
    for bit, words in enumerate(lists.values()):
        for key in {_key(word) for word in words}:
            kinds[key] = kinds.get(key, 0) | 1 << (_BAND_BITS + bit)
    sums: dict[int, int] = {}
    for word, count in counts.items():
        key = _key(word)
        sums[key] = sums.get(key, 0) + count
    for key, total in sums.items():
        kinds[key] = kinds.get(key, 0) | band(total)
    likes = {_key(word): number for word, number in clusters.items()}
    keys = sorted(kinds.keys() | likes.keys())
    return Lexicon(
        np.asarray(keys, dtype="<u4"),
        np.asarray([kinds.get(key, 0) for key in keys], dtype="<u2"),
        np.asarray([likes.get(key, 0) for key in keys], dtype="<u2"),
        np.asarray([0, *groups], dtype="<u2"),
    )
