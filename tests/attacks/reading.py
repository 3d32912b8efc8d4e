"""Read released copies with other programs than the product's own readers.

PDF and pictures are read by pdftotext, pdfium, qpdf (pikepdf), Tesseract and readers of bar codes. Nothing here
imports `spacy_deid`: a fault of the product's reader must not hide what another reader gets.
"""

import io
import os
import shutil
import subprocess
import unicodedata
import warnings
from collections.abc import Iterator, Sequence

import pikepdf
import pypdfium2
from PIL import Image, ImageOps

__all__ = ["bar_codes", "fold", "layers", "ocr", "pages", "raw_strings", "readings", "still_readable"]

DPI = 300
PSM = (3, 11)  # Tesseract's page segmentation: paragraphs, and sparse text as in stamps and logos


def fold(text: str) -> str:
    """Reduce a text to its letters and digits, in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in plain if char.isalnum())


def still_readable(data: bytes, planted: Sequence[str], **options: object) -> list[str]:
    """Find the planted strings that some reader still gets out of a copy.

    Strings are compared as `fold` leaves them, so line breaks within a string do not hide it.

    data (bytes): a PDF, PNG, JPEG or TIFF.
    planted (Sequence[str]): what was hidden in the original; each needs three letters or digits at least.
    options: of `readings`.
    RETURNS (list[str]): those that can be read.
    """
    assert planted
    assert all(len(fold(string)) >= 3 for string in planted)
    texts = list(map(fold, readings(data, **options).values()))  # type: ignore[arg-type]
    return [string for string in planted if any(fold(string) in text for text in texts)]


def readings(
    data: bytes,
    *,
    language: str = "eng",
    angles: Sequence[float] = (0,),
    channels: bool = False,
    dpi: int = DPI,
    modes: Sequence[int] = PSM,
    picture: bool = True,
) -> dict[str, str]:
    """Read a file with every reader.

    data (bytes): a PDF, PNG, JPEG or TIFF.
    language (str): Tesseract's name of the language.
    angles (Sequence[float]): degrees counterclockwise by which pages are turned before OCR.
    channels (bool): whether red, green and blue are read one by one as well, for text that grey does not show.
    dpi (int): resolution at which pages of a PDF are drawn.
    modes (Sequence[int]): Tesseract's modes of page segmentation.
    picture (bool): whether pages are read by OCR and bar code readers; without, only text and streams are.
    RETURNS (dict[str, str]): reader → text.
    """
    found = layers(data) | {"streams": raw_strings(data)} if data[:1024].find(b"%PDF-") >= 0 else {}
    for number, page in enumerate(pages(data, dpi) if picture else (), 1):
        found[f"bar codes, page {number}"] = "\n".join(bar_codes(page))
        for angle in angles:
            turned = page.rotate(angle, expand=True, fillcolor="white") if angle else page
            views = [turned.convert("L"), *(turned.split() if channels else ())]
            for i, view in enumerate(views):
                found[f"OCR, page {number}, {angle} degrees, channel {i}"] = ocr(view, language, dpi, modes)
    return found


def layers(data: bytes) -> dict[str, str]:
    """The text layer of a PDF, visible or not, as poppler and pdfium extract it."""
    done = subprocess.run(["pdftotext", "-", "-"], input=data, capture_output=True, check=True)
    with pypdfium2.PdfDocument(data) as pdf:
        text = "\n".join(page.get_textpage().get_text_range() for page in pdf)
    return {"pdftotext": done.stdout.decode("utf8", "replace"), "pdfium": text}


def raw_strings(data: bytes) -> str:
    """All strings of a PDF, and all its streams but pictures, unpacked, as single bytes and as UTF-16."""
    pieces: list[bytes] = []
    with pikepdf.open(io.BytesIO(data)) as pdf:
        for item in [pdf.trailer, *pdf.objects]:
            pieces += _strings(item)
            if isinstance(item, pikepdf.Stream) and item.get("/Subtype") != "/Image":
                pieces += [item.read_bytes(), b"".join(_operands(item))]
    joined = b"\n".join(pieces)
    return "\n".join([joined.decode("latin-1"), *(piece.decode("utf-16-be", "replace") for piece in pieces)])


def _operands(stream: pikepdf.Stream) -> Iterator[bytes]:
    """The strings that the operators of a content stream are given; none if it is not one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pikepdf warns of streams that end within an operator
        try:
            instructions = pikepdf.parse_content_stream(stream)
        except pikepdf.PdfError:
            return
    for instruction in instructions:
        for operand in instruction.operands:
            yield from _strings(operand)


def _strings(item: object, depth: int = 0) -> Iterator[bytes]:
    """The strings of an object, without those of objects that it points to."""
    if isinstance(item, pikepdf.String):
        yield bytes(item)
    elif depth < 50 and isinstance(item, pikepdf.Array):
        for part in item:
            yield from () if getattr(part, "is_indirect", False) else _strings(part, depth + 1)
    elif depth < 50 and isinstance(item, pikepdf.Dictionary | pikepdf.Stream):
        for _, part in item.items():
            yield from () if getattr(part, "is_indirect", False) else _strings(part, depth + 1)


def pages(data: bytes, dpi: int = DPI) -> list[Image.Image]:
    """The pages of a PDF or picture as they are shown, in RGB.

    data (bytes): the file.
    dpi (int): resolution at which pages of a PDF are drawn; pictures stay as they are.
    RETURNS (list[Image]): the pages.
    """
    if data[:1024].find(b"%PDF-") >= 0:
        with pypdfium2.PdfDocument(data) as pdf:
            pdf.init_forms()
            return [page.render(scale=dpi / 72).to_pil().convert("RGB") for page in pdf]
    with Image.open(io.BytesIO(data)) as image:
        found = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            found.append(image.convert("RGB"))
        return found


def trimmed(image: Image.Image, margin: int = 60) -> Image.Image:
    """A picture without its white edges, which Tesseract would read as well."""
    box = ImageOps.invert(image.convert("L")).getbbox()
    if box is None:
        return image
    left, top = (max(0, edge - margin) for edge in box[:2])
    right, bottom = (min(edge + margin, limit) for edge, limit in zip(box[2:], image.size, strict=True))
    return image.crop((left, top, right, bottom))


def ocr(image: Image.Image, language: str = "eng", dpi: int = DPI, modes: Sequence[int] = PSM) -> str:
    """What the command `tesseract` reads in a picture, with each mode of page segmentation."""
    packed = io.BytesIO()
    trimmed(image).save(packed, "PPM")
    texts = []
    for mode in modes:
        command = ["tesseract", "stdin", "stdout", "-l", language, "--psm", str(mode), "--dpi", str(dpi)]
        environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
        done = subprocess.run(command, input=packed.getvalue(), capture_output=True, check=True, env=environment)
        texts.append(done.stdout.decode("utf8", "replace"))
    return "\n".join(texts)


def bar_codes(image: Image.Image) -> list[str]:
    """The contents of bar codes in a picture, by zxing-cpp and by zbarimg, whichever are installed."""
    found = []
    try:
        import zxingcpp
    except ImportError:
        pass
    else:
        found += [code.text for code in zxingcpp.read_barcodes(image.convert("L"))]
    if shutil.which("zbarimg"):
        packed = io.BytesIO()
        image.save(packed, "PNG")
        command = ["zbarimg", "--quiet", "--raw", "-"]
        done = subprocess.run(command, input=packed.getvalue(), capture_output=True, check=False)
        found += done.stdout.decode("utf8", "replace").splitlines()
    return found
