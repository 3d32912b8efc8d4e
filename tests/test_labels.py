"""The label scheme: every corpus maps in and back without loss, and nothing maps to nothing."""

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.labels import HIPAA, LABELS, SCHEMES, from_scheme, get_label, to_scheme

# Marimon et al. 2019, annotation guidelines.
MEDDOCAN = """
    CALLE CENTRO_SALUD CORREO_ELECTRONICO DIREC_PROT_INTERNET EDAD_SUJETO_ASISTENCIA FAMILIARES_SUJETO_ASISTENCIA
    FECHAS HOSPITAL ID_ASEGURAMIENTO ID_CONTACTO_ASISTENCIAL ID_EMPLEO_PERSONAL_SANITARIO ID_SUJETO_ASISTENCIA
    ID_TITULACION_PERSONAL_SANITARIO IDENTIF_BIOMETRICOS IDENTIF_DISPOSITIVOS_NRSERIE
    IDENTIF_VEHICULOS_NRSERIE_PLACAS INSTITUCION NOMBRE_PERSONAL_SANITARIO NOMBRE_SUJETO_ASISTENCIA
    NUMERO_BENEF_PLAN_SALUD NUMERO_FAX NUMERO_TELEFONO OTRO_NUMERO_IDENTIF OTROS_SUJETO_ASISTENCIA PAIS PROFESION
    SEXO_SUJETO_ASISTENCIA TERRITORIO URL_WEB
""".split()
# Stubbs and Uzuner 2015, table 1.
I2B2 = """
    PATIENT DOCTOR USERNAME PROFESSION ROOM DEPARTMENT HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP
    LOCATION-OTHER AGE DATE PHONE FAX EMAIL URL IPADDR SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE
    BIOID IDNUM OTHER
""".split()
# The tagset of the project that GraSCCo_PHI was annotated in, Zenodo 11502329.
GRASCCO = """
    AGE CONTACT_EMAIL CONTACT_FAX CONTACT_PHONE CONTACT_URL DATE ID LOCATION_CITY LOCATION_COUNTRY LOCATION_HOSPITAL
    LOCATION_ORGANIZATION LOCATION_OTHER LOCATION_STATE LOCATION_STREET LOCATION_ZIP NAME_DOCTOR NAME_EXT NAME_OTHER
    NAME_PATIENT NAME_RELATIVE NAME_TITLE NAME_USERNAME OTHER PROFESSION
""".split()


def test_all_labels_of_meddocan_are_known():
    assert len(MEDDOCAN) == 29
    assert set(SCHEMES["meddocan"]) == set(MEDDOCAN)


def test_all_labels_of_i2b2_are_known():
    assert set(SCHEMES["i2b2"]) == set(I2B2)


def test_all_labels_of_grascco_are_known():
    assert len(GRASCCO) == 24
    assert set(SCHEMES["grascco"]) == set(GRASCCO)


# The entity types that Presidio's NLP engines and its recognizers for all countries return.
PRESIDIO = """
    AGE CREDIT_CARD CRYPTO DATE_TIME EMAIL_ADDRESS IBAN_CODE ID IP_ADDRESS LOCATION MAC_ADDRESS MEDICAL_LICENSE NRP
    ORGANIZATION PERSON PHONE_NUMBER URL
""".split()


def test_entity_types_of_presidio_are_known():
    assert set(PRESIDIO) <= set(SCHEMES["presidio"])
    assert {to_scheme(name, "presidio") for name in LABELS} - set(PRESIDIO) == {
        *("US_SSN", "KINSHIP", "OTHER", "PROFESSION", "SEX")
    }


@pytest.mark.parametrize("scheme", ["grascco", "i2b2", "meddocan"])
def test_labels_of_a_scheme_map_in_and_back_without_loss(scheme):
    labels = {"grascco": GRASCCO, "i2b2": I2B2, "meddocan": MEDDOCAN}[scheme]
    # Titles and offices of names have no label of their own.
    labels = [label for label in labels if label not in ("NAME_TITLE", "NAME_EXT")]
    assert [to_scheme(from_scheme(label, scheme), scheme) for label in labels] == labels


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_every_canonical_label_has_a_label_in_every_scheme(scheme):
    assert LABELS
    assert {from_scheme(to_scheme(name, scheme), scheme) for name in LABELS} <= LABELS.keys()


def test_the_canonical_scheme_maps_to_itself():
    names = list(LABELS)
    assert [from_scheme(name, "canonical") for name in names] == names
    assert [to_scheme(name, "canonical") for name in names] == names


def test_a_label_names_its_safe_harbor_category_or_says_that_it_has_none():
    assert [label.name for label in LABELS.values() if label.hipaa not in HIPAA and not label.beyond_hipaa] == []
    assert [label.name for label in LABELS.values() if not label.description] == []


def test_hipaa_has_the_eighteen_categories():
    assert "".join(HIPAA) == "ABCDEFGHIJKLMNOPQR"


def test_every_safe_harbor_category_that_text_can_hold_has_a_label():
    # Q is photographs of the face.
    assert {label.hipaa for label in LABELS.values()} >= set("ABCDEFGHIJKLMNOPQR") - {"Q"}


def test_clinician_professions_and_organizations_are_beyond_hipaa():
    assert all(get_label(name).beyond_hipaa for name in ("CLINICIAN", "PROFESSION", "ORGANIZATION", "SEX", "STATE"))


def test_an_unknown_label_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"unknown label 'NAME' in label scheme 'canonical'.*PATIENT"):
        get_label("NAME")
    with pytest.raises(ConfigError, match="unknown label 'PATIENT' in label scheme 'meddocan'"):
        from_scheme("PATIENT", "meddocan")
    with pytest.raises(ConfigError, match="unknown label 'CALLE'"):
        to_scheme("CALLE", "meddocan")


def test_an_unknown_scheme_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"unknown label scheme 'brat'.*meddocan"):
        from_scheme("CALLE", "brat")
    with pytest.raises(ConfigError, match="unknown label scheme"):
        to_scheme("PATIENT", "labels")


def test_the_scheme_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        LABELS["NAME"] = get_label("PATIENT")
    with pytest.raises(AttributeError):
        get_label("PATIENT").hipaa = ""
