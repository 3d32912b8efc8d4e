"""The pages in Chromium, used by mouse and by keyboard, with no access to the network."""

import csv
import io
import re
import time
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import slow
from pdf_letters import letter, needs_tesseract

from spacy_deid.app.rendering import LANGUAGES, load_words
from spacy_deid.evaluation import AnnotatedText, Entity, write_folder

from .conftest import CANARY, CHROMIUM, NOTE, TOKEN

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no chromium at /usr/bin/chromium"),
]
# for each piece of text that is seen: its colour and the first ground below it that is not transparent
COLOURS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest(".skip")) continue;
    let ground = element;
    const colour = () => getComputedStyle(ground).backgroundColor;
    while (ground && /, 0\\)|transparent/.test(colour())) ground = ground.parentElement;
    const below = ground ? colour() : "rgb(255, 255, 255)";
    found.push([element.tagName, getComputedStyle(element).color, below]);
  }
  return found;
}"""

# the colour around what has the focus, and that of the ground on which it is drawn
FOCUS = """() => {
  let ground = document.activeElement.parentElement;
  const colour = () => getComputedStyle(ground).backgroundColor;
  while (ground && /, 0\\)|transparent/.test(colour())) ground = ground.parentElement;
  if (document.activeElement === document.body) return ["rgb(0, 0, 0)", "rgb(255, 255, 255)"];
  const around = getComputedStyle(document.activeElement).outlineColor;
  return [around, ground ? colour() : "rgb(255, 255, 255)"];
}"""


def file(name="carta.txt", text=NOTE):
    data = text.encode() if isinstance(text, str) else text
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def upload(page, service, *files):
    page.goto(service.url)
    page.set_input_files("#files", list(files))
    page.click("#upload button")
    page.wait_for_selector("#job[data-busy='0']")


def deidentify(page, service, *files):
    upload(page, service, *(files or [file()]))
    page.click("form.grid button")
    page.wait_for_selector("#job[data-busy='0'] .state.done")


def review(page, service, *files):
    deidentify(page, service, *files)
    page.click("tbody a >> nth=0")
    page.wait_for_url("**/files/*")  # loaded, with its script


def until(page, expression):
    """Wait until something is true of a page. Playwright's own way evaluates a string, which the page forbids."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(expression)


def wait_for(page, wanted):
    """Wait for marks of the original text."""
    page.wait_for_selector(f"#original mark.{wanted}")


def test_settings_entered_while_files_are_parsed_are_kept(service, open_page):
    """Otherwise the job would start with settings that nobody chose."""
    page = open_page(service.url)
    page.set_input_files("#files", [file(f"{i}.txt", NOTE * 2000) for i in range(8)])
    page.click("#upload button")
    assert page.get_attribute("#job", "data-busy") != "0"
    page.select_option("#style", "numbered")
    page.fill("#patient_id", "77")
    page.click("#tables > summary")
    page.fill("#columns", "a = drop")
    page.wait_for_selector("#job[data-busy='0']")
    assert [page.input_value(f"#{name}") for name in ("style", "patient_id", "columns")] == [
        "numbered",
        "77",
        "a = drop",
    ]
    assert page.query_selector("#cancel") is None
    assert page.inner_text("#count") == "0 / 8"
    assert page.locator("#files .state.parsed").count() == 8


def test_results_appear_when_a_job_ends(service, open_page):
    page = open_page()
    deidentify(page, service)
    assert page.is_visible("text=Download all as ZIP")
    assert page.inner_text("#count") == "1 / 1"
    assert page.inner_text("#left") == ""


def test_a_copy_with_warnings_is_downloaded_after_a_confirmation(service, open_page):
    page = open_page()
    deidentify(page, service, file("carta.html", f"<p>{NOTE}</p><img src='a.png'>"), file())
    warning = "pictures and embedded objects are removed"
    assert page.inner_text("#files .warnings li") == warning
    assert page.locator("#files a[download]").count() == 1
    job = page.url
    for link, wanted in (("#files a:text('Download') >> nth=0", CANARY), ("#outcome .danger", "linde")):
        page.goto(job)
        page.click(link)
        page.wait_for_url("**/download*")
        assert page.inner_text("main li") == warning
        with page.expect_download() as one:
            page.click("#confirm")
        data = Path(one.value.path()).read_bytes()
        if link.startswith("#files"):
            assert wanted.encode() not in data
        else:  # the confidential one, as it was asked for
            assert wanted in zipfile.ZipFile(io.BytesIO(data)).read("findings.csv").decode().lower()
    page.goto(job)
    page.click("tbody a >> nth=0")
    assert page.inner_text(".warnings li") == warning


def test_a_job_is_deleted_in_two_steps(service, open_page):
    page = open_page()
    upload(page, service, file())
    url = page.url
    page.click(".sure summary")
    assert page.goto(url).status == 200
    page.click(".sure summary")
    page.click(".sure button")
    page.wait_for_url(f"{service.url}/")
    assert service.client.get(url).status_code == 404


def test_files_that_are_too_large_are_not_sent(service, open_page):
    page = open_page(service.url)
    page.set_input_files("#files", [file(f"{i}.txt", b"a") for i in range(501)])
    page.click("#upload button")
    assert not page.evaluate("document.getElementById('files').validity.valid")
    assert page.url == f"{service.url}/"
    page.set_input_files("#files", [file()])
    page.click("#upload button")
    page.wait_for_url("**/jobs/*")


def test_page_title_has_no_file_name(service, open_page):
    page = open_page()
    review(page, service, file(f"{CANARY}.txt"))
    assert CANARY in page.inner_text("h1")
    assert CANARY not in page.title()


def test_failed_decision_is_reported(service, open_page):
    page = open_page()
    review(page, service)
    page.keyboard.press("j")
    page.wait_for_selector("#evidence table")
    page.route("**/review", lambda route: route.abort())
    page.keyboard.press("x")
    said = page.locator("#said", has_text="does not respond")
    said.wait_for(state="attached")
    assert said.count() == 1
    assert page.query_selector("#original mark.released") is None


def test_added_span_becomes_current_in_both_texts(service, open_page):
    page = open_page()
    review(page, service)
    page.keyboard.press("j")
    for _ in range(40):
        page.keyboard.press("w")
        if page.evaluate("getSelection().toString()") == "disnea":
            break
    page.keyboard.press("a")
    wait_for(page, "added.current")
    page.keyboard.press("k")
    assert page.inner_text("#released mark.current") == "[DATE]"


@pytest.mark.parametrize("lang", [lang if lang == "fi" else slow(lang) for lang in LANGUAGES])  # the longest words
def test_narrow_page_does_not_scroll_sideways(service, open_page, pages, lang):
    page = open_page()
    page.set_viewport_size({"width": 400, "height": 800})
    for path in pages:
        page.goto(f"{service.url}{path}?lang={lang}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        # a head has no more lines than words; one in a row with a long one is as high as that
        rows = [row.query_selector_all("th") for row in page.query_selector_all("thead tr")]
        words = [max(len(head.inner_text().split()) for head in row) for row in rows]
        assert all(row[0].bounding_box()["height"] < 24 * most + 20 for row, most in zip(rows, words, strict=True))


def test_english_messages_have_a_lang_attribute(service, open_page, pages):
    page = open_page(f"{service.url}{pages[2]}?lang=fi")
    assert page.get_attribute("#files .warnings ul", "lang") == "en"
    assert page.get_attribute(".reason", "lang") is None  # it is translated
    page.goto(f"{service.url}/nothing")
    assert page.get_attribute("[role=alert]", "lang") == "en"


@needs_tesseract
def test_files_are_read_and_pages_from_ocr_are_marked(service, open_page, tmp_path):
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (1200, 300), 255)
    ImageDraw.Draw(picture).text((60, 60), "Nombre: Aurelio Linde.", fill=0, font=ImageFont.load_default(40))
    scan = io.BytesIO()
    picture.save(scan, "PNG", dpi=(200, 200))
    page = open_page(service.url)
    upload(
        page, service, file(), file("carta.pdf", letter(NOTE.replace("😀 ", ""))), file("foto.png", scan.getvalue())
    )
    rows = [row.inner_text().split("\t") for row in page.query_selector_all("#files tbody tr")]
    assert [row[0] for row in rows] == ["carta.txt", "carta.pdf", "foto.png"]
    assert [row[1] for row in rows] == ["read"] * 3
    assert [row[3] for row in rows] == ["", "", "1"]


def test_files_can_be_dropped(service, open_page):
    page = open_page(service.url)
    page.evaluate(
        """([text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "uno.txt"));
          data.items.add(new File([text], "dos.txt"));
          const drop = document.querySelector(".drop");
          drop.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true }));
          drop.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        [NOTE],
    )
    assert "uno.txt" in page.inner_text("#chosen")
    page.click("#upload button")
    page.wait_for_selector("#job[data-busy='0']")
    assert "dos.txt" in page.inner_text("#files")


def test_progress_is_updated_and_a_job_can_be_cancelled(service, open_page):
    page = open_page()
    upload(page, service, *[file(f"{i}.txt", NOTE * 150) for i in range(12)])
    assert page.query_selector("text=Cancel") is None
    page.click("form.grid button")
    until(page, "Number(document.getElementById('bar')?.value) > 0")
    page.evaluate("() => { window.stayed = true; }")
    until(page, "document.getElementById('left').textContent.includes('left')")
    until(page, "document.querySelector('.state.running') !== null")
    seen = page.evaluate("Number(document.getElementById('bar').value)")
    until(page, f"Number(document.getElementById('bar').value) > {seen}")
    assert page.evaluate("window.stayed") is True  # the page was not loaded again
    assert re.fullmatch(r"\d+ / 12", page.inner_text("#count"))
    page.click("text=Cancel")
    page.wait_for_selector("#job[data-busy='0']")
    states = [state.inner_text() for state in page.query_selector_all("#files .state")]
    assert {"done", "cancelled"} == set(states)


def test_chosen_settings_are_kept(service, open_page):
    page = open_page()
    upload(page, service, file())
    page.select_option("#operating_point", "high_recall")
    page.select_option("#style", "numbered")
    page.select_option("#policy", "safe_harbor")
    page.fill("#patient_id", "7")
    page.click("form.grid button")
    page.wait_for_selector("#job[data-busy='0'] .state.done")
    chosen = [page.input_value(f"#{name}") for name in ("operating_point", "style", "policy", "patient_id")]
    assert chosen == ["high_recall", "numbered", "safe_harbor", "7"]
    page.click("tbody a >> nth=0")
    assert "[PATIENT_1]" in page.inner_text("#released")


def test_review_by_keyboard(service, open_page):
    page = open_page()
    review(page, service)
    press = page.keyboard.press
    for _ in range(30):  # the keys work wherever the focus is; the text can be reached by Tab as well
        press("Tab")
        if page.evaluate("document.activeElement.id") == "original":
            break
    assert page.evaluate("document.activeElement.id") == "original"
    press("j")
    first = page.inner_text("mark.current")
    assert page.evaluate("document.activeElement.classList.contains('current')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.wait_for_selector("#evidence table")
    press("j")
    assert page.inner_text("mark.current") != first
    press("k")
    assert page.inner_text("mark.current") == first
    press("x")
    wait_for(page, "released.current")
    press("u")
    page.wait_for_selector("#original mark.current:not(.released)")
    assert page.query_selector("#original mark.released") is None
    page.focus("#label")
    page.select_option("#label", "RELATIVE")
    page.evaluate("document.activeElement.blur()")
    press("l")
    page.wait_for_selector("#original mark.current[data-label=RELATIVE]")
    assert "disnea" in page.inner_text("#original")
    press("j")
    for _ in range(40):
        press("w")
        if page.evaluate("getSelection().toString()") == "disnea":
            break
    press("b")
    assert page.evaluate("getSelection().toString()") == "por"
    press("e")
    assert page.evaluate("getSelection().toString()") == "por disnea"
    assert "por disnea" in page.inner_text("#said")
    press("a")
    wait_for(page, "added")
    assert page.inner_text("#original mark.added").startswith("por disnea")
    with page.expect_navigation():
        press("s")
    page.wait_for_selector("#job[data-busy='0'] .state.done")
    page.click("tbody a >> nth=0")
    released = page.inner_text("#released")
    assert "[RELATIVE]" in released
    assert "disnea" not in released
    assert CANARY not in released


def test_a_long_text_is_reviewed_part_by_part(service, open_page):
    text = NOTE + "Sin cambios. 😀\n" * 2200 + "Acude Marta Zubieta.\nPautas de reposo.\n"
    job = service.wait(service.add(("long.txt", text.encode())))
    page = open_page()
    page.goto(f"{service.url}/files/{job['files'][0]['id']}")
    press = page.keyboard.press
    assert "1 / 2" in page.inner_text("nav.parts").replace(" of ", " / ")
    assert "Marta" not in page.inner_text("#original") + page.inner_text("#released")
    page.click("#original mark >> nth=-1")
    with page.expect_navigation():
        press("j")
    assert page.url.endswith("part=2")
    assert page.inner_text("mark.current").startswith("Marta Zubieta")
    assert re.search(r"Acude \[\w+\]\.\nPautas", page.inner_text("#released"))
    for _ in range(3):
        press("w")
    assert page.evaluate("getSelection().toString()") == "reposo"
    press("a")
    wait_for(page, "added")
    added = service.client.get(f"/v1/files/{job['files'][0]['id']}/findings").json()["spans"][-1]
    assert text[added["start"] : added["end"]] == "reposo"
    page.click("#original mark >> nth=0")
    with page.expect_navigation():
        press("k")
    assert page.url.endswith("part=1")
    assert "current" in page.get_attribute("#original mark >> nth=-1", "class")


def test_single_keys_can_be_turned_off(service, open_page):
    page = open_page()
    review(page, service)
    page.click("summary:text('Keyboard')")
    page.uncheck("#keys")
    page.keyboard.press("j")
    assert page.query_selector("mark.current") is None
    page.reload()
    assert not page.is_checked("#keys")
    page.click("summary:text('Keyboard')")
    page.check("#keys")
    page.keyboard.press("j")
    assert page.query_selector("mark.current") is not None


def test_one_file_and_all_are_downloaded(service, open_page):
    page = open_page()
    deidentify(page, service, file(), file("zweite.txt", "Nada.\n"))
    with page.expect_download() as one:
        page.click("tbody a[download] >> nth=0")
    assert one.value.suggested_filename == "document-001.txt"
    assert CANARY not in Path(one.value.path()).read_text(encoding="utf8")
    with page.expect_download() as every:
        page.click("text=Download all as ZIP")
    archive = zipfile.ZipFile(every.value.path())
    tables = ["findings.csv", "warnings.csv", "failed.csv", "job.json"]
    assert archive.namelist() == ["released/document-001.txt", "released/document-002.txt", *tables]
    assert not any(CANARY.encode() in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("format", [slow("brat"), slow("i2b2"), "cas"])
def test_the_report_measures_against_ground_truth(service, open_page, tmp_path, format):
    marked = ("Aurelio " + CANARY + " Linde", "PATIENT"), ("disnea", "OTHER"), ("4471906", "MRN")
    spans = [Entity(NOTE.index(text), NOTE.index(text) + len(text), label) for text, label in marked]
    write_folder([AnnotatedText("carta", NOTE, tuple(sorted(spans)))], tmp_path, format)
    page = open_page()
    deidentify(page, service)
    page.click("text=Report")
    page.set_input_files("#truth", sorted(tmp_path.iterdir()))
    page.click("main form button")
    page.wait_for_selector("caption >> nth=3")
    assert re.search(r"recall\t0\.\d{3}", page.inner_text("table >> nth=0"))
    assert "nothing" in page.inner_text("table >> nth=1")
    assert "carta.txt" in page.inner_text("table >> nth=3")
    with page.expect_download() as table:
        page.click("text=Table as CSV")
    rows = list(csv.DictReader(io.StringIO(Path(table.value.path()).read_text(encoding="utf8"))))
    assert rows[0]["document"] == "carta.txt"


def test_ground_truth_of_another_text_is_refused_clearly(service, open_page, tmp_path):
    write_folder([AnnotatedText("carta", "Otro texto.", (Entity(0, 4, "OTHER"),))], tmp_path, "brat")
    page = open_page()
    deidentify(page, service)
    page.click("text=Report")
    page.set_input_files("#truth", sorted(tmp_path.iterdir()))
    page.click("main form button")
    page.wait_for_selector("[role=alert]")
    assert "Otro" not in page.inner_text("[role=alert]")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_pages_are_shown_in_each_language(service, open_page, lang):
    words = load_words(lang)
    page = open_page(f"{service.url}/?lang={lang}")
    assert page.get_attribute("html", "lang") == lang
    assert page.inner_text("h1") == words["documents"]
    deidentify(page, service)
    assert page.inner_text("#files .state") == words["states"]["done"]
    page.click("tbody a >> nth=0")
    assert page.inner_text("#before") == words["before"]


def test_all_languages_have_the_same_words():
    def names(words):
        return {name: names(value) if isinstance(value, dict) else None for name, value in words.items()}

    assert len({repr(sorted(names(load_words(lang)).items())) for lang in LANGUAGES}) == 1


def test_signing_in_with_the_token(guarded, open_page):
    service, token = guarded, TOKEN
    page = open_page(service.url)
    assert page.url.endswith("/login")
    assert page.evaluate("document.activeElement.id") == "token"
    page.keyboard.type(token)
    page.keyboard.press("Enter")
    page.wait_for_selector("#upload")
    assert token not in str(page.context.cookies())
    page.click("text=Sign out")
    page.goto(service.url)
    assert page.url.endswith("/login")


def test_everything_works_without_script(service, open_page):
    page = open_page(java_script_enabled=False)
    page.goto(service.url)
    page.set_input_files("#files", [file()])
    page.click("#upload button")
    _reload_until(page, "read")
    page.click("form.grid button")
    _reload_until(page, "done")
    with page.expect_download() as one:
        page.click("tbody a[download]")
    assert CANARY not in Path(one.value.path()).read_text(encoding="utf8")
    page.click("tbody a >> nth=0")
    assert "[PATIENT]" in page.inner_text("#released")


def _reload_until(page, state):
    for _ in range(200):
        if page.inner_text("#files .state") == state:
            return
        time.sleep(0.3)
        page.reload()
    raise AssertionError(page.inner_text("#files"))


@pytest.fixture(scope="module")
def pages(service):
    """One page of each kind: their paths."""
    page = ("pagina.html", b"<p>Alta.</p><img src='a.png'>")
    job = service.wait(service.add(("carta.txt", NOTE.encode()), ("kaputt.pdf", b"no pdf"), page))
    file, _, warned = (file["id"] for file in job["files"])
    truth = [("files", ("carta.txt", NOTE.encode())), ("files", ("carta.ann", b"T1\tPATIENT 8 15\tAurelio\n"))]
    assert service.client.post(f"/jobs/{job['id']}/report", files=truth).status_code == 303
    span = service.client.get(f"/v1/files/{file}/findings").json()["spans"][0]
    decision = {"action": "release", "start": span["start"], "end": span["end"]}
    assert service.client.post(f"/v1/files/{file}/decisions", json=decision).status_code == 200
    paths = ["/", "/login", f"/jobs/{job['id']}", f"/files/{file}", f"/jobs/{job['id']}/report"]
    return [*paths, f"/files/{warned}/download"]


@pytest.mark.parametrize("number", range(6))
def test_a_page_is_accessible(service, open_page, pages, number):
    page = open_page(service.url + pages[number])
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    levels = page.evaluate("Array.from(document.querySelectorAll('h1,h2,h3,h4'), (h) => Number(h.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    fields = page.query_selector_all("input, select, textarea, progress")
    assert [field.get_attribute("id") for field in fields if not field.evaluate("field => field.labels.length")] == []
    assert all(button.text_content().strip() for button in page.query_selector_all("button"))
    assert all(cell.get_attribute("scope") for cell in page.query_selector_all("th"))
    assert all(cell.inner_text().strip() for cell in page.query_selector_all("th") if cell.is_visible())
    names = page.evaluate("Array.from(document.querySelectorAll('[id]'), (element) => element.id)")
    assert len(names) == len(set(names))
    assert page.title().split(" · ")[0].strip()
    assert (
        page.evaluate('document.querySelectorAll(\'[tabindex]:not([tabindex="0"]):not([tabindex="-1"])\').length') == 0
    )


@pytest.mark.parametrize("number", range(6))
def test_text_has_enough_contrast(service, open_page, pages, number):
    colours = open_page(service.url + pages[number]).evaluate(COLOURS)
    assert len(colours) >= 8
    weak = {tuple(found) for found in colours if contrast(found[1], found[2]) < 4.5}
    assert weak == set()


def test_focus_is_visible_and_in_page_order(service, open_page):
    page = open_page(service.url)
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", seen[-1]
        if seen[-1] == "Read the files":
            break
    assert seen[0] == "Skip to the content"
    assert seen[-3:] == ["files", "pipeline", "Read the files"]


@pytest.mark.parametrize("number", [0, slow(1), slow(2), 3, slow(4), slow(5)])
def test_focus_outline_has_enough_contrast(service, open_page, pages, number):
    page = open_page(service.url + pages[number])
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(tuple(page.evaluate(FOCUS)))
    assert len(seen) >= 2
    assert {pair for pair in seen if contrast(*pair) < 3} == set()


def test_progress_and_status_are_live_regions(service, open_page, pages):
    page = open_page(service.url + pages[2])
    assert page.get_attribute("#count", "aria-live") == "polite"
    page.goto(service.url + pages[3])
    assert page.get_attribute("#said", "aria-live") == "polite"


@pytest.mark.slow
def test_fifty_letters_in_one_job_with_a_live_bar(service, open_page):
    page = open_page()
    upload(page, service, *[file(f"carta-{i:02d}.txt", f"{NOTE * 40}Visita número {i}.\n") for i in range(50)])
    page.click("form.grid button")
    values = []
    while page.get_attribute("#job", "data-busy") != "0":
        values.append(page.evaluate("document.getElementById('bar').value"))
        page.wait_for_timeout(300)
    assert page.inner_text("#count") == "50 / 50"
    assert len(set(values)) >= 3
    assert page.locator("#files .state.done").count() == 50


def contrast(one, other):
    """Contrast ratio of two colours (WCAG 2.2)."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
