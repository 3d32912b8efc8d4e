"""Defines the canonical labels of identifiers, and maps them to and from the label schemes of corpora and papers.

A label names one kind of identifier. Every label of MEDDOCAN (29) and of i2b2-2014 has its own canonical label, so
both schemes map without loss in both directions. A canonical label that a scheme does not have maps to the nearest
label of the scheme (``CITY`` is ``TERRITORIO`` in MEDDOCAN).

Sources: MEDDOCAN annotation guidelines (Marimon et al. 2019); i2b2-2014 track 1 (Stubbs and Uzuner 2015); HIPAA Safe
Harbor, 45 CFR 164.514(b)(2)(i), letters (A) to (R); Text Anonymization Benchmark (Pilán et al. 2022); GraSCCo_PHI, the
tagset of its INCEpTION project (Zenodo 11502329); the entity types of presidio-analyzer 2.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .errors import ConfigError, Errors

HIPAA: Mapping[str, str] = MappingProxyType(
    {
        "A": "names",
        "B": "geographic subdivisions smaller than a state",
        "C": "dates (except year) and ages over 89",
        "D": "telephone numbers",
        "E": "fax numbers",
        "F": "e-mail addresses",
        "G": "social security numbers",
        "H": "medical record numbers",
        "I": "health plan beneficiary numbers",
        "J": "account numbers",
        "K": "certificate and license numbers",
        "L": "vehicle identifiers and serial numbers, including plates",
        "M": "device identifiers and serial numbers",
        "N": "URLs",
        "O": "IP addresses",
        "P": "biometric identifiers",
        "Q": "full-face photographs and comparable images",
        "R": "any other unique identifying number, characteristic or code",
    }
)


@dataclass(frozen=True, slots=True)
class Label:
    """A kind of identifier.

    name (str): canonical name, upper case.
    hipaa (str): letter of the Safe Harbor category; "" for identifiers beyond HIPAA.
    meddocan, i2b2, conll, tab (str): nearest label in each of these schemes.
    description (str): what the label covers, in one line.
    grascco (str): nearest label of GraSCCo_PHI.
    presidio (str): nearest entity type of Presidio; the canonical name where it has none.
    """

    name: str
    hipaa: str
    meddocan: str
    i2b2: str
    conll: str
    tab: str
    description: str
    grascco: str
    presidio: str

    @property
    def beyond_hipaa(self) -> bool:
        """bool: Whether corpora and papers treat the label as an identifier although Safe Harbor does not list it."""
        return not self.hipaa


_ROWS = (
    # name, HIPAA, MEDDOCAN, i2b2-2014, CoNLL-2003, TAB, description
    ("PATIENT", "A", "NOMBRE_SUJETO_ASISTENCIA", "PATIENT", "PER", "PERSON", "name or initials of the patient"),
    ("RELATIVE", "A", "FAMILIARES_SUJETO_ASISTENCIA", "PATIENT", "PER", "PERSON", "name of a relative or partner"),
    ("KINSHIP", "", "FAMILIARES_SUJETO_ASISTENCIA", "OTHER", "MISC", "DEM", "word of kinship: mother, son"),
    ("CLINICIAN", "", "NOMBRE_PERSONAL_SANITARIO", "DOCTOR", "PER", "PERSON", "name of a health professional"),
    ("PERSON", "A", "NOMBRE_SUJETO_ASISTENCIA", "PATIENT", "PER", "PERSON", "name of a person of unknown role"),
    ("USERNAME", "R", "OTRO_NUMERO_IDENTIF", "USERNAME", "MISC", "CODE", "log-in or user id"),
    ("AGE", "C", "EDAD_SUJETO_ASISTENCIA", "AGE", "MISC", "DEM", "age; Safe Harbor counts those over 89"),
    ("SEX", "", "SEXO_SUJETO_ASISTENCIA", "OTHER", "MISC", "DEM", "sex or gender of the patient"),
    ("PROFESSION", "", "PROFESION", "PROFESSION", "MISC", "DEM", "profession or occupation"),
    ("OTHER", "R", "OTROS_SUJETO_ASISTENCIA", "OTHER", "MISC", "MISC", "any other characteristic that identifies"),
    ("DATE", "C", "FECHAS", "DATE", "MISC", "DATETIME", "date, in full or in part"),
    ("HOSPITAL", "B", "HOSPITAL", "HOSPITAL", "ORG", "ORG", "hospital or clinic"),
    ("HEALTH_CENTER", "B", "CENTRO_SALUD", "HOSPITAL", "ORG", "ORG", "primary care or health centre"),
    ("DEPARTMENT", "B", "INSTITUCION", "DEPARTMENT", "ORG", "ORG", "named ward, unit or department"),
    ("ROOM", "B", "OTRO_NUMERO_IDENTIF", "ROOM", "LOC", "LOC", "room or bed number"),
    ("ORGANIZATION", "", "INSTITUCION", "ORGANIZATION", "ORG", "ORG", "employer, school, company, institution"),
    ("STREET", "B", "CALLE", "STREET", "LOC", "LOC", "street address"),
    ("CITY", "B", "TERRITORIO", "CITY", "LOC", "LOC", "town or city"),
    ("STATE", "", "TERRITORIO", "STATE", "LOC", "LOC", "state, province or region"),
    ("ZIP", "B", "TERRITORIO", "ZIP", "LOC", "LOC", "postal code"),
    ("TERRITORY", "B", "TERRITORIO", "CITY", "LOC", "LOC", "town, province, region or postal code, unspecified"),
    ("COUNTRY", "", "PAIS", "COUNTRY", "LOC", "LOC", "country or nationality"),
    ("LOCATION_OTHER", "B", "TERRITORIO", "LOCATION-OTHER", "LOC", "LOC", "any other place"),
    ("PHONE", "D", "NUMERO_TELEFONO", "PHONE", "MISC", "CODE", "telephone or pager number"),
    ("FAX", "E", "NUMERO_FAX", "FAX", "MISC", "CODE", "fax number"),
    ("EMAIL", "F", "CORREO_ELECTRONICO", "EMAIL", "MISC", "CODE", "e-mail address"),
    ("URL", "N", "URL_WEB", "URL", "MISC", "CODE", "web address"),
    ("IP_ADDRESS", "O", "DIREC_PROT_INTERNET", "IPADDR", "MISC", "CODE", "IP or MAC address"),
    ("SSN", "G", "ID_ASEGURAMIENTO", "SSN", "MISC", "CODE", "US social security number"),
    ("NATIONAL_ID", "R", "ID_SUJETO_ASISTENCIA", "IDNUM", "MISC", "CODE", "DNI, NIE, henkilötunnus, passport"),
    ("MRN", "H", "ID_SUJETO_ASISTENCIA", "MEDICALRECORD", "MISC", "CODE", "medical record or patient number"),
    ("ENCOUNTER_ID", "R", "ID_CONTACTO_ASISTENCIAL", "IDNUM", "MISC", "CODE", "episode, visit, sample, order number"),
    ("INSURANCE_ID", "I", "ID_ASEGURAMIENTO", "HEALTHPLAN", "MISC", "CODE", "social insurance number"),
    ("HEALTH_PLAN", "I", "NUMERO_BENEF_PLAN_SALUD", "HEALTHPLAN", "MISC", "CODE", "health plan beneficiary number"),
    ("ACCOUNT", "J", "OTRO_NUMERO_IDENTIF", "ACCOUNT", "MISC", "CODE", "bank, card or billing account"),
    ("LICENSE", "K", "ID_TITULACION_PERSONAL_SANITARIO", "LICENSE", "MISC", "CODE", "certificate or licence number"),
    ("EMPLOYEE_ID", "R", "ID_EMPLEO_PERSONAL_SANITARIO", "IDNUM", "MISC", "CODE", "staff number of a clinician"),
    ("VEHICLE", "L", "IDENTIF_VEHICULOS_NRSERIE_PLACAS", "VEHICLE", "MISC", "CODE", "plate or vehicle serial number"),
    ("DEVICE", "M", "IDENTIF_DISPOSITIVOS_NRSERIE", "DEVICE", "MISC", "CODE", "device identifier or serial number"),
    ("BIOMETRIC", "P", "IDENTIF_BIOMETRICOS", "BIOID", "MISC", "CODE", "biometric identifier"),
    ("ID_OTHER", "R", "OTRO_NUMERO_IDENTIF", "IDNUM", "MISC", "CODE", "any other identifying number or code"),
)

# GraSCCo has one label for all numbers that identify: what is not named here is an ID.
_GRASCCO = {
    "PATIENT": "NAME_PATIENT",
    "RELATIVE": "NAME_RELATIVE",
    "CLINICIAN": "NAME_DOCTOR",
    "PERSON": "NAME_OTHER",
    "USERNAME": "NAME_USERNAME",
    "AGE": "AGE",
    "KINSHIP": "OTHER",
    "SEX": "OTHER",
    "PROFESSION": "PROFESSION",
    "OTHER": "OTHER",
    "DATE": "DATE",
    "HOSPITAL": "LOCATION_HOSPITAL",
    "HEALTH_CENTER": "LOCATION_HOSPITAL",
    "DEPARTMENT": "LOCATION_HOSPITAL",
    "ROOM": "LOCATION_OTHER",
    "ORGANIZATION": "LOCATION_ORGANIZATION",
    "STREET": "LOCATION_STREET",
    "CITY": "LOCATION_CITY",
    "STATE": "LOCATION_STATE",
    "ZIP": "LOCATION_ZIP",
    "TERRITORY": "LOCATION_CITY",
    "COUNTRY": "LOCATION_COUNTRY",
    "LOCATION_OTHER": "LOCATION_OTHER",
    "PHONE": "CONTACT_PHONE",
    "FAX": "CONTACT_FAX",
    "EMAIL": "CONTACT_EMAIL",
    "URL": "CONTACT_URL",
}

# Presidio has one entity type for all numbers that identify, as for all persons, places and organizations.
_PRESIDIO = {
    **dict.fromkeys(("PATIENT", "RELATIVE", "CLINICIAN", "PERSON"), "PERSON"),
    **dict.fromkeys(("HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ORGANIZATION"), "ORGANIZATION"),
    **dict.fromkeys(("ROOM", "STREET", "CITY", "STATE", "ZIP", "TERRITORY", "COUNTRY", "LOCATION_OTHER"), "LOCATION"),
    **dict.fromkeys(("PHONE", "FAX"), "PHONE_NUMBER"),
    **{name: name for name in ("AGE", "KINSHIP", "SEX", "PROFESSION", "OTHER", "URL", "IP_ADDRESS")},
    **{"DATE": "DATE_TIME", "EMAIL": "EMAIL_ADDRESS", "SSN": "US_SSN", "LICENSE": "MEDICAL_LICENSE"},
}

LABELS: Mapping[str, Label] = MappingProxyType(
    {row[0]: Label(*row, grascco=_GRASCCO.get(row[0], "ID"), presidio=_PRESIDIO.get(row[0], "ID")) for row in _ROWS}
)

# Where several canonical labels share a label of a scheme, the label of the scheme maps to this canonical label.
_INTO = {
    "meddocan": {
        "NOMBRE_SUJETO_ASISTENCIA": "PATIENT",
        "TERRITORIO": "TERRITORY",
        "INSTITUCION": "ORGANIZATION",
        "ID_SUJETO_ASISTENCIA": "MRN",
        "ID_ASEGURAMIENTO": "INSURANCE_ID",
        "OTRO_NUMERO_IDENTIF": "ID_OTHER",
    },
    "i2b2": {
        "PATIENT": "PATIENT",
        "OTHER": "OTHER",
        "HOSPITAL": "HOSPITAL",
        "CITY": "CITY",
        "HEALTHPLAN": "HEALTH_PLAN",
        "IDNUM": "ID_OTHER",
    },
    "conll": {"PER": "PERSON", "LOC": "LOCATION_OTHER", "ORG": "ORGANIZATION", "MISC": "OTHER"},
    "tab": {
        "PERSON": "PERSON",
        "LOC": "LOCATION_OTHER",
        "ORG": "ORGANIZATION",
        "DATETIME": "DATE",
        "CODE": "ID_OTHER",
        "DEM": "OTHER",
        "MISC": "OTHER",
        "QUANTITY": "OTHER",
    },
    # A title and a person who stands for an office have no label of their own.
    "grascco": {
        "NAME_TITLE": "PERSON",
        "NAME_EXT": "PERSON",
        "LOCATION_OTHER": "LOCATION_OTHER",
        "ID": "ID_OTHER",
        "OTHER": "OTHER",
    },
    # Entity types of Presidio's own recognizers that are narrower than those above.
    "presidio": {
        **{"PERSON": "PERSON", "ORGANIZATION": "ORGANIZATION", "LOCATION": "LOCATION_OTHER", "PHONE_NUMBER": "PHONE"},
        **{"ID": "ID_OTHER", "NRP": "OTHER", "MAC_ADDRESS": "IP_ADDRESS", "UK_NHS": "MRN"},
        **dict.fromkeys(("CREDIT_CARD", "CRYPTO", "IBAN_CODE", "US_BANK_NUMBER"), "ACCOUNT"),
        **dict.fromkeys(("US_ITIN", "US_PASSPORT", "ES_NIF", "ES_NIE", "FI_PERSONAL_IDENTITY_CODE"), "NATIONAL_ID"),
        **{"US_DRIVER_LICENSE": "LICENSE", "US_NPI": "LICENSE", "US_MBI": "HEALTH_PLAN"},
    },
}


def _reverse(scheme: str) -> Mapping[str, str]:
    """Map each label of a scheme to its canonical label."""
    into: dict[str, str] = {}
    for label in LABELS.values():
        into.setdefault(getattr(label, scheme), label.name)
    return MappingProxyType(into | _INTO[scheme])


SCHEMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"canonical": MappingProxyType({name: name for name in LABELS})} | {scheme: _reverse(scheme) for scheme in _INTO}
)


def get_label(name: str) -> Label:
    """Look up a canonical label by its name.

    name (str): canonical name.
    RETURNS (Label): the label.
    RAISES: ConfigError (D001) for an unknown name.
    """
    try:
        return LABELS[name]
    except KeyError:
        raise ConfigError(Errors.D001.format(label=name, scheme="canonical", known=", ".join(LABELS))) from None


def from_scheme(label: str, scheme: str) -> str:
    """Convert a label of a scheme to its canonical label.

    label (str): label as written in the corpus.
    scheme (str): "canonical", "meddocan", "i2b2", "conll", "tab", "grascco" or "presidio".
    RETURNS (str): canonical name.
    RAISES: ConfigError for an unknown scheme (D002) or label (D001).
    """
    known = _scheme(scheme)
    try:
        return known[label]
    except KeyError:
        raise ConfigError(Errors.D001.format(label=label, scheme=scheme, known=", ".join(sorted(known)))) from None


def to_scheme(name: str, scheme: str) -> str:
    """Convert a canonical label to the nearest label of a scheme.

    name (str): canonical name.
    scheme (str): "canonical", "meddocan", "i2b2", "conll", "tab", "grascco" or "presidio".
    RETURNS (str): label of the scheme.
    RAISES: ConfigError for an unknown scheme (D002) or label (D001).
    """
    _scheme(scheme)
    label = get_label(name)
    return label.name if scheme == "canonical" else str(getattr(label, scheme))


def _scheme(scheme: str) -> Mapping[str, str]:
    """Return the mapping from the labels of a scheme to canonical labels.

    RAISES: ConfigError (D002) if it is unknown.
    """
    try:
        return SCHEMES[scheme]
    except KeyError:
        raise ConfigError(Errors.D002.format(scheme=scheme, known=", ".join(SCHEMES))) from None
