"""Split a mention of a person into words, and decide which are names and which names are given names or surnames."""

import re
from dataclasses import dataclass
from math import log

from ...lang import shared_words
from ...lang.inflection import Analysis
from ...lang.text import fold
from ..mention import Mention
from .conventions import NamingConventions, fold_word
from .name_lists import NameLists

_LETTERS = r"[^\W\d_\u00aa\u00ba][\u0300-\u036f]*"
# A word that a line break cuts in two is one word: "Virta-\nnen".
_CUT = rf"(?:-[ \t]*\r?\n[ \t]*[a-zà-öø-ÿ](?:{_LETTERS})*)?"
_WORD = re.compile(rf"[Mm]\.?ª|(?:{_LETTERS})+(?:['’´](?:{_LETTERS})+)*{_CUT}|\d+")
_BREAK = re.compile(r"-[ \t]*\r?\n[ \t]*")
_POSSESSIVE = re.compile(r"['’´]s$", re.I)
_COLON = re.compile(r":[^\W\d_]{1,6}(?!\w)")
_MOST_INITIALS = 4  # letters of "JACM"
_GIVEN_NOT_PARTICLE = 300  # bearers from which a word such as "Ben" is a given name rather than a particle
_NAME_NOT_TITLE = 2000  # bearers from which a word is a name rather than a title

# The weights below are log probabilities in nats, unless they say otherwise.
_UNLISTED_BEARERS = 3.0  # bearers assumed for an unlisted name
_RARE_BEARERS = 50  # bearers assumed for a given name that is only in the list of rare ones
_GROUP_BEARERS = 2000  # bearers assumed for a name that only a group of origin lists
_NICKNAME_SHARE = 0.05  # share of a name's bearers who are called by a nickname of it
_INITIAL_GIVEN = 0.8  # share of initials that stand for given names
_GIVEN_NAMES = {0: -1.5, 1: 0.0, 2: -0.7, 3: -2.5}  # number of given names in a mention
_SURNAMES = {1: {0: -1.5, 1: 0.0, 2: -2.5}, 2: {0: -1.5, 1: -0.4, 2: 0.0, 3: -4.0}}  # by surnames of a full name
_OTHER_NUMBER = -6.0
_NO_SURNAME = -2.0  # several given names and no surname, in a language with one surname
_TITLE = 2.5  # for a surname, if a title precedes a single name
_TITLE_TWO_SURNAMES = 2.5  # for two surnames without a given name behind a title: "Dra. Aldasoro Ezpeleta"
_UNLISTED_BEHIND_TITLE = 2.0  # for a surname, if an unlisted name follows a title
_CLINICIAN = 0.7  # for a surname, if a single name is labelled CLINICIAN
_GIVEN_AT_THE_END = 5  # ratio of bearers from which a particle phrase at the end is not a surname


@dataclass(slots=True)
class NamePart:
    """One word of a mention of a person.

    text (str): the word as written.
    start, end (int): character offsets in the mention.
    role (str): "name", "initial", "particle" ("de"), "kin" (a kinship word), "number", or "kept" for another word
        that is not replaced, such as a title or "Jr.".
    folded (str): the word without case and accents (`fold`); "" for a marker of a maiden name.
    kind (str): "given" or "surname", for names and initials.
    maiden (bool): whether it is part of a maiden name, because it follows a marker such as "née".
    link (str): the particles right before it, folded ("de la").
    ending (str): the case ending after a colon ("J.S:n"), or the clitic; "" if there is none.
    lemma (str): folded nominative of the name, the same for all its mentions; for a nickname, that of the full name.
    analysis (Optional[Analysis]): morphological analysis of the word; None in a language without inflection.
    known_as (str): lemma of the nickname that is written; "" if it is no nickname.
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
    analysis: Analysis | None = None
    known_as: str = ""

    def __repr__(self) -> str:
        return f"NamePart({self.start}, {self.end}, {self.role!r})"


NameParts = list[NamePart]


def read_parts(mention: Mention, names: NameLists) -> NameParts:
    """Split a mention into words and set the role of each. Kinds and lemmas are set later.

    mention (Mention): a mention of a person.
    names (NameLists): the name lists of the language.
    RETURNS (list[NamePart]): the words in the order of the text.
    """
    conventions = names.conventions
    text = mention.text
    markers = [found.span() for found in conventions.marker.finditer(text)]
    parts: NameParts = []
    done = 0
    for found in _WORD.finditer(text):
        start, end = found.span()
        if start < done:
            continue
        if any(start < stop and begin < end for begin, stop in markers):
            parts.append(NamePart(found.group(), start, end, "kept", ""))
            continue
        possessive = _POSSESSIVE.search(found.group())
        if possessive and end - start > len(possessive.group()) + 1:
            end -= len(possessive.group())
        word = text[start:end]
        part = NamePart(word, start, end, "name", fold_word(_BREAK.sub("", word)))
        part.maiden = any(stop <= start for _, stop in markers)
        if colon := _COLON.match(text, end):
            part.ending, done = colon.group(), colon.end()
        parts.append(part)
    for place, part in enumerate(parts):
        if part.folded:
            part.role = _role(parts, place, mention, names)
    for place, part in enumerate(parts):
        part.link = " ".join(_particles_before(parts, place))
    return _split_initials(parts, names)


def _role(parts: NameParts, place: int, mention: Mention, names: NameLists) -> str:
    """Return the role of a word (see `NamePart`), given the roles of the words before it."""
    part, text, conventions = parts[place], mention.text, names.conventions
    word, after = part.folded, text[part.end : part.end + 1]
    following = parts[place + 1].folded if place < len(parts) - 1 else ""
    followed = place < len(parts) - 1
    if word.isdigit():
        return "number"
    like_common_noun = part.text.islower() or part.start == 0 or text.isupper()
    if mention.label == "RELATIVE" and like_common_noun and word in conventions.kin | conventions.beside_kin:
        return "kin" if word in conventions.kin else "kept"
    phrase = " ".join((*_particles_before(parts, place), word))
    if len(word) == 1 and names.linked["surname"][phrase]:  # "de la O"
        return "name"
    if len(word) == 1 and (part.text.isupper() or word not in conventions.particles):
        # "D. Juan" has a title, "D. Pérez" an initial
        title = word in conventions.before_given and not place and len(following) > 1
        return "kept" if title and names.count("given", following) > names.count("surname", following) else "initial"
    titled = word in conventions.titles
    if titled and word in conventions.particles and after != "." and followed:
        # "da Costa" has a particle, "Da. Rosa" and "da Rosa María" a title
        titled = names.count("surname", following) <= names.count("given", following)
    first = all(other.role == "kept" for other in parts[:place])
    if titled and after != "," and first:
        plain = after == "." or part.text.islower()
        if plain and (followed or not names.is_listed(word)):
            return "kept"
        if followed and names.count("given", word) < _NAME_NOT_TITLE:
            return "kept"
    if place and word in conventions.suffixes:  # "Jr.", "III", ", MD"
        between = text[parts[place - 1].end : part.start]
        if "," in between or (
            word in shared_words("people.toml", "suffixes", "generations") and part.text[0].isupper()
        ):
            return "kept"
    if followed and word in conventions.particles:
        given = first and part.text[0].isupper() and names.count("given", word) >= _GIVEN_NOT_PARTICLE  # "Ben Smith"
        if not given or names.linked["surname"][f"{word} {following}"]:  # "Santa Cruz"
            return "kept" if len(word) == 1 and place else "particle"
    if place and word in conventions.particles and part.text.islower() and not text.islower():
        return "particle"  # "Torre Gil, M.E. de la"
    return "name"


def _particles_before(parts: NameParts, place: int) -> list[str]:
    """Return the folded particles right before a word."""
    first = place
    while first and parts[first - 1].role == "particle":
        first -= 1
    return [part.folded for part in parts[first:place]]


def _split_initials(parts: NameParts, names: NameLists) -> NameParts:
    """Split a word in capitals that is no listed name into initials: "JA García" has the initials J and A."""
    out: NameParts = []
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
                out.append(NamePart(letter, at, at + 1, "initial", fold(letter), maiden=part.maiden))
            out[-1].ending = part.ending
        else:
            out.append(part)
    return out


def set_kinds(parts: NameParts, mention: Mention, names: NameLists) -> None:
    """Set the kind of each name and initial of a mention: "given" or "surname".

    The most probable sequence of kinds is chosen. It depends on the frequency of each word as a given name and as a
    surname, on commas, titles and the context, and on the conventions of the language.

    parts (list[NamePart]): the words of the mention, with lemmas. Their `kind` is set.
    mention (Mention): the mention with its context.
    names (NameLists): the name lists of the language.
    """
    words = [part for part in parts if part.role in ("name", "initial")]
    for part in words:
        if part.maiden:
            part.kind = "surname"
    words = [part for part in words if not part.maiden]
    if not words:
        return
    # Units are of one kind: words joined by a hyphen, and given names with a particle ("María del Carmen").
    units: list[NameParts] = []
    for part in words:
        hyphen = bool(units) and mention.text[units[-1][-1].end : part.start].strip() == "-"
        if hyphen or (units and part.link and _continues_given_name(units[-1], part, part is words[-1], names)):
            units[-1].append(part)
        else:
            units.append([part])
    for unit, kind in zip(units, _best_kinds(units, mention, parts, names), strict=True):
        for part in unit:
            part.kind = kind


def title_before(mention: Mention, parts: NameParts, conventions: NamingConventions) -> str:
    """Return the title in a mention, or right before it, folded; "" if there is none."""
    titles = conventions.titles.keys() | conventions.before_given
    for part in parts:
        if part.role == "kept" and part.folded in titles:
            return part.folded
    words = fold(mention.before.replace(".", " ").replace(":", " : ")).split()
    return words[-1] if words and words[-1] in titles else ""


def _continues_given_name(unit: NameParts, part: NamePart, last: bool, names: NameLists) -> bool:
    """Whether a word after a particle continues the given name before it: "María del Carmen García".

    For the last word of a mention more evidence is required, so that "Cruz" in "Juan de la Cruz" is a surname.
    """
    phrase = f"{part.link} {part.folded}"
    head = fold(names.conventions.short.get(unit[-1].folded, unit[-1].folded))
    listed = names.linked["female" if names.counts["female"][head] > names.counts["male"][head] else "male"]
    surname, given, whole = names.linked["surname"][phrase], listed[phrase], listed[f"{head} {phrase}"]
    if last:
        return whole > _GIVEN_AT_THE_END * surname or given > surname == 0
    return whole > 0 or given > surname


def _best_kinds(units: list[NameParts], mention: Mention, parts: NameParts, names: NameLists) -> list[str]:
    """Return the most probable kind of each unit of a mention; a unit is a group of words that have one kind."""
    conventions = names.conventions
    size = len(units)
    for place in range(1, size):
        if "," in mention.text[units[place - 1][-1].end : units[place][0].start]:
            return ["surname"] * place + ["given"] * (size - place)
    if conventions.surname_cues and fold(mention.before).rstrip(" :").endswith(conventions.surname_cues):
        return ["surname"] * size
    if conventions.surname_cues and fold(mention.after).lstrip(" .,;:-").startswith(conventions.surname_cues):
        return ["given"] * size  # a field of given names, before the field of surnames
    scores = [_score(unit, names) for unit in units]
    title = title_before(mention, parts, conventions)
    titled = bool(title) and title not in conventions.before_given
    two = titled and size == conventions.surnames == 2
    if two:
        scores[0] = _score_unlisted(scores[0], units[0], names)
    # The log odds that a single name is a surname follow from its title, the word before it, and its label.
    prior = _CLINICIAN if mention.label == "CLINICIAN" else -_CLINICIAN
    if title:
        prior = -_TITLE if title in conventions.before_given else _TITLE
    elif fold(mention.before).rpartition(" ")[2] in conventions.context:  # "äiti Meri"
        prior = -_TITLE
    best, kinds = -1e9, ["surname"] * size
    for first in ("given", "surname"):
        for number in range(size + 1) if first == "given" else range(1, size):
            order = [first] * number + ["surname" if first == "given" else "given"] * (size - number)
            given = order.count("given")
            score = sum(pair[0] if kind == "given" else pair[1] for pair, kind in zip(scores, order, strict=True))
            score += _GIVEN_NAMES.get(given, _OTHER_NUMBER)
            score += _SURNAMES[conventions.surnames].get(size - given, _OTHER_NUMBER)
            score += _NO_SURNAME if given == size > 1 == conventions.surnames else 0.0
            score += conventions.reversed if first == "surname" else 0.0
            score += prior if order == ["surname"] and size == 1 else 0.0
            score += _TITLE_TWO_SURNAMES if two and not given else 0.0
            if score > best:
                best, kinds = score, order
    return kinds


def _score_unlisted(scores: tuple[float, float], unit: NameParts, names: NameLists) -> tuple[float, float]:
    """Add to the log probabilities of a name behind a title what its letters suggest, if it is on no list.

    Few given names are on no list, but many surnames.
    """
    part = unit[-1]
    name = part.lemma or part.folded
    if part.role != "name" or names.is_listed(name) or name in names.rare_sexes:
        return scores
    return scores[0] + names.shape_odds(name) / 2 - _UNLISTED_BEHIND_TITLE, scores[1]


def _score(unit: NameParts, names: NameLists) -> tuple[float, float]:
    """Return the log probabilities (nats) of a unit's words among all given names and among all surnames."""
    given = surname = 0.0
    for part in unit:
        if part.role == "initial":
            given += log(_INITIAL_GIVEN)
            surname += log(1 - _INITIAL_GIVEN)
            continue
        key = part.lemma or part.folded
        full = (names.count("given", name) for name in names.conventions.full_names.get(key, ()))
        in_group = key in names.proper["female"] or key in names.proper["male"]  # listed without a number
        as_given = float(names.count("given", key) or (_GROUP_BEARERS if in_group else 0))
        as_given += max(full, default=0) * _NICKNAME_SHARE
        if not as_given and key in names.rare_sexes:
            as_given = _RARE_BEARERS
        as_surname = 0.0
        if part.link or names.is_alone("surname", key):  # "Carmen" is a surname only as "del Carmen"
            in_group = key in names.proper["surname"]
            as_surname = names.count("surname", key) or (_GROUP_BEARERS if in_group else 0)
        if part.link in names.links:  # "San Pablo" is a surname, although many people are called Pablo
            as_given, as_surname = (0.0, as_surname) if part is unit[0] else (as_given, 0.0)
        given += log(_UNLISTED_BEARERS + as_given) - log(names.totals["female"] + names.totals["male"])
        surname += log(_UNLISTED_BEARERS + as_surname) - log(names.totals["surname"])
    return given, surname
