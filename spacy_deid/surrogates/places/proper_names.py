"""The proper part of an institution's name: a saint becomes a saint, a person one of that sex, a town a town."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..persons import fold
from .gazetteer import load_words, read_lines
from .geography import Geography
from .runs import Run
from .state import Note

__all__ = ["ROMAN", "persons_of", "proper_name"]

ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
_COMMONEST = 400  # names of the lists that institutions are named after
_ARTICLES = frozenset("el la los las".split())
_LADIES = frozenset("infanta reina princesa condesa duquesa marquesa".split())
_GENTLEMEN = frozenset("infante rey principe conde duque marques don doctor dr prof profesor padre obispo".split())


def proper_name(
    run: Run, before: Sequence[Run], note: Note, geography: Geography, context: tuple[str, ...]
) -> str | None:
    """Draw another proper name.

    run (Run): the words to replace.
    before (Sequence[Run]): what stands before them in the name.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    context (tuple[str, ...]): what is decided.
    RETURNS (Optional[str]): the name; None if none is free.
    """
    words: Mapping[str, Any] = load_words(note.lang).get("institutions", {})
    pool = _spanish(run, before, words) if note.lang == "es" else _english(run, before, words)
    if pool is None:
        return geography.unknown(run.text, int(context[-1]))
    return note.pick("proper", pool, *context)


def _spanish(run: Run, before: Sequence[Run], words: Mapping[str, Any]) -> Sequence[str] | None:
    """The names that may stand for a Spanish one; None for a town that no list has."""
    parts = run.text.split()
    first, last = fold(parts[0]), fold(before[-1].text) if before else ""
    if first in _MONTHS and len(parts) == 1:
        return [month.capitalize() for month in _MONTHS]
    if first in ("san", "sant", "santo"):
        saints = words["saints_male"] if first != "santo" else ["Domingo", "Tomás", "Toribio"]
        return [f"{parts[0]} {name}" for name in saints]
    if first in ("santa", "sta"):
        return [f"{parts[0]} {name}" for name in words["saints_female"]]
    if first in ("virgen", "verge", "mare"):
        return [f"Virgen {name}" for name in words["virgins"]]
    if first in ("nuestra", "ntra"):
        return [f"{' '.join(parts[:2])} {name}" for name in words["virgins"]]
    if last in _LADIES:
        return list(words["titled_female"])
    if last in _GENTLEMEN or first in _givens("es", "male") | _givens("es", "female"):
        return persons_of("es", parts, given=last not in _GENTLEMEN or first in _givens("es", "male"))
    return _spanish_place(run, before, words, last)


def _spanish_place(run: Run, before: Sequence[Run], words: Mapping[str, Any], last: str) -> Sequence[str] | None:
    """Names that agree with the article or particle before them: "La [Paz]", "del [Henares]", "de la [Princesa]"."""
    earlier = fold(before[-2].text) if len(before) > 1 else ""
    if last == "del" or (last in _ARTICLES and earlier == "de"):
        start = "del " if last == "del" else f"de {last} "
        return [name[len(start) :] for name in words["toponyms"] if name.startswith(start)]
    if last in _ARTICLES:
        return [name[len(last) + 1 :] for name in words["names"] if name.lower().startswith(last + " ")]
    if last == "de":
        return None
    parts = run.text.split()
    if len(parts) > 2:
        return [f"{first} {name}" for first in words["compounds"] for name in words["toponyms"]]
    single = [*words["single"], *_surnames("es")[:150]]
    return single if len(parts) == 1 else [f"{a} {b}" for a, b in zip(single, reversed(single), strict=True) if a != b]


def _english(run: Run, before: Sequence[Run], words: Mapping[str, Any]) -> Sequence[str]:
    """The names that may stand for an English one."""
    parts = run.text.replace("’", "'").split()
    last = fold(before[-1].text).rstrip(".") if before else ""
    if last in ("st", "saint", "sts"):
        return [name for name in words["saints_male"] if ("'" in name) == ("'" in run.text)]
    if last in ("mount", "mt", "fort", "ft", "lake"):
        return list(words["mounts"])
    if fold(parts[-1]).endswith("'s"):
        return list(words["possessives"])
    if len(parts) > 1 and fold(parts[0]) in _givens("en", "male") | _givens("en", "female"):
        return persons_of("en", parts, given=True)
    if run.text.title() in words["denominations"]:
        return list(words["denominations"])
    return list(words["doubles"] if len(parts) > 1 else words["names"])


def persons_of(lang: str, parts: Sequence[str], *, given: bool) -> list[str]:
    """Names of persons that do not exist, of the sex of the original's given name, with as many surnames.

    lang (str): ISO 639-1 code.
    parts (Sequence[str]): the words of the original.
    given (bool): whether they begin with a given name; else surnames alone.
    RETURNS (list[str]): names to choose from.
    """
    surnames = _surnames(lang)
    if not given:
        return [name for name in surnames if " " not in name]
    sex = "female" if fold(parts[0]) in _givens(lang, "female") - _givens(lang, "male") else "male"
    two = len(parts) > 2 and lang == "es"
    return _named(lang, sex, two)


@cache
def _named(lang: str, sex: str, two: bool) -> list[str]:
    """Given names with one or two surnames."""
    surnames, names = _surnames(lang), _listed(lang, sex, 120)
    return [
        f"{name} {surnames[(7 * i) % len(surnames)]}" + (f" {surnames[(11 * i + 5) % len(surnames)]}" if two else "")
        for i, name in enumerate(names * 3)
    ]


def _surnames(lang: str) -> list[str]:
    """The commonest surnames."""
    return _listed(lang, "surname", _COMMONEST)


@cache
def _givens(lang: str, sex: str) -> frozenset[str]:
    """The commonest given names, folded."""
    return frozenset(fold(name) for name in _listed(lang, sex, 4 * _COMMONEST))


@cache
def _listed(lang: str, part: str, most: int) -> list[str]:
    """The first names of a list; its head is no name."""
    return [line.split(",")[0] for line in read_lines(lang, f"names/{part}.csv")[1 : most + 1]]
