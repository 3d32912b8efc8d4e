"""Write the licence report of the shipped files, docs/reference/licences.md, and pin their hashes.

    python -m scripts.licences            # write both
    python -m scripts.licences --check    # fail if one of them is out of date

`scripts/shipped_files.toml` says what each file is made of. The hashes in `scripts/shipped_files.sha256`, which
`sha256sum -c` reads as well, cover every file that derives from data of others: weights, counts, dictionaries and
lists. The files of a pipeline have checksums of their own, which are verified whenever it is loaded.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "spacy_deid"
TABLE = Path(__file__).with_name("shipped_files.toml")
HASHES = Path(__file__).with_name("shipped_files.sha256")
PAGE = ROOT / "docs" / "reference" / "licences.md"
START, END = "<!-- licences: python -m scripts.licences -->\n", "<!-- /licences -->"
CODE = {".py", ".pyc", ".pyi"}
FREE = {"MIT", "CC0-1.0", "public domain"}


@dataclass(frozen=True)
class Source:
    """Data of others. `licence` is an SPDX identifier where there is one."""

    title: str
    licence: str

    @property
    def share_alike(self) -> bool:
        """Whether adaptations must be published under the same licence."""
        return "-SA-" in self.licence


@dataclass(frozen=True)
class Shipped:
    """An entry of the table: files that are made of the same sources in the same way."""

    paths: tuple[str, ...]
    what: str
    kind: str
    derives: tuple[Source, ...] = ()
    made_by: str = ""

    def matches(self, path: str) -> bool:
        """Whether the entry describes a file of the package. A * in a pattern matches slashes too."""
        return any(fnmatchcase(path, pattern) for pattern in self.paths)

    @property
    def licence(self) -> str:
        """The licence under which the files ship: MIT, and for the words of others also that of their sources."""
        if self.kind != "list":
            return "MIT"
        others = sorted({source.licence for source in self.derives} - FREE)
        return " and ".join(["MIT", *others])

    @property
    def if_adapted(self) -> str:
        """The licence if numbers computed from a text count as an adaptation of it; "" if it is the same."""
        others = {source.licence for source in self.derives} - FREE
        if self.kind == "list" or not others:
            return ""
        if any(source.share_alike for source in self.derives):
            others = {"CC-BY-SA-4.0"} | {licence for licence in others if not licence.startswith("CC-BY")}
        return " and ".join(sorted(others))


def read_table(path: Path = TABLE) -> list[Shipped]:
    """Read the table of shipped files."""
    data = tomllib.loads(path.read_text(encoding="utf8"))
    sources = {name: Source(**values) for name, values in data["sources"].items()}
    return [
        Shipped(
            tuple(entry["paths"]),
            entry["what"],
            entry["kind"],
            tuple(sources[name] for name in entry.get("derives", [])),
            entry.get("made_by", ""),
        )
        for entry in data["files"]
    ]


def list_files(package: Path = PACKAGE) -> list[str]:
    """List the files of the package that are not code, by their path in it."""
    paths = (path for path in package.rglob("*") if path.is_file() and path.suffix not in CODE)
    return sorted(path.relative_to(package).as_posix() for path in paths)


def describe(table: list[Shipped], path: str) -> Shipped:
    """Find the entry of a file. RAISES: LookupError if there is none."""
    for entry in table:
        if entry.matches(path):
            return entry
    raise LookupError(f"{path}: no entry in {TABLE.name}. Add one that says what the file is made of")


def hash_file(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pin(table: list[Shipped], package: Path = PACKAGE) -> str:
    """Write the hashes of the files that derive from data of others, without pipelines, as ``sha256sum`` does."""
    files = (path for path in list_files(package) if not path.startswith("pipelines/"))
    pinned = [path for path in files if describe(table, path).derives]
    return "".join(f"{hash_file(package / path)}  {package.name}/{path}\n" for path in pinned)


def report(table: list[Shipped], package: Path = PACKAGE) -> str:
    """Write the tables of the report: one row per entry that has files, those with sources first, and the sources."""
    files: dict[Shipped, list[str]] = {entry: [] for entry in table}
    for path in list_files(package):
        files[describe(table, path)].append(path)
    rows = sorted((entry for entry in table if files[entry]), key=lambda entry: not entry.derives)
    lines = [
        "| files | what | made of | ships under | if numbers are an adaptation | made by |",
        "|---|---|---|---|---|---|",
    ]
    for entry in rows:
        made_of = ", ".join(f"{'**' * s.share_alike}{s.title}{'**' * s.share_alike}" for s in entry.derives)
        made_by = f"`{entry.made_by}`" if entry.made_by else ""
        shown = ", ".join(f"`{pattern}`" for pattern in entry.paths) + f" ({len(files[entry])})" * bool(entry.derives)
        made_of = made_of or "this project"
        lines.append(f"| {shown} | {entry.what} | {made_of} | {entry.licence} | {entry.if_adapted} | {made_by} |")
    sources = sorted({source for entry in rows for source in entry.derives}, key=lambda source: source.title)
    lines += ["", "| source | licence | share-alike |", "|---|---|---|"]
    lines += [f"| {s.title} | {s.licence} | {'yes' if s.share_alike else ''} |" for s in sources]
    return "\n".join(lines) + "\n"


def fill_page(page: str, tables: str) -> str:
    """Replace the tables of the page."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{tables}\n{END}{rest.partition(END)[2]}"


def outputs() -> Iterator[tuple[Path, str]]:
    """Make what the command writes. YIELDS (tuple[Path, str]): a file and its content."""
    table = read_table()
    yield PAGE, fill_page(PAGE.read_text(encoding="utf8"), report(table))
    yield HASHES, pin(table)


def main(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a file is out of date.")] = False,
) -> None:
    """Write the licence report and the hashes of the shipped files."""
    late = [path for path, text in outputs() if not path.exists() or path.read_text(encoding="utf8") != text]
    if check and late:
        names = ", ".join(path.name for path in late)
        typer.echo(f"out of date: {names}. Run: python -m scripts.licences", err=True)
        raise typer.Exit(1)
    for path, text in () if check else outputs():
        path.write_text(text, encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
