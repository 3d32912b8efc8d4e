"""Release policies: what is done with each label. A policy does not change what is detected.

A policy is a TOML file:

    name = "our_board"
    description = "What our privacy board agreed on."
    default = "replace"          # for every label that is not listed
    reference_year = 0           # optional; the year that ages are counted from, 0 is the year of the run
    sure = 0.9                   # optional; least score of the detections that a person's name is kept for
    [labels]
    SEX = "keep"
    AGE = "generalize"

Actions: "replace" (by the pipeline's surrogate style), "tag" (by its label, whatever the style), "generalize" (by
something coarser; what cannot be made coarser is replaced) and "keep". Names of persons (PATIENT, RELATIVE, CLINICIAN,
PERSON) are kept only where their label is beyond doubt, and replaced otherwise; see `surrogates.mention`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from .errors import ConfigError, Errors
from .labels import LABELS

Action = Literal["replace", "tag", "generalize", "keep"]
_ACTIONS: tuple[str, ...] = get_args(Action)
_KEYS = {"name", "description", "default", "reference_year", "sure", "labels"}
SURE = 0.9


@dataclass(frozen=True, slots=True)
class Policy:
    """One release policy.

    name (str): name, for the trace.
    default (str): action for the labels that are not listed.
    labels (Mapping[str, str]): canonical label → action.
    reference_year (int): the year that ages are counted from when years are generalized; 0 is the year of the run.
    sure (float): least score, above 0 and at most 1, of the detections that a person's name is kept for.
    """

    name: str
    default: str = "replace"
    labels: Mapping[str, str] = field(default_factory=dict)
    reference_year: int = 0
    sure: float = SURE

    @property
    def year(self) -> int:
        """The year that ages are counted from."""
        return self.reference_year or date.today().year

    def action(self, label: str) -> str:
        """The action for a canonical label."""
        return self.labels.get(label, self.default)

    def replaces(self, label: str) -> bool:
        """Whether spans with this label are always replaced."""
        return self.action(label) in ("replace", "tag")

    @property
    def replaces_all(self) -> bool:
        """Whether all detected spans are replaced."""
        return all(action in ("replace", "tag") for action in (self.default, *self.labels.values()))


def shipped_policies() -> list[str]:
    """Names of the shipped policies."""
    folder = files("spacy_deid") / "resources" / "policies"
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".toml"))


def load_policy(name: str) -> Policy:
    """Load a policy by name or from a file.

    name (str): "strict", "safe_harbor", "limited_data_set", or the path of a TOML file.
    RETURNS (Policy): the policy.
    RAISES: ConfigError if it is neither (D505) or the file is wrong (D506, naming the file and the key).
    """
    known = shipped_policies()
    path = Path(name)
    if name in known:
        source = (files("spacy_deid") / "resources" / "policies" / f"{name}.toml").read_text(encoding="utf8")
    elif path.is_file():
        try:
            source = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as err:
            raise ConfigError(Errors.D506.format(path=name, reason=f"unreadable ({type(err).__name__})")) from None
    else:
        raise ConfigError(Errors.D505.format(name=name, known=", ".join(known)))
    try:
        return _check(tomllib.loads(source), name)
    except tomllib.TOMLDecodeError as err:
        raise ConfigError(Errors.D506.format(path=name, reason=f"not TOML: {err}")) from None


def _check(data: dict[str, Any], path: str) -> Policy:
    """Check a policy's keys, labels and actions, and make it."""
    labels = data.get("labels", {})
    if unknown := sorted(set(data) - _KEYS):
        raise ConfigError(Errors.D506.format(path=path, reason=f"unknown key '{unknown[0]}' (known: {sorted(_KEYS)})"))
    if not isinstance(labels, dict):
        raise ConfigError(Errors.D506.format(path=path, reason="'labels' must be a table"))
    if unknown := sorted(set(labels) - set(LABELS)):
        known = ", ".join(LABELS)
        raise ConfigError(Errors.D506.format(path=path, reason=f"unknown label '{unknown[0]}' (known: {known})"))
    for key, action in {"default": data.get("default"), **labels}.items():
        if action not in _ACTIONS:
            raise ConfigError(Errors.D506.format(path=path, reason=f"'{key}' must be one of {', '.join(_ACTIONS)}"))
    year = data.get("reference_year", 0)
    if not isinstance(year, int) or isinstance(year, bool) or year < 0:
        raise ConfigError(Errors.D506.format(path=path, reason="'reference_year' must be a whole number"))
    sure = data.get("sure", SURE)
    if not isinstance(sure, int | float) or isinstance(sure, bool) or not 0 < sure <= 1:
        raise ConfigError(Errors.D506.format(path=path, reason="'sure' must be a number above 0 and at most 1"))
    name = str(data.get("name", Path(path).stem))
    return Policy(name, str(data["default"]), labels, year, float(sure))
