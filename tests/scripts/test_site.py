"""The site: built strictly, complete, without anything from another host, and searchable from a folder."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import spacy_deid
from scripts import site_reference as reference
from spacy_deid import errors

pytest.importorskip("material", reason="the site needs the extra 'site': pip install 'spacy-deid[site]'")
ROOT = Path(__file__).parent.parent.parent
CHROMIUM = Path("/usr/bin/chromium")


def build(folder, root=ROOT):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, env=variables)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """Collects the resources that a page loads, its links and the ids that links can lead to."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.ids = [], [], set()
        self.feed(path.read_text(encoding="utf8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        if tag == "a":
            self.links.append(values.get("href") or "")
        else:
            self.loaded += [values[name] for name in ("src", "href", "data", "poster", "srcset") if values.get(name)]


@pytest.fixture(scope="module")
def pages(site):
    found = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    assert len(found) > 80
    return found


def test_no_page_loads_anything_from_another_host(pages):
    loaded = {(path.name, url) for path, page in pages.items() for url in page.loaded}
    assert loaded
    assert [(name, url) for name, url in loaded if re.match(r"(\w+:)?//", url)] == []


def test_no_style_loads_anything_from_another_host(site):
    styles = [path.read_text(encoding="utf8") for path in site.rglob("*.css")]
    assert styles
    assert [
        found for text in styles for found in re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", text)
    ] == []


def test_every_link_inside_the_site_leads_to_a_page_and_a_heading(pages, site):
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link) or path.name == "404.html":
                continue
            target, _, anchor = link.partition("#")
            aim = (path.parent / unquote(target)).resolve() if target else path
            if not aim.exists() or (anchor and aim in pages and unquote(anchor) not in pages[aim].ids):
                wrong.append((str(path.relative_to(site)), link))
    assert wrong == []


def test_every_public_name_has_a_heading(pages, site):
    ids = pages[site / "reference" / "python.html"].ids
    assert [name for name in spacy_deid.__all__ if name.strip("_") not in ids] == []
    assert {"Deidentifier.pipe", "Result.text"} <= ids


def test_every_command_and_option_has_a_row(site):
    missing, options = [], 0
    for name in reference.list_commands():
        text = (site / "reference" / "cli" / f"{name}.html").read_text(encoding="utf8")
        for path, command in reference._walk(f"spacy-deid {name}", reference._root().commands[name]):
            assert path in text
            for parameter in command.params if not hasattr(command, "commands") else ():
                options += 1
                missing += [(path, one) for one in parameter.opts if f"<code>{one}</code>" not in text and "--" in one]
    assert options > 200
    assert missing == []


def test_every_error_has_a_row_that_says_what_to_do(pages, site):
    codes = {name for kind in (errors.Errors, errors.Warnings) for name in vars(kind) if re.match(r"DW?\d+$", name)}
    assert len(codes) > 400
    assert codes - pages[site / "reference" / "errors.html"].ids == set()
    sections = reference.catalogue()
    for title, messages in sections.items():
        for code, message in messages.items():
            assert len(reference.advise(message, reference.SECTIONS.get(title, reference.OTHER))[1]) > 8, code


def test_a_docstring_becomes_a_list_of_parameters_and_code():
    text = "Do *it*.\n\nname (str): the name,\n    of a_b.\nRETURNS (int): what.\nRAISES: E if so.\n\n    x = 1\n"
    assert reference.to_markdown(text).splitlines() == [
        "Do \\*it\\*.", "", "- **`name`** (`str`): the name, of a\\_b.", "", "- *Returns* (`int`): what.", "",
        "- *Raises*: E if so.", "", "```text", "x = 1", "```",
    ]  # fmt: skip


def test_a_broken_link_fails_the_build(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for path in ROOT.iterdir():
        if path.name not in ("docs", ".git", "public"):
            (root / path.name).symlink_to(path)
    subprocess.run(["cp", "-r", str(ROOT / "docs"), str(root / "docs")], check=True)
    with (root / "docs" / "guides" / "audit.md").open("a", encoding="utf8") as file:
        file.write("\n[nowhere](nowhere.md)\n")
    done = build(tmp_path / "site", root)
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no chromium at /usr/bin/chromium")
def test_the_search_works_from_a_folder_and_asks_no_other_host(site):
    playwright = pytest.importorskip("playwright.sync_api")
    asked = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click("input[name=query]")
        page.keyboard.type("D505")
        page.wait_for_selector(".md-search-result__item", timeout=60_000)
        found = page.eval_on_selector_all(".md-search-result__link", "links => links.map(link => link.href)")
        browser.close()
    assert any("reference/errors" in link for link in found)
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
