"""Spanish."""

from ..language_data import LanguageData

LANGUAGE = LanguageData(
    code="es",
    name="Spanish",
    ocr_language="spa",
)
