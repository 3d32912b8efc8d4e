"""Options that several commands have, each said once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "LLM",
    "BatchSize",
    "CasLayer",
    "DateField",
    "Dictionaries",
    "Encoding",
    "Format",
    "LLMAllow",
    "LLMPrompt",
    "MissingPatient",
    "NameField",
    "OperatingPoint",
    "OutputFolder",
    "Overwrite",
    "Paths",
    "PatientField",
    "Pipeline",
    "Processes",
    "RejectsFile",
    "Resume",
    "Review",
    "ReviewBudget",
    "Scheme",
    "SexField",
    "Style",
    "Surprisal",
    "SurprisalModel",
    "TextField",
    "WithoutPatient",
]


class Style(StrEnum):
    """How replaced spans are written."""

    tag = "tag"
    numbered = "numbered"
    mask = "mask"
    remove = "remove"
    surrogate = "surrogate"


class MissingPatient(StrEnum):
    """What becomes of a note whose patient the dictionaries do not know."""

    institution = "institution"
    refuse = "refuse"


class Format(StrEnum):
    """Formats of annotation."""

    brat = "brat"
    i2b2 = "i2b2"
    jsonl = "jsonl"
    spacy = "spacy"
    cas = "cas"
    xmi = "xmi"


class Scheme(StrEnum):
    """Label schemes that a corpus of whole notes is annotated in."""

    canonical = "canonical"
    meddocan = "meddocan"
    i2b2 = "i2b2"
    grascco = "grascco"


CasLayer = Annotated[
    str | None,
    typer.Option("--layer", help="Where CAS files hold identifiers, TYPE:FEATURE; else a layer that is known."),
]
Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Notes: .txt or .jsonl files, or folders of them.")
]
Pipeline = Annotated[str, typer.Option(help="A pipeline that ships, a folder, or an installed package.")]
OperatingPoint = Annotated[
    str | None, typer.Option(help="Named point of the classifier: balanced, high_recall, max_recall or another.")
]
Dictionaries = Annotated[
    Path | None, typer.Option(help="Folder of the hospital's own dictionaries, from 'dictionary build'.")
]
WithoutPatient = Annotated[
    MissingPatient | None,
    typer.Option(
        help="A note without a patient id, or with an unknown one: search it for the terms of the institution alone, "
        "or refuse it."
    ),
]
PatientField = Annotated[
    str | None, typer.Option(help="Key of the patient's id in each row of a JSONL file, for the dictionaries.")
]
DateField = Annotated[
    str | None, typer.Option(help="Key of the note's date (ISO 8601) in each row of a JSONL file, for surrogates.")
]
NameField = Annotated[
    str | None, typer.Option(help="Key of the patient's full name in each row of a JSONL file, for surrogates.")
]
SexField = Annotated[
    str | None,
    typer.Option(help="Key of the patient's sex in each row of a JSONL file: female, male, other or unknown."),
]
Surprisal = Annotated[
    float | None, typer.Option(help="Take every word for an identifier that scores above this with a language model.")
]
SurprisalModel = Annotated[
    str | None, typer.Option(help="Masked language model: a language whose model ships, or a folder.")
]
LLM = Annotated[
    str | None,
    typer.Option(help="Ask a local language model too: a GGUF file, or a server, as http://127.0.0.1:8080."),
]
LLMPrompt = Annotated[str | None, typer.Option(help="Its prompt: zero_shot.v2, one_shot.v2 or a .toml file.")]
LLMAllow = Annotated[
    list[str] | None, typer.Option(help="Host other than this machine that its server may be: name, address, network.")
]
Review = Annotated[
    Path | None, typer.Option(help="JSONL file of what a person should look at: offsets and scores, no text.")
]
ReviewBudget = Annotated[
    float | None,
    typer.Option(min=0, help="Spans to look at for 1,000 words, the best of all notes; else some of every note."),
]
OutputFolder = Annotated[Path | None, typer.Option(help="Folder to write to; it keeps the tree of the input folder.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the notes, and of what is written.")]
RejectsFile = Annotated[
    Path | None,
    typer.Option("--rejects", help="JSONL file of the rows that failed: file, row and reason, no text. Else stderr."),
]
TextField = Annotated[str | None, typer.Option(help="Key of the note in each row of a JSONL file.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there. Never the input.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Skip notes whose output is there and not older, as after an interruption. Whether it was written by the "
        "same pipeline, policy and style is not checked.",
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Notes in a batch.")]
Processes = Annotated[int, typer.Option(min=1, help="Worker processes, for notes and documents.")]
