"""Finnish."""

from ..language_data import LanguageData
from .eponyms import EPONYMS
from .identifiers import IDENTIFIERS
from .lemmas import lemmatize
from .morphology import FinnishInflector
from .nouns import decline
from .phones import PHONES
from .places import PLACES, POSTAL_CODES
from .professions import replace_profession
from .synthetic_ids import ID_MAKERS
from .validators import VALIDATORS

LANGUAGE = LanguageData(
    code="fi",
    name="Finnish",
    ocr_language="fin",
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
