"""Saves pipelines without the words of the notes that they processed.

spaCy stores every string it has processed: each token of each note, with its lower-case form, prefix and suffix, is
added to ``vocab.strings``, and from there written to ``vocab/strings.json``, to ``nlp.to_bytes()`` and to pickles.
`protect` limits saved strings to those that the pipeline was loaded with and those that its components need. The
pipeline in memory is not changed, so its Docs stay usable.

`spacy_deid.load` protects pipelines, and so does a config with

    [nlp.after_creation]
    @callbacks = "spacy_deid.protect.v1"

which the config of a protected pipeline contains, so that plain ``spacy.load`` protects it as well. The same in a
training config protects ``spacy train``. Then ``nlp.to_disk``, ``nlp.to_bytes``, ``pickle`` and ``copy.deepcopy``
contain no word of a note. This does not apply to ``nlp.vocab.to_disk``, ``nlp.vocab.strings``, or a Doc or DocBin,
which contains a note. An unprotected pipeline is saved by spaCy with every word; save it with `save` instead.

A protected pipeline also saves ``checksums.json``, the SHA-256 of each of its files, and refuses to load a folder with
other files, because damaged weights would find less without an error.
"""

import copyreg
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import srsly
from spacy.language import Language
from spacy.strings import StringStore
from spacy.util import registry
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from .errors import ConfigError, Errors

CHECKSUMS = "checksums.json"
_CALLBACK = "spacy_deid.protect.v1"
# id of a string store → guard of its pipeline. A guard keeps its store alive, so the id is not reused.
_GUARDS: "WeakValueDictionary[int, _Guard]" = WeakValueDictionary()


def protect(nlp: Language, known: Iterable[str] = ()) -> None:
    """Make a pipeline save no words of notes, whether by ``to_disk``, ``to_bytes``, pickle or copy. Can be repeated.

    nlp (Language): the pipeline.
    known (Iterable[str]): strings to save in addition to those that the components need, such as all strings of a
        pipeline that was just loaded.
    """
    guard = vars(nlp).get("_deid_guard")
    if guard is None:
        guard = _Guard(nlp)
        for name in ("to_disk", "to_bytes", "from_disk", "from_bytes"):
            setattr(nlp, name, getattr(guard, name))
        setattr(nlp, "_deid_guard", guard)  # noqa: B010 - Language has no such attribute to type
        if nlp.config["nlp"].get("after_creation") is None:
            nlp.config["nlp"]["after_creation"] = {"@callbacks": _CALLBACK}
    guard.known.update(known)


@registry.callbacks(_CALLBACK)
def make_protect() -> Callable[[Language], Language]:
    """Make the callback that protects a pipeline when it is created; see `protect`."""
    return _protect


def _protect(nlp: Language) -> Language:
    """Protect a pipeline and return it."""
    protect(nlp)
    return nlp


class _Guard:
    """Ensures that a pipeline saves no words of notes, by replacing its serialization methods; spaCy has no hook."""

    def __init__(self, nlp: Language) -> None:
        self.nlp = nlp
        self.vocab = nlp.vocab
        self.known: set[str] = set()
        _GUARDS[id(self.vocab.strings)] = self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the guard of an unpickled pipeline, whose strings were already limited when it was pickled."""
        vars(self).update(state)
        _GUARDS[id(self.vocab.strings)] = self

    def strings(self) -> list[str]:
        """Return the strings that may be saved."""
        return kept_strings(self.nlp, self.known)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save as ``Language.to_disk`` does, with limited strings."""
        exclude = list(exclude)
        type(self.nlp).to_disk(self.nlp, path, exclude=[*exclude, "vocab"])
        if "vocab" not in exclude:
            folder = Path(path) / "vocab"
            self.vocab.to_disk(folder, exclude=[*exclude, "strings"])
            if "strings" not in exclude:
                srsly.write_json(folder / "strings.json", self.strings())
        write_checksums(path, ["config.cfg", "tokenizer", "vocab", *self.nlp.component_names])

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize as ``Language.to_bytes`` does, with limited strings."""
        exclude = list(exclude)
        data = type(self.nlp).to_bytes(self.nlp, exclude=[*exclude, "vocab"])
        if "vocab" in exclude:
            return data
        vocab = srsly.msgpack_loads(self.vocab.to_bytes(exclude=[*exclude, "strings"]))
        if "strings" not in exclude:
            vocab["strings"] = srsly.json_dumps(self.strings())
        return bytes(srsly.msgpack_dumps({"vocab": srsly.msgpack_dumps(vocab), **srsly.msgpack_loads(data)}))

    def from_disk(self, *args: Any, **kwargs: Any) -> Language:
        """Load as ``Language.from_disk`` does, and mark the loaded strings as safe to save again.

        RAISES: ConfigError as `verify_checksums`.
        """
        path = Path(args[0] if args else kwargs["path"])
        verify_checksums(path)
        before = set(self.vocab.strings)
        exclude = list(kwargs.pop("exclude", ()))
        nlp = type(self.nlp).from_disk(self.nlp, *args, exclude=[*exclude, "meta"], **kwargs)
        # spaCy would read the meta first and then compute the labels of all components before they are loaded.
        if "meta" not in exclude and (path / "meta.json").is_file():
            meta = srsly.read_json(path / "meta.json")
            nlp.meta.update(meta)
            nlp.vocab.vectors.name = meta.get("vectors", {}).get("name")
        self.known |= set(self.vocab.strings) - before
        return nlp

    def from_bytes(self, *args: Any, **kwargs: Any) -> Language:
        """Deserialize as ``Language.from_bytes`` does, and mark the loaded strings as safe to save again."""
        before = set(self.vocab.strings)
        nlp = type(self.nlp).from_bytes(self.nlp, *args, **kwargs)
        self.known |= set(self.vocab.strings) - before
        return nlp


def _reduce_strings(store: StringStore) -> tuple[Any, ...]:
    """Pickle only the allowed strings of a protected pipeline, and all strings of other pipelines.

    The vocab, the morphology and every component share one string store, so this keeps the words of notes out of all
    of them.
    """
    guard = _GUARDS.get(id(store))
    return StringStore, (list(store) if guard is None else guard.strings(),)


def _reduce_vectors(vectors: Vectors) -> Any:
    """Pickle the vectors of a protected pipeline with its string store; spaCy writes all strings into their bytes."""
    if id(vectors.strings) not in _GUARDS:
        return vectors.__reduce__()
    return _unpickle_vectors, (vectors.to_bytes(exclude=["strings"]), vectors.strings)


def _unpickle_vectors(data: bytes, strings: StringStore) -> Vectors:
    """Restore vectors that `_reduce_vectors` pickled."""
    return Vectors(strings=strings).from_bytes(data, exclude=["strings"])


copyreg.pickle(StringStore, _reduce_strings)
copyreg.pickle(Vectors, _reduce_vectors)


def kept_strings(nlp: Language, known: Iterable[str] = ()) -> list[str]:
    """Return the strings that a pipeline needs, none of which come from notes.

    This is an allow list: every string that is not on it is dropped.

    nlp (Language): the pipeline.
    known (Iterable[str]): further strings to keep.
    RETURNS (list[str]): `known`, labels, keys of vectors and parts of edit trees, sorted.
    """
    kept = set(known) | set(_vector_keys(nlp.vocab))
    for _, component in nlp.components:
        kept.update(label for label in getattr(component, "labels", ()) if isinstance(label, str))
        kept.update(_tree_strings(component, nlp.vocab.strings))
    return sorted(kept - {""})


def _vector_keys(vocab: Vocab) -> Iterator[str]:
    """Yield the words that have a vector."""
    for key in getattr(vocab.vectors, "key2row", {}):
        if key in vocab.strings:
            yield vocab.strings[key]


def _tree_strings(component: Any, strings: StringStore) -> Iterator[str]:
    """Yield the strings in the trees of spaCy's ``trainable_lemmatizer``, which contain only hashes."""
    trees: Any = getattr(component, "trees", ())
    for i in range(len(trees) if hasattr(trees, "tree_to_str") else 0):
        node = trees[i]
        yield from (strings[node[key]] for key in ("orig", "subst") if key in node)


def save(nlp: Language, path: str | Path) -> None:
    """Save a pipeline to a folder atomically, without words of the notes that it processed.

    nlp (Language): the pipeline. It is protected from now on. Of the strings in its vocab, only those that
        `kept_strings` returns are saved.
    path (str | Path): the folder; an existing saved pipeline is replaced.
    RAISES: ConfigError (D416) if the path is neither a saved pipeline nor an empty folder.
    """
    path = Path(path)
    check_target(path)
    protect(nlp)
    nlp.meta["deid"] = {**nlp.meta.get("deid", {}), "spacy_deid": version("spacy-deid")}  # version that can read it
    path.parent.mkdir(parents=True, exist_ok=True)
    new, old = (path.parent / f".{secrets.token_hex(8)}.tmp" for _ in range(2))
    try:
        nlp.to_disk(new)
        if path.exists():
            os.replace(path, old)
        try:
            os.replace(new, path)
        except BaseException:
            if old.exists():
                os.replace(old, path)
            raise
    finally:
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)


def check_target(path: str | Path) -> None:
    """Check that a pipeline can be saved to a path. Call it before long work, such as training.

    path (str | Path): the folder.
    RAISES: ConfigError (D416) if the path is neither a saved pipeline nor an empty folder.
    """
    if os.path.lexists(path) and not _replaceable(Path(path)):
        raise ConfigError(Errors.D416.format(path=path))


def _replaceable(path: Path) -> bool:
    """Return whether a folder is empty or a saved pipeline."""
    return path.is_dir() and not path.is_symlink() and (not any(path.iterdir()) or (path / "meta.json").is_file())


def write_checksums(folder: str | Path, parts: Iterable[str]) -> None:
    """Write the checksums of a saved pipeline. ``meta.json`` has none, because ``spacy package`` changes it.

    folder (Union[str, Path]): folder of the pipeline.
    parts (Iterable[str]): files and folders in it to hash; missing ones are ignored.
    """
    folder = Path(folder)
    paths = [path for part in sorted(set(parts)) for path in (folder / part, *sorted((folder / part).rglob("*")))]
    sums = {path.relative_to(folder).as_posix(): _sha256(path) for path in paths if path.is_file()}
    srsly.write_json(folder / CHECKSUMS, {"sha256": sums})


def verify_checksums(folder: str | Path, name: str | Path | None = None) -> bool:
    """Compare the files of a saved pipeline with its checksums.

    folder (Union[str, Path]): folder of the pipeline.
    name (Optional[Union[str, Path]]): name of the pipeline for error messages; by default the folder.
    RETURNS (bool): whether the pipeline has checksums.
    RAISES: ConfigError (D353) if a file is missing, not readable or different, or the checksums are not readable.
    """
    folder, name = Path(folder), name or folder
    if not os.path.lexists(folder / CHECKSUMS):
        return False
    try:
        sums = json.loads((folder / CHECKSUMS).read_bytes())["sha256"].items()
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(Errors.D353.format(name=name, file=CHECKSUMS, problem="cannot be read")) from error
    for file, expected in sums:
        try:
            problem = "" if _sha256(folder / file) == expected else "differs from what was saved"
        except FileNotFoundError:
            problem = "is missing"
        except OSError:
            problem = "cannot be read"
        if problem:
            raise ConfigError(Errors.D353.format(name=name, file=file, problem=problem))
    return True


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(nlp: Language) -> str:
    """Return a hash of everything that determines what a pipeline finds: settings, rules, lists and weights.

    Confidential lists are not included, because they are not saved either.

    nlp (Language): the pipeline.
    RETURNS (str): the first 16 hexadecimal digits of a SHA-256.
    """
    return hashlib.sha256(nlp.to_bytes(exclude=["meta.json", "strings"])).hexdigest()[:16]
