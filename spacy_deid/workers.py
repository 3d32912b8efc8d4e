"""Runs a stream of items through a pipeline in groups, in this process or in worker processes.

A group is the unit of work: `Deidentifier` runs each one in its own memory zone, after which its Docs and new strings
are freed. If a worker dies, its group is split and run again item by item, so only the item that kills a worker fails.

A memory zone of spaCy removes the words of its notes from the vocab. Each removed word leaves a used slot in the hash
tables of the vocab (`preshed.PreshMap`), which double when three fifths of their slots are used and never become
smaller. Words that were not seen before, such as names, numbers and typing errors, would therefore take about 17 bytes
each in both of the tables for as long as the process lives: 34 MB for a million words. `memory_zone` rebuilds them.
"""

import gc
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast

from preshed.maps import PreshMap  # type: ignore[import-untyped]
from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens.underscore import Underscore
from spacy.vocab import Vocab

from .errors import ConfigError, Errors
from .processes import Failure, Start, Workers

Output = TypeVar("Output")

GROUP_CHARACTERS = 100_000
"""A group ends when its items have this many characters, so that many long notes are never in memory at once."""

_GROUPS_PER_PROCESS = 4  # if the number of items is known, groups are made small enough to keep all processes busy
# Components whose models run on libraries that start threads, which do not survive a fork.
_THREADED = ("spacy_deid.pipeline.surprisal", "spacy_deid.pipeline.llm")

SLOTS = 1 << 17
"""A hash table with more slots is rebuilt if it has more than `_SLOTS_PER_STRING` of them for each string."""

_SLOTS_PER_STRING = 8


class DocBytes(bytes):
    """A serialized Doc, to send to a worker process. A pickled Doc would include its vocab."""


class Item(NamedTuple):
    """One item of a stream of inputs.

    source (Any): a text, a file, or the bytes of a Doc.
    ehr (Mapping): its EHR context; {} for none.
    detect_only (bool): whether to detect entities and release nothing.
    """

    source: Any
    ehr: Mapping[str, Any]
    detect_only: bool = False

    @property
    def size(self) -> int:
        """Number of characters. A file or a Doc counts as a whole group."""
        return len(self.source) if isinstance(self.source, str) else GROUP_CHARACTERS


def make_item(value: Any, detect_only: bool = False) -> Item:
    """Convert a value that a caller passed in a stream to an item.

    value (Any): a text, file or Doc, or a (source, EHR context) pair.
    detect_only (bool): whether to detect entities and release nothing.
    RETURNS (Item): the item, which can be sent to a worker process.
    """
    is_pair = isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], Mapping)
    source, ehr = value if is_pair else (value, {})
    return Item(DocBytes(source.to_bytes()) if isinstance(source, Doc) else source, dict(ehr), detect_only)


def check_settings(batch_size: int, n_process: int, seconds: float, start_method: Start | None) -> int:
    """Check the settings with which a stream is processed; see `GroupWorkers`.

    RETURNS (int): number of processes, with -1 replaced by the number of CPUs.
    RAISES: ConfigError (D776) for a setting out of range.
    """
    count = (os.cpu_count() or 1) if n_process == -1 else n_process
    checks: list[tuple[str, Any, bool, str]] = [
        ("n_process", n_process, count >= 1, "at least 1, or -1"),
        ("batch_size", batch_size, batch_size >= 1, "at least 1"),
        ("seconds", seconds, seconds >= 0, "0 or more"),
        ("start_method", start_method, start_method in (None, "fork", "spawn"), "'fork', 'spawn' or None"),
    ]
    for setting, value, valid, wanted in checks:
        if not valid:
            raise ConfigError(Errors.D776.format(setting=setting, wanted=wanted, value=value))
    return count


class GroupWorkers(Generic[Output]):
    """Cuts a stream into groups and runs each group, in this process or in worker processes that live until `close`.

    nlp (Language): the pipeline that `run_group` uses. Its components decide whether processes can be forked.
    run_group (Callable[[list[Item]], list[Output]]): processes one group and returns one output per item. For spawned
        processes it must be picklable.
    batch_size (int): largest number of items in a group.
    n_process (int): number of worker processes; 1 without a time limit runs the groups in this process.
    seconds (float): time limit for an item, 0 for none. With a limit, even one process is a worker process.
    start_method (Optional[str]): "fork", "spawn", or None for the result of `choose_start`.
    """

    def __init__(
        self,
        nlp: Language,
        run_group: Callable[[list[Item]], list[Output]],
        batch_size: int = 64,
        n_process: int = 1,
        seconds: float = 0,
        start_method: Start | None = None,
    ) -> None:
        self._nlp, self._run_group, self._batch_size = nlp, run_group, batch_size
        self._in_workers = n_process > 1 or seconds > 0
        self._start_method = start_method
        self._workers: Workers[list[Item], list[Output]] = Workers(run_group, n_process, seconds=seconds, split=_split)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker processes, if any were started."""
        self._workers.close()

    def run(self, items: Iterable[Item], total: int | None = None) -> Iterator[Output | Failure]:
        """Run items and yield their outputs in order.

        items (Iterable[Item]): the items. They are read a few groups ahead of the output.
        total (Optional[int]): number of items, if known. A short stream is then shared among all processes.
        YIELDS (Output | Failure): one output per item, or a `Failure` if the worker process of the item died or ran
            out of time.
        """
        groups = self._cut(items, total)
        if not self._in_workers:
            for group in groups:
                yield from self._run_group(group)
            return
        self._workers.start = self._start_method or choose_start(self._nlp)
        for group, outputs in self._workers.run(groups):
            for output in [outputs] * len(group) if isinstance(outputs, Failure) else outputs:
                yield output
                self._workers.pump()

    def _cut(self, items: Iterable[Item], total: int | None) -> Iterator[list[Item]]:
        """Yield groups of at most `batch_size` items and about `GROUP_CHARACTERS` characters."""
        most = self._batch_size
        if self._in_workers and total is not None:
            most = max(1, min(most, -(-total // (self._workers.n_process * _GROUPS_PER_PROCESS))))
        group: list[Item] = []
        characters = 0
        for item in items:
            group.append(item)
            characters += item.size
            if len(group) >= most or characters >= GROUP_CHARACTERS:
                yield group
                group, characters = [], 0
        if group:
            yield group


def _split(group: list[Item]) -> list[list[Item]]:
    """Split a group into groups of one item each."""
    return [[item] for item in group]


def choose_start(nlp: Language) -> Start:
    """Choose how to start processes that use a pipeline.

    nlp (Language): the pipeline.
    RETURNS (str): "fork" if a forked copy of this process can run the pipeline: on Linux, if this process has a single
        Python thread, and if every component is from spaCy or spacy_deid and none uses torch or another library with
        threads. Otherwise "spawn".
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return "spawn"
    return "fork" if all(_survives_fork(component) for _, component in nlp.pipeline) else "spawn"


def _survives_fork(component: Any) -> bool:
    """Whether a component can run in a forked process: it is from spaCy or spacy_deid and uses no library threads."""
    module = getattr(component, "__module__", "") or ""
    if not module.startswith(("spacy.", "spacy_deid.")) or module in _THREADED:
        return False
    model: Any = getattr(component, "model", None)
    return not hasattr(model, "walk") or not any(node.shims for node in model.walk())


def dump_extensions() -> list[dict[str, Any]]:
    """Collect the extension attributes of Doc, Span and Token for a spawned process, which components may need.

    RETURNS (list[dict]): one table per class. Extensions that cannot be pickled, such as lambdas, are left out: a
        component that needs one raises in the spawned process.
    """
    tables = cast(Any, Underscore).get_state()
    return [{name: value for name, value in table.items() if _is_picklable(value)} for table in tables]


def restore_extensions(tables: Iterable[Mapping[str, Any]]) -> None:
    """Register the extension attributes that are missing in this process.

    tables (Iterable[Mapping]): the return value of `dump_extensions`.
    """
    for table, saved in zip(cast(Any, Underscore).get_state(), tables, strict=True):
        table.update({name: value for name, value in saved.items() if name not in table})


def _is_picklable(value: Any) -> bool:
    """Whether a value can be sent to a spawned process."""
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


@contextmanager
def memory_zone(nlp: Language) -> Iterator[None]:
    """Run a block in a memory zone of a pipeline, as `Language.memory_zone`, and rebuild tables of the vocab after it.

    nlp (Language): the pipeline. Its Docs and Lexemes must not be used after the block. Zones must not be nested.
    """
    with nlp.memory_zone():
        yield
    shrink_tables(nlp.vocab)


def shrink_tables(vocab: Vocab) -> None:
    """Rebuild the hash tables of a vocab that consist almost only of slots of removed words.

    vocab (Vocab): the vocab, outside of a memory zone. Its strings and lexemes do not change.
    """
    most = max(SLOTS, _SLOTS_PER_STRING * len(vocab.strings))
    for table in find_tables(vocab):
        if table.capacity > most:
            kept = list(table.items())
            table.__init__()  # type: ignore[misc]  # in place, because the table of lexemes cannot be assigned
            for key, address in kept:
                table[key] = address


def find_tables(vocab: Vocab) -> list[PreshMap]:
    """Return the hash tables of a vocab: that of its strings and, where the garbage collector sees it, of its lexemes.

    vocab (Vocab): the vocab. It has no attribute for the table of lexemes.
    """
    return [found for found in gc.get_referents(vocab, vocab.strings) if isinstance(found, PreshMap)]
