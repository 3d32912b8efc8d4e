"""The data and functions of Finnish: inflection, lemmas, identifiers, telephone numbers and places."""

from ..language_data import LanguageData
from .grammar import ACCENTED_WORDS, EPONYMS, decline, replace_profession
from .identifiers import ID_MAKERS, IDENTIFIERS, VALIDATORS
from .lemmas import lemmatize
from .morphology import FinnishInflector
from .phones import PHONES
from .places import PLACES, POSTAL_CODES

LANGUAGE = LanguageData(
    code="fi",
    name="Finnish",
    ocr_language="fin",
    accented_words=ACCENTED_WORDS,
    decline=decline,
    lemmatize=lemmatize,
    inflector=FinnishInflector(),
    identifiers=IDENTIFIERS,
    phones=PHONES,
    places=PLACES,
    postal_codes=POSTAL_CODES,
    replace_profession=replace_profession,
    validators=VALIDATORS,
    eponyms=EPONYMS,
    id_makers=ID_MAKERS,
)
