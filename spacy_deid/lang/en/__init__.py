"""English."""

from ..language_data import LanguageData

LANGUAGE = LanguageData(
    code="en",
    name="English",
    ocr_language="eng",
)
