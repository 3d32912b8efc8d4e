"""Hooks of MkDocs for the site: the generated pages, the pages outside of ``docs``, and the links between them.

A document links to files of the repository, as on a code host. On the site, a link to a page leads to that page; a
link to any other file, such as a file of metrics, becomes the name of the file.
"""

import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts import site_reference as reference  # noqa: E402

# file of the repository → page of the site
OUTSIDE = {
    "README.md": "quick_start.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "licence.md",
    "NOTICE": "notice.md",
    "corpus/sample/README.md": "corpus/sample.md",
    "corpus/authored/PROTOCOL.md": "corpus/authored_protocol.md",
}
INSIDE = {page: file for file, page in OUTSIDE.items()}
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<text>\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?P<target>[^)\s]+)\)")
TITLES = {"LICENSE": "Licence", "NOTICE": "Notice"}


def _folder(command: str) -> str:
    """The page of a command."""
    return f"reference/cli/{command}.md"


def generated() -> dict[str, Callable[[], str]]:
    """The pages that are not in ``docs``: page → function that writes it."""
    pages: dict[str, Callable[[], str]] = {
        "reference/python.md": reference.write_python,
        "reference/errors.md": reference.write_errors,
        _folder("index"): reference.write_commands,
    }
    for name in reference.list_commands():
        pages[_folder(name)] = lambda name=name: reference.write_command(name)  # type: ignore[misc]
    for file, page in OUTSIDE.items():
        pages[page] = lambda file=file: read_outside(file)  # type: ignore[misc]
    return pages


def read_outside(file: str) -> str:
    """Read a file outside of ``docs`` as Markdown; a file without a suffix is shown as it is."""
    text = (ROOT / file).read_text(encoding="utf8")
    return text if file.endswith(".md") else f"# {TITLES[file]}\n\n```text\n{text}\n```\n"


SECTIONS = {"guides": "Guides", "reference": "Reference", "design": "Design"}


def on_config(config: Any) -> Any:
    """Complete the navigation: one page per command, and each new document at the end of its section."""
    commands = [_folder("index"), *({name: _folder(name)} for name in reference.list_commands())]
    named: set[str] = set()

    def fill(item: Any) -> Any:
        if isinstance(item, list):
            return [fill(child) for child in item]
        if isinstance(item, dict):
            return {key: fill(value) for key, value in item.items()}
        named.add(item)
        return commands if item == "COMMANDS" else item

    config["nav"] = fill(config["nav"])
    for folder, title in SECTIONS.items():
        section = next(item[title] for item in config["nav"] if title in item)
        pages = (f"{folder}/{path.name}" for path in sorted((ROOT / "docs" / folder).glob("*.md")))
        section += [page for page in pages if page not in named]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for page, write in generated().items():
        files.append(File.generated(config, page, content=write()))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Lead the links of a page to pages of the site."""
    source = page.file.src_uri
    here = INSIDE.get(source, f"docs/{source}")
    if source == "project.md":  # its links start from the folder of project.yml
        here = "project.md"
    return rewrite(markdown, here, source, {file.src_uri for file in files})


def rewrite(markdown: str, here: str, page: str, pages: set[str]) -> str:
    """Rewrite the links of a document outside of code.

    markdown (str): the document.
    here (str): its path in the repository, from which its links start.
    page (str): its path on the site.
    pages (set[str]): the paths on the site.
    RETURNS (str): the document with the links of the site.
    """

    def replace(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        if not target or ":" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        on_site = OUTSIDE.get(path, path.removeprefix("docs/"))
        if on_site in pages:
            link = posixpath.relpath(on_site, posixpath.dirname(page) or ".")
            return f"{match['text']}({link}{'#' + anchor if anchor else ''})"
        if (ROOT / path).exists():
            return match["text"][1:-1]
        return match[0]  # MkDocs reports it

    done, parts = 0, []
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(replace, markdown[done : fence.start()]), fence[0]]
        done = fence.end()
    return "".join([*parts, LINK.sub(replace, markdown[done:])])


SHIM = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
OWN_SHIM = "javascripts/frame_worker.js"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Replace the one script that the theme loads from another host by ours."""
    return replace_shim(output, posixpath.relpath(OWN_SHIM, posixpath.dirname(page.file.dest_uri) or "."))


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Do the same for pages without a document, such as the one of an error."""
    return replace_shim(output_content, OWN_SHIM)


def replace_shim(html: str, path: str) -> str:
    """Replace the script of the theme that is loaded from another host."""
    return html.replace(SHIM, f'<script src="{path}"></script>')
