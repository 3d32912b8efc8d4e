"""Write a sample to a folder: its notes, sampling frame and table of strata, and projects for annotation tools.

The folder is written under a temporary name and moved when it is complete. Only its owner can read it. In the projects
for INCEpTION, brat and Label Studio, notes are named by their number in the sample instead of their id.
"""

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import Errors, InputError
from ..evaluation.cas import make_tagset, write_cas_json
from ..evaluation.documents import AnnotatedText, write_text
from ..evaluation.formats import make_config, write_tasks
from ..evaluation.standoff import write_brat
from ..io import whole_folder
from ..labels import LABELS
from .sample import Group, Sample

_INCEPTION = """Import into INCEpTION

1. Make a project from the template "Basic annotation (span/relation)" or an empty one.
2. Settings, Tagsets: import tagset.json. Settings, Layers: let the feature "value" of "Named entity" use this tagset.
3. Settings, Documents: import the files of the folder documents as "UIMA CAS JSON (experimental)".

The files hold notes of patients. They are as confidential as the records.
"""


def export(documents: Sequence[AnnotatedText], folder: Path, tool: str, *, model: str = "") -> None:
    """Write the notes as a project for an annotation tool.

    documents (Sequence[AnnotatedText]): the notes, with the entities that a pipeline predicted as pre-annotation.
    folder (Path): folder to create.
    tool (str): a key of `EXPORTS`.
    model (str): name of the pipeline that made the pre-annotation; "" for none.
    """
    folder.mkdir()
    EXPORTS[tool](documents, folder, model)


def _export_inception(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """Write an INCEpTION project: one UIMA CAS JSON file per note, a tagset and instructions for the import."""
    (folder / "documents").mkdir()
    for document in documents:
        write_cas_json(document, folder / "documents")
    write_text(folder / "tagset.json", json.dumps(make_tagset(), indent=1) + "\n")
    write_text(folder / "README.txt", _INCEPTION)


def _export_brat(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """Write a brat project: NAME.txt and NAME.ann of each note, and the annotation configuration."""
    for document in documents:
        write_brat(document, folder)
    sections = {"entities": [*LABELS], "relations": [], "events": [], "attributes": []}
    lines = [line for name, labels in sections.items() for line in (f"[{name}]", *labels, "")]
    write_text(folder / "annotation.conf", "\n".join(lines))


def _export_label_studio(documents: Sequence[AnnotatedText], folder: Path, model: str) -> None:
    """Write a Label Studio project: one list of tasks and the labelling configuration."""
    write_tasks(documents, folder / "tasks.json", model=model)
    write_text(folder / "config.xml", make_config())


EXPORTS: Mapping[str, Callable[[Sequence[AnnotatedText], Path, str], None]] = MappingProxyType(
    {"inception": _export_inception, "brat": _export_brat, "label-studio": _export_label_studio}
)


_NAMES = {"sample.jsonl", "frame.json", "groups.csv", "inception", "brat", "label-studio"}
_COLUMNS = ("note_type", "period", "documents", "mean_words", "weight", "planned", "drawn", "patients")


def check_place(folder: Path, overwrite: bool) -> None:
    """Check that a sample can be written to a folder, before the table is read.

    folder (Path): the folder to write to.
    overwrite (bool): whether an existing sample may be replaced.
    RAISES: InputError if the folder contains other files (D750), or a sample that may not be replaced (D409).
    """
    if not os.path.lexists(folder):
        return
    if not folder.is_dir() or not {path.name for path in folder.iterdir()} <= _NAMES:
        raise InputError(Errors.D750.format(path=folder))
    if not overwrite and any(folder.iterdir()):
        raise InputError(Errors.D409.format(count=1, path=folder, other="another place to write to"))


def write_sample(
    sample: Sample,
    folder: Path,
    *,
    tools: Sequence[str] = (),
    documents: Sequence[AnnotatedText] = (),
    model: str = "",
    overwrite: bool = False,
) -> None:
    """Write a sample to a folder. Either the whole sample is written or nothing.

    sample (Sample): the sample.
    folder (Path): the folder to write to.
    tools (Sequence[str]): annotation tools to write projects for, keys of `EXPORTS`.
    documents (Sequence[AnnotatedText]): the notes with pre-annotations; empty to export notes without annotations.
    model (str): name of the pipeline that made the pre-annotations.
    overwrite (bool): whether an existing sample may be replaced.
    RAISES: InputError if the folder contains other files (D750) or a sample that may not be replaced (D409), or cannot
        be written (D402).
    """
    check_place(folder, overwrite)
    notes = documents or [AnnotatedText(note.name, note.text) for note in sample.notes]
    with whole_folder(folder) as temporary:
        _write_notes(sample, temporary / "sample.jsonl")
        write_text(temporary / "frame.json", json.dumps(sample.frame(), ensure_ascii=False, indent=1) + "\n")
        _write_groups(sample.groups, temporary / "groups.csv")
        for tool in tools:
            export(notes, temporary / tool, tool, model=model)


def _write_notes(sample: Sample, path: Path) -> None:
    """Write the notes as JSON lines. "weight" is the number of notes in the stratum that a drawn note represents."""
    lines = []
    for note in sample.notes:
        group = note.group
        record: dict[str, Any] = {
            "id": note.name,
            "text": note.text,
            "entities": [],
            "note_id": note.note_id,
            "patient_id": note.patient_id,
            "note_type": group.note_type,
            "period": group.period,
            "row": note.row,
            "has_identifiers": note.identified,
            "weight": round(group.documents / group.drawn, 6),
        }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))


def _write_groups(groups: Sequence[Group], path: Path) -> None:
    """Write the table of strata as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_COLUMNS, "with_identifiers"])
        for group in groups:
            figures = [group.documents, round(group.mean_words, 2), round(group.weight, 2), group.planned]
            counts = [group.drawn, group.patients, "" if group.with_identifiers is None else group.with_identifiers]
            writer.writerow([group.note_type, group.period, *figures, *counts])
