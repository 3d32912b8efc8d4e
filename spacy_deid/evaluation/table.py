"""The result of an evaluation as a plain text table, for terminals and READMEs."""

from collections.abc import Mapping
from typing import Any

from .letters import RATES
from .metrics import REGIONS

__all__ = ["format_letters", "format_table"]

_TITLES = {
    "ner": "entity and label, strict",
    "ner_relaxed": "entity and label, relaxed end",
    "token": "token and label",
    "hipaa_ner": "HIPAA entity, strict",
    "hipaa_ner_relaxed": "HIPAA entity, relaxed end",
    "hipaa_token": "HIPAA token",
    "span_strict": "span, strict",
    "span_merged": "span, merged",
    "word": "word",
    "character": "character",
}


def format_table(result: Mapping[str, Any], *, labels: bool = True) -> str:
    """Write a result as a table.

    result (Mapping): what `metrics.evaluate` returns.
    labels (bool): whether to add a table of the labels.
    RETURNS (str): lines of text; "-" where a figure is not defined.
    """
    lines = [f"{result['documents']} documents, labels of scheme {result['scheme']}"]
    for region in REGIONS:
        part = result[region]
        lines += ["", f"{region:<32}{'P':>8}{'R':>8}{'F1':>8}   95 % interval of R"]
        for kind, title in _TITLES.items():
            if kind in part:
                lines.append(_row(title, part[kind], 32))
        lines += _extra(part)
    return "\n".join(lines + (_labels(result["all"]["labels"]) if labels else [])) + "\n"


def format_letters(measured: Mapping[str, Any]) -> str:
    """Write the figures of documents as tables: rates, letters without a miss by label, and the confusion matrix.

    measured (Mapping): what `letters.measure_letters` returns; its rows are not shown.
    RETURNS (str): lines of text; "-" where a figure is not defined.
    """
    micro, macro = measured["micro"], measured["macro"]
    counts = ", ".join(f"{name.upper()} {micro[name]}" for name in ("tp", "fp", "fn", "tn"))
    lines = [
        f"letters and digits: {counts}",
        "",
        f"{'':<16}{'micro':>8}{'mean':>8}{'std':>8}{'median':>8}{'letters':>9}",
    ]
    for rate in RATES:
        spread = [_number(macro[rate][name]) for name in ("mean", "std", "median")]
        figures = "".join(f"{figure:>8}" for figure in [_number(micro[rate]), *spread])
        lines.append(f"{rate:<16}{figures}{macro[rate]['documents']:>9}")
    lines += ["", f"{'label':<34}{'recall':>8}{'missed':>8}{'of':>8}{'letters':>9}{'without a miss':>16}"]
    for label, row in measured["labels"].items():
        figures = f"{_number(row['recall']):>8}{row['missed']:>8}{row['characters']:>8}{row['documents']:>9}"
        lines.append(f"{label:<34}{figures}{row['without_miss']:>16}")
    return "\n".join([*lines, "", *_confusion(measured["confusion"])]) + "\n"


def _confusion(table: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The confusion matrix as a line a gold label: what its letters and digits were taken for, the most first."""
    lines = ["gold label: what its letters and digits were taken for"]
    for label, row in table.items():
        cells = sorted(row.items(), key=lambda cell: (-cell[1], cell[0]))
        lines.append(f"{label or 'none':<34}" + ", ".join(f"{other or 'none'} {count}" for other, count in cells))
    return lines


def _row(title: str, entry: Mapping[str, Any], width: int) -> str:
    """One line of precision, recall and F1."""
    figures = "".join(f"{_number(entry[name]):>8}" for name in ("precision", "recall", "f1"))
    return f"{title:<{width}}{figures}   {_interval(entry, 'recall')}".rstrip()


def _extra(part: Mapping[str, Any]) -> list[str]:
    """The lines of what is no precision and recall."""
    lines = []
    if "clean" in part:
        clean = part["clean"]
        share = f"{'documents with nothing missed':<40}{_number(clean['share']):>8}"
        lines.append(f"{share} {_interval(clean, 'share'):>18}  {clean['clean']} of {clean['documents']}")
    if "leak" in part:
        lines.append(f"{'leak (missed per sentence)':<40}{_number(part['leak']['leak']):>8}")
    return lines


def _labels(labels: Mapping[str, Any]) -> list[str]:
    """The table of labels; support is the number of gold entities."""
    lines = ["", f"{'label':<34}{'P':>8}{'R':>8}{'F1':>8}{'char R':>8}{'support':>9}"]
    for label, entry in sorted(labels.items()):
        figures = [entry["ner"][name] for name in ("precision", "recall", "f1")] + [entry["character"]["recall"]]
        support = entry["ner"]["tp"] + entry["ner"]["fn"]
        lines.append(f"{label:<34}" + "".join(f"{_number(figure):>8}" for figure in figures) + f"{support:>9}")
    return lines if labels else []


def _number(value: float | None) -> str:
    """A figure with four digits."""
    return "-" if value is None else f"{value:.4f}"


def _interval(entry: Mapping[str, Any], name: str) -> str:
    """An interval in brackets, if there is one."""
    ends = entry.get("ci", {}).get(name)
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
