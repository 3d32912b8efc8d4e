"""The review pages in Chromium: the page beside the text, decisions, filters, and accessibility checked by axe."""

import re

import pytest
from pdf_letters import letter

from spacy_deid.app.pages import ROWS

from .conftest import CANARY, CHROMIUM, NOTE
from .test_browser import file, review, until

axe_package = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not installed: pip install axe-playwright-python"
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no chromium at /usr/bin/chromium"),
]
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
LETTER = NOTE.replace("😀 ", "")
TWICE = NOTE + "El paciente Aurelio Linde mejora. Dr. Galdeano.\n" * 2


@pytest.fixture(scope="module")
def desk(service):
    """A finished job of a PDF, a page with a warning, a text and a damaged file: paths of its pages."""
    warned = ("pagina.html", f"<p>{NOTE}</p><img src='a.png'>".encode())
    given = [("carta.pdf", letter(LETTER)), warned, ("texto.txt", TWICE.encode()), ("kaputt rota.pdf", b"%PDF-1.7 no")]
    job = service.wait(service.add(*given))
    first, second, third, _ = (f"/files/{one['id']}" for one in job["files"])
    return {
        "job": f"/jobs/{job['id']}",
        "pdf": first,
        "warned": second,
        "text": third,
        "index": "/",
        "agreement": f"/jobs/{job['id']}/agreement",
    }


@pytest.fixture(scope="module")
def read_twice(service):
    """A file whose second reviewer released two spans, one of which was adjudicated: paths of its pages."""
    job = service.wait(service.add(("dos.txt", TWICE.encode())))
    file = f"/files/{job['files'][0]['id']}"
    spans = service.client.get(f"/v1{file}/findings").json()["spans"]
    places = [{"start": span["start"], "end": span["end"]} for span in (spans[0], spans[-1])]

    def post(path, **more):
        assert service.client.post(file + path, **more).status_code in (200, 303)

    post("/review", json={"action": "finish", "sure": True})
    for place in places:
        post("/review", json={"action": "release", "reviewer": 2, **place})
    post("/review", json={"action": "finish", "sure": True, "reviewer": 2})
    post("/differences", data={**places[0], "take": 2})
    return {"agreement": f"/jobs/{job['id']}/agreement", "differences": f"{file}/differences"}


def find_violations(page):
    """Check a page with axe. RETURNS: rule and element of each violation."""
    found = axe_package.Axe().run(page, options=RULES).response["violations"]
    return [(one["id"], node["html"][:80]) for one in found for node in one["nodes"]]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_pages_have_no_violations_of_wcag(service, open_page, desk, mode):
    page = open_page(color_scheme=mode, bypass_csp=True)  # axe is injected as a script
    for name, path in desk.items():
        page.goto(service.url + path)
        if name in ("pdf", "text"):
            page.keyboard.press("j")
            page.wait_for_selector("#evidence .chip")
        assert (name, find_violations(page)) == (name, [])


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_of_two_reviewers_have_no_violations_of_wcag(service, open_page, read_twice, mode, width):
    page = open_page(color_scheme=mode, bypass_csp=True)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(service.url + read_twice["agreement"])
    assert page.inner_text("td >> nth=3")  # the agreement of a file
    assert find_violations(page) == []
    page.goto(service.url + read_twice["differences"])
    assert page.locator(".difference").count() == 2
    assert page.locator("[aria-pressed=true]").count() == 1
    assert page.locator("main form button:not([name])").count() == 1  # apply what was adjudicated
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_boxes_of_the_page_and_spans_of_the_text_select_each_other(service, open_page, desk):
    page = open_page(service.url + desk["pdf"])
    page.keyboard.press("j")
    page.wait_for_selector(".box.current")
    start = page.get_attribute("#original mark.current", "data-start")
    assert page.get_attribute(".box.current", "data-start") == start
    page.click("#view-page .box >> nth=-1")
    other = page.get_attribute("#original mark.current", "data-start")
    assert other != start
    assert page.get_attribute(".box.current", "data-start") == other
    assert page.get_attribute("#spans li.current", "data-span") is not None


def test_the_released_page_is_drawn_again_after_a_decision(service, open_page, desk):
    page = open_page(service.url + desk["pdf"])
    page.click("[data-view=copy]")
    loaded = "document.querySelector('#view-copy img')?.naturalWidth > 0"
    until(page, loaded)
    before = page.get_attribute("#view-copy img", "src")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.wait_for_selector("#original mark.released.current")
    until(page, f"document.querySelector('#view-copy img').getAttribute('src') !== '{before}'")
    until(page, loaded)
    page.keyboard.press("u")
    page.wait_for_selector("#original mark.current:not(.released)")


def test_a_decision_applies_to_all_occurrences_and_is_undone(service, open_page, desk):
    page = open_page(service.url + desk["text"])
    name = page.locator("#spans li[data-label=PATIENT]").first
    count = int(name.get_attribute("data-count"))
    assert count >= 2
    name.click()
    page.keyboard.press("o")
    page.keyboard.press("x")
    page.wait_for_selector("#original mark.released")
    assert page.locator("#original mark.released").count() == count
    assert CANARY in page.inner_text("#released")
    page.keyboard.press("u")
    page.wait_for_selector("#original mark:not(.released).current")
    assert page.locator("#original mark.released").count() == 0
    assert page.is_disabled("#undo")


def test_warnings_are_confirmed_before_the_review_is_finished(service, open_page, desk):
    page = open_page(service.url + desk["warned"])
    spans = page.locator("#original mark[data-span]").count()
    for _ in range(spans):
        page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    until(page, f"document.getElementById('seen').value === {spans}")
    page.keyboard.press("f")
    page.wait_for_selector("#said.wrong")
    assert "warning" in page.inner_text("#said")
    page.keyboard.press("c")
    page.wait_for_selector(".alert.checked")
    with page.expect_navigation():
        page.keyboard.press("f")
    page.goto(service.url + desk["job"])
    assert "1 of 3 files reviewed" in page.inner_text("#outcome")


def test_filters_hide_other_spans_and_keys_skip_them(service, open_page, desk):
    page = open_page(service.url + desk["text"])
    page.click("summary:text('Filter')")
    page.select_option("#by-label", "DATE")
    assert {item.get_attribute("data-label") for item in page.query_selector_all("#spans li:visible")} == {"DATE"}
    page.evaluate("document.activeElement.blur()")
    for _ in range(3):
        page.keyboard.press("j")
        assert page.get_attribute("#original mark.current", "data-label") == "DATE"


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_an_error_names_the_file_as_the_user_did_in_their_language(service, open_page, desk, lang):
    page = open_page(f"{service.url}{desk['job']}?lang={lang}")
    reason = page.inner_text(".reason")
    assert reason.startswith("kaputt rota.pdf: ")
    assert page.get_attribute(".reason", "lang") is None
    words = {"en": "damaged", "es": "dañado", "fi": "vioittunut"}
    assert words[lang] in reason


def test_a_finished_job_opens_on_its_results_with_settings_folded(service, open_page, desk):
    page = open_page(service.url + desk["job"])
    assert page.is_visible("#start-review")
    assert not page.is_visible("#style")
    assert page.locator("#outcome .confidential .danger").count() == 1
    page.click("text=Order by risk")
    files = service.client.get(f"/v1{desk['job']}").json()["files"]
    ordered = sorted(files, key=lambda one: (one.get("reviewed", False), -one.get("risk", -1)))
    assert [row.inner_text() for row in page.query_selector_all("#files tbody th")] == [one["name"] for one in ordered]


def test_files_of_a_large_job_are_on_several_pages(service, open_page):
    job = service.add(*[(f"{i:03d}.txt", b"Alta.") for i in range(ROWS + 1)], start=False)
    page = open_page(f"{service.url}/jobs/{job}")
    assert page.locator("#files tbody tr").count() == ROWS
    page.click("nav a[rel=next]")
    assert page.inner_text("#files tbody th") == f"{ROWS:03d}.txt"
    assert page.locator("#files tbody tr").count() == 1


def test_thirty_spans_are_reviewed_with_forty_keys(service, open_page):
    text = "".join(f"Visita el {day:02d}/03/2024 del paciente Aurelio {CANARY}.\n" for day in range(1, 16))
    page = open_page()
    review(page, service, file("carta.txt", text))
    spans = page.locator("#original mark[data-span]").count()
    assert spans >= 30
    keys = 0
    for key in ["Enter"] * (spans + 1) + ["f"]:
        page.keyboard.press(key)
        keys += 1
    page.wait_for_url(re.compile("/jobs/"))
    assert keys <= 40
    assert "reviewed" in page.inner_text("#files tbody tr")
