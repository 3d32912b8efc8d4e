"""Measure round trips of INCEpTION's CAS files, and the transfer of annotations to the text of a PDF.

    python -m benchmarks.cas DATA [--out metrics/documents.json]

DATA holds CAS JSON and XMI files of GraSCCo_PHI (Zenodo 11502329), in folders of any depth. Each file is read, and its
identifiers are written back, once unchanged and once after removing all of them. A file is lossless if all types,
feature structures with ids, and views are equal afterwards; removed identifiers get other ids. For the PDF, each
letter is typeset with hyphenated lines, and its text is extracted by PDFium.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from xml.etree import ElementTree

import typer

from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.cas import Layer, is_cas_json, load_cas, read_cas, write_back
from spacy_deid.evaluation.rows import MetricRow, replace_rows
from spacy_deid.evaluation.text_alignment import move_documents

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

SCHEME, DATA = "grascco", "GraSCCo_PHI, CAS"
LAYER = Layer("webanno.custom.PHI", "kind")
XMI_ID = "{http://www.omg.org/XMI}id"
WIDTH, LINES = 84, 55  # characters of a line of the PDF, lines of a page


@app.command()
def main(
    data: Annotated[Path, typer.Argument(help="Folder of GraSCCo_PHI.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/documents.json"),
) -> None:
    """Measure the conversion of letters from and to CAS."""
    by_format = {suffix: list(find_files(data, suffix)) for suffix in (".json", ".xmi")}
    read = {
        suffix: {file.stem: read_cas(file, scheme=SCHEME) for file in found} for suffix, found in by_format.items()
    }
    both = read[".json"].keys() & read[".xmi"].keys()
    letters = list((read[".xmi"] | read[".json"]).values())
    figures = {
        "CAS JSON lossless": share([is_lossless(file) for file in by_format[".json"]]),
        "CAS XMI lossless": share([is_lossless(file) for file in by_format[".xmi"]]),
        "CAS JSON and XMI say the same": share([read[".json"][name] == read[".xmi"][name] for name in sorted(both)]),
        "CAS identifiers with the same letters in the text of a PDF": share(list(carry_to_pdf(letters))),
    }
    counts = (
        f"{len(by_format['.json'])} JSON, {len(by_format['.xmi'])} XMI, {len(both)} in both, {len(letters)} letters"
    )
    print(counts)
    for name, value in figures.items():
        print(f"{name:<58}{value:.4f}")
    command = "python -m benchmarks.cas corpus/grascco_phi_de"
    today = date.today().isoformat()
    rows = [MetricRow(name, round(v, 5), 1.0, "higher", DATA, "all", command, today) for name, v in figures.items()]
    rows.append(MetricRow("letters", len(letters), None, "higher", DATA, "all", command, today))
    replace_rows(metrics, rows)


def find_files(data: Path, suffix: str) -> Iterator[Path]:
    """List the CAS files of a folder, sorted by name."""
    for file in sorted(data.rglob(f"*{suffix}"), key=lambda file: file.name):
        if suffix != ".json" or is_cas_json(file):
            yield file


def is_lossless(file: Path) -> bool:
    """Test whether a file is unchanged after writing its identifiers back, and after removing and adding them."""
    document = read_cas(file, scheme=SCHEME, layer=LAYER)
    nothing = AnnotatedText(document.name, document.text)
    before = structures(file)
    with TemporaryDirectory() as name:
        write = partial(write_back, folder=Path(name), scheme=SCHEME, layer=LAYER)
        same = write(document, file)
        unchanged = structures(same) == before and read_cas(same, scheme=SCHEME, layer=LAYER) == document
        emptied = read_cas(write(nothing, same), scheme=SCHEME, layer=LAYER) == nothing
        restored = read_cas(write(document, same), scheme=SCHEME, layer=LAYER) == document
        return unchanged and emptied and restored and others(structures(same)) == others(before)


def structures(file: Path) -> dict[str, Any]:
    """Return the content of a CAS, with feature structures by id and views as sets: their order has no meaning."""
    cas = json.loads(file.read_bytes() if file.suffix == ".json" else load_cas(file).to_json())
    if file.suffix == ".json":
        return cas | {"%FEATURE_STRUCTURES": {fs["%ID"]: fs for fs in cas["%FEATURE_STRUCTURES"]}}
    found = {element.get(XMI_ID, element.tag): read_element(element) for element in ElementTree.parse(file).getroot()}
    views = {
        name: {"%MEMBERS": sorted(fs.pop("members").split(), key=int)} for name, fs in found.items() if "members" in fs
    }
    return {"%TYPES": cas["%TYPES"], "%FEATURE_STRUCTURES": found, "%VIEWS": views}


def read_element(element: ElementTree.Element) -> dict[str, Any]:
    """Read a feature structure of XMI: its type, features, and list features."""
    space, _, name = element.tag.removeprefix("{http:///").partition(".ecore}")
    lists = [(child.tag, child.text) for child in element]
    return {"%TYPE": f"{space.replace('/', '.')}.{name}", **element.attrib, "%LISTS": lists}


def others(cas: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a CAS except its identifiers."""
    kept = {i: fs for i, fs in cas["%FEATURE_STRUCTURES"].items() if fs["%TYPE"] != LAYER.type}
    views = {name: [i for i in view["%MEMBERS"] if i in kept] for name, view in cas["%VIEWS"].items()}
    return {"types": cas["%TYPES"], "structures": kept, "views": views}


def carry_to_pdf(letters: Sequence[AnnotatedText]) -> Iterator[bool]:
    """For each identifier, test whether its letters and digits are found in the text of the PDF."""
    for letter in letters:
        text = read_pdf(set_pdf(letter.text))
        (moved,), lost = move_documents([letter], [AnnotatedText(letter.name, text)])
        wanted = [plain(letter.text[e.start : e.end]) for e in letter.entities]
        found = [plain(text[e.start : e.end]) for e in moved.entities]
        yield from (
            [one == other for one, other in zip(wanted, found, strict=True)] if not lost else [False] * len(wanted)
        )


def set_pdf(text: str) -> bytes:
    """Typeset a text as PDF in lines of `WIDTH` characters, with hyphenated words."""
    import matplotlib
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    registerFont(TTFont("DejaVu", Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"))
    out = BytesIO()
    canvas = Canvas(out, pagesize=A4)
    lines = [part for line in text.splitlines() for part in break_line(line.expandtabs())]
    for first in range(0, len(lines), LINES):
        canvas.setFont("DejaVu", 9)
        for i, line in enumerate(lines[first : first + LINES]):
            canvas.drawString(50, 790 - 13 * i, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def break_line(line: str) -> Iterator[str]:
    """Break a line into parts of `WIDTH` characters, with a hyphen between two letters."""
    for start in range(0, max(1, len(line)), WIDTH):
        end = start + WIDTH
        yield line[start:end] + "-" * (end < len(line) and line[end - 1].isalpha() and line[end].isalpha())


def read_pdf(data: bytes) -> str:
    """Extract the text of a PDF with PDFium."""
    import pypdfium2

    with pypdfium2.PdfDocument(data) as pdf:
        return "\n".join(page.get_textpage().get_text_range() for page in pdf)


def plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def share(flags: Sequence[bool]) -> float:
    """Return the share of true values. RAISES: SystemExit if there are none."""
    if not flags:
        raise SystemExit("no files of GraSCCo_PHI there")
    return sum(flags) / len(flags)


if __name__ == "__main__":
    app()
