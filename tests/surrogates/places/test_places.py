from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.inflection import case_forms
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import LABELS, replace_places
from spacy_deid.surrogates.places.geography import MAY_STAY
from spacy_deid.surrogates.style import allow_all

PROJECT = ProjectKey(bytes(range(32)))
REAL = {
    "es": """Madrid|Getafe|28034|Italia|Hospital La Paz|HUCA|Calle Mayor, 3|auxiliar|Granada|C/ Sol 8, 2º B|peruana|IES
    Azorín|Centro de Salud Zona 4|Hospital\nde Jaén|Sevilla|Universidad de Granada|bombero|MSD""".split("|"),
    "en": """Boston|MA|Texas|St. Luke's|12 Oak Street, Apt 4B|engineer|Walmart|Ward 4B|Italy|MGH|Fresno|
    Cedar Creek Pediatrics|nurse|204-A|New\nYork|Bell Telephone""".split("|"),
    "fi": """Espoossa|Tampereella|Suomen|TAYS:ssa|Meilahden sairaalaan|Hallakatu 3 B 12|opettajana|Nokialla|osasto 4A|
    Pirkanmaalla|Ruotsista|Helsingin yliopistossa|Vuokkokodista|Uudessakaupungissa""".split("|"),
}  # fmt: skip
STAYS = {("Suomen", label) for label in MAY_STAY}  # the country of a note stays
LANGS = st.sampled_from(sorted(REAL))
LABEL = st.sampled_from(sorted(LABELS))
RANDOM = st.text(
    alphabet=st.characters(categories=["Lu", "Ll", "Nd", "Po", "Zs", "Cc", "Lo"], exclude_characters="\x00"),
    max_size=30,
)


def note(lang):
    text = st.sampled_from(REAL[lang]) | RANDOM
    return st.lists(st.builds(Mention, text, LABEL), max_size=8)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_any_text_gets_another_value_or_none(data):
    lang = data.draw(LANGS)
    mentions = data.draw(note(lang))
    made = replace_places(mentions, PROJECT.patient("a"), lang, allow_all)
    assert len(made) == len(mentions)
    for mention, new in zip(mentions, made, strict=True):
        if new is not None:
            assert new.strip()
            assert fold(new) != fold(mention.text) or (mention.text, mention.label) in STAYS
            assert new.count("\n") == mention.text.count("\n")


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_same_key_gives_the_same_surrogates(data):
    lang = data.draw(LANGS)
    mentions = data.draw(note(lang))
    first = replace_places(mentions, PROJECT.patient("a"), lang, allow_all)
    assert first == replace_places(mentions, PROJECT.patient("a"), lang, allow_all)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_equal_values_of_a_note_stay_equal_and_different_ones_different(data):
    lang = data.draw(LANGS)
    label = data.draw(LABEL)
    texts = data.draw(st.lists(st.sampled_from(REAL[lang]), min_size=2, max_size=8))
    made = replace_places([Mention(text, label) for text in texts], PROJECT.patient("a"), lang, allow_all)
    for (text, new), (other, another) in pairwise(sorted(zip(texts, made, strict=True), key=str)):
        if new is not None and another is not None:
            assert (fold(text) == fold(other)) == (fold(new) == fold(another))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_value_of_the_note_is_a_surrogate(data):
    lang = data.draw(LANGS)
    mentions = data.draw(st.lists(st.builds(Mention, st.sampled_from(REAL[lang]), LABEL), max_size=8))
    made = replace_places(mentions, PROJECT.patient("b"), lang, allow_all)
    replaced = [new for mention, new in zip(mentions, made, strict=True) if (mention.text, mention.label) not in STAYS]
    assert {fold(mention.text) for mention in mentions}.isdisjoint(fold(new) for new in replaced if new)


def test_a_finnish_surrogate_is_no_case_of_a_place_of_the_note():
    mentions = [Mention(text, "CITY") for text in ("Espoossa", "Turussa", "Oulusta", "Lahteen", "Kotkasta", "Porissa")]
    forms = {
        fold(form)
        for town in "Espoo Turku Oulu Lahti Kotka Pori".split()
        for form in case_forms(town, "fi", kind="place")
    }
    for number in range(40):
        made = replace_places(mentions, PROJECT.patient(str(number)), "fi", allow_all)
        assert all(made)
        assert forms.isdisjoint(map(fold, made))


@pytest.mark.parametrize("label", ["SEX", "OTHER"])
def test_sex_and_other_have_no_surrogate(label):
    assert replace_places([Mention("varón", label)], PROJECT.patient("a"), "es", allow_all) == [None]


@pytest.mark.parametrize("lang", ["es", "en", "fi", "de", ""])
@pytest.mark.parametrize("label", sorted(LABELS))
def test_a_whole_page_is_no_name(label, lang):
    assert replace_places([Mention("Hospital de Getafe " * 5000, label)], PROJECT.patient("a"), lang, allow_all) == [
        None
    ]


@pytest.mark.parametrize("lang", ["de", ""])
@pytest.mark.parametrize("text", ["Klinikum Bonn", "Hauptstr. 3", "Lehrer", "3B", "\ud800x", "…", "", "A"])
def test_a_language_without_words_raises_nothing(text, lang):
    made = replace_places([Mention(text, label) for label in sorted(LABELS)], PROJECT.patient("a"), lang, allow_all)
    assert all(new is None or fold(new) != fold(text) for new in made)


def test_a_value_keeps_the_marks_and_blanks_around_it():
    made = replace_places([Mention(" (Getafe),\n", "CITY")], PROJECT.patient("a"), "es", allow_all)[0]
    assert made.startswith(" (")
    assert made.endswith("),\n")


def test_a_line_break_within_a_value_stays():
    made = replace_places([Mention("San\nSebastián", "CITY")], PROJECT.patient("a"), "es", allow_all)[0]
    assert made.count("\n") == 1


def test_consistency_holds_over_the_notes_of_a_patient():
    first = replace_places([Mention("Getafe", "CITY")], PROJECT.patient("a"), "es", allow_all)
    second = replace_places(
        [Mention("Granada", "CITY"), Mention("GETAFE", "CITY")], PROJECT.patient("a"), "es", allow_all
    )
    assert fold(first[0]) == fold(second[1])


def test_nothing_of_the_note_is_in_a_repr():
    from spacy_deid.surrogates.places.state import NoteState

    assert "Getafe" not in repr(NoteState(PROJECT.patient("a"), "es", allow_all, ["Getafe"]))
