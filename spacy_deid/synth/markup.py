"""The template language: plain text with slots, choices and agreement, rendered to an annotated note.

    {patient.full}                 a slot: who, what; the label follows from both
    {note.date:-3:long@DATE}       filters behind colons, a label of its own behind "@" ("@O" writes without a label)
    {patient.sex?ingresado|ingresada}   agreement with the sex: male, then female
    [[a|b {patient.given}|]]       a choice, nestable; a branch may be empty
    <<RELATIVE:his aunt, {relative.age}>>   text with a label; labels inside do not count

Everything else is literal. A template is parsed once and rendered often.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText, Entity
from ..labels import get_label

__all__ = ["Agree", "Choice", "Fill", "Labelled", "Node", "Slot", "Writer", "add_filters", "parse", "render", "slots"]

UNLABELLED = "O"
_SLOT = re.compile(r"(\w+)\.(\w+)((?::[^:@{}|]+)*)(?:@(\w+))?")
_LABELLED = re.compile(r"<<([A-Z_]+):")
_MARK = re.compile(r"\{|\[\[|\]\]|<<|>>|\|")
_AGREE = re.compile(r"(\w+)\.sex\?([^{}|]*)\|([^{}|]*)")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value.

    who, what (str): whose value, and which.
    filters (tuple[str, ...]): in the order of writing.
    label (str | None): label that overrides the default; "O" for none at all; None for the default.
    """

    who: str
    what: str
    filters: tuple[str, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Agree:
    """Text that agrees with a person's sex."""

    who: str
    male: str
    female: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One branch of several, drawn evenly."""

    branches: tuple[tuple["Node", ...], ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Text that is an entity as a whole."""

    label: str
    nodes: tuple["Node", ...]


Node = str | Slot | Agree | Choice | Labelled


@dataclass(slots=True)
class Writer:
    """A note while it is written: the text so far, and the entities in it."""

    parts: list[str] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    length: int = 0

    def write(self, text: str, label: str | None = None) -> None:
        """Write text behind what is there.

        text (str): what to write.
        label (str | None): canonical label, or None or "O" for text that identifies nobody.
        """
        if text and label and label != UNLABELLED:
            # Blanks at the edges belong to the layout, never to the entity.
            start = self.length + len(text) - len(text.lstrip())
            end = self.length + len(text.rstrip())
            if start < end:
                self.entities.append(Entity(start, end, label))
        self.parts.append(text)
        self.length += len(text)

    def finish(self, name: str) -> AnnotatedText:
        """Make the note. name (str): its name. RETURNS (AnnotatedText): text and entities."""
        return AnnotatedText(name, "".join(self.parts), tuple(self.entities))


Fill = Callable[[Slot, Writer], None]


def parse(source: str, where: str) -> tuple[Node, ...]:
    """Parse a template.

    source (str): the template.
    where (str): file and number of the template, for the error.
    RETURNS (tuple[Node, ...]): what `render` takes.
    RAISES: ConfigError (D600) if a bracket is left open or a slot cannot be read; (D001) for an unknown label.
    """
    nodes, end = _parse(source, 0, where, ())
    if end != len(source):
        raise ConfigError(Errors.D600.format(path=where, offset=end, reason="it closes what was never opened"))
    return nodes


def _parse(source: str, at: int, where: str, stops: tuple[str, ...]) -> tuple[tuple[Node, ...], int]:
    """Parse from an offset to the end of the template, or to what ends a branch or a labelled text."""
    nodes: list[Node] = []
    while at < len(source) and not source.startswith(stops or ("]]", ">>"), at):
        node: Node
        if source.startswith("[[", at):
            node, at = _parse_choice(source, at, where)
        elif match := _LABELLED.match(source, at):
            inner, end = _parse(source, match.end(), where, (">>",))
            node = Labelled(get_label(match[1]).name, inner)
            at = _expect(source, end, at, where) + 2
        elif source[at] == "{":
            end = source.find("}", at)
            node, at = _parse_slot(source[at + 1 : end] if end > 0 else "", at, where), end + 1
        else:
            found = _MARK.search(source, at + 1)
            end = found.start() if found else len(source)
            node, at = source[at:end], end
        nodes.append(node)
    return tuple(nodes), at


def _expect(source: str, end: int, start: int, where: str) -> int:
    """Make sure that what was opened is closed."""
    if end >= len(source):
        raise ConfigError(Errors.D600.format(path=where, offset=start, reason="a bracket is never closed"))
    return end


def _parse_choice(source: str, at: int, where: str) -> tuple[Choice, int]:
    """Parse "[[…|…]]"."""
    branches, end = [], at + 1
    while True:
        branch, end = _parse(source, end + 1, where, ("|", "]]"))
        branches.append(branch)
        if source.startswith("]]", _expect(source, end, at, where)):
            return Choice(tuple(branches)), end + 2


def _parse_slot(inner: str, at: int, where: str) -> Slot | Agree:
    """Parse what stands between braces."""
    if match := _AGREE.fullmatch(inner):
        return Agree(*match.groups())
    match = _SLOT.fullmatch(inner)
    if not match:
        raise ConfigError(Errors.D600.format(path=where, offset=at, reason="this is no slot"))
    who, what, filters, label = match.groups()
    if label and label != UNLABELLED:
        get_label(label)
    return Slot(who, what, tuple(filters.split(":")[1:]), label)


def render(nodes: Sequence[Node], writer: Writer, fill: Fill, sex: Callable[[str], str], rng: Random) -> None:
    """Render a template behind what the writer has.

    nodes (Sequence[Node]): what `parse` gave.
    writer (Writer): takes text and entities.
    fill (Callable[[Slot, Writer], None]): writes the value of a slot.
    sex (Callable[[str], str]): the sex of somebody, "male" or "female".
    rng (Random): draws the branches.
    """
    for node in nodes:
        match node:
            case str():
                writer.write(node)
            case Slot():
                fill(node, writer)
            case Agree():
                writer.write(node.female if sex(node.who) == "female" else node.male)
            case Choice():
                render(rng.choice(node.branches), writer, fill, sex, rng)
            case Labelled():
                inner = Writer()
                render(node.nodes, inner, fill, sex, rng)
                writer.write("".join(inner.parts), node.label)


def slots(nodes: Sequence[Node]) -> Iterator[Slot]:
    """Every slot of a template, of every branch.

    nodes (Sequence[Node]): what `parse` gave.
    YIELDS (Slot): in the order of the template.
    """
    for node in nodes:
        match node:
            case Slot():
                yield node
            case Choice():
                for branch in node.branches:
                    yield from slots(branch)
            case Labelled():
                yield from slots(node.nodes)


def add_filters(nodes: Sequence[Node], filters: tuple[str, ...]) -> tuple[Node, ...]:
    """Hand the filters of a slot on to the last slot of what it stands for, as the case of "Dr. Anna Virtanen".

    nodes (Sequence[Node]): a parsed template.
    filters (tuple[str, ...]): what to add.
    RETURNS (tuple[Node, ...]): the template with them.
    """
    out = list(nodes)
    for i in range(len(out) - 1, -1, -1) if filters else ():
        if isinstance(node := out[i], Slot):
            out[i] = replace(node, filters=node.filters + filters)
            break
    return tuple(out)
