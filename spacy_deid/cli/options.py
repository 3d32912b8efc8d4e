"""Defines the options that several commands share, groups of options, ``--config``, and checks of paths.

A group is a dataclass. A command has one argument per group, and `grouped` turns each field into an option. ``--help``
lists the options of a group in a panel with its name:

    @grouped
    def redact(paths: Paths, detection: DetectionOptions, output: OutputOptions) -> None: ...
"""

import dataclasses
import inspect
import os
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast, get_args, get_type_hints
from urllib.parse import urlsplit

import typer

from ..documents import ReadSettings, WriteSettings
from ..documents.tables import read_columns
from ..errors import ConfigError, Errors, InputError, describe
from ..io import Job, check_encoding, find_notes, plan
from ..labels import LABELS
from ..lang import get_language
from ..notes import open_source
from ..notes.source import NoteSource
from ..vault.encryption import check_outside
from .console import reporting, say

JSONL_HINT = " (.jsonl files need --text-field)"
_REVIEW_SHARE = 10  # a note may have up to this many times the average of the review budget


Style = Literal["tag", "numbered", "mask", "remove", "surrogate"]
Format = Literal["brat", "i2b2", "jsonl", "spacy", "cas", "xmi"]
Scheme = Literal["canonical", "meddocan", "i2b2", "grascco"]

CasLayer = Annotated[
    str | None,
    typer.Option("--layer", help="Layer of the identifiers in CAS files, TYPE:FEATURE. Default: a known layer."),
]
Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Notes: .txt or .jsonl files, or folders of them.")
]
Pipeline = Annotated[str, typer.Option(help="Shipped pipeline, folder, or installed package.")]
OperatingPoint = Annotated[
    str | None, typer.Option(help="Operating point of the classifier: balanced, high_recall, max_recall or another.")
]
Dictionaries = Annotated[
    Path | None, typer.Option(help="Folder of the hospital's dictionaries, made by 'dictionary build'.")
]
PatientField = Annotated[str | None, typer.Option(help="Key or column of the patient's id in each row.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the notes, for reading and writing.")]
OutputFolder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder to write to. It gets the tree of the input.")
]
OutputFile = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
OptionalJson = Annotated[Path | None, typer.Option("--output", "-o", help="JSON file to write the figures to.")]
Metrics = Annotated[Path | None, typer.Option(help="JSON file of metric rows to add the figures to.")]
Bootstrap = Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
TextField = Annotated[str | None, typer.Option(help="Key of the note in each row of a JSONL file.")]
Key = Annotated[
    Path | None, typer.Option(help="File of the project key, for the style 'surrogate'. 'key new' makes one.")
]
SaltFile = Annotated[
    Path | None,
    typer.Option("--salts", help="File of the patients' salts. Deleting a salt makes its patient's notes unlinkable."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files, but never the input.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Skip notes whose output exists and is not older, as after an interruption. It does not check whether "
        "the output was written with the same settings.",
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Number of notes in a batch.")]
Processes = Annotated[int, typer.Option("--n-process", min=1, help="Number of worker processes.")]


def check_new(path: Path, overwrite: bool) -> None:
    """Check that an output does not exist yet, unless ``--overwrite`` is given.

    RAISES: InputError (D409) if it does.
    """
    if os.path.lexists(path) and not overwrite:
        raise InputError(Errors.D409.format(count=1, path=path, other="another place"))


def check_secrets(secrets: Iterable[Path | None], notes: Iterable[Path], output: Path | None) -> None:
    """Check that no secret of a run is in a folder of notes or in the folder of released files.

    secrets (Iterable[Optional[Path]]): files of keys, salts and vaults; None for those that are not used.
    notes (Iterable[Path]): files and folders that are read.
    output (Optional[Path]): folder that is written to.
    RAISES: ConfigError (D653) that names the secret and the folder.
    """
    folders = [(path, "a folder of notes") for path in notes]
    folders += [(output, "the folder of what is released")] if output else []
    for secret in filter(None, secrets):
        for folder, what in folders:
            check_outside(secret, folder, what)


def open_notes(where: str, *, table: str = "", encoding: str = "utf-8") -> NoteSource:
    """Open a table of notes that is named on the command line.

    where (str): location as for `notes.open_source`.
    table (str): table of a database.
    encoding (str): encoding of CSV and JSONL files.
    RETURNS (NoteSource): the opened table; close it with `close`.
    RAISES: ConfigError (D429) for a database URL with a password; InputError as `notes.open_source`.
    """
    try:
        secret = urlsplit(where).password if "://" in where else None
    except ValueError:
        secret = "?"
    if secret:
        raise ConfigError(Errors.D429)
    return open_source(where, table=table, encoding=check_encoding(encoding))


def plan_notes(
    paths: list[Path],
    output: Path,
    suffixes: Sequence[str],
    targets: Callable[[Path], Sequence[Path]],
    hint: str = "",
    **settings: Any,
) -> tuple[list[Job], int]:
    """Decide which notes are read and which files are written.

    paths (list[Path]): files and folders to read.
    output (Path): folder to write to. Files in it are not read.
    suffixes (Sequence[str]): suffixes of the files to read.
    targets (Callable): returns the files to write for a relative path.
    hint (str): end of the error message if there are no notes, about other files that could be read.
    settings (Any): keyword arguments of `io.plan`.
    RETURNS (tuple[list[Job], int]): the jobs, and the number of skipped notes.
    RAISES: InputError if there are no notes (D406), or as `io.find_notes` and `io.plan`.
    """
    notes, others = find_notes(paths, suffixes, skip=output)
    if not notes:
        raise InputError(Errors.D406.format(path=paths[0], count=others, jsonl=hint))
    if others:
        say(f"{others} other file(s) ignored" + (hint if hint == JSONL_HINT else ""))
    return plan(notes, targets, **settings)


def repeat_command(context: typer.Context, *left_out: str) -> str:
    """Rebuild the command line of a run, to document a result. Paths outside the working folder are reduced to names.

    context (typer.Context): context of the command.
    left_out (str): names of parameters to omit, because they do not change the result.
    RETURNS (str): the command, such as "spacy-deid surprisal evaluate gold --lang es".
    """
    words = ["spacy-deid", *context.command_path.split()[-2:]]
    for parameter in context.command.params:
        value = context.params[parameter.name or ""]
        if value in (None, "") or parameter.name in left_out:
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            path = Path(str(one))
            if path.is_absolute():
                one = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name
            words += [parameter.opts[0]] if parameter.param_type_name == "option" else []
            words.append(str(one))
    return shlex.join(words)


def read_config(path: Path, command: Any) -> dict[str, Any]:
    """Read the options of a command from a file.

    path (Path): a TOML file, or a .cfg file as spaCy reads it. Its keys are the names of options without dashes in
        front, in a table named after the command or outside of any table.
    command (click.Command): the command.
    RETURNS (dict[str, Any]): name of the parameter → value.
    RAISES: ConfigError (D426) for a file that cannot be read, an unknown key, or a list for an option that takes one
        value.
    """
    from thinc.api import Config

    try:
        data = Config().from_disk(path) if path.suffix == ".cfg" else tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(Errors.D426.format(path=path, reason=describe(error))) from None
    except (ValueError, RecursionError):  # the message may quote a value
        raise ConfigError(Errors.D426.format(path=path, reason="not a valid TOML or .cfg file")) from None
    if set(data) == {command.name} and isinstance(data[command.name], Mapping):
        data = data[command.name]
    options = {
        option.removeprefix("--"): each for each in command.params for option in each.opts if option[:2] == "--"
    }
    del options["config"]
    values: dict[str, Any] = {}
    for key, value in data.items():
        option = options.get(key)
        if option is None:
            known = ", ".join(sorted(options))
            raise ConfigError(Errors.D426.format(path=path, reason=f"unknown option '{key}'. Known options: {known}"))
        if (isinstance(value, list) and not option.multiple) or isinstance(value, Mapping):
            raise ConfigError(Errors.D426.format(path=path, reason=f"'{key}' takes a single value"))
        values[option.name] = [value] if option.multiple and not isinstance(value, list) else value
    return values


def _use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the options in a file as defaults of the command; options on the command line take precedence. Returns the
    path, which is None if no file is given.
    """
    if path is not None:
        with reporting():
            context.default_map = read_config(path, context.command)
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=_use_config,
        help="TOML or .cfg file with options of this command, by their names. Options on the command line win.",
    ),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the arguments of a command that are groups into one option per field.

    command (Callable): a command. Arguments with a dataclass as their type are groups; the class attribute ``panel``
        of the dataclass is the name of the panel in ``--help``.
    RETURNS (Callable): a function with the options as arguments, which typer can register.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind
        field_types = get_type_hints(kind, include_extras=True)
        for item in dataclasses.fields(kind):
            default = parameter.empty if item.default is dataclasses.MISSING else item.default
            base, option = get_args(field_types[item.name])
            option = copy(option)
            option.rich_help_panel = cast(Any, kind).panel
            option_type: Any = Annotated[base, option]  # type: ignore[valid-type]
            parameters.append(
                inspect.Parameter(item.name, parameter.KEYWORD_ONLY, default=default, annotation=option_type)
            )

    @wraps(command)
    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{item.name: values.pop(item.name) for item in dataclasses.fields(kind)})
        command(**values)

    ordered = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return run


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """Options of a command: the pipeline and its detectors."""

    panel: ClassVar[str] = "Detection"

    pipeline: Pipeline
    operating_point: OperatingPoint = None
    dictionaries: Dictionaries = None
    without_patient: Annotated[
        Literal["institution", "refuse"] | None,
        typer.Option(
            help="For a note without a patient id or with an unknown one: search it for the terms of the institution "
            "alone, or refuse it."
        ),
    ] = None
    surprisal: Annotated[
        float | None, typer.Option(help="Treat every word as an identifier that a language model scores above this.")
    ] = None
    surprisal_model: Annotated[
        str | None, typer.Option(help="Masked language model: a language with a shipped model, or a folder.")
    ] = None
    llm: Annotated[
        str | None, typer.Option(help="Local language model to ask: a GGUF file, or a server, http://127.0.0.1:8080.")
    ] = None
    llm_prompt: Annotated[
        str | None, typer.Option(help="Prompt of the language model: zero_shot.v2, one_shot.v2 or a .toml file.")
    ] = None
    llm_allow: Annotated[
        list[str] | None,
        typer.Option(help="Host other than this machine that the server may run on: name, address or network."),
    ] = None

    def settings(self, review_budget: float | None = None) -> dict[str, Any]:
        """Make the arguments of a `Deidentifier`.

        review_budget (Optional[float]): number of spans to review per 1,000 words of all notes together; None for the
            default.
        RETURNS (dict[str, Any]): keyword arguments for detection.
        """
        surprisal: dict[str, Any] = {"threshold": self.surprisal, "model": self.surprisal_model}
        if review_budget is not None:
            surprisal["review_per_1000"] = review_budget * _REVIEW_SHARE
        surprisal = {name: value for name, value in surprisal.items() if value is not None}
        server = {"allow": list(self.llm_allow)} if self.llm_allow else None
        llm = {"model": self.llm, "prompt": self.llm_prompt, "server": server}
        return {
            "operating_point": self.operating_point,
            "dictionaries": self.dictionaries,
            "without_patient": self.without_patient,
            "surprisal": surprisal or None,
            "llm": {name: value for name, value in llm.items() if value} if self.llm else None,
        }


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of a command: what is done with each label, and the key of surrogates."""

    panel: ClassVar[str] = "Policy and surrogates"

    policy: Annotated[
        str | None,
        typer.Option(help="What is done with each label: strict, safe_harbor, limited_data_set, a .toml."),
    ] = None
    style: Annotated[Style | None, typer.Option(help="How replaced spans are written.")] = None
    key: Key = None
    salts: SaltFile = None


@dataclass(frozen=True, slots=True)
class ReleaseOptions(PolicyOptions):
    """Options of a command: what is done with each label, and the secrets that this needs."""

    panel: ClassVar[str] = "Policy and surrogates"

    vault: Annotated[
        Path | None,
        typer.Option(help="Encrypted file that stores the originals of the released notes. Made if it is missing."),
    ] = None
    vault_key: Annotated[
        Path | None, typer.Option(help="File of the vault's key, in another folder. 'key new' makes one.")
    ] = None


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Options of a command: how PDF files, scans, tables and other files are read and written."""

    panel: ClassVar[str] = "Documents"

    ocr_language: Annotated[
        list[str] | None,
        typer.Option(help="Language of scans and pictures, as Tesseract names it. Default: that of the pipeline."),
    ] = None
    ocr: Annotated[
        Literal["auto", "always"],
        typer.Option(help="Pages to read by OCR: 'auto' those without usable text, 'always' all pages."),
    ] = "auto"
    pictures: Annotated[
        Literal["ocr", "remove", "keep"],
        typer.Option(
            help="Pictures in documents that have text: 'ocr' reads them, 'remove' paints them over, or 'keep'."
        ),
    ] = "ocr"
    codes: Annotated[
        Literal["remove", "keep"],
        typer.Option(help="Bar codes and QR codes: 'remove' paints them over, 'keep' does not look for them."),
    ] = "remove"
    unread: Annotated[
        Literal["keep", "remove"],
        typer.Option(
            help="Parts of a scan that OCR did not read, such as handwriting, stamps and photographs: keep or remove."
        ),
    ] = "keep"
    verify_ocr: Annotated[
        Literal["ocr", "all", "none"],
        typer.Option(help="Pages of the copy to verify by OCR: 'ocr' for those that OCR read in the original."),
    ] = "ocr"
    columns: Annotated[
        Path | None,
        typer.Option(help="TOML file that says for each column of a table: text, label:NAME, keep or drop."),
    ] = None
    file_minutes: Annotated[float, typer.Option(min=0, help="Time limit of a document in minutes, 0 for none.")] = 30

    def settings(self, lang: str, encoding: str) -> WriteSettings:
        """Make the settings for reading and writing documents.

        lang (str): language of the pipeline.
        encoding (str): encoding of tables and texts.
        RETURNS (WriteSettings): the settings for writing, with those for reading in `read`.
        RAISES: ConfigError (D721) if the file of ``--columns`` is invalid.
        """
        read = ReadSettings(
            encoding=encoding,
            languages=tuple(self.ocr_language or [get_language(lang).ocr_language]),
            ocr=self.ocr,
            pictures=self.pictures,
            codes=self.codes,
            columns=read_columns(self.columns, LABELS) if self.columns else {},
        )
        return WriteSettings(unread=self.unread, verify_ocr=self.verify_ocr, read=read)
