"""German."""

from ..language_data import LanguageData

LANGUAGE = LanguageData(
    code="de",
    name="German",
    ocr_language="deu",
)
