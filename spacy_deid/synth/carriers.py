"""Read carriers: real clinical notes into which invented identifiers are injected to make training data.

Carriers have no identifiers of their own, or identifiers that are not labelled. A folder of assets contains
corpora under the names in project.yml; of any other folder the .txt files, and the .jsonl files with a key "text", are
read. Every reader yields (name, text); the name determines the split.
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

from ..errors import Errors, InputError
from ..evaluation import Entity
from ..lang import get_language
from ..patterns import COMMON, RuleMatcher, resource_rules, rule_languages
from .language import stable_hash

LONGEST = 6_000
_BEFORE = re.compile(r" +([.,;:!?%)\]])")
_AFTER = re.compile(r"([(\[]) +")
Reader = Callable[[Path, str], Iterator[tuple[str, str]]]


def read_carriers(folder: Path, lang: str) -> list[tuple[str, str]]:
    """Read all carriers (real notes) of a language from a folder.

    folder (Path): folder of assets, or of .txt and .jsonl files.
    lang (str): language code.
    RETURNS (list[tuple[str, str]]): name and text of each carrier. A text longer than `LONGEST` characters is cut
        after a sentence. Texts with fewer than five words are left out.
    RAISES: InputError if there are none (D607), or a file (D301, D303) or line (D302) cannot be read.
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
    """Create a function that finds identifiers in a carrier with the pattern rules of a language.

    The rules find ages, dates, numbers and some names.

    lang (str): language code.
    RETURNS (Callable[[str], list[Entity]]): text → disjoint entities; of overlapping ones the longest.
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
    """Context manager that replaces reading errors, whose message can quote the file, by InputErrors that only
    name it.
    """
    try:
        yield
    except UnicodeError:
        raise InputError(Errors.D301.format(path=file, encoding="UTF-8")) from None
    except (OSError, EOFError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else "broken, or not of the form that its name says"
        raise InputError(Errors.D303.format(path=file, reason=reason)) from None


def _read_file(file: Path) -> str:
    """Read a text file, with line ends converted to LF."""
    with _reading(file):
        return file.read_text(encoding="utf8")


def _cut(text: str) -> str:
    """Cut a text of more than `LONGEST` characters after the last sentence that fits."""
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(". ", 0, LONGEST), text.rfind(".\n", 0, LONGEST))
    return text[: end + 1] if end > 0 else text[:LONGEST]


def _tidy(text: str) -> str:
    """Remove the spaces around punctuation in a text that was tokenized."""
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text))


def _texts(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield each .txt file of a folder and its subfolders as one note."""
    for file in sorted(path.rglob("*.txt")):
        yield f"{name}/{file.relative_to(path)}", _read_file(file)


def _jsonl(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a .jsonl file, or of the .jsonl files in a folder, as a note with the text of key "text"."""
    for file in [path] if path.is_file() else sorted(path.glob("*.jsonl")):
        for number, line in enumerate(_read_file(file).removeprefix("\ufeff").split("\n"), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):  # the exception holds the line, and with it the note
                raise InputError(Errors.D302.format(path=file, line=number, reason="not JSON")) from None
            if not isinstance(record, dict) or not isinstance(record.get("text"), str):
                raise InputError(Errors.D302.format(path=file, line=number, reason="'text' must be a string"))
            yield f"{name}/{record.get('id', number)}", record["text"]


def _sentences(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield notes of five to fifteen lines from .txt files with one sentence per line."""
    for file in sorted(path.rglob("*.txt")):
        lines = [_tidy(line) for line in _read_file(file).splitlines() if line.strip()]
        yield from _joined(lines, f"{name}/{file.relative_to(path)}", 5, 15)


def _joined(lines: Sequence[str], name: str, least: int, most: int) -> Iterator[tuple[str, str]]:
    """Join consecutive lines to notes of `least` to `most` lines each. The result is the same on every machine."""
    at = 0
    while at < len(lines):
        count = least + stable_hash(f"{name}/{at}") % (most - least + 1)
        note = " ".join(line.strip() for line in lines[at : at + count])
        yield f"{name}/{at}", note
        at += count


def _column(*names: str) -> Reader:
    """Create a reader of CSV files that yields one note per row, from the first of the given columns that exists."""

    def table(path: Path, name: str) -> Iterator[tuple[str, str]]:
        with _reading(path), path.open(encoding="utf8", newline="") as file:
            for number, text in enumerate(_cells(file, path, names)):
                yield f"{name}/{number}", text

    return table


def _cells(lines: Iterable[str], file: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield one cell of each row of a CSV file: that in the first of the given columns that the file has."""
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
    """Yield notes of three to nine sentences from a compressed CSV file with one sentence per row."""
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
"""Readers by the name with which ``carriers.toml`` refers to them."""
