"""De-identifies texts, Docs and files: `Deidentifier` turns each into a text or a copy that may be released.

    from spacy_deid import Deidentifier

    deid = Deidentifier("es", policy="safe_harbor")
    deid("Nombre: Ana Ruiz.").text
    deid(Path("letter.pdf"), ehr={"patient_id": "123"}).copy
    for result, row_id in deid.pipe(rows, as_tuples=True, n_process=4): ...

Every item goes through the same steps:

1. Read: a file becomes one text (`documents.read_document`). A text is normalized to what a reader sees
   (`documents.visible_text.read_as_seen`), so that an invisible character does not hide a name.
2. Detect: the pipeline runs on the text, with the EHR context in ``doc._.ehr``.
3. Release: the getters of the Doc return the edits, if every required step has run and nothing was changed since.
4. Write: the edits are applied to the text, or to a copy of the file, which is searched for what was removed.
5. Report: the result is a `Result` of plain values, with the text or the copy, or with the reason why there is none.

An item that fails a step has no released text and no copy. The command line, the service and other front ends use only
`Deidentifier`, not the steps themselves.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from spacy.about import __version__ as spacy_version
from spacy.language import Language
from spacy.tokens import Doc

from .context import DECISIONS, EDITS, KEEP
from .documents import Document, File, ReadSettings, WriteSettings, read_document, redact_document
from .documents.document import cover_marks
from .documents.visible_text import VisibleText, read_as_seen
from .errors import ConfigError, DeidError, Errors, InputError, NotDeidentified, classify_error, describe
from .io import read_bytes
from .lang import get_language
from .loading import (
    check_text,
    find_component,
    find_components,
    load,
    patient_terms,
    use_dictionaries,
    use_llm,
    use_operating_point,
    use_surprisal,
)
from .offsets import apply_edits
from .policies import Policy
from .processes import Failure, Start
from .results import Result, collect_entities, collect_result
from .saving import fingerprint
from .spans import Evidence, union_filter, write_evidence
from .workers import (
    DocBytes,
    GroupWorkers,
    Item,
    check_settings,
    dump_extensions,
    make_item,
    memory_zone,
    restore_extensions,
)

_MARKS = "deid/columns"  # span group of identifiers that a file declares, such as the cells of a name column


Source = str | Doc | Path | File | Document
"""Input of `Deidentifier`: a text, a Doc, the path of a file, a file in memory, or a file that was already read."""


class Deidentifier:
    """De-identifies texts, Docs and files with one pipeline and one set of settings.

    Settings are applied to the pipeline when the deidentifier is made. Two threads must not share a deidentifier.
    As a context manager it keeps the worker processes of `pipe` between calls; otherwise they end with the stream.

    pipeline (Union[str, Path, Language]): name of a shipped pipeline, a folder, an installed package, or a loaded
        pipeline, which is changed.
    policy (Optional[Union[str, Policy]]): what is done with each label: "strict", "safe_harbor", "limited_data_set",
        a TOML file or a `Policy`; None for the setting of the pipeline.
    style (Optional[str]): how replaced spans are written: "tag", "numbered", "mask", "remove" or "surrogate"; None for
        the setting of the pipeline.
    key (Optional[Union[str, Path, ProjectKey]]): the project key for the style "surrogate", or its file.
    salts (Optional[Union[str, Path]]): file of the patients' salts.
    operating_point (Optional[str]): named operating point of the token classifier.
    dictionaries (Optional[Union[str, Path]]): folder of the hospital's dictionaries.
    without_patient (Optional[str]): what to do with a note whose patient is not in the dictionaries: "institution"
        searches it only for the terms of the institution, "refuse" withholds it; None for the setting of the
        pipeline.
    surprisal (Optional[Mapping]): settings of `loading.use_surprisal`; None for the settings of the pipeline.
    llm (Optional[Mapping]): settings of `loading.use_llm`, at least "model"; None for the settings of the pipeline.
    review (bool): whether to propose spans that a person should look at. Adds ``deid_surprisal`` and ``deid_review``
        if the pipeline lacks them.
    documents (Optional[WriteSettings]): how files are read and written; None for the defaults, with OCR in the
        language of the pipeline.
    RAISES: ConfigError for invalid settings, or if the pipeline lacks the component that a setting needs. Language
        models are opened here, so that a missing model is reported at once and not for every item.
    """

    def __init__(
        self,
        pipeline: str | Path | Language,
        *,
        policy: str | Policy | None = None,
        style: str | None = None,
        key: Any = None,
        salts: str | Path | None = None,
        operating_point: str | None = None,
        dictionaries: str | Path | None = None,
        without_patient: str | None = None,
        surprisal: Mapping[str, Any] | None = None,
        llm: Mapping[str, Any] | None = None,
        review: bool = False,
        documents: WriteSettings | None = None,
    ) -> None:
        if without_patient is not None and dictionaries is None:
            raise ConfigError(Errors.D411.format(option="dictionaries"))
        self.nlp = nlp = pipeline if isinstance(pipeline, Language) else load(pipeline)
        self.review = review
        if operating_point is not None:
            use_operating_point(nlp, operating_point)
        if dictionaries is not None:
            use_dictionaries(nlp, dictionaries, **({"without_patient": without_patient} if without_patient else {}))
        if surprisal is not None or review:
            use_surprisal(nlp, **(surprisal or {}))
            if review and not find_components(nlp, "deid_review"):
                nlp.add_pipe("deid_review")
            _ = find_component(nlp, "deid_surprisal").language_model
        if llm is not None:
            use_llm(nlp, **llm)
            _ = find_component(nlp, "deid_llm").extractor.backend.name
        if salts is not None and isinstance(key, str | Path):
            from .vault.encryption import check_apart

            check_apart(salts, key)
        for surrogate in find_components(nlp, "deid_surrogate", required=any((policy, style, key))):
            if style is not None:
                surrogate.set_style(style)
            if policy is not None:
                surrogate.set_policy(policy)
            if key is not None:
                surrogate.set_key(key, salts)
        if any((policy, style, key)):
            self._find_surrogate()
        default = WriteSettings(read=ReadSettings(languages=(get_language(nlp.lang or "").ocr_language,)))
        self.documents = documents or default
        self._workers: dict[tuple[Any, ...], GroupWorkers[Result]] = {}
        self._keeps_workers = False

    def __enter__(self) -> Self:
        self._keeps_workers = True
        return self

    def __exit__(self, *_: object) -> None:
        self._keeps_workers = False
        self.close()

    def close(self) -> None:
        """Stop the worker processes, if any are running."""
        for workers in self._workers.values():
            workers.close()
        self._workers.clear()

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Describe the pipeline and the settings that determine the output, for a trace or a report.

        RETURNS (dict): "pipeline" with its "name", "version" and "fingerprint"; "spacy_deid" and "spacy" (versions);
            "policy" and "style"; with a token classifier its "operating_point" and "thresholds". The result is
            cached: later changes of the pipeline are not in it.
        RAISES: ConfigError as `__call__`.
        """
        nlp, surrogate = self.nlp, self._find_surrogate()
        name = f"{nlp.lang}_{nlp.meta['name']}"
        classifiers = find_components(nlp, "deid_ner")
        return {
            "pipeline": {"name": name, "version": nlp.meta["version"], "fingerprint": fingerprint(nlp)},
            "spacy_deid": version("spacy-deid"),
            "spacy": spacy_version,
            **(classifiers[0].get_point().receipt() if classifiers else {}),
            "policy": surrogate.policy.name,
            "style": surrogate.style_name,
        }

    def __call__(self, source: Source, ehr: Mapping[str, Any] | None = None) -> Result:
        """De-identify one item in this process.

        source (Source): a text, a Doc, a path, a `File` or a `Document`. A string is always a text. The pipeline runs
            on a Doc in place; a Doc that was de-identified before is not processed again.
        ehr (Optional[Mapping]): the EHR context, such as {"patient_id": "123", "note_date": "2024-11-30"}. It replaces
            the ``doc._.ehr`` of a Doc if it is given.
        RETURNS (Result): the outcome. It does not raise for an item that cannot be released; reading ``result.text``
            or ``result.copy`` of such an item does.
        RAISES: ConfigError if the pipeline has no ``deid_surrogate`` (D415) or its style needs a key (D691).
        """
        self._find_surrogate()
        context = dict(ehr or {})
        item = Item(source, context)
        if isinstance(source, Doc):  # no memory zone: the Doc stays with the caller
            return replace(_catch(self._process, item), ehr=context)
        return replace(self._run_group([item])[0], ehr=context)

    def pipe(
        self,
        items: Iterable[Any],
        *,
        as_tuples: bool = False,
        n_process: int = 1,
        batch_size: int = 64,
        seconds: float = 0,
        start_method: Start | None = None,
    ) -> Iterator[Any]:
        """De-identify a stream of items and yield their results in order.

        One item that cannot be released does not affect the others: a missing value of a table, a damaged file and
        an item that crashes its worker process each give a result with the status "failed". Input is read a few groups
        ahead of the output, so memory does not grow with the stream.

        items (Iterable): sources as in `__call__`, or (source, EHR context) pairs. With ``as_tuples``, pairs of such
            an item and any context, such as the id of a row, which is yielded with the result.
        as_tuples (bool): whether to take and yield pairs with a context.
        n_process (int): number of worker processes; 1 for this process, -1 for one per CPU.
        batch_size (int): largest number of texts that go through the pipeline together.
        seconds (float): time limit for an item, 0 for none. With a limit, even one process is a worker process.
        start_method (Optional[str]): how worker processes are started: "fork", "spawn", or None for the choice of
            `workers.choose_start`. With "spawn", a script must call this under ``if __name__ == "__main__":``.
        YIELDS (Union[Result, tuple[Result, Any]]): one result per item, or pairs of result and context.
        RAISES: ConfigError as `__call__`; for a single string instead of an iterable or a setting out of range (D776);
            and during iteration if the worker processes do not start (D772, D773).
        """
        self._find_surrogate()
        return self._pipe(items, as_tuples, False, batch_size, n_process, seconds, start_method)

    def detect(
        self,
        texts: Iterable[Any],
        *,
        as_tuples: bool = False,
        n_process: int = 1,
        batch_size: int = 64,
    ) -> Iterator[Any]:
        """Detect identifiers in a stream of texts and release nothing. The pipeline needs no ``deid_surrogate``.

        texts, as_tuples, n_process, batch_size: as in `pipe`.
        YIELDS (Union[Result, tuple[Result, Any]]): results with ``entities``, without a text, and with the status
            "detected" if all detectors ran.
        """
        return self._pipe(texts, as_tuples, True, batch_size, n_process, 0, None)

    def release(
        self,
        source: str | Document,
        evidence: Mapping[str, Sequence[Evidence]],
        ehr: Mapping[str, Any] | None = None,
        *,
        kept: Iterable[tuple[int, int]] = (),
    ) -> Result:
        """Release an item with given detections, such as those of a reviewer, instead of running the detectors.

        source (Union[str, Document]): the text or the file that was read.
        evidence (Mapping[str, Sequence[Evidence]]): key of a span group → detections. Where detections of two groups
            overlap, the label of the first group wins.
        ehr (Optional[Mapping]): the EHR context.
        kept (Iterable[tuple[int, int]]): start and end (characters) of spans to keep although the file declares them
            as identifiers.
        RETURNS (Result): the outcome, as from `__call__`.
        """
        from .pipeline.merge import Merge

        surrogate = self._find_surrogate()
        context = dict(ehr or {})

        def decide(text: str) -> Result:
            doc = self._make_doc(text, context)
            for key, items in evidence.items():
                write_evidence(doc, key, items)
            # without priorities of labels, the order of the groups decides
            doc = Merge("deid_merge", sources=list(evidence), label_priority={}, spans_filter=union_filter)(doc)
            doc = surrogate(doc)
            return self._collect(doc) if isinstance(source, str) else self._write_copy(source, doc, context, kept)

        with memory_zone(self.nlp):
            return replace(_catch(decide, source if isinstance(source, str) else source.text), ehr=context)

    def read(self, source: Path | File) -> Document:
        """Read a file with the deidentifier's settings for documents.

        source (Union[Path, File]): the file.
        RETURNS (Document): its text and layout, which can be passed to `__call__`.
        RAISES: InputError if it cannot be read or its kind is not supported.
        """
        file = File(read_bytes(source), str(source)) if isinstance(source, Path) else source
        return read_document(file.data, file.name, self.documents.read)

    def _find_surrogate(self) -> Any:
        """Find the component that writes the edits. RAISES: ConfigError if there is none or it lacks its key."""
        surrogate = find_component(self.nlp, "deid_surrogate")
        if surrogate.lacks_key:
            raise ConfigError(Errors.D691)
        return surrogate

    def _pipe(self, items: Iterable[Any], as_tuples: bool, detect_only: bool, *settings: Any) -> Iterator[Any]:
        """Check the settings of `pipe` immediately, and return an iterator that processes the items."""
        if isinstance(items, str | bytes):
            raise ConfigError(Errors.D776.format(setting="items", wanted="an iterable", value=type(items).__name__))
        return self._run_stream(self._open_workers(*settings), items, as_tuples, detect_only)

    def _run_stream(
        self, workers: GroupWorkers[Result], items: Iterable[Any], as_tuples: bool, detect_only: bool
    ) -> Iterator[Any]:
        """Yield the results of a stream. The EHR context and the tuple context of an item stay in this process."""
        waiting: deque[tuple[Mapping[str, Any], Any]] = deque()  # contexts of items that were read but not yielded yet

        def read() -> Iterator[Item]:
            for entry in items:
                given, context = entry if as_tuples else (entry, None)
                item = make_item(given, detect_only)
                waiting.append((item.ehr, context))
                yield item

        try:
            total = len(items) if isinstance(items, Sized) else None
            for number, output in enumerate(workers.run(read(), total)):
                ehr, context = waiting.popleft()
                result = Result("failed", output.reason, output.error) if isinstance(output, Failure) else output
                result = replace(result, number=number, ehr=ehr)
                yield (result, context) if as_tuples else result
        finally:
            if not self._keeps_workers:
                self.close()

    def _open_workers(
        self, batch_size: int, n_process: int, seconds: float, start_method: Start | None
    ) -> GroupWorkers[Result]:
        """Get the workers for a stream: those of an earlier call if they are kept, else new ones.

        RAISES: ConfigError (D776) for a setting out of range.
        """
        n_process = check_settings(batch_size, n_process, seconds, start_method)
        settings = (batch_size, n_process, seconds, start_method)
        if settings not in self._workers:
            runner = copy.copy(self)
            if n_process > 1:  # the worker processes run side by side, so each reads its pages one by one
                runner.documents = replace(self.documents, read=replace(self.documents.read, processes=1))
            self._workers[settings] = GroupWorkers(self.nlp, runner._run_group, *settings)
        return self._workers[settings]

    def _run_group(self, items: Sequence[Item]) -> list[Result]:
        """Process a group in a memory zone: all its texts as one stream, then each item without a result by itself."""
        results: dict[int, Result] = {}
        with memory_zone(self.nlp):
            texts = {i: item for i, item in enumerate(items) if isinstance(item.source, str)}
            if len(texts) > 1:
                self._process_texts(texts, results)
            for i, item in enumerate(items):
                if i not in results:
                    results[i] = _catch(self._process, item)
        return [results[i] for i in range(len(items))]

    def _process_texts(self, texts: Mapping[int, Item], results: dict[int, Result]) -> None:
        """Process texts as one stream and add their results. A text that raises ends the stream, and one that spaCy's
        ``ignore_error`` drops is missing from it: these have no result afterwards.
        """
        readings: dict[int, VisibleText | None] = {}

        def read() -> Iterator[tuple[Doc, int]]:
            for i, item in texts.items():
                readings[i] = reading = read_as_seen(item.source)
                yield self._make_doc(reading.text if reading else item.source, item.ehr), i

        with suppress(Exception):
            for doc, i in self.nlp.pipe(read(), as_tuples=True, batch_size=len(texts)):
                collect = collect_entities if texts[i].detect_only else self._collect
                results[i] = _catch(collect, doc, readings[i])

    def _process(self, item: Item) -> Result:
        """Take one item through all steps.

        RAISES: NotDeidentified or another exception if it cannot pass one of them.
        """
        source = item.source
        collect = collect_entities if item.detect_only else self._collect
        if isinstance(source, str):  # step 1: read
            reading = read_as_seen(source)
            doc = self.nlp(self._make_doc(reading.text if reading else source, item.ehr))  # step 2: detect
            return collect(doc, reading)  # steps 3 to 5
        if isinstance(source, DocBytes):
            source = Doc(self.nlp.vocab).from_bytes(source)
        if isinstance(source, Doc):
            if item.ehr:
                source._.ehr = dict(item.ehr)
            check_text(self.nlp, source.text)
            return collect(source if EDITS in source.user_data else self.nlp(source))
        if not isinstance(source, Document | Path | File):
            raise InputError(Errors.D774.format(kind=type(source).__name__))
        document = source if isinstance(source, Document) else self.read(source)
        doc = self._detect_in(document, item.ehr)
        return collect_entities(doc) if item.detect_only else self._write_copy(document, doc, item.ehr)

    def _make_doc(self, text: str, ehr: Mapping[str, Any]) -> Doc:
        """Tokenize a text. RAISES: InputError (D775) if it is longer than the pipeline allows."""
        check_text(self.nlp, text)
        doc = self.nlp.make_doc(text)
        if ehr:
            doc._.ehr = dict(ehr)
        return doc

    def _detect_in(self, document: Document, ehr: Mapping[str, Any]) -> Doc:
        """Run the pipeline on the text of a file. Identifiers that the file declares have priority over detections."""
        doc = self._make_doc(document.text, ehr)
        if not document.marks:
            return self.nlp(doc)
        with _trust(self.nlp, _MARKS):
            write_evidence(doc, _MARKS, [Evidence(*mark, "columns", validated=True) for mark in document.marks])
            return self.nlp(doc)

    def _write_copy(
        self, document: Document, doc: Doc, ehr: Mapping[str, Any], kept: Iterable[tuple[int, int]] = ()
    ) -> Result:
        """Write the copy of a file and search it for what was removed.

        document (Document): the file.
        doc (Doc): its text, processed.
        ehr (Mapping): the EHR context. The copy must not contain any term of its patient in the dictionaries.
        kept (Iterable[tuple[int, int]]): start and end (characters) of spans that a reviewer decided to keep.
        RETURNS (Result): the outcome, with the copy.
        RAISES: DeidError (D714, D719) if the copy still contains something that was removed.
        """
        result = self._collect(doc)
        decided = doc.user_data[DECISIONS]
        kept = [*kept, *((start, end) for start, end, _, action in decided["actions"] if action == KEEP)]
        edits = list(cover_marks(document, result.edits, kept))
        settings = replace(self.documents, read=document.settings or self.documents.read)
        if settings.mark == "box" and decided["style"] == "surrogate":
            settings = replace(settings, mark="plain")
        known = patient_terms(self.nlp, ehr.get("patient_id"))
        data = redact_document(document, edits, settings, known=known, kept=kept)
        warnings = [*document.warnings, *result.warnings]
        return replace(
            result,
            status="review" if warnings or result.review else "released",
            edits=edits,
            warnings=warnings,
            released_text=apply_edits(document.text, edits),
            released_copy=data,
        )

    def _collect(self, doc: Doc, reading: VisibleText | None = None) -> Result:
        """Convert a processed Doc to a `Result`; see `results.collect_result`."""
        return collect_result(doc, reading, review=self.review)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the deidentifier for a worker process: with the Doc extensions, without its own worker processes."""
        return {**self.__dict__, "_workers": {}, "extensions": dump_extensions()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_extensions(state.pop("extensions"))
        self.__dict__.update(state)


def _catch(action: Callable[..., Result], *arguments: Any) -> Result:
    """Run a function, and convert an exception to a result with the status "withheld" or "failed"."""
    try:
        return action(*arguments)
    except Exception as error:
        withheld = isinstance(error, NotDeidentified) or type(error) is DeidError
        return Result("withheld" if withheld else "failed", describe(error), classify_error(error))


@contextmanager
def _trust(nlp: Language, key: str) -> Iterator[None]:
    """Make ``deid_merge`` temporarily require another span group, with priority over all others."""
    merges = find_components(nlp, "deid_merge")
    before = [merge.sources for merge in merges]
    for merge in merges:
        merge.sources = [key, *(source for source in merge.sources if source != key)]
    try:
        yield
    finally:
        for merge, sources in zip(merges, before, strict=True):
            merge.sources = sources
