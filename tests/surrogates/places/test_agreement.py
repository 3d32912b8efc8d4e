"""Surrogates of the places of one address agree: town, region, country and postal code, at home and abroad."""

import re

import pytest

from spacy_deid.evaluation.documents import AnnotatedText, Entity
from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import find_mentions
from spacy_deid.surrogates.places.agreement import find_chains
from spacy_deid.surrogates.places.gazetteer import load_gazetteer

MARK = re.compile(r"\[([^\]]+)\]\((\w+)\)")
PATIENTS = [ProjectKey(bytes(range(32))).patient(str(number)) for number in range(300)]


def parse(marked):
    """Read a text with marks such as "[Toledo](CITY)"."""
    text, last, entities = "", 0, []
    for found in MARK.finditer(marked):
        text += marked[last : found.start()]
        entities.append(Entity(len(text), len(text) + len(found[1]), found[2]))
        text, last = text + found[1], found.end()
    return AnnotatedText("note", text + marked[last:], tuple(entities))


def surrogates(marked, lang, patient):
    """Replace the marked values and return what stands in their place."""
    released = replace_gold(parse(marked), patient, lang)
    assert all(made.action in ("replace", "keep") for made in released.replacements)
    return [made.text for made in released.replacements]


def regions(name, lang):
    return {place.region for place in load_gazetteer(lang).find(name) if place.kind == "city"}


def country(name, lang):
    return {code for code, other in load_gazetteer(lang).countries.items() if fold(other) == fold(name)}


def province(code):
    names = load_gazetteer("es")._words["zip"]
    return next(region for region, digits in names.items() if code.startswith(digits))


@pytest.mark.parametrize(
    "note",
    [
        "Vive en [Ocaña](CITY), [45300](ZIP). Natural de [Rusia](COUNTRY).",
        "Natural de [Rusia](COUNTRY).\nDomicilio: [C/ Mayor 3](STREET), [45300](ZIP) [Ocaña](CITY)",
        "Natural de [Rusia](COUNTRY). Vive en [Villaseca de los Zarzos](CITY). CP: [45260](ZIP).",
    ],
)
def test_a_town_with_a_postal_code_of_home_stays_at_home(note):
    for patient in PATIENTS:
        made = dict(zip([e.label for e in parse(note).entities], surrogates(note, "es", patient), strict=True))
        assert province(made["ZIP"]) in regions(made["CITY"], "es")


@pytest.mark.parametrize(
    ("lang", "note"),
    [
        ("es", "Nació en [Perpiñán](CITY), [Francia](COUNTRY)."),
        ("es", "Nació en [Villeneuve-les-Orties](CITY) ([Francia](COUNTRY)) y vive en [Getafe](CITY)."),
        ("en", "Born in [Villeneuve-les-Orties](CITY), [France](COUNTRY); lives in [Fresno](CITY)."),
        ("fi", "Syntynyt: [Villeneuve](CITY), [Ranska](COUNTRY). Kotikunta [Espoo](CITY)."),
    ],
)
def test_a_town_abroad_becomes_one_of_the_country_beside_it(lang, note):
    for patient in PATIENTS:
        town, land, *_ = surrogates(note, lang, patient)
        assert regions(town, lang) & country(land, lang)


def test_a_town_and_a_country_in_one_mention_agree():
    for patient in PATIENTS:
        town, land = surrogates("Nació en [Perpiñán, Francia](CITY).", "es", patient)[0].split(", ")
        assert regions(town, "es") & country(land, "es")


def test_a_postal_code_abroad_is_not_read_as_one_of_home():
    note = "Antes: [28195](ZIP) [Bremen](CITY), [Alemania](COUNTRY). Vive en [Madrid](CITY)."
    heads = {surrogates(note, "es", patient)[0][:2] for patient in PATIENTS[:60]}
    assert len(heads) > 12
    assert any(int(head) > 52 for head in heads)


def test_a_country_beside_a_town_of_it_stays():
    note = (
        "Lives in [Fresno](CITY), [California](STATE), [USA](COUNTRY). Sister in [Toronto](CITY), [Canada](COUNTRY)."
    )
    gazetteer = load_gazetteer("en")
    for patient in PATIENTS[:100]:
        town, state, usa, other, canada = surrogates(note, "en", patient)
        assert (usa, canada) == ("USA", "Canada")
        keys = {key for key, name in gazetteer.regions.items() if name == state}
        assert regions(town, "en") & keys
        assert {gazetteer.country_of(region) for region in regions(other, "en")} & {"CA"}


def test_an_unlisted_town_is_in_the_state_beside_it():
    for patient in PATIENTS:
        town, state, code = surrogates("Seen in [Quarrelton](CITY), [TX](STATE) [79468](ZIP).", "en", patient)
        assert state in regions(town, "en")
        assert len(code) == 5


@pytest.mark.parametrize(
    ("note", "sizes"),
    [
        ("[45300](ZIP) [Ocaña](CITY) ([Toledo](CITY)) y [Perm](CITY), [Rusia](COUNTRY)", [3, 2]),
        ("[Ocaña](CITY). [Rusia](COUNTRY) le gusta", [1, 1]),
        ("Localidad: [Ocaña](CITY)\nProvincia: [Toledo](CITY)\nCP: [45300](ZIP)", [3]),
        ("[Francia](COUNTRY), [Getafe](CITY)", [1, 1]),
        ("[Ocaña](CITY) porque trabaja en [Toledo](CITY)", [1, 1]),
    ],
)
def test_chains_end_at_sentences_countries_and_other_words(note, sizes):
    document = parse(note)
    mentions = find_mentions(document.text, [(e.start, e.end, e.label) for e in document.entities])
    chains = list(find_chains(mentions))
    assert [len(chain) for chain in chains] == sizes
    assert "Toledo" not in repr(chains)
