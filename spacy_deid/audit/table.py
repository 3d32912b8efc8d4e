"""An audit as a plain text table."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["format_audit"]

_TITLES = {"all": "", "type": "by note type", "source": "by source", "kind": "by kind", "form": "by form"}
_COLUMN = "column:"
_WIDTH = 36


def format_audit(report: Mapping[str, Any]) -> str:
    """Write an audit as a table.

    report (Mapping): what `Audit.as_dict` gives.
    RETURNS (str): lines of text.
    """
    lines = [f"{report['audited']} of {report['notes']} notes audited, of {report['patients']} patients"]
    lines += [f"{count} notes left out: {reason}" for reason, count in report["skipped"].items()]
    columns = {by: f"by {by.removeprefix(_COLUMN)}" for by in report["leaks"] if by.startswith(_COLUMN)}
    for by, title in (_TITLES | columns).items():
        rates = report["leaks"].get(by, {})
        head = f"{'notes':>8}{'hits':>7}{'chance':>9}{'leak rate':>11}   {'Wilson 95 %':<18}bootstrap 95 %"
        if rates:
            lines += ["", f"{_cut(title)}{head}"]
        lines += [_row(name, rate) for name, rate in rates.items()]
    return "\n".join(lines) + "\n"


def _row(name: str, rate: Mapping[str, Any]) -> str:
    """One line."""
    chance = "–" if rate["expected"] is None else f"{rate['expected']:.4f}"
    figures = f"{rate['notes']:>8}{rate['hits']:>7}{chance:>9}{rate['leak_rate']:>11.4f}"
    return f"{_cut(name)}{figures}   {_ends(rate['wilson']):<18}{_ends(rate['bootstrap'])}".rstrip()


def _cut(name: str) -> str:
    """A name in its column of the table."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    return f"{shown[: _WIDTH - 1]:<{_WIDTH}}"


def _ends(ends: Sequence[float] | None) -> str:
    """An interval."""
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
