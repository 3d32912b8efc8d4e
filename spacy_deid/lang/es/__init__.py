"""The data and functions of Spanish: grammar, identifiers, telephone numbers and places."""

from ..language_data import LanguageData
from .grammar import ACCENTED_WORDS, EPONYMS, conjunction_and, conjunction_or, replace_profession
from .identifiers import ID_MAKERS, IDENTIFIERS, VALIDATORS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES

LANGUAGE = LanguageData(
    code="es",
    name="Spanish",
    ocr_language="spa",
    accented_words=ACCENTED_WORDS,
    agreeing_words={"y": conjunction_and, "e": conjunction_and, "o": conjunction_or, "u": conjunction_or},
    identifiers=IDENTIFIERS,
    phones=PHONES,
    places=PLACES,
    postal_codes=POSTAL_CODES,
    replace_profession=replace_profession,
    validators=VALIDATORS,
    eponyms=EPONYMS,
    id_makers=ID_MAKERS,
)
