"""Maps the labels and actions of a policy to HIPAA's Safe Harbor (45 CFR 164.514(b)(2)) and to the GDPR (recital 26).

The tables say what a policy does. They are not legal advice, and they do not say that a text is anonymous: a detector
misses some identifiers, and facts that no label covers can identify as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..evaluation.report import category_of
from ..labels import HIPAA, LABELS
from ..policies import Policy

_NOT_TEXT = {
    "P": "Words that name a biometric identifier are found. Fingerprints and voice are not text.",
    "Q": "Not text: no label. Documents keep pictures unless --pictures remove is set.",
}


@dataclass(frozen=True)
class Kind:
    """A kind of personal data of the GDPR.

    name (str): what the law or the Article 29 Working Party calls it.
    source (str): where.
    labels (tuple[str, ...]): canonical labels.
    meaning (str): what it means for a released note.
    """

    name: str
    source: str
    labels: tuple[str, ...]
    meaning: str


KINDS = (
    Kind("name", "Art. 4(1)", ("PATIENT", "RELATIVE", "PERSON", "CLINICIAN"), "Names a person directly."),
    Kind(
        "identification number",
        "Art. 4(1)",
        (
            *("MRN", "NATIONAL_ID", "SSN", "INSURANCE_ID", "HEALTH_PLAN", "ENCOUNTER_ID", "ACCOUNT", "LICENSE"),
            *("EMPLOYEE_ID", "VEHICLE", "DEVICE", "BIOMETRIC", "ID_OTHER"),
        ),
        "Singles out one person in a register.",
    ),
    Kind(
        "location data",
        "Art. 4(1)",
        (
            *("STREET", "CITY", "ZIP", "TERRITORY", "STATE", "COUNTRY", "LOCATION_OTHER"),
            *("HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ROOM"),
        ),
        "Narrows down where a person lives or was treated.",
    ),
    Kind(
        "online identifier and contact",
        "Art. 4(1), recital 30",
        ("PHONE", "FAX", "EMAIL", "URL", "IP_ADDRESS", "USERNAME"),
        "Reaches a person or a device.",
    ),
    Kind(
        "factors of physical, economic, cultural or social identity",
        "Art. 4(1)",
        ("AGE", "SEX", "KINSHIP", "PROFESSION", "ORGANIZATION", "OTHER"),
        "Singles out in combination, above all if the value is rare.",
    ),
    Kind("date", "recital 26, singling out", ("DATE",), "Dates of treatment link a note to other records."),
)

# what a limited data set may contain of the eighteen identifiers: 45 CFR 164.514(e)(2), as far as a label has no more
LIMITED_DATA_SET = {"AGE", "DATE", "CITY", "ZIP", "TERRITORY"}

Counts = Mapping[str, Mapping[str, Any]]  # label → "entities" and "missed" of the gold notes


def effective_policy(policy: Policy, released: Callable[[str], bool]) -> Policy:
    """Make the policy that describes what a release does: labels whose surrogates release the original are kept.

    policy (Policy): the policy.
    released (Callable[[str], bool]): whether the style releases values of a label although the policy replaces them.
    RETURNS (Policy): the policy with these labels as "keep".
    """
    kept = {label: "keep" for label in LABELS if policy.action(label) == "replace" and released(label)}
    return replace(policy, labels={**policy.labels, **kept})


def map_hipaa(policy: Policy, counts: Counts) -> list[dict[str, Any]]:
    """Map the eighteen identifiers of Safe Harbor to the labels and actions of a policy.

    policy (Policy): the policy.
    counts (Mapping): label → its counts in the gold notes.
    RETURNS (list[dict]): one row per identifier: "letter", "name", "actions", "status", "remark" and the counts.
    """
    rows = []
    for letter, name in HIPAA.items():
        labels = [label for label, entry in LABELS.items() if entry.hipaa == letter]
        open_ = [label for label in labels if not _meets(policy, label)]
        status = "not text" if not labels else "stays" if open_ else "removed"
        remark = _NOT_TEXT.get(letter, "")
        if open_:
            remark = (
                f"{', '.join(open_)}: not Safe Harbor. Needs expert determination or a data use agreement. {remark}"
            )
        row = {"letter": letter, "name": name, "actions": _actions(policy, labels), "status": status}
        rows.append({**row, "remark": remark.strip(), **_sum(counts, labels)})
    return rows


def map_gdpr(policy: Policy, counts: Counts) -> list[dict[str, Any]]:
    """Map the kinds of personal data of the GDPR to the labels and actions of a policy.

    policy (Policy): the policy.
    counts (Mapping): label → its counts in the gold notes.
    RETURNS (list[dict]): one row per kind: "name", "source", "meaning", "actions", "kept" labels and the counts.
    """
    return [
        {
            "name": kind.name,
            "source": kind.source,
            "meaning": kind.meaning,
            "actions": _actions(policy, kind.labels),
            "kept": [label for label in kind.labels if policy.action(label) == "keep"],
            **_sum(counts, kind.labels),
        }
        for kind in KINDS
    ]


def list_kept(policy: Policy) -> list[dict[str, str]]:
    """List the labels that a policy keeps or makes coarser, with the place of each in HIPAA and its risk.

    policy (Policy): the policy.
    RETURNS (list[dict]): one row per label: "label", "meaning", "action", "hipaa" and "why".
    """
    rows = []
    for label, entry in LABELS.items():
        action, category = policy.action(label), category_of(label)
        if action in ("keep", "generalize"):
            listed = f"({entry.hipaa}) {HIPAA[entry.hipaa]}" if entry.hipaa else "not listed"
            why = f"{category.risk}: {category.reason}"
            row = {"label": label, "meaning": entry.description, "action": action}
            rows.append({**row, "hipaa": listed, "why": why})
    return rows


def judge_hipaa(policy: Policy) -> str:
    """Say which way of 45 CFR 164.514 a policy can follow."""
    stays = [label for label, entry in LABELS.items() if entry.hipaa and not _meets(policy, label)]
    if not stays:
        return (
            "The policy replaces every label of the eighteen identifiers, so notes can follow Safe Harbor as far as "
            "the detectors find them. Safe Harbor also asks that you have no actual knowledge that what is left could "
            "identify a person. No detector finds everything, so an expert may have to judge the rest."
        )
    if set(stays) <= LIMITED_DATA_SET:
        return (
            "The policy keeps what a limited data set may contain (45 CFR 164.514(e)). The notes stay protected "
            "health information and may be given away under a data use agreement only."
        )
    return (
        f"The policy keeps {', '.join(stays)}, which Safe Harbor asks to remove. The notes need expert determination "
        "(45 CFR 164.514(b)(1)); the figures below are material for the expert, not the determination."
    )


def judge_gdpr(style: str, policy: Policy) -> list[str]:
    """Say what the released notes are under the GDPR, by the three questions of Opinion 05/2014."""
    kept = [label for label in LABELS if policy.action(label) == "keep"]
    surrogates = style == "surrogate"
    linking = (
        "Surrogates of a patient agree in all notes that were made with the same project key and patient id, so the "
        "notes of a patient can be linked to each other. Whoever holds the key and the ids can repeat the replacement."
        if surrogates
        else f"Replacements of the style '{style}' say nothing about the patient beyond the label, but the medical "
        "content of two notes of one patient can still agree."
    )
    return [
        "Singling out: "
        + (f"{', '.join(kept)} stay as they are written." if kept else "no label is kept.")
        + " Rare diseases, events and stories stay too; no label covers them.",
        f"Linkability: {linking}",
        "Inference: the medical content is kept on purpose, so health data can be inferred by whoever knows who it is "
        "about.",
        "As long as the original notes, a vault or the project key exist, the released notes are pseudonymised "
        "(Art. 4(5)) and personal data for whoever can use these. Whether they are anonymous for a recipient depends "
        "on the means reasonably likely to be used (recital 26: cost, time, technology); the figures of this dossier "
        "are part of that judgement.",
    ]


def _meets(policy: Policy, label: str) -> bool:
    """Whether the action for a label removes what Safe Harbor asks to remove.

    Of dates and ages it allows years and "90+", which is what "generalize" writes; other labels are then replaced.
    """
    return policy.action(label) != "keep"


def _actions(policy: Policy, labels: Sequence[str]) -> dict[str, list[str]]:
    """Group labels by the action of a policy: action → labels."""
    grouped: dict[str, list[str]] = {}
    for label in labels:
        grouped.setdefault(policy.action(label), []).append(label)
    return grouped


def _sum(counts: Counts, labels: Sequence[str]) -> dict[str, int]:
    """Add up the counts of labels."""
    found = [counts[label] for label in labels if label in counts]
    return {key: sum(int(row[key]) for row in found) for key in ("entities", "missed")}
