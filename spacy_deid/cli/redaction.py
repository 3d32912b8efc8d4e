"""Redacting files: what the command ``redact`` does, once its options are read."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from spacy.language import Language
from spacy.tokens import Doc

from ..documents.visible_text import read_as_seen
from ..errors import DeidError, Errors, InputError
from ..io import Job, decode, encode, read_bytes, whole_file, write_whole
from ..offsets import Edit
from ..piping import NoteWorkers
from ..processes import Failure
from ..spans import RECOVERED, read_evidence
from ..vault.vault import Entry, Vault
from .as_read import as_written
from .batches import cut, with_facts
from .console import say
from .facts import AlikeIds, FileFacts, RowFields
from .review import Proposed, ReviewFile, take_review
from .rows import BadRow, Rejects, Row, read_rows, write_row
from .surrogates import Used, take_used
from .vault_writing import Undoing, make_entry, take_undoing

__all__ = ["Redaction", "Released", "Tally", "targets"]

_File = tuple[Job, str, str, dict[str, Any]]  # a .txt file: its text, its encoding, what is known of it
_SHOWN = 20  # notes whose warnings are printed
_OLDER = 10  # seconds: some file systems know no less than two


@dataclass(frozen=True, slots=True)
class Released:
    """A released note, as plain values.

    text (str): the released text.
    trace (list[dict]): why each span was changed or kept; empty if it was not asked for.
    labels (Counter): how many spans of each label were changed.
    dictionaries (Counter): what was used of the hospital's own dictionaries; empty if there are none.
    recovered (Counter): what was let go as medical, by the rule that says so.
    review (Proposed): what a person should look at; nothing if it was not asked for.
    surrogates (Used): what of surrogates was used.
    undoing (Undoing): what is needed to turn the text back; nothing if there is no vault.
    warnings (tuple[str, ...]): why a person should look at the note.
    edits (tuple[Edit, ...]): what was replaced, in the order of the text.
    """

    text: str = field(repr=False)
    trace: list[dict[str, Any]]
    labels: Counter[str]
    dictionaries: Counter[str]
    recovered: Counter[str]
    review: Proposed
    surrogates: Used
    undoing: Undoing
    warnings: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = field(default=(), repr=False)

    def record(self) -> dict[str, Any]:
        """What the trace says of the note: what of the dictionaries was used, if there are any, and the spans."""
        flags = {"dictionaries": sorted(self.dictionaries)} if self.dictionaries else {}
        warned = {"warnings": list(self.warnings)} if self.warnings else {}
        return {**flags, **warned, "spans": self.trace}


@dataclass(slots=True)
class Tally:
    """What came of a run. Names stand in `failed` alone, which is for the screen and not for the report.

    rows (int): rows of JSONL files among the notes.
    lacking (Counter): key that is kept → rows that do not have it.
    warned (int): notes and documents with warnings.
    warnings (Counter): what a person should look at → notes and documents.
    """

    written: int = 0
    skipped: int = 0
    notes: int = 0
    rows: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    dictionaries: Counter[str] = field(default_factory=Counter)
    recovered: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    identities: Counter[str] = field(default_factory=Counter)
    lacking: Counter[str] = field(default_factory=Counter)
    warned: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def fail(self, path: Path, reason: str) -> None:
        """Note a file that failed."""
        self.failed.append((path, reason.removeprefix(f"{path}: ")))

    def warn(self, place: str, warnings: Iterable[str]) -> None:
        """Print the warnings of a note, of the first notes that have any; the report and the traces have all."""
        if self.warned < _SHOWN:
            for warning in warnings:
                say(f"warning: {place}: {warning}")

    def count(self, note: Released) -> None:
        """Add up what was done in a note."""
        self.notes += 1
        self.labels += note.labels
        self.dictionaries += note.dictionaries
        self.recovered += note.recovered
        self.fallbacks += note.surrogates.fallbacks
        self.identities += note.surrogates.identities
        self.warned += bool(note.warnings)
        self.warnings.update(note.warnings)

    def succeed(self, counts: "Tally") -> None:
        """Note a file that was written, with the counts of its notes."""
        self.written += 1
        self.notes += counts.notes
        self.rows += counts.rows
        self.lacking += counts.lacking
        self.warned += counts.warned
        self.warnings += counts.warnings
        self.labels += counts.labels
        self.dictionaries += counts.dictionaries
        self.recovered += counts.recovered
        self.fallbacks += counts.fallbacks
        self.identities += counts.identities


def targets(output: Path, relative: Path, trace: bool) -> list[Path]:
    """The files that are written for a note: the trace, if it is wanted, and last the note, which says "done"."""
    name = relative.stem if relative.suffix.lower() in (".txt", ".jsonl") else relative.name  # a.pdf and a.docx
    traces = [output / relative.with_name(f"{name}.trace.json")] if trace else []
    return [*traces, output / relative]


@dataclass(frozen=True, slots=True)
class Take:
    """Copies out of a Doc what is written of it, in any process.

    trace, review, undoing (bool): whether there is a trace, a file of what a person should look at, a vault.
    """

    trace: bool = False
    review: bool = False
    undoing: bool = False

    def __call__(self, doc: Doc) -> Released:
        """Copy. RAISES: NotDeidentified if the Doc cannot be released."""
        labels = Counter(edit.label for edit in doc._.deid_edits if edit.label)
        used = Counter(group.attrs["dictionaries"] for group in doc.spans.values() if "dictionaries" in group.attrs)
        recovered = read_evidence(doc, RECOVERED) if RECOVERED in doc.spans else []
        rules = Counter(item.rule for item in recovered)
        trace, review = doc._.deid_trace if self.trace else [], take_review(doc) if self.review else Proposed(0, [])
        undoing = take_undoing(doc) if self.undoing else Undoing()
        warned = tuple(doc._.deid_warnings)
        edits = tuple(doc._.deid_edits)
        return Released(doc._.deid_text, trace, labels, used, rules, review, take_used(doc), undoing, warned, edits)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Redacts files, one after the other.

    nlp (Language): the pipeline.
    stamp (dict): what decided: pipeline, versions, policy, style. It heads each trace.
    encoding (str): encoding of the notes.
    text_field (str): key of the note in the rows of a JSONL file.
    keep_fields (Sequence[str]): the other keys that are written. Nobody has de-identified them.
    fields (RowFields): the keys that say what is known of a row's note.
    trace (bool): whether to write traces.
    review (Optional[ReviewFile]): takes what a person should look at.
    facts (FileFacts): what is known of files other than JSONL.
    vault (Optional[Vault]): keeps what each note was. A note is released after the vault has it.
    rejects (Rejects): takes the rows of JSONL files that fail.
    alike (AlikeIds): compares the patient ids of the run.
    batch_size, n_process (int): as ``nlp.pipe``.
    """

    nlp: Language
    stamp: dict[str, Any]
    encoding: str = "utf-8"
    text_field: str = "text"
    keep_fields: Sequence[str] = ()
    fields: RowFields = field(default_factory=RowFields)
    trace: bool = False
    review: ReviewFile | None = None
    facts: FileFacts = field(default_factory=FileFacts)
    vault: Vault | None = None
    batch_size: int = 64
    n_process: int = 1
    rejects: Rejects = field(default_factory=Rejects)
    alike: AlikeIds = field(default_factory=AlikeIds)
    tally: Tally = field(default_factory=Tally)
    take: Take = field(init=False, repr=False)
    workers: NoteWorkers[Released] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        take = Take(self.trace, self.review is not None, self.vault is not None)
        workers = NoteWorkers(self.nlp, take, batch_size=self.batch_size, n_process=self.n_process)
        object.__setattr__(self, "take", take)
        object.__setattr__(self, "workers", workers)

    def __getstate__(self) -> list[Any]:
        """For a spawned worker that redacts documents: open files, the vault and the counts stay with the parent."""
        left = {"review": None, "vault": None, "rejects": Rejects(), "tally": Tally(), "workers": None}
        return [left[part.name] if part.name in left else getattr(self, part.name) for part in fields(self)]

    def run(self, jobs: Sequence[Job], bar: Any) -> None:
        """Redact files. Each one is written whole or not at all; one that fails is noted and the others go on.

        jobs (Sequence[Job]): what to read and write.
        bar: has a method ``update(steps)``.
        """
        with self.workers:
            self._run(jobs, bar)

    def _run(self, jobs: Sequence[Job], bar: Any) -> None:
        """Redact the .txt files, then the JSONL files."""
        texts = (job for job in jobs if job.source.suffix.lower() != ".jsonl")
        read = self._read(texts, bar)
        for batch in cut(read, lambda item: len(item[1]), batch_size=self.batch_size, n_process=self.n_process):
            released = self.release([item[1] for item in batch], [item[3] for item in batch])
            self._keep(batch, released)
            for (job, _, encoding, facts), result in zip(batch, released, strict=True):
                self.alike.add(facts, str(job.relative))
                self._finish(job, result, encoding)
                bar.update(1)
        for job in jobs:
            if job.source.suffix.lower() == ".jsonl":
                self._rewrite(job)
                bar.update(1)

    def release(self, texts: Sequence[str], facts: Sequence[Mapping[str, Any]] = ()) -> list[Released | Failure]:
        """Run one batch of notes, with what is known of each, in processes that `run` ends.

        Notes are searched as a person reads them; see `read_as_seen`.
        """
        readings = [read_as_seen(text) for text in texts]
        seen = [text if reading is None else reading.text for text, reading in zip(texts, readings, strict=True)]
        results = self.workers.run(with_facts(seen, facts), len(texts))
        return [
            result if reading is None or isinstance(result, Failure) else as_written(reading, result)
            for reading, result in zip(readings, results, strict=True)
        ]

    def _keep(self, batch: Sequence[_File], released: Sequence[Released | Failure]) -> None:
        """Keep in the vault what the notes of a batch were."""
        if self.vault:
            notes = zip(batch, released, strict=True)
            self.vault.add(
                make_entry(note.undoing, job.relative, text, note.text)
                for (job, text, *_), note in notes
                if isinstance(note, Released)
            )

    def _read(self, jobs: Iterator[Job], bar: Any) -> Iterator[_File]:
        """Read the notes of .txt files."""
        for job in jobs:
            try:
                facts = self.facts.of(job)
                text, encoding = decode(read_bytes(job.source), self.encoding, str(job.source))
            except InputError as error:
                self.tally.fail(job.source, str(error))
                bar.update(1)
                continue
            yield job, text, encoding, facts

    def _finish(self, job: Job, result: Released | Failure, encoding: str) -> None:
        """Write what came of a .txt file."""
        if isinstance(result, Failure):
            return self.tally.fail(job.source, result.reason)
        try:
            data = encode(result.text, encoding, str(job.source))
            if self.trace:
                write_whole(job.targets[0], (_dump({**self.stamp, **result.record()}) + "\n").encode("utf-8"))
            write_whole(job.targets[-1], data)
        except DeidError as error:
            return self.tally.fail(job.source, str(error))
        counts = Tally()
        counts.count(result)
        self.tally.warn(str(job.source), result.warnings)
        self._succeed(job, counts, [({}, result.review)])

    def _succeed(self, job: Job, counts: Tally, review: Sequence[tuple[dict[str, int], Proposed]]) -> None:
        """Note a file that was written, and what of it a person should look at."""
        self.tally.succeed(counts)
        if self.review:
            self.review.add(job.relative, review)

    def _rewrite(self, job: Job) -> None:
        """Redact a JSONL file."""
        review: list[tuple[dict[str, int], Proposed]] = []
        try:
            with ExitStack() as stack:
                # The file is entered first and so takes its name last.
                parts = [stack.enter_context(whole_file(path)) for path in reversed(job.targets)]
                files = [
                    stack.enter_context(open(part, "w", encoding=encoding, newline=""))
                    for part, encoding in zip(parts, (self.encoding, "utf-8"), strict=False)
                ]
                # Entered last: it is done before the file takes its name, and undone with it.
                keep = stack.enter_context(self.vault.adding() if self.vault else nullcontext())
                counts, bad = self._write_rows(job, review, keep, *files)
                if bad and not counts.notes:
                    raise InputError(Errors.D421.format(path=job.source, count=bad))
                if bad:
                    for file, part in zip(files, parts, strict=True):
                        file.close()
                        _make_older(part, job.source)
        except DeidError as error:
            return self.tally.fail(job.source, str(error))
        self._succeed(job, counts, review)

    def _write_rows(
        self,
        job: Job,
        review: list[tuple[dict[str, int], Proposed]],
        keep: Callable[[Iterable[Entry]], int] | None,
        file: TextIO,
        trace: TextIO | None = None,
    ) -> tuple[Tally, int]:
        """Redact the rows of a file as a stream. RETURNS (tuple[Tally, int]): counts, and how many rows failed."""
        counts, bad = Tally(), 0
        if trace:
            trace.write(_dump(self.stamp)[:-1] + ', "rows": [')
        rows = read_rows(job.source, self.text_field, self.encoding)
        for batch in cut(rows, _length, batch_size=self.batch_size, n_process=self.n_process):
            for result in self._release_rows(batch, job):
                if isinstance(result, BadRow):
                    self.rejects.add(job, result)
                    bad += 1
                    continue
                row, note, line = result
                counts.rows += 1
                if keep:  # under the row of the file that is written, which is the one that is turned back
                    keep([make_entry(note.undoing, job.relative, row.text, note.text, counts.rows)])
                file.write(line)
                place = {"row": row.number, "released_row": counts.rows}
                if trace:
                    trace.write((",\n" if counts.notes else "\n") + _dump({**place, **note.record()}))
                review.append((place, note.review))
                counts.warn(f"{job.source}: row {row.number}", note.warnings)
                counts.count(note)
                counts.lacking.update(key for key in self.keep_fields if key not in row.record)
        if trace:
            trace.write("]}\n")
        return counts, bad

    def _release_rows(self, batch: Sequence[Row | BadRow], job: Job) -> Iterator[BadRow | tuple[Row, Released, str]]:
        """Redact the rows of a batch. YIELDS: each with what was released and the line to write, or why it failed."""
        checked, facts = [], []
        for row in batch:
            try:
                facts += [self.fields.read(row.record)] if isinstance(row, Row) else []
                checked.append(row)
            except InputError as error:
                checked.append(BadRow(row.number, str(error)))
        good = [row for row in checked if isinstance(row, Row)]
        for row, known in zip(good, facts, strict=True):
            self.alike.add(known, f"{job.relative} row {row.number}")
        results = iter(self.release([row.text for row in good], facts))
        for row in checked:
            if isinstance(row, BadRow):
                yield row
                continue
            result = next(results)
            if isinstance(result, Failure):
                yield BadRow(row.number, result.reason)
                continue
            try:
                yield row, result, self._line(row, result, job)
            except InputError as error:
                yield BadRow(row.number, str(error).removeprefix(f"{job.source}: "))

    def _line(self, row: Row, result: Released, job: Job) -> str:
        """Write a row: the note and the keys that are kept."""
        kept = {*self.keep_fields, self.text_field}
        record = {key: value for key, value in row.record.items() if key in kept} | {self.text_field: result.text}
        line = write_row(row, record)
        encode(line, self.encoding, str(job.source))
        return line


def _length(row: Row | BadRow) -> int:
    """Characters of a row's note."""
    return len(row.text) if isinstance(row, Row) else 0


def _make_older(path: Path, source: Path) -> None:
    """Make a file older than its source, so that ``--resume`` does not take it for complete."""
    seconds = source.stat().st_mtime - _OLDER
    os.utime(path, (seconds, seconds))


def _dump(value: Any) -> str:
    """Write a trace's JSON."""
    return json.dumps(value, ensure_ascii=False)
