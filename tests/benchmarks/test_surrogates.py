"""The figures of surrogates: each notices what it is there for."""

import pytest

from benchmarks.surrogates import measure
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.gold_surrogates import ReleasedNote
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.strategies import FALLBACK, Replacement

NOTE = AnnotatedText("a", "x")


def figure(name, *rows, lang="es"):
    """Measure one note: rows of label, original and surrogate; None for the tag."""
    mentions = [Mention(original, label) for label, original, _ in rows]
    made = [Replacement("[X]", FALLBACK) if new is None else Replacement(new) for _, _, new in rows]
    return measure([ReleasedNote(NOTE, [], [Entity(0, 1, "OTHER")], mentions, made)], lang)[name]


def test_an_original_is_noticed_whatever_its_case_and_accents():
    assert figure("originals kept", ("CITY", "Ávila", "AVILA"), ("CITY", "Soria", "Lugo")) == 1


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([("PATIENT", "Ana Ruiz", "Eva Gil"), ("CLINICIAN", "Luis Mas", "Eva Gil")], 1),
        ([("PATIENT", "Ana Ruiz", "Eva Gil"), ("PATIENT", "ANA RUIZ", "EVA GIL")], 0),
        ([("PATIENT", "Ana Ruiz", "Eva Gil"), ("PATIENT", "na Ruiz", "eva Gil")], 0),
        ([("PATIENT", "Ana", "Eva"), ("RELATIVE", "Lia", "Eva")], 0),  # a given name is no person
        ([("MRN", "4471906", "100"), ("MRN", "4471907", "100")], 0),
        ([("MRN", "4471906", "100"), ("MRN", "5582017", "100")], 1),
        ([("DATE", "1/2/2020", "2020"), ("DATE", "3/9/2020", "2020")], 0),
    ],
)
def test_two_of_one_surrogate_collide(rows, count):
    assert figure("collisions", *rows) == count


@pytest.mark.parametrize(("keys", "count"), [(("p", "p"), 0), (("p", "d"), 1), (("", ""), 1)])
def test_the_keys_of_the_writers_say_whether_two_spellings_collide(keys, count):
    entities = [Entity(0, 4, "PATIENT"), Entity(5, 9, "PATIENT")]
    mentions = [Mention("Oleksandr Hryhorenko", "PATIENT"), Mention("Aleksandr Grigorenko", "PATIENT")]
    note = ReleasedNote(NOTE, [], entities, mentions, [Replacement("Taras Kuchma"), Replacement("Taras Kuchma")])
    owners = {"a": {(e.start, e.end): key for e, key in zip(entities, keys, strict=True) if key}}
    figures = measure([note], "en", owners)
    assert figures["collisions"] == count
    assert figures["spellings with one surrogate"] == 1


def test_a_name_that_is_written_twice_is_not_the_fullest_one():
    rows = [("PATIENT", "Ritva Ritva", "Eva Eva"), ("PATIENT", "Ritva Salko", "Eva Gil"), ("PATIENT", "Salko", "Gil")]
    assert figure("consistent persons", *rows, lang="fi") == 1


def test_a_part_of_a_name_that_goes_its_own_way_is_noticed():
    rows = [("PATIENT", "Ana Ruiz", "Eva Gil"), ("PATIENT", "Ruiz", "Gil"), ("PATIENT", "Ana", "Marta")]
    assert figure("consistent persons", *rows) == pytest.approx(2 / 3)


def test_a_value_with_two_surrogates_is_noticed():
    assert figure("consistent values", ("CITY", "Soria", "Lugo"), ("CITY", "SORIA", "Vigo")) == 0


@pytest.mark.parametrize(
    ("lang", "rows", "share"),
    [
        ("es", [("01/02/2020", "11/02/2021"), ("03/02/2020", "13/02/2021")], 1),
        ("es", [("01/02/2020", "11/02/2021"), ("03/02/2020", "14/02/2021")], 0),
        ("en", [("02/01/2020", "02/11/2021"), ("02/03/2020", "02/13/2021")], 1),
        ("en", [("13/02/2020", "11/02/2021"), ("15/02/2020", "13/02/2021")], 1),  # a hand that writes the day first
        ("fi", [("1.2.2020", "11.2.2021"), ("3.2.2020", "3.3.2021")], 0),
        ("fi", [("8.1.-25.1.2015", "18.12.-4.1.2015"), ("11.3.2015", "18.2.2015")], 1),  # the year of the end
        ("fi", [("23.3.2004", "10.3.2003"), ("10/04", "9/03")], 1),  # a month
        ("fi", [("1.2.1920", "11.2.2021"), ("3.2.2020", "3.3.2021")], 1),  # tells an age above 89
    ],
)
def test_a_changed_interval_is_noticed(lang, rows, share):
    assert figure("intervals kept", *[("DATE", *row) for row in rows], lang=lang) == share


def test_a_surrogate_with_a_correct_check_digit_is_noticed():
    rows = [("NATIONAL_ID", "12345678Z", "12345678Z"), ("NATIONAL_ID", "12345678A", "12345678A")]
    assert figure("live ids", *rows) == 1


def test_tags_are_counted_by_label():
    assert figure("tags: SEX", ("SEX", "mujer", None), ("CITY", "Soria", "Lugo")) == 1
    assert figure("share of mentions with a tag", ("SEX", "mujer", None), ("CITY", "Soria", "Lugo")) == 0.5


@pytest.mark.parametrize(
    ("original", "made", "kept"),
    [
        ("De1gado", "De0soro", 1),  # a piece
        ("De1gado", "Delgado", 1),  # the repaired name
        ("Delgado", "DeIgad0", 1),
        ("Ana De1gado", "Eva Delgado", 1),
        ("De1gado", "Soro", 0),
        ("Dr Ruiz", "Dr Soro", 0),
    ],
)
def test_a_piece_of_a_damaged_name_is_noticed(original, made, kept):
    assert figure("originals kept", ("PATIENT", original, made)) == kept


def test_a_short_code_that_a_scan_would_confuse_is_no_original():
    assert figure("originals kept", ("STATE", "LA", "IA")) == 0
    assert figure("originals kept", ("STATE", "LA", "la")) == 1


def test_a_date_with_another_digit_is_no_original():
    assert figure("originals kept", ("DATE", "2008", "2006"), ("DATE", "6th May", "8th May")) == 0
