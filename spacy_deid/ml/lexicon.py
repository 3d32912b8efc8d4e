"""Look up features of words for the token classifier: the lists that contain a word, its frequency, and its cluster.

The lists contain names, places and professions. A lexicon maps the hash of a word, ignoring case and accents, to these
features. It contains no words, so it can be saved with a model.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import srsly
from spacy.strings import hash_string  # type: ignore[attr-defined]

from ..errors import ConfigError, Errors

BANDS = 8  # bands of word frequency, three bits
_BAND_BITS = 3
_MOST_LISTS = 13  # lists and band fill sixteen bits


def fold_word(word: str) -> str:
    """Convert a word to the form in which it is looked up in the lexicon: in lower case and without accents.

    word (str): a word.
    RETURNS (str): the folded form; "" for a word of combining marks only.
    """
    parts = unicodedata.normalize("NFD", word.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def band(count: int) -> int:
    """Return the frequency band of a word, a coarse logarithm of its count.

    count (int): number of lower-case occurrences of the word.
    RETURNS (int): band from 0 (never) to 7; each band covers a factor of four.
    """
    return 0 if count <= 0 else min(BANDS - 1, 1 + int(np.log2(count)) // 2)


def _key(word: str) -> int:
    """Return the upper half of the hash of a word; among 100,000 words about two collide."""
    return int(hash_string(fold_word(word))) >> 32


class Lexicon:
    """A table from the hash of a word to the lists that contain it, its frequency band and its cluster.

    A cluster is a number of words that occur in similar contexts; clusters are combined into coarser groups.
    """

    def __init__(self, keys: np.ndarray, kinds: np.ndarray, clusters: np.ndarray, groups: np.ndarray) -> None:
        """Initialize the table.

        keys (ndarray): hashes, uint32, sorted, shape (words,).
        kinds (ndarray): uint16; the lists that contain the word as bits, above its frequency band.
        clusters (ndarray): uint16, cluster of the word, 0 for none.
        groups (ndarray): uint16, group of each cluster, shape (clusters + 1,).
        """
        self.keys, self.kinds, self.clusters, self.groups = keys, kinds, clusters, groups

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.keys)

    def look_up(self, word: str) -> tuple[int, int, int]:
        """Look up the features of a word.

        word (str): the word as written.
        RETURNS (tuple[int, int, int]): kind (the lists that contain the word as bits, above its frequency band), group
            of its cluster, and cluster; zeros for an unknown word.
        """
        key = _key(word)
        at = int(self.keys.searchsorted(np.uint32(key)))  # a plain int would have the whole column cast
        if at == len(self.keys) or int(self.keys[at]) != key:
            return 0, 0, 0
        cluster = int(self.clusters[at])
        return int(self.kinds[at]), int(self.groups[cluster]), cluster

    def to_bytes(self) -> bytes:
        """Serialize the lexicon.

        RETURNS (bytes): the data, from which `from_bytes` creates an equal lexicon.
        """
        parts = {"keys": self.keys, "kinds": self.kinds, "clusters": self.clusters, "groups": self.groups}
        return bytes(srsly.msgpack_dumps({name: part.tobytes() for name, part in parts.items()}))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """Create a lexicon from serialized data.

        data (bytes): the result of `to_bytes`.
        RETURNS (Lexicon): the lexicon.
        RAISES: ConfigError (D210) if the data are not a lexicon.
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
        RAISES: ConfigError if the file does not exist (D211) or is not a lexicon (D210).
        """
        if not Path(path).is_file():
            raise ConfigError(Errors.D211.format(path=path))
        return cls.from_bytes(Path(path).read_bytes())


def build_lexicon(
    lists: Mapping[str, Iterable[str]], counts: Mapping[str, int], clusters: Mapping[str, int], groups: Sequence[int]
) -> Lexicon:
    """Build the lexicon that provides features of words to the token classifier.

    lists (Mapping[str, Iterable[str]]): list name → words, at most 13 lists. The n-th list sets bit n of a word.
    counts (Mapping[str, int]): word → number of lower-case occurrences in a background corpus.
    clusters (Mapping[str, int]): word → cluster, from 1.
    groups (Sequence[int]): the coarser group, from 1, of each cluster.
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
