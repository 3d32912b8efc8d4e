"""Letters as PDF whose text is drawn in ways that no text layer holds."""

import math
from pathlib import Path

import reportlab
from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont
from pdf_letters import changed
from pikepdf import Array, Dictionary, Name

VERA = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"


class _Operators(BasePen):
    """Writes outlines as operators of a page."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.code = []

    def _moveTo(self, point):  # noqa: N802 - named by fontTools
        self.code.append("{} {} m".format(*point))

    def _lineTo(self, point):  # noqa: N802
        self.code.append("{} {} l".format(*point))

    def _curveToOne(self, *points):  # noqa: N802
        self.code.append("{} {} {} {} {} {} c".format(*(value for point in points for value in point)))

    def _closePath(self):  # noqa: N802
        self.code.append("h")


def outlines(text, size):
    """The outlines of letters one by one, each with its place on the line: operators and advance, in points."""
    font = TTFont(VERA)
    glyphs, names, scale = font.getGlyphSet(), font.getBestCmap(), size / font["head"].unitsPerEm
    at = 0.0
    for char in text:
        pen = _Operators(glyphs)
        glyphs[names[ord(char)]].draw(pen)
        width = glyphs[names[ord(char)]].width * scale
        yield f"{scale:.6f} 0 0 {scale:.6f} 0 0 cm {' '.join(pen.code)} f", at, width
        at += width


def outlined(text, x=72, y=600, size=14, angle=0):
    """Operators that draw a text as lines and curves, turned counterclockwise by some degrees."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    letters = [f"q 1 0 0 1 {at:.3f} 0 cm {code} Q" for code, at, _ in outlines(text, size)]
    return f"q {c:.5f} {s:.5f} {-s:.5f} {c:.5f} {x} {y} cm {' '.join(letters)} Q"


def bent(text, x=300, y=400, radius=70, size=12, show=None):
    """Operators that draw a text clockwise around a circle, beginning on the left.

    show (Callable | None): operators of a letter at its place; outlines without.
    """
    code = []
    for (path, at, width), char in zip(outlines(text, size), text, strict=True):
        turn = math.pi - (at + width / 2) / radius
        c, s = math.cos(turn - math.pi / 2), math.sin(turn - math.pi / 2)
        place = f"{c:.5f} {s:.5f} {-s:.5f} {c:.5f} {x + radius * math.cos(turn):.3f} {y + radius * math.sin(turn):.3f}"
        code.append(f"q {place} cm 1 0 0 1 {-width / 2:.3f} 0 cm {show(char) if show else path} Q")
    return " ".join(code)


def ring(x=300, y=400, radius=90):
    """Operators that draw a circle, as around a stamp."""
    k = 0.5523 * radius
    return (
        f"q 1.5 w {x + radius} {y} m {x + radius} {y + k} {x + k} {y + radius} {x} {y + radius} c "
        f"{x - k} {y + radius} {x - radius} {y + k} {x - radius} {y} c {x - radius} {y - k} {x - k} {y - radius} "
        f"{x} {y - radius} c {x + k} {y - radius} {x + radius} {y - k} {x + radius} {y} c S Q"
    )


def _font(pdf):
    return next(iter(pdf.pages[0].obj.Resources.Font.values()))


def tiled(data, text):
    """A PDF with a rectangle that is filled with a pattern of a text."""

    def change(pdf):
        page = pdf.pages[0].obj
        tile = pdf.make_stream(f"BT /F1 14 Tf 4 10 Td ({text}) Tj ET".encode("latin-1"))
        tile.Type, tile.PatternType, tile.PaintType, tile.TilingType = Name.Pattern, 1, 1, 1
        tile.BBox, tile.XStep, tile.YStep = Array([0, 0, 200, 40]), 200, 40
        tile.Matrix = Array([1, 0, 0, 1, 72, 560])
        tile.Resources = Dictionary(Font=Dictionary(F1=_font(pdf)))
        page.Resources.Pattern = Dictionary(P1=tile)
        pdf.pages[0].contents_add(pdf.make_stream(b"q Q q /Pattern cs /P1 scn 72 560 200 40 re f Q"))

    return changed(data, change)


def masked(data, text):
    """A PDF with a rectangle that is painted through a soft mask of a text."""

    def change(pdf):
        page = pdf.pages[0].obj
        code = f"1 g BT /F1 14 Tf 76 600 Td ({text}) Tj ET".encode("latin-1")
        group = pdf.make_stream(code)
        group.Type, group.Subtype, group.BBox = Name.XObject, Name.Form, Array([0, 0, 600, 800])
        group.Group = Dictionary(S=Name.Transparency, CS=Name.DeviceGray)
        group.Resources = Dictionary(Font=Dictionary(F1=_font(pdf)))
        mask = Dictionary(Type=Name.Mask, S=Name.Luminosity, G=group, BC=Array([0]))
        page.Resources.ExtGState = Dictionary(G1=Dictionary(Type=Name.ExtGState, SMask=mask))
        pdf.pages[0].contents_add(pdf.make_stream(b"q Q q /G1 gs 0 g 60 580 300 50 re f Q"))

    return changed(data, change)


def whole_words(data, words, says="x"):
    """A PDF with a Type 3 font whose single glyphs draw whole words, and say that they are one letter."""

    def change(pdf):
        page = pdf.pages[0].obj
        names = [Name(f"/g{i}") for i in range(len(words))]
        draw = [
            f"{700 * len(word)} 0 0 -300 {700 * len(word)} 1000 d1 BT /F1 1000 Tf ({word}) Tj ET" for word in words
        ]
        cmap = f"1 begincodespacerange <00> <FF> endcodespacerange {len(words)} beginbfchar\n"
        cmap += "".join(f"<{65 + i:02X}> <{ord(says):04X}>\n" for i in range(len(words))) + "endbfchar"
        font = Dictionary(Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, -300, 9000, 1000]))
        font.FontMatrix = Array([0.001, 0, 0, 0.001, 0, 0])
        font.Resources = Dictionary(Font=Dictionary(F1=_font(pdf)))
        streams = [pdf.make_stream(code.encode("latin-1")) for code in draw]
        font.CharProcs = Dictionary({str(name): code for name, code in zip(names, streams, strict=True)})
        font.Encoding = Dictionary(Type=Name.Encoding, Differences=Array([65, *names]))
        font.FirstChar, font.LastChar = 65, 64 + len(words)
        font.Widths = Array([700 * len(word) for word in words])
        font.ToUnicode = pdf.make_stream(cmap.encode())
        page.Resources.Font["/T3"] = pdf.make_indirect(font)
        shown = "".join(chr(65 + i) for i in range(len(words)))
        pdf.pages[0].contents_add(pdf.make_stream(f"q Q BT /T3 14 Tf 72 600 Td ({shown}) Tj ET".encode()))

    return changed(data, change)
