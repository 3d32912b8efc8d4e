"""Stores the layout of pages, and draws pages for the review in a process of their own.

A page is drawn from the uploaded file, which can be damaged or hostile, so never in the process of the service.
"""

import io
import json
import multiprocessing
import zlib
from asyncio import wrap_future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..documents.document import Document, WriteSettings
from ..errors import DeidError, Errors, InputError, describe
from ..offsets import Edit
from .settings import ServiceSettings
from .store import FileRow, NotFound, Store

WITH_PAGES = ("pdf", "image")
QUALITY = 82

Edits = list[tuple[int, int, str, str]]


def store_layouts(store: Store, file: str, document: Document) -> None:
    """Store the layout of each page of a document, compressed.

    file (str): id of the file.
    """
    if document.kind not in WITH_PAGES:
        return
    from ..documents.page_views import dump_layout, layouts_of

    for number, layout in enumerate(layouts_of(document), 1):
        store.put(file, f"layout-{number}", zlib.compress(json.dumps(dump_layout(layout)).encode()))
    store.put(file, "pages", json.dumps([page.start for page in document.pages]).encode())


def read_layout(store: Store, file: FileRow, number: int) -> dict[str, Any]:
    """Read a stored layout.

    number (int): page number, starting at 1.
    RAISES: NotFound (D901) if there is no such page.
    """
    data = store.get(file.id, f"layout-{number}") if 1 <= number <= int(file.about.get("pages", 0)) else None
    if data is None:
        raise NotFound(Errors.D901.format(id=f"{file.id}, page {number}"))
    layout: dict[str, Any] = json.loads(zlib.decompress(data))
    return layout


def has_pages(store: Store, file: FileRow) -> bool:
    """Whether pages of a file can be shown."""
    return file.about.get("kind") in WITH_PAGES and store.get(file.id, "layout-1") is not None


class PageDrawer:
    """Draws pages in a worker process. It must be used only from the thread of the event loop.

    service (ServiceSettings): settings of the service.
    """

    def __init__(self, service: ServiceSettings) -> None:
        self._service = service
        self._pool: ProcessPoolExecutor | None = None

    async def draw(
        self, data: bytes, kind: str, number: int, layout: dict[str, Any], text: str, edits: Edits | None
    ) -> bytes:
        """Draw a page.

        data (bytes): the uploaded file.
        kind (str): its format.
        number (int): page number, starting at 1.
        layout (dict): see `read_layout`.
        text (str): the text of the document.
        edits (Optional[list]): the edits of the preview as tuples; None for the page as it was uploaded.
        RETURNS (bytes): the picture, a JPEG.
        RAISES: InputError if it cannot be drawn; DeidError (D930) if the process was killed.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, _begin, (self._service.worker_gb,))
        pool = self._pool
        try:
            return await wrap_future(pool.submit(_draw, data, kind, number, layout, text, edits))
        except BrokenProcessPool:
            self._pool = None if self._pool is pool else self._pool
            raise DeidError(Errors.D930) from None


def _begin(gigabytes: float) -> None:
    """Initialize the worker process."""
    from .workers import sandbox_process

    sandbox_process(gigabytes)


def _draw(data: bytes, kind: str, number: int, layout: dict[str, Any], text: str, edits: Edits | None) -> bytes:
    """Draw a page in the worker process. Exceptions are replaced by picklable ones without content."""
    from ..documents.page_views import draw_page, load_layout

    try:
        given = None if edits is None else (text, [Edit(*edit) for edit in edits])
        image = draw_page(data, kind, number, load_layout(layout), given, WriteSettings())
        out = io.BytesIO()
        image.save(out, "JPEG", quality=QUALITY)
    except DeidError as error:
        raise InputError(str(error)) from None
    except Exception as error:
        raise InputError(describe(error)) from None
    return out.getvalue()
