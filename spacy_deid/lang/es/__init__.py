"""Spanish."""

from ..language_data import LanguageData
from .agreement import conjunction_and, conjunction_or
from .eponyms import EPONYMS
from .identifiers import IDENTIFIERS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES
from .professions import replace_profession
from .synthetic_ids import ID_MAKERS
from .validators import VALIDATORS

LANGUAGE = LanguageData(
    code="es",
    name="Spanish",
    ocr_language="spa",
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
