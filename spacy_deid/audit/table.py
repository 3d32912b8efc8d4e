"""An audit as a plain text table."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["format_audit"]

_TITLES = {"all": "", "type": "by note type", "source": "by source", "kind": "by kind", "form": "by form"}
_WIDTH = 36


def format_audit(report: Mapping[str, Any]) -> str:
    """Write an audit as a table.

    report (Mapping): what `Audit.as_dict` gives.
    RETURNS (str): lines of text.
    """
    lines = [f"{report['audited']} of {report['notes']} notes audited, of {report['patients']} patients"]
    lines += [f"{count} notes left out: {reason}" for reason, count in report["skipped"].items()]
    for by, title in _TITLES.items():
        rates = report["leaks"].get(by, {})
        head = f"{'notes':>8}{'hits':>7}{'chance':>9}{'leak rate':>11}   {'Wilson 95 %':<18}bootstrap 95 %"
        if rates:
            lines += ["", f"{title:<{_WIDTH}}{head}"]
        lines += [_row(name, rate) for name, rate in rates.items()]
    return "\n".join(lines) + "\n"


def _row(name: str, rate: Mapping[str, Any]) -> str:
    """One line."""
    chance = "–" if rate["expected"] is None else f"{rate['expected']:.4f}"
    figures = f"{rate['notes']:>8}{rate['hits']:>7}{chance:>9}{rate['leak_rate']:>11.4f}"
    return f"{name[: _WIDTH - 1]:<{_WIDTH}}{figures}   {_ends(rate['wilson']):<18}{_ends(rate['bootstrap'])}".rstrip()


def _ends(ends: Sequence[float] | None) -> str:
    """An interval."""
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
