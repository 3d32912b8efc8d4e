"""Find the terms of several words of an institution in which one word is misspelt: "Hopsital Roca", "Ana Villaesca".

A store of an institution contains hashes of its terms, not their letters (see `institution`), so that similar terms
cannot be listed. Instead, every way of correcting one letter of a word in the note is hashed and looked up together
with the words around it. The error is one letter replaced, missing, added or swapped with the next (optimal string
alignment, Damerau 1964), and not in the first letter. The other words of the term must be in the note as in the
dictionary, and one of them must be long enough to tell something.

About 400 corrections are looked up per word. Therefore only words are corrected that are capitalised or next to a
capitalised word. A short word, or one in lower case, must be no word of the language.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .institution import CONTINUES, SET, Hashes, Institution, WordHashes, power, value_of
from .matcher import FUZZY, Integers, Match, find_outer
from .normalise import Normalised, code_points
from .terms import PERSONS, Tag, function_words

_SHORTEST = 3  # letters of a misspelt word
_SHORTEST_WORD = 5  # letters of a misspelt word that is also a word of the language
_TELLING = 3  # letters of another word of the term
_BEFORE, _AFTER = 6, 8  # words and punctuation marks of a term before and after the misspelt word
_CAPITALS = 0.05  # minimal share of capitalised words in a note that uses capitals
_WORD = re.compile(r"[^\W\d_]+")
_GAPS = frozenset({" ", ", ", ". "})
_LETTERS = np.array([ord(letter) for letter in "abcdefghijklmnopqrstuvwxyz"], dtype=np.uint32)

_Span = tuple[int, int]  # offsets of a word in the normalised text


class Corrections(NamedTuple):
    """The words that differ from n given words in one letter after the first, as hashes.

    hashes (NDArray): the hash of each of the k corrected words. Shape (k,), uint64.
    lengths (NDArray): the number of its letters. Shape (k,).
    owners (NDArray): the index of the given word from which it differs, ascending. Shape (k,).
    """

    hashes: Hashes
    lengths: Integers
    owners: Integers


def correct(words: Sequence[str]) -> Corrections:
    """Hash all words that differ from given words in one letter after the first.

    words (Sequence[str]): normal forms of n words.
    RETURNS (Corrections): the words with one letter replaced, missing, added, or swapped with the next.
    """
    sizes = np.fromiter(map(len, words), dtype=np.int64)
    values = value_of(code_points("".join(words)))
    owners = np.repeat(np.arange(len(words)), sizes)
    offsets = np.arange(len(values)) - (np.cumsum(sizes) - sizes).take(owners)
    places = power(offsets)
    parts = values * places
    sums = np.cumsum(parts)
    firsts = np.cumsum(sizes) - sizes
    begins = (sums[firsts] - parts[firsts]).take(owners)  # sum before the first letter of each word
    whole = (sums[np.cumsum(sizes) - 1] - begins[firsts]).take(owners)
    done = sums - begins  # up to this letter, with it
    rest = whole - done  # after this letter
    base, inverse = power(np.array([1])), power(np.array([-1]))
    letters, after = value_of(_LETTERS), np.flatnonzero(offsets)
    within = after[offsets.take(after) < sizes.take(owners.take(after)) - 1]
    step = values[1:].take(within) - values.take(within)
    replaced = whole[after][:, None] + (letters - values[after][:, None]) * places[after][:, None]
    added = (done + rest * base)[:, None] + letters * (places * base)[:, None]
    left_out = done[after] - parts[after] + rest[after] * inverse
    swapped = whole[within] + step * places[within] - step * places[within] * base
    made = [(replaced, after, 0), (added, np.arange(len(values)), 1), (left_out, after, -1), (swapped, within, 0)]
    hashes = np.concatenate([kind.ravel() for kind, _, _ in made])
    origin = np.concatenate([np.repeat(at, kind.size // max(len(at), 1)) for kind, at, _ in made])
    change = np.concatenate([np.full(kind.size, longer) for kind, _, longer in made])
    changed = np.flatnonzero(hashes != whole.take(origin))
    changed = changed[np.argsort(owners.take(origin.take(changed)), kind="stable")]
    owner = owners.take(origin.take(changed))
    return Corrections(hashes.take(changed), sizes.take(owner) + change.take(changed), owner)


def find_misspelt(
    institution: Institution,
    text: str,
    folded: Normalised,
    is_word: Callable[[str], bool],
    exact: Iterable[Match] = (),
) -> list[Match]:
    """Find the terms of several words in which one word is misspelt. Terms with a condition are not searched for.

    institution (Institution): the terms.
    text (str): the original text.
    folded (Normalised): the same text, normalised.
    is_word (Callable): returns whether a normalised word is a word of the language.
    exact (Iterable[Match]): what was found already; words in it are not misspelt.
    RETURNS (list[Match]): the matches in text order. Their rules end with `FUZZY`.
    """
    suspects = list(_suspects(folded, exact)) if len(institution) else []
    if not suspects:
        return []
    found: dict[_Span, set[Tag]] = {}
    for word, start, end, tags in _corrected_terms(institution, folded, suspects):
        kept = {tag for tag in tags if not tag.condition and _is_telling(text, folded, start, end, word, tag)}
        if kept and _can_be_misspelt(text, folded, word, is_word):
            found.setdefault((start, end), set()).update(kept)
    if not found:
        return []
    spans = sorted(found)
    starts, ends = (np.array(column) for column in zip(*spans, strict=True))
    first, last = folded.original(starts, ends)
    return [
        Match(first[i], last[i], tag.label, tag.rule + FUZZY)
        for i in find_outer(starts, ends).tolist()
        for tag in sorted(found[spans[i]])
    ]


def _suspects(folded: Normalised, exact: Iterable[Match]) -> Iterator[_Span]:
    """Yield the words of a note that can be misspelt words of a term: those that are beside another word, of which one
    is capitalised, outside of what was found already."""
    covered = np.zeros(len(folded.classes) + 1, dtype=bool)
    for match in exact:
        covered[match.start : match.end] = True
    spans = [match.span() for match in _WORD.finditer(folded.text)]
    if not spans:
        return
    first = folded.origin.take([start for start, _ in spans])
    known = covered.take(first).tolist()
    small = folded.is_lowercase(first.tolist()).tolist()
    if folded.capitalised_share() <= _CAPITALS:
        small = [False] * len(small)
    for i, (start, end) in enumerate(spans):
        if not known[i] and end - start >= _SHORTEST:
            near = (j for j in (i - 1, i + 1) if 0 <= j < len(spans) and not (small[i] and small[j]))
            if any(_are_beside(folded.text, spans, min(i, j)) for j in near):
                yield start, end


def _can_be_misspelt(text: str, folded: Normalised, word: _Span, is_word: Callable[[str], bool]) -> bool:
    """Return whether a word is no word of the language, or a long one with a capital."""
    capital = text[int(folded.origin[word[0]])].isupper()
    return (capital and word[1] - word[0] >= _SHORTEST_WORD) or not is_word(folded.text[word[0] : word[1]])


def _are_beside(text: str, spans: Sequence[_Span], i: int) -> bool:
    """Return whether only a space, possibly with a mark before it, is between a word and the next."""
    return text[spans[i][1] : spans[i + 1][0]] in _GAPS


def _corrected_terms(
    institution: Institution, folded: Normalised, suspects: Sequence[_Span]
) -> Iterator[tuple[_Span, int, int, tuple[Tag, ...]]]:
    """Yield each term that contains a corrected word: the word, the start and the end of the term, and its tags."""
    words = WordHashes(code_points(folded.text), folded.edges)
    made = correct([folded.text[start:end] for start, end in suspects])
    bounds = np.searchsorted(made.owners, np.arange(len(suspects) + 1))
    begins = np.flatnonzero(institution.may_begin(made.hashes))
    begins = begins[(institution.look_up(made.hashes.take(begins)) & CONTINUES) != 0]
    owners = made.owners.take(begins)
    for i in np.unique(owners).tolist():
        at = begins[owners == i]
        yield from _ends(institution, words, suspects[i][0], suspects[i], made.hashes.take(at), made.lengths.take(at))
    for i, start in _starts(institution, words, [start for start, _ in suspects]):
        word, own = suspects[i], slice(bounds[i], bounds[i + 1])
        before = words.hash(np.array([start]), np.array([word[0]]))
        longer = before + made.hashes[own] * power(np.array([word[0] - start]))
        at = np.flatnonzero(institution.look_up(longer))
        if len(at):
            yield from _ends(institution, words, start, word, longer.take(at), made.lengths[own].take(at))


def _starts(institution: Institution, words: WordHashes, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the offsets before words from which a term can continue to them, each with the index of the word."""
    at = np.searchsorted(words.starts, places)[:, None] - np.arange(1, _BEFORE + 1)
    rows, columns = np.nonzero(at >= 0)
    starts = words.starts.take(at[rows, columns])
    # a term has a node for each of its words, and none for the space between the last one and this word
    ends = words.ends.take(np.searchsorted(words.ends, places, side="right") - 1).take(rows)
    kept = np.flatnonzero(institution.look_up(words.hash(starts, ends)) & CONTINUES)
    yield from zip(rows.take(kept).tolist(), starts.take(kept).tolist(), strict=True)


def _ends(
    institution: Institution, words: WordHashes, start: int, word: _Span, hashes: Hashes, lengths: Integers
) -> Iterator[tuple[_Span, int, int, tuple[Tag, ...]]]:
    """Yield the terms that begin with k corrected stretches of the text, which end with a word: the word, the start
    and the end of each term, and its tags.

    hashes (NDArray): the hashes of the corrected stretches. Shape (k,).
    lengths (NDArray): the number of letters of the corrected word in each. Shape (k,).
    """
    at = int(np.searchsorted(words.ends, word[1]))
    ends = words.ends[at : at + 1 + _AFTER]
    behind = np.zeros(len(ends), dtype=np.uint64)
    behind[1:] = words.hash(np.full(len(ends) - 1, word[1]), ends[1:])
    whole = hashes[:, None] + behind * power(word[0] - start + lengths)[:, None]
    nodes: NDArray[np.uint32] = institution.look_up(whole.ravel()).reshape(whole.shape)
    for i, j in np.argwhere(nodes & SET).tolist():
        yield word, start, int(ends[j]), institution.tags_of(nodes[i, j])


def _is_telling(text: str, folded: Normalised, start: int, end: int, word: _Span, tag: Tag) -> bool:
    """Return whether the other words of a term are sufficient evidence that a word of it is misspelt: one of them is
    long enough, and capitals are as in a name."""
    others = [match.span() for match in _WORD.finditer(folded.text, start, end) if match.span() != word]
    telling = [a for a, b in others if b - a >= _TELLING and folded.text[a:b] not in function_words()]
    if folded.capitalised_share() <= _CAPITALS:
        return bool(telling)
    capitals = [text[int(folded.origin[at])].isupper() for at in telling]
    capital = text[int(folded.origin[word[0]])].isupper()
    if tag.label in PERSONS:
        return capital and any(capitals)
    return bool(telling) and (capital or any(capitals))
