"""Eponyms that no list contains are found by the words around them, and names of persons are not."""

import pytest

from spacy_deid.medical.unlisted_eponyms import UnlistedEponyms


def found(lang, text):
    return [text[use.start : use.end] for use in UnlistedEponyms(lang).find(text)]


@pytest.mark.parametrize(
    ("lang", "text", "eponym"),
    [
        ("en", "She has Xanthou's disease since 2011.", "Xanthou's disease"),
        ("en", "Xanthou's sign was not elicited.", "Xanthou's sign"),
        ("en", "The Xanthou test was repeated.", "Xanthou test"),
        ("en", "Xanthou's test was positive on the left.", "Xanthou's test"),
        ("en", "He underwent Hughes's operation.", "Hughes's operation"),
        ("en", "The ligament of Xanthou was divided.", "ligament of Xanthou"),
        ("en", "Xanthou and Quillfeather syndrome was suspected.", "Xanthou and Quillfeather syndrome"),
        ("en", "History of Xanthou, last seen in May.", "Xanthou"),
        ("en", "Diagnosed with Hughes's in her thirties.", "Hughes's"),
        ("en", "PMH: asthma, Xanthou, gout.", "Xanthou"),
        ("en", "Xanthou-Quillfeather was excluded.", "Xanthou-Quillfeather"),
        ("es", "La enfermedad de Xanthou está estable.", "enfermedad de Xanthou"),
        ("es", "Sospecha de enfermedad de García.", "enfermedad de García"),
        ("es", "Exploración: Xanthou positivo.", "Xanthou"),
        ("es", "Xanthou negativo bilateral.", "Xanthou"),
        ("es", "Síndrome de Xanthou y Quillfeather probable.", "Síndrome de Xanthou y Quillfeather"),
        ("es", "Se practica operación de Xanthou.", "operación de Xanthou"),
        ("fi", "Sairastaa Xanthoun tautia.", "Xanthoun tautia"),
        ("fi", "Xanthoun manööveri ei auttanut.", "Xanthoun manööveri"),
        ("fi", "Xanthoun koe negatiivinen.", "Xanthoun koe"),
        ("fi", "Anamneesissa Xanthou.", "Xanthou"),
        ("fi", "Suunnitteilla Xanthoun leikkaus.", "Xanthoun leikkaus"),
        ("fi", "Aiemmin Xanthoun leikkaus.", "Xanthoun leikkaus"),
        ("fi", "Xanthoun dreeni paikallaan.", "Xanthoun dreeni"),
        ("fi", "Pistettiin Xanthoun neulalla.", "Xanthoun neulalla"),
        ("fi", "Jonossa Xanthoun leikkaukseen.", "Xanthoun leikkaukseen"),
        ("en", "Her Xanthou's is well controlled.", "Xanthou's"),
        ("en", "A Xanthou cerclage was placed.", "Xanthou cerclage"),
        ("en", "She was treated for Xanthou's abroad.", "Xanthou's"),
        ("en", "Recovering well after Xanthou's procedure.", "Xanthou's procedure"),
        ("en", "Xanthou tests were normal.", "Xanthou tests"),
        ("fi", "Xanthoun menetelmä valittiin.", "Xanthoun menetelmä"),
    ],
)
def test_an_eponym_is_found_by_the_words_around_it(lang, text, eponym):
    assert found(lang, text) == [eponym]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Xanthou's disease has progressed since the last scan."),
        ("en", "I explained Xanthou's disease to his wife."),
        ("en", "Xanthou's operation is booked for Monday."),
        ("en", "Xanthou's pain score was 7."),
        ("en", "Hughes test results are back."),
        ("en", "History of Xanthou's mother was not available."),
        ("en", "History of Xanthou, John."),
        ("en", "Impression: stable, Xanthou"),
        ("en", "Xanthou positive for MRSA."),
        ("en", "The Xanthou family was informed."),
        ("es", "La enfermedad de García está estable."),
        ("es", "Enfermedad de Xanthou Quillfeather."),
        ("es", "Test realizado por Xanthou."),
        ("es", "Xanthou positivo para gripe A."),
        ("es", "Intervención de Xanthou el lunes."),
        ("es", "Enf. Xanthou: que venga mañana."),
        ("fi", "Xanthoun tauti on edennyt."),
        ("fi", "Xanthoun leikkaus on maanantaina."),
        ("fi", "Xanthoun testitulokset valmistuivat."),
        ("fi", "Xanthoun katetri vaihdettiin yöllä."),
        ("fi", "Virtasen dreeni paikallaan."),
        ("fi", "Pistettiin Virtasen neulalla."),
        ("fi", "Xanthoun katetri poistettiin."),
        ("en", "Her Xanthou's daughter called."),
        ("fi", "Virtasen koe negatiivinen."),
        ("en", "Has known Xanthou for years."),
        ("en", "Recovering well after Hughes's procedure."),
        ("en", "Xanthou tests negative."),
        ("en", "The Xanthou test results came."),
        ("en", "Xanthou operation tomorrow 8am."),
        ("es", "Se retira drenaje de Xanthou, se avisa a la familia."),
        ("fi", "Xanthoun letku tukossa, soitettu päivystäjälle."),
        ("fi", "Tehty Xanthoun leikkaus, kotiutuu huomenna."),
        ("fi", "Suunniteltu Xanthoun leikkaus peruttiin."),
        ("fi", "Tutkittu Xanthoun haava."),
        ("fi", "Xanthoun menetelmä on kierukka."),
    ],
)
def test_what_can_belong_to_a_person_is_none(lang, text):
    assert found(lang, text) == []


def test_a_language_without_words_of_its_own_finds_eponyms_of_its_tiers():
    assert isinstance(UnlistedEponyms("sv").find("Xanthous syndrom"), list)
