"""Loads release policies, which say what is done with each label. A policy does not change what is detected.

A policy is a TOML file:

    name = "our_board"
    description = "What our privacy board agreed on."
    default = "replace"          # for every label that is not listed
    reference_year = 0           # optional; year from which ages are computed, 0 for the year of the run
    sure = 0.9                   # optional; minimum score of all detections of a person's name that is kept
    [labels]
    SEX = "keep"
    AGE = "generalize"

Actions: "replace" (in the style of the pipeline), "tag" (replace by the label, whatever the style), "generalize"
(replace by a coarser value, or as "replace" if there is none) and "keep". Names of persons (PATIENT, RELATIVE,
CLINICIAN, PERSON) are kept only if their label is beyond doubt, and replaced otherwise; see `surrogates.mention`.
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
    """A release policy: the action for each label.

    name (str): name of the policy, for the trace.
    default (str): action for labels that are not listed.
    labels (Mapping[str, str]): canonical label → action.
    reference_year (int): year from which ages are computed when years are generalized; 0 for the year of the run.
    sure (float): minimum score, above 0 and at most 1, of all detections of a person's name that is kept.
    description (str): what was agreed on, and why.
    """

    name: str
    default: str = "replace"
    labels: Mapping[str, str] = field(default_factory=dict)
    reference_year: int = 0
    sure: float = SURE
    description: str = ""

    @property
    def year(self) -> int:
        """The year from which ages are computed: `reference_year`, or the current year."""
        return self.reference_year or date.today().year

    def action(self, label: str) -> str:
        """Return the action for a canonical label."""
        return self.labels.get(label, self.default)

    def replaces(self, label: str) -> bool:
        """Whether spans with this label are always replaced."""
        return self.action(label) in ("replace", "tag")


def shipped_policies() -> list[str]:
    """Return the names of the shipped policies, sorted."""
    folder = files("spacy_deid") / "resources" / "policies"
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".toml"))


def load_policy(name: str) -> Policy:
    """Load a policy by name or from a file.

    name (str): "strict", "safe_harbor", "limited_data_set", or the path of a TOML file.
    RETURNS (Policy): the policy.
    RAISES: ConfigError if there is no such policy or file (D505), or the file is invalid (D506, with the wrong key).
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
        data = tomllib.loads(source)
    except (ValueError, RecursionError) as err:  # also a number of thousands of digits, or deep nesting
        raise ConfigError(Errors.D506.format(path=name, reason=f"not TOML: {err}")) from None
    return _check(data, name)


def _check(data: dict[str, Any], path: str) -> Policy:
    """Make a policy from the content of its file. RAISES: ConfigError (D506) for an invalid key, label or action."""
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
    return Policy(name, str(data["default"]), labels, year, float(sure), str(data.get("description", "")))
