"""Read CoNLL files with two columns, such as the Turku NER corpus: token, tab, BIO tag; blank lines end sentences.

A line with the token -DOCSTART- begins a document. Tokens are joined to running text with normal spacing, because
models are trained on notes and not on text with spaces around every punctuation mark.

Sources: Tjong Kim Sang and De Meulder 2003 (CoNLL-2003); Luoma et al. 2020 (Turku NER).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation.documents import AnnotatedText, Entity, read_text

CONLL_LABELS: Mapping[str, str | None] = MappingProxyType(
    {
        "PER": "PERSON",
        "LOC": "LOCATION_OTHER",
        "ORG": "ORGANIZATION",
        "DATE": "DATE",
        "MISC": None,
        "PRO": None,
        "EVENT": None,
    }
)
"""Label of the file → canonical label, or None for what identifies nobody: products, events and what is left."""

_START = "-DOCSTART-"
_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%…”’»")
_NO_SPACE_AFTER = frozenset("([{„«")
_QUOTES = frozenset("\"'”")
_ENDS = (".", "!", "?", ":", '"', "”", "…")


@dataclass(slots=True)
class _Document:
    """A document under construction."""

    text: str = ""
    entities: list[Entity] = field(default_factory=list)

    def add(self, tokens: Sequence[str], spans: Sequence[tuple[int, int, str]]) -> None:
        """Append a sentence, on a new line if the preceding text has no final punctuation, as headings have none."""
        if self.text:
            self.text += " " if self.text.endswith(_ENDS) else "\n"
        places = []
        for before, token in zip(_gaps(tokens), tokens, strict=True):
            self.text += before
            places.append((len(self.text), len(self.text) + len(token)))
            self.text += token
        self.entities += [Entity(places[start][0], places[end][1], label) for start, end, label in spans]


def read_conll(path: str | Path, labels: Mapping[str, str | None] = CONLL_LABELS) -> list[AnnotatedText]:
    """Read a file.

    path (str | Path): the file.
    labels (Mapping[str, str | None]): label of the file → canonical label; None drops the entity.
    RETURNS (list[AnnotatedText]): documents in order, named by the stem of the file and a number.
    RAISES: InputError naming file and line for a malformed line or an I- tag that continues nothing (D631), an unknown
        label (D304), or a file that cannot be read (D301, D303).
    """
    path = Path(path)
    documents = [_Document()]
    tokens: list[str] = []
    tags: list[tuple[str, int]] = []

    def flush() -> None:
        documents[-1].add(tokens, _spans(tags, labels, path))
        tokens.clear()
        tags.clear()

    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), 1):
        token, tag = _read_line(line.removesuffix("\r"), path, number)
        if token and token != _START:
            tokens.append(token)
            tags.append((tag, number))
            continue
        if tokens:
            flush()
        if token == _START and documents[-1].text:
            documents.append(_Document())
    if tokens:
        flush()
    found = [document for document in documents if document.text]
    return [AnnotatedText(f"{path.stem}-{i:04}", d.text, tuple(d.entities)) for i, d in enumerate(found, 1)]


def _read_line(line: str, path: Path, number: int) -> tuple[str, str]:
    """Return token and tag of a line; two empty strings for a blank line."""
    if not line.strip():
        return "", ""
    cells = line.split("\t")
    if len(cells) < 2 or not cells[0].strip() or not (cells[-1] == "O" or cells[-1][:2] in ("B-", "I-")):
        raise InputError(Errors.D631.format(path=path, line=number, reason="not a token, a tab and a tag O, B- or I-"))
    return cells[0], cells[-1]


def _spans(
    tags: Sequence[tuple[str, int]], labels: Mapping[str, str | None], path: Path
) -> list[tuple[int, int, str]]:
    """Return first token, last token and canonical label of each entity of a sentence."""
    spans: list[tuple[int, int, str]] = []
    before = "O"
    for i, (tag, number) in enumerate(tags):
        name = tag[2:]
        if tag != "O" and name not in labels:
            raise InputError(Errors.D304.format(path=path, line=number, scheme="conll", known=", ".join(labels)))
        if tag[0] == "I" and before[2:] != name:
            raise InputError(Errors.D631.format(path=path, line=number, reason=f"I-{name} continues no {name}"))
        label = labels[name] if tag != "O" else None
        if label and tag[0] == "B":
            spans.append((i, i, label))
        elif label:
            spans[-1] = (spans[-1][0], i, label)
        before = tag
    return spans


def _gaps(tokens: Sequence[str]) -> list[str]:
    """Return the space or empty string before each token. Straight quotes open and close alternately."""
    gaps: list[str] = []
    glued, quoted = True, False
    for token in tokens:
        closing = token in _QUOTES and quoted
        tight = glued or closing or (token[0] in _NO_SPACE_BEFORE and token not in _QUOTES)
        gaps.append("" if tight else " ")
        if token in _QUOTES:
            quoted = not quoted
        glued = token in _NO_SPACE_AFTER or (token in _QUOTES and quoted)
    return gaps
