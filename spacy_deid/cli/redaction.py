"""De-identifies the files of ``redact`` and writes them, and counts the outcomes for the summary and the report."""

import json
import os
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ..deidentifier import Deidentifier
from ..documents import SUFFIXES
from ..ehr_fields import RowFields
from ..errors import DeidError, Errors, InputError
from ..io import Job, decode, encode, read_bytes, whole_file, write_whole
from ..patient_ids import normal_id
from ..results import Result
from ..surrogates.strategies import FALLBACK
from ..vault.vault import Entry, Vault, changes_from_edits
from .console import say
from .ehr_context import FileContext, SimilarIds
from .rows import BadRow, Rejects, Row, cut, read_rows, write_row

# .txt files are notes, which are read and written in batches
DOCUMENTS = tuple(suffix for suffix, kind in SUFFIXES.items() if kind != "txt")
_WARNINGS_SHOWN = 20  # notes whose warnings are printed
_OLDER = 10  # seconds; some file systems store times in steps of two seconds


def is_document(job: Job) -> bool:
    """Whether a file is neither a .txt nor a .jsonl file."""
    return job.source.suffix.lower() in DOCUMENTS


def is_jsonl(job: Job) -> bool:
    """Whether a file is a .jsonl file, which has one note per row."""
    return job.source.suffix.lower() == ".jsonl"


def target_files(output: Path, relative: Path, trace: bool) -> list[Path]:
    """Return the paths of the files to write for one input file: its trace, if wanted, and the released file.

    The released file is last, so that an input is done if its released file exists.

    output (Path): folder to write to.
    relative (Path): path of the input file relative to the input folder.
    trace (bool): whether a trace is written.
    """
    # a.pdf and a.docx may be in one folder
    name = relative.stem if relative.suffix.lower() in (".txt", ".jsonl") else relative.name
    traces = [output / relative.with_name(f"{name}.trace.json")] if trace else []
    return [*traces, output / relative]


@dataclass(slots=True)
class Tally:
    """Counts the outcomes of a run. Only `failed` has names of files; it is printed but not part of the report.

    written, skipped, notes (int): files that were written, files that were skipped, and notes.
    rows (int): how many of the notes are rows of JSONL files.
    labels (Counter): label → number of spans that were changed.
    dictionaries (Counter): dictionaries that were searched, as in `Result.dictionaries` → number of notes.
    recovered (Counter): rule → number of detections that it released as medical.
    fallbacks (Counter): label → number of spans replaced by a tag because no surrogate could be made.
    identities (Counter): "patient" or "document", as in `Result.identity` → number of notes.
    missing_keys (Counter): key of --keep-field → number of rows without it.
    with_warnings (int): number of notes and documents with warnings.
    warnings (Counter): warning → number of notes and documents.
    failed (list[tuple[Path, str]]): files that failed, with the reasons.
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
    missing_keys: Counter[str] = field(default_factory=Counter)
    with_warnings: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def fail(self, path: Path, reason: str) -> None:
        """Record a file that failed, with the reason."""
        self.failed.append((path, reason.removeprefix(f"{path}: ")))

    def show_warnings(self, place: str, warnings: Iterable[str]) -> None:
        """Print the warnings of a note, up to a number of notes. The report and the traces have all warnings."""
        if self.with_warnings < _WARNINGS_SHOWN:
            for warning in warnings:
                say(f"warning: {place}: {warning}")

    def count(self, result: Result) -> None:
        """Count a released note, its spans and its warnings."""
        self.notes += 1
        self.labels.update(edit.label for edit in result.edits if edit.label)
        self.dictionaries.update(result.dictionaries)
        self.recovered.update(result.recovered)
        self.fallbacks.update(row["label"] for row in result.trace if row["action"] == FALLBACK)
        self.identities.update([result.identity] if result.identity else [])
        self.with_warnings += bool(result.warnings)
        self.warnings.update(result.warnings)

    def add(self, other: "Tally") -> None:
        """Count a file that was written, and add the counts of its notes."""
        self.written += 1
        for name in ("notes", "rows", "with_warnings"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("labels", "dictionaries", "recovered", "fallbacks", "identities", "missing_keys", "warnings"):
            getattr(self, name).update(getattr(other, name))

    def report(self, failed_rows: int) -> dict[str, Any]:
        """Return the counts as plain values for the report, without names of files."""
        optional: dict[str, Counter[str]] = {"recovered": self.recovered, "warnings": self.warnings}
        optional |= {"identities": self.identities, "dictionaries": self.dictionaries}
        files = {"written": self.written, "failed": len(self.failed), "skipped": self.skipped}
        return {
            "files": files,
            "notes": self.notes,
            "failed_rows": failed_rows,
            "labels": dict(sorted(self.labels.items())),
            **({"with_warnings": self.with_warnings} if self.warnings else {}),
            **{name: dict(sorted(counts.items())) for name, counts in optional.items() if counts},
            **({"no_surrogate": dict(sorted(self.fallbacks.items()))} if self.identities else {}),
        }


_ToReview = tuple[Mapping[str, int], int, list[dict[str, Any]]]


class ReviewFile:
    """Writes the spans that a person should look at to a JSONL file, one per line: offsets and scores, no text.

    With a budget, only the spans with the highest scores of all notes are kept. Lines are first written to a temporary
    file, with only their scores in memory, because the size of the budget is known only at the end.

    file (TextIO): file that is open for writing.
    budget (Optional[float]): number of spans to keep per 1,000 words of all notes together; None to keep all.
    """

    def __init__(self, file: TextIO, budget: float | None) -> None:
        self._file, self._budget, self._words = file, budget, 0
        self._scores = array("d")

    def add(self, name: Path, notes: Sequence[_ToReview]) -> None:
        """Write the spans of a file that was released.

        name (Path): path of the file in its folder.
        notes (Sequence[tuple]): for each note its place in the file, such as {"row": 3}, its number of words and its
            spans.
        """
        for place, words, rows in notes:
            self._words += words
            for row in rows:
                self._file.write(json.dumps({"note": name.as_posix(), **place, **row}, ensure_ascii=False) + "\n")
                self._scores.append(row["score"])

    def choose(self) -> list[int]:
        """Return the numbers of the lines to keep, in order."""
        numbers = range(len(self._scores))
        if self._budget is None:
            return list(numbers)
        best = sorted(numbers, key=lambda i: (-self._scores[i], i))
        return sorted(best[: round(self._budget * self._words / 1000)])


@contextmanager
def open_review(path: Path | None, budget: float | None) -> Iterator[ReviewFile | None]:
    """Open a `ReviewFile`, which is written completely or not at all; None without a path."""
    if path is None:
        yield None
        return
    with (
        whole_file(path) as part,
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n", dir=part.parent) as lines,
    ):
        review = ReviewFile(lines, budget)
        yield review
        kept = set(review.choose())
        lines.seek(0)
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line for number, line in enumerate(lines) if number in kept)


@dataclass(frozen=True, slots=True)
class _Note:
    """A .txt file that was read, with its text and EHR context."""

    job: Job
    text: str = field(repr=False)
    encoding: str
    ehr: Mapping[str, Any] = field(repr=False)


@dataclass
class RedactionRun:
    """De-identifies files and writes them. Each file is written completely or not at all. A file that fails is
    counted, and the run continues.

    deid (Deidentifier): what de-identifies the notes.
    encoding (str): encoding of the notes.
    text_field (str): key of the note in the rows of a JSONL file.
    keep_fields (Sequence[str]): other keys to write. They are not de-identified.
    fields (RowFields): keys of the EHR context in the rows of a JSONL file.
    context (FileContext): finds the EHR context of other files.
    trace (bool): whether to write traces.
    review (Optional[ReviewFile]): file for the spans that a person should look at; None for no file.
    vault (Optional[Vault]): stores the originals; None for no vault. A note is written after the vault has stored it.
    rejects (Rejects): list of the rows of JSONL files that fail.
    batch_size, n_process (int): as in `Deidentifier.pipe`.
    file_minutes (float): time limit of a document in minutes, 0 for none.
    similar_ids (SimilarIds): collects patient ids that may belong to one patient, for a warning.
    tally (Tally): counts the outcomes.
    """

    deid: Deidentifier
    encoding: str = "utf-8"
    text_field: str = "text"
    keep_fields: Sequence[str] = ()
    fields: RowFields = field(default_factory=RowFields)
    context: FileContext = field(default_factory=FileContext)
    trace: bool = False
    review: ReviewFile | None = None
    vault: Vault | None = None
    rejects: Rejects = field(default_factory=Rejects)
    batch_size: int = 64
    n_process: int = 1
    file_minutes: float = 0
    similar_ids: SimilarIds = field(default_factory=SimilarIds)
    tally: Tally = field(default_factory=Tally)

    def run(self, jobs: Sequence[Job], bar: Any) -> None:
        """De-identify .txt files, then .jsonl files, then documents, and update the progress bar."""
        with self.deid:
            self._redact_texts([job for job in jobs if not is_jsonl(job) and not is_document(job)], bar)
            for job in filter(is_jsonl, jobs):
                self._redact_rows(job)
                bar.update(1)
            self._redact_documents([job for job in jobs if is_document(job)], bar)

    def pipe(self, texts: Sequence[str], ehr: Sequence[Mapping[str, Any]]) -> list[Result]:
        """De-identify one batch of notes with the EHR context of each."""
        pairs = list(zip(texts, ehr, strict=True))
        return list(self.deid.pipe(pairs, batch_size=self.batch_size, n_process=self.n_process))

    def _redact_texts(self, jobs: Sequence[Job], bar: Any) -> None:
        """De-identify .txt files in batches. The vault stores a batch before its files are written."""
        notes = self._read_texts(jobs, bar)
        for batch in cut(notes, lambda note: len(note.text), batch_size=self.batch_size, n_process=self.n_process):
            results = self.pipe([note.text for note in batch], [note.ehr for note in batch])
            done = [pair for pair in zip(batch, results, strict=True) if pair[1].ok]
            if self.vault:
                self.vault.add(make_entry(note.job.relative, note.text, result) for note, result in done)
            for note, result in zip(batch, results, strict=True):
                self.similar_ids.add(note.ehr, str(note.job.relative))
                self._write_text(note, result)
                bar.update(1)

    def _read_texts(self, jobs: Iterable[Job], bar: Any) -> Iterator[_Note]:
        """Yield the .txt files that can be read; the others are counted as failed."""
        for job in jobs:
            try:
                ehr = self.context.read(job)
                text, encoding = decode(read_bytes(job.source), self.encoding, str(job.source))
            except InputError as error:
                self.tally.fail(job.source, str(error))
                bar.update(1)
                continue
            yield _Note(job, text, encoding, ehr)

    def _write_text(self, note: _Note, result: Result) -> None:
        """Write one .txt file and its trace."""
        job = note.job
        if not result.ok:
            return self.tally.fail(job.source, result.reason)
        try:
            data = encode(result.text, note.encoding, str(job.source))
            self._write_files(job, result, data)
        except DeidError as error:
            return self.tally.fail(job.source, str(error))
        self.tally.show_warnings(str(job.source), result.warnings)
        self._count(job, result)

    def _redact_documents(self, jobs: Sequence[Job], bar: Any) -> None:
        """De-identify documents, each in a worker process with a time limit."""

        def read() -> Iterator[tuple[Any, Job]]:
            for job in jobs:
                try:
                    yield (job.source, self.context.read(job)), job
                except InputError as error:
                    self.tally.fail(job.source, str(error))
                    bar.update(1)

        results = self.deid.pipe(read(), as_tuples=True, n_process=self.n_process, seconds=60 * self.file_minutes)
        for result, job in results:
            self._write_document(job, result)
            bar.update(1)

    def _write_document(self, job: Job, result: Result) -> None:
        """Write the copy of a document and its trace."""
        if not result.ok:
            return self.tally.fail(job.source, result.reason)
        try:
            self._write_files(job, result, result.copy)
        except DeidError as error:
            return self.tally.fail(job.source, str(error))
        self.similar_ids.add(result.ehr, str(job.relative))
        for warning in result.warnings:
            say(f"warning: {job.source}: {warning}")
        self._count(job, result)

    def _write_files(self, job: Job, result: Result, data: bytes) -> None:
        """Write the trace, if it is wanted, and the released file last."""
        if self.trace:
            record = {**self.deid.provenance, **make_record(result)}
            write_whole(job.targets[0], (_dump(record) + "\n").encode("utf-8"))
        write_whole(job.targets[-1], data)

    def _count(self, job: Job, result: Result) -> None:
        """Count a file of one note that was written, and add its spans to review."""
        counts = Tally()
        counts.count(result)
        self.tally.add(counts)
        if self.review:
            self.review.add(job.relative, [({}, result.words, result.review)])

    def _redact_rows(self, job: Job) -> None:
        """De-identify a .jsonl file as a stream of rows, and write it completely or not at all."""
        review: list[_ToReview] = []
        try:
            with ExitStack() as stack:
                # the released file is entered first, so it gets its name last
                parts = [stack.enter_context(whole_file(path)) for path in reversed(job.targets)]
                files = [
                    stack.enter_context(open(part, "w", encoding=encoding, newline=""))
                    for part, encoding in zip(parts, (self.encoding, "utf-8"), strict=False)
                ]
                # the vault is entered last, so it is done before the file gets its name and is undone with it
                keep = stack.enter_context(self.vault.adding() if self.vault else nullcontext())
                counts, failed = self._write_rows(job, review, keep, *files)
                if failed and not counts.notes:
                    raise InputError(Errors.D421.format(path=job.source, count=failed))
                if failed:
                    for file, part in zip(files, parts, strict=True):
                        file.close()
                        _make_older(part, job.source)
        except DeidError as error:
            return self.tally.fail(job.source, str(error))
        self.tally.add(counts)
        if self.review:
            self.review.add(job.relative, review)

    def _write_rows(
        self,
        job: Job,
        review: list[_ToReview],
        keep: Callable[[Iterable[Entry]], int] | None,
        file: TextIO,
        trace: TextIO | None = None,
    ) -> tuple[Tally, int]:
        """De-identify and write the rows of a file. RETURNS (tuple[Tally, int]): counts, and number of failed rows."""
        counts, failed = Tally(), 0
        if trace:
            trace.write(_dump(self.deid.provenance)[:-1] + ', "rows": [')
        rows = read_rows(job.source, self.text_field, self.encoding)
        sizes = {"batch_size": self.batch_size, "n_process": self.n_process}
        for batch in cut(rows, lambda row: len(row.text) if isinstance(row, Row) else 0, **sizes):
            for released in self._release_rows(batch, job):
                if isinstance(released, BadRow):
                    self.rejects.add(job, released)
                    failed += 1
                    continue
                row, result, line = released
                counts.rows += 1
                if keep:  # with the row number in the released file, because that is the file to reverse
                    keep([make_entry(job.relative, row.text, result, counts.rows)])
                file.write(line)
                place = {"row": row.number, "released_row": counts.rows}
                if trace:
                    trace.write((",\n" if counts.notes else "\n") + _dump({**place, **make_record(result)}))
                review.append((place, result.words, result.review))
                counts.show_warnings(f"{job.source}: row {row.number}", result.warnings)
                counts.count(result)
                counts.missing_keys.update(key for key in self.keep_fields if key not in row.record)
        if trace:
            trace.write("]}\n")
        return counts, failed

    def _release_rows(self, batch: Sequence[Row | BadRow], job: Job) -> Iterator[BadRow | tuple[Row, Result, str]]:
        """De-identify a batch of rows. YIELDS: each row with its result and the line to write, or a `BadRow`."""
        checked: list[Row | BadRow] = []
        ehr = []
        for row in batch:
            try:
                ehr += [self.fields.read(row.record)] if isinstance(row, Row) else []
                checked.append(row)
            except InputError as error:
                checked.append(BadRow(row.number, str(error)))
        good = [row for row in checked if isinstance(row, Row)]
        for row, known in zip(good, ehr, strict=True):
            self.similar_ids.add(known, f"{job.relative} row {row.number}")
        results = iter(self.pipe([row.text for row in good], ehr))
        kept = {*self.keep_fields, self.text_field}
        for row in checked:
            if isinstance(row, BadRow):
                yield row
                continue
            result = next(results)
            if not result.ok:
                yield BadRow(row.number, result.reason)
                continue
            record = {key: value for key, value in row.record.items() if key in kept} | {self.text_field: result.text}
            try:
                line = write_row(row, record)
                encode(line, self.encoding, str(job.source))
            except InputError as error:
                yield BadRow(row.number, str(error).removeprefix(f"{job.source}: "))
            else:
                yield row, result, line


def make_record(result: Result) -> dict[str, Any]:
    """Make the trace of a note: its spans and, if any, the dictionaries that were searched and the warnings."""
    searched = {"dictionaries": sorted(set(result.dictionaries))} if result.dictionaries else {}
    warnings = {"warnings": result.warnings} if result.warnings else {}
    return {**searched, **warnings, "spans": result.trace}


def make_entry(note: Path, original: str, result: Result, row: int = 0) -> Entry:
    """Make the vault entry of a released note, with which its original can be restored.

    note (Path): path of the file relative to the input folder.
    original (str): the text of the note.
    result (Result): the released note.
    row (int): number of the row in a JSONL file, from 1; 0 for other files.
    """
    patient, changes = normal_id(result.ehr.get("patient_id")), changes_from_edits(original, result.edits)
    return Entry.of(patient, note.as_posix(), original, result.text, changes, row)


def _make_older(path: Path, source: Path) -> None:
    """Make a file older than its source, so that ``--resume`` does not take it for complete."""
    seconds = source.stat().st_mtime - _OLDER
    os.utime(path, (seconds, seconds))


def _dump(value: Any) -> str:
    """Convert a value to JSON for a trace."""
    return json.dumps(value, ensure_ascii=False)
