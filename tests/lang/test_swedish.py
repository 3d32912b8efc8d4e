"""Swedish, a language of one folder and a config: detection by rules and lists, surrogates, synthetic notes."""

import re
from pathlib import Path

import pytest
import spacy

from spacy_deid.lang import get_language
from spacy_deid.lang.sv.identifiers import find_personnummer, is_organisationsnummer, is_personnummer
from spacy_deid.loading import use_style
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.synth import make_corpus

CONFIG = Path(__file__).parents[2] / "configs" / "sv.cfg"
SAMPLES = {path.stem: path.read_text(encoding="utf8") for path in get_language("sv").resource("samples").glob("*.txt")}


def load():
    return spacy.util.load_model_from_config(spacy.util.load_config(CONFIG), auto_fill=True)


@pytest.fixture(scope="module")
def nlp():
    return load()


@pytest.fixture(scope="module")
def with_surrogates():
    nlp = load()
    use_style(nlp, "surrogate", ProjectKey(bytes(range(32))))
    return nlp


def found(nlp, text):
    return {(ent.text, ent.label_) for ent in nlp(text).ents}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Namn: Birgitta Lindqvist\nPersonnr: 460312-2849", {("Birgitta Lindqvist", "PATIENT")}),
        ("Personnr: 460312-2849.", {("460312-2849", "NATIONAL_ID")}),
        ("pnr 19811218-9876", {("19811218-9876", "NATIONAL_ID")}),
        ("samordningsnr 701063-2391", {("701063-2391", "NATIONAL_ID")}),
        ("Läkare: Malin Öhman", {("Malin Öhman", "CLINICIAN")}),
        ("Remitterad av dr Henrik Sjöberg i dag", {("Henrik Sjöberg", "CLINICIAN")}),
        ("Bor på Björkvägen 14 B, 582 23 Linköping", {("Björkvägen 14 B", "STREET"), ("582 23", "ZIP")}),
        ("inkom den tredje maj 2024", {("tredje maj 2024", "DATE")}),
        ("kontroll 12/6.", {("12/6", "DATE")}),
        ("79-årig kvinna", {("79", "AGE")}),
        ("Nås på 070-368 92 11", {("070-368 92 11", "PHONE")}),
        ("Har rest till Turkiet", {("Turkiet", "COUNTRY")}),
        ("vid Universitetssjukhuset i Linköping", {("Universitetssjukhuset i Linköping", "HOSPITAL")}),
        ("arbetar som lärare", {("lärare", "PROFESSION")}),
        ("I dag mår Birgitta Lindqvist bättre", {("Birgitta Lindqvist", "PERSON")}),
    ],
)
def test_identifiers_are_found_by_rules_and_lists(nlp, text, expected):
    assert expected <= found(nlp, text)


@pytest.mark.parametrize(
    "text",
    [
        "Parkinsons sjukdom och hypertoni, CRP 12.",
        "BT 120/80, VAS 3/10.",
        "Söker för hosta sedan två veckor.",
        "Urinvägsinfektion, behandlas 7 dagar.",
    ],
)
def test_medical_text_stays(nlp, text):
    assert nlp(text)._.deid_text == text


def test_an_eponym_with_its_head_word_is_recovered(nlp):
    assert "Crohns sjukdom" in nlp("Namn: Kerstin Åberg\nHar Crohns sjukdom sedan 2015.")._.deid_text


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_identifier_of_the_samples_is_left(nlp, sample):
    released = nlp(SAMPLES[sample])._.deid_text
    names = r"Lindqvist|Sjöberg|Öhman|Hassan|Bergström|Björkvägen|Linköping|Vadstena|Norrköping|Turkiet|\d{4,}|@"
    assert re.search(names, SAMPLES[sample])
    assert not re.search(names, released)


def test_surrogates_are_swedish_and_agree_within_a_note(with_surrogates):
    note = SAMPLES["epikris"]
    released = with_surrogates(note)._.deid_text
    assert not re.search(
        r"Lindqvist|460312|013-20 18 44|Björkvägen|Linköping|\[(?:PATIENT|DATE|NATIONAL_ID|PHONE)", released
    )
    number = re.search(r"Personnr: (\S+)", released)[1]
    assert is_personnummer(number)
    assert number[7:10] in {f"{n}" for n in range(980, 1000)}
    surname = re.search(r"Namn: \S+ (\S+)", released)[1]
    assert "Anhörig: " in released
    assert released.count(surname) == note.count("Lindqvist")
    assert re.search(r"den \d{1,2} (?:januari|februari|mars|april|maj|juni|juli|augusti|september|oktober)", released)
    assert re.search(r"mobil 070-174 06 \d\d", released)


def test_a_profession_has_no_surrogate_and_becomes_a_tag(with_surrogates):
    assert "[PROFESSION]" in with_surrogates("Yrke: lärare")._.deid_text


@pytest.mark.parametrize("number", ["460312-2849", "19811218-9876", "198112189876", "701063-2391", "121212+1212"])
def test_a_personnummer_passes_with_its_check_digit_alone(number):
    assert is_personnummer(number)
    last = int(number[-1])
    assert not any(is_personnummer(f"{number[:-1]}{digit}") for digit in range(10) if digit != last)
    made = find_personnummer(number)
    assert is_personnummer(made.compose(made.born, made.serials[0]))


@pytest.mark.parametrize("number", ["198113189876", "811232-9876", "12345", ""])
def test_a_number_without_a_date_is_no_personnummer(number):
    assert not is_personnummer(number)
    assert find_personnummer(number) is None


def test_a_surrogate_keeps_the_day_of_a_samordningsnummer_and_the_sex():
    made = find_personnummer("701063-2391")
    assert made.born.isoformat() == "1970-10-03"
    number = made.compose(made.born, made.serials[0])
    assert number.startswith("701063-")
    assert int(number[9]) % 2 == 1


def test_an_organisationsnummer_has_a_check_digit():
    assert is_organisationsnummer("556012-5790")
    assert not is_organisationsnummer("556012-5791")
    assert not is_organisationsnummer("811218-9876")


def test_synthetic_notes_have_valid_numbers_and_are_found_again(nlp):
    notes = list(make_corpus("sv", 40, seed=1))
    gold = [(note.text[e.start : e.end], e.label, note) for note in notes for e in note.entities]
    numbers = [text for text, label, _ in gold if label == "NATIONAL_ID"]
    clean = [number for number in numbers if re.fullmatch(r"[\d+-]{11,13}", number)]
    assert len(clean) >= 10
    assert sum(map(is_personnummer, clean)) >= 0.9 * len(clean)
    left = 0
    for note in notes:
        covered = {i for ent in nlp(note.text).ents for i in range(ent.start_char, ent.end_char)}
        left += sum(not covered.issuperset(range(e.start, e.end)) for e in note.entities)
    assert left <= 0.1 * len(gold)
