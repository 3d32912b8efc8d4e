"""The strategy `self_decoded`: names that a self-decoding model makes of names, drawn by the key of the patient.

A person is replaced as a whole or not at all: the fullest mention goes through the model, the others follow word by
word. What is empty, the same again, out of the dictionary or forbidden is drawn anew; a person for whom nothing is
found, or whose mentions are no plain repetitions of words of the fullest one (inflected forms, titles, other
spellings), is left to the strategy `consistent`. So is every mention that is no name.

User names and e-mail addresses are made by `consistent`: they do not follow the names made here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from .forbidden import Forbidden, offensive_words
from .keys import Draw, IdentityKey
from .mention import Mention
from .persons import fold
from .strategies import Choice, Replacement, Setting

__all__ = ["Propose", "SelfDecoded"]

# For each name its words: where one starts and ends, and for each place of it pieces with their probabilities.
Propose = Callable[[Sequence[str]], Sequence[Sequence[tuple[int, int, Sequence[Sequence[tuple[str, float]]]]]]]

_WORD = re.compile(r"[^\W\d_]+")
_PARTICLES = frozenset("a af av da das de del der di do dos du e i la las le los san santa van von y zu".split())
_VOWEL = re.compile(r"[aeiouyáéíóúüäöåàèìòùâêîôûæø]", re.I)
_NAMED = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
_SHORTEST, _LONGEST = 3, 16  # letters of a word that is made


class SelfDecoded:
    """The strategy.

    propose (Propose): the model; see `ml.self_decoder.SelfDecoder.propose`.
    lang (str): language of its names. Notes of other languages are left to `consistent`.
    attempts (int): draws for a word before it is given up.
    words (Collection[str]): folded words that no surrogate has.

    asked, left (int): persons that were looked at, and those of them that were left to `consistent`.
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
            if mention.label in _NAMED:
                groups[entity].append(i)
        out: list[Choice] = [0] * len(mentions)
        # what stands around a mention may be a name of another label, which is not seen here
        taken = {fold(word) for m in mentions for word in _WORD.findall(f"{m.before} {m.text} {m.after}")}
        # by the alphabet, so that what a name becomes does not depend on where it stands
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
        taken (set[str]): folded words that are in use; what is made is added.
        RETURNS (Optional[list[str]]): for each mention its surrogate; None if the person is left to `consistent`.
        """
        fullest = max(texts, key=lambda text: (len(_parts(text)), len(text), text))
        wanted = {fold(word): word for word in _parts(fullest)}
        if not wanted or not all(_follows(word, wanted) for text in texts for word in _parts(text)):
            return None
        if any(fold(word) in wanted for text in texts for word in _WORD.findall(text) if word not in _parts(text)):
            return None  # a particle that stays would be the name
        forbidden = Forbidden([Mention(text, "PERSON", "", "") for text in texts], self.lang, self.words)
        made: dict[str, str] = {}
        for word, places in self._places(fullest).items():
            used = taken.union(map(fold, made.values()))
            drawn = self._draw_words(places, key.draw("self-decoded", self.lang, word))
            found = next((new for new in drawn if fold(new) not in used and not forbidden(new)), None)
            if found is None:
                return None
            made[word] = found
        if made.keys() != wanted.keys():
            return None
        taken.update(map(fold, made.values()))
        return [_write(text, made) for text in texts]

    def _places(self, name: str) -> dict[str, Sequence[Sequence[tuple[str, float]]]]:
        """What the model proposes for the words of a name that are replaced."""
        titled = _WORD.sub(lambda word: word[0].capitalize(), name)
        if len(titled) != len(name):  # a letter that is two as a capital
            return {}
        found = {name[start:end]: places for start, end, places in self.propose([titled])[0]}
        return {fold(word): places for word, places in found.items() if word in _parts(name)}

    def _draw_words(self, places: Sequence[Sequence[tuple[str, float]]], draw: Draw) -> Iterator[str]:
        """Draw words that can be said, as often as is allowed."""
        for _ in range(self.attempts):
            new = "".join(draw.weighted([piece for piece, _ in place], [p for _, p in place]) for place in places)
            if _is_word(new):
                yield new


def _is_word(text: str) -> bool:
    """Whether a text can be said: letters, a vowel among them, neither very short nor very long."""
    return text.isalpha() and _SHORTEST <= len(text) <= _LONGEST and _VOWEL.search(text) is not None


def _parts(text: str) -> list[str]:
    """The words of a name that are replaced: all but particles."""
    return [word for word in _WORD.findall(text) if fold(word) not in _PARTICLES or not word.islower()]


def _follows(word: str, wanted: Mapping[str, str]) -> bool:
    """Whether a word is one of the fullest mention, or the initial of one."""
    folded = fold(word)
    return folded in wanted or (len(word) == 1 and any(other.startswith(folded) for other in wanted))


def _write(text: str, made: Mapping[str, str]) -> str:
    """Write a mention anew, with its punctuation, spacing and case."""

    def written(found: re.Match[str]) -> str:
        word = found[0]
        if word not in _parts(text):
            return word
        folded = fold(word)
        if folded in made:
            return _cased(made[folded], word)
        source = next(other for other in made if other.startswith(folded))
        return _cased(made[source][:1], word)

    return _WORD.sub(written, text)


def _cased(new: str, like: str) -> str:
    """Write a word in the case of another: UPPER, lower or Title."""
    if like.isupper():
        return new.upper()
    return new.lower() if like.islower() else new[:1].upper() + new[1:]
