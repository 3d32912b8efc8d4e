"""Measure the review pages in Chromium, and take screenshots of them, with letters of invented persons.

    python -m benchmarks.desk measure
    python -m benchmarks.desk screenshots --output OUTPUT

``measure`` counts the keys that a reviewer presses for a letter with 30 spans: agree with the spans, release one
person everywhere and undo it, correct a label, and finish. It also measures the time until the browser paints the page
of a job of 500 documents, and the review page of its riskiest document, as the median of several loads.

``screenshots`` shows each page at the widths of a phone, a tablet and a desktop, light and dark.
"""

import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx
import typer
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.desk_letters import write_desk_letters
from benchmarks.fhir import write_figures
from benchmarks.screenshots import CHROMIUM, Keep, serve
from spacy_deid.evaluation.rows import command_line

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

WIDTHS = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1440, 900)}
VISITS = "".join(f"Seen on {day:02d}/03/2024 by Dr. Fenella Marchbanks.\n" for day in range(1, 16))
SPANS, MOST_KEYS, MOST_SECONDS = 30, 40, 0.5
SECONDS = 600_000
Metrics = Annotated[Path, typer.Option(help="File of the metric rows.")]
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def add_job(url: str, files: Sequence[tuple[str, bytes]], **settings: str) -> dict[str, Any]:
    """De-identify files in a job of a running service, and wait for its end. RETURNS (dict): the job."""
    given = [("files", file) for file in files]
    with httpx.Client(base_url=url, timeout=600, trust_env=False) as client:
        while client.get("/v1/health").json()["status"] != "ok":
            time.sleep(0.5)
        form = {"settings": json.dumps({"pipeline": "en", **settings}), "start": "true"}
        job = client.post("/v1/jobs", files=given, data=form).json()["id"]
        while (shown := client.get(f"/v1/jobs/{job}").json())["busy"]:
            time.sleep(1)
    return dict(shown)


class Keyboard:
    """Presses keys on a page and counts them."""

    def __init__(self, page: Page) -> None:
        self.page, self.pressed = page, 0

    def press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            self.page.keyboard.press(key)
            self.pressed += 1


def count_keys(page: Page, url: str) -> tuple[int, int]:
    """Review a letter by keys as a careful reader would. RETURNS (tuple[int, int]): keys pressed, and spans."""
    page.goto(url)
    spans = page.locator("#original mark[data-span]").count()
    keys = Keyboard(page)
    keys.press("Enter", 2)  # to the first span, and agree with it
    for key in ("o", "x"):  # release a person everywhere
        keys.press(key)
    page.wait_for_selector("#original mark.released.current")
    keys.press("u")
    page.wait_for_selector("#original mark.current:not(.released)")
    keys.press("l")  # a label, by the first letters of its name
    page.keyboard.type("REL")
    keys.pressed += 3
    keys.press("Enter")
    page.wait_for_selector("#original mark.current[data-label=RELATIVE]")
    while page.locator("#original mark[data-span]:not(.seen)").count():
        keys.press("Enter")
    keys.press("f")
    page.wait_for_url("**/jobs/*", timeout=SECONDS)
    return keys.pressed, spans


def first_paint(browser: Browser, url: str, loads: int) -> float:
    """Load a page several times in new contexts. RETURNS (float): median seconds to the first contentful paint."""
    seconds: list[float] = []
    for _ in range(loads):
        with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
            page = context.new_page()
            page.set_default_timeout(SECONDS)
            page.goto(url)
            while not (painted := page.evaluate(PAINTED)):
                page.wait_for_timeout(20)
            seconds.append(painted / 1000)
    return statistics.median(seconds)


@app.command()
def measure(
    context: typer.Context,
    documents: Annotated[int, typer.Option(help="Number of documents of the job.")] = 500,
    loads: Annotated[int, typer.Option(help="Number of times each page is loaded.")] = 7,
    metrics: Metrics = Path("metrics/desk.json"),
) -> None:
    """Count the keys of a review, and measure the first paint of the pages of a large job."""
    with TemporaryDirectory() as name, sync_playwright() as driver:
        process, url = serve(Path(name) / "data")
        try:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            letter = add_job(url, [("visits.txt", VISITS.encode())])
            page = browser.new_page(locale="en")
            page.set_default_timeout(SECONDS)
            keys, spans = count_keys(page, f"{url}/files/{letter['files'][0]['id']}")
            assert spans >= SPANS, spans
            notes = [
                (f"{i:03d}.txt", f"Seen on 02/03/2024 by Dr. Fenella Marchbanks. Visit {i}.\n".encode())
                for i in range(documents)
            ]
            job = add_job(url, notes)
            riskiest = max(job["files"], key=lambda file: int(file["risk"]))
            listed = first_paint(browser, f"{url}/jobs/{job['id']}", loads)
            reviewed = first_paint(browser, f"{url}/files/{riskiest['id']}", loads)
            browser.close()
        finally:
            process.terminate()
            process.wait()
    command = command_line("benchmarks.desk measure", context)
    write_figures(metrics, [("key presses", keys, MOST_KEYS, "lower")], f"a letter with {spans} spans, en", command)
    figures = [
        ("first paint of a job, seconds", listed, MOST_SECONDS, "lower"),
        ("first paint of a review, seconds", reviewed, MOST_SECONDS, "lower"),
    ]
    write_figures(metrics, figures, f"a job of {documents} documents", command)


def read_twice(url: str, file: str) -> None:
    """Finish a file as two reviewers, of whom the second releases two spans, and adjudicate one of them."""
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        spans = client.get(f"/v1/files/{file}/findings").json()["spans"]
        places = [{"start": span["start"], "end": span["end"]} for span in (spans[0], spans[-1])]
        changes: list[dict[str, Any]] = [{"action": "finish", "sure": True}]
        changes += [{"action": "release", "reviewer": 2, **place} for place in places]
        changes += [{"action": "finish", "sure": True, "reviewer": 2}]
        for change in changes:
            client.post(f"/files/{file}/review", json=change).raise_for_status()
        client.post(f"/files/{file}/differences", data={**places[0], "take": 2})


@app.command()
def screenshots(output: Annotated[Path, typer.Option(help="Folder of the pictures.")]) -> None:
    """Take screenshots of each page at three widths, light and dark."""
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        letters = [(path.name, path.read_bytes()) for path in write_desk_letters(folder)]
        process, url = serve(folder / "data")
        try:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            job = add_job(url, letters)
            names = dict(zip(("pdf", "scan", "text", "web"), (file["id"] for file in job["files"]), strict=False))
            read_twice(url, names["text"])
            paths = {"documents": url, "job": f"{url}/jobs/{job['id']}", "report": f"{url}/jobs/{job['id']}/report"}
            paths |= {name: f"{url}/files/{file}" for name, file in names.items()}
            paths |= {"agreement": f"{paths['job']}/agreement", "differences": f"{paths['text']}/differences"}
            paths |= {"confirm": f"{paths['web']}/download"}
            for device, (width, height) in WIDTHS.items():
                for mode in ("light", "dark"):
                    view = {"width": width, "height": height}
                    with browser.new_context(viewport=view, color_scheme=mode, locale="en") as context:  # type: ignore[arg-type]
                        page = context.new_page()
                        page.set_default_timeout(SECONDS)
                        for title, path in paths.items():
                            show(page, path, Keep(output), f"desk-{title}-{device}-{mode}")
            browser.close()
        finally:
            process.terminate()
            process.wait()


def show(page: Page, url: str, keep: Keep, name: str) -> None:
    """Open a page, select a span if it has any, wait until its picture is loaded, and save a screenshot."""
    page.goto(url)
    if page.query_selector("#original"):
        for _ in range(3):
            page.keyboard.press("j")
        page.wait_for_selector("#evidence .chip")
    if page.is_visible("#view-page img"):
        page.wait_for_selector("#view-page .box")
        while not page.evaluate("document.querySelector('#view-page img').naturalWidth > 0"):
            page.wait_for_timeout(50)
    keep(page, name)


if __name__ == "__main__":
    app()
