"""Invented letters as PDF, with the places where names hide."""

import io
import shutil
import subprocess
from pathlib import Path

import pikepdf
import pypdfium2
import pytest
import reportlab
from attacks.reading import ocr
from pikepdf import Array, Dictionary, Name, String
from PIL import Image, ImageDraw, ImageFont
from reportlab.graphics.barcode.qr import QrCodeWidget
from reportlab.graphics.shapes import Drawing
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen import canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph

from spacy_deid.documents.verification import fold
from spacy_deid.offsets import Edit

NAMES = ["Braulio Sanz Ibáñez", "Matti Äijälä", "Margaret Thornbury"]
SPANISH = """Paciente: Braulio Sanz Ibáñez
Domicilio: Calle Olmo 17, 28035 Madrid
Ingresa por dolor torácico. Niega alergias. El señor Sanz Ibáñez refiere náuseas.
Firmado: Dra. Pilar Núñez Cué"""
FINNISH = """Potilas: Matti Äijälä
Osoite: Hämeenkatu 12 B 4, 33100 Tampere
Potilas Äijälä tuli päivystykseen. Verenpaine 140/90 mmHg."""
ENGLISH = """Patient: Margaret Thornbury
Mrs Thornbury was seen in clinic. Her MRN is 4471902."""

needs_poppler = pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext (poppler-utils) is not installed")
needs_tesseract = pytest.mark.skipif(not shutil.which("tesseract"), reason="tesseract is not installed")


def letter(text, *, size=11, rotate=0, left=72, top=770, font="Helvetica", gap=0):
    """A page with the lines of a text."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    page.setFont(font, size)
    for i, line in enumerate(text.splitlines()):
        page.drawString(left, top - 1.4 * size * i, line, wordSpace=gap)
    page.save()
    return (
        changed(out.getvalue(), lambda pdf: pdf.pages[0].rotate(rotate, relative=False)) if rotate else out.getvalue()
    )


def coded(text, number="4471902"):
    """A page with a text and a QR code."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    page.drawString(72, 770, text)
    drawing = Drawing(150, 150)
    drawing.add(QrCodeWidget(number, barWidth=150, barHeight=150))
    drawing.drawOn(page, 200, 400)
    page.save()
    return out.getvalue()


def columns(paragraphs, *, count=2, hyphens=False):
    """Paragraphs set in columns."""
    out = io.BytesIO()
    width = (A4[0] - 144 - 24 * (count - 1)) / count
    frames = [Frame(72 + i * (width + 24), 72, width, 650, 0, 0, 0, 0) for i in range(count)]
    document = BaseDocTemplate(out, pagesize=A4)
    document.addPageTemplates([PageTemplate(frames=frames)])
    style = ParagraphStyle("x", fontSize=10, leading=12, alignment=TA_JUSTIFY, hyphenationLang="")
    document.build([Paragraph(text, style) for text in paragraphs])
    return out.getvalue()


def changed(data, change):
    """A PDF after `change(pdf)`."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        change(pdf)
        out = io.BytesIO()
        pdf.save(out)
    return out.getvalue()


def hide(name):
    """A change that writes a name wherever a PDF can hold one, but on the page."""

    def change(pdf):
        page = pdf.pages[0].obj
        pdf.docinfo["/Author"] = String(name)
        pdf.docinfo["/Subject"] = name.encode("utf-16-be")
        with pdf.open_metadata() as xmp:
            xmp["dc:title"] = name
        pdf.attachments[f"{name}.txt"] = pikepdf.AttachedFileSpec(pdf, name.encode(), filename=f"{name}.txt")
        with pdf.open_outline() as outline:
            outline.root.append(pikepdf.OutlineItem(name, 0))
        script = Dictionary(S=Name.JavaScript, JS=String(f"app.alert('{name}')"))
        pdf.Root.OpenAction = pdf.make_indirect(script)
        note = Dictionary(Type=Name.Annot, Subtype=Name.Text, Rect=[300, 300, 320, 320], Contents=String(name))
        link = Dictionary(Type=Name.Annot, Subtype=Name.Link, Rect=[10, 10, 20, 20])
        link.A = Dictionary(S=Name.URI, URI=String(f"https://example.org/{name}"))
        page.Annots = Array([pdf.make_indirect(note), pdf.make_indirect(link)])
        page.PieceInfo = Dictionary(Word=Dictionary(Private=String(name)))
        page.Thumb = pdf.make_stream(name.encode(), Width=1, Height=1)
        hide_layer(pdf, page, name)

    return change


def hide_layer(pdf, page, name):
    """Write a name in a layer that is switched off."""
    layer = pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String(f"layer of {name}")))
    pdf.Root.OCProperties = Dictionary(OCGs=[layer], D=Dictionary(OFF=[layer], Order=[layer]))
    resources = page.Resources
    resources.Properties = Dictionary(MC0=layer)
    font = next(iter(resources.Font.keys()))
    code = f"/OC /MC0 BDC BT {font} 12 Tf 72 200 Td ({name}) Tj ET EMC".encode("latin-1")
    pdf.pages[0].contents_add(pdf.make_stream(b"q Q " + code))


def form(value):
    """A form with a filled-in field."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    page.drawString(72, 770, "Paciente:")
    page.acroForm.textfield(name="patient", value=value, x=140, y=760, width=250, height=22, fontSize=11)
    page.save()
    return out.getvalue()


def watermark(text):
    """A change that prints a text aslant over a page."""

    def change(pdf):
        font = next(iter(pdf.pages[0].obj.Resources.Font.keys()))
        code = f"q BT {font} 30 Tf 0.7071 0.7071 -0.7071 0.7071 150 300 Tm ({text}) Tj ET Q"
        pdf.pages[0].contents_add(pdf.make_stream(code.encode("latin-1")))

    return change


def free_text(text):
    """A change that writes a text as an annotation."""

    def change(pdf):
        page = pdf.pages[0].obj
        form = pdf.make_stream(f"BT /F1 12 Tf 2 4 Td ({text}) Tj ET".encode("latin-1"))
        form.Type, form.Subtype, form.BBox = Name.XObject, Name.Form, Array([0, 0, 200, 20])
        form.Resources = Dictionary(Font=Dictionary(F1=next(iter(page.Resources.Font.values()))))
        note = Dictionary(Type=Name.Annot, Subtype=Name.FreeText, Rect=[72, 400, 272, 420], F=4)
        note.Contents, note.AP = String(text), Dictionary(N=pdf.make_indirect(form))
        page.Annots = Array([pdf.make_indirect(note)])

    return change


def later_revision(data, old, new):
    """The PDF with a line written anew in an incremental update: the old line stays in the file."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        stream = pdf.pages[0].Contents
        content = stream.read_bytes()
        assert old.encode("latin-1") in content
        number = stream.objgen[0]
        root, size = pdf.Root.objgen[0], len(pdf.objects) + 1
    body = content.replace(old.encode("latin-1"), new.encode("latin-1"))
    start = int(data.rsplit(b"startxref", 1)[1].split()[0])
    update = b"%d 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\n" % (number, len(body), body)
    at = len(data) + 1
    trailer = b"trailer\n<</Size %d/Root %d 0 R/Prev %d>>" % (size, root, start)
    table = b"xref\n%d 1\n%010d 00000 n \n%s\nstartxref\n%d\n%%%%EOF" % (number, at, trailer, at + len(update))
    return data + b"\n" + update + table


def scan(data, *, dpi=200, rotate=0, skew=0.0):
    """The pages of a PDF as pictures, as a scanner makes them."""
    out = io.BytesIO()
    page = None
    for image in pictures(data, dpi):
        image = image.convert("L").rotate(skew, fillcolor=255).rotate(-rotate, expand=True, fillcolor=255)
        size = (image.width * 72 / dpi, image.height * 72 / dpi)
        page = page or canvas.Canvas(out)
        page.setPageSize(size)
        page.drawInlineImage(image, 0, 0, *size)
        page.showPage()
    page.save()
    return out.getvalue()


def pictures(data, dpi):
    """The pages of a PDF as they are shown."""
    with pypdfium2.PdfDocument(data) as pdf:
        pdf.init_forms()
        return [pdf[i].render(scale=dpi / 72).to_pil() for i in range(len(pdf))]


def joined(*files):
    """The pages of several PDFs in one."""
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        for data in files:
            with pikepdf.open(io.BytesIO(data)) as other:
                pdf.pages.extend(other.pages)
                pdf.save(out) if data is files[-1] else None
    return out.getvalue()


def with_picture(data, image):
    """A PDF with a picture near the foot of its first page."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4)
    page.drawInlineImage(image, 72, 100, image.width * 0.72, image.height * 0.72)
    page.save()

    def overlay(pdf):
        with pikepdf.open(io.BytesIO(out.getvalue())) as other:
            pdf.pages[0].add_overlay(other.pages[0])

    return changed(data, overlay)


def assert_unreadable(data, words, language):
    """No word can be read on the pages, by OCR at 300 dpi."""
    for image in pictures(data, 300):
        text = fold(ocr(image.convert("RGB"), language, modes=(3,)))
        assert [word for word in words if fold(word) in text] == []


def edits_of(text, strings, label="PATIENT", replacement=None):
    """Edits of every place where strings stand."""
    found = []
    for string in strings:
        at = text.find(string)
        while at >= 0:
            found.append(Edit(at, at + len(string), label, f"[{label}]" if replacement is None else replacement))
            at = text.find(string, at + len(string))
    assert found
    return sorted(found, key=lambda edit: edit.start)


def layer(data):
    """The text layer as pdfium reads it, visible or not."""
    with pypdfium2.PdfDocument(data) as pdf:
        return "\n".join(pdf[i].get_textpage().get_text_range() for i in range(len(pdf)))


def pdftotext(data):
    """What poppler reads."""
    done = subprocess.run(["pdftotext", "-", "-"], input=data, capture_output=True, check=True)
    return done.stdout.decode()


def unpacked(data):
    """The bytes of a PDF, and of all that is packed in it but pictures."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        streams = [
            item.read_bytes()
            for item in pdf.objects
            if isinstance(item, pikepdf.Stream) and item.get("/Subtype") != "/Image"
        ]
    return b"\n".join([data, *streams])


def in_any_encoding(string):
    """How a string can stand in a file."""
    forms = [string.encode("utf-8"), string.encode("latin-1"), string.encode("utf-16-be"), string.encode("utf-16-le")]
    return forms + [form.hex().encode() for form in forms] + [form.hex().upper().encode() for form in forms]


def with_text(data, code):
    """A PDF with more operators on its first page; `F` is its font."""

    def change(pdf):
        font = next(iter(pdf.pages[0].obj.Resources.Font.keys()))
        pdf.pages[0].contents_add(pdf.make_stream(b"q Q " + code.replace(" F ", f" {font} ").encode("latin-1")))

    return changed(data, change)


def type3(text, box):
    """A change that writes a text in a font whose glyphs are drawn by operators and say that they fill a box."""
    face = ImageFont.truetype(str(Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"), 40)

    def draw(pdf, letter):
        image = Image.new("1", (60, 60))
        ImageDraw.Draw(image).text((5, 5), letter, font=face, fill=1)
        dots = [(x, y) for y in range(60) for x in range(60) if image.getpixel((x, y))]
        code = "\n".join(f"{20 * (x - 5)} {20 * (45 - y)} 20 20 re" for x, y in dots)
        return pdf.make_stream(f"{20 * face.getlength(letter):.0f} 0 {box} d1\n{code} f".encode())

    def change(pdf):
        letters = sorted(set(text))
        codes = "".join(f"<{65 + i:02X}> <{ord(letter):04X}>\n" for i, letter in enumerate(letters))
        cmap = f"1 begincodespacerange <00> <FF> endcodespacerange {len(letters)} beginbfchar\n{codes}endbfchar"
        names = [Name(f"/g{i}") for i in range(len(letters))]
        font = Dictionary(Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, 0, 0, 0]), Resources=Dictionary())
        font.FontMatrix = Array([0.001, 0, 0, 0.001, 0, 0])
        font.CharProcs = Dictionary({str(name): draw(pdf, one) for name, one in zip(names, letters, strict=True)})
        font.Encoding = Dictionary(Type=Name.Encoding, Differences=Array([65, *names]))
        font.FirstChar, font.LastChar = 65, 64 + len(letters)
        font.Widths = Array([round(20 * face.getlength(letter)) for letter in letters])
        font.ToUnicode = pdf.make_stream(cmap.encode())
        pdf.pages[0].obj.Resources.Font["/T3"] = pdf.make_indirect(font)
        shown = "".join(chr(65 + letters.index(letter)) for letter in text)
        pdf.pages[0].contents_add(pdf.make_stream(f"q Q BT /T3 24 Tf 72 600 Td ({shown}) Tj ET".encode()))

    return change
