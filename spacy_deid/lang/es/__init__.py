"""Spanish."""

from ..language_data import LanguageData
from .identifiers import IDENTIFIERS
from .phones import PHONES
from .places import PLACES, POSTAL_CODES
from .professions import replace_profession
from .validators import VALIDATORS

LANGUAGE = LanguageData(
    code="es",
    name="Spanish",
    ocr_language="spa",
    identifiers=IDENTIFIERS,
    phones=PHONES,
    places=PLACES,
    postal_codes=POSTAL_CODES,
    replace_profession=replace_profession,
    validators=VALIDATORS,
)
