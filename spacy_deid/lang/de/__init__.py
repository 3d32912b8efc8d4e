"""German, of which only the name and the OCR language are defined; everything else has the defaults."""

from ..language_data import LanguageData

LANGUAGE = LanguageData(
    code="de",
    name="German",
    ocr_language="deu",
)
