"""deid_recovery: medical terms go free, persons of the note do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline.recovering import kept, make

from spacy_deid.dictionaries.store import LocalEntry, StoreWriter
from spacy_deid.errors import ConfigError

CANARY = "Zumalabe"


@pytest.fixture(scope="module")
def english():
    return make()


# The same word, a person and a disease


def test_of_a_neurologist_and_his_disease_only_the_disease_goes_free(english):
    text = "Dr. Parkinson started Parkinson's medication."
    assert kept(english, text, ("Parkinson", "CLINICIAN"), ("Parkinson", "PATIENT")) == [(4, "Parkinson")]


@pytest.mark.parametrize(
    ("lang", "protocol", "person"),
    [
        ("en", "On the Bruce protocol.", "Bruce walked home."),
        ("es", "Según el protocolo de Bruce.", "Bruce camina solo."),
        ("fi", "Brucen protokolla tehtiin.", "Bruce käveli kotiin."),
    ],
)
def test_a_protocol_goes_free_and_whoever_walks_does_not(lang, protocol, person):
    nlp = make(lang)
    assert kept(nlp, protocol, ("Bruce", "PATIENT")) == []
    assert kept(nlp, person, ("Bruce", "PATIENT")) == [(0, "Bruce")]


@pytest.mark.parametrize(
    ("lang", "text", "flag"),
    [
        ("fi", "Parkinsonin taudin hoito jatkuu.", "Parkinsonin"),
        ("fi", "Sairastaa Crohnin tautia.", "Crohnin"),
        ("es", "Con enfermedad de Crohn.", "Crohn"),
        ("en", "Known Xanthou-Miller syndrome.", "Xanthou-Miller"),
    ],
)
def test_inflected_and_unlisted_eponyms_go_free(lang, text, flag):
    assert kept(make(lang), text, (flag, "PERSON")) == []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [
        ("variant g.32913055A>G found", "g.32913055A>G", "ID_OTHER"),
        ("BP 120/80 today", "120/80", "DATE"),
        ("stage pT2N0M0", "pT2N0M0", "ID_OTHER"),
        ("metoprolol 25 mg", "25", "ROOM"),
    ],
)
def test_what_recovery_expressions_match_goes_free(english, text, flag, label):
    assert kept(english, text, (flag, label)) == []


# Persons of the note


@pytest.mark.parametrize("text", ["Mr. Parkinson has {}.", "Patient: Parkinson\nHas {}.", "Anna Parkinson has {}."])
def test_a_disease_named_like_a_person_of_the_note_stays(english, text):
    text = text.format("Parkinson's disease")
    person = "Anna Parkinson" if "Anna" in text else "Parkinson"
    stays = kept(english, text, (person, "PATIENT"), ("Parkinson's", "PERSON"))
    assert [name for _, name in stays] == [person, "Parkinson's"]


def test_a_name_of_the_patients_own_index_stays_wherever_it_stands(tmp_path):
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_patient("1", [LocalEntry("Parkinson", "PATIENT", "patients.surname")])
        writer.add_patient("2", [LocalEntry(CANARY, "PATIENT", "patients.surname")])
        writer.commit({})
    nlp = make(ruler=True)
    nlp.get_pipe("deid_ruler").open_dictionaries(tmp_path / "store")
    text = "Treated for Parkinson's disease."
    assert kept(nlp, text, ("Parkinson", "PERSON"), patient_id="1") != []
    assert kept(nlp, text, ("Parkinson", "PERSON"), patient_id="2") == []


def test_a_clinician_of_the_lists_stays_but_not_the_disease():
    nlp = make(ruler=True)
    nlp.get_pipe("deid_ruler").add_terms(["Crohn"], label="CLINICIAN", name="staff")
    assert kept(nlp, "History of Crohn.") == [(11, "Crohn")]
    assert kept(nlp, "History of Crohn's disease.") == []


def test_a_name_is_not_cut_and_neither_is_a_place(english):
    assert kept(english, "Seen at Crohn Hospital.", ("Crohn Hospital", "HOSPITAL")) != []
    assert kept(english, "Laura Hodgkin lymphoma", ("Laura Hodgkin", "PATIENT")) == [(0, "Laura Hodgkin")]
    assert kept(english, "Severe Crohn's disease", ("Severe Crohn's", "PATIENT")) == [(0, "Severe")]


# Identifiers


def test_what_check_digits_prove_stays(english):
    text = "variant c.5266dupC found"
    assert kept(english, text, ("c.5266dupC", "ID_OTHER")) == []
    assert kept(english, text, ("c.5266dupC", "ID_OTHER", "test/card")) != []


def test_a_genetic_variant_is_no_national_id_unless_a_rule_says_so(english):
    text = "variant c.5266dupC, MRN 120/80"
    assert kept(english, text, ("c.5266dupC", "NATIONAL_ID")) == []
    assert kept(english, text, ("c.5266dupC", "NATIONAL_ID", "en/id")) != []
    assert kept(english, text, ("120/80", "NATIONAL_ID")) != []


@pytest.mark.parametrize("label", ["AGE", "SEX"])
def test_an_age_is_medical_only_if_a_model_alone_took_it_for_one(english, label):
    assert kept(english, "tooth 36 extracted", ("36", label)) == []
    assert kept(english, "tooth 36 extracted", ("36", label, "en/age")) != []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [("BP 120/80 today", "120/80", "DATE"), ("moved to FL", "FL", "STATE"), ("by HUS today", "HUS", "HOSPITAL")],
)
def test_a_detector_that_is_sure_of_a_number_or_an_abbreviation_is_right(english, text, flag, label):
    assert kept(english, text, (flag, label, "model", 0.9)) != []
    assert kept(english, text, (flag, label, "en/rule")) != []


@pytest.mark.parametrize("score", [0.1, 0.99])
def test_an_eponym_with_its_head_word_goes_free_however_sure_a_model_is(english, score):
    assert kept(english, "has Crohn's disease", ("Crohn's", "PATIENT", "model", score)) == []


@pytest.mark.parametrize("text", ["seen in 2009, score 2009", "VAS in 2009", "sat 1998"])
def test_a_year_is_no_measurement(english, text):
    assert kept(english, text, (text[-4:], "DATE")) != []


def test_a_case_of_a_given_name_is_no_virus():
    assert kept(make("fi"), "Sisarella Hannalla on yskä.", ("Hannalla", "RELATIVE")) != []


def test_a_test_of_a_patient_is_not_named_after_him():
    assert kept(make("fi"), "Svanströmin testi tehtiin.", ("Svanströmin", "PATIENT")) != []
    assert kept(make("fi"), "Babinskin testi tehtiin.", ("Babinskin", "PATIENT")) == []


def test_a_vertebra_is_none_where_a_room_is_meant(english):
    assert kept(english, "moved to room L4", ("L4", "ROOM")) != []
    assert kept(english, "moved to room L4", ("L4", "ID_OTHER")) != []
    assert kept(english, "gene BRCA1", ("BRCA1", "ID_OTHER")) == []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [
        ("mutation BRAF V600E.", "BRAF V", "PATIENT"),
        ("Wolff-Parkinson-White syndrome B", "Wolff-Parkinson-White syndrome B", "ORGANIZATION"),
        ("variant c.1799T>A.", "A.", "CLINICIAN"),
        ("by the Classic Duke criteria", "Classic Duke", "HOSPITAL"),
    ],
)
def test_what_a_detector_cut_in_the_wrong_place_goes_free(english, text, flag, label):
    assert [name for _, name in kept(english, text, (flag, label))] in ([], ["Classic"])


@pytest.mark.parametrize("label", ["EMAIL", "URL", "IP_ADDRESS"])
def test_labels_that_are_never_medical_cannot_be_set_and_stay(english, label):
    with pytest.raises(ConfigError, match=label):
        make(labels=[label])
    assert kept(english, "Crohn's disease", ("Crohn", label)) == [(0, "Crohn")]


@pytest.mark.parametrize(
    ("lang", "text", "flag", "label"),
    [
        ("es", "Turno de noche, enf. Cid. Constantes estables.", "Cid", "CLINICIAN"),
        ("en", "Visit no: RH13-044826", "RH13-044826", "ENCOUNTER_ID"),
        ("en", "Anti-D given 30th July, batch RH4471802.", "RH4471802", "DEVICE"),
        ("fi", "anti-D annettu rv 29, erä RH6081.", "RH6081", "DEVICE"),
        ("en", "Our Ref: RH/DB/SRH 602281", "RH", "CLINICIAN"),
        ("en", "Surg Hook/ assist Joy Drain / gas Will Sleep", "Joy Drain", "CLINICIAN"),
        ("en", "ORH Endoscopy Suite, Room 2", "ORH", "HOSPITAL"),
        ("en", "RFRMC TUMOR BOARD minutes", "RFRMC", "HOSPITAL"),
        ("en", "TST 11 mm, CXR neg, INH 9 mo c/t 7/10. No rpt TST.", "7/10", "DATE"),
        ("fi", "Muuta: p. 3, 6 tyhjät.", "3", "ROOM"),
        ("es", "FN 05.04.08  2 a 9 m  cama 512", "a 9", "AGE"),
    ],
)
def test_codes_units_and_persons_that_resemble_medical_terms_stay(lang, text, flag, label):
    assert kept(make(lang), text, (flag, label)) == [(text.index(flag), flag)]


@pytest.mark.parametrize(("name", "rest"), [("Crohn", "enf. "), ("Crohn", "enf. de "), ("Wilson", "enf. de ")])
def test_an_abbreviated_disease_without_the_name_of_a_person_is_recovered(name, rest):
    assert kept(make("es"), f"AP: {rest}{name} desde 2010.", (name, "PERSON")) == []


def test_the_word_of_a_person_in_the_note_stays_in_an_eponym_that_no_list_has():
    text = "Xanthou refused. Positive Xanthou sign on the left."
    assert len(kept(make("en"), text, ("Xanthou", "PATIENT"), ("Xanthou", "PERSON"))) == 2


def test_a_place_found_with_certainty_stays_next_to_a_disease():
    text = "from Lake Charles, Louisiana, dx unknown."
    assert kept(make("en"), text, ("Louisiana", "STATE", "model", 0.99)) == [(19, "Louisiana")]


@pytest.mark.parametrize(
    ("lang", "text", "flag", "label"),
    [
        ("en", "Lund-Mackay on last CT 14/24. SNOT-22: 41", "14/24", "DATE"),
        ("en", "Mother tall, Beighton 5/9, maternal uncle well.", "Beighton", "CITY"),
        ("en", "Med check. PHQ-9 11/27 (was 19)", "11/27", "DATE"),
        ("en", "SNOMED T-02844 M-80812; T-02140 M-80903", "T-02140 M-80903", "ENCOUNTER_ID"),
        ("es", "Dx enfermería NANDA 00132, 00029, 00146. NIC 4044, 2210.", "00029", "ZIP"),
        ("es", "Control de calidad: cepas ATCC 25922, ATCC 700603 dentro de rango.", "25922", "ZIP"),
        ("es", "Acreditado UNE-EN ISO 15189. Informe impreso.", "15189", "MRN"),
        ("es", "grado II nivel 1, PIA pte. 390/2007 (Ley 39).", "390/2007", "DATE"),
        ("es", "biopsiada en 2009; Oxford M1 E0 S1 T1.", "Oxford", "CITY"),
        ("es", "Truelove-Witts grave al ingreso, Mayo 3. Hoy 4 deposiciones", "Mayo 3", "DATE"),
        ("es", "Func.: Barthel 45, Lawton 2/8, Gijón 16 (riesgo)", "Gijón", "CITY"),
    ],
)
def test_codes_of_a_system_and_scores_of_an_instrument_are_recovered_from_certain_detections(lang, text, flag, label):
    assert kept(make(lang), text, (flag, label, "model", 0.99)) == []


@pytest.mark.parametrize(
    ("lang", "text", "flag", "label"),
    [
        ("en", "PHQ-9 11/27: 14", "11/27", "DATE"),
        ("en", "MMSE 12/5 with Dr. Lawton", "12/5", "DATE"),
        ("es", "colitis desde Mayo 3 de 2012", "Mayo 3", "DATE"),
        ("es", "vive en Gijón 16", "Gijón", "CITY"),
        ("es", "RD 12/2012 en ojo derecho", "12/2012", "DATE"),
    ],
)
def test_dates_and_places_beside_an_instrument_stay(lang, text, flag, label):
    assert kept(make(lang), text, (flag, label, "model", 0.99)) == [(text.index(flag), flag)]


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("One brother, Perthes as a child. Cousin well.", "Perthes"),
        ("allergic rhinitis, on Allegra 180 mg daily", "Allegra"),
        ("now they gave me Biaxin, do I need a backup?", "Biaxin"),
    ],
)
def test_diseases_of_relatives_and_brands_are_recovered(text, flag):
    assert kept(make("en"), text, (flag, "RELATIVE", "model", 0.8)) == []


@pytest.mark.parametrize(
    "text", ["One brother, Wilson as a child.", "her daughter Allegra, 12, came along", "aunt Lynch"]
)
def test_relatives_whose_name_is_also_a_disease_or_a_brand_stay(text):
    flag = next(word for word in ("Wilson", "Allegra", "Lynch") if word in text)
    assert kept(make("en"), text, (flag, "RELATIVE", "model", 0.8)) == [(text.index(flag), flag)]


@pytest.mark.parametrize("text", ["Seen by Pa today.", "Signed: mL"])
def test_initials_that_are_written_like_a_unit_stay(english, text):
    word = "Pa" if "Pa" in text else "mL"
    assert kept(english, text, (word, "CLINICIAN")) != []


def test_a_unit_behind_its_number_is_recovered(english):
    assert kept(english, "drained 12 mL today", ("mL", "CLINICIAN")) == []


@pytest.mark.parametrize(
    ("text", "flag", "label"), [("Chart 40 mg 12", "40 mg", "MRN"), ("pump 12 ml", "12 ml", "DEVICE")]
)
def test_a_code_that_looks_like_an_amount_stays(english, text, flag, label):
    assert kept(english, text, (flag, label)) != []
    assert kept(english, text, (flag, "ROOM")) == []


WORDS = st.sampled_from("Crohn Crohn's disease test positive Babinski 12 mg BRCA1 the of \n Ana".split(" "))


@given(st.lists(WORDS, min_size=1, max_size=60), st.lists(st.integers(0, 59), min_size=1, max_size=8))
def test_a_search_near_the_entities_finds_what_a_search_of_the_whole_text_finds(english, words, marked):
    recovery, text = english.get_pipe("deid_recovery"), " ".join(words)
    starts = [len(" ".join(words[:i])) + bool(i) for i in range(len(words))]
    ents = [(starts[i], starts[i] + len(words[i])) for i in marked if i < len(words)]
    near = recovery.uses(text, [(start - 60, end + 60) for start, end in ents])
    whole = recovery.uses(text)
    for start, end in ents:
        assert _touching(near, start, end) == _touching(whole, start, end)


def _touching(uses, start, end):
    """The uses that overlap a stretch."""
    return {use for use in uses if use.start < end and use.end > start}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Pólipo sésil de 4 mm, Paris 0-Is, resecado", "Paris"),
        ("Adenoma con displasia de bajo grado (Viena 3).", "Viena"),
        ("Esofagitis B de Los Ángeles; sospecha", "Los Ángeles"),
        ("La familia, en reunión con el grupo", "reunión"),
    ],
)
def test_a_place_of_a_public_list_in_a_classification_is_recovered(text, place):
    nlp = make("es", ruler=True)
    nlp.get_pipe("deid_ruler").add_terms([place], label="CITY", name="gazetteer")
    assert kept(nlp, text) == []
    assert kept(nlp, f"Vive en {place}.") != [] or place == "reunión"
