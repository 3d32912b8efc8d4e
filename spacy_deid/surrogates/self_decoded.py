"""The strategy `self_decoded`: names that a self-decoding model generates from names, drawn with the patient's key.

A person is replaced completely or not at all: the model gets the fullest mention, and the other mentions follow word
by word. A generated word that is empty, unchanged, forbidden or in the dictionary is drawn again. A person is left to
the strategy `consistent` if no word is found, or if a mention has other words than the fullest one (inflected forms,
titles, other spellings). So is every mention that is not a name.

User names and e-mail addresses are made by `consistent`: they do not follow the names that are generated here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ..lang import shared_words
from ..lang.text import fold
from .forbidden import Forbidden, offensive_words
from .keys import Draw, IdentityKey
from .mention import PERSONS, Mention
from .strategies import Choice, Replacement, Setting

Propose = Callable[[Sequence[str]], Sequence[Sequence[tuple[int, int, Sequence[Sequence[tuple[str, float]]]]]]]
"""Names → for each name its words as (start, end, positions); a position is a list of subwords and probabilities."""

_WORD = re.compile(r"[^\W\d_]+")
_VOWEL = re.compile(r"[aeiouyáéíóúüäöåàèìòùâêîôûæø]", re.I)
_SHORTEST, _LONGEST = 3, 16  # letters of a generated word


class SelfDecoded:
    """The strategy `self_decoded`.

    propose (Propose): the model; see `ml.self_decoder.SelfDecoder.propose`.
    lang (str): language of its names. In notes of other languages the strategy is `consistent`.
    attempts (int): maximum number of draws for a word.
    words (Collection[str]): folded words that no surrogate may contain.

    asked, left (int): number of persons looked up, and of those left to `consistent`.
    """

    def __init__(self, propose: Propose, lang: str, attempts: int = 20, words: Collection[str] = frozenset()) -> None:
        self.propose, self.lang, self.attempts = propose, lang, attempts
        self.words = frozenset(words) | offensive_words(lang)
        self.asked = self.left = 0

    def __repr__(self) -> str:
        return f"SelfDecoded({self.lang!r})"

    def __call__(self, mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
        """Choose for the mentions of one label; see `strategies.Strategy`."""
        if setting.lang != self.lang:
            return [0] * len(mentions)
        groups: dict[int, list[int]] = defaultdict(list)
        for i, (mention, entity) in enumerate(zip(mentions, setting.entities, strict=True)):
            if mention.label in PERSONS:
                groups[entity].append(i)
        out: list[Choice] = [0] * len(mentions)
        # The context of a mention may have names of other labels, which this call does not see.
        taken = {fold(word) for m in mentions for word in _WORD.findall(f"{m.before} {m.text} {m.after}")}
        # Lexical order, so that surrogates do not depend on the order of the text.
        for group in sorted(groups.values(), key=lambda group: sorted(mentions[i].text for i in group)):
            texts = [mentions[i].text for i in group]
            made = self.replace_names(texts, setting.key, taken)
            self.asked += 1
            self.left += made is None
            for i, text in zip(group, made or [], strict=made is not None):
                out[i] = Replacement(text)
        return out

    def replace_names(self, texts: Sequence[str], key: IdentityKey, taken: set[str]) -> list[str] | None:
        """Replace the mentions of one person.

        texts (Sequence[str]): the mentions.
        key (IdentityKey): the key of the patient.
        taken (set[str]): folded words that are in use; the generated words are added.
        RETURNS (Optional[list[str]]): the surrogate of each mention; None if the person is left to `consistent`.
        """
        fullest = max(texts, key=lambda text: (len(_parts(text)), len(text), text))
        wanted = {fold(word): word for word in _parts(fullest)}
        if not wanted:
            return None
        for word in (word for text in texts for word in _parts(text)):  # a word of the fullest mention, or an initial
            initial = len(word) == 1 and any(other.startswith(fold(word)) for other in wanted)
            if fold(word) not in wanted and not initial:
                return None
        if any(fold(word) in wanted for text in texts for word in _WORD.findall(text) if word not in _parts(text)):
            return None  # a particle that is kept would be a part of the name
        titled = _WORD.sub(lambda word: word[0].capitalize(), fullest)
        if len(titled) != len(fullest):  # a letter whose capital is two letters
            return None
        forbidden = Forbidden([Mention(text, "PERSON", "", "") for text in texts], self.lang, self.words)
        proposed = {fullest[start:end]: positions for start, end, positions in self.propose([titled])[0]}
        made: dict[str, str] = {}
        for word, positions in {fold(old): new for old, new in proposed.items() if old in _parts(fullest)}.items():
            used = taken.union(map(fold, made.values()))
            drawn = self._draw_words(positions, key.draw("self-decoded", self.lang, word))
            found = next((new for new in drawn if fold(new) not in used and not forbidden(new)), None)
            if found is None:
                return None
            made[word] = found
        if made.keys() != wanted.keys():
            return None
        taken.update(map(fold, made.values()))
        return [_write(text, made) for text in texts]

    def _draw_words(self, positions: Sequence[Sequence[tuple[str, float]]], draw: Draw) -> Iterator[str]:
        """Draw words that can be pronounced, `attempts` times at most."""
        for _ in range(self.attempts):
            new = "".join(
                draw.weighted([piece for piece, _ in position], [p for _, p in position]) for position in positions
            )
            if new.isalpha() and _SHORTEST <= len(new) <= _LONGEST and _VOWEL.search(new):
                yield new


def _parts(text: str) -> list[str]:
    """Return the words of a name that are replaced: all but particles."""
    particles = shared_words("people.toml", "particles", "kept")
    return [word for word in _WORD.findall(text) if fold(word) not in particles or not word.islower()]


def _write(text: str, made: Mapping[str, str]) -> str:
    """Write a mention with new words and its own punctuation, white space and capitals."""

    def written(found: re.Match[str]) -> str:
        word = found[0]
        if word not in _parts(text):
            return word
        folded = fold(word)
        new = made[folded] if folded in made else next(new[:1] for old, new in made.items() if old.startswith(folded))
        if word.isupper():
            return new.upper()
        return new.lower() if word.islower() else new[:1].upper() + new[1:]

    return _WORD.sub(written, text)
