"""Define the settings of a run, and compute a fingerprint of everything that its output depends on.

Settings are plain values and absolute paths, which workers read from a file. Each worker opens pipelines, dictionaries
and keys itself, so that no task, closure or log contains a secret.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from ..data_models.model import CODE, DATE, DATETIME, HASH, ID, KEEP, NUMBER, TEXT, DataModel
from ..data_models.people import CONTENT
from ..deidentifier import Deidentifier
from ..ehr_fields import RowFields
from ..errors import ConfigError, Errors
from ..io import read_bytes
from ..surrogates.keys import ProjectKey

FORMAT = 1
"""Version of the output format. It is part of the fingerprint, so that a new format is never mixed with an old one."""

RESERVED = ("edits", "trace", "status", "reason", "fingerprint")
"""Names of the columns that are added to every output table. Columns of the input must have other names."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table of notes, and what is done with each. Columns that are not named are not in the output.

    note_id (str): column with the id of a note; it has the same name in the output.
    texts (tuple[str, ...]): columns to de-identify. Each cell is processed as a separate text.
    labels (Mapping[str, str]): column → label. The whole cell is replaced, as an identifier with this label.
    keep (tuple[str, ...]): columns to copy. They are not de-identified.
    note_type (Optional[str]): column with the type of a note, for the counts of the report.
    fields (RowFields): columns with the EHR context of a note, such as the patient id.
    dates (tuple[str, ...]): columns with dates in ISO 8601. The date is de-identified as one in a text; a time of day
        after it is left out.
    RAISES: ConfigError (D950) if there is no text column, or a column has two roles or a name of `RESERVED`.
    """

    note_id: str = "note_id"
    texts: tuple[str, ...] = ("text",)
    labels: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    note_type: str | None = None
    fields: RowFields = field(default_factory=RowFields)
    dates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        written = [self.note_id, *self.texts, *self.labels, *self.keep, *self.dates]
        if not self.texts or not all(written):
            raise ConfigError(Errors.D950.format(reason="a note id column and at least one text column are required"))
        for name in written:
            if name in RESERVED:
                reason = f"column '{name}' has the name of a column of the output. Rename it"
                raise ConfigError(Errors.D950.format(reason=reason))
            if written.count(name) > 1:
                raise ConfigError(Errors.D950.format(reason=f"column '{name}' has two roles"))

    @property
    def read(self) -> list[str]:
        """Names of all columns that are read, in a fixed order and without duplicates."""
        optional = [self.note_type, *self.fields]
        names = [
            self.note_id,
            *self.texts,
            *self.labels,
            *self.keep,
            *self.dates,
            *(name for name in optional if name),
        ]
        return list(dict.fromkeys(names))

    @property
    def written(self) -> tuple[str, ...]:
        """The columns whose values are de-identified: texts, labels and dates."""
        return (*self.texts, *self.labels, *self.dates)

    @classmethod
    def of_model(cls, model: DataModel) -> Self:
        """Return the columns of a data model; its columns with ids and codes are only read."""
        others = model.columns_with(NUMBER, CODE, ID, HASH, KEEP)
        return cls(
            model.id,
            tuple(model.columns_with(TEXT)),
            keep=tuple(name for name in others if name != model.id),
            note_type=model.type or None,
            fields=RowFields(model.person, model.date),
            dates=tuple(model.columns_with(DATE, DATETIME)),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create an instance from the plain values of `dataclasses.asdict`, also after storing them as JSON."""
        lists = {name: tuple(data[name]) for name in ("texts", "keep", "dates")}
        return cls(**{**data, **lists, "fields": RowFields(*data["fields"])})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run. The fields that are not listed here are arguments of `Deidentifier`.

    pipeline (str): name of a shipped pipeline, a folder, or an installed package.
    columns (TableColumns): the columns of the input.
    audit (bool): whether to count what would be removed and to write no text.
    batch_size (int): maximum number of texts that the pipeline processes together. It does not affect the output.
    gpu (bool): whether each worker uses a GPU of its own, for transformer pipelines. A transformer takes its batches
        by tokens (``max_batch_items``).
    data_model (Optional[Mapping]): the data model, as from `DataModel.to_json`; None for a table that has none.
        `columns` are those of the model, and ids depend on the key, whatever the style.
    """

    pipeline: str
    columns: TableColumns = field(default_factory=TableColumns)
    operating_point: str | None = None
    dictionaries: str | None = None
    without_patient: str | None = None
    surprisal: Mapping[str, Any] | None = None
    llm: Mapping[str, Any] | None = None
    policy: str | None = None
    style: str | None = None
    key: str | None = None
    salts: str | None = None
    audit: bool = False
    batch_size: int = 64
    gpu: bool = False
    data_model: Mapping[str, Any] | None = None

    @property
    def model(self) -> DataModel | None:
        """The data model; None for a table that has none."""
        return DataModel.from_json(self.data_model) if self.data_model else None

    def resolve(self) -> "Settings":
        """Return the settings with absolute paths, for workers with another working folder. Other names are kept."""
        nested: dict[str, Any] = {
            name: {key: _resolve(value) if key in ("model", "prompt") else value for key, value in given.items()}
            for name in ("surprisal", "llm")
            if (given := getattr(self, name))
        }
        paths = ("pipeline", "dictionaries", "policy", "key", "salts")
        return replace(self, **nested, **{name: _resolve(getattr(self, name)) for name in paths})

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON. They contain paths of key files, but no secrets."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create settings from the value of `to_json`."""
        return cls(**{**data, "columns": TableColumns.from_json(data["columns"])})

    def open(self) -> Deidentifier:
        """Create the `Deidentifier` with these settings. RAISES: ConfigError as `Deidentifier`."""
        return Deidentifier(
            self.pipeline,
            operating_point=self.operating_point,
            dictionaries=self.dictionaries,
            without_patient=self.without_patient,
            surprisal=self.surprisal,
            llm=self.llm,
            policy=self.policy,
            style=self.style,
            key=self.key,
            salts=self.salts,
        )


def _resolve(name: Any) -> Any:
    """Return an absolute path if a value looks like a path (it has a slash or suffix), else the value unchanged."""
    return str(Path(name).absolute()) if isinstance(name, str) and ("/" in name or Path(name).suffix) else name


def fingerprint_files(settings: Settings) -> dict[str, str]:
    """Compute the parts of the fingerprint that can change during a run: the key, the dictionaries and the policy.

    settings (Settings): settings of the run.
    RETURNS (dict[str, str]): "key", "dictionaries" and "policy", as far as used → id, name or hash of the file,
        without secrets.
    RAISES: InputError (D402) or ConfigError (D640 – D642) if one of them cannot be read.
    """
    parts = {}
    if settings.key:
        parts["key"] = ProjectKey.from_file(settings.key).fingerprint
    if settings.dictionaries:  # its manifest has the random name of the build
        folder = Path(settings.dictionaries)
        content = folder.parent / CONTENT if settings.data_model else folder / "manifest.json"
        parts["dictionaries"] = _hash(read_bytes(content))
    if settings.policy:
        path = Path(settings.policy)
        parts["policy"] = _hash(read_bytes(path)) if path.suffix == ".toml" else settings.policy
    return parts


def fingerprint_parts(settings: Settings, deid: Deidentifier) -> dict[str, str]:
    """Compute the parts of the fingerprint: everything that the output of a run depends on besides the notes.

    settings (Settings): settings of the run.
    deid (Deidentifier): deidentifier created with `Settings.open`, before it has processed a note.
    RETURNS (dict[str, str]): name of a part → its version, name or hash. It contains no secrets.
    """
    made = deid.provenance
    pipeline = made["pipeline"]
    others = ("operating_point", "without_patient", "surprisal", "llm", "salts", "gpu")
    used = {name: getattr(settings, name) for name in others}
    used["salts"] = settings.salts is not None  # the path does not matter
    return {
        "pipeline": f"{pipeline['name']} {pipeline['version']} {pipeline['fingerprint']}",
        "detection": _hash(json.dumps([used, made.get("thresholds")], sort_keys=True, default=str).encode()),
        "policy": str(made["policy"]),
        "style": str(made["style"]),
        **fingerprint_files(settings),
        "columns": _hash(json.dumps([FORMAT, asdict(settings.columns), settings.data_model], sort_keys=True).encode()),
        "mode": "audit" if settings.audit else "release",
        "spacy_deid": version("spacy-deid"),
    }


def fingerprint_of(parts: Mapping[str, str]) -> str:
    """Combine the result of `fingerprint_parts` to one fingerprint. RETURNS (str): 16 hexadecimal digits."""
    return _hash(json.dumps(parts, sort_keys=True).encode())


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Compare two results of `fingerprint_parts`. RETURNS (list[str]): sorted names of the parts that differ."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _hash(data: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]
