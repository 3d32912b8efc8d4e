"""Renders a dossier as an HTML page without scripts and external resources, and the same content as a PDF."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any
from xml.sax.saxutils import escape

RUN = {
    "date": "date",
    "spacy_deid": "spacy_deid",
    "package": "SHA-256 of the installed package",
    "spacy": "spaCy",
    "python": "Python",
    "pipeline": "pipeline",
    "fingerprint": "fingerprint of the pipeline",
    "components": "components",
    "operating_point": "operating point",
    "policy": "policy",
    "policy_hash": "SHA-256 of the policy",
    "style": "style",
    "key": "fingerprint of the project key",
}
SCORES = {
    "word": "words that identify, whatever the label",
    "character": "letters and digits, whatever the label",
    "span_strict": "identifiers with exact boundaries",
    "ner": "identifiers with exact boundaries and label",
}
Table = Sequence[Sequence[str]]  # rows of cells; the first is the head


def render(content: Mapping[str, Any], pdf_hash: str = "") -> str:
    """Render a dossier as an HTML page. The content itself is in the page as JSON, for programs.

    content (Mapping): result of `make_dossier`.
    pdf_hash (str): SHA-256 of the PDF of the same dossier; "" if there is none.
    RETURNS (str): HTML.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    source = (files("spacy_deid") / "resources" / "dossier.html.jinja").read_text(encoding="utf8")
    # in a script element, "<" is the only character that could end the element
    data = json.dumps({**content, "pdf": pdf_hash}, ensure_ascii=False).replace("<", "\\u003c")
    return environment.from_string(source).render(
        content=content, sections=list(make_sections(content)), pdf_hash=pdf_hash, data=Markup(data)
    )


def make_sections(content: Mapping[str, Any]) -> Iterable[tuple[str, list[str], Table]]:
    """Lay out a dossier as sections. YIELDS (tuple): title, paragraphs and a table, which may be empty."""
    run, gold = content["run"], content["gold"]
    shown = {key: ", ".join(run[key]) if isinstance(run[key], list) else run[key] for key in RUN}
    rows = [[title, str(shown[key])] for key, title in RUN.items() if shown[key]]
    rows += [
        ["gold notes", f"{gold['name']}: {gold['notes']} notes, {gold['identifiers']} identifiers"],
        ["keyed digest of the gold notes", gold["digest"]],
    ]
    yield "Residual risk", list(content["residual"]), []
    yield "What was run", [], [["", ""], *rows]
    yield "Figures on the gold notes", [_explain(gold)], _scores(content["scores"])
    yield "What was missed, by risk", [content["misses"]["source"]], _levels(content["misses"])
    yield (
        "By label",
        ["“At most” is the upper end of the 95 % interval of the share that is missed."],
        _labels(content),
    )
    if content["types"]:
        yield "By type of note", [], _types(content["types"])
    yield "What the policy keeps, and why", *_kept(content["policy"])
    yield "HIPAA, 45 CFR 164.514(b)(2)", [content["hipaa"]["judgement"]], _hipaa(content["hipaa"]["rows"])
    yield "GDPR, recital 26", list(content["gdpr"]["judgement"]), _gdpr(content["gdpr"]["rows"])
    yield "Audit", *_audit(content["audit"])
    yield "Fairness", *_fairness(content["fairness"])
    yield "Review", *_review(content["review"], content["log"])


def _explain(gold: Mapping[str, Any]) -> str:
    """Explain the figures."""
    return (
        "Recall is the share of what identifies that was found; precision the share of what was found that "
        f"identifies. Intervals are percentiles (95 %) of {gold['bootstrap']} bootstrap samples of whole notes, seed "
        f"{gold['seed']}; that of notes without a miss is Wilson's. An interval without width means that these notes "
        "contain no such error, not that there is none elsewhere."
    )


def _scores(scores: Mapping[str, Any]) -> Table:
    """The table of the figures of all notes."""
    head = ["compared by", "recall", "95 %", "precision", "95 %", "F1"]
    rows = [
        [
            title,
            _figure(scores[kind]["recall"]),
            _interval(scores[kind], "recall"),
            _figure(scores[kind]["precision"]),
            _interval(scores[kind], "precision"),
            _figure(scores[kind]["f1"]),
        ]
        for kind, title in SCORES.items()
    ]
    clean = scores["clean"]
    ends = f"{clean['ci'][0]:.4f} – {clean['ci'][1]:.4f}"
    return [head, *rows, ["notes without a miss", _figure(clean["share"]), ends, "", "", ""]]


def _levels(misses: Mapping[str, Any]) -> Table:
    """The table of misses by risk."""
    head = ["risk", "identifiers", "missed", "as a whole", "in 1,000 notes", "notes with a miss"]
    keys = ("entities", "missed_entities", "wholly_missed", "per_1000_notes", "documents")
    return [head, *([level, *(_plain(row[key]) for key in keys)] for level, row in misses["levels"].items())]


def _labels(content: Mapping[str, Any]) -> Table:
    """The table of labels."""
    rows = [["label", "risk", "identifiers", "missed", "at most", "letters found", "95 %", "action"]]
    for label, row in content["labels"].items():
        action = content["policy"]["actions"][label]
        counts = [str(row["entities"]), str(row["missed"]), _percent(row["upper"])]
        found = [_figure(row["character"].get("recall")), _interval(row["character"], "recall")]
        rows.append([label, row["risk"], *counts, *found, action])
    return rows


def _types(types: Mapping[str, Any]) -> Table:
    """The table of types of notes."""
    rows = [
        ["type", "notes", "identifiers", "missed", "of high risk", "letters found", "95 %", "notes without a miss"]
    ]
    for name, row in types.items():
        counts = [str(row[key]) for key in ("notes", "entities", "missed", "high")]
        clean = f"{_figure(row['clean']['share'])} [{row['clean']['ci'][0]:.2f} – {row['clean']['ci'][1]:.2f}]"
        found = [_figure(row["character"]["recall"]), _interval(row["character"], "recall")]
        rows.append([name, *counts, *found, clean])
    return rows


def _kept(policy: Mapping[str, Any]) -> tuple[list[str], Table]:
    """The paragraphs and the table on what a policy keeps, and why."""
    said = [f"Policy {policy['name']}: {policy['description']}"] if policy["description"] else []
    said.append(
        f"Every label that is not in the table: {policy['default']}. Names of persons that a policy keeps are "
        "replaced if their label is in doubt. To reverse a decision, change the action of the label in the policy."
    )
    rows = [[row["label"], row["meaning"], row["action"], row["hipaa"], row["why"]] for row in policy["kept"]]
    return said, [["label", "what it is", "action", "Safe Harbor", "risk"], *rows] if rows else []


def _hipaa(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The table of the identifiers of Safe Harbor."""
    head = ["", "identifier", "labels and actions", "policy", "in gold", "missed", "remark"]
    return [
        head,
        *(
            [row["letter"], row["name"], _grouped(row["actions"]), row["status"], *_counts(row), row["remark"]]
            for row in rows
        ),
    ]


def _gdpr(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The table of the kinds of personal data."""
    head = ["personal data", "source", "what it does", "labels and actions", "in gold", "missed"]
    return [
        head,
        *([row["name"], row["source"], row["meaning"], _grouped(row["actions"]), *_counts(row)] for row in rows),
    ]


def _audit(audit: Mapping[str, Any]) -> tuple[list[str], Table]:
    """The paragraphs and the table of an audit."""
    if not audit:
        return ["No audit was attached (spacy-deid audit --output FILE, then --audit FILE)."], []
    rows = [["group", "", "notes", "hits", "leak rate", "95 %"]]
    for by, rates in audit["leaks"].items():
        for name, rate in rates.items():
            ends = f"{rate['interval'][0]:.4f} – {rate['interval'][1]:.4f}"
            rows.append([by, name, str(rate["notes"]), str(rate["hits"]), _figure(rate["leak_rate"]), ends])
    said = f"{audit['audited']} released notes of {audit['patients']} patients were searched for identifiers of them."
    return [said], rows


def _fairness(axes: Mapping[str, Any]) -> tuple[list[str], Table]:
    """The paragraphs and the table of recall by group of names."""
    if not axes:
        return ["No comparison of names was attached (spacy-deid fairness --output FILE, then --fairness FILE)."], []
    rows = [["axis", "group", "mentions", "recall", "95 %"]]
    for axis, result in axes.items():
        for name, group in result["groups"].items():
            recall = group["recall"]
            ends = recall.get("ci") or []
            shown = f"{ends[0]:.4f} – {ends[1]:.4f}" if ends else ""
            rows.append([axis, name, str(group["mentions"]), _figure(recall.get("value")), shown])
    return ["Recall of names of groups of origin, sexes and decades of birth in the same notes."], rows


def _review(review: Mapping[str, Any], log: Mapping[str, Any]) -> tuple[list[str], Table]:
    """The paragraphs and the table of a review and of the audit log of the service."""
    said = []
    if review:
        said.append(
            f"{review['leaking']} of {review['reviewed']} reviewed notes had something left. Of all {review['notes']} "
            f"notes, at most {_percent(review['upper'])} still have (confidence {_percent(review['level'])})."
        )
    if not log:
        return [*said, *([] if said else ["No review and no log was attached (--review FILE, --log FILE)."])], []
    said.append(
        f"The log of the service has {log['entries']} entries of {log['users']} users; last seal {log['seal']}."
    )
    return said, [["action", "times"], *([name, str(count)] for name, count in log["actions"].items())]


def _grouped(actions: Mapping[str, Sequence[str]]) -> str:
    """Format labels by action."""
    return "; ".join(f"{action}: {', '.join(labels)}" for action, labels in actions.items()) or "–"


def _counts(row: Mapping[str, Any]) -> list[str]:
    """Format the counts of a row; a dash if the gold notes have no such identifier."""
    return [str(row["entities"]), str(row["missed"])] if row["entities"] else ["–", "–"]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _interval(entry: Mapping[str, Any], name: str) -> str:
    ends = (entry.get("ci") or {}).get(name)
    return f"{ends[0]:.4f} – {ends[1]:.4f}" if ends else ""


def write_pdf(content: Mapping[str, Any], title: str) -> bytes:
    """Write a dossier as a PDF (extra ``documents``).

    content (Mapping): result of `make_dossier`.
    title (str): title of the document.
    RETURNS (bytes): the PDF.
    """
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4, landscape
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, TableStyle

    for name, file in (("Vera", "Vera.ttf"), ("Vera-Bold", "VeraBd.ttf")):
        registerFont(TTFont(name, file))
    plain = ParagraphStyle("plain", fontName="Vera", fontSize=8.5, leading=12, spaceAfter=4)
    small = ParagraphStyle("small", parent=plain, fontSize=7, leading=9)
    bold = ParagraphStyle("bold", parent=small, fontName="Vera-Bold")
    heading = ParagraphStyle(
        "heading", parent=plain, fontName="Vera-Bold", fontSize=12, leading=16, spaceBefore=12, keepWithNext=1
    )
    lines = TableStyle(
        [
            ("LINEBELOW", (0, 0), (-1, -1), 0.3, colors.HexColor("#c4ccd6")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LEFTPADDING", (0, 0), (-1, -1), 3),
            ("RIGHTPADDING", (0, 0), (-1, -1), 3),
        ]
    )
    out = io.BytesIO()
    page = landscape(A4)
    document = SimpleDocTemplate(out, pagesize=page, title=title, author="", leftMargin=40, rightMargin=40)
    story: list[Any] = [Paragraph(escape(title), ParagraphStyle("title", parent=heading, fontSize=17, leading=22))]
    for name, paragraphs, table in make_sections(content):
        story.append(Paragraph(escape(name), heading))
        story += [Paragraph(escape(text), plain) for text in paragraphs]
        if table:
            cells = [[Paragraph(escape(cell), small if i else bold) for cell in row] for i, row in enumerate(table)]
            widths = _widths(table, page[0] - 80)
            story += [LongTable(cells, colWidths=widths, repeatRows=1, style=lines), Spacer(1, 6)]
    document.build(story)
    return out.getvalue()


def _widths(table: Table, whole: float) -> list[float]:
    """Divide the width of a page between the columns by their longest cells, within limits."""
    longest = [min(60, max(8, *(len(row[i]) for row in table))) for i in range(len(table[0]))]
    return [whole * one / sum(longest) for one in longest]
