"""Build the font of invisible text layers, in which every character is the same box, half an em wide.

    python -m scripts.glyphless_font

Tesseract and OCRmyPDF use such fonts for the text behind page images. The glyph is a box instead of empty, because
PDFium ignores text without extent. It is never painted. Needs fonttools.
"""

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

PATH = Path("spacy_deid/resources/documents/glyphless.ttf")


def main() -> None:
    """Build the font: glyph 0 is the mandatory .notdef, glyph 1 is used for every character."""
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", "blank"])
    font.setupCharacterMap({0x20: "blank"})
    pen = TTGlyphPen(None)
    pen.moveTo((0, -200))
    for point in ((0, 800), (500, 800), (500, -200)):
        pen.lineTo(point)
    pen.closePath()
    box = pen.glyph()
    font.setupGlyf({".notdef": box, "blank": box})
    font.setupHorizontalMetrics({".notdef": (500, 0), "blank": (500, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Glyphless", "styleName": "Regular", "psName": "Glyphless"})
    font.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
    font.setupPost(keepGlyphNames=False)
    font.font["head"].created = font.font["head"].modified = 0
    font.font.recalcTimestamp = False
    PATH.parent.mkdir(parents=True, exist_ok=True)
    font.save(PATH)


if __name__ == "__main__":
    main()
