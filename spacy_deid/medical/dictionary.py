"""The medical dictionary: terms that are medicine, whoever they are named after, and how each may be used.

A match tells its kind (disease, drug, test …) and its form, which is the first half of its rule:

    term     an ordinary term: "angiosarcoma", "mmHg"
    eponym   a name with the word that makes it medical: "Parkinson's disease", "signo de Babinski", "Crohnin tautia"
    name     the name alone, as notes write it: "Parkinson", "Babinski positive". It may be a person: the context says
    symbol   a term that is one in capitals only: "BRCA1", "ADHD"
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import srsly

from ..dictionaries.matcher import TermMatcher
from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import MAX_LENGTH, Entry, is_too_general
from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes

KINDS = (
    "anatomy",
    "device",
    "disease",
    "drug",
    "finding",
    "gene",
    "organism",
    "procedure",
    "score",
    "sign",
    "test",
    "unit",
    "other",
)
FORMS = ("name", "symbol", "eponym", "term")  # of two forms of one term, the earlier holds: it asks for more
_MAGIC = b"DEIDMED1"


class MedicalTerm(NamedTuple):
    """A term on its way into a dictionary.

    text (str): as its source writes it.
    kind (str): one of `KINDS`.
    form (str): one of `FORMS`.
    """

    text: str
    kind: str
    form: str = "term"


class MedicalMatch(NamedTuple):
    """A medical term in a text.

    start, end (int): characters of the original, end exclusive; an eponym's head word is among them.
    label (str): the kind of term.
    rule (str): form and kind, "eponym:disease".
    """

    start: int
    end: int
    label: str
    rule: str

    @property
    def form(self) -> str:
        """How the term may be used: one of `FORMS`."""
        return self.rule.partition(":")[0]

    @property
    def person_named(self) -> bool:
        """Whether the term is named after a person (or a place), with its head word or alone."""
        return self.form in ("eponym", "name")

    @property
    def needs_context(self) -> bool:
        """Whether the term is a bare name, which only its context can tell from a person's."""
        return self.form == "name"


class MedicalDictionary:
    """Medical terms of one language.

    lang (str): ISO 639-1 code.
    manifest (dict): where the terms come from: source → how many it gave.
    """

    def __init__(self, lang: str, manifest: Mapping[str, Any] | None = None) -> None:
        self.lang = lang
        self.manifest: dict[str, Any] = dict(manifest or {})
        self._matcher = TermMatcher()
        self._version = ""

    @property
    def version(self) -> str:
        """Short hash of the terms and the manifest."""
        if not self._version:
            self._version = _hash(self.to_bytes())
        return self._version

    def __len__(self) -> int:
        """The number of terms, forms of inflection counted."""
        return len(self._matcher)

    def add(self, terms: Iterable[MedicalTerm]) -> int:
        """Add terms. What would match nearly everywhere or is too long is left out.

        terms (Iterable[MedicalTerm]): the terms; of several with one normal form the most careful form holds, and of
            those the first.
        RETURNS (int): how many were added, each normal form counted once.
        """
        entries: dict[str, tuple[int, str]] = {}
        for text, kind, form in terms:
            term = normal_form(text)
            if not term or len(term) > MAX_LENGTH or is_too_general(term) or "\n" in term:
                continue
            rank = FORMS.index(form)
            if term not in entries or rank < entries[term][0]:
                entries[term] = rank, kind
        self._matcher.add(
            [("medical", (Entry(term, kind, f"{FORMS[rank]}:{kind}") for term, (rank, kind) in entries.items()))]
        )
        self._version = ""
        return len(entries)

    def find(self, text: str) -> list[MedicalMatch]:
        """Find the terms of a text, the longest where several lie within one another.

        text (str): the original.
        RETURNS (list[MedicalMatch]): in the order of the text.
        """
        kept: dict[tuple[int, int], MedicalMatch] = {}
        for match in (MedicalMatch(*match) for match in self._matcher.find(text)):
            if match.form == "symbol" and not text[match.start : match.end].isupper():
                continue
            other = kept.setdefault(match[:2], match)  # a term that was added twice, with two forms
            if FORMS.index(match.form) < FORMS.index(other.form):
                kept[match[:2]] = match
        return list(kept.values())

    def to_bytes(self) -> bytes:
        """Write the dictionary.

        RETURNS (bytes): compressed msgpack; equal terms give equal bytes.
        """
        message = {"lang": self.lang, "manifest": self.manifest, "terms": self._matcher.to_bytes()}
        return _MAGIC + zlib.compress(srsly.msgpack_dumps(message), 9)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "dictionary") -> "MedicalDictionary":
        """Read what `to_bytes` wrote.

        data (bytes): the dictionary.
        name (str): what the error calls it.
        RETURNS (MedicalDictionary): the dictionary.
        RAISES: ConfigError (D704).
        """
        try:
            message = srsly.msgpack_loads(zlib.decompress(data.removeprefix(_MAGIC)))
            dictionary = cls(message["lang"], message["manifest"])
            dictionary._matcher = TermMatcher.from_bytes(message["terms"], name)
            dictionary._version = _hash(data)
        except (zlib.error, ValueError, KeyError, TypeError):
            raise ConfigError(Errors.D704.format(path=name)) from None
        return dictionary

    @classmethod
    def from_file(cls, path: str | Path) -> "MedicalDictionary":
        """Read a dictionary that `spacy-deid medical build` wrote.

        path (str or Path): the file.
        RETURNS (MedicalDictionary): the dictionary.
        RAISES: ConfigError (D704, D707).
        """
        if not Path(path).is_file():
            raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
        return cls.from_bytes(Path(path).read_bytes(), str(path))

    @classmethod
    def load(cls, lang: str) -> "MedicalDictionary":
        """Load the dictionary of a language that ships; the second call gives the same one.

        lang (str): ISO 639-1 code.
        RETURNS (MedicalDictionary): the dictionary. Do not add to it: read your own with `from_file`.
        RAISES: ConfigError (D703).
        """
        return _load(lang)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what `to_bytes` writes."""
        return MedicalDictionary.from_bytes, (self.to_bytes(),)


def _hash(data: bytes) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:12]


@cache
def _load(lang: str) -> MedicalDictionary:
    """Load a dictionary that ships, once."""
    if lang not in (known := languages()):
        raise ConfigError(Errors.D703.format(lang=lang, known=", ".join(known)))
    data = get_language(lang).resource("medical/dictionary.bin").read_bytes()
    return MedicalDictionary.from_bytes(data, f"medical/{lang}")


def languages() -> list[str]:
    """The languages that a medical dictionary ships for.

    RETURNS (list[str]): ISO 639-1 codes, in order.
    """
    return language_codes("medical/dictionary.bin")
