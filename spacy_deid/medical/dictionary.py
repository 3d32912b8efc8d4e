"""Find medical terms in a note with a dictionary, so that they are not removed as identifiers.

A match has a kind (disease, drug, test …) and a form. The form states under which condition the text counts as
medical; it is the first part of the match's rule:

    term     always: "angiosarcoma", "mmHg"
    eponym   always: a name with a head word, such as "Parkinson's disease", "signo de Babinski", "Crohnin tautia"
    name     if the surrounding words show that no person is meant: "Parkinson", "Babinski positive"
    symbol   if it is in capitals: "BRCA1", "ADHD"
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
    """A medical term to add to a dictionary.

    text (str): the term as its source writes it, or in normal form.
    kind (str): what it denotes, one of `KINDS`.
    form (str): under which condition it counts as medical, one of `FORMS`.
    """

    text: str
    kind: str
    form: str = "term"


class MedicalMatch(NamedTuple):
    """A medical term that was found in a text.

    start, end (int): character offsets in the text, end exclusive. The span of an eponym includes its head word.
    label (str): kind of the term, one of `KINDS`.
    rule (str): form and kind, such as "eponym:disease".
    """

    start: int
    end: int
    label: str
    rule: str

    @property
    def form(self) -> str:
        """Under which condition the term counts as medical: one of `FORMS`."""
        return self.rule.partition(":")[0]

    @property
    def person_named(self) -> bool:
        """Whether the term contains the name of a person or place after which it is named: "Parkinson's disease"."""
        return self.form in ("eponym", "name")

    @property
    def needs_context(self) -> bool:
        """Whether the term is a name without head word, so that the surrounding words decide if a person is meant."""
        return self.form == "name"


class MedicalDictionary:
    """The medical terms of one language, which can be found in texts.

    lang (str): ISO 639-1 code.
    manifest (Mapping): information on the origin of the terms, stored with them. `build_dictionary` writes the number
        of terms per source under "sources".
    """

    def __init__(self, lang: str, manifest: Mapping[str, Any] | None = None) -> None:
        self.lang = lang
        self.manifest: dict[str, Any] = dict(manifest or {})
        self._matcher = TermMatcher()
        self._version = ""

    @property
    def version(self) -> str:
        """The first 12 hexadecimal digits of a SHA-256 hash of the terms and the manifest."""
        if not self._version:
            self._version = _hash(self.to_bytes())
        return self._version

    def __len__(self) -> int:
        """The number of terms; each inflected form counts as one."""
        return len(self._matcher)

    def add(self, terms: Iterable[MedicalTerm]) -> int:
        """Add terms. Terms that are too long, or so general that they would match in nearly every note, are dropped.

        terms (Iterable[MedicalTerm]): the terms. Of several terms with the same normal form, the one whose form is
            the most restrictive (first in `FORMS`) is kept; of equals, the first.
        RETURNS (int): the number of distinct normal forms that were added.
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
        """Find the terms in a text. Of nested terms, only the longest is returned.

        text (str): the text, not normalised.
        RETURNS (list[MedicalMatch]): the terms in the order of the text; "symbol" terms only where they are in
            capitals.
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
        """Serialize the dictionary.

        RETURNS (bytes): compressed msgpack; dictionaries with equal terms give equal bytes.
        """
        message = {"lang": self.lang, "manifest": self.manifest, "terms": self._matcher.to_bytes()}
        return _MAGIC + zlib.compress(srsly.msgpack_dumps(message), 9)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "dictionary") -> "MedicalDictionary":
        """Create a dictionary from the bytes that `to_bytes` returned.

        data (bytes): the serialized dictionary.
        name (str): name of the dictionary in an error message.
        RETURNS (MedicalDictionary): the dictionary.
        RAISES: ConfigError (D704) if the bytes are not a valid dictionary.
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
        """Load a dictionary from a file that `spacy-deid medical build` wrote.

        path (str or Path): the file.
        RETURNS (MedicalDictionary): the dictionary.
        RAISES: ConfigError if the file does not exist (D707) or is not a valid dictionary (D704).
        """
        if not Path(path).is_file():
            raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
        return cls.from_bytes(Path(path).read_bytes(), str(path))

    @classmethod
    def load(cls, lang: str) -> "MedicalDictionary":
        """Load the medical dictionary of a language that this package contains.

        lang (str): ISO 639-1 code.
        RETURNS (MedicalDictionary): the dictionary. It is cached and shared by all callers, so do not add terms to it;
            load a dictionary of your own with `from_file`.
        RAISES: ConfigError (D703) if the package contains none for the language.
        """
        return _load(lang)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the dictionary as the bytes that `to_bytes` returns."""
        return MedicalDictionary.from_bytes, (self.to_bytes(),)


def _hash(data: bytes) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:12]


@cache
def _load(lang: str) -> MedicalDictionary:
    """Load a dictionary that this package contains, with a cache."""
    if lang not in (known := languages()):
        raise ConfigError(Errors.D703.format(lang=lang, known=", ".join(known)))
    data = get_language(lang).resource("medical/dictionary.bin").read_bytes()
    return MedicalDictionary.from_bytes(data, f"medical/{lang}")


def languages() -> list[str]:
    """List the languages for which this package contains a medical dictionary.

    RETURNS (list[str]): ISO 639-1 codes, sorted.
    """
    return language_codes("medical/dictionary.bin")
