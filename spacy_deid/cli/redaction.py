"""Redacting files: what the command ``redact`` does, once its options are read."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import DeidError, Errors, InputError
from ..io import Job, decode, encode, read_bytes, whole_file, write_whole
from ..spans import RECOVERED, read_evidence
from ..surrogates.vault import Entry, Vault
from .batches import Failure, cut, process
from .review import Proposed, ReviewFile, take_review
from .rows import Row, read_rows
from .surrogates import PatientFrom, Used, patient_ids, take_used
from .vault_writing import Undoing, make_entry, take_undoing

__all__ = ["Redaction", "Released", "Tally", "targets"]


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
    """

    text: str = field(repr=False)
    trace: list[dict[str, Any]]
    labels: Counter[str]
    dictionaries: Counter[str]
    recovered: Counter[str]
    review: Proposed
    surrogates: Used
    undoing: Undoing

    def record(self) -> dict[str, Any]:
        """What the trace says of the note: what of the dictionaries was used, if there are any, and the spans."""
        flags = {"dictionaries": sorted(self.dictionaries)} if self.dictionaries else {}
        return {**flags, "spans": self.trace}


@dataclass(slots=True)
class Tally:
    """What came of a run. Names stand in `failed` alone, which is for the screen and not for the report."""

    written: int = 0
    skipped: int = 0
    notes: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    dictionaries: Counter[str] = field(default_factory=Counter)
    recovered: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    identities: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[Path, str]] = field(default_factory=list)

    def fail(self, path: Path, reason: str) -> None:
        """Note a file that failed."""
        self.failed.append((path, reason.removeprefix(f"{path}: ")))

    def count(self, note: Released) -> None:
        """Add up what was done in a note."""
        self.notes += 1
        self.labels += note.labels
        self.dictionaries += note.dictionaries
        self.recovered += note.recovered
        self.fallbacks += note.surrogates.fallbacks
        self.identities += note.surrogates.identities

    def succeed(self, counts: "Tally") -> None:
        """Note a file that was written, with the counts of its notes."""
        self.written += 1
        self.notes += counts.notes
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
class Redaction:
    """Redacts files, one after the other.

    nlp (Language): the pipeline.
    stamp (dict): what decided: pipeline, versions, policy, style. It heads each trace.
    encoding (str): encoding of the notes.
    text_field (str): key of the note in the rows of a JSONL file.
    keep_fields (Sequence[str]): the other keys that are written. Nobody has de-identified them.
    patient_field (str): key of the patient's id in the rows of a JSONL file.
    trace (bool): whether to write traces.
    review (Optional[ReviewFile]): takes what a person should look at.
    patient_from (Optional[PatientFrom]): what of a .txt file tells its patient.
    vault (Optional[Vault]): keeps what each note was. A note is released after the vault has it.
    batch_size, n_process (int): as ``nlp.pipe``.
    """

    nlp: Language
    stamp: dict[str, Any]
    encoding: str = "utf-8"
    text_field: str = "text"
    keep_fields: Sequence[str] = ()
    patient_field: str | None = None
    trace: bool = False
    review: ReviewFile | None = None
    patient_from: PatientFrom | None = None
    vault: Vault | None = None
    batch_size: int = 64
    n_process: int = 1
    tally: Tally = field(default_factory=Tally)

    def run(self, jobs: Sequence[Job], bar: Any) -> None:
        """Redact files. Each one is written whole or not at all; one that fails is noted and the others go on.

        jobs (Sequence[Job]): what to read and write.
        bar: has a method ``update(steps)``.
        """
        texts = (job for job in jobs if job.source.suffix.lower() != ".jsonl")
        read = self._read(texts, bar)
        for batch in cut(read, lambda item: len(item[1]), batch_size=self.batch_size, n_process=self.n_process):
            patients = patient_ids([item[0] for item in batch], self.patient_from)
            released = self.release([item[1] for item in batch], patients)
            self._keep(batch, released)
            for (job, _, encoding), result in zip(batch, released, strict=True):
                self._finish(job, result, encoding)
                bar.update(1)
        for job in jobs:
            if job.source.suffix.lower() == ".jsonl":
                self._rewrite(job)
                bar.update(1)

    def release(self, texts: Sequence[str], patients: Sequence[Any] = ()) -> list[Released | Failure]:
        """Run one batch of notes."""
        sizes = {"batch_size": self.batch_size, "n_process": self.n_process}
        return process(self.nlp, texts, self.take, **sizes, patients=patients)

    def take(self, doc: Doc) -> Released:
        """Copy out of a Doc what is written of it."""
        labels = Counter(edit.label for edit in doc._.deid_edits if edit.label)
        used = Counter(group.attrs["dictionaries"] for group in doc.spans.values() if "dictionaries" in group.attrs)
        recovered = read_evidence(doc, RECOVERED) if RECOVERED in doc.spans else []
        rules = Counter(item.rule for item in recovered)
        trace, review = doc._.deid_trace if self.trace else [], take_review(doc) if self.review else Proposed(0, [])
        undoing = take_undoing(doc) if self.vault else Undoing()
        return Released(doc._.deid_text, trace, labels, used, rules, review, take_used(doc), undoing)

    def _keep(self, batch: Sequence[tuple[Job, str, str]], released: Sequence[Released | Failure]) -> None:
        """Keep in the vault what the notes of a batch were."""
        if self.vault:
            notes = zip(batch, released, strict=True)
            self.vault.add(
                make_entry(note.undoing, job.relative, text, note.text)
                for (job, text, _), note in notes
                if isinstance(note, Released)
            )

    def _read(self, jobs: Iterator[Job], bar: Any) -> Iterator[tuple[Job, str, str]]:
        """Read the notes of .txt files: job, text, encoding."""
        for job in jobs:
            try:
                text, encoding = decode(read_bytes(job.source), self.encoding, str(job.source))
            except InputError as error:
                self.tally.fail(job.source, str(error))
                bar.update(1)
                continue
            yield job, text, encoding

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
                counts = self._write_rows(job, review, keep, *files)
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
    ) -> Tally:
        """Redact the rows of a file as a stream, and count; one bad row fails the file."""
        counts = Tally()
        if trace:
            trace.write(_dump(self.stamp)[:-1] + ', "rows": [')
        rows = read_rows(job.source, self.text_field, self.encoding)
        for batch in cut(rows, lambda row: len(row.text), batch_size=self.batch_size, n_process=self.n_process):
            released = self.release([row.text for row in batch], self._patients(batch))
            for row, result in zip(batch, released, strict=True):
                if isinstance(result, Failure):
                    raise InputError(Errors.D405.format(row=row.number, reason=result.reason))
                file.write(self._line(row, result, job))
                if keep:
                    keep([make_entry(result.undoing, job.relative, row.text, result.text, row.number)])
                if trace:
                    trace.write((",\n" if counts.notes else "\n") + _dump({"row": row.number, **result.record()}))
                review.append(({"row": row.number}, result.review))
                counts.count(result)
        if trace:
            trace.write("]}\n")
        return counts

    def _patients(self, rows: Sequence[Row]) -> list[Any]:
        """The ids of the rows' patients. A row without the key is an error, one whose id is null is not."""
        if not self.patient_field:
            return []
        for row in rows:
            if self.patient_field not in row.record:
                raise InputError(Errors.D405.format(row=row.number, reason=f"'{self.patient_field}' is missing"))
        return [row.record[self.patient_field] for row in rows]

    def _line(self, row: Row, result: Released, job: Job) -> str:
        """Write a row: the note and the keys that are kept."""
        kept = {*self.keep_fields, self.text_field}
        record = {key: value for key, value in row.record.items() if key in kept} | {self.text_field: result.text}
        line = row.start + json.dumps(record, ensure_ascii=False) + row.end
        encode(line, self.encoding, str(job.source))
        return line


def _dump(value: Any) -> str:
    """Write a trace's JSON."""
    return json.dumps(value, ensure_ascii=False)
