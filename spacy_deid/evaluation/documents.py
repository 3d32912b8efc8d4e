"""Define the type of annotated notes, and read and write the files that contain them without shifting offsets.

`AnnotatedText` is the common type of all readers, writers and metrics. Labels are canonical inside the package; labels
of another scheme occur only in files and in tables of figures.

Files are read and written so that offsets stay valid: line ends are not translated and a byte-order mark is kept,
because dropping either would shift all later offsets. Errors name the file and the line but never quote them.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..errors import Errors, InputError, describe_system
from ..labels import SCHEMES, from_scheme, to_scheme

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """An identifier in a text, given by offsets and label. It does not contain the text.

    start, end (int): character offsets, end exclusive.
    label (str): canonical label.
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A note and its entities. The repr leaves the text out, so that no log can contain it.

    name (str): name of the document: stem of the file name, or id of the record.
    text (str): the note, exactly as in the file, including byte-order mark and line ends.
    entities (tuple[Entity, ...]): sorted, without duplicates; entities may overlap.
    RAISES: InputError (D300) if an entity is empty or outside the text.
    """

    name: str
    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        for entity in self.entities:
            if not 0 <= entity.start < entity.end <= len(self.text):
                where = {"start": entity.start, "end": entity.end, "length": len(self.text)}
                raise InputError(Errors.D300.format(name=self.name, **where))
        object.__setattr__(self, "entities", tuple(sorted(set(self.entities))))


def relabel(entities: Iterable[Entity], scheme: str) -> list[Entity]:
    """Convert canonical labels to the labels of a scheme.

    entities (Iterable[Entity]): entities with canonical labels.
    scheme (str): name of the scheme, see `labels.SCHEMES`.
    RETURNS (list[Entity]): entities with the same offsets and the labels of the scheme.
    RAISES: ConfigError if the scheme (D002) or a label (D001) is unknown.
    """
    return [Entity(e.start, e.end, to_scheme(e.label, scheme)) for e in entities]


def reduce_labels(document: AnnotatedText, scheme: str) -> AnnotatedText:
    """Reduce the labels of a document to those that a scheme distinguishes.

    "meddocan", for example, has one label for all places, so CITY becomes TERRITORY.

    document (AnnotatedText): document with canonical labels.
    scheme (str): name of the scheme, see `labels.SCHEMES`.
    RETURNS (AnnotatedText): the document with canonical labels, one for each label of the scheme.
    RAISES: ConfigError if the scheme (D002) or a label (D001) is unknown.
    """
    entities = (replace(e, label=from_scheme(to_scheme(e.label, scheme), scheme)) for e in document.entities)
    return replace(document, entities=tuple(entities))


def index_documents(documents: Iterable[AnnotatedText]) -> dict[str, AnnotatedText]:
    """Create a dict of documents by name.

    documents (Iterable[AnnotatedText]): documents in any order.
    RETURNS (dict[str, AnnotatedText]): documents by name, in the given order.
    RAISES: InputError (D308) if a name occurs twice.
    """
    index: dict[str, AnnotatedText] = {}
    for document in documents:
        if document.name in index:
            raise InputError(Errors.D308.format(name=document.name))
        index[document.name] = document
    return index


def pair_documents(
    gold: Sequence[AnnotatedText], pred: Sequence[AnnotatedText]
) -> list[tuple[AnnotatedText, AnnotatedText]]:
    """Pair gold documents with predicted documents of the same name.

    A document that is missing on one side is an error. The official scripts skip it, which would inflate recall: a
    note that was never predicted would not count as missed.

    gold, pred (Sequence[AnnotatedText]): documents in any order.
    RETURNS (list[tuple[AnnotatedText, AnnotatedText]]): (gold, predicted) pairs, sorted by name.
    RAISES: InputError if the names (D309) or the texts (D310) differ, or a name occurs twice (D308).
    """
    golds, preds = index_documents(gold), index_documents(pred)
    if golds.keys() != preds.keys():
        only_gold, only_pred = _list_names(golds.keys() - preds.keys()), _list_names(preds.keys() - golds.keys())
        raise InputError(Errors.D309.format(gold=only_gold, pred=only_pred))
    for name in golds:
        if golds[name].text != preds[name].text:
            raise InputError(Errors.D310.format(name=name))
    return [(golds[name], preds[name]) for name in sorted(golds)]


def _list_names(names: Iterable[str], limit: int = 5) -> str:
    """Format names for an error message: the first ones in sorted order, and the number of the others."""
    ordered = sorted(names)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return (", ".join(ordered[:limit]) or "none") + more


def read_text(path: Path) -> str:
    """Read the text of a UTF-8 file exactly as it is, so that offsets stay valid.

    path (Path): the file.
    RETURNS (str): the text, including line ends and byte-order mark.
    RAISES: InputError if the file cannot be read (D303) or is not UTF-8 (D301).
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(Errors.D301.format(path=path, encoding="UTF-8")) from None


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a file. RAISES: InputError (D303) if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(Errors.D303.format(path=path, reason=describe_system(error))) from None


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically: to a temporary file in the same folder, which then replaces the target.

    path (Path): file to write. Its folder must exist.
    text (str): text to write; line ends are not translated.
    RAISES: InputError (D301) if the text has a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(Errors.D301.format(path=path, encoding="UTF-8")) from None
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes to a file atomically, as `write_text` does."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def file_name(name: str, suffix: str) -> str:
    """Make a file name from the name of a document.

    name (str): name of the document.
    suffix (str): suffix such as ".ann" or ".xml".
    RETURNS (str): the file name, without folder.
    RAISES: InputError (D311) if the name has a path separator or an unprintable character, or begins with a dot.
    """
    if not name or name.startswith(".") or set(name) & set("/\\\0") or any(not char.isprintable() for char in name):
        raise InputError(Errors.D311.format(name=ascii(name)[1:-1]))
    return name + suffix


def read_label(label: str, scheme: str, path: Path, line: int) -> str:
    """Convert the label of an annotation in a file to the canonical label.

    label (str): label in the file. Errors do not quote it: in a malformed line it may be text of the note.
    scheme (str): label scheme of the file.
    path, line (Path, int): file and line number, for the error message.
    RETURNS (str): canonical label.
    RAISES: InputError (D304) if the scheme has no such label; ConfigError (D002) if the scheme is unknown.
    """
    if scheme in SCHEMES and label not in SCHEMES[scheme]:
        known = ", ".join(sorted(SCHEMES[scheme]))
        raise InputError(Errors.D304.format(path=path, line=line, scheme=scheme, known=known))
    return from_scheme(label, scheme)


def read_offset(value: object, path: Path, line: int) -> int:
    """Convert a value in a file to an offset. It must be an integer or a string of ASCII digits.

    value (object): value in the file.
    path, line (Path, int): file and line number, for the error message.
    RETURNS (int): the offset.
    RAISES: InputError (D302) for any other value.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise InputError(Errors.D302.format(path=path, line=line, reason="an offset is not a whole number"))


def check_quote(text: str, spans: list[Entity], quote: str, path: Path, line: int) -> None:
    """Check that the text quoted in an annotation file is the text of the note at the annotated offsets.

    Any run of white space counts as one space on both sides, because each format writes line breaks differently.

    text (str): the note.
    spans (list[Entity]): the parts of the annotation, which can be discontinuous.
    quote (str): text quoted by the annotation.
    path, line (Path, int): file and line number, for the error message.
    RAISES: InputError if an offset is outside the text (D302) or the quoted text differs (D305).
    """
    for span in spans:
        if not 0 <= span.start < span.end <= len(text):
            reason = f"{span.start}:{span.end} is outside the text of {len(text)} characters or empty"
            raise InputError(Errors.D302.format(path=path, line=line, reason=reason))
    found = " ".join(text[span.start : span.end] for span in spans)
    if found.split() != quote.split():
        where = {"start": spans[0].start, "end": spans[-1].end}
        raise InputError(Errors.D305.format(path=path, line=line, **where))


def check_xml(document: AnnotatedText) -> None:
    """Check that XML can represent a text: control characters such as NUL and form feed are illegal (XML 1.0, 2.2).

    document (AnnotatedText): document to write.
    RAISES: InputError (D312) with the offset of the first illegal character.
    """
    illegal = _NOT_XML.search(document.text)
    if illegal:
        code, offset = ord(illegal.group()), illegal.start()
        raise InputError(Errors.D312.format(name=document.name, code=code, offset=offset, format="XML"))
