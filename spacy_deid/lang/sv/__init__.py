"""Swedish, with rules and lists only: no trained classifier, no masked language model, no medical dictionary."""

from ..language_data import LanguageData
from .grammar import EPONYMS
from .identifiers import ID_MAKERS, IDENTIFIERS, VALIDATORS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES

LANGUAGE = LanguageData(
    code="sv",
    name="Swedish",
    ocr_language="swe",
    validators=VALIDATORS,
    eponyms=EPONYMS,
    identifiers=IDENTIFIERS,
    phones=PHONES,
    places=PLACES,
    postal_codes=POSTAL_CODES,
    id_makers=ID_MAKERS,
)
