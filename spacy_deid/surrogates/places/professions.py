"""Professions: another one of the same sector, with the gender and number of the original, in Finnish with its case.

English keeps what decides between "a" and "an". A Spanish word that is the same for a man and a woman becomes another
one that is. What is done and not who does it ("mantenimiento de calderas") becomes something else that is done.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..inflection.finnish_analysis import Reading
from ..mention import Mention
from ..people.articles import needs_article_change
from ..persons import fold
from .finnish_forms import forms_of, guess_case, in_case, read_noun
from .gazetteer import load_words, read_lines
from .state import Note
from .writing import dress, split_marks

__all__ = ["replace_profession"]

_GENDERED = re.compile(r"(?:man|woman|ess|wife|mother|nun|maid)$")


class Job(NamedTuple):
    """One profession.

    male (str): as a man has it.
    female (str): as a woman has it.
    sector (int): number of its sector; -1 if it has none.
    folded (str): as a man has it, folded.
    vowel (bool): whether English has "an" before it.
    """

    male: str
    female: str
    sector: int
    folded: str
    vowel: bool


def replace_profession(mention: Mention, note: Note) -> str | None:
    """Replace a profession.

    mention (Mention): label PROFESSION.
    note (Note): what the surrogates of the note share.
    RETURNS (Optional[str]): the surrogate as the mention is written; None if there is none.
    """
    before, core, after = split_marks(mention.text)
    make = {"es": _spanish, "fi": _finnish, "en": _english}.get(note.lang)
    if not core or make is None:
        return None
    made = make(core, mention, note)
    return before + dress(made, core, noun=True) + after if made else None


def _english(core: str, mention: Mention, note: Note) -> str | None:
    """Another profession that has the same article before it, in the same number."""
    folded, names = fold(core), _nouns("en")
    plural = folded not in names and folded.endswith("s") and not folded.endswith("ss")
    single = _singular(folded, names) if plural else folded
    vowel = needs_article_change("b", core)
    fit = [job for job in jobs_of("en") if job.vowel == vowel and job.folded != single and not _gendered(job)]
    sector = {job.male for job in _of_sector("en", single)}
    pool = [job.male for job in fit if job.male in sector] or [job.male for job in fit]
    if (made := _pick(pool, single, note, mention.variant)) is None:
        return None
    return _english_plural(made) if plural and (single in names or _after_number(mention.before)) else made


@cache
def _gendered(job: Job) -> bool:
    """Whether an English word tells the sex: it would be wrong for half of the patients."""
    return _GENDERED.search(job.male) is not None


def _singular(word: str, names: frozenset[str]) -> str:
    """The singular of an English plural."""
    for end, own in (("ies", "y"), ("men", "man"), ("es", ""), ("s", "")):
        if word.endswith(end) and word.removesuffix(end) + own in names:
            return word.removesuffix(end) + own
    return word


def _english_plural(name: str) -> str:
    """The plural of an English noun."""
    if name.endswith("man"):
        return name[:-3] + "men"
    if name.endswith(("ss", "ch", "sh", "x")):
        return name + "es"
    return name[:-1] + "ies" if name.endswith("y") and name[-2] not in "aeo" else name + "s"


def _after_number(before: str) -> bool:
    """Whether a word that asks for the plural stands before a mention."""
    return bool(set(fold(before[-20:]).split()[-1:]) & {"are", "were", "both", "two", "three", "work as"})


def _spanish(core: str, mention: Mention, note: Note) -> str | None:
    """Another profession with the gender and number of the original."""
    folded, words = fold(core), load_words("es")["professions"]
    head = folded.split()[0]
    if head.endswith(("ando", "iendo", "yendo")):
        return _pick(words["gerunds"], folded, note, mention.variant)
    if head.endswith(tuple(words["activity_ends"].split())):
        return _pick(words["activities"], folded, note, mention.variant)
    known = _spanish_forms().get(folded)
    single = known.folded if known else _singular_head(folded)
    plural = folded not in (known.folded, fold(known.female)) if known else not folded.startswith(single)
    gender = _gender(folded, known)
    jobs = {job.male: job for job in jobs_of("es") if gender or job.male == job.female}
    pool = [job.male for job in _of_sector("es", single) if job.male in jobs] or list(jobs)
    if (made := _pick(pool, single, note, mention.variant)) is None:
        return None
    name = jobs[made].female if gender == "f" else made
    return _spanish_plural(name) if plural else name


@cache
def _spanish_forms() -> Mapping[str, Job]:
    """Folded forms of the listed professions."""
    found: dict[str, Job] = {}
    for job in jobs_of("es"):
        for name in (job.male, job.female):
            found.setdefault(fold(name), job)
            found.setdefault(fold(_spanish_plural(name)), job)
    return found


def _gender(folded: str, known: Job | None) -> str:
    """ "m", "f", or "" for a word that is the same for both, or of which its ending does not tell."""
    if known:
        if known.male == known.female:
            return ""
        return "f" if folded in (fold(known.female), fold(_spanish_plural(known.female))) else "m"
    head = folded.removeprefix("ex ").removeprefix("ex-").split()[0].removesuffix("s")
    if head.endswith(("ora", "era", "ana", "ada", "ica", "oga")):
        return "f"
    return "m" if head.endswith(("o", "or", "on")) else ""


def _singular_head(folded: str) -> str:
    """A Spanish noun with its first word in the singular, as far as an ending tells."""
    head, _, rest = folded.partition(" ")
    if head.endswith("es") and len(head) > 5 and head[-3] in "rlnd":
        head = head[:-2]
    elif head.endswith("s") and not head.endswith(("is", "us")):
        head = head[:-1]
    return f"{head} {rest}".strip()


def _spanish_plural(name: str) -> str:
    """The plural of a profession: its noun and the adjectives behind it, up to a preposition."""
    words = name.split()
    stop = next((i for i, word in enumerate(words) if word in ("de", "del", "en", "a", "civil")), len(words))
    return " ".join([*(_plural_word(word) for word in words[: max(stop, 1)]), *words[max(stop, 1) :]])


def _plural_word(word: str) -> str:
    """The plural of one Spanish word."""
    if word in ("ex", "chef"):
        return word
    if word.endswith("z"):
        return word[:-1] + "ces"
    for accented, plain in (("ón", "ones"), ("án", "anes"), ("és", "eses"), ("ín", "ines")):
        if word.endswith(accented):
            return word[:-2] + plain
    return word + ("s" if word[-1] in "aeiouáéíóú" else "es")


def _finnish(core: str, mention: Mention, note: Note) -> str | None:
    """Another profession in the case, the number and with the possessive suffix of the original."""
    folded = fold(core)
    found = _finnish_forms().get(folded)
    reading = Reading(found[0], found[1]) if found else _read(core)
    name = reading.nominative if reading else core.lower()
    pool = [job.male for job in _of_sector("fi", fold(name))]
    made = _pick(pool, fold(name), note, mention.variant)
    return made and in_case(made, reading or guess_case(core), "noun")


def _read(core: str) -> Reading | None:
    """The reading of a profession in the plural or with a possessive suffix."""
    head, _, last = core.lower().rpartition(" ")
    names = _names("fi")
    start = f"{head} " if head else ""
    reading = read_noun(last, lambda word: fold(start + word) in names)
    return reading._replace(nominative=start + reading.nominative) if reading else None


@cache
def _names(lang: str) -> frozenset[str]:
    """The listed professions, folded."""
    return frozenset(job.folded for job in jobs_of(lang))


@cache
def _nouns(lang: str) -> frozenset[str]:
    """The last words of the listed professions, and these as a whole, folded."""
    return _names(lang) | {name.split()[-1] for name in _names(lang)}


@cache
def _finnish_forms() -> Mapping[str, tuple[str, str]]:
    """The forms of the listed professions in the singular."""
    return forms_of((job.male for job in jobs_of("fi")), "noun")


def _pick(pool: Sequence[str], name: str, note: Note, variant: int) -> str | None:
    """Draw a profession or an activity, another one than that of a name."""
    note.avoid(name)
    return note.pick("profession", pool, name, str(variant))


def _of_sector(lang: str, name: str) -> Sequence[Job]:
    """The professions of a name's sector; all of them if it has none."""
    by_sector = _by_sector(lang)
    return by_sector.get(sector_of(name, _sectors(lang)), jobs_of(lang))


@cache
def _by_sector(lang: str) -> Mapping[int, Sequence[Job]]:
    """The professions of each sector."""
    found: dict[int, list[Job]] = {}
    for job in jobs_of(lang):
        if job.sector >= 0:
            found.setdefault(job.sector, []).append(job)
    return found


def sector_of(name: str, sectors: Sequence[Sequence[str]]) -> int:
    """Find the sector of a profession.

    name (str): folded.
    sectors (Sequence[Sequence[str]]): beginnings of words, "_" for a blank.
    RETURNS (int): number of the sector whose beginning stands first in the name; -1 for none.
    """
    padded = f" {name}"
    found = [
        (padded.find(stem), -len(stem), number)
        for number, stems in enumerate(sectors)
        for stem in stems
        if stem in padded
    ]
    return min(found)[2] if found else -1


@cache
def _sectors(lang: str) -> tuple[tuple[str, ...], ...]:
    """The sectors of a language; beginnings of words, but in Finnish any part of a compound."""
    start = "" if lang == "fi" else " "
    lines = load_words(lang).get("professions", {}).get("sectors", [])
    return tuple(tuple(start + fold(stem.replace("_", " ")) for stem in line.split()) for line in lines)


@cache
def jobs_of(lang: str) -> tuple[Job, ...]:
    """The professions of a language, with their sectors."""
    if lang == "es":
        rows = [line.split(",") for line in read_lines(lang, "synth/lists/professions.csv")[1:]]
    else:
        rows = [[line, line] for line in read_lines(lang, "synth/lists/professions.txt")]
    return tuple(
        Job(male, female, sector_of(fold(male), _sectors(lang)), fold(male), needs_article_change("b", male))
        for male, female in rows
    )
