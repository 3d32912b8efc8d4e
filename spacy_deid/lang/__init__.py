"""All knowledge of languages: one folder per language, and the one way to ask for it.

`get_language` returns the `LanguageData` of a language code. It never fails: for a language without a folder, and for
everything that a language leaves out, it returns safe defaults. See docs/guides/languages.md for adding a language.
"""

import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from .language_data import LanguageData, language_folders

FALLBACK = "en"
"""Code of the language whose resources are read where a language has none and nothing neutral exists."""

_REGION = re.compile(r"[A-Za-z]{2}|\d{3}")  # ISO 3166-1 alpha-2, UN M.49


@cache
def get_language(code: str) -> LanguageData:
    """Return what the package knows about a language.

    code (str): ISO 639-1 code ("es"), or code and region ("en-GB", "en_GB"): the language with `LanguageData.region`.
    RETURNS (LanguageData): the language's ``LANGUAGE``. For an unknown code it is a `LanguageData` without resources,
        whose attributes have their defaults.
    """
    lang, _, region = code.replace("_", "-").partition("-")
    if lang not in language_folders() or (region and not _REGION.fullmatch(region)):
        return LanguageData(code=code)
    language: LanguageData = import_module(f"{__name__}.{lang}").LANGUAGE
    return replace(language, region=region.upper()) if region else language


def language_codes(resource: str = "") -> list[str]:
    """Return the codes of the languages that have a folder.

    resource (str): name of a data file; only languages that have it are returned. All languages if empty.
    RETURNS (list[str]): ISO 639-1 codes, sorted.
    """
    return [code for code, folder in language_folders().items() if not resource or (folder / resource).exists()]


def add_folder(folder: str | Path) -> None:
    """Add a folder with languages outside the package, for a language that you are writing.

    folder (str or Path): folder with one package per language, such as ``languages/cs/__init__.py``. Call this before
        a pipeline is loaded: lists of all languages together are read once per process.
    """
    __path__.append(str(Path(folder).resolve()))
    get_language.cache_clear()
    shared_words.cache_clear()


def all_languages(resource: str = "") -> list[LanguageData]:
    """Return all languages that have a folder, for word lists that apply to notes in any language.

    resource (str): as for `language_codes`.
    RETURNS (list[LanguageData]): sorted by code.
    """
    return [get_language(code) for code in language_codes(resource)]


@cache
def shared_words(resource: str, table: str, key: str) -> tuple[str, ...]:
    """Return words that apply to notes in any language, because names and numbers of one country occur in all of them.

    resource (str): name of a TOML file, as for `LanguageData.read_toml`.
    table, key (str): table of the file, and the list in it.
    RETURNS (tuple[str, ...]): the words of all languages, each once, in the order of the languages' codes.
    """
    # Reading a file needs no code of a language, so no language is imported.
    tables = (LanguageData(code=code).read_toml(resource).get(table, {}) for code in language_codes(resource))
    return tuple(dict.fromkeys(word for each in tables for word in each.get(key, ())))
