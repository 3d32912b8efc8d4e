"""The words of a mention: which are names, which are initials, and which stay as they are."""

import re
from dataclasses import dataclass

from ...lang.inflection import Analysis
from ..mention import Mention
from ..persons import fold
from .customs import Customs, fold_word
from .lists import Names

__all__ = ["Part", "Parts", "read_parts"]

_LETTERS = r"[^\W\d_\u00aa\u00ba][\u0300-\u036f]*"
# A word that a line break cuts in two is one word: "Virta-\nnen".
_CUT = rf"(?:-[ \t]*\r?\n[ \t]*[a-zà-öø-ÿ](?:{_LETTERS})*)?"
_WORD = re.compile(rf"[Mm]\.?ª|(?:{_LETTERS})+(?:['’´](?:{_LETTERS})+)*{_CUT}|\d+")
_BREAK = re.compile(r"-[ \t]*\r?\n[ \t]*")
_POSSESSIVE = re.compile(r"['’´]s$", re.I)
_COLON = re.compile(r":[^\W\d_]{1,6}(?!\w)")
_MOST_INITIALS = 4  # letters of "JACM"
_SOME = 300  # bearers of a given name that is no particle for all that it looks like one
_COMMON = 2000  # bearers of a name that is no title for all that it looks like one


@dataclass(slots=True)
class Part:
    """One word of a mention.

    text (str): as written.
    start, end (int): where in the mention.
    role (str): "name", "initial", "particle", "kin", "number", or "kept".
    folded (str): as `persons.fold` has it.
    kind (str): "given" or "surname", of names and initials.
    maiden (bool): whether it follows a marker such as "née".
    link (str): the particles right before it, folded ("de la").
    ending (str): what is put on behind a colon ("J.S:n"), or a clitic.
    lemma (str): folded nominative that all mentions of a name share.
    reading (Optional[Analysis]): how the form was read, where names inflect.
    known_as (str): the lemma that a nickname or a short form stands for, "" if it is none.
    """

    text: str
    start: int
    end: int
    role: str
    folded: str
    kind: str = ""
    maiden: bool = False
    link: str = ""
    ending: str = ""
    lemma: str = ""
    reading: Analysis | None = None
    known_as: str = ""

    def __repr__(self) -> str:
        return f"Part({self.start}, {self.end}, {self.role!r})"


Parts = list[Part]


def read_parts(mention: Mention, customs: Customs, names: Names) -> Parts:
    """Cut a mention into its words and say what each is.

    mention (Mention): the mention.
    customs (Customs): the habits of the language.
    names (Names): the lists of the language.
    RETURNS (list[Part]): in the order of the text.
    """
    text = mention.text
    kept = [found.span() for found in customs.marker.finditer(text)]
    parts: Parts = []
    done = 0
    for found in _WORD.finditer(text):
        start, end = found.span()
        if start < done:
            continue
        if any(start < stop and begin < end for begin, stop in kept):
            parts.append(Part(found.group(), start, end, "kept", ""))
            continue
        possessive = _POSSESSIVE.search(found.group())
        if possessive and end - start > len(possessive.group()) + 1:
            end -= len(possessive.group())
        word = text[start:end]
        part = Part(word, start, end, "name", fold_word(_BREAK.sub("", word)))
        part.maiden = any(stop <= start for _, stop in kept)
        if colon := _COLON.match(text, end):
            part.ending, done = colon.group(), colon.end()
        parts.append(part)
    for place, part in enumerate(parts):
        if part.folded:
            part.role = _role(parts, place, mention, customs, names)
    for place, part in enumerate(parts):
        part.link = " ".join(_particles_before(parts, place))
    return _spread(parts, names)


def _role(parts: Parts, place: int, mention: Mention, customs: Customs, names: Names) -> str:
    """What a word is."""
    part, text = parts[place], mention.text
    word, after = part.folded, text[part.end : part.end + 1]
    followed = place < len(parts) - 1
    if word.isdigit():
        return "number"
    if mention.label == "RELATIVE" and (word in customs.kin or word in customs.beside) and _is_plain(part, text):
        return "kin" if word in customs.kin else "kept"
    phrase = " ".join((*_particles_before(parts, place), word))
    if len(word) == 1 and names.linked["surname"][phrase]:  # "de la O"
        return "name"
    if len(word) == 1 and (part.text.isupper() or word not in customs.particles):
        return "kept" if _is_letter_title(parts, place, customs, names, after) else "initial"
    titled = word in customs.titles and not _is_surname_particle(parts, place, customs, names, after)
    if titled and after != "," and all(other.role == "kept" for other in parts[:place]):
        plain = after == "." or part.text.islower()
        if plain and (followed or not names.is_listed(word)):
            return "kept"
        if followed and names.count("given", word) < _COMMON:
            return "kept"
    if place and word in customs.suffixes and _is_suffix(parts, place, text, after):
        return "kept"
    if followed and word in customs.particles and not _is_given(part, place, parts, names):
        return "kept" if len(word) == 1 and place else "particle"
    return "name"


def _particles_before(parts: Parts, place: int) -> list[str]:
    """The particles right before a word, folded."""
    first = place
    while first and parts[first - 1].role == "particle":
        first -= 1
    return [part.folded for part in parts[first:place]]


def _is_plain(part: Part, text: str) -> bool:
    """Whether a word is written as a common noun: in lower case, or at the head, or all in capitals."""
    return part.text.islower() or part.start == 0 or text.isupper()


def _is_letter_title(parts: Parts, place: int, customs: Customs, names: Names, after: str) -> bool:
    """Whether one letter is a title before a given name: "D. Juan", but not "D. Pérez"."""
    if parts[place].folded not in customs.before_given or place or len(parts) < 2 or len(parts[1].folded) < 2:
        return False
    following = parts[1].folded
    return names.count("given", following) > names.count("surname", following)


def _is_surname_particle(parts: Parts, place: int, customs: Customs, names: Names, after: str) -> bool:
    """Whether what is a title as well is a particle: "da Costa", but not "Da. Rosa" nor "da Rosa María"."""
    word = parts[place].folded
    if word not in customs.particles or after == "." or place == len(parts) - 1:
        return False
    following = parts[place + 1].folded
    return names.count("surname", following) > names.count("given", following)


def _is_suffix(parts: Parts, place: int, text: str, after: str) -> bool:
    """Whether a word follows a name: "Jr.", "III", ", MD"."""
    between = text[parts[place - 1].end : parts[place].start]
    part = parts[place]
    return "," in between or (part.folded in ("jr", "sr", "ii", "iii", "iv") and part.text[0].isupper())


def _is_given(part: Part, place: int, parts: Parts, names: Names) -> bool:
    """Whether what looks like a particle is a given name: "Ben Smith", "Al Gore"."""
    if names.linked["surname"][f"{part.folded} {parts[place + 1].folded}"]:  # "Santa Cruz"
        return False
    first = all(other.role == "kept" for other in parts[:place])
    return first and part.text[0].isupper() and names.count("given", part.folded) >= _SOME


def _spread(parts: Parts, names: Names) -> Parts:
    """Take capitals that are no name as initials, one part a letter: "JA García"."""
    out: Parts = []
    for part in parts:
        letters = part.text
        if (
            part.role == "name"
            and letters.isupper()
            and 2 <= len(letters) <= _MOST_INITIALS
            and len(part.folded) == len(letters)
            and not names.is_listed(part.folded)
            and not (len(parts) > 1 and len(letters) > 2 and all(other.text.isupper() for other in parts))
        ):
            for i, letter in enumerate(letters):
                at = part.start + i
                out.append(Part(letter, at, at + 1, "initial", fold(letter), maiden=part.maiden))
            out[-1].ending = part.ending
        else:
            out.append(part)
    return out
