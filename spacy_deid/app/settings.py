"""What the service is told when it starts, and what a job is told."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import ConfigError, Errors
from ..io import check_encoding
from ..labels import LABELS
from ..llm.prompts import shipped_prompts
from ..vault.encryption import check_outside

__all__ = ["SCANS", "JobSettings", "LlmSettings", "ServiceSettings", "is_loopback"]

TOKEN_LENGTH = 16
COLUMNS = ("text", "keep", "drop", *(f"label:{name}" for name in LABELS))
SCANS = ("ocr", "pictures", "codes", "unread", "verify_ocr")  # settings of scans and pictures
PROMPTS = tuple(sorted({name.partition("/")[2] for name in shipped_prompts()}))


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine and nothing else.

    host (str): "localhost" or an address.
    RETURNS (bool): False for every other name, whatever it resolves to.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of the service.

    data (Path): folder of the queue and of the files of jobs; nobody else may read it.
    host, port (str, int): where it listens.
    names (tuple[str]): names that it is reached by beside its address, as that of a proxy before it.
    token (str): what each request must bring; "" only if the service is reached from this machine alone.
    pipelines (tuple[str]): pipelines that may be chosen, the first one is the default.
    dictionaries (Optional[Path]): folder of the hospital's own dictionaries, which all pipelines use.
    project_key (Optional[Path]): file of the key that surrogates come from; without it there is no style "surrogate".
    files_key (Optional[Path]): file of a key that the files of jobs are sealed with; None to leave them as they are.
    keep_hours (float): hours after which a job and its files are deleted.
    max_mb (int): megabytes that a file may have.
    max_files (int): files that a job may have.
    max_job_mb (int): megabytes that the files of a job may have together; twice that is taken in at once.
    file_minutes (float): minutes that the worker may need for a file.
    workers (int): processes that work on files, and as many that work on texts.
    worker_gb (float): gigabytes of memory that each may ask for; 0 for no bound.
    llm (tuple[str]): local LLMs that may be chosen: addresses of servers or GGUF files.
    llm_prompts (tuple[Path]): files of prompts that may be chosen beside those that ship, by their names.
    llm_allow (tuple[str]): hosts beside this machine that an address may name.
    RAISES: ConfigError if others reach it and there is no token, or a short one (D907), or one that no header can
        carry (D922).
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    pipelines: tuple[str, ...] = ("es", "en", "fi")
    dictionaries: Path | None = None
    project_key: Path | None = None
    files_key: Path | None = None
    keep_hours: float = 24.0
    max_mb: int = 50
    max_files: int = 500
    max_job_mb: int = 500
    file_minutes: float = 30.0
    workers: int = 1
    worker_gb: float = 8.0
    llm: tuple[str, ...] = ()
    llm_prompts: tuple[Path, ...] = ()
    llm_allow: tuple[str, ...] = ()

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts that may be chosen: name → name of one that ships, or path.

        Whoever asks names no path: which files of this machine are read is not for them to say.
        """
        return {name: name for name in PROMPTS} | {path.stem: str(path) for path in self.llm_prompts}

    def __post_init__(self) -> None:
        public = next((host for host in (self.host, *self.names) if not is_loopback(host)), None)
        if public is not None and len(self.token) < TOKEN_LENGTH:
            raise ConfigError(Errors.D907.format(host=public, length=TOKEN_LENGTH))
        if not all("!" <= character <= "~" for character in self.token):
            raise ConfigError(Errors.D922)
        for key in filter(None, (self.project_key, self.files_key)):
            check_outside(key, self.data, "the folder of the service's jobs")


# setting → key of ``doc._.ehr``: what says who the patient is, and is in nothing that is handed out
FACTS = {"patient_id": "patient_id", "note_date": "note_date", "patient_name": "name", "patient_sex": "sex"}


class LlmSettings(BaseModel):
    """A local LLM beside the pipeline's own detectors."""

    model_config = ConfigDict(extra="forbid")

    location: str = Field(description="One of the LLMs that the service offers: an address, or a GGUF file")
    prompt: str = Field(default="", description="Name of a prompt; empty for that of the pipeline's language")
    model: str = Field(default="", description="Model that the server is asked for; empty for its own")
    labels: list[str] = Field(
        default_factory=list, description="Canonical labels to ask for; empty for the usual ones"
    )


class JobSettings(BaseModel):
    """How the files of a job are de-identified."""

    model_config = ConfigDict(extra="forbid")

    pipeline: str = Field(default="", description="Name of a pipeline; empty for the first that the service offers")
    operating_point: Literal["", "balanced", "high_recall", "max_recall"] = Field(
        default="", description="Empty for the one that the pipeline was saved with"
    )
    style: Literal["tag", "numbered", "mask", "remove", "surrogate"] = Field(
        default="tag", description="What stands in place of what is removed"
    )
    policy: Literal["strict", "safe_harbor", "limited_data_set"] = Field(
        default="strict", description="What is done with each label"
    )
    patient_id: str = Field(
        default="", description="Whose documents they are: one identity, and what dictionaries know of the patient"
    )
    note_date: str = Field(default="", description="Date of the documents in ISO 8601, which surrogates refer to")
    patient_name: str = Field(default="", description="The patient's full name, for surrogates of its parts")
    patient_sex: Literal["", "female", "male"] = Field(default="", description="The patient's sex, for surrogates")
    ocr_languages: list[str] = Field(
        default_factory=list, description="Languages of pictures, as Tesseract calls them; empty for the pipeline's"
    )
    ocr: Literal["auto", "always"] = Field(
        default="auto", description="Pages that OCR reads: those without usable text, or every page"
    )
    pictures: Literal["ocr", "remove", "keep"] = Field(
        default="ocr", description="Pictures in documents that have text: read by OCR, removed, or kept unread"
    )
    codes: Literal["remove", "keep"] = Field(
        default="remove", description="Bar codes and matrix codes: removed, or not looked for"
    )
    unread: Literal["keep", "remove"] = Field(
        default="keep", description="What OCR did not read on a scan, as handwriting, stamps and photographs"
    )
    verify_ocr: Literal["ocr", "all", "none"] = Field(
        default="ocr", description="Pages of the copy that OCR reads again: those it read before, all, or none"
    )
    encoding: str = Field(default="", description="Encoding of texts and tables that say none; empty for UTF-8")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Columns of tables: name → text, keep, drop or label:NAME; others are text"
    )
    llm: LlmSettings | None = Field(default=None, description="A local LLM beside the pipeline's detectors")

    def check(self, service: ServiceSettings) -> "JobSettings":
        """Make sure that the service offers what is asked for.

        RETURNS (JobSettings): with the pipeline's name filled in.
        RAISES: ConfigError (D422, D908, D914).
        """
        if self.note_date and not _is_date(self.note_date):
            raise ConfigError(Errors.D422.format(name="note_date", wanted="date in ISO 8601, as 2024-11-30"))
        chosen = self.model_copy(update={"pipeline": self.pipeline or service.pipelines[0]})
        _check("pipeline", chosen.pipeline, service.pipelines)
        if chosen.encoding:
            check_encoding(chosen.encoding)
        if chosen.llm:
            _check("llm", chosen.llm.location, service.llm)
            _check("prompt", chosen.llm.prompt, ("", *service.prompts))
            for label in chosen.llm.labels:
                _check("labels", label, tuple(LABELS))
        for action in chosen.columns.values():
            _check("columns", action, COLUMNS)
        if chosen.style == "surrogate" and service.project_key is None:
            raise ConfigError(Errors.D914)
        return chosen


def _is_date(text: str) -> bool:
    """Whether a text is a date in ISO 8601."""
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _check(setting: str, value: str, known: Sequence[str]) -> None:
    """Make sure that a value is one that is offered."""
    if value not in known:
        offered = ", ".join(filter(None, known)) or "none"
        raise ConfigError(Errors.D908.format(setting=setting, value=_short(value), known=offered))


def _short(value: Any) -> str:
    """A value for an error: what was sent may be anything."""
    return ascii(str(value))[1:-1][:40]
