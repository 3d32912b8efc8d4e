"""Parse and render templates of notes: text with slots, random choices, and words that agree with a person's sex.

    {patient.full}                 a slot: person and attribute, which determine the label
    {note.date:-3:long@DATE}       filters after colons, an explicit label after "@" ("@O" for no label)
    {patient.sex?ingresado|ingresada}   agreement with the sex: male, then female
    [[a|b {patient.given}|]]       a choice, which can be nested; a branch may be empty
    <<RELATIVE:his aunt, {relative.age}>>   text with a label; labels inside are ignored

All other text is literal. A template is parsed once and rendered often.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText, Entity
from ..labels import get_label

UNLABELLED = "O"
_SLOT = re.compile(r"(\w+)\.(\w+)((?::[^:@{}|]+)*)(?:@(\w+))?")
_LABELLED = re.compile(r"<<([A-Z_]+):")
_MARK = re.compile(r"\{|\[\[|\]\]|<<|>>|\|")
_AGREE = re.compile(r"(\w+)\.sex\?([^{}|]*)\|([^{}|]*)")


@dataclass(frozen=True, slots=True)
class Slot:
    """A placeholder in a template that is filled with an attribute of a person, such as {patient.age}.

    who, what (str): key of the person and name of the attribute, such as "patient" and "age".
    filters (tuple[str, ...]): changes to apply to the value, in order, such as "upper".
    label (str | None): explicit label; "O" for no label; None for the label of the attribute.
    """

    who: str
    what: str
    filters: tuple[str, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Agree:
    """Text of a template that depends on the sex of the person `who`."""

    who: str
    male: str
    female: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives in a template, one of which is drawn with equal probability."""

    branches: tuple[tuple["Node", ...], ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A part of a template whose rendered text is annotated as one entity."""

    label: str
    nodes: tuple["Node", ...]


Node = str | Slot | Agree | Choice | Labelled


@dataclass(slots=True)
class Writer:
    """Collects the text and the entities of a note while it is generated."""

    parts: list[str] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    length: int = 0

    def write(self, text: str, label: str | None = None) -> None:
        """Append text to the note, and annotate it as an entity if it has a label.

        text (str): the text.
        label (str | None): canonical label; None or "O" if the text is no identifier. White space at both ends is not
            part of the entity.
        """
        if text and label and label != UNLABELLED:
            start = self.length + len(text) - len(text.lstrip())
            end = self.length + len(text.rstrip())
            if start < end:
                self.entities.append(Entity(start, end, label))
        self.parts.append(text)
        self.length += len(text)

    def finish(self, name: str) -> AnnotatedText:
        """Return the collected text and entities as a note with the given name."""
        return AnnotatedText(name, "".join(self.parts), tuple(self.entities))


Fill = Callable[[Slot, Writer], None]


def parse(source: str, where: str) -> tuple[Node, ...]:
    """Parse a template into literal text, slots, choices and labelled parts.

    source (str): the template.
    where (str): file and number of the template, for error messages.
    RETURNS (tuple[Node, ...]): literal text, slots, choices and labelled parts, for `render`.
    RAISES: ConfigError (D600) for an unbalanced bracket or a malformed slot; (D001) for an unknown label.
    """
    nodes, end = _parse(source, 0, where, ())
    if end != len(source):
        raise ConfigError(Errors.D600.format(path=where, offset=end, reason="it closes what was never opened"))
    return nodes


def _parse(source: str, at: int, where: str, stops: tuple[str, ...]) -> tuple[tuple[Node, ...], int]:
    """Parse a template from an offset to one of `stops` or to its end. RETURNS: nodes, and the offset reached."""
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
    """Return the offset `end`. RAISES: ConfigError (D600) if the bracket at `start` is not closed before it."""
    if end >= len(source):
        raise ConfigError(Errors.D600.format(path=where, offset=start, reason="a bracket is never closed"))
    return end


def _parse_choice(source: str, at: int, where: str) -> tuple[Choice, int]:
    """Parse a choice, "[[…|…]]", at an offset. RETURNS: the choice and the offset after it."""
    branches, end = [], at + 1
    while True:
        branch, end = _parse(source, end + 1, where, ("|", "]]"))
        branches.append(branch)
        if source.startswith("]]", _expect(source, end, at, where)):
            return Choice(tuple(branches)), end + 2


def _parse_slot(inner: str, at: int, where: str) -> Slot | Agree:
    """Parse the text between braces. RAISES: ConfigError (D600) if it is malformed."""
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
    """Render a template: draw its choices and write its text and values.

    nodes (Sequence[Node]): result of `parse`.
    writer (Writer): receives text and entities.
    fill (Callable[[Slot, Writer], None]): function that writes the value of a slot.
    sex (Callable[[str], str]): returns the sex of a person, "male" or "female".
    rng (Random): draws the branches of choices.
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
    """Yield the slots of a template in order, including those in all branches of choices."""
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
    """Add filters to the last slot of a template, for example the case of the name in "Dr. Anna Virtanen".

    nodes (Sequence[Node]): a parsed template.
    filters (tuple[str, ...]): filters to add.
    RETURNS (tuple[Node, ...]): the changed template.
    """
    out = list(nodes)
    for i in range(len(out) - 1, -1, -1) if filters else ():
        if isinstance(node := out[i], Slot):
            out[i] = replace(node, filters=node.filters + filters)
            break
    return tuple(out)
