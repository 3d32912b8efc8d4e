"""The dictionary detector: terms of lists, found at word edges whatever their case, accents, hyphens and spaces.

There are two kinds of lists. *Public* lists (towns, hospitals) are named by the setting ``paths`` and saved with the
pipeline. *Confidential* lists (patients, staff) are given at run time by `Ruler.add_lists` and `Ruler.add_terms`; they
never enter a config, a vocab, a saved pipeline or a pickle. What is saved is their number, and a pipeline that had
some and is loaded without them refuses to run.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.util import from_bytes, to_bytes

from ..dictionaries.matcher import TermMatcher
from ..dictionaries.terms import check_terms
from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import get_label
from ..spans import Evidence, check_key, write_evidence

__all__ = ["Ruler", "make_ruler"]


@Language.factory(
    "deid_ruler",
    assigns=["doc.spans"],
    default_config={"key": "deid/ruler", "paths": [], "label": None},
)
def make_ruler(nlp: Language, name: str, key: str, paths: list[str], label: str | None) -> "Ruler":
    """Make the dictionary detector.

    key (str): span group to write.
    paths (list[str]): public lists, .csv or .jsonl. They are saved with the pipeline and not read again from there.
    label (str): label of the rows that have none.
    """
    return Ruler(name, key=key, paths=paths, label=label)


class Ruler(Pipe):
    """Finds the terms of lists and writes one span group.

    public (TermMatcher): the terms that are saved with the pipeline.
    confidential (TermMatcher): the terms that are not.
    expects_lists (int): how many confidential lists there must be before a Doc is processed.
    """

    def __init__(self, name: str, *, key: str, paths: Sequence[str | Path], label: str | None) -> None:
        self.name = name
        self.key = check_key(key)
        self.label = label and get_label(label).name
        self.public = TermMatcher()
        self.confidential = TermMatcher()
        self.expects_lists = 0
        # A saved pipeline brings its own copy, and its lists need not lie where it was trained.
        self._paths = [str(path) for path in paths]
        self._absent = [path for path in self._paths if not Path(path).exists()]
        self.public.add_lists([path for path in self._paths if path not in self._absent], self.label)
        self._saved = self._paths  # the paths of the pipeline that terms are loaded from

    def add_lists(self, paths: Sequence[str | Path]) -> None:
        """Add confidential lists, at best all at once. Their file names show in the evidence, their terms nowhere.

        paths (Sequence[str or Path]): .csv or .jsonl files.
        RAISES: ConfigError naming file and row; see `dictionaries.terms.read_list`.
        """
        self.confidential.add_lists(paths, self.label)

    def add_terms(self, terms: Iterable[str], label: str | None = None, name: str = "terms") -> None:
        """Add confidential terms from memory, to the list of this name.

        terms (Iterable[str]): the terms.
        label (str): their label; the component's own if there is none.
        name (str): name of the list, which the evidence shows.
        RAISES: ConfigError naming list and row; nothing is added then.
        """
        entries = list(check_terms(terms, label or self.label or "", name))
        self.confidential.add([(name, entries)])

    def drop_lists(self) -> None:
        """Forget all confidential terms, and go on without the lists that a saved pipeline expects."""
        self.confidential = TermMatcher()
        self.expects_lists = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the public and the confidential terms."""
        return tuple(sorted(self.public.labels | self.confidential.labels))

    @property
    def version(self) -> str:
        """Short hash of the lists. Confidential ones count by name and size: a hash of names can be guessed."""
        parts = [self.public.lists, {name: len(self.confidential) for name in self.confidential.lists}]
        return hashlib.sha256(srsly.json_dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def find(self, doc: Doc) -> list[Evidence]:
        """Find the terms of a Doc.

        doc (Doc): the Doc; it is not changed.
        RETURNS (list[Evidence]): exact characters, in the order of the text.
        RAISES: NotDeidentified if confidential lists are missing (D158), ConfigError if public ones are (D150).
        """
        self._check_lists()
        text = doc.text  # spaCy puts it together at every call
        matches = self.public.find(text) + self.confidential.find(text)
        return [Evidence(m.start, m.end, m.label, self.name, 1.0, m.rule) for m in sorted(matches)]

    def __call__(self, doc: Doc) -> Doc:
        """Write the group of a Doc.

        doc (Doc): the Doc.
        RETURNS (Doc): the same Doc.
        RAISES: as `find`.
        """
        write_evidence(doc, self.key, self.find(doc), version=self.version)
        return doc

    def _check_lists(self) -> None:
        """Fail closed while lists are missing."""
        if self._absent:
            raise ConfigError(Errors.D150.format(path=self._absent[0]))
        if (found := len(self.confidential.lists)) < self.expects_lists:
            raise NotDeidentified(Errors.D158.format(name=self.name, expected=self.expects_lists, found=found))

    def _parts(self) -> dict[str, Callable[[], bytes]]:
        """What is saved: the public terms, and the number of confidential lists."""
        if self._absent:
            raise ConfigError(Errors.D150.format(path=self._absent[0]))
        expects = max(self.expects_lists, len(self.confidential.lists))
        return {
            "cfg": lambda: srsly.json_dumps({"expects_lists": expects, "paths": self._paths}).encode(),
            "terms": self.public.to_bytes,
        }

    def _readers(self) -> dict[str, Callable[[bytes], None]]:
        """How each part is loaded."""
        return {"cfg": self._read_cfg, "terms": self._read_terms}

    def _read_cfg(self, data: bytes) -> None:
        cfg = srsly.json_loads(data)
        self.expects_lists = int(cfg["expects_lists"])
        self._saved = list(cfg["paths"])

    def _read_terms(self, data: bytes) -> None:
        """Take saved terms, and add the lists that the saved pipeline did not know, named when it is loaded."""
        named, self.public = self.public.lists, TermMatcher.from_bytes(data, self.name)
        same = {name for name, content in self.public.lists.items() if named.get(name) == content}
        self._absent = [path for path in self._absent if path not in self._saved]
        known = {*self._saved, *self._absent}
        self.public.add_lists([p for p in self._paths if p not in known and Path(p).stem not in same], self.label)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the public terms.

        exclude (Iterable[str]): parts to leave out: "cfg", "terms".
        RETURNS (bytes): msgpack.
        """
        data: bytes = to_bytes(self._parts(), exclude)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Ruler":
        """Load the public terms. Confidential ones that are there stay.

        data (bytes): what `to_bytes` wrote.
        exclude (Iterable[str]): parts to leave alone.
        RETURNS (Ruler): itself.
        """
        from_bytes(data, self._readers(), exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the public terms to a folder.

        path (str or Path): the folder.
        exclude (Iterable[str]): parts to leave out: "cfg", "terms".
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for part, dump in self._parts().items():
            if part not in exclude:
                (folder / part).write_bytes(dump())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Ruler":
        """Load the public terms from a folder. Confidential ones that are there stay.

        path (str or Path): the folder that `to_disk` wrote.
        exclude (Iterable[str]): parts to leave alone.
        RETURNS (Ruler): itself.
        """
        for part, read in self._readers().items():
            if part not in exclude:
                read((Path(path) / part).read_bytes())
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the confidential terms, unless the pickle goes down the pipe to a worker being spawned.

        A forked worker of ``nlp.pipe(n_process=2)`` inherits the terms; a spawned one can only have them this way, and
        that pickle is never a file. `multiprocessing` keeps its own locks from other pickles by the same test.
        """
        confidential = self.confidential.to_bytes() if get_spawning_popen() is not None else None
        settings = {"name": self.name, "key": self.key, "label": self.label}
        return _unpickle, (settings, self.to_bytes(), confidential)


def _unpickle(settings: dict[str, Any], data: bytes, confidential: bytes | None) -> Ruler:
    """Rebuild a pickled ruler."""
    ruler = Ruler(paths=[], **settings).from_bytes(data)
    if confidential is not None:
        ruler.confidential = TermMatcher.from_bytes(confidential)
    return ruler
