"""Render the summary of a run as a single HTML page. It contains counts and ids of notes, but no text."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1b1b; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0; } caption { text-align: left; color: #444; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; padding-left: 1rem; }
.bad { color: #a40000; font-weight: 600; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p>{{ s.finished }}, engine {{ s.engine.name }} with {{ s.engine.n_process }} worker(s), fingerprint
<code>{{ s.fingerprint }}</code>. This page has the ids of notes and no text of a note.</p>
<h2>Notes</h2>
<table>
<tr><th>read</th><td class="n">{{ "{:,}".format(s.rows.read) }}</td></tr>
<tr><th>{{ "would be released" if audit else "released" }}</th>
<td class="n">{{ "{:,}".format(s.rows.released) }}</td></tr>
<tr><th>in quarantine</th><td class="n">{{ "{:,}".format(s.rows.quarantined) }}</td></tr>
<tr><th>words released</th><td class="n">{{ "{:,}".format(s.words) }}</td></tr>
</table>
<p>{{ s.partitions.processed }} of {{ s.partitions.total }} partition(s) were processed in {{ duration }}
({{ s.notes_per_second }} notes/s), {{ s.partitions.kept }} had been done before, {{ s.partitions.removed }} were
removed because the input does not have them any more.</p>
{% if s.failed %}<h2 class="bad">Partitions that failed</h2>
<table><tr><th>file or table</th><th>partition</th><th>reason</th></tr>
{% for row in s.failed %}<tr><td>{{ row.source }}</td><td>{{ row.partition }}</td><td>{{ row.reason }}</td></tr>
{% endfor %}</table>{% endif %}
{% if s.duplicates %}<h2 class="bad">Duplicate ids</h2>
<p>{{ s.duplicates.ids }} id(s) belong to several notes, {{ s.duplicates.rows }} in total, for example
{{ s.duplicates.examples | join(", ") }}.</p>{% endif %}
{% if s.reasons %}<h2>Quarantine</h2>
{{ counts("reason", "notes", s.reasons) }}{% endif %}
<h2>{{ "What would be removed" if audit else "What was removed" }}</h2>
<table><tr><th>label</th><th class="n">replaced</th>
{% for source in sources %}<th class="n">{{ source }}</th>{% endfor %}</tr>
{% for label in labels %}<tr><td>{{ label }}</td><td class="n">{{ "{:,}".format(s.labels.get(label, 0)) }}</td>
{% for source in sources %}<td class="n">{{ "{:,}".format(s.sources.get(label, {}).get(source, 0)) }}</td>
{% endfor %}</tr>
{% endfor %}</table>
{% if s.dictionaries %}<h2>Dictionaries that were searched</h2>
{{ counts("dictionaries", "notes", s.dictionaries) }}{% endif %}
{% if types %}<h2>Note types</h2>
<table><tr><th>type</th>{% for status in s.statuses %}<th class="n">{{ status }}</th>{% endfor %}</tr>
{% for name, row in s.types.items() %}<tr><td>{{ name or "(none)" }}</td>
{% for status in s.statuses %}<td class="n">{{ "{:,}".format(row.get(status, 0)) }}</td>{% endfor %}</tr>
{% endfor %}</table>{% endif %}
<h2>Hardest notes</h2>
<p>Hardness is the sum of one minus the best score over the spans with a score below 0.9, plus the number of
warnings. Look at these notes first.</p>
<table><tr><th>note</th><th class="n">hardness</th></tr>
{% for note, hardness in s.hardest %}<tr><td>{{ note }}</td><td class="n">{{ "%.2f" | format(hardness) }}</td></tr>
{% endfor %}</table>
<h2>What the output depends on</h2>
<table>{% for name, value in s.parts.items() %}<tr><th>{{ name }}</th><td><code>{{ value }}</code></td></tr>
{% endfor %}</table>
</body>
</html>
"""

_COUNTS = """{% macro counts(head, unit, table) %}<table><tr><th>{{ head }}</th><th class="n">{{ unit }}</th></tr>
{% for name, count in table.items() %}<tr><td>{{ name }}</td><td class="n">{{ "{:,}".format(count) }}</td></tr>
{% endfor %}</table>{% endmacro %}"""


def render(summary: Mapping[str, Any]) -> str:
    """Render the summary of a run as HTML.

    summary (Mapping): the summary that calling `run.Run` returned.
    RETURNS (str): the HTML page, with all values escaped.
    """
    from jinja2 import Environment

    audit = summary["parts"]["mode"] == "audit"
    template = Environment(autoescape=True).from_string(_COUNTS + _PAGE)
    return template.render(
        s=summary,
        audit=audit,
        title="Audit of a warehouse of notes" if audit else "De-identification of a warehouse of notes",
        duration=timedelta(seconds=round(summary["seconds"])),
        labels=sorted({*summary["labels"], *summary["sources"]}),
        sources=sorted({source for counts in summary["sources"].values() for source in counts}),
        types=set(summary["types"]) - {""},
    )
