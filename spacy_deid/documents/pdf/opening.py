"""PDF files opened with pdfium, and refused if they cannot be shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from ...errors import Errors, InputError
from ..document import ReadSettings

__all__ = ["flat_page", "open_pdf"]

# what pdfium says of a file that it cannot open
_REASONS = {raw.FPDF_ERR_PASSWORD: "encrypted. Take the password off first", raw.FPDF_ERR_SECURITY: "encrypted"}


@contextmanager
def open_pdf(data: bytes, name: str, settings: ReadSettings) -> Iterator[Any]:
    """Open a PDF.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): has the largest number of pages.
    YIELDS (PdfDocument): the document, closed behind the block.
    RAISES: InputError (D715) if it is encrypted, broken, without pages, has too many, or is an XFA form.
    """
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        reason = _REASONS.get(getattr(error, "err_code", None), "no PDF that can be opened: truncated or malformed")
        raise InputError(Errors.D715.format(path=name, reason=reason)) from None
    try:
        _check(pdf, name, settings)
        pdf.init_forms()
        yield pdf
    finally:
        pdf.close()


def _check(pdf: Any, name: str, settings: ReadSettings) -> None:
    """Refuse what has no pages, too many, or pages that an XFA program would make first."""
    pages = len(pdf)
    reason = None
    if not pages:
        reason = "no page"
    elif pages > settings.max_pages:
        reason = f"{pages} pages, more than the {settings.max_pages} that are allowed"
    elif pdf.get_formtype() == raw.FORMTYPE_XFA_FULL:
        reason = "an XFA form, whose pages only Adobe's programs can make. Print it to a PDF first"
    if reason:
        raise InputError(Errors.D715.format(path=name, reason=reason))


@contextmanager
def flat_page(pdf: Any, index: int, name: str) -> Iterator[Any]:
    """A page with its form fields and annotations drawn on it, so that what they show is text like any other.

    pdf (PdfDocument): the document.
    index (int): from 0.
    name (str): name of the file, for errors.
    YIELDS (PdfPage): the page, closed behind the block.
    RAISES: InputError (D718) if it cannot be read.
    """
    try:
        page = pdf.get_page(index)
        drawn = raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        if drawn == raw.FLATTEN_SUCCESS:
            page.close()
            page = pdf.get_page(index)
    except pdfium.PdfiumError:
        drawn = raw.FLATTEN_FAIL
    if drawn == raw.FLATTEN_FAIL:
        raise InputError(Errors.D718.format(path=name, page=index + 1, reason="cannot be read")) from None
    try:
        yield page
    finally:
        page.close()
