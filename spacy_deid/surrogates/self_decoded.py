"""The strategy `self_decoded`: replaces names by names that a self-decoding model generates.

The model receives the fullest mention of a person and proposes subwords for each word of it, with probabilities. The
new words are drawn from them with the key of the patient and replace the same words in the other mentions of the
person. A new word is drawn again if it is forbidden, occurs in the context, has no vowel, or does not consist of 3 to
16 letters.

All mentions of a person are replaced in this way, or none. A person is replaced as with `consistent` if no new word is
found, or if a mention has words that the fullest mention does not have (inflected forms, titles, other spellings).
Mentions that are not names are replaced as with `consistent` too. So are user names and e-mail addresses, which
therefore do not agree with the generated names.
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
"""A model: names → for each name its words as (start, end, positions).

The new word has one subword per position; a position is a list of possible subwords with their probabilities.
"""

_WORD = re.compile(r"[^\W\d_]+")
_VOWEL = re.compile(r"[aeiouyáéíóúüäöåàèìòùâêîôûæø]", re.I)
_SHORTEST, _LONGEST = 3, 16  # letters of a generated word


class SelfDecoded:
    """Strategy that replaces the names of persons by names that a model generates; see the module.

    propose (Propose): the model; see `ml.self_decoder.SelfDecoder.propose`.
    lang (str): language of the model. Notes in other languages are replaced as with `consistent`.
    attempts (int): maximum number of draws for a word.
    words (Collection[str]): folded words that no surrogate may contain, in addition to `offensive_words`.

    asked, left (int): counters: persons for whom a surrogate was requested, and those among them who were replaced as
        with `consistent` instead.
    """

    def __init__(self, propose: Propose, lang: str, attempts: int = 20, words: Collection[str] = frozenset()) -> None:
        self.propose, self.lang, self.attempts = propose, lang, attempts
        self.words = frozenset(words) | offensive_words(lang)
        self.asked = self.left = 0

    def __repr__(self) -> str:
        return f"SelfDecoded({self.lang!r})"

    def __call__(self, mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
        """Return a choice for each mention of one label; see `strategies.Strategy`."""
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
        """Replace all mentions of one person by a generated name.

        texts (Sequence[str]): the mentions of the person.
        key (IdentityKey): the key of the patient.
        taken (set[str]): folded words that the name must not contain; the generated words are added to it.
        RETURNS (Optional[list[str]]): the surrogate of each mention; None if no name could be generated.
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
        """Draw up to `attempts` words, and yield those of 3 to 16 letters with at least one vowel."""
        for _ in range(self.attempts):
            new = "".join(
                draw.weighted([piece for piece, _ in position], [p for _, p in position]) for position in positions
            )
            if new.isalpha() and _SHORTEST <= len(new) <= _LONGEST and _VOWEL.search(new):
                yield new


def _parts(text: str) -> list[str]:
    """Return the words of a name that are replaced: all except particles in lower case, such as "de"."""
    particles = shared_words("people.toml", "particles", "kept")
    return [word for word in _WORD.findall(text) if fold(word) not in particles or not word.islower()]


def _write(text: str, made: Mapping[str, str]) -> str:
    """Replace the words of a mention; its punctuation, white space and case stay. `made`: old word → new word."""

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
