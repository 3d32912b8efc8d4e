"""What a language brings to the workshop: settings, lists, templates and sentences, read once from plain files.

    lang/<lang>/synth/language.toml    names, dates, ages, labels, attributes
    lang/<lang>/synth/lists/*          one row a line (.txt) or a table with a header (.csv)
    lang/<lang>/synth/notes/*.txt      templates of whole notes, one file a note type, apart by a line "---"
    lang/<lang>/synth/dev/*.txt        the same for the split "dev" alone
    lang/<lang>/synth/test/*.txt       and for the split "test" alone; with one of them all else is for training
    lang/<lang>/synth/sentences.txt    one sentence a line, put between the sentences of a carrier
    lang/<lang>/synth/clauses.txt      word, tab, what is put right behind that word of a carrier
    lang/<lang>/synth/frames.txt       templates with a slot {note.body} that takes a carrier

A line that begins with "#!" at the head of a template holds directives ("#! age=0..14 sex=female"); one that begins
with "# " in sentences, clauses and lists is a comment.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from .markup import Node, parse, slots
from .names import stable_hash

__all__ = ["Language", "Template", "load_language", "split_of", "split_of_carrier"]


@dataclass(frozen=True)
class Template:
    """A parsed template.

    name (str): file and number, as "discharge.3"; the part before the dot is the note type.
    nodes (tuple[Node, ...]): what `markup.render` takes.
    split (str): "train", "dev" or "test".
    directives (Mapping[str, str]): settings of its head line.
    """

    name: str
    nodes: tuple[Node, ...]
    split: str
    directives: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Language:
    """Everything of one language. Lists are tuples of rows; a row maps a column to a parsed template.

    lang (str): code of the language.
    settings (Mapping[str, Any]): language.toml.
    lists (Mapping[str, tuple[Mapping[str, str], ...]]): by the file's stem.
    notes, sentences, frames (tuple[Template, ...]): in the order of the files.
    clauses (tuple[tuple[str, Template], ...]): the word it follows, and the clause.
    lines (tuple[Template, ...]): sentences to put into carriers of the splits "dev" and "test", where all of the
        above is for training: the lines of their templates that can stand alone.
    """

    lang: str
    settings: Mapping[str, Any]
    lists: Mapping[str, tuple[Mapping[str, str], ...]]
    notes: tuple[Template, ...]
    sentences: tuple[Template, ...]
    frames: tuple[Template, ...]
    clauses: tuple[tuple[str, Template], ...]
    lines: tuple[Template, ...] = ()

    def get(self, table: str, key: str, default: Any = None) -> Any:
        """Look a setting up. table, key (str): as in language.toml. RETURNS (Any): the value or the default."""
        return self.settings.get(table, {}).get(key, default)


def split_of(source: str) -> str:
    """Say which split a template belongs to in a language without folders "dev" and "test", or whether a carrier is
    held out: one in five is for the test.

    source (str): the template, or the carrier's name.
    RETURNS (str): "train" or "test".
    """
    return "test" if stable_hash(source) % 5 == 0 else "train"


def split_of_carrier(name: str, language: Language) -> str:
    """Say which split a carrier belongs to: one in five is held out, half of these for "dev" if there is such a split.

    name (str): the carrier's name.
    language (Language): its language.
    RETURNS (str): "train", "dev" or "test".
    """
    number = stable_hash(name)
    if number % 5:
        return "train"
    return "dev" if number % 10 and any(template.split == "dev" for template in language.notes) else "test"


@lru_cache(maxsize=8)
def load_language(lang: str, folder: Path | None = None) -> Language:
    """Read a language.

    lang (str): code of the language, the name of its folder.
    folder (Optional[Path]): folder with one folder per language; None for the languages of the package.
    RETURNS (Language): its settings, lists and templates.
    RAISES: ConfigError if there is no such language (D602), a file cannot be used (D604) or a template not be parsed
        (D600).
    """
    root = folder / lang if folder else get_language(lang).resource("synth")
    if not (root / "language.toml").is_file():
        own = sorted(path.parent.name for path in folder.glob("*/language.toml")) if folder else None
        known = ", ".join(language_codes("synth/language.toml") if own is None else own) or "none"
        raise ConfigError(Errors.D602.format(lang=lang, known=known))
    language = Language(
        lang=lang,
        settings=_read_toml(root / "language.toml"),
        lists={path.stem: _read_list(path) for path in sorted((root / "lists").glob("*.*"))},
        notes=_read_notes(root / "notes"),
        sentences=tuple(_read_line(line, f"sentences.{n}") for n, line in _lines(root / "sentences.txt")),
        frames=tuple(_read_templates(root / "frames.txt")),
        clauses=tuple(_read_clauses(root / "clauses.txt")),
    )
    apart = {split: _read_notes(root / split) for split in ("dev", "test") if (root / split).is_dir()}
    lines = tuple(line for split in apart for line in _read_lines(root / split, split))
    return replace(_set_apart(language, apart), lines=lines) if apart else language


def _set_apart(language: Language, apart: Mapping[str, tuple[Template, ...]]) -> Language:
    """Take the notes of the folders "dev" and "test" as the whole of these splits, everything else for training."""

    def put(split: str, templates: Sequence[Template]) -> tuple[Template, ...]:
        return tuple(replace(template, split=split) for template in templates)

    return replace(
        language,
        notes=put("train", language.notes)
        + tuple(
            replace(template, split=split, name=template.name.replace(".", f".{split}-"))
            for split, templates in apart.items()
            for template in templates
        ),
        sentences=put("train", language.sentences),
        frames=put("train", language.frames),
        clauses=tuple((word, replace(clause, split="train")) for word, clause in language.clauses),
    )


def _read_notes(folder: Path) -> tuple[Template, ...]:
    """Read the templates of every file of a folder."""
    return tuple(template for path in sorted(folder.glob("*.txt")) for template in _read_templates(path))


def _read_lines(folder: Path, split: str) -> Iterator[Template]:
    """The lines of a folder's templates that can stand alone: a sentence, with a slot, no half of a choice."""
    for path in sorted(folder.glob("*.txt")):
        for n, line in _lines(path):
            halved = any(line.count(left) != line.count(right) for left, right in (("[[", "]]"), ("<<", ">>")))
            if halved or not line.endswith(".") or len(line.split()) < 5:
                continue
            nodes = parse(line.strip(), f"{path.stem}, line {n}")
            if any(slots(nodes)) and not any(isinstance(node, str) and "|" in node for node in nodes):
                yield Template(f"{path.stem}.{split}-line-{n}", nodes, split)


def _read(path: Path) -> str:
    """Read a file of the package with plain line ends."""
    try:
        return path.read_text(encoding="utf8").replace("\r\n", "\n")
    except (OSError, UnicodeError) as error:
        raise ConfigError(Errors.D604.format(path=path.name, reason=type(error).__name__)) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Errors.D604.format(path=path.name, reason=error)) from None


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a file with their numbers, less comments and empty lines; none where the file is not there."""
    if not path.exists():
        return []
    lines = enumerate(_read(path).split("\n"), 1)
    return [(n, line.rstrip()) for n, line in lines if line.strip() and not line.startswith("# ")]


def _read_list(path: Path) -> tuple[Mapping[str, str], ...]:
    """Read a list: a table with a header, or one value a line."""
    rows: Sequence[Mapping[str, str]]
    if path.suffix == ".csv":
        rows = list(csv.DictReader(line for _, line in _lines(path)))
        if any(None in row or None in row.values() for row in rows):
            raise ConfigError(Errors.D604.format(path=path.name, reason="a row has too many or too few columns"))
    else:
        rows = [{"text": line} for _, line in _lines(path)]
    if not rows:
        raise ConfigError(Errors.D604.format(path=path.name, reason="no rows"))
    return tuple(rows)


def _read_templates(path: Path) -> list[Template]:
    """Read the templates of a file."""
    if not path.exists():
        return []
    sources = [source.strip("\n") for source in f"\n{_read(path)}\n".split("\n---\n")]
    return [_read_template(source, f"{path.stem}.{n}") for n, source in enumerate(sources, 1) if source.strip()]


def _read_template(source: str, name: str) -> Template:
    """Parse a template and the directives at its head."""
    directives: dict[str, str] = {}
    if source.startswith("#!"):
        head, _, source = source.partition("\n")
        directives = dict(item.partition("=")[::2] for item in head[2:].split())
    return Template(name, parse(source, name), split_of(source), directives)


def _read_line(line: str, name: str) -> Template:
    """Parse a sentence."""
    return Template(name, parse(line.strip(), name), split_of(line.strip()))


def _read_clauses(path: Path) -> list[tuple[str, Template]]:
    """Parse the clauses: a word, a tab, and what follows it, blanks at its head included."""
    clauses = []
    for n, line in _lines(path):
        word, tab, clause = line.partition("\t")
        if not tab:
            raise ConfigError(Errors.D604.format(path=path.name, reason=f"line {n} has no tab"))
        clauses.append((word, Template(f"clauses.{n}", parse(clause, f"clauses.{n}"), split_of(line))))
    return clauses
