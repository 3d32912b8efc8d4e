"""Collects the content of a dossier as plain values: no text of a note, no name of a note, no id of a patient."""

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..audit.estimate import wilson
from ..errors import Errors, InputError
from ..evaluation import AnnotatedText, evaluate
from ..evaluation.counts import alphanumeric_mask, coverage_mask
from ..evaluation.report import category_of, count_misses, predict
from ..evaluation.sweep import detect, take_apart
from ..labels import LABELS
from ..loading import find_components
from ..policies import Policy
from ..saving import fingerprint
from ..surrogates.keys import ProjectKey
from .legal import judge_gdpr, judge_hipaa, list_kept, map_gdpr, map_hipaa

FEW_NOTES = 100
_SCORES = ("word", "character", "span_strict", "ner")


@dataclass(frozen=True)
class Attachments:
    """Results of other commands that a dossier contains, as their JSON. An empty dict means that there is none.

    audit (Mapping): of ``audit --output``.
    fairness (Mapping): of ``fairness --output``.
    review (Mapping): of ``review status --output``.
    log (Sequence[Mapping]): entries of ``user log``.
    """

    audit: Mapping[str, Any] = field(default_factory=dict)
    fairness: Mapping[str, Any] = field(default_factory=dict)
    review: Mapping[str, Any] = field(default_factory=dict)
    log: Sequence[Mapping[str, Any]] = ()


def hash_package() -> str:
    """Compute one SHA-256 of all files of the installed package, without compiled Python."""
    root = Path(str(files("spacy_deid")))
    paths = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    total = hashlib.sha256()
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{digest}  {path.relative_to(root).as_posix()}\n".encode())
    return total.hexdigest()


def make_dossier(
    nlp: Language,
    gold: Sequence[AnnotatedText],
    *,
    policy: Policy,
    style: str,
    key: ProjectKey,
    data: str,
    types: Mapping[str, str] | None = None,
    attachments: Attachments | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Run a pipeline on the gold notes of a board and collect everything that the dossier shows.

    nlp (Language): pipeline with ``deid_merge``.
    gold (Sequence[AnnotatedText]): annotated notes with canonical labels.
    policy (Policy): the policy of the release.
    style (str): name of the style of the release.
    key (ProjectKey): the project key. Only its fingerprint and a keyed digest of the gold notes are kept.
    data (str): name of the gold notes.
    types (Optional[Mapping[str, str]]): name of a note → its type.
    attachments (Optional[Attachments]): results of other commands.
    bootstrap (int): number of replicates for the 95 % intervals.
    seed (int): seed of the random generator.
    RETURNS (dict): the content, as plain values.
    RAISES: ConfigError (D415) if the pipeline has no ``deid_merge``.
    """
    given = attachments or Attachments()
    stages = take_apart(nlp)
    pred = predict(nlp, detect(nlp, (document.text for document in gold), stages), gold, stages)
    scores = evaluate(gold, pred, bootstrap=bootstrap, seed=seed)
    misses = count_misses(gold, pred)
    labels = _count_labels(gold, pred, scores["all"]["labels"])
    content: dict[str, Any] = {
        "run": _describe_run(nlp, policy, style, key),
        "gold": {
            "name": data,
            "notes": len(gold),
            "identifiers": sum(row["entities"] for row in labels.values()),
            "digest": _digest(gold, key),
            "bootstrap": bootstrap,
            "seed": seed,
        },
        "scores": {kind: scores["all"][kind] for kind in _SCORES} | {"clean": _clean(scores["all"]["clean"])},
        "misses": misses,
        "labels": labels,
        "types": _measure_types(gold, pred, types or {}, bootstrap, seed),
        "policy": {
            "name": policy.name,
            "description": policy.description,
            "default": policy.default,
            "kept": list_kept(policy),
            "actions": {label: policy.action(label) for label in LABELS},
        },
        "hipaa": {"judgement": judge_hipaa(policy), "rows": map_hipaa(policy, labels)},
        "gdpr": {"judgement": judge_gdpr(style, policy), "rows": map_gdpr(policy, labels)},
        "audit": dict(given.audit),
        "fairness": {key: value for key, value in given.fairness.items() if isinstance(value, Mapping)},
        "review": dict(given.review),
        "log": _count_log(given.log),
    }
    return {**content, "residual": describe_residual(content)}


def _describe_run(nlp: Language, policy: Policy, style: str, key: ProjectKey) -> dict[str, Any]:
    """Describe what was run: versions, hashes, settings and date."""
    meta: dict[str, Any] = nlp.meta
    ner: Any = next(iter(find_components(nlp, "deid_ner")), None)
    point = ner.get_point().receipt() if ner else {}
    settings = {
        "name": policy.name,
        "default": policy.default,
        "labels": dict(sorted(policy.labels.items())),
        "reference_year": policy.reference_year,
        "sure": policy.sure,
    }
    return {
        "date": date.today().isoformat(),
        "spacy_deid": __version__,
        "package": hash_package(),
        "spacy": spacy_version,
        "python": platform.python_version(),
        "pipeline": f"{nlp.lang}_{meta['name']} {meta['version']}",
        "fingerprint": fingerprint(nlp),
        "components": list(nlp.pipe_names),
        "operating_point": str(point.get("operating_point", "")),
        "policy": policy.name,
        "policy_hash": hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
        "style": style,
        "key": key.fingerprint,
    }


def _digest(gold: Iterable[AnnotatedText], key: ProjectKey) -> str:
    """Compute a keyed digest of the gold notes and their annotations, whatever their order."""
    parts = sorted(
        hashlib.sha256(repr((one.text, [(e.start, e.end, e.label) for e in one.entities])).encode("utf-8", "replace"))
        .hexdigest()
        .encode()
        for one in gold
    )
    return hashlib.blake2b(b"".join(parts), key=key.derive("dossier gold 1")).hexdigest()[:32]


def _clean(row: Mapping[str, Any]) -> dict[str, Any]:
    """Add Wilson's interval, which is not empty if no note has a miss, to the share of notes without a miss."""
    low, high = wilson(row["clean"], row["documents"]) if row["documents"] else (0.0, 1.0)
    return {"clean": row["clean"], "documents": row["documents"], "share": row["share"], "ci": [low, high]}


def _count_labels(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText], scores: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Count identifiers and misses by label. An identifier is missed if one of its letters or digits is left."""
    entities, missed = Counter[str](), Counter[str]()
    for one, other in zip(gold, pred, strict=True):
        letters, covered = alphanumeric_mask(one.text), coverage_mask(other.entities, len(one.text))
        for entity in one.entities:
            part = slice(entity.start, entity.end)
            entities[entity.label] += bool(letters[part].any())
            missed[entity.label] += bool((letters & ~covered)[part].any())
    return {
        label: {
            "entities": entities[label],
            "missed": missed[label],
            "upper": wilson(missed[label], entities[label])[1] if entities[label] else None,
            "risk": category_of(label).risk,
            "character": scores[label]["character"] if label in scores else {},
        }
        for label in LABELS
        if entities[label]
    }


def _measure_types(
    gold: Sequence[AnnotatedText],
    pred: Sequence[AnnotatedText],
    types: Mapping[str, str],
    bootstrap: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Measure the notes of each type; notes without a type are in "no type". Empty if no type is known."""
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(gold if types else ()):
        groups.setdefault(types.get(one.name) or "no type", []).append(i)
    measured = {}
    for name in sorted(groups):
        golds, preds = ([side[i] for i in groups[name]] for side in (gold, pred))
        scores, levels = (
            evaluate(golds, preds, bootstrap=bootstrap, seed=seed)["all"],
            count_misses(golds, preds)["levels"],
        )
        measured[name] = {
            "notes": len(golds),
            "entities": levels["all"]["entities"],
            "missed": levels["all"]["missed_entities"],
            "high": levels["high"]["missed_entities"],
            "character": scores["character"],
            "clean": _clean(scores["clean"]),
        }
    return measured


def _count_log(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count the actions of an audit log, and note its last seal. Names of users are not kept."""
    if not entries:
        return {}
    try:
        actions = Counter(str(entry["action"]) for entry in entries)
        return {
            "entries": len(entries),
            "users": len({entry["user"] for entry in entries}),
            "actions": dict(sorted(actions.items())),
            "seal": str(entries[-1]["seal"]),
        }
    except (KeyError, TypeError):
        raise InputError(Errors.D358.format(path="log", command="user log")) from None


def describe_residual(content: Mapping[str, Any]) -> list[str]:
    """Describe the residual risk in plain sentences.

    content (Mapping): content of the dossier.
    RETURNS (list[str]): paragraphs.
    """
    levels, clean, gold = content["misses"]["levels"], content["scores"]["clean"], content["gold"]
    every, high, notes = levels["all"], levels["high"], gold["notes"]
    worst = max((row for row in content["labels"].items()), key=lambda row: row[1]["missed"], default=None)
    leaking = clean["documents"] - clean["clean"]
    said = [
        f"The board annotated {notes} notes with {every['entities']} identifiers. In {every['missed_entities']} of "
        f"these at least one letter or digit was left, {every['wholly_missed']} were left as a whole. That is "
        f"{every['per_1000_notes'] or 0:.1f} in 1,000 notes; {high['per_1000_notes'] or 0:.1f} of them are of high "
        "risk: they can point to the patient on their own.",
        f"{leaking} of {notes} notes had something left. Of other notes of the same kinds, between "
        f"{100 * (1 - clean['ci'][1]):.1f} % and {100 * (1 - clean['ci'][0]):.1f} % have (95 %).",
    ]
    if worst and worst[1]["missed"]:
        said.append(
            f"Most misses have the label {worst[0]}: {worst[1]['missed']} of {worst[1]['entities']} identifiers."
        )
    if notes < FEW_NOTES:
        said.append(
            f"{notes} notes are few. With {FEW_NOTES} notes and no miss, up to "
            f"{100 * wilson(0, FEW_NOTES)[1]:.1f} % of other notes may still have one."
        )
    unseen = [label for label in LABELS if label not in content["labels"]]
    if unseen:
        said.append(f"Nothing is known of labels that these notes do not contain: {', '.join(unseen)}.")
    said.append(
        "The figures hold for notes like these. Notes of another department, time or system can be worse; measure "
        "them before they are released. A story that is rare enough identifies a person without any identifier, and "
        "no detector of this pipeline looks for that."
    )
    return said
