"""Run a pipeline on a document: what the file itself declares is evidence, and the copy is written and verified.

The command line, the service and scripts share these functions, so that none of them can forget a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc

from .context import DECISIONS, KEEP, get_edits, get_warnings
from .documents import Document, ReadSettings, WriteSettings, redact_document
from .loading import check_length, patient_terms
from .offsets import Edit
from .spans import Evidence, write_evidence

__all__ = ["Redacted", "find_kept", "redact", "run_pipeline"]

_COLUMNS = "deid/columns"


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted document. Its repr shows no content.

    data (bytes): the copy, a file of the same kind as the document.
    edits (Sequence[Edit]): what the pipeline replaced, in the order of the text.
    warnings (tuple[str, ...]): what a person should look at before the copy is passed on. Never content.
    """

    data: bytes = field(repr=False)
    edits: Sequence[Edit] = field(repr=False)
    warnings: tuple[str, ...] = ()


def redact(
    document: Document,
    nlp: Language,
    *,
    ehr: Mapping[str, Any] | None = None,
    settings: WriteSettings | None = None,
) -> Redacted:
    """De-identify a document: run a pipeline on its text, replace what was found, and verify the copy.

    document (Document): what `documents.read_document` gave.
    nlp (Language): a pipeline that `load` gave.
    ehr (Optional[Mapping]): what is known beside the text, for ``doc._.ehr``. What open dictionaries know of the
        patient with the id "patient_id" must not be in the copy where its text does not have it.
    settings (Optional[WriteSettings]): how the copy is written; None for the defaults, and for replacements without
        a frame in the style "surrogate".
    RETURNS (Redacted): the copy.
    RAISES: NotDeidentified if a step of the pipeline did not run; DeidError if the copy still holds something (D714,
        D719).
    """
    doc = run_pipeline(document, nlp, ehr)
    edits = get_edits(doc)
    if settings is None:
        plain = doc.user_data[DECISIONS]["style"] == "surrogate"
        settings = WriteSettings(mark="plain" if plain else "box", read=document.settings or ReadSettings())
    known = patient_terms(nlp, (ehr or {}).get("patient_id"))
    data = redact_document(document, edits, settings, known=known, kept=find_kept(doc))
    return Redacted(data, edits, (*document.warnings, *get_warnings(doc)))


def run_pipeline(document: Document, nlp: Language, ehr: Mapping[str, Any] | None = None) -> Doc:
    """Run a pipeline on the text of a document. The marks of the document are evidence that is trusted most.

    document (Document): the document.
    nlp (Language): the pipeline. While it runs its ``deid_merge`` has one more source, so it must not run in another
        thread at the same time.
    ehr (Optional[Mapping]): what is known beside the text, for ``doc._.ehr``.
    RETURNS (Doc): the processed Doc. Release it by `documents.redact_document` with its edits and `find_kept`.
    RAISES: InputError if the text is longer than the pipeline takes (D775).
    """
    check_length(nlp, document.text)
    doc = nlp.make_doc(document.text)
    doc._.ehr = dict(ehr or {})
    if not document.marks:
        return nlp(doc)
    with _trust(nlp, _COLUMNS):
        write_evidence(doc, _COLUMNS, [Evidence(*mark, "columns", validated=True) for mark in document.marks])
        return nlp(doc)


def find_kept(doc: Doc) -> list[tuple[int, int]]:
    """Find what the policy of a pipeline decided to keep, for `documents.redact_document`.

    doc (Doc): a processed Doc.
    RETURNS (list[tuple[int, int]]): start and end of each kept span in characters, in the order of the text.
    RAISES: NotDeidentified if a step did not run.
    """
    get_edits(doc)
    return [(start, end) for start, end, _, action in doc.user_data[DECISIONS]["actions"] if action == KEEP]


@contextmanager
def _trust(nlp: Language, key: str) -> Iterator[None]:
    """Let the merging of a pipeline require a group and trust it before all others."""
    merges = [cast(Any, part) for name, part in nlp.pipeline if nlp.get_pipe_meta(name).factory == "deid_merge"]
    before = [merge.sources for merge in merges]
    for merge in merges:
        merge.sources = [key, *(source for source in merge.sources if source != key)]
    try:
        yield
    finally:
        for merge, sources in zip(merges, before, strict=True):
            merge.sources = sources
