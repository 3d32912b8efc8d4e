"""English."""

from ..language_data import LanguageData
from .agreement import indefinite_article
from .eponyms import EPONYMS
from .identifiers import IDENTIFIERS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES
from .professions import replace_profession
from .synthetic_ids import ID_MAKERS
from .validators import VALIDATORS

LANGUAGE = LanguageData(
    code="en",
    name="English",
    ocr_language="eng",
    agreeing_words={"a": indefinite_article, "an": indefinite_article},
    identifiers=IDENTIFIERS,
    phones=PHONES,
    places=PLACES,
    postal_codes=POSTAL_CODES,
    replace_profession=replace_profession,
    validators=VALIDATORS,
    eponyms=EPONYMS,
    id_makers=ID_MAKERS,
)
