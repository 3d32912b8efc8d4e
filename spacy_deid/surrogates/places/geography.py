"""Replace towns, regions and countries so that a town still lies in its region and capitals remain capitals.

For each patient, the regions of a kind (large provinces, states, countries of a continent) get a cyclic order
that is drawn with the key, and each region is replaced by the next one. So a town, its province and the first digits
of its postal code remain consistent, and no two regions become the same. A town becomes one with about as many
inhabitants, and a capital becomes a capital.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial

from rapidfuzz.distance import OSA

from ...lang import all_languages, get_language
from ...lang.inflection import index_forms, inflect_like, inflects
from ...lang.places import place_words
from ...lang.text import fold, match_style, redraw, split_marks
from ..mention import Mention
from ..strategies import Suggest, nothing
from .agreement import Piece, code_digits, find_chains
from .descriptions import replace_nationality
from .gazetteer import ABROAD, Place, load_gazetteer
from .state import NoteState

MAY_STAY = frozenset({"COUNTRY", "TERRITORY", "LOCATION_OTHER"})
"""Labels of mentions that are kept if they name the home country, which the towns of the note do not leave."""

_KINDS = {"COUNTRY": ("country", "region", "city"), "STATE": ("region", "country", "city")}
_ANY = ("city", "region", "country")
_PARTS = re.compile(r"(\s*[,.;/()\n]+\s*|\s+-\s+)")
_REGION_BEHIND = re.compile(r"[\s,(]{1,3}([^\W\d_][\w .'-]{0,30})")
_LARGE = 4  # band of a city of 100,000
_ENOUGH = 8  # large towns that a country should have to replace the country that a note is from
_SMALL = 1  # band of an unlisted town
_LONGEST_CODE = 4  # letters of the short form of a region
_KNOWN = 2  # band of a town that proves a note to be from home; villages have namesakes abroad
_SHORTEST_TYPO = 6  # minimum length of a name in which typing errors are corrected


class PlaceContext:
    """Collects the listed places of a note, to infer what its other places mean, such as towns abroad.

    home (Iterable[str]): codes of the home countries, which are kept because surrogates of towns are in the same
        country. If there are none, places are ignored and nothing is inferred.
    """

    def __init__(self, home: Iterable[str]) -> None:
        self._home = {ABROAD + code for code in home}
        self._towns: dict[str, Place] = {}
        self._countries: set[str] = set()
        self._at_home = False

    def __repr__(self) -> str:
        return f"PlaceContext({len(self._towns)} towns)"

    def add(self, place: Place) -> None:
        """Add a listed place that the note mentions."""
        if not self._home:
            return
        if place.kind == "country":
            self._countries.add(place.region)
        elif not place.region.startswith(ABROAD) or "/" in place.region:
            self._at_home |= place.band >= _KNOWN
            self._towns[fold(place.name)] = place

    def confirm_home(self) -> None:
        """Take the note for one from home, because of a postal code or a region of the home country."""
        self._at_home = True

    def stays(self, place: Place) -> bool:
        """Whether a place is a home country. It is kept, because its towns become towns of the same country."""
        return place.kind == "country" and place.region in self._home

    @property
    def abroad(self) -> str:
        """Key of the only country in the note if it is foreign and no town at home is named; "" otherwise."""
        alone = len(self._countries) == 1 and not self._countries & self._home and not self._at_home
        return next(iter(self._countries)) if alone else ""

    @property
    def region(self) -> str:
        """The region at home that all places of the note are in; "" if there are none or several regions."""
        regions = {place.region for place in self._towns.values()}
        return regions.pop() if len(regions) == 1 else ""

    def resolve(self, name: str) -> Place | None:
        """Find the town of the note that a name abbreviates or misspells: "Santiago" (de Compostela).

        RETURNS (Optional[Place]): the town; None if there is none, or more than one.
        """
        word = fold(name)
        found = set()
        for town, place in self._towns.items():
            long = word != town and min(len(word), len(town)) >= _SHORTEST_TYPO
            if town.startswith(word + " ") or (long and OSA.distance(word, town, score_cutoff=1) == 1):
                found.add(place)
        return found.pop() if len(found) == 1 else None


class Geography:
    """Finds listed places in the mentions of one note, and chooses their surrogates.

    state (NoteState): draws the surrogates of the note.
    suggest (Suggest): a function that proposes a town, which is used if it is free. It is called for variant 0 only.
    country (str): ISO 3166-1 code of the country that the note is from, which its places do not leave; "" if it is
        unknown. See `country.find_country`.
    settings (dict[str, int]): folded name of an organization → its setting; see `institutions.find_setting`.
    """

    def __init__(self, state: NoteState, suggest: Suggest = nothing, country: str = "") -> None:
        self.state, self.lang, self._suggest, self.country = state, state.lang, suggest, country
        self._conventions = get_language(state.lang).places
        self._gazetteer = load_gazetteer(state.lang)
        self._words = place_words(state.lang)
        self.context = PlaceContext(self._words.get("stays", ()))
        self._meant: dict[str, tuple[Place, str]] = {}
        self.settings: dict[str, int] = {}
        self._kept: set[str] = set()
        self._code_digits: dict[str, int] = {}
        self._visited: set[str] = set()
        self._foreign_codes: set[str] = set()
        self._short_countries = {fold(name) for name in self._words.get("aliases", {}) if name.isupper()}

    def settle(self, mentions: Sequence[Mention]) -> None:
        """Find out from the addresses of the note which places its towns are, before any place is replaced.

        mentions (Sequence[Mention]): mentions with their context, in the order of the text.
        """
        home = (*self._words.get("home", ()), self.country)
        for chain in find_chains(mentions):
            country = next((p.region for piece in chain for p in self._listed(piece, "country")), "")
            foreign = bool(country) and country[1:] not in home
            codes = [fold(piece.text) for piece in chain if any(c.isdigit() for c in piece.text)]
            if foreign and codes:
                self._foreign_codes.update(codes)
                self._code_digits[country] = sum(c.isdigit() for c in codes[0])
            towns = [piece for piece in chain if piece.label not in ("STATE", "COUNTRY", "ZIP")]
            towns = [piece for piece in towns if piece.text[0].isalpha() and not self._listed(piece, "country")]
            region = country if foreign else self._region_of(chain, towns)
            if region and not foreign:
                self.context.confirm_home()
            bare = all(self._nominative(piece.text)[1] == "nom" for piece in chain if self._listed(piece, "country"))
            for piece in towns:
                name, case = self._nominative(piece.text)
                if foreign and bare and not self._named(name):
                    case = "nom"  # "Perpignan, Ranska" is no genitive
                cities = [place for place in self._named(name) if place.kind == "city"]
                here = [place for place in cities if place.region == region]
                own = any(place.region == region for place in self._named(name))
                if here or (
                    (region and not own and all(place.region.startswith(ABROAD) for place in cities)) or foreign
                ):
                    meant = here[0] if here else Place(name, "city", region, _LARGE if foreign else _SMALL)
                    self._meant.setdefault(fold(piece.text), (meant, case))
                    self.context.add(meant)
                    self._visited.add(region)
            if country and not foreign and (regions := {region, *self._home_regions(towns)} - {""}):
                self._kept |= {country} & {ABROAD + self._gazetteer.country_of(own) for own in regions}

    def _named(self, name: str) -> Sequence[Place]:
        """Return the listed places with a name, those of the country of the note first.

        A region abroad, and a town by its region, are only returned if the note is from their country.
        """
        places, own = self._gazetteer.find(name), ABROAD + self.country
        here = [place for place in places if "/" not in place.region or place.region.startswith(own + "/")]
        if not self.country:
            return here
        of = self._gazetteer.country_of
        return sorted(here, key=lambda place: (of(place.region) != self.country, place.region == own))

    @property
    def _abroad(self) -> str:
        """Key of the foreign country that the note is from, if it has no listed regions; "" otherwise."""
        return "" if self.country else self.context.abroad

    def _listed(self, piece: Piece, kind: str) -> list[Place]:
        """Return the places of a kind that a piece of an address names; a country only if no town at home is meant."""
        found = self._named(self._nominative(piece.text)[0])
        if kind == "country" and piece.label != "COUNTRY" and any(place.kind == "city" for place in found):
            return []
        return [place for place in found if place.kind == kind]

    def _nominative(self, text: str) -> tuple[str, str]:
        """Return the nominative and the grammatical case of a place; an unlisted place is returned unchanged."""
        inflector = get_language(self.lang).inflector
        if inflector is None:
            return text, "nom"
        return place_forms(self.lang).get(fold(text)) or (text, inflector.guess_case(text))

    def _home_regions(self, towns: Sequence[Piece]) -> set[str]:
        """Return the regions at home of the listed towns of an address."""
        places = (place for piece in towns for place in self._listed(piece, "city"))
        return {place.region for place in places if not place.region.startswith(ABROAD)}

    def _region_of(self, chain: Sequence[Piece], towns: Sequence[Piece]) -> str:
        """Return the region at home that the postal code or a region in an address names; "" if there is none."""
        for piece in chain if self._is_home else ():
            postal = get_language(self.lang).postal_codes.province
            found = postal.fullmatch(piece.text.strip()) if postal else None
            codes: Mapping[str, str] = self._words.get("zip", {})
            if found and (region := next((r for r, code in codes.items() if code == found[1]), "")):
                return region
        keys = {name: key for key, name in self._gazetteer.regions.items()}
        for piece in chain:
            if piece not in towns[:1] and (listed := self._listed(piece, "region")):
                return listed[0].region if "/" in listed[0].region else keys.get(listed[0].name, listed[0].name)
        return ""

    def stays(self, place: Place) -> bool:
        """Whether a country is kept, because the towns that replace those of the note are there."""
        kept = self._kept | {ABROAD + self.country}
        return self.context.stays(place) or (place.kind == "country" and place.region in kept)

    def replace(self, mention: Mention) -> str | None:
        """Replace a mention of a place.

        mention (Mention): a mention with the label CITY, STATE, COUNTRY, TERRITORY or LOCATION_OTHER, or a ZIP
            whose first digits identify a province.
        RETURNS (Optional[str]): the surrogate, with the capitals and punctuation of the mention; None if there
            is none.
        """
        before, core, after = split_marks(mention.text)
        if not core:
            return None
        numbers = any(c.isdigit() for c in core)
        made = self._replace_postal_code(core, mention) if numbers else self._replace_name(core, mention)
        if made is None:
            return None
        if after.startswith(".") and ("." in core or self._is_code(core)):
            after = after[1:]
        short = core.isupper() and fold(core) in self._short_countries
        return before + match_style(made, "" if short else core) + after

    def find(self, text: str, label: str = "CITY") -> tuple[Place, str] | None:
        """Find the listed place that a text names, also in an inflected form.

        text (str): the name as written, in any grammatical case.
        label (str): label of the mention, which decides between a town and a region with the same name.
        RETURNS (Optional[tuple[Place, str]]): the place and the grammatical case of the text; None if it is
            not listed.
        """
        if label not in ("COUNTRY", "STATE") and fold(text) in self._meant:
            return self._meant[fold(text)]
        name, case = place_forms(self.lang).get(fold(text), ("", "")) if inflects(self.lang) else (text, "nom")
        abroad = self._abroad
        found = sorted(self._named(name), key=lambda place: bool(abroad) and place.region != abroad)
        best = next((p for kind in _KINDS.get(label, _ANY) for p in found if p.kind == kind), None)
        if best is None or (abroad and best.kind != "country" and best.region != abroad):
            return None
        meant = self.context.resolve(name) if best.region.startswith(ABROAD) else None
        return meant or best, case

    # --- names ---

    def _replace_name(self, core: str, mention: Mention) -> str | None:
        """Replace a place without digits: a listed place, a nationality, several places, or an unlisted place. None if
        there is no surrogate.
        """
        found = self.find(core, mention.label)
        if found is None and (meant := self.context.resolve(core)):
            found = meant, "nom"
        if found is not None:
            stays = mention.label in MAY_STAY and self.stays(found[0])
            return core if stays else self._replace_known(core, *found, mention)
        if (adjective := replace_nationality(core, mention.variant, self.state, self.region)) is not None:
            return adjective
        pieces = _PARTS.split(core)
        if len(pieces) > 1:
            parts = [self._replace_name(p, mention) if i % 2 == 0 and p else p for i, p in enumerate(pieces)]
            return None if None in parts else "".join(part or "" for part in parts)
        before, after = _generic_words()
        for pattern, find in ((before, before.match), (after, after.search)):
            around = find(core)
            if around and around.group() != core and not self.state.is_forbidden(around.group()):
                rest = self._replace_name(core[: around.start()] + core[around.end() :], mention)
                return rest and (around.group() + rest if pattern is before else rest + around.group())
        if mention.label == "COUNTRY":
            names = sorted(self._gazetteer.countries.values())
            made = self.state.pick(f"region {mention.variant}", names, "country", fold(core), str(mention.variant))
        elif mention.label == "STATE" and (own := self._gazetteer.regions_of(self.country)):
            made = self.state.pick(f"region {mention.variant}", own, "state", fold(core), str(mention.variant))
        else:
            made = self.unknown(core, mention.variant)
        inflector = get_language(self.lang).inflector
        return inflect_like(made, self.lang, inflector.guess_case(core)) if made and inflector else made

    def _replace_known(self, core: str, place: Place, case: str, mention: Mention) -> str | None:
        """Replace a listed place, in its grammatical case. A code such as "CA" is replaced by a code. None if there is
        no surrogate.
        """
        others = [other for other in self._named(place.name) if other.kind == place.kind == "city"]
        hint = _REGION_BEHIND.match(mention.after) if len(others) > 1 else None
        if hint is not None:  # of several towns of one name, that of the region that follows the mention
            words = hint[1].split()
            named = {p.region for n in (3, 2, 1) for p in self._named(" ".join(words[:n])) if p.kind == "region"}
            keys = {region for region, name in self._gazetteer.regions.items() if named & {region, name}}
            place = next((other for other in others if other.region in keys | named), place)
        meant = place
        place = self.state.once(("city", fold(core)), lambda: meant)
        article = self._conventions.article(mention.before)
        if article and self._named(f"{article} {core}"):  # "la [Coruña]" becomes "la [Carolina]"
            small = self._gazetteer.small_towns(self.country)
            pool = [name[len(article) + 1 :] for name in small if fold(name).startswith(article + " ")]
            context = ("article", article, fold(core), str(mention.variant))
            return self.state.pick(f"city {mention.variant}", pool, *context)
        made = self.place(place, mention.variant)
        if made is not None and place.kind == "region" and self._is_code(core):
            codes = {full: code for code, full in self._words.get("region_names", {}).items()}
            return str(codes.get(made) or self._words["region_codes"].get(made, made))
        return made and inflect_like(made, self.lang, case)

    def _is_code(self, core: str) -> bool:
        """Whether a text is the code of a region, such as "CA" for California; "Ohio" and "Utah" are names."""
        if len(core) > _LONGEST_CODE or "region_codes" not in self._words:
            return False
        found = self.find(core, "STATE")
        return found is not None and fold(core) not in map(fold, self._gazetteer.regions.values())

    def unknown(self, name: str, variant: int = 0) -> str | None:
        """Return the surrogate of an unlisted place, in the nominative; None if no town is free.

        It is a town of the foreign country that the note is from, else a small town in the region of the note.
        """

        def make() -> str | None:
            family, context = f"city {variant}", (fold(name), str(variant))
            country = self.region(self._abroad, variant) if self._abroad else None
            if made := self.state.pick(family, self._large_towns(country or ""), "abroad", *context):
                return made
            region = self.region(self.context.region, variant) if self.context.region else None
            for near in self._gazetteer.towns(region, _SMALL) if region else ():
                if made := self.state.pick(family, near, "near", str(len(near)), *context):
                    return made
            pool = self._gazetteer.small_towns(self._country) or list(self._gazetteer.countries.values())
            return self.state.pick(family, pool, "unknown", *context)

        return self.state.once(("unknown", fold(name), variant), make)

    @property
    def _country(self) -> str:
        """Code of the country that the note is from; "" if it does not show."""
        return self.country or (self._gazetteer.country_of(self.context.region) if self.context.region else "")

    @property
    def _is_home(self) -> bool:
        """Whether the note is not from abroad, so that its postal codes are those of the language's country."""
        return self.country in ("", *self._words.get("home", ()))

    def _large_towns(self, country: str) -> Sequence[str]:
        """Return the towns of a country with at least 100,000 inhabitants."""
        return [town for band in (_LARGE, _LARGE + 1) for town in self._gazetteer.cities.get((country, band), ())]

    def place(self, place: Place, variant: int = 0) -> str | None:
        """Return the surrogate of a listed place in the nominative, the same at each call; None if none is free."""
        return self.state.once(("place", place, variant), lambda: self._draw_place(place, variant))

    def _draw_place(self, place: Place, variant: int) -> str | None:
        """Choose the surrogate of a listed place: another region, or a town in the region that replaces its own. None
        if none is free.
        """
        own = place.region
        if place.kind != "city" and own not in self._gazetteer.cycles:
            own = next(key for key, name in self._gazetteer.regions.items() if name == place.name)
        region = self.region(own, variant)
        if place.kind != "city":
            return region and self._gazetteer.names[region]
        if region is None:
            return self.unknown(place.name, variant)
        family, capitals = f"city {variant}", self._gazetteer.capitals
        is_capital = capitals.get(place.region) == place.name and region in capitals
        if is_capital and self.state.take(family, capitals[region]):
            return capitals[region]
        for near, towns in enumerate(self._gazetteer.towns(region, place.band)):
            free = partial(self.state.is_free, family)
            suggested = None if variant else self._suggest("city", fold(place.name), towns, free)
            if suggested and self.state.take(family, suggested):
                return suggested
            if made := self.state.pick(family, towns, *place[:3], str(near), str(variant)):
                return made
        if region.startswith(ABROAD) and region != ABROAD + self.country and "/" not in region:
            return None  # a town at home would not fit the country
        return self.unknown(place.name, variant)

    def region(self, region: str, variant: int = 0) -> str | None:
        """Return the key of the region that replaces a region, the same at each call; None if there is none."""
        return self.state.once(("region", region, variant), lambda: self._draw_region(region, variant))

    def _draw_region(self, region: str, variant: int) -> str | None:
        """Choose the next unused region or country in the cyclic order that is drawn with the key of the patient. None
        if the region is unknown or all others are used.
        """
        cycle = self._gazetteer.cycles.get(region, ())
        if region not in cycle:
            return None
        if list(cycle) == [region] or region == ABROAD + self.country:
            return region  # the only region of its country, or the country of the note
        order = self.state.draw("circle", *cycle, str(variant)).shuffled(cycle)
        start = order.index(region)
        others = [*order[start + 1 :], *order[:start]]
        if region == self._abroad or (region in self._visited and region.startswith(ABROAD)):
            others.sort(key=lambda country: len(self._large_towns(country)) < _ENOUGH)  # its towns need as many others
        if digits := self._code_digits.get(region):
            others.sort(key=lambda country: code_digits().get(country[1:]) != digits)
        names, stays = self._gazetteer.names, (*self._words.get("stays", ()), self.country)
        for other in others:
            if (
                other[1:] not in stays
                and names[other] != names[region]
                and self.state.take(f"region {variant}", names[other])
            ):
                return other
        return None

    # --- postal codes of provinces ---

    @property
    def provinces(self) -> bool:
        """Whether the first digits of the language's postal codes identify a province, as in Spain."""
        return "zip" in self._words

    def _replace_postal_code(self, core: str, mention: Mention) -> str | None:
        """Replace a postal code: its province by the surrogate of the province, the other digits at random. None for a
        mention with the label COUNTRY, or if no code is free.
        """
        if mention.label == "COUNTRY":
            return None
        context = ("zip", fold(core), str(mention.variant))
        conventions = get_language(self.lang).postal_codes
        postal = conventions.province.fullmatch(core) if conventions.province else None
        codes: dict[str, str] = self._words.get("zip", {})
        home = postal if self._is_home and fold(core) not in self._foreign_codes else None
        region = next((r for r, code in codes.items() if home and code == home[1]), None)
        other = self.region(region, mention.variant) if region else None
        if postal is None or other not in codes:
            return self.state.retry("zip", lambda draw: redraw(core, draw), *context)
        rest = postal.group()[postal.end(1) :]
        head = core[: postal.start(1)] + codes[other or ""] + rest[:-3]
        return self.state.retry("zip", lambda draw: head + conventions.local_part(rest[-3:], draw), *context)


@cache
def place_forms(lang: str) -> Mapping[str, tuple[str, str]]:
    """Return all case forms of the listed places of a language, so that inflected names can be found.

    lang (str): language code.
    RETURNS (Mapping[str, tuple[str, str]]): form → (nominative, case). If two places share a form, it is assigned to
        the place in the country of the language.
    """
    gazetteer = load_gazetteer(lang)
    names = {name: None for places in gazetteer.by_name.values() for name in (place.name for place in places)}
    home = [name for name in names if any(not place.region.startswith(ABROAD) for place in gazetteer.find(name))]
    aliases = (name[:1].upper() + name[1:] for name in gazetteer.by_name)
    return index_forms(dict.fromkeys([*home, *names, *aliases]), lang, "place")


@cache
def _generic_words() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of generic words before and after a place name, in all languages: "provincia de", "County"."""
    conventions = [language.places for language in all_languages()]
    before, prepositions, articles, after = (
        "|".join(filter(None, words))
        for words in zip(
            *((c.generic_before, c.prepositions, c.articles, c.generic_after) for c in conventions), strict=True
        )
    )
    return (
        re.compile(rf"(?:{before})\s+(?:(?:{prepositions})\s+)?(?:(?:{articles})\s+(?=[A-ZÁÉÍÓÚ]))?", re.IGNORECASE),
        re.compile(rf"\s+(?:{after})$", re.IGNORECASE),
    )
