"""The data and functions of English: grammar, identifiers, telephone numbers and places of the US and the UK."""

from ..language_data import LanguageData
from .grammar import EPONYMS, indefinite_article, replace_profession
from .identifiers import ID_MAKERS, IDENTIFIERS, VALIDATORS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES

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
