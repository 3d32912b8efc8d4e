"""The words of the pages, in each language."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["LANGUAGES", "choose_language", "load_words"]

FOLDER = files("spacy_deid") / "resources" / "app" / "words"
LANGUAGES = ("en", "es", "fi")


@cache
def load_words(lang: str) -> dict[str, Any]:
    """Read the words of a language.

    lang (str): one of `LANGUAGES`.
    RETURNS (dict): name → words, or a dict of words.
    """
    return tomllib.loads((FOLDER / f"{lang}.toml").read_text(encoding="utf-8"))


def choose_language(asked: str, remembered: str, accepted: str) -> str:
    """Choose the language of a page.

    asked (str): in the address; remembered (str): in a cookie; accepted (str): header Accept-Language.
    RETURNS (str): one of `LANGUAGES`, English if none is wanted that there is.
    """
    wanted = [asked, remembered, *(part.split(";")[0].strip()[:2].lower() for part in accepted.split(","))]
    return next((lang for lang in wanted if lang in LANGUAGES), LANGUAGES[0])
