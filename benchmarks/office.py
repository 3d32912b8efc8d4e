"""Measure redaction of office files: whether redacted text can be recovered from the copies.

    python -m benchmarks.office corpus/grascco_phi_de

Creates the letters of GraSCCo as DOCX, ODT, HTML, RTF, e-mail, CSV and XLSX (DOCX and ODT with words split into runs
at random), redacts the annotated text, and tries to recover it with other readers (python-docx, odfpy, lxml, striprtf,
email, csv, openpyxl) and from the bytes of every unpacked member. If LibreOffice is installed, it opens the copies.
Rows are written to metrics/office.json.
"""

import csv
import io
import random
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import date
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Annotated

import docx
import openpyxl
import typer
from lxml import html
from odf import teletype
from odf.opendocument import OpenDocumentText, load
from odf.text import P, Span
from striprtf.striprtf import rtf_to_text

from spacy_deid.documents import read_document, redact_document
from spacy_deid.documents.document import Document, WriteSettings
from spacy_deid.documents.rtf import FORMAT as RTF
from spacy_deid.documents.verification import fold
from spacy_deid.errors import DeidError
from spacy_deid.evaluation import MetricRow, write_rows
from spacy_deid.evaluation.cas import read_cas
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.offsets import apply_edits

from .cas import SCHEME, find_files
from .letter_files import SHOWN, carry_gold, is_installed, show

METRICS = Path("metrics") / "office.json"
KINDS = ("docx", "odt", "html", "rtf", "eml", "csv", "xlsx")
LEAST = 3  # letters of the shortest string that is looked for
LEAST_RAW = 6  # in bytes that hold mark-up too


def main(
    data: Annotated[Path, typer.Argument(help="Folder of GraSCCo_PHI.")],
    limit: Annotated[int, typer.Option(help="Maximum number of letters; 0 for all.")] = 0,
) -> None:
    """Redact annotated letters as files, and try to recover the removed text."""
    files = {file.stem: file for suffix in (".xmi", ".json") for file in find_files(data, suffix)}
    texts = [read_cas(file, scheme=SCHEME) for file in files.values()][: limit or None]
    command = "python -m benchmarks.office corpus/grascco_phi_de"
    for kind in KINDS:
        draw = random.Random(0)
        totals: Counter[str] = Counter()
        began = time.perf_counter()
        copies: list[bytes] = []
        for text in texts:
            totals += _one_letter(text, kind, draw, copies)
        seconds = (time.perf_counter() - began) / len(texts)
        stamp = {"data": f"GraSCCo_PHI, {kind}", "split": "all", "command": command, "date": date.today().isoformat()}
        rows = list(_rows(totals, seconds, stamp))
        if kind in SHOWN and is_installed():
            rows += _opened(copies, kind, stamp)
        for row in rows:
            typer.echo(f"{kind:<5} {row.name:<62} {row.value:>9}  {row.target}")
        if not limit:
            write_rows(METRICS, rows)


def _one_letter(letter: AnnotatedText, kind: str, draw: random.Random, copies: list[bytes]) -> Counter[str]:
    """Redact a letter and count characters and strings. Its copy is appended to `copies`."""
    document = read_document(make(letter.text, kind, draw), f"letter.{kind}")
    edits, gold, reached = carry_gold(letter, document)
    totals = Counter({"letters": 1, "gold": gold, "reached": reached})
    try:
        copy = redact_document(document, edits)
    except DeidError:
        return totals + Counter({"withheld": 1})
    copies.append(copy)
    released = fold(apply_edits(document.text, edits))
    removed = {fold(document.text[edit.start : edit.end]) for edit in edits}
    removed = {string for string in removed if len(string) >= LEAST}
    back = {
        string
        for text, least in readings(copy, kind)
        for string in removed
        if len(string) >= least and fold(text).count(string) > released.count(string)
    }
    return totals + Counter(
        {
            "strings": len(removed),
            "characters": sum(map(len, removed)),
            "strings back": len(back),
            "characters back": sum(map(len, back)),
            "same": read_document(copy, f"letter.{kind}").text == apply_edits(document.text, edits),
        }
    )


def make(text: str, kind: str, draw: random.Random) -> bytes:
    """Create a file of a letter."""
    out = io.BytesIO()
    if kind == "docx":
        word = docx.Document()
        for line in text.splitlines():
            paragraph = word.add_paragraph()
            for run in cut(line, draw):
                paragraph.add_run(run).bold = draw.random() < 0.5
        word.save(out)
    elif kind == "odt":
        office = OpenDocumentText()
        for line in text.splitlines():
            paragraph = P()
            for run in cut(line, draw):
                span = Span()
                teletype.addTextToElement(span, run)
                paragraph.addElement(span)
            office.text.addElement(paragraph)
        office.save(out)
    elif kind == "html":
        out.write("".join(f"<p>{escape(line)}</p>\n" for line in text.splitlines()).encode())
    elif kind == "rtf":
        out.write(RTF.write(Document("letter.rtf", "rtf", text), [], WriteSettings()))
    elif kind == "eml":
        message = EmailMessage()
        message["Subject"] = "Letter"
        message.set_content(text)
        out.write(message.as_bytes())
    elif kind == "csv":
        rows = io.StringIO(newline="")
        csv.writer(rows).writerows([["letter"], *([line] for line in text.splitlines())])
        out.write(rows.getvalue().encode())
    else:
        book = openpyxl.Workbook()
        for line in ["letter", *text.splitlines()]:
            book.active.append([line])
            book.active.cell(book.active.max_row, 1).data_type = "s"  # a line can begin as a formula does
        book.save(out)
    return out.getvalue()


def cut(line: str, draw: random.Random) -> list[str]:
    """Split a line into pieces of one to six characters."""
    pieces, at = [], 0
    while at < len(line):
        step = draw.randint(1, 6)
        pieces.append(line[at : at + step])
        at += step
    return pieces


def readings(data: bytes, kind: str) -> Iterator[tuple[str, int]]:
    """Return what other readers extract from a file, and the minimum length of a string to search for."""
    if kind == "docx":
        yield "\n".join(paragraph.text for paragraph in docx.Document(io.BytesIO(data)).paragraphs), LEAST
    elif kind == "odt":
        office = load(io.BytesIO(data))
        yield "\n".join(teletype.extractText(paragraph) for paragraph in office.getElementsByType(P)), LEAST
    elif kind == "html":
        yield html.fromstring(data).text_content(), LEAST
    elif kind == "rtf":
        yield rtf_to_text(data.decode("ascii")), LEAST
    elif kind == "eml":
        yield message_from_bytes(data, policy=policy.default).get_content(), LEAST
    elif kind == "xlsx":
        rows = openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(values_only=True)
        yield "\n".join(str(cell) for row in rows for cell in row if cell is not None), LEAST
    if kind in ("docx", "odt", "xlsx"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield archive.read(name).decode("utf-8", "replace"), LEAST_RAW
    else:
        yield data.decode("utf-8", "replace"), LEAST_RAW


def _rows(totals: Counter[str], seconds: float, stamp: dict[str, str]) -> Iterator[MetricRow]:
    """Create the rows of a file type."""
    read = 100 * totals["reached"] / totals["gold"]
    gone = 100 * (1 - totals["characters back"] / max(totals["characters"], 1))
    yield MetricRow("% of characters of annotated identifiers that were read", round(read, 3), 100, "higher", **stamp)
    yield MetricRow("% of removed characters that are gone from the file", round(gone, 3), 100, "higher", **stamp)
    yield MetricRow("removed strings that could be got back", totals["strings back"], 0, "lower", **stamp)
    yield MetricRow("letters withheld by the search before release", totals["withheld"], 0, "lower", **stamp)
    same = 100 * totals["same"] / totals["letters"]
    yield MetricRow("% of copies that read as the released text", round(same, 2), 100, "higher", **stamp)
    yield MetricRow("seconds to make, redact, verify and search a letter", round(seconds, 3), None, "lower", **stamp)


def _opened(copies: list[bytes], kind: str, stamp: dict[str, str]) -> Iterator[MetricRow]:
    """Compare the text that LibreOffice shows for the copies, ignoring spaces."""
    texts = [read_document(copy, f"copy.{kind}").text for copy in copies]
    if kind == "xlsx":
        texts = [text.partition("\n")[2] for text in texts]  # without the name of the sheet
    shown = show(copies, kind)
    opens = sum(text is not None for text in shown)
    alike = sum(
        "".join((seen or "").split()) == "".join(text.split()) for seen, text in zip(shown, texts, strict=True)
    )
    share = 100 / max(len(copies), 1)
    yield MetricRow("% of copies that LibreOffice opens", round(share * opens, 2), 100, "higher", **stamp)
    name = "% of copies whose text LibreOffice shows as this package does"
    yield MetricRow(name, round(share * alike, 2), None, "higher", **stamp)


if __name__ == "__main__":
    typer.run(main)
