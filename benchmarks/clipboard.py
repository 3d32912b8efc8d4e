"""Get the text that a user copies from a PDF in a browser."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
HIDDEN = ["--disable-extensions", "--disable-component-extensions-with-background-pages"]  # what takes the viewer away
EMPTY = "nothing was copied"
MIDDLE = (800, 400)  # a place on the page that the viewer shows
PAUSE = 300  # milliseconds after a key
TRIES = 12  # while the viewer still loads, nothing or not all is copied


class Clipboard:
    """A headless browser, and a local server that serves files to it.

    ```
    with Clipboard() as clipboard:
        text = clipboard.copy(data)
    ```
    """

    def __enter__(self) -> "Clipboard":
        self._folder = TemporaryDirectory()
        self._path = Path(self._folder.name)
        (self._path / "www").mkdir()
        (self._path / "www" / "index.html").write_text("<title>clipboard</title>", encoding="utf8")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(self._path / "www")))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._url = f"http://127.0.0.1:{self._server.server_port}"
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch_persistent_context(
            self._path / "profile",
            executable_path=CHROMIUM,
            headless=False,
            args=["--headless=new", "--no-sandbox"],  # the old headless mode has no viewer
            ignore_default_args=HIDDEN,
        )
        self._browser.grant_permissions(["clipboard-read", "clipboard-write"], origin=self._url)
        self._reader = self._browser.new_page()
        self._reader.goto(self._url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.close()
        self._playwright.stop()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    def copy(self, data: bytes) -> str:
        """Open a file, select all, copy, and read the clipboard, until it is the same twice.

        data (bytes): a PDF.
        RETURNS (str): the copied text; "" if nothing was copied.
        """
        (self._path / "www" / "letter.pdf").write_bytes(data)
        page = self._browser.new_page()
        page.goto(f"{self._url}/letter.pdf")
        seen = ""
        try:
            for _ in range(TRIES):
                last, seen = seen, self._copied(page)
                if seen and seen == last:
                    break
            return seen
        finally:
            page.close()

    def _copied(self, page: Page) -> str:
        """Press the keys in the viewer, and read the clipboard on a page with permission."""
        self._reader.bring_to_front()
        self._reader.evaluate("text => navigator.clipboard.writeText(text)", EMPTY)
        page.bring_to_front()
        page.mouse.click(*MIDDLE)
        page.keyboard.press("Control+a")
        page.wait_for_timeout(PAUSE)
        page.keyboard.press("Control+c")
        page.wait_for_timeout(PAUSE)
        self._reader.bring_to_front()
        text: str = self._reader.evaluate("navigator.clipboard.readText()")
        return "" if text == EMPTY else text


class _Silent(SimpleHTTPRequestHandler):
    """Request handler without log output and without caching."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass
