"""Find out which country a note is from, so that the surrogates of its places are all in this country.

A language is written in many countries: a Spanish note can be from Oaxaca, and a village of Oaxaca that becomes one of
Burgos tells readers that it is a surrogate. The country is that of most listed places of the note. Words that are used
in one country only ("IMSS", "EsSalud"; table ``country_cues`` of ``places.toml``) and telephone numbers that are
valid in one country only count as well.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ...lang.places import place_words
from ...lang.text import fold
from ..mention import Mention
from ..numbers.phones import is_valid_in
from .agreement import find_chains
from .gazetteer import Gazetteer

_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})
_LEAST = 0.75  # votes for a country
_MARGIN = 0.6  # votes by which it must be ahead
_HOME = 0.6  # votes of the home country for a name that other countries have as well
_COUNTRY_ALONE = 0.25  # votes of a country without a town: a birthplace or a journey
_CUE = 0.75  # votes of a word or telephone number; an address has one


def find_country(mentions: Sequence[Mention], lang: str, gazetteer: Gazetteer) -> str:
    """Find the country that a note is from.

    mentions (Sequence[Mention]): all mentions of the note, with their context, in the order of the text.
    lang (str): ISO 639-1 code of the note's language.
    gazetteer (Gazetteer): the listed places of the language.
    RETURNS (str): ISO 3166-1 code of a country with listed regions; "" if the note does not show it, or if the
        language has the regions of one country only.
    """
    possible = countries_with_regions(lang, gazetteer)
    if len(possible) < 2:
        return ""
    votes: dict[str, float] = defaultdict(float)
    home = frozenset(place_words(lang).get("home", ()))
    for chain in find_chains([mention for mention in mentions if mention.label in _PLACES]):
        listed = [found for piece in chain if (found := gazetteer.find(piece.text.strip()))]
        shared: dict[str, float] = defaultdict(float)
        for found in listed:
            named = frozenset(gazetteer.country_of(place.region) for place in found)
            for country, vote in _votes_of_name(named, home).items():
                shared[country] += vote
        if shared and (country := max(shared, key=shared.__getitem__)) in possible:
            alone = all(any(place.kind == "country" for place in found) for found in listed)
            votes[country] += _COUNTRY_ALONE if alone else min(1, shared[country])
    for country, vote in _votes_of_cues(mentions, lang, possible).items():
        votes[country] += vote
    ranked = sorted(votes.items(), key=lambda item: -item[1])
    (best, most), (_, second) = [*ranked, ("", 0.0), ("", 0.0)][:2]
    return best if best in possible and most >= _LEAST and most - second >= _MARGIN else ""


def _votes_of_name(countries: frozenset[str], home: frozenset[str]) -> dict[str, float]:
    """Divide the vote of a name among the countries that have a place of this name, mostly to the home country."""
    own = countries & home
    if len(own) != 1 or len(countries) == 1:
        return dict.fromkeys(countries, 1 / len(countries))
    return dict.fromkeys(countries - own, (1 - _HOME) / (len(countries) - 1)) | dict.fromkeys(own, _HOME)


@cache
def countries_with_regions(lang: str, gazetteer: Gazetteer) -> frozenset[str]:
    """Return the codes of the countries of which the regions and their towns are listed."""
    return frozenset(place_words(lang).get("home", ())) | {gazetteer.country_of(key) for key in gazetteer.provinces}


def _votes_of_cues(mentions: Sequence[Mention], lang: str, possible: frozenset[str]) -> Mapping[str, float]:
    """Return votes for countries from the words around the mentions, each of them once, and from telephone numbers."""
    texts, cues, known = list(_merge_contexts(mentions)), _cues(lang), sorted(possible)
    found = {(cue.lastgroup or "", fold(cue[0])) for text in texts for cue in cues.finditer(text)}
    for number in {mention.text for mention in mentions if mention.label in ("PHONE", "FAX")}:
        valid = [country for country in known if is_valid_in(number, country)]
        if len(valid) == 1:
            found.add((valid[0], number))
    return {country: _CUE * number for country, number in Counter(country for country, _ in found).items()}


def _merge_contexts(mentions: Sequence[Mention]) -> Iterator[str]:
    """Yield the mentions with the text around them; mentions whose contexts overlap give one text."""
    text = ""
    for mention, following in zip(mentions, [*mentions, None][1:], strict=True):
        text += mention.text if text else mention.before + mention.text
        if following is not None:
            start = mention.after.find(following.text)
            between = mention.after[: max(0, start)]
            if start >= 0 and following.before.endswith(between):
                text += between
                continue
        yield text + mention.after
        text = ""


@cache
def _cues(lang: str) -> re.Pattern[str]:
    """Return a pattern of the words that are used in one country only, with a group for each country."""
    words: Mapping[str, str] = place_words(lang).get("country_cues", {})
    groups = "|".join(f"(?P<{country}>{cues})" for country, cues in words.items())
    return re.compile(rf"(?<!\w)(?:{groups})(?!\w)" if groups else "(?!)")
