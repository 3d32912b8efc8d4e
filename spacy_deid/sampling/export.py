"""The sample as a project for annotators: INCEpTION, brat or Label Studio. Notes go by their number alone."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ..evaluation.brat import write_brat
from ..evaluation.cas_json import make_tagset, write_cas_json
from ..evaluation.documents import AnnotatedText
from ..evaluation.files import write_text
from ..evaluation.label_studio import make_config, write_tasks
from ..labels import LABELS

__all__ = ["EXPORTS", "export"]

_INCEPTION = """Import into INCEpTION

1. Make a project from the template "Basic annotation (span/relation)" or an empty one.
2. Settings, Tagsets: import tagset.json. Settings, Layers: let the feature "value" of "Named entity" use this tagset.
3. Settings, Documents: import the files of the folder documents as "UIMA CAS JSON (experimental)".

The files hold notes of patients. They are as confidential as the records.
"""


def export(documents: Sequence[AnnotatedText], folder: Path, tool: str, *, model: str = "") -> None:
    """Write a project.

    documents (Sequence[AnnotatedText]): the notes; entities are what a pipeline found, to be corrected.
    folder (Path): folder to write to; it is made.
    tool (str): a key of `EXPORTS`.
    model (str): the pipeline; "" for none.
    """
    folder.mkdir()
    EXPORTS[tool](documents, folder, model)


def _export_inception(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """One CAS JSON file a note, a tagset and what to do with them."""
    (folder / "documents").mkdir()
    for document in documents:
        write_cas_json(document, folder / "documents")
    write_text(folder / "tagset.json", json.dumps(make_tagset(), indent=1) + "\n")
    write_text(folder / "README.txt", _INCEPTION)


def _export_brat(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """NAME.txt and NAME.ann, and the configuration of the annotation."""
    for document in documents:
        write_brat(document, folder)
    sections = {"entities": [*LABELS], "relations": [], "events": [], "attributes": []}
    lines = [line for name, labels in sections.items() for line in (f"[{name}]", *labels, "")]
    write_text(folder / "annotation.conf", "\n".join(lines))


def _export_label_studio(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """One list of tasks and the labelling configuration."""
    write_tasks(documents, folder / "tasks.json", model=model)
    write_text(folder / "config.xml", make_config())


EXPORTS: Mapping[str, Callable[[Sequence[AnnotatedText], Path, str], None]] = MappingProxyType(
    {"inception": _export_inception, "brat": _export_brat, "label-studio": _export_label_studio}
)
