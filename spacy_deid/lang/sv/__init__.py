"""Swedish, with rules and lists only: no trained classifier, no masked language model, no medical dictionary."""

from ..language_data import LanguageData
from .eponyms import EPONYMS
from .identifiers import IDENTIFIERS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES
from .synthetic_ids import ID_MAKERS
from .validators import VALIDATORS

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
