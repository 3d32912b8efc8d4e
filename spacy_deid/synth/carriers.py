"""Readers of carrier notes: real clinical text without identifiers of its own, or with some that nobody labelled.

A folder of assets holds the corpora under the names that project.yml gives them; a folder of anything else is read as
.txt files and .jsonl files with a key "text". Every reader yields (name, text); the name decides the split.
"""

import bz2
import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import Errors, InputError
from ..evaluation import Entity
from ..lang import get_language
from ..patterns import COMMON, RuleMatcher, resource_rules, rule_languages
from .names import stable_hash

LONGEST = 6_000
_BEFORE = re.compile(r" +([.,;:!?%)\]])")
_AFTER = re.compile(r"([(\[]) +")
Reader = Callable[[Path, str], Iterator[tuple[str, str]]]


def read_carriers(folder: Path, lang: str) -> list[tuple[str, str]]:
    """Read every carrier of a language that a folder has.

    folder (Path): folder of assets, or of .txt and .jsonl files.
    lang (str): code of the language.
    RETURNS (list[tuple[str, str]]): name and text, in order; texts of at most `LONGEST` characters, cut at a sentence.
    RAISES: InputError if there are none (D607), or one cannot be read: the file (D301, D303) and the line (D302).
    """
    corpora = get_language(lang).read_toml("synth/carriers.toml")
    known = [(folder / name, name, _READERS[reader]) for name, reader in corpora.items()]
    found = [carrier for path, name, read in known if path.exists() for carrier in read(path, name)]
    if not found and folder.is_dir():
        found = [*_texts(folder, folder.name), *_jsonl(folder, folder.name)]
    if not found:
        raise InputError(Errors.D607.format(path=folder, known=", ".join(corpora) or ".txt and .jsonl files"))
    return [(name, _cut(text)) for name, text in found if len(text.split()) >= 5]


def make_rule_labeller(lang: str) -> Callable[[str], list[Entity]]:
    """Make a labeller of what a carrier holds of its own, by the rules that ship: ages, dates, numbers, some names.

    lang (str): code of the language.
    RETURNS (Callable[[str], list[Entity]]): text → disjoint entities, the longer where two overlap.
    """
    languages = [COMMON, lang] if lang in rule_languages() else [COMMON]
    matcher = RuleMatcher([rule for name in languages for rule in resource_rules(name)])

    def label(text: str) -> list[Entity]:
        kept: list[Entity] = []
        for match in sorted(matcher.find(text), key=lambda match: (match.start - match.end, match.start)):
            if all(match.end <= entity.start or match.start >= entity.end for entity in kept):
                kept.append(Entity(match.start, match.end, match.label))
        return kept

    return label


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Name the file that cannot be read. What the exceptions say is withheld: some quote the file."""
    try:
        yield
    except UnicodeError:
        raise InputError(Errors.D301.format(path=file, encoding="UTF-8")) from None
    except (OSError, EOFError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else "broken, or not of the form that its name says"
        raise InputError(Errors.D303.format(path=file, reason=reason)) from None


def _read_file(file: Path) -> str:
    """Read a text file, line ends made plain."""
    with _reading(file):
        return file.read_text(encoding="utf8")


def _cut(text: str) -> str:
    """Cut a long text behind a sentence."""
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(". ", 0, LONGEST), text.rfind(".\n", 0, LONGEST))
    return text[: end + 1] if end > 0 else text[:LONGEST]


def _tidy(text: str) -> str:
    """Undo the blanks that a tokenizer put around marks."""
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text))


def _texts(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """One note a .txt file."""
    for file in sorted(path.rglob("*.txt")):
        yield f"{name}/{file.relative_to(path)}", _read_file(file)


def _jsonl(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """One note a line, under the key "text": a file, or the files of a folder."""
    for file in [path] if path.is_file() else sorted(path.glob("*.jsonl")):
        for number, line in enumerate(_read_file(file).removeprefix("\ufeff").split("\n"), 1):
            if line.strip():
                record = _record(line, file, number)
                yield f"{name}/{record.get('id', number)}", record["text"]


def _record(line: str, file: Path, number: int) -> dict[str, Any]:
    """Read a line of JSONL that holds a note."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        # The exception holds the line, and with it the note.
        raise InputError(Errors.D302.format(path=file, line=number, reason="not JSON")) from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise InputError(Errors.D302.format(path=file, line=number, reason="'text' must be a string"))
    return record


def _sentences(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """One sentence a line of .txt files: five to fifteen of a file make a note."""
    for file in sorted(path.rglob("*.txt")):
        lines = [_tidy(line) for line in _read_file(file).splitlines() if line.strip()]
        yield from _joined(lines, f"{name}/{file.relative_to(path)}", 5, 15)


def _joined(lines: Sequence[str], name: str, least: int, most: int) -> Iterator[tuple[str, str]]:
    """Join lines to notes of different lengths, the same on every machine."""
    at = 0
    while at < len(lines):
        count = least + stable_hash(f"{name}/{at}") % (most - least + 1)
        note = " ".join(line.strip() for line in lines[at : at + count])
        yield f"{name}/{at}", note
        at += count


def _column(*names: str) -> Reader:
    """One note a row of a CSV file, in the first of the columns that it has."""

    def table(path: Path, name: str) -> Iterator[tuple[str, str]]:
        with _reading(path), path.open(encoding="utf8", newline="") as file:
            for number, text in enumerate(_cells(file, path, names)):
                yield f"{name}/{number}", text

    return table


def _cells(lines: Iterable[str], file: Path, names: Sequence[str]) -> Iterator[str]:
    """The text of every row of a table."""
    with _reading(file):
        rows = csv.DictReader(lines)
        column = next((name for name in names if name in (rows.fieldnames or ())), None)
        if column is None:
            known = " or ".join(f"'{name}'" for name in names)
            raise InputError(Errors.D303.format(path=file, reason=f"no column {known}"))
        try:
            for row in rows:
                if row[column] is None:
                    raise InputError(Errors.D302.format(path=file, line=rows.line_num, reason=f"no '{column}'"))
                yield row[column]
        except csv.Error:
            raise InputError(Errors.D302.format(path=file, line=rows.line_num, reason="not CSV")) from None


def _answers(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Sentences of a compressed CSV file in their order: three to nine make a note."""
    with _reading(path), bz2.open(path, "rt", encoding="utf8", newline="") as file:
        lines = [_tidy(text) for text in _cells(file, path, ("sentence",))]
    yield from _joined(lines, name, 3, 9)


_READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "answers": _answers,
        "column note": _column("note"),
        "column section_text": _column("section_text"),
        "jsonl": _jsonl,
        "sentences": _sentences,
    }
)
"""Reader of a corpus, by its name in ``carriers.toml``."""
