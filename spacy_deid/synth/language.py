"""Load the data from which notes in a language are generated: settings, lists, templates, sentences and names.

    lang/<lang>/synth/language.toml    names, dates, ages, labels, attributes
    lang/<lang>/synth/lists/*          one row per line (.txt) or a table with a header (.csv)
    lang/<lang>/synth/notes/*.txt      templates of whole notes, one file per note type, separated by lines "---"
    lang/<lang>/synth/dev/*.txt        the same for the split "dev" only
    lang/<lang>/synth/test/*.txt       and for the split "test" only; if one exists, all other files are "train"
    lang/<lang>/synth/sentences.txt    one sentence per line, to insert between the sentences of a carrier
    lang/<lang>/synth/clauses.txt      word, tab, clause to insert after that word of a carrier
    lang/<lang>/synth/frames.txt       templates with a slot {note.body} for a carrier
    lang/<lang>/names/PART.csv         ``name,count``, most frequent first
    lang/<lang>/names/origins.toml     names of groups of origin

A carrier is a real note into which identifiers are injected, see `corpus`.

If the first line of a template begins with "#!", it contains settings of the template (directives)
("#! age=0..14 sex=female"). A line that begins with "# " in sentences, clauses and lists is a comment.
"""

import csv
import tomllib
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from .markup import Node, parse, slots

COMMON = 500  # number of most frequent names that are never reserved for the test split


def stable_hash(text: str) -> int:
    """Hash a text to 64 bits. Unlike with ``hash``, the result is the same on every machine and in every run."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def is_reserved(name: str, rank: int) -> bool:
    """Test whether a name is reserved for the test split: one in ten of the rare ones.

    name (str): the name.
    rank (int): its position in its list, from 0; the `COMMON` most frequent names are never reserved.
    """
    return rank >= COMMON and stable_hash(name) % 10 == 0


@dataclass(frozen=True)
class NameTable:
    """Names of one kind, such as female given names, with their frequencies.

    names (tuple[str, ...]): most frequent first.
    cumulative (tuple[float, ...]): running sums of the counts.
    """

    names: tuple[str, ...]
    cumulative: tuple[float, ...]

    @classmethod
    def from_counts(cls, rows: Sequence[tuple[str, float]]) -> "NameTable":
        """Create a table from (name, count) pairs, which must be in order of decreasing count."""
        return cls(tuple(name for name, _ in rows), tuple(accumulate(count for _, count in rows)))

    def draw(self, rng: Random, split: str, flat: float = 0.3) -> str:
        """Draw a name: with probability `flat` from all names equally, otherwise by frequency.

        rng (Random): random generator.
        split (str): split of the note; names reserved for the test split are drawn only for "test".
        flat (float): share of names drawn from the uniform distribution, so that rare names occur as well.
        RETURNS (str): the name.
        """
        while True:
            if rng.random() < flat:
                rank = rng.randrange(len(self.names))
            else:
                rank = bisect(self.cumulative, rng.random() * self.cumulative[-1])
            name = self.names[min(rank, len(self.names) - 1)]
            if split == "test" or not is_reserved(name, rank):
                return name


@lru_cache(maxsize=32)
def read_table(lang: str, part: str) -> NameTable:
    """Read a list of names of a language with the number of their bearers.

    lang (str): language code.
    part (str): "female", "male" or "surname".
    RETURNS (NameTable): the names.
    RAISES: ConfigError (D604) if the file is missing or malformed.
    """
    path = get_language(lang).resource(f"names/{part}.csv")
    try:
        with path.open(encoding="utf8", newline="") as file:
            rows = [(row["name"], float(row["count"])) for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(Errors.D604.format(path=path.name, reason=type(error).__name__)) from None
    if not rows:
        raise ConfigError(Errors.D604.format(path=path.name, reason="no rows"))
    return NameTable.from_counts(rows)


@lru_cache(maxsize=8)
def read_origins(lang: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Read the given names and surnames of each group of origin in a country, such as people of Indian origin.

    lang (str): language code.
    RETURNS (Mapping[str, Mapping[str, tuple[str, ...]]]): group → "female", "male", "surname" → names; empty if the
        language has no groups.
    RAISES: ConfigError (D604) if the file is not valid TOML.
    """
    try:
        groups = get_language(lang).read_toml("names/origins.toml").get("groups", {})
    except ValueError:
        raise ConfigError(Errors.D604.format(path="origins.toml", reason="not valid TOML")) from None
    return {name: {part: tuple(names) for part, names in group.items()} for name, group in groups.items()}


@dataclass(frozen=True)
class Template:
    """A parsed template of a note or of a part of it, such as a sentence.

    name (str): file and number, such as "discharge.3"; the part before the dot is the note type.
    nodes (tuple[Node, ...]): parsed text and slots, input of `markup.render`.
    split (str): "train", "dev" or "test".
    directives (Mapping[str, str]): settings in its first line, such as the sex of the patient.
    """

    name: str
    nodes: tuple[Node, ...]
    split: str
    directives: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Language:
    """The data from which notes in a language are generated. A list consists of rows: dicts of column → text.

    lang (str): language code.
    settings (Mapping[str, Any]): content of language.toml.
    lists (Mapping[str, tuple[Mapping[str, str], ...]]): lists by the stem of their file.
    notes, sentences, frames (tuple[Template, ...]): templates of notes, of sentences to inject, and of headers and
        footers.
    clauses (tuple[tuple[str, Template], ...]): the word that a clause follows, and the clause.
    lines (tuple[Template, ...]): sentences for carriers of the splits "dev" and "test" if these have folders of their
        own: the lines of their templates that are complete sentences.
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
        """Return a setting in a table of language.toml, or the default if it is missing."""
        return self.settings.get(table, {}).get(key, default)


def split_of(source: str) -> str:
    """Assign a text to the split "test" or "train" by its hash: one in five is "test".

    source (str): text of the template, or name of the carrier.
    """
    return "test" if stable_hash(source) % 5 == 0 else "train"


def split_of_carrier(name: str, language: Language) -> str:
    """Assign a carrier to a split by the hash of its name: one in five is held out.

    name (str): name of the carrier.
    language (Language): if it has templates for "dev", half of the held-out carriers are "dev".
    RETURNS (str): "train", "dev" or "test".
    """
    number = stable_hash(name)
    if number % 5:
        return "train"
    return "dev" if number % 10 and any(template.split == "dev" for template in language.notes) else "test"


@lru_cache(maxsize=8)
def load_language(lang: str, folder: Path | None = None) -> Language:
    """Load the data from which notes in a language are generated.

    lang (str): language code, the name of its folder.
    folder (Optional[Path]): folder with one folder per language; None for the languages of the package.
    RETURNS (Language): settings, lists and templates.
    RAISES: ConfigError if there is no such language (D602), a file is malformed (D604) or a template cannot be parsed
        (D600).
    """
    root = folder / lang if folder else get_language(lang).resource("synth")
    if not (root / "language.toml").is_file():
        own = sorted(path.parent.name for path in folder.glob("*/language.toml")) if folder else None
        known = ", ".join(language_codes("synth/language.toml") if own is None else own) or "none"
        raise ConfigError(Errors.D602.format(lang=lang, known=known))
    try:
        settings = tomllib.loads(_read(root / "language.toml"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(Errors.D604.format(path="language.toml", reason=error)) from None
    language = Language(
        lang=lang,
        settings=settings,
        lists={path.stem: _read_list(path) for path in sorted((root / "lists").glob("*.*"))},
        notes=_read_notes(root / "notes"),
        sentences=tuple(_parse_line(line, f"sentences.{n}") for n, line in _lines(root / "sentences.txt")),
        frames=tuple(_read_templates(root / "frames.txt")),
        clauses=tuple(_read_clauses(root / "clauses.txt")),
    )
    apart = {split: _read_notes(root / split) for split in ("dev", "test") if (root / split).is_dir()}
    if not apart:
        return language
    own_notes = (
        replace(template, split=split, name=template.name.replace(".", f".{split}-"))
        for split, templates in apart.items()
        for template in templates
    )
    return replace(
        language,
        notes=(*_for_training(language.notes), *own_notes),
        sentences=_for_training(language.sentences),
        frames=_for_training(language.frames),
        clauses=tuple((word, replace(clause, split="train")) for word, clause in language.clauses),
        lines=tuple(line for split in apart for line in _read_lines(root / split, split)),
    )


def _for_training(templates: Sequence[Template]) -> tuple[Template, ...]:
    """Return the templates with the split "train"."""
    return tuple(replace(template, split="train") for template in templates)


def _read_notes(folder: Path) -> tuple[Template, ...]:
    """Read the templates in all .txt files of a folder."""
    return tuple(template for path in sorted(folder.glob("*.txt")) for template in _read_templates(path))


def _read_lines(folder: Path, split: str) -> Iterator[Template]:
    """Yield the complete sentences with a slot in a folder of note templates, to inject them into carriers."""
    for path in sorted(folder.glob("*.txt")):
        for n, line in _lines(path):
            halved = any(line.count(left) != line.count(right) for left, right in (("[[", "]]"), ("<<", ">>")))
            if halved or not line.endswith(".") or len(line.split()) < 5:
                continue
            nodes = parse(line.strip(), f"{path.stem}, line {n}")
            if any(slots(nodes)) and not any(isinstance(node, str) and "|" in node for node in nodes):
                yield Template(f"{path.stem}.{split}-line-{n}", nodes, split)


def _read(path: Path) -> str:
    """Read a file with line ends converted to LF. RAISES: ConfigError (D604) if it cannot be read."""
    try:
        return path.read_text(encoding="utf8").replace("\r\n", "\n")
    except (OSError, UnicodeError) as error:
        raise ConfigError(Errors.D604.format(path=path.name, reason=type(error).__name__)) from None


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return (number, text) of the lines of a file without comments and empty lines; [] if it does not exist."""
    if not path.exists():
        return []
    lines = enumerate(_read(path).split("\n"), 1)
    return [(n, line.rstrip()) for n, line in lines if line.strip() and not line.startswith("# ")]


def _read_list(path: Path) -> tuple[Mapping[str, str], ...]:
    """Read a list from a .csv table with a header, or from a file with one value per line (column "text")."""
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


def _read_templates(path: Path) -> Iterator[Template]:
    """Read the templates of a file with their directives; none if it does not exist."""
    sources = f"\n{_read(path)}\n".split("\n---\n") if path.exists() else []
    for n, source in enumerate((source.strip("\n") for source in sources), 1):
        if not source.strip():
            continue
        directives: dict[str, str] = {}
        if source.startswith("#!"):
            head, _, source = source.partition("\n")
            directives = dict(item.partition("=")[::2] for item in head[2:].split())
        name = f"{path.stem}.{n}"
        yield Template(name, parse(source, name), split_of(source), directives)


def _parse_line(line: str, name: str) -> Template:
    """Parse a template of one line and assign it to a split."""
    return Template(name, parse(line.strip(), name), split_of(line.strip()))


def _read_clauses(path: Path) -> Iterator[tuple[str, Template]]:
    """Parse the clauses: a word, a tab, and the text that follows the word, with its leading blanks."""
    for n, line in _lines(path):
        word, tab, clause = line.partition("\t")
        if not tab:
            raise ConfigError(Errors.D604.format(path=path.name, reason=f"line {n} has no tab"))
        yield word, Template(f"clauses.{n}", parse(clause, f"clauses.{n}"), split_of(line))
