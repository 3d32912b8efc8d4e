"""Defines and checks the settings of the service and of jobs, and converts a browser's form to settings of a job."""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..dictionaries.store import LocalStore
from ..errors import ConfigError, Errors, InputError
from ..io import check_encoding
from ..labels import LABELS
from ..llm.prompts import load_prompt, shipped_prompts
from ..llm.server import Endpoint
from ..loading import find_pipeline
from ..surrogates.keys import ProjectKey
from ..vault.encryption import check_outside

TOKEN_LENGTH = 16
COLUMNS = ("text", "keep", "drop", *(f"label:{name}" for name in LABELS))
SCANS = ("ocr", "pictures", "codes", "unread", "verify_ocr")  # settings for scans and pictures
PROMPTS = tuple(sorted({name.partition("/")[2] for name in shipped_prompts()}))


def is_loopback(host: str) -> bool:
    """Whether a host is "localhost" or a loopback address; False for any other name, whatever it resolves to."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of the service, as given to ``spacy-deid serve``.

    data (Path): folder for the queue and the files of jobs, accessible only to its owner.
    host, port (str, int): address to listen on.
    names (tuple[str]): further host names of the service, such as that of a proxy.
    token (str): token that requests must send, with which a user may do everything; "" for none.
    users (Optional[Path]): file of the users, see `users.UserFile`. Without a token and users, every request is
        allowed, which is possible only on a loopback address.
    proxies (tuple[str]): addresses or networks of reverse proxies that name the user in a header.
    user_header (str): name of that header. It is ignored in requests from other addresses.
    pipelines (tuple[str]): available pipelines; the first is the default.
    dictionaries (Optional[Path]): folder of the hospital's dictionaries, used by all pipelines.
    project_key (Optional[Path]): file of the project key; required for the style "surrogate".
    files_key (Optional[Path]): file of the key that encrypts the files of jobs; None to store them unencrypted.
    keep_hours (float): hours until a job and its files are deleted.
    max_mb (int): size limit of a file in megabytes.
    max_files (int): maximal number of files per job.
    max_job_mb (int): size limit of the files of a job in megabytes. All requests together may hold twice as much.
    file_minutes (float): time limit per file in minutes.
    workers (int): number of worker processes for files, and the same number for texts.
    worker_gb (float): memory limit of each worker process in gigabytes; 0 for none.
    llm (tuple[str]): available local LLMs: URLs of servers or GGUF files.
    llm_prompts (tuple[Path]): prompt files that are available by their names, in addition to the shipped prompts.
    llm_allow (tuple[str]): hosts other than this machine that an LLM URL may contain.
    webhook_key (Optional[Path]): file of the secret that signs webhooks; None for no webhooks.
    webhook_allow (tuple[str]): hosts, addresses or networks that webhooks may be sent to.
    preload (bool): whether pipelines are loaded when the service starts; otherwise when they are first used.
    RAISES: ConfigError if the service is reachable from other machines without users or a token of sufficient length
        (D907), the token has characters that a header cannot contain (D922), or a proxy is not valid (D972).
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    users: Path | None = None
    proxies: tuple[str, ...] = ()
    user_header: str = "X-Forwarded-User"
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
    webhook_key: Path | None = None
    webhook_allow: tuple[str, ...] = ()
    preload: bool = False

    @property
    def prompts(self) -> dict[str, str]:
        """Available prompts: name → name of a shipped prompt, or path. Clients choose by name, so that they cannot
        name a file of this machine.
        """
        return {name: name for name in PROMPTS} | {path.stem: str(path) for path in self.llm_prompts}

    def __post_init__(self) -> None:
        public = next((host for host in (self.host, *self.names) if not is_loopback(host)), None)
        if public is not None and len(self.token) < TOKEN_LENGTH and (self.token or self.users is None):
            raise ConfigError(Errors.D907.format(host=public, length=TOKEN_LENGTH))
        if not all("!" <= character <= "~" for character in self.token):
            raise ConfigError(Errors.D922)
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise ConfigError(Errors.D972.format(reason=f"'{ascii(proxy)[1:-1]}' is no address")) from None
        if self.proxies and self.users is None:
            raise ConfigError(Errors.D972.format(reason="the roles of its users are in the file given with --users"))
        for key in filter(None, (self.project_key, self.files_key, self.users, self.webhook_key)):
            check_outside(key, self.data, "the folder of the service's jobs")


# setting → key of ``doc._.ehr``. These settings identify the patient and are not part of any download.
EHR_SETTINGS = {"patient_id": "patient_id", "note_date": "note_date", "patient_name": "name", "patient_sex": "sex"}


class LlmSettings(BaseModel):
    """Settings of a local LLM that is used in addition to the detectors of the pipeline."""

    model_config = ConfigDict(extra="forbid")

    location: str = Field(description="One of the available LLMs: a URL or a GGUF file")
    prompt: str = Field(default="", description="Name of a prompt; empty for the default of the pipeline's language")
    model: str = Field(default="", description="Name of the model on the server; empty for its default")
    labels: list[str] = Field(
        default_factory=list, description="Canonical labels to ask for; empty for the default labels"
    )


class JobSettings(BaseModel):
    """Settings for de-identifying the files of a job."""

    model_config = ConfigDict(extra="forbid")

    pipeline: str = Field(default="", description="Name of a pipeline; empty for the default of the service")
    operating_point: Literal["", "balanced", "high_recall", "max_recall"] = Field(
        default="", description="Operating point of the classifier; empty for the pipeline's default"
    )
    style: Literal["tag", "numbered", "mask", "remove", "surrogate"] = Field(
        default="tag", description="How identifiers are replaced"
    )
    policy: Literal["strict", "safe_harbor", "limited_data_set"] = Field(
        default="strict", description="Which labels are replaced, generalized or kept"
    )
    patient_id: str = Field(
        default="", description="Id of the patient: gives consistent surrogates and selects the patient's dictionary"
    )
    note_date: str = Field(
        default="", description="Date of the documents in ISO 8601, the reference of incomplete dates"
    )
    patient_name: str = Field(default="", description="The patient's full name, for surrogates of its parts")
    patient_sex: Literal["", "female", "male"] = Field(default="", description="The patient's sex, for surrogates")
    ocr_languages: list[str] = Field(
        default_factory=list, description="Tesseract languages of pictures; empty for the pipeline's language"
    )
    ocr: Literal["auto", "always"] = Field(
        default="auto", description="Pages to read by OCR: pages without usable text, or all pages"
    )
    pictures: Literal["ocr", "remove", "keep"] = Field(
        default="ocr", description="Pictures in documents with text: read by OCR, removed, or kept unread"
    )
    codes: Literal["remove", "keep"] = Field(
        default="remove", description="Bar codes and matrix codes: removed, or ignored"
    )
    unread: Literal["keep", "remove"] = Field(
        default="keep",
        description="Areas of a scan that OCR did not read, such as handwriting, stamps and photographs",
    )
    verify_ocr: Literal["ocr", "all", "none"] = Field(
        default="ocr", description="Pages of the copy to verify by OCR: those read by OCR before, all, or none"
    )
    encoding: str = Field(
        default="", description="Encoding of texts and tables that do not declare one; empty for UTF-8"
    )
    columns: dict[str, str] = Field(
        default_factory=dict, description="Columns of tables: name → text, keep, drop or label:NAME; others are text"
    )
    llm: LlmSettings | None = Field(default=None, description="A local LLM in addition to the pipeline's detectors")

    def check(self, service: ServiceSettings) -> "JobSettings":
        """Check the settings against what the service offers.

        RETURNS (JobSettings): a copy in which the pipeline is set.
        RAISES: ConfigError for an invalid date (D422), a value that is not available (D908), or the style "surrogate"
            without a project key (D914).
        """
        if self.note_date and not _is_date(self.note_date):
            raise ConfigError(Errors.D422.format(name="note_date", wanted="date in ISO 8601, as 2024-11-30"))
        chosen = self.model_copy(update={"pipeline": self.pipeline or service.pipelines[0]})
        check_choice("pipeline", chosen.pipeline, service.pipelines)
        if chosen.encoding:
            check_encoding_name(chosen.encoding)
        if chosen.llm:
            check_choice("llm", chosen.llm.location, service.llm)
            check_choice("prompt", chosen.llm.prompt, ("", *service.prompts))
            for label in chosen.llm.labels:
                check_choice("labels", label, LABELS)
        for action in chosen.columns.values():
            check_choice("columns", action, COLUMNS)
        if chosen.style == "surrogate" and service.project_key is None:
            raise ConfigError(Errors.D914)
        return chosen


def _is_date(text: str) -> bool:
    """Whether a text is a date in ISO 8601."""
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def check_choice(setting: str, value: str, known: Collection[str]) -> str:
    """Check that a value that a client sent is among the available ones.

    setting (str): name of the setting.
    value (str): the value. The message does not quote it, because clients can send a note in the wrong place.
    known (Collection[str]): the available values.
    RETURNS (str): the value.
    RAISES: ConfigError (D908) if it is not available.
    """
    if value not in known:
        raise ConfigError(Errors.D908.format(setting=setting, known=", ".join(filter(None, known)) or "none"))
    return value


def check_encoding_name(encoding: str) -> None:
    """Check the name of an encoding that a client sent. RAISES: ConfigError (D908), which does not quote the name."""
    try:
        check_encoding(encoding)
    except ConfigError:
        known = "names that Python knows, such as utf-8 and latin-1"
        raise ConfigError(Errors.D908.format(setting="encoding", known=known)) from None


def check_settings(service: ServiceSettings) -> None:
    """Check that the pipelines, dictionaries, keys and language models of a service exist, before the first request.
    Nothing is loaded and no server is contacted.

    RAISES: ConfigError for a missing pipeline (D008), invalid dictionaries (D160 - D162), an invalid key (D640 -
        D642), a missing language model (D733) or a URL that is not allowed (D731).
    """
    for name in service.pipelines:
        find_pipeline(name)
    if service.dictionaries:
        LocalStore.open(service.dictionaries)
    if service.project_key:
        ProjectKey.from_file(service.project_key)
    for prompt in service.llm_prompts:
        load_prompt(str(prompt), "en")
    for location in service.llm:
        if "://" in location:
            Endpoint(location, service.llm_allow).resolve()
        elif not Path(location).is_file():
            raise ConfigError(Errors.D733.format(path=location, reason="there is no such file"))


class JobForm(BaseModel):
    """The form of a job, as a browser sends it: the fields of `JobSettings` as strings. Empty fields keep defaults.

    The fields below are those that the form writes in another way than `JobSettings`: `columns` has a line
    "name=action" per column, `ocr_languages` is separated by spaces or commas, and `llm` is the location of the LLM.
    """

    model_config = ConfigDict(extra="allow")

    columns: str = ""
    ocr_languages: str = ""
    llm: str = ""
    llm_prompt: str = ""
    llm_name: str = ""
    llm_labels: list[str] = []

    def settings(self) -> JobSettings:
        """Convert the form to settings.

        RAISES: InputError (D927) for invalid values.
        """
        sent = self.model_extra or {}
        given: dict[str, Any] = {name: sent[name] for name in JobSettings.model_fields if sent.get(name)}
        given["ocr_languages"] = self.ocr_languages.replace(",", " ").split()
        rows = [line.rpartition("=") for line in self.columns.splitlines() if line.strip()]
        given["columns"] = {name.strip(): action.strip() for name, _, action in rows}
        if self.llm:
            given["llm"] = {"location": self.llm, "prompt": self.llm_prompt, "model": self.llm_name}
            given["llm"]["labels"] = self.llm_labels
        try:
            return JobSettings(**given)
        except ValueError:
            raise InputError(Errors.D927) from None
