"""Towns, regions and countries: a region becomes another one of its kind, and its towns those of the other.

For each patient the regions of a kind (large provinces, states, countries of a continent) stand in a circle, in an
order drawn with the key, and each becomes the next one. So a town, its province and the first digits of its postal
code stay together, and no two regions become the same. A town becomes one of about as many inhabitants, a capital one.
"""

import re
from collections.abc import Sequence
from functools import partial

from ..keys import Draw
from ..mention import Mention
from ..persons import fold
from ..strategies import Suggest, nothing
from .finnish_forms import guess_case, in_case, place_forms
from .gazetteer import ABROAD, Gazetteer, Place, load_gazetteer, load_words
from .nationalities import replace_nationality
from .state import Note
from .surroundings import Surroundings
from .writing import dress, redraw, split_marks

__all__ = ["MAY_STAY", "Geography"]

_KINDS = {"COUNTRY": ("country", "region", "city"), "STATE": ("region", "country", "city")}
_ANY = ("city", "region", "country")
_PARTS = re.compile(r"(\s*[,.;/()\n]+\s*|\s+-\s+)")
_POSTAL = re.compile(r"(?:es?-)?(\d\d)[ .]?\d{3}", re.IGNORECASE)
_HINT = re.compile(r"[\s,(]{1,3}([^\W\d_][\w .'-]{0,30})")
_HEAD = re.compile(
    r"(?:isla|islas|provincia|municipio|villa|barrio|ciudad|comarca|valle|departamento|estado|región|distrito|partido|"
    r"city|county|town|state|province)\s+(?:(?:de|del|of)\s+)?(?:(?:la|las|los|el|the)\s+(?=[A-ZÁÉÍÓÚ]))?",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\s+(?:county|parish|township|borough|province|metropolitana)$", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(d?el|la|los|las)\s+$", re.IGNORECASE)
MAY_STAY = frozenset({"COUNTRY", "TERRITORY", "LOCATION_OTHER"})
"""The labels of a country that stays."""
_LARGE = 4  # band of a city of 100,000
_ENOUGH = 8  # large towns that a country should have to stand for one that a note is from
_SMALL = 1  # band of a town that no list has
_SHORT = 4  # letters of a short form of a region


class Geography:
    """The places of one note.

    note (Note): what its surrogates share.
    surroundings (Surroundings): what the places of the note say of each other.
    suggest (Suggest): towns that are taken before others by the variant 0.
    """

    def __init__(self, note: Note, suggest: Suggest = nothing) -> None:
        self._note, self._suggest = note, suggest
        self.lang = note.lang
        self._gazetteer: Gazetteer = load_gazetteer(note.lang)
        self._words = load_words(note.lang)
        self.surroundings = Surroundings(self._words.get("stays", ()))
        self._short_countries = {fold(name) for name in self._words.get("aliases", {}) if name.isupper()}

    def replace(self, mention: Mention) -> str | None:
        """Replace a mention of a place.

        mention (Mention): label CITY, STATE, COUNTRY, TERRITORY or LOCATION_OTHER.
        RETURNS (Optional[str]): the surrogate as the mention is written; None if there is none.
        """
        before, core, after = split_marks(mention.text)
        if not core:
            return None
        made = self._numbers(core, mention) if any(c.isdigit() for c in core) else self._named(core, mention)
        if made is None:
            return None
        if after.startswith(".") and ("." in core or self._is_short(core)):
            after = after[1:]
        short = core.isupper() and fold(core) in self._short_countries
        return before + dress(made, "" if short else core) + after

    def find(self, text: str, label: str = "CITY") -> tuple[Place, str] | None:
        """Find a place.

        text (str): as written, in Finnish in any case.
        label (str): label, which tells a town from a region of its name.
        RETURNS (Optional[tuple[Place, str]]): the place and its case; None if it is not known.
        """
        name, case = place_forms().get(fold(text), ("", "")) if self._note.lang == "fi" else (text, "nom")
        abroad = self.surroundings.abroad
        found = sorted(self._gazetteer.find(name), key=lambda place: bool(abroad) and place.region != abroad)
        best = next((p for kind in _KINDS.get(label, _ANY) for p in found if p.kind == kind), None)
        if best is None or (abroad and best.kind != "country" and best.region != abroad):
            return None
        meant = self.surroundings.meant(name) if best.region.startswith(ABROAD) else None
        return meant or best, case

    def place(self, place: Place, variant: int = 0) -> str | None:
        """The surrogate of a known place, in the nominative and the same all over the note."""
        return self._note.once(("place", place, variant), lambda: self._place(place, variant))

    def unknown(self, name: str, variant: int = 0) -> str | None:
        """The surrogate of a place that no list has: a small town or a village."""
        return self._note.once(("unknown", fold(name), variant), lambda: self._unknown(fold(name), variant))

    def _unknown(self, name: str, variant: int) -> str | None:
        """Draw a town of the country that the note is from, or a small one at home, in its region."""
        family, context = f"city {variant}", (name, str(variant))
        if made := self._note.pick(family, self._abroad(variant), "abroad", *context):
            return made
        region = self.region(self.surroundings.region, variant) if self.surroundings.region else None
        for near in self._gazetteer.towns(region, _SMALL) if region else ():
            if made := self._note.pick(family, near, "near", str(len(near)), *context):
                return made
        pool = self._gazetteer.small or list(self._gazetteer.countries.values())
        return self._note.pick(family, pool, "unknown", *context)

    def _abroad(self, variant: int) -> Sequence[str]:
        """The large towns of the country that stands for that of a note from abroad; none if it is from home."""
        country = self.region(self.surroundings.abroad, variant) if self.surroundings.abroad else None
        return self._large(country or "")

    def _large(self, country: str) -> Sequence[str]:
        """The large towns of a country."""
        return [town for band in (_LARGE, _LARGE + 1) for town in self._gazetteer.cities.get((country, band), ())]

    def _named(self, core: str, mention: Mention) -> str | None:
        """The surrogate of words."""
        found = self.find(core, mention.label)
        if found is None and (meant := self.surroundings.meant(core)):
            found = meant, "nom"
        if found is not None and mention.label in MAY_STAY and self.surroundings.stays(found[0]):
            return core
        if found is not None:
            return self._known(core, self._hinted(found[0], core, mention), found[1], mention)
        if (adjective := replace_nationality(core, mention.variant, self._note, self.region)) is not None:
            return adjective
        pieces = _PARTS.split(core)
        if len(pieces) > 1:
            parts = [self._named(p, mention) if i % 2 == 0 and p else p for i, p in enumerate(pieces)]
            return None if None in parts else "".join(part or "" for part in parts)
        for pattern in (_HEAD, _TAIL):
            around = pattern.match(core) if pattern is _HEAD else pattern.search(core)
            if around and around.group() != core:
                rest = self._named(core[: around.start()] + core[around.end() :], mention)
                return rest and (around.group() + rest if pattern is _HEAD else rest + around.group())
        return self._guessed(core, mention)

    def _guessed(self, core: str, mention: Mention) -> str | None:
        """A place that no list has, in the case that its ending tells."""
        if mention.label == "COUNTRY":
            names = sorted(self._gazetteer.countries.values())
            made = self._note.pick(f"region {mention.variant}", names, "country", fold(core), str(mention.variant))
        else:
            made = self.unknown(core, mention.variant)
        return in_case(made, guess_case(core)) if made and self._note.lang == "fi" else made

    def _known(self, core: str, place: Place, case: str, mention: Mention) -> str | None:
        """A known place: its short form for a short form, without an article if that stands before."""
        if self._note.lang == "es" and (article := _ARTICLE.search(mention.before)):
            word = article[1].lower().removeprefix("d")
            if self._gazetteer.find(f"{word} {core}"):
                return self._after_article(word, core, mention.variant)
        made = self.place(place, mention.variant)
        if made is None:
            return None
        if place.kind == "region" and self._is_short(core):
            return self._code(made)
        return in_case(made, case) if self._note.lang == "fi" else made

    def _after_article(self, article: str, core: str, variant: int) -> str | None:
        """A town with the same article, without it: "la [Coruña]" becomes "la [Carolina]"."""
        pool = [name[len(article) + 1 :] for name in self._gazetteer.small if fold(name).startswith(article + " ")]
        return self._note.pick(f"city {variant}", pool, "article", article, fold(core), str(variant))

    def _hinted(self, place: Place, core: str, mention: Mention) -> Place:
        """Of several towns with a name, the one of the region that stands behind it."""
        others = [other for other in self._gazetteer.find(place.name) if other.kind == place.kind == "city"]
        hint = _HINT.match(mention.after) if len(others) > 1 else None
        if hint is None:
            return self._note.once(("city", fold(core)), lambda: place)
        words = hint[1].split()
        named = {p.region for n in (3, 2, 1) for p in self._gazetteer.find(" ".join(words[:n])) if p.kind == "region"}
        keys = {region for region, name in self._gazetteer.regions.items() if named & {region, name}}
        best = next((other for other in others if other.region in keys), place)
        return self._note.once(("city", fold(core)), lambda: best)

    def _place(self, place: Place, variant: int) -> str | None:
        """Make the surrogate of a known place."""
        region = self.region(self._region_of(place), variant)
        if place.kind != "city":
            return region and self._gazetteer.regions.get(region, self._gazetteer.countries.get(region))
        family, capitals = f"city {variant}", self._gazetteer.capitals
        if region is None:
            return self.unknown(place.name, variant)
        if (
            capitals.get(place.region) == place.name
            and region in capitals
            and self._note.take(family, capitals[region])
        ):
            return capitals[region]
        for near, towns in enumerate(self._gazetteer.towns(region, place.band)):
            free = partial(self._note.is_free, family)
            suggested = None if variant else self._suggest("city", fold(place.name), towns, free)
            if suggested and self._note.take(family, suggested):
                return suggested
            if made := self._note.pick(family, towns, *place[:3], str(near), str(variant)):
                return made
        return self.unknown(place.name, variant)

    def region(self, region: str, variant: int = 0) -> str | None:
        """The region that stands for another one, the same all over the note; None if there is none."""
        return self._note.once(("region", region, variant), lambda: self._region(region, variant))

    def _region(self, region: str, variant: int) -> str | None:
        """The next one in the circle of its kind that is free."""
        circle = self._gazetteer.cycles.get(region, ())
        order = self._note.once(
            ("circle", tuple(circle), variant),
            lambda: self._note.draw("circle", *circle, str(variant)).shuffled(circle),
        )
        if region not in order:
            return None
        start = order.index(region)
        others = [*order[start + 1 :], *order[:start]]
        if region == self.surroundings.abroad:  # its towns need others to become
            others.sort(key=lambda country: len(self._large(country)) < _ENOUGH)
        names = {**self._gazetteer.regions, **self._gazetteer.countries}
        for other in others:
            if (
                other[1:] not in self._words.get("stays", ())
                and names[other] != names[region]
                and self._note.take(f"region {variant}", names[other])
            ):
                return other
        return None

    def _region_of(self, place: Place) -> str:
        """The key of a place's region."""
        if place.kind == "city" or place.region in self._gazetteer.cycles:
            return place.region
        return next(key for key, name in self._gazetteer.regions.items() if name == place.name)

    def _is_short(self, core: str) -> bool:
        """Whether a region stands in its short form."""
        return len(core) <= _SHORT and "region_codes" in self._words and self.find(core, "STATE") is not None

    def _code(self, name: str) -> str:
        """The short form of a region."""
        codes = {full: code for code, full in self._words.get("region_names", {}).items()}
        return str(codes.get(name) or self._words["region_codes"].get(name, name))

    def _numbers(self, core: str, mention: Mention) -> str | None:
        """A postal code: the first digits of the province that stands for its own, the others drawn.

        A third digit of 0 is the capital's, and the capital becomes one.
        """
        if mention.label == "COUNTRY":
            return None
        context = ("zip", fold(core), str(mention.variant))
        postal = _POSTAL.fullmatch(core)
        codes: dict[str, str] = self._words.get("zip", {})
        region = next((r for r, code in codes.items() if postal and code == postal[1]), None)
        other = self.region(region, mention.variant) if region else None
        if postal is None or other not in codes:
            return self._note.retry("zip", lambda draw: redraw(core, draw), *context)
        start, rest = postal.start(1), postal.group()[postal.end(1) :]
        gap = rest[:-3]
        return self._note.retry(
            "zip",
            lambda draw: core[:start] + codes[other or ""] + gap + _local(rest[-3] == "0", draw),
            *context,
        )

    @property
    def provinces(self) -> bool:
        """Whether postal codes begin with the code of a province."""
        return "zip" in self._words


def _local(capital: bool, draw: Draw) -> str:
    """The last three digits of a Spanish postal code."""
    return f"0{1 + draw.below(40):02}" if capital else f"{1 + draw.below(9)}{draw.below(100):02}"
