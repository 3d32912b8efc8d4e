"""brat standoff: NAME.txt holds the note, NAME.ann one annotation a line.

Offsets count the characters of the .txt file as it is. Only text-bound annotations ("T") are read. Fragments of a
discontinuous annotation become entities of their own, because what stands between them is not part of it; fragments
with only white space between are one entity, which is how brat stores what crosses a line end.

Source: brat standoff format, https://brat.nlplab.org/standoff.html
"""

import re
from pathlib import Path

from ..errors import Errors, InputError
from .documents import AnnotatedText, Entity, relabel
from .files import check_quote, file_name, read_label, read_offset, read_text, write_text

__all__ = ["read_brat", "write_brat"]

_OTHER = "REAMN#*"
_ENTITY = re.compile(r"(T\S+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t(.*))?", re.ASCII | re.DOTALL)


def read_brat(path: Path, *, scheme: str = "canonical", check_text: bool = True) -> AnnotatedText:
    """Read a note and its annotations.

    path (Path): the .ann or the .txt file; the other stands beside it.
    scheme (str): scheme of the labels in the file.
    check_text (bool): whether the quoted text must be the text at the offsets.
    RETURNS (AnnotatedText): named by the file's stem, with canonical labels.
    RAISES: InputError naming file and line for anything that cannot be read (D301–D305).
    """
    text = read_text(path.with_suffix(".txt"))
    path = path.with_suffix(".ann")
    entities: list[Entity] = []
    seen: set[str] = set()
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        line = line.removesuffix("\r")
        if number == 1:
            line = line.removeprefix("\ufeff")
        if not line.strip() or line[0] in _OTHER:
            continue
        entities += _read_line(line, text, scheme, path, number, seen, check_text)
    return AnnotatedText(path.stem, text, tuple(entities))


def _read_line(
    line: str, text: str, scheme: str, path: Path, number: int, seen: set[str], check_text: bool
) -> list[Entity]:
    """Read one text-bound annotation."""
    match = _ENTITY.fullmatch(line)
    if match is None:
        raise InputError(Errors.D302.format(path=path, line=number, reason="not an annotation of the brat format"))
    ident, label, offsets, quote = match.groups()
    if ident in seen:
        raise InputError(Errors.D302.format(path=path, line=number, reason="the id of the annotation stands twice"))
    seen.add(ident)
    name = read_label(label, scheme, path, number)
    numbers = [[read_offset(part, path, number) for part in pair.split()] for pair in offsets.split(";")]
    fragments = [Entity(start, end, name) for start, end in numbers]
    check_quote(text, fragments, quote or "" if check_text else _quote(text, fragments), path, number)
    return _join(fragments, text)


def _quote(text: str, fragments: list[Entity]) -> str:
    """The text at the offsets, on one line."""
    return " ".join(re.sub(r"[\r\n\t]", " ", text[part.start : part.end]) for part in fragments)


def _join(fragments: list[Entity], text: str) -> list[Entity]:
    """Unite fragments with only white space between them."""
    joined: list[Entity] = []
    for part in sorted(fragments):
        if joined and not text[joined[-1].end : part.start].strip():
            last = joined.pop()
            part = Entity(last.start, max(last.end, part.end), part.label)
        joined.append(part)
    return joined


def write_brat(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its annotations. The note is written exactly as it was read.

    document (AnnotatedText): what to write.
    folder (Path): folder to write NAME.txt and NAME.ann to.
    scheme (str): scheme to write the labels in.
    RETURNS (Path): the .ann file.
    RAISES: InputError if the name cannot be a file's (D311) or the text cannot be UTF-8 (D301).
    """
    path = folder / file_name(document.name, ".ann")
    lines = [
        f"T{i}\t{e.label} {e.start} {e.end}\t{_quote(document.text, [e])}\n"
        for i, e in enumerate(relabel(document.entities, scheme), start=1)
    ]
    write_text(path.parent / file_name(document.name, ".txt"), document.text)
    write_text(path, "".join(lines))
    return path
