"""Replace the persons, numbers, dates and places of a note written by hand, to get more training data.

Every word of a declared name is replaced by one other word in the whole note, so that relatives who share a surname
share the new one. Each mention keeps its form: order, initials, capitals, missing accents, case endings, typing
errors. Dates move by the same number of whole weeks, so that weekdays, ages and intervals stay true. Numbers keep
their format; those of a kind with a check digit get a valid one. A town is replaced together with its postal code,
if the language's list of places contains it.

What cannot be replaced reliably is kept: persons with a mention that cannot be derived from the declared name, all
dates of a note if one of them cannot be parsed, institutions, streets, professions and ages.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from rapidfuzz.distance import OSA, Levenshtein

from ..evaluation import AnnotatedText, Entity
from ..lang.inflection import inflect, inflects
from ..lang.text import fold
from ..surrogates.calendar import replace_dates
from ..surrogates.calendar.rules import DateRules
from ..surrogates.keys import IdentityKey, ProjectKey
from ..surrogates.mention import AROUND, Mention
from ..surrogates.numbers import replace_ids
from .authored import NAMES, AuthoredNote, Mark, Person
from .language import Language, load_language, read_origins, read_table

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PARTICLES = 3  # longest word in lower case that stays: "de", "la", "von", "af"
_PHONES = frozenset({"PHONE", "FAX"})
_ADDRESSES = frozenset({"EMAIL", "URL", "USERNAME"})
_NUMBERS = frozenset(
    "SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE "
    "BIOMETRIC ID_OTHER IP_ADDRESS".split()
)
_RULES = DateRules(keep_weekday=True, season=21)
_ORIGIN_SHARE = 0.25  # persons whose names are drawn from a group of origin


@dataclass(slots=True)
class Renaming:
    """Draws a new word for each word of the names in a note, and remembers it.

    language (Language): language of the note, for its lists of names.
    rng (Random): random generator.
    taken (set[str]): words that are not used as new words: all words of the note, and the new words so far. These and
        the keys of `words` are in lower case without accents (folded).
    words (dict[str, str]): folded word of a name → new word.
    """

    language: Language
    rng: Random
    taken: set[str]
    words: dict[str, str] = field(default_factory=dict)

    def add(self, person: Person) -> None:
        """Draw new words for those words of a person's name that have none yet."""
        groups = read_origins(self.language.lang)
        group = groups[self.rng.choice(sorted(groups))] if groups and self.rng.random() < _ORIGIN_SHARE else None
        for part, names in ((person.sex, person.given), ("surname", person.surnames)):
            for word in split_name(names):
                if fold(word) not in self.words:
                    self.words[fold(word)] = self._draw(part, group)

    def _draw(self, part: str, group: Mapping[str, tuple[str, ...]] | None) -> str:
        """Draw a name of one word that is not in the note, from a group of origin or from the list of `part`."""
        table = read_table(self.language.settings.get("names", {}).get("table", self.language.lang), part)
        while True:
            name = self.rng.choice(group[part]) if group else table.draw(self.rng, "train", 0.5)
            if _WORD.fullmatch(name) and len(name) > 2 and fold(name) not in self.taken:
                self.taken.add(fold(name))
                return name
            group = group if self.rng.random() < 0.9 else None  # a small group can be used up


def split_name(names: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of names that can be replaced: the parts of a double name, without particles."""
    for name in names:
        for word in _WORD.findall(name):
            if not (word.islower() and len(word) <= _PARTICLES):
                yield word


def refill(note: AuthoredNote, rng: Random) -> AnnotatedText:
    """Replace the marked identifiers of an authored note by others, and leave the rest of the text unchanged.

    note (AuthoredNote): the note.
    rng (Random): random generator; the same state gives the same note.
    RETURNS (AnnotatedText): the new note with its entities, named as the authored one.
    """
    language = load_language(note.lang)
    values: dict[int, str] = {}
    names = _rename(note, language, rng, values)
    key = ProjectKey(rng.randbytes(32)).patient("note")
    _move_dates(note, key, values)
    _change_numbers(note, key, rng, values)
    _move_places(note, language, rng, values)
    for i, mark in enumerate(note.marks):
        if mark.label in _ADDRESSES and not mark.fixed:
            values[i] = _rewrite_address(note.text[mark.start : mark.end], names, rng)
    parts, entities, length, last = list[str](), list[Entity](), 0, 0
    for i, mark in enumerate(note.marks):
        before, value = note.text[last : mark.start], values.get(i, note.text[mark.start : mark.end])
        length += len(before)
        entities.append(Entity(length, length + len(value), mark.label))
        parts += [before, value]
        length, last = length + len(value), mark.end
    return AnnotatedText(note.name, "".join([*parts, note.text[last:]]), tuple(entities))


# ---------------------------------------------------------------- names


def _rename(note: AuthoredNote, language: Language, rng: Random, values: dict[int, str]) -> Mapping[str, str]:
    """Choose new names for the persons all of whose mentions can be rewritten, and store the new mentions in `values`.

    RETURNS (Mapping[str, str]): folded word of a name → new word, of these persons.
    """
    renaming = Renaming(language, rng, {fold(word) for word in _WORD.findall(note.text)})
    done: dict[str, str] = {}
    kept = {fold(word) for key in _fixed_persons(note) for word in _words_of(note.persons[key])}
    for key, person in note.persons.items():
        words = _words_of(person)
        if not words or any(fold(word) in kept for word in words):
            continue
        renaming.add(person)
        done.update({fold(word): renaming.words[fold(word)] for word in words})
        for i, mark in enumerate(note.marks):
            if mark.label in NAMES and mark.key == key:
                rewritten = rewrite_name(note.text[mark.start : mark.end], mark, person, renaming.words, note.lang)
                assert rewritten is not None  # `_fixed_persons` has tried it
                values[i] = rewritten
    return done


def _words_of(person: Person) -> list[str]:
    """Return the words of a person's name that can be replaced, given names first."""
    return [*split_name(person.given), *split_name(person.surnames)]


def _fixed_persons(note: AuthoredNote) -> set[str]:
    """Return the keys of persons whose names are kept: with a fixed mark, or a mention that cannot be rewritten."""
    fixed = set()
    for mark in note.marks:
        if mark.label in NAMES:
            person = note.persons[mark.key]
            same = {fold(word): word for word in _words_of(person)}
            if mark.fixed or rewrite_name(note.text[mark.start : mark.end], mark, person, same, note.lang) is None:
                fixed.add(mark.key)
    return fixed


def rewrite_name(text: str, mark: Mark, person: Person, words: Mapping[str, str], lang: str) -> str | None:
    """Rewrite a mention of a person with a new name in the same form, such as initials or an inflected surname.

    text (str): the mention.
    mark (Mark): its mark, with the grammatical case.
    person (Person): the person, with the old name.
    words (Mapping[str, str]): folded word of the name → new word.
    lang (str): code of the language.
    RETURNS (Optional[str]): the new mention; None if a word of the mention cannot be derived from the name.
    """
    if "-\n" in text:  # a hyphen at the end of a line belongs to the page
        whole = rewrite_name(text.replace("-\n", ""), mark, person, words, lang)
        if whole is not None or not any("-" in name for name in (*person.given, *person.surnames)):
            return whole and _hyphenate(whole)
    names = _words_of(person)
    kinds = dict.fromkeys(map(fold, split_name(person.surnames)), "surname")
    kinds |= dict.fromkeys(map(fold, split_name(person.given)), "given")
    particles = frozenset(map(fold, (*person.given, *person.surnames))) - set(map(fold, names))
    parts, last, used = list[str](), 0, set[str]()
    for match in _WORD.finditer(text):
        parts.append(text[last : match.start()])
        written = _rewrite_word(match[0], mark, names, words, kinds, used, particles, lang)
        if written is None:
            return None
        parts.append(written)
        last = match.end()
    if not used:
        return None
    return "".join([*parts, text[last:]])


def _hyphenate(text: str) -> str:
    """Break the longest word of a text with a hyphen and a line break, as at the end of a printed line."""
    word = max(_WORD.finditer(text), key=lambda match: len(match[0]))
    at = (word.start() + word.end()) // 2
    return f"{text[:at]}-\n{text[at:]}"


def _rewrite_word(
    word: str,
    mark: Mark,
    names: list[str],
    words: Mapping[str, str],
    kinds: Mapping[str, str],
    used: set[str],
    particles: frozenset[str],
    lang: str,
) -> str | None:
    """Rewrite one word of a mention: a name, initials, an inflected, misspelt or shortened name. None if unknown."""
    folded = fold(word)
    if folded in words and folded in map(fold, names):
        used.add(folded)
        return _like(words[folded], word)
    if folded in particles:
        return word
    stem, tail = re.fullmatch(r"(.+?)(['’]s?|)", word).groups()  # type: ignore[union-attr]
    if tail and fold(stem) in words:
        used.add(fold(stem))
        return _like(words[fold(stem)], stem) + tail
    free = [name for name in names if fold(name) not in used] or names
    if len(word) == 1:
        found = next((name for name in free if fold(name)[0] == folded), None)
        if found is None:
            return None
        used.add(fold(found))
        return _like(words[fold(found)][0], word)
    if (
        (word.isupper() or len(word) == 2)
        and len(word) <= 4
        and not mark.cases
        and (chosen := _initials(folded, names))
    ):
        used.update(map(fold, chosen))
        return _like("".join(words[fold(name)][0] for name in chosen), word)
    case = next(iter(mark.cases - {"poss", "cpd"}), "")
    if case and "poss" not in mark.cases and inflects(lang):
        for name in free:
            if fold(inflect(name, lang, case, kind=kinds[fold(name)])) == folded:
                used.add(fold(name))
                return _like(inflect(words[fold(name)], lang, case, kind=kinds[fold(name)]), word)
        return None
    if mark.cases or len(word) < 4:
        return None
    near = min(free, key=lambda name: OSA.distance(fold(name), folded))
    if fold(near).startswith(folded) and len(folded) < len(fold(near)):  # a short form
        used.add(fold(near))
        return _like(words[fold(near)][: max(3, len(word))], word)
    if OSA.distance(fold(near), folded) <= max(1, len(word) // 4):
        used.add(fold(near))
        return _like(_misspell_like(words[fold(near)], fold(near), folded), word)
    return None


def _initials(letters: str, names: list[str]) -> list[str]:
    """Return the words of a name whose first letters are the given letters, in this order; [] if there are none."""
    chosen, at = [], 0
    for letter in letters:
        while at < len(names) and fold(names[at])[0] != letter:
            at += 1
        if at == len(names):
            return []
        chosen.append(names[at])
        at += 1
    return chosen


def _like(new: str, like: str) -> str:
    """Write a word in upper or lower case if the word that it replaces is written so; otherwise leave it unchanged."""
    if len(like) > 1 and like.isupper():
        return new.upper()
    if like.islower():
        return new.lower()
    return new


def _misspell_like(new: str, right: str, wrong: str) -> str:
    """Misspell a new name as the old one: apply the first typing error at the same relative position."""
    edit = next(iter(Levenshtein.editops(right, wrong)))
    at = min(len(new) - 1, round(edit.src_pos / len(right) * len(new)))
    if edit.tag == "delete":
        return new[:at] + new[at + 1 :]
    letter = wrong[edit.dest_pos]
    return new[:at] + letter + new[at + (edit.tag == "replace") :]


# ---------------------------------------------------------------- dates, numbers, places


def _mentions(note: AuthoredNote, chosen: list[int]) -> list[Mention]:
    """Convert the marks with the given indices to mentions, with the text before and after them."""
    return [
        Mention(
            note.text[(mark := note.marks[i]).start : mark.end],
            mark.label,
            note.text[max(0, mark.start - AROUND) : mark.start],
            note.text[mark.end : mark.end + AROUND],
        )
        for i in chosen
    ]


def _move_dates(note: AuthoredNote, key: IdentityKey, values: dict[int, str]) -> None:
    """Shift all dates by the same number of weeks and store them in `values`; none if one is fixed or cannot be
    parsed.
    """
    chosen = [i for i, mark in enumerate(note.marks) if mark.label == "DATE" and not mark.fixed]
    if not chosen or any(mark.fixed for mark in note.marks if mark.label == "DATE"):
        return
    made = replace_dates(_mentions(note, chosen), key, note.lang, _RULES)
    if all(made):
        values.update({i: value for i, value in zip(chosen, made, strict=True) if value})


def _change_numbers(note: AuthoredNote, key: IdentityKey, rng: Random, values: dict[int, str]) -> None:
    """Replace numbers by random ones and store them in `values`. Equal numbers stay equal; valid check digits stay
    valid.
    """
    made: dict[str, str] = {}
    for i, mark in enumerate(note.marks):
        if mark.fixed or mark.label not in _NUMBERS | _PHONES:
            continue
        text = note.text[mark.start : mark.end]
        if text not in made and mark.kind and not mark.bad:
            (valid,) = replace_ids(_mentions(note, [i]), key, note.lang, lambda _: False, _RULES)
            made[text] = valid or text
        elif text not in made:
            made[text] = _redraw(text, rng, keep=3 if mark.label in _PHONES else 0)
        values[i] = made[text]


def _redraw(text: str, rng: Random, keep: int = 0) -> str:
    """Replace the digits of a text by random ones, except the first `keep` digits and leading zeros of a group."""
    out, digits = [], 0
    for at, char in enumerate(text):
        first = at == 0 or not text[at - 1].isdigit()
        if char.isascii() and char.isdigit():
            digits += 1
            if digits > keep and not (first and char == "0"):
                char = rng.choice("123456789" if first else "0123456789")
        out.append(char)
    return "".join(out)


def _move_places(note: AuthoredNote, language: Language, rng: Random, values: dict[int, str]) -> None:
    """Replace each listed town and its postal code by another place of the list, and store both in `values`."""
    rows = language.lists.get("places", ())
    known = {fold(row["city"]) for row in rows}
    drawn: dict[str, Mapping[str, str]] = {}
    text = fold(note.text)
    for key in {mark.key for mark in note.marks if mark.label == "CITY" and mark.key}:
        group = [mark for mark in note.marks if mark.key == key]
        cities = {fold(note.text[mark.start : mark.end]) for mark in group if mark.label == "CITY"}
        plain = all(mark.label in ("CITY", "ZIP", "STREET", *_PHONES) and not mark.fixed for mark in group)
        if plain and not any(mark.cases for mark in group) and len(cities) == 1 and cities <= known:
            row = rng.choice(rows)
            if fold(row["city"]) not in text:
                drawn[key] = row
    for i, mark in enumerate(note.marks):
        if mark.key in drawn and mark.label in ("CITY", "ZIP"):
            old, row = note.text[mark.start : mark.end], drawn[mark.key]
            zip_code = "".join(str(rng.randrange(10)) if c == "#" else c for c in row.get("zip", ""))
            values[i] = _like(row["city"], old) if mark.label == "CITY" else zip_code or old


def _rewrite_address(text: str, names: Mapping[str, str], rng: Random) -> str:
    """Replace the old names in a user name, an e-mail address or a URL by the new ones, and redraw its digits."""
    written = text
    for old, new in sorted(names.items(), key=lambda item: -len(item[0])):
        if len(old) > 2:
            plain = "".join(char for char in fold(new) if char.isascii() and char.isalnum())
            written = re.sub(re.escape(old), plain, written, flags=re.IGNORECASE)
    return _redraw(written, rng)
