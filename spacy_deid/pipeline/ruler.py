"""deid_ruler: finds known terms (names, places) in notes, at word boundaries, ignoring case, accents, hyphens, spaces.

There are two kinds of lists. *Public* lists (towns, hospitals) are named by the setting ``paths`` and saved with the
pipeline. *Confidential* lists (patients, staff) are added at run time with `Ruler.add_lists` and `Ruler.add_terms`;
they are never part of a config, a vocab, a saved pipeline or a pickle. Only their number is saved, and a pipeline that
had some refuses to run after loading until they are added again.

*Dictionaries* built from an EHR are confidential, too: `Ruler.open_dictionaries` opens a folder of them. Every note is
searched for the terms of the institution, and for those of its own patient, ``doc._.ehr["patient_id"]``. Their
evidence has the rule "table.column", or "patient:table.column" for the patient's own terms. The attribute
"dictionaries" of the span group says what was used: "patient", "institution" if there is no patient index, or
"institution: " and the reason.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import TYPE_CHECKING, Any

import srsly
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.util import from_bytes, to_bytes

from ..dictionaries.matcher import Match, TermMatcher
from ..dictionaries.normalise import normalise
from ..dictionaries.terms import OWN_PREFIX, check_terms
from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import get_label
from ..lang import get_language
from ..spans import Evidence, check_key, write_evidence

if TYPE_CHECKING:
    from ..dictionaries.patients import PatientTerms
    from ..dictionaries.store import LocalStore

_LANG = "lang:"
_WITHOUT_PATIENT = ("institution", "refuse")


class Ruler(Pipe):
    """Finds the terms of lists and dictionaries in a Doc and writes them to a span group.

    public (TermMatcher): terms of public lists, which are saved with the pipeline.
    confidential (TermMatcher): terms of confidential lists, which are never saved.
    store (LocalStore): the open dictionaries; None if there are none.
    without_patient, fuzzy: settings of the search for patients' terms; see `set_patient_search`.
    expects_lists (int): number of confidential lists that are required to process a Doc.
    expects_dictionaries (bool): whether dictionaries are required to process a Doc.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        paths: Sequence[str | Path],
        label: str | None,
        without_patient: str,
        fuzzy: bool | None,
    ) -> None:
        self.name = name
        self.key = check_key(key)
        self.label = label and get_label(label).name
        self.public = TermMatcher()
        self.confidential = TermMatcher()
        self.expects_lists = 0
        self.without_patient, self.fuzzy = "institution", fuzzy
        self.set_patient_search(without_patient=without_patient)
        self.store: LocalStore | None = None
        self.expects_dictionaries = False
        # A saved pipeline brings its own copy, and its lists need not lie where it was trained.
        self._paths = [str(path) for path in paths]
        self._absent = [path for path in self._paths if not _locate(path).exists()]
        self.public.add_lists([_locate(path) for path in self._paths if path not in self._absent], self.label)
        self._saved = self._paths  # the paths of the pipeline that terms are loaded from

    def set_patient_search(self, *, without_patient: str | None = None, fuzzy: bool | None = None) -> None:
        """Change the settings of the search for the terms of a note's own patient; None keeps a setting.

        without_patient (Optional[str]): what happens to a note whose patient is unknown: "institution" searches for
            the terms of the institution only, "refuse" raises an error.
        fuzzy (Optional[bool]): whether to find misspelled names, too.
        RAISES: ConfigError (D164) for another value of `without_patient`.
        """
        if without_patient not in (None, *_WITHOUT_PATIENT):
            known = ", ".join(_WITHOUT_PATIENT)
            raise ConfigError(Errors.D164.format(name=self.name, value=without_patient, known=known))
        self.without_patient = without_patient or self.without_patient
        self.fuzzy = self.fuzzy if fuzzy is None else fuzzy

    def add_lists(self, paths: Sequence[str | Path]) -> None:
        """Add confidential lists. Evidence contains their file names, but never their terms.

        paths (Sequence[str or Path]): .csv or .jsonl files; adding all of them in one call is faster.
        RAISES: ConfigError with file and row; see `dictionaries.terms.read_list`.
        """
        self.confidential.add_lists(paths, self.label)

    def add_terms(self, terms: Iterable[str], label: str | None = None, name: str = "terms") -> None:
        """Add confidential terms.

        terms (Iterable[str]): the terms.
        label (str): canonical label of the terms; None for the label in the config.
        name (str): name for this list, which evidence contains in place of the term.
        RAISES: ConfigError with list and row; nothing is added in that case.
        """
        entries = list(check_terms(terms, label or self.label or "", name))
        self.confidential.add([(name, entries)])

    def drop_lists(self) -> None:
        """Remove all confidential terms, and continue without the lists that a saved pipeline requires."""
        self.confidential = TermMatcher()
        self.expects_lists = 0

    def open_dictionaries(self, folder: str | Path) -> None:
        """Open a folder of dictionaries built from an EHR. They replace those that are open.

        folder (str or Path): folder written by ``spacy-deid dictionary build``.
        RAISES: ConfigError for the same reasons as `LocalStore.open`.
        """
        from ..dictionaries.store import LocalStore

        self.store = LocalStore.open(folder)
        self.expects_dictionaries = True

    def close_dictionaries(self) -> None:
        """Close the dictionaries, and continue without those that a saved pipeline requires."""
        self.store = None
        self.expects_dictionaries = False

    def own_terms(self, patient_id: Any) -> list[str]:
        """Return the terms of a patient in normalized form, except those that only match next to other words.

        patient_id (Any): the id, as text or number.
        RETURNS (list[str]): the terms, sorted, which are PHI; empty for an unknown patient or without dictionaries.
        """
        if self.store is None:
            return []
        from ..dictionaries.search import select_patient_terms

        own = select_patient_terms(self.store, patient_id).own
        return [] if own is None else sorted({entry.term for entry in own.entries if not entry.condition})

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: Labels of all terms: public, confidential, and those of open dictionaries."""
        local = self.store.labels if self.store else set()
        return tuple(sorted(self.public.labels | self.confidential.labels | local))

    @property
    def version(self) -> str:
        """str: Short hash of the lists. Of confidential lists only name and size are hashed, because names could be
        guessed from a hash of them.
        """
        parts: list[Any] = [self.public.lists, {name: len(self.confidential) for name in self.confidential.lists}]
        parts += [self.store.build] if self.store else []
        return hashlib.sha256(srsly.json_dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def find(self, doc: Doc) -> list[Evidence]:
        """Find terms, without changing the Doc.

        doc (Doc): the Doc.
        RETURNS (list[Evidence]): the matches, in the order of the text. Exact matches of confidential terms are marked
            as validated, except single words that are not terms of the note's own patient. Matches of public lists
            are never marked.
        RAISES: NotDeidentified if confidential lists (D158) or dictionaries (D165) are missing, or the patient's terms
            are and `without_patient` is "refuse" (D166); ConfigError (D150) if public lists are missing.
        """
        return self._find(doc)[0]

    def _find(self, doc: Doc) -> tuple[list[Evidence], dict[str, str]]:
        """Return the matches in a Doc, and the attribute of the span group that says which dictionaries were used."""
        self._check_lists()
        own, receipt = self._choose(doc)
        text = doc.text  # spaCy puts it together at every call
        folded = normalise(text)
        public, local = self.public.find(text, folded), self.confidential.find(text, folded)
        if self.store:
            from ..dictionaries.search import search_note
            from ..medical.known_words import ordinary_words

            fuzzy = self.store.fuzzy if self.fuzzy is None else self.fuzzy
            is_word = ordinary_words(doc.lang_) if fuzzy else None
            local += search_note(self.store, own, text, folded, is_word, doc.lang_)
        certain = set(local)
        return [
            Evidence(m.start, m.end, m.label, self.name, 1.0, m.rule, m in certain and _is_exact(m, text))
            for m in sorted(public + local)
        ], receipt

    def _choose(self, doc: Doc) -> "tuple[PatientTerms | None, dict[str, str]]":
        """Return the terms of the Doc's patient, and which dictionaries are used.

        RAISES: NotDeidentified (D166) if there are no terms of the patient and `without_patient` is "refuse".
        """
        if self.store is None:
            return None, {}
        from ..dictionaries.search import select_patient_terms

        own, missing = select_patient_terms(self.store, doc._.ehr.get("patient_id"))
        if own is not None:
            return own, {"dictionaries": "patient"}
        if self.without_patient == "refuse":
            raise NotDeidentified(Errors.D166.format(name=self.name, reason=missing))
        return None, {"dictionaries": f"institution: {missing}" if self.store.has_patients else "institution"}

    def __call__(self, doc: Doc) -> Doc:
        """Find terms in a Doc and write them to the span group.

        doc (Doc): the Doc.
        RETURNS (Doc): the same Doc.
        RAISES: the errors of `find`.
        """
        evidence, receipt = self._find(doc)
        write_evidence(doc, self.key, evidence, version=self.version, **receipt)
        return doc

    def _check_lists(self) -> None:
        """Raise an error if required lists or dictionaries are missing, so that no note is searched without them."""
        if self._absent:
            raise ConfigError(Errors.D150.format(path=self._absent[0]))
        if (found := len(self.confidential.lists)) < self.expects_lists:
            raise NotDeidentified(Errors.D158.format(name=self.name, expected=self.expects_lists, found=found))
        if self.expects_dictionaries and self.store is None:
            raise NotDeidentified(Errors.D165.format(name=self.name))

    def _parts(self) -> dict[str, Callable[[], bytes]]:
        """Return the parts to save: the public terms, the number of confidential lists, and whether there were
        dictionaries.
        """
        if self._absent:
            raise ConfigError(Errors.D150.format(path=self._absent[0]))
        expects = max(self.expects_lists, len(self.confidential.lists))
        cfg = {"expects_dictionaries": self.expects_dictionaries, "expects_lists": expects, "paths": self._paths}
        return {"cfg": lambda: srsly.json_dumps(cfg).encode(), "terms": self.public.to_bytes}

    def _readers(self) -> dict[str, Callable[[bytes], None]]:
        """Return for each saved part the function that loads it."""
        return {"cfg": self._read_cfg, "terms": self._read_terms}

    def _read_cfg(self, data: bytes) -> None:
        cfg = srsly.json_loads(data)
        self.expects_lists = int(cfg["expects_lists"])
        self.expects_dictionaries = self.store is not None or bool(cfg.get("expects_dictionaries", False))
        self._saved = list(cfg["paths"])

    def _read_terms(self, data: bytes) -> None:
        """Set saved terms. Lists that the config names, but that were not saved with the pipeline, are kept."""
        named, self.public = self.public.lists, TermMatcher.from_bytes(data, self.name)
        same = {name for name, content in self.public.lists.items() if named.get(name) == content}
        self._absent = [path for path in self._absent if path not in self._saved]
        known = {*self._saved, *self._absent}
        added = [_locate(path) for path in self._paths if path not in known]
        self.public.add_lists([path for path in added if path.stem not in same], self.label)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the public terms and the number of confidential lists.

        exclude (Iterable[str]): parts to leave out: "cfg", "terms".
        RETURNS (bytes): msgpack.
        """
        data: bytes = to_bytes(self._parts(), exclude)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Ruler":
        """Load serialized public terms into this component. Its confidential terms are kept.

        data (bytes): output of `to_bytes`.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (Ruler): the component.
        """
        from_bytes(data, self._readers(), exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the public terms and the number of confidential lists.

        path (str or Path): folder of the component.
        exclude (Iterable[str]): parts to leave out: "cfg", "terms".
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for part, dump in self._parts().items():
            if part not in exclude:
                (folder / part).write_bytes(dump())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Ruler":
        """Load saved public terms into this component. Its confidential terms are kept.

        path (str or Path): folder of the component.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (Ruler): the component.
        """
        for part, read in self._readers().items():
            if part not in exclude:
                read((Path(path) / part).read_bytes())
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the confidential terms, except for a worker process that is being spawned.

        A forked worker of ``nlp.pipe(n_process=2)`` inherits the terms; a spawned one can only get them this way, and
        that pickle is never written to a file. `multiprocessing` detects spawning in the same way for its locks. Of
        dictionaries that pickle contains only the path of the folder, and other pickles not even that.
        """
        spawning = get_spawning_popen() is not None
        confidential, store = (self.confidential.to_bytes(), self.store) if spawning else (None, None)
        settings = {name: getattr(self, name) for name in ("name", "key", "label", "without_patient", "fuzzy")}
        return _unpickle, (settings, self.to_bytes(), confidential, store)


def _locate(path: str) -> Path:
    """Return the path of a list; the prefix "lang:" stands for the folder of a language."""
    lang, _, name = path.removeprefix(_LANG).partition("/")
    return get_language(lang).resource(name) if path.startswith(_LANG) else Path(path)


def _is_exact(match: Match, text: str) -> bool:
    """Return whether a match of a confidential list or a dictionary counts as validated.

    All exact matches of the patient's own terms do. For lists and terms of the institution, a single word does not,
    because among so many names it may also be a town or a common word. Misspelled names never do.
    """
    from ..dictionaries.matcher import FUZZY

    if match.rule.endswith(FUZZY):
        return False
    term = text[match.start : match.end]
    return match.rule.startswith(OWN_PREFIX) or not term.isalpha()


def _unpickle(settings: dict[str, Any], data: bytes, confidential: bytes | None, store: "LocalStore | None") -> Ruler:
    """Restore a component from the arguments that `Ruler.__reduce__` returned."""
    ruler = Ruler(paths=[], **settings).from_bytes(data)
    if confidential is not None:
        ruler.confidential = TermMatcher.from_bytes(confidential)
    ruler.store = store
    return ruler
