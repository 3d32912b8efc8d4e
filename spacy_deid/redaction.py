"""Run a pipeline on a document: what the file itself declares is evidence, and the copy is written and verified.

The command line, the service and scripts share these functions, so that none of them can forget a step.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc

from .context import DECISIONS, KEEP, get_edits
from .documents import Document
from .loading import check_length
from .spans import Evidence, write_evidence

__all__ = ["find_kept", "run_pipeline"]

_COLUMNS = "deid/columns"


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
