"""Measure redaction of files: time, memory, and whether the redacted text can be recovered from the file.

    python -m benchmarks.documents speed
    python -m benchmarks.documents letters FOLDER --data grascco
    python -m benchmarks.documents clipboard FOLDER --data grascco

`speed` creates a letter of four pages as PDF and as a scan, reads, redacts and verifies each in a separate process,
and measures the memory of this process and its children. `letters` creates files of each kind from annotated letters,
redacts the annotated text, and tries to recover it: with pdftotext, from all strings and unpacked streams, from the
bytes in any encoding, and by OCR of the pages at 300 dpi. `clipboard` opens them in Chromium, selects and copies all;
unredacted copies of the same letters show that names can be recovered in this way. Needs Tesseract and poppler-utils;
`clipboard` needs Chromium with Playwright. Rows are written to metrics/documents.json.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = "1"

import io
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

import pikepdf
import psutil
import pypdfium2
import typer
from PIL import Image

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.documents.verification import fold
from spacy_deid.errors import DeidError
from spacy_deid.evaluation import MetricRow, read_folder, write_rows
from spacy_deid.evaluation.cas import read_cas
from spacy_deid.evaluation.documents import AnnotatedText
from spacy_deid.offsets import Edit, apply_edits

from .cas import find_files
from .letter_files import carry_gold, make_file, make_scan, pictures, set_pdf

app = typer.Typer(pretty_exceptions_enable=False)
METRICS = Path("metrics") / "documents.json"
RECOVERED = "recovered by a clipboard copy in a browser"
OCR_LEAST = 5  # letters of the shortest string that OCR is asked for; it makes shorter ones out of anything
SENTENCES = [
    "Patient: Braulio Applegate, born 12 March 1951, lives at 17 Elm Street, Springfield.",
    "The patient was admitted with chest pain and was seen by Dr Margaret Thornbury the same day.",
    "Troponin was raised at 140 ng/l, the electrocardiogram showed no elevation of the ST segment.",
    "Mr Applegate tolerated the procedure well; heparin was stopped and aspirin was begun.",
]
NAMES = ("Braulio Applegate", "Applegate", "Margaret Thornbury", "17 Elm Street", "12 March 1951")


@app.command()
def speed(rounds: Annotated[int, typer.Option(help="Number of processes per type.")] = 3) -> None:
    """Measure time and memory of a letter of four pages, as PDF and as a scan; medians over rounds."""
    rows = []
    for kind, target in (("text PDF", 2.0), ("scan", 20.0)):
        runs = sorted(_in_own_process(kind) for _ in range(rounds))
        (seconds, processor, _), memory = runs[len(runs) // 2], max(run[2] for run in runs)
        typer.echo(f"{kind:<10} {seconds:6.2f} s, of a processor {processor:6.2f} s {memory:8.0f} MB")
        stamp = _stamp(f"4 pages, {kind}", "none", f"python -m benchmarks.documents speed --rounds {rounds}")
        rows.append(MetricRow("seconds to read, redact and verify", round(seconds, 2), target, "lower", **stamp))
        rows.append(MetricRow("processor seconds of it", round(processor, 2), None, "lower", **stamp))
        rows.append(MetricRow("peak memory in MB", round(memory), 1500, "lower", **stamp))
    write_rows(METRICS, rows)


def _in_own_process(kind: str) -> tuple[float, float, float]:
    """Return seconds, processor seconds, and peak memory in MB of a process and its children."""
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "once", kind], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    peak = 0.0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        peak = max(peak, _resident(watched))
        time.sleep(0.02)
    assert process.stdout is not None
    seconds, processor = map(float, process.stdout.read().split())
    return seconds, processor, peak


def _resident(process: psutil.Process) -> float:
    """Return the memory of a process and its children in MB."""
    total = 0
    try:
        for one in [process, *process.children(recursive=True)]:
            total += one.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total / 1e6


@app.command(hidden=True)
def once(kind: str) -> None:
    """Read, redact and verify one letter, and print seconds and processor seconds."""
    text = "\n".join(SENTENCES[i % len(SENTENCES)] for i in range(52 * 4))
    data = set_pdf(text, lines=52)
    data = data if kind == "text PDF" else make_scan(data)
    start, used = time.perf_counter(), sum(os.times()[:4])
    document = read_document(data, "letter.pdf")
    redact_document(document, _edits(document.text))
    print(time.perf_counter() - start, sum(os.times()[:4]) - used)


def _edits(text: str) -> list[Edit]:
    """Return edits of all names of the synthetic letter."""
    taken: list[Edit] = []
    for string in NAMES:
        at = text.find(string)
        while at >= 0:
            if not any(edit.start < at + len(string) and at < edit.end for edit in taken):
                taken.append(Edit(at, at + len(string), "PATIENT", "[PATIENT]"))
            at = text.find(string, at + 1)
    return sorted(taken, key=lambda edit: edit.start)


def _texts(folder: Path, scheme: str) -> list[AnnotatedText]:
    """Read the letters of a folder, only those in CAS JSON if there are any."""
    found = [read_cas(file, scheme=scheme) for file in find_files(folder, ".json")]
    return found or read_folder(folder, scheme=scheme)


@app.command()
def letters(
    folder: Annotated[Path, typer.Argument(help="Folder of annotated letters.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the corpus.")] = "grascco",
    kinds: Annotated[str, typer.Option(help="Types of files to make from the letters.")] = "pdf,scan,photo",
    languages: Annotated[str, typer.Option(help="Languages of the OCR.")] = "eng",
    limit: Annotated[int, typer.Option(help="Maximum number of letters; 0 for all.")] = 0,
) -> None:
    """Redact annotated letters as files, and try to recover the removed text."""
    texts = _texts(folder, scheme)[: limit or None]
    read = ReadSettings(languages=tuple(languages.split(",")), pictures="keep")
    command = f"python -m benchmarks.documents letters corpus/{folder.name} --data {data} --scheme {scheme}"
    for kind in kinds.split(","):
        totals: Counter[str] = Counter()
        for text in texts:
            totals += _one_letter(text, kind, read)
        stamp = _stamp(data, kind, f"{command} --kinds {kind} --languages {languages}")
        rows = list(_rows(totals, kind, stamp))
        for row in rows:
            typer.echo(f"{kind:<6} {row.name:<60} {row.value:>9}  {row.target}")
        write_rows(METRICS, rows)


@app.command()
def clipboard(
    folder: Annotated[Path, typer.Argument(help="Folder of annotated letters.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the corpus.")] = "grascco",
    kinds: Annotated[str, typer.Option(help="Types of files to make from the letters.")] = "pdf,scan",
    limit: Annotated[int, typer.Option(help="Maximum number of letters; 0 for all.")] = 0,
) -> None:
    """Redact annotated letters as PDF, and try to recover the removed text by copying it in a browser."""
    from .clipboard import Clipboard

    command = f"python -m benchmarks.documents clipboard corpus/{folder.name} --data {data} --scheme {scheme}"
    for kind in kinds.split(","):
        totals: Counter[str] = Counter()
        with Clipboard() as browser:
            for text in _texts(folder, scheme)[: limit or None]:
                totals += _copied(text, kind, browser.copy)
        stamp = _stamp(data, kind, f"{command} --kinds {kind}")
        known = totals["known"] / max(totals["strings"], 1)
        rows = [
            MetricRow(f"removed strings {RECOVERED}", totals["back"], 0, "lower", **stamp),
            MetricRow(f"share of strings {RECOVERED} if nothing is removed", round(known, 5), 0.99, "higher", **stamp),
        ]
        for row in rows:
            typer.echo(f"{kind:<6} {row.name:<80} {row.value:>9}  {row.target}")
        write_rows(METRICS, rows)


def _copied(letter: AnnotatedText, kind: str, copy: Callable[[bytes], str]) -> Counter[str]:
    """Count the strings that can be copied from the redacted and from the unredacted file of a letter."""
    name, data = make_file(letter.text, kind)
    document = read_document(data, name, ReadSettings(pictures="keep"))
    edits, _, _ = carry_gold(letter, document)
    released = fold(apply_edits(document.text, edits))
    removed = {folded for edit in edits if len(folded := fold(document.text[edit.start : edit.end])) >= 3}
    texts = [fold(copy(redact_document(document, edits)))]
    back = sum(_is_back(string, texts, released) for string in removed)
    whole = fold(copy(redact_document(document, [], WriteSettings(verify_ocr="none"))))
    return Counter(strings=len(removed), known=sum(string in whole for string in removed), back=back)


def _one_letter(letter: AnnotatedText, kind: str, read: ReadSettings) -> Counter[str]:
    """Redact a letter and count characters and strings."""
    name, data = make_file(letter.text, kind)
    document = read_document(data, name, read)
    edits, gold, reached = carry_gold(letter, document)
    totals = Counter({"gold": gold, "reached": reached, "strings": len(edits)})
    settings = WriteSettings(read=read)
    try:
        copy = redact_document(document, edits, settings)
    except DeidError:
        return totals + Counter({"withheld": 1})
    released = apply_edits(document.text, edits)
    surfaces = {document.text[edit.start : edit.end] for edit in edits}
    removed = {folded for surface in surfaces if len(folded := fold(surface)) >= 3}
    found: set[str] = set()
    for reader, texts, least in readings(copy, name):
        back = {s for s in removed if len(s) >= least and _is_back(s, texts, fold(released))}
        totals[f"back by {reader}"] += len(back)
        found |= back
    shown = shown_by_strings(copy)
    back = {fold(s) for s in surfaces if len(s) >= OCR_LEAST and s in shown and s not in released}
    totals["back by strings"] += len(back)
    found |= back
    totals["characters"] += sum(map(len, removed))
    totals["characters back"] += sum(map(len, found))
    totals["kept"] += len(fold(released))
    if name.endswith("pdf"):
        totals["kept in the layer"] += sum((Counter(fold(released)) & Counter(fold(layer(copy)))).values())
    return totals


def _is_back(string: str, texts: list[str], released: str) -> bool:
    """Test whether a string occurs more often than in the released text."""
    return any(text.count(string) > released.count(string) for text in texts)


def layer(data: bytes) -> str:
    """Extract the text layer."""
    with pypdfium2.PdfDocument(data) as pdf:
        return "\n".join(pdf[i].get_textpage().get_text_range() for i in range(len(pdf)))


def readings(copy: bytes, name: str) -> Iterator[tuple[str, list[str], int]]:
    """Return what several readers extract from a copy: name, folded text, minimum length of a string to search for."""
    if name.endswith("pdf"):
        done = subprocess.run(["pdftotext", "-", "-"], input=copy, capture_output=True, check=True)
        yield "pdftotext", [fold(done.stdout.decode("utf8", "replace"))], 3
        yield "pikepdf", list(_strings(copy)), 3
        images = [page.convert("L") for page in pictures(copy, 300)]
    else:
        with Image.open(io.BytesIO(copy)) as image:
            images = []
            for index in range(getattr(image, "n_frames", 1)):
                image.seek(index)
                images.append(image.convert("L"))
    yield "OCR", [fold(" ".join(map(read_by_ocr, images)))], OCR_LEAST


def _strings(copy: bytes) -> Iterator[str]:
    """Return all operands of all pages and all other strings of a PDF, folded."""
    with pikepdf.open(io.BytesIO(copy)) as pdf:
        for page in pdf.pages:
            operands = [o for step in pikepdf.parse_content_stream(page) for o in step.operands]
            raw = b"".join(bytes(o) for o in operands if isinstance(o, pikepdf.String))
            yield fold(raw.decode("latin-1"))
            yield fold(raw.decode("utf-16-be", "replace"))
        for value in dict(pdf.docinfo).values():
            yield fold(str(value))


def shown_by_strings(data: bytes) -> str:
    """Return the output of the program `strings`: runs of printable characters in single bytes, UTF-8 and UTF-16.

    Strings are searched for as written: folded noise of a compressed image contains any five letters by chance.
    """
    shown = []
    for width in ("s", "S", "l", "b"):
        command = ["strings", "-n", str(OCR_LEAST), "-e", width]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        shown += [done.stdout.decode("latin-1"), done.stdout.decode("utf8", "replace")]
    return "\n".join(shown)


def read_by_ocr(image: Image.Image) -> str:
    """Run Tesseract with its own settings instead of ours."""
    packed = io.BytesIO()
    image.save(packed, "PPM")
    done = subprocess.run(["tesseract", "stdin", "stdout"], input=packed.getvalue(), capture_output=True, check=True)
    return done.stdout.decode("utf8", "replace")


def _stamp(data: str, split: str, command: str) -> dict[str, str]:
    return {"data": data, "split": split, "command": command, "date": date.today().isoformat()}


def _rows(totals: Counter[str], kind: str, stamp: dict[str, str]) -> Iterator[MetricRow]:
    """Create the rows of all letters of a kind."""
    share = round(1 - totals["characters back"] / max(totals["characters"], 1), 5)
    yield MetricRow("characters removed of those found in the text", share, 1.0, "higher", **stamp)
    for reader in ("strings", "OCR") if kind == "photo" else ("pdftotext", "pikepdf", "strings", "OCR"):
        yield MetricRow(f"removed strings recovered by {reader}", totals[f"back by {reader}"], 0, "lower", **stamp)
    yield MetricRow("removed strings", totals["strings"], None, "higher", **stamp)
    yield MetricRow("letters withheld by verification", totals["withheld"], 0, "lower", **stamp)
    share = totals["reached"] / max(totals["gold"], 1)
    yield MetricRow("annotated characters that were read", round(share, 5), None, "higher", **stamp)
    if totals["kept in the layer"]:
        share = totals["kept in the layer"] / totals["kept"]
        yield MetricRow("released characters in the text layer", round(share, 5), 1.0, "higher", **stamp)


if __name__ == "__main__":
    app()
