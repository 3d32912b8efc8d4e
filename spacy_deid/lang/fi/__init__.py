"""Finnish."""

from ..language_data import LanguageData

LANGUAGE = LanguageData(
    code="fi",
    name="Finnish",
    ocr_language="fin",
)
