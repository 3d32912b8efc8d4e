"""Count phrases in a background corpus, to recognize phrases that are too common to identify a person or a place.

"Primary Care", "Max" and "Will" are names in the tables of a hospital but also occur in any other text. A phrase is an
n-gram of words in normal form without a comma, line end or similar mark in between. It is stored as a 64-bit hash
while phrases are counted, and as a shorter hash in a file, so that it takes 16 bytes in memory and about 3 in a file.
The probability that an unknown phrase is mistaken for a counted one is at most `FALSE_HIT`.

If there are more phrases than the limit, the rarest are dropped: all with the smallest counts, until half are left. So
a count is never too high (except for hash collisions), and too low by at most `PhraseCounts.error`, the sum of the
counts up to which phrases were dropped (compare lossy counting, Manku and Motwani 2002).
"""

import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from math import ceil, log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from numpy.typing import NDArray

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words, name_words
from ..errors import ConfigError, Errors
from ..io import write_whole
from ..lang import all_languages, get_language, language_codes

FALSE_HIT = 2.0**-16
_SPARE_BITS = 16
_MAGIC = b"DEIDCNT1"
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_BREAK = re.compile(r"[\n\r,;:!?()\[\]{}\"«»„“”|/=<>]|(?<=\w{4})\.(?=\s|$)|(?<!\w)\.(?!\w)")
_BUFFER = 1 << 20  # words that are counted at once
_CACHED = 1 << 20  # words whose hashes are kept

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]


class _Table(NamedTuple):
    """Sorted hashes of phrases and the count of each."""

    keys: Keys
    counts: Counts


_EMPTY = _Table(np.empty(0, np.uint64), np.empty(0, np.int64))


class PhraseCounts:
    """How often each phrase occurs in a corpus. Phrases are stored as hashes and cannot be listed.

    total (int): number of words in the corpus.
    texts (int): number of texts in the corpus.
    max_words (int): maximum number of words per phrase.
    error (int): maximum error of a count, which can only be too low.
    bits (int): number of bits of a stored hash; 64 while counting.
    manifest (dict): description of the corpus.
    """

    def __init__(self, max_words: int = 3) -> None:
        self.max_words = max_words
        self.total = 0
        self.texts = 0
        self.error = 0
        self.bits = 64
        self.manifest: dict[str, Any] = {}
        self._table = _EMPTY

    def __len__(self) -> int:
        """Return the number of phrases that have a count."""
        return len(self._table.keys)

    def count(self, phrase: str) -> int:
        """Return the frequency of a phrase.

        phrase (str): one or more words in any case. For a phrase longer than `max_words`, the count of its rarest part
            of `max_words` words is returned.
        RETURNS (int): the count; 0 if the phrase did not occur or was too rare to keep.
        """
        words = [_word_key(word) for word in _WORD.findall(normal_form(phrase))]
        if not words:
            return 0
        size = min(len(words), self.max_words)
        keys = _join(np.array(words, np.uint64), size) >> np.uint64(64 - self.bits)
        at = np.searchsorted(self._table.keys, keys)
        inside = at < len(self)
        found = np.zeros(len(keys), np.int64)
        found[inside] = self._table.counts[at[inside]] * (self._table.keys[at[inside]] == keys[inside])
        return int(found.min())

    def per_million(self, phrase: str) -> float:
        """Return the frequency of a phrase per million words.

        phrase (str): as for `count`.
        RETURNS (float): the frequency; 0.0 for an empty corpus.
        """
        return 1e6 * self.count(phrase) / self.total if self.total else 0.0

    def keep(self, most: int) -> None:
        """Keep the most frequent phrases and drop the others, to limit memory.

        Of phrases with the same count, all or none are dropped. `error` increases by the highest dropped count.

        most (int): maximum number of phrases to keep.
        """
        if len(self) <= most:
            return
        floor = int(np.partition(self._table.counts, len(self) - most - 1)[len(self) - most - 1])
        kept = self._table.counts > floor
        self._table = _Table(self._table.keys[kept], self._table.counts[kept])
        self.error += floor

    def add(self, words: Keys) -> None:
        """Add the phrases in a sequence of words to the counts.

        words (Keys): hashes of the words, with 0 where a phrase must not continue.
        """
        grams = [_join(words, size) for size in range(1, self.max_words + 1)]
        self.total += int(np.count_nonzero(words))
        keys, counts = np.unique(np.concatenate([gram[gram != 0] for gram in grams]), return_counts=True)
        self._table = _merge(self._table, _Table(keys, counts.astype(np.int64)))

    def to_bytes(self) -> bytes:
        """Serialize the counts. Hashes are shortened as far as `FALSE_HIT` allows.

        RETURNS (bytes): compressed msgpack without readable phrases. The count of a guessed phrase can be queried.
        """
        bits = min(self.bits, ceil(log2(max(len(self), 2))) + _SPARE_BITS)
        keys = self._table.keys >> np.uint64(self.bits - bits)
        table = _merge(_EMPTY, _Table(keys, self._table.counts))
        message = {
            "about": [self.max_words, self.total, self.texts, self.error, bits],
            "manifest": self.manifest,
            "keys": _pack(np.diff(table.keys, prepend=np.uint64(0))),
            "counts": _pack(table.counts.astype(np.uint64)),
        }
        return _MAGIC + bytes(srsly.msgpack_dumps(message))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "counts") -> "PhraseCounts":
        """Create counts from bytes that `to_bytes` returned.

        data (bytes): output of `to_bytes`.
        name (str): name of the counts for error messages.
        RETURNS (PhraseCounts): the counts.
        RAISES: ConfigError (D705) for other data.
        """
        if not data.startswith(_MAGIC):
            raise ConfigError(Errors.D705.format(path=name))
        try:
            message = srsly.msgpack_loads(data[len(_MAGIC) :])
            counts = cls()
            counts.max_words, counts.total, counts.texts, counts.error, counts.bits = message["about"]
            counts.manifest = message["manifest"]
            counts._table = _Table(np.cumsum(_unpack(message["keys"])), _unpack(message["counts"]).astype(np.int64))
        except (ValueError, KeyError, TypeError, lzma.LZMAError):
            raise ConfigError(Errors.D705.format(path=name)) from None
        return counts

    def to_file(self, path: str | Path) -> None:
        """Write the counts to a file atomically.

        path (str or Path): the file.
        RAISES: InputError (D402) if the file cannot be written.
        """
        write_whole(Path(path), self.to_bytes())

    @classmethod
    def from_file(cls, path: str | Path) -> "PhraseCounts":
        """Read a file that `to_file` wrote.

        path (str or Path): the file.
        RETURNS (PhraseCounts): the counts.
        RAISES: ConfigError if the file cannot be read (D707) or contains other data (D705).
        """
        if not Path(path).is_file():
            raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
        return cls.from_bytes(Path(path).read_bytes(), str(path))


def count_phrases(texts: Iterable[str], max_words: int = 3, limit: int = 20_000_000) -> PhraseCounts:
    """Count the phrases of texts in one pass, with bounded memory.

    texts (Iterable[str]): the texts, which are not kept.
    max_words (int): maximum number of words per phrase.
    limit (int): maximum number of phrases in memory. Each takes 16 bytes, and three times that during a merge.
    RETURNS (PhraseCounts): the counts; `PhraseCounts.error` is their maximum error.
    """
    counts = PhraseCounts(max_words)
    buffer: list[int] = []
    for text in texts:
        counts.texts += 1
        for stretch in stretches(text):
            buffer.extend(map(_word_key, stretch))
            buffer.append(0)
            if len(buffer) >= _BUFFER:
                _flush(counts, buffer, limit)
    _flush(counts, buffer, limit)
    return counts


def stretches(text: str) -> Iterator[list[str]]:
    """Split a text at punctuation and line ends into stretches of words. A phrase lies within one stretch.

    text (str): a text.
    YIELDS (list[str]): the words of a stretch in normal form. A full stop after a short word does not end a stretch:
        "St. Mary".
    """
    for piece in _BREAK.split(text):
        if words := _WORD.findall(normal_form(piece)):
            yield words


@cache
def load_background(lang: str) -> PhraseCounts:
    """Load the counts of open text in a language that are included in the package.

    lang (str): ISO 639-1 code.
    RETURNS (PhraseCounts): the counts.
    RAISES: ConfigError (D706) if the package has no counts for the language.
    """
    if lang not in (known := background_languages()):
        raise ConfigError(Errors.D706.format(lang=lang, known=", ".join(known)))
    return PhraseCounts.from_bytes(get_language(lang).resource("counts.bin").read_bytes(), f"counts/{lang}")


def background_languages() -> list[str]:
    """List the languages for which the package includes counts.

    RETURNS (list[str]): ISO 639-1 codes, sorted.
    """
    return language_codes("counts.bin")


def _flush(counts: PhraseCounts, buffer: list[int], limit: int) -> None:
    """Add the phrases of the buffered words to the counts, and drop rare phrases if there are more than `limit`."""
    if buffer:
        counts.add(np.array(buffer, np.uint64))
        buffer.clear()
        if len(counts) > limit:
            counts.keep(limit // 2)


_keys: dict[str, int] = {}


def _word_key(word: str) -> int:
    """Return the 64-bit hash of a word, which is never 0: 0 marks the end of a stretch."""
    if (key := _keys.get(word)) is None:
        if len(_keys) >= _CACHED:
            _keys.clear()
        key = _keys[word] = int.from_bytes(blake2b(word.encode("utf8", "replace"), digest_size=8).digest(), "big") or 1
    return key


def _join(words: Keys, size: int) -> Keys:
    """Return the hashes of all phrases of `size` words; 0 for those that cross the end of a stretch."""
    length = max(len(words) - size + 1, 0)
    keys = words[:length].copy()
    for i in range(1, size):
        following = words[i : i + length]
        mixed = _mix(keys) + following
        keys = np.where((keys != 0) & (following != 0), mixed, np.uint64(0))
    return keys


def _mix(keys: Keys) -> Keys:
    """Mix the bits of hashes, so that the order of words matters (finalizer of SplitMix64, Steele et al. 2014)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _merge(first: _Table, second: _Table) -> _Table:
    """Merge two tables, adding the counts of equal hashes."""
    keys = np.concatenate([first.keys, second.keys])
    counts = np.concatenate([first.counts, second.counts])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - np.uint64(1)) if len(keys) else keys)
    return _Table(keys[starts], np.add.reduceat(counts, starts) if len(keys) else counts)


def _pack(values: Keys) -> bytes:
    """Compress 64-bit numbers with LZMA, after grouping the bytes at the same position of each number."""
    return lzma.compress(values.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes(), preset=9)


def _unpack(data: bytes) -> Keys:
    """Decompress the output of `_pack`."""
    planes = np.frombuffer(lzma.decompress(data), np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view("<u8").astype(np.uint64).ravel()


LIMIT = 5.0
"""Occurrences per million words above which a phrase is ambiguous: too common to identify anybody by itself."""

_NAME_BONUS = 5.0
_WORD_BONUS = 0.1
_SHORT = 3  # letters; a shorter name is an abbreviation somewhere
_KEPT = 50_000  # words whose answers are kept


class Ambiguity:
    """Decides which phrases of a language are ambiguous: so common that they do not identify a person or place.

    counts (PhraseCounts | None): counts of a background corpus; without them only function words and short names are
        ambiguous.
    limit (float): occurrences per million words above which a phrase is ambiguous.
    """

    def __init__(self, counts: PhraseCounts | None, limit: float = LIMIT) -> None:
        self.counts = counts
        self.limit = limit
        self.is_common = lru_cache(_KEPT)(self._is_common)
        self.is_weak_name = lru_cache(_KEPT)(self._is_weak_name)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the caches, because they contain words of patient records."""
        return Ambiguity, (self.counts, self.limit)

    @classmethod
    def of(cls, lang: str, limit: float = LIMIT) -> "Ambiguity":
        """Create an instance with the counts that the package includes for a language, if any.

        lang (str): ISO 639-1 code.
        limit (float): occurrences per million words above which a phrase is ambiguous.
        RETURNS (Ambiguity): the instance; without counts if the package has none for the language.
        """
        return cls(load_background(lang) if lang in background_languages() else None, limit)

    def _is_common(self, phrase: str) -> bool:
        """Test whether a phrase is more frequent than the limit, or consists only of function words."""
        words = phrase.split()
        if all(word in function_words() for word in words):
            return True
        if self.counts is None:
            return False
        return self.counts.per_million(phrase) > self.limit * _bonus(words)

    def _is_weak_name(self, form: str) -> bool:
        """Test whether a form of a name is so common or short that it counts only in the context of a name."""
        words = [word.strip(".,") for word in form.split()]
        whole = [word for word in words if len(word) >= _SHORT and word not in function_words()]
        if not whole:
            return True
        if len(whole) > 1 or "." in form or "," in form:
            return False
        return self.is_common(whole[0])


@cache
def common_words(lang: str) -> Callable[[str], bool]:
    """Return a function that tests whether a phrase is common in a language, and thus probably not a name.

    lang (str): ISO 639-1 code. If the package has no counts for it, only function words are common.
    RETURNS (Callable): function that takes a phrase and returns a bool.
    """
    return Ambiguity.of(lang).is_common


def _bonus(words: list[str]) -> float:
    """Return the factor by which the limit is multiplied: higher for names, lower for names that are also words."""
    if all(word in _words_as_names() for word in words):
        return _WORD_BONUS
    return _NAME_BONUS if all(word in name_words() for word in words) else 1.0


@cache
def _words_as_names() -> frozenset[str]:
    """Return the names in all languages that are also words, as listed in ``synth/language.toml``."""
    settings = (language.read_toml("synth/language.toml") for language in all_languages())
    names = (setting.get("names", {}).get("words", {}) for setting in settings)
    return frozenset(normal_form(name) for groups in names for group in groups.values() for name in group)
