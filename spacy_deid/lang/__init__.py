"""Access to everything that depends on the language of a note: word lists, formats of identifiers, inflection etc.

Each language has a folder, ``lang/XX``. `get_language` returns its `LanguageData` and never fails: for a language
without a folder, and for everything that a language does not define, it returns safe defaults. Code outside this
package reads languages only through these functions. docs/guides/languages.md explains how to add a language.
"""

import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from .language_data import LanguageData, language_folders

FALLBACK = "en"
"""Code of the language whose data files are used if a language lacks a file that cannot be left out."""

_REGION = re.compile(r"[A-Za-z]{2}|\d{3}")  # ISO 3166-1 alpha-2, UN M.49


@cache
def get_language(code: str) -> LanguageData:
    """Return the data and functions of a language.

    code (str): ISO 639-1 code ("es"), or code and region ("en-GB", "en_GB"), which also sets `LanguageData.region`.
    RETURNS (LanguageData): ``LANGUAGE`` of the language's package. For an unknown code, a `LanguageData` without data
        files, whose attributes have their defaults.
    """
    lang, _, region = code.replace("_", "-").partition("-")
    if lang not in language_folders() or (region and not _REGION.fullmatch(region)):
        return LanguageData(code=code)
    language: LanguageData = import_module(f"{__name__}.{lang}").LANGUAGE
    return replace(language, region=region.upper()) if region else language


def language_codes(resource: str = "") -> list[str]:
    """Return the codes of the languages that have a folder.

    resource (str): name of a data file, to return only the languages that have this file; "" for all languages.
    RETURNS (list[str]): ISO 639-1 codes, sorted.
    """
    return [code for code, folder in language_folders().items() if not resource or (folder / resource).exists()]


def add_folder(folder: str | Path) -> None:
    """Register a folder of language packages outside spacy_deid, for example to develop a new language.

    Call this before a pipeline is loaded, because word lists that combine all languages are read once per process.

    folder (str or Path): folder that contains one package per language, such as ``languages/cs/__init__.py``.
    """
    __path__.append(str(Path(folder).resolve()))
    get_language.cache_clear()
    shared_words.cache_clear()


def all_languages(resource: str = "") -> list[LanguageData]:
    """Return the data of all languages that have a folder, to combine their word lists for notes in any language.

    resource (str): as for `language_codes`.
    RETURNS (list[LanguageData]): the languages, sorted by code.
    """
    return [get_language(code) for code in language_codes(resource)]


def resource_folders(resource: str = "") -> list[LanguageData]:
    """Return the languages that have a resource, without importing their code: only their files can be read.

    resource (str): as for `language_codes`.
    RETURNS (list[LanguageData]): languages with default settings, in the order of their codes.
    """
    return [LanguageData(code=code) for code in language_codes(resource)]


@cache
def shared_words(resource: str, table: str, key: str) -> tuple[str, ...]:
    """Collect a word list from all languages, because names and numbers of one country occur in notes of any language.

    resource (str): name of a TOML file, as for `LanguageData.read_toml`.
    table, key (str): name of the table in the file, and of the word list in that table.
    RETURNS (tuple[str, ...]): the words without duplicates, ordered by the codes of their languages.
    """
    tables = (language.read_toml(resource).get(table, {}) for language in resource_folders(resource))
    return tuple(dict.fromkeys(word for each in tables for word in each.get(key, ())))
