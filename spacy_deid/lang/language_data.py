"""The class `LanguageData`: data and functions of a language, with safe defaults for what it does not define.

A language is a folder ``spacy_deid/lang/XX`` that defines ``LANGUAGE``, a `LanguageData`, in its ``__init__.py``. It
consists of two parts:

- *Resources* are data files in the folder, read with `LanguageData.read_text`, `read_lines` and `read_toml`. A
  missing file is treated as empty. `RESOURCES` lists the names that the package looks for.
- *Attributes* are values and functions of `LanguageData`, for what cannot be written as plain data, such as inflection
  or check digits. Each has a default that is safe for an unsupported language: it finds nothing, leaves a text
  unchanged, or makes no surrogate (a tag such as [CITY] is then written instead).

The code of a language has no side effects: strings in, strings out. It imports only `spacy_deid.errors`,
`spacy_deid.lang` and the standard library, and reads its lists when they are first used, so that importing a language
stays cheap. Code outside
``lang/`` does not compare language codes; it uses the `LanguageData` that `spacy_deid.lang.get_language` returns.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .eponyms import EponymConventions
from .identifiers import IdentifierConventions
from .inflection import Inflector
from .phones import PhoneConventions
from .places import PlaceConventions, PostalCodes
from .professions import ProfessionSurrogates
from .synthesis import IdMaker
from .validation import Validator

RESOURCES: Mapping[str, str] = MappingProxyType(
    {
        "admission.toml": "words that decide whether a guess of the classifier can have its label (ml/postprocess.py)",
        "app.toml": "texts of the pages of the service",
        "calendar.toml": "months, weekdays, holidays and numbers in words, and how dates are written",
        "counts.bin": "how often phrases occur in open text (background/counts.py)",
        "eponym_heads.csv": "head words of eponyms by concept, separated by |",
        "expansion.toml": "how entries from an EHR are written in notes: date orders, streets, nicknames",
        "fairness.txt": "sentences with a slot for a name, for the fairness benchmark",
        "field_words.txt": "words of fields and instructions that record systems print, separated by blanks",
        "function_words.txt": "function words, separated by blanks",
        "gazetteer.csv": "places that `deid_ruler` can look for",
        "masked_lm/": "masked language model that scores surprisal",
        "medical/": "lists of medical terms, and the dictionary that is compiled from them",
        "name_context.toml": "expressions that tell a person's name from the name of a disease",
        "name_cues.txt": "titles in the first line, other words before a name in the rest",
        "names/": "female.csv, male.csv, surname.csv (name, count; most frequent first), decades.csv, origins.toml, "
        "communities.toml",
        "note_words.toml": "titles, conjunctions, and words beside ages, house numbers and rooms",
        "offensive.txt": "words that no surrogate may be, one per line",
        "patterns.toml": "rules of `deid_patterns`",
        "people.toml": "how persons are named: order of names, titles, particles, words of kinship",
        "place_words.txt": "words that are also places, but mostly ordinary words in lower case, separated by blanks",
        "places.csv": "towns as region;size band;names separated by |",
        "places_abroad.csv": "the same for other countries of the language, as country/region;size band;names",
        "places.toml": "regions, capitals, and words of streets, institutions and professions",
        "placeholders.txt": "values of EHR fields that mean that the value is missing, separated by |",
        "prompts/": "prompts for a large language model",
        "recovery.toml": "expressions for medical text that looks like an identifier",
        "samples/": "sample notes for the demo",
        "sex.toml": "words that show a patient's sex, and their neutral forms",
        "synth/": "templates and lists from which synthetic notes are made",
        "zip_areas.csv": "inhabitants by the first digits of a postal code",
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageData:
    """The data and functions of one language. Every attribute but the code has a default.

    code (str): ISO 639-1 code, the name of the language's folder.
    name (str): the language's name in English.
    region (str): region of a variety, such as "GB" in "en-GB". A data file for the region ("calendar-GB.toml") is
        preferred to that of the language ("calendar.toml").
    ocr_language (str): the language's code in Tesseract; "eng" can be used for any Latin script.
    accented_words (frozenset[str]): frequent words that are no words without their accents. A note in which they stand
        without accents was written without accents. None for a language whose words rarely have any.
    agreeing_words (Mapping[str, Callable[[str], str]]): words whose form depends on the first sound of the next word
        ("a", "an") → function that takes the following text and returns the form that fits it.
    decline (Callable[[Sequence[str]], list[str]]): principal parts of a noun, as a word list has them → its forms,
        always in the same order; by default the parts themselves.
    identifiers (IdentifierConventions): kinds of identifiers, and the words that are written around them.
    phones (PhoneConventions): numbering plans of telephone numbers.
    places (PlaceConventions): how places, streets and institutions are written.
    postal_codes (PostalCodes): the system of postal codes.
    lemmatize (Optional[Callable]): words of a note in order → one lemma per word. None uses the package simplemma.
    replace_profession (Optional[Callable]): (profession, text before it) → the professions that can replace it. None
        if the language has no surrogates of professions.
    inflector (Optional[Inflector]): inflection of names and nouns; None for a language that does not inflect them.
    validators (Mapping[str, Validator]): name → test of the check digit (or the number range) of an identifier of the
        language's countries. Rules of any language can use it. At most one random number in ten may pass the test.
    eponyms (EponymConventions): how eponyms such as "Parkinson's disease" are written.
    id_makers (Mapping[str, IdMaker]): name → function that makes an identifier for synthetic notes.
    """

    code: str
    name: str = ""
    region: str = ""

    # documents
    ocr_language: str = "eng"

    # --- names of people ---
    accented_words: frozenset[str] = frozenset()
    agreeing_words: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    decline: Callable[[Sequence[str]], list[str]] = list

    # --- calendar, numbers, identifiers, phone numbers ---
    identifiers: IdentifierConventions = field(default_factory=IdentifierConventions)
    phones: PhoneConventions = field(default_factory=PhoneConventions)

    # --- places, streets, institutions, professions ---
    places: PlaceConventions = field(default_factory=PlaceConventions)
    postal_codes: PostalCodes = field(default_factory=PostalCodes)
    replace_profession: Callable[[str, str], ProfessionSurrogates] | None = None

    # --- inflection ---
    inflector: Inflector | None = None

    # --- lemmas ---
    lemmatize: Callable[[Sequence[str]], list[str]] | None = None

    # --- entries of an EHR and how notes write them ---

    # --- detection: rules, medical terms ---
    validators: Mapping[str, Validator] = field(default_factory=dict)
    eponyms: EponymConventions = field(default_factory=EponymConventions)

    # --- synthetic notes ---
    id_makers: Mapping[str, IdMaker] = field(default_factory=dict)

    def resource(self, name: str) -> Path:
        """Return the path of a data file or folder of the language, whether it exists or not.

        name (str): path within the language's folder, such as "names/female.csv". `RESOURCES` lists the names.
        RETURNS (Path): the variant for the region ("calendar-GB.toml") if it exists, else the language's own file.
        """
        folder = language_folders().get(self.code, _NOWHERE)
        path = folder / name
        regional = path.with_name(f"{path.stem}-{self.region}{path.suffix}")
        return regional if self.region and regional.is_file() else path

    def has(self, name: str) -> bool:
        """Whether the language has a data file or folder.

        name (str): as for `resource`.
        RETURNS (bool): True if it exists.
        """
        return self.resource(name).exists()

    def read_text(self, name: str) -> str:
        """Read a data file as text.

        name (str): as for `resource`.
        RETURNS (str): its content, "" if the language has no such file.
        """
        path = self.resource(name)
        return path.read_text(encoding="utf8") if path.is_file() else ""

    def read_lines(self, name: str) -> list[str]:
        """Read a data file that has one entry per line.

        name (str): as for `resource`.
        RETURNS (list[str]): the lines, without empty ones and comments ("# …"); [] if there is no such file.
        """
        return [line for line in self.read_text(name).splitlines() if line.strip() and not line.startswith("#")]

    def read_toml(self, name: str) -> dict[str, Any]:
        """Read a data file in TOML format. Top-level keys of the region's file replace those of the language's file.

        name (str): as for `resource`.
        RETURNS (dict[str, Any]): its content; {} if there is no such file.
        RAISES: tomllib.TOMLDecodeError if the file is not valid TOML.
        """
        path = self.resource(name)
        base = path.with_name(Path(name).name)
        found: dict[str, Any] = {}
        for file in dict.fromkeys((base, path)):
            found |= tomllib.loads(file.read_text(encoding="utf8")) if file.is_file() else {}
        return found


def language_folders() -> dict[str, Path]:
    """Find the folders of all languages, including those added with `add_folder`.

    RETURNS (dict[str, Path]): language code → folder, sorted by code.
    """
    return _find_folders(tuple(import_module(__package__).__path__))


@cache
def _find_folders(roots: tuple[str, ...]) -> dict[str, Path]:
    """Return the folder of each language package in the folders `roots`, the ``__path__`` of ``spacy_deid.lang``."""
    files = (file for root in roots for file in Path(root).glob("*/__init__.py"))
    return dict(sorted((file.parent.name, file.parent) for file in files))


_NOWHERE = Path(__file__).parent / "no-such-language"
