"""Writes the reference pages of the site: the public names of the package, the commands, and the error codes.

Everything comes from the code, so a page cannot be out of date: docstrings, the options that typer knows, and the
catalogue of messages.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import spacy_deid
from spacy_deid import errors

# ---------------------------------------------------------------- docstrings

ENTRY = re.compile(r"^(?P<name>\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*) \((?P<type>[^:]+)\): ")
CLOSING = re.compile(r"(?<![`\w])(?P<word>RETURNS|YIELDS|RAISES)(?: \((?P<type>[^:]+)\))?: ")


def to_markdown(docstring: str) -> str:
    """Convert a docstring in the style of spaCy to Markdown: parameters become a list, indented blocks become code.

    docstring (str): the docstring.
    RETURNS (str): Markdown.
    """
    return "\n\n".join(_block(block) for block in _blocks(inspect.cleandoc(docstring))) + "\n"


def _blocks(text: str) -> Iterator[list[str]]:
    """Divide a docstring: paragraphs, indented blocks, and one block per parameter, RETURNS, YIELDS and RAISES."""
    block: list[str] = []
    indented = False
    text = re.sub(r"(?<=[.)`\"]) (?=(?:RETURNS|YIELDS|RAISES)(?: \([^:]+\))?: )", "\n", text)
    for line in text.splitlines():
        starts = bool(ENTRY.match(line) or CLOSING.match(line))
        literal = line.startswith("    ") and not (block and (ENTRY.match(block[0]) or CLOSING.match(block[0])))
        if block and (not line.strip() or starts or literal != indented):
            yield block
            block = []
        if line.strip():
            block.append(line)
            indented = literal
    if block:
        yield block


def _block(lines: list[str]) -> str:
    """Convert one block of a docstring."""
    if all(line.startswith("    ") for line in lines):
        return "\n".join(["```text", *(line[4:] for line in lines), "```"])
    text = escape(" ".join(line.strip() for line in lines))
    if match := ENTRY.match(" ".join(line.strip() for line in lines)):
        return f"- **`{match['name']}`** (`{match['type']}`): {text[len(escape(match[0])) :]}"
    if match := CLOSING.match(" ".join(line.strip() for line in lines)):
        kind = f" (`{match['type']}`)" if match["type"] else ""
        return f"- *{match['word'].capitalize()}*{kind}: {text[len(escape(match[0])) :]}"
    return text


def escape(text: str) -> str:
    """Escape what is Markdown or HTML by accident, outside of code: <, {, [, * and _ in words."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    return "".join(
        part.replace("``", "`") if part.startswith("`") else re.sub(r"([<\[\]*_|])", r"\\\1", part) for part in parts
    )


# ---------------------------------------------------------------- Python


def write_python() -> str:
    """Write the page of the public names of the package: every name of ``spacy_deid.__all__``."""
    functions, classes, exceptions, plain = [], [], [], []
    for name in sorted(spacy_deid.__all__):
        value = getattr(spacy_deid, name)
        if inspect.isclass(value):
            (exceptions if issubclass(value, Exception) else classes).append(name)
        else:
            (functions if callable(value) else plain).append(name)
    lines = [
        "# Python",
        "Everything that `import spacy_deid` offers. All other modules are internal and may change in any release. "
        "Components, functions and settings that a spaCy config names are in [registered names](registered_names.md).",
    ]
    for title, names in [("Classes", classes), ("Functions", functions), ("Exceptions", exceptions)]:
        lines.append(f"## {title}")
        lines += [_describe(name, getattr(spacy_deid, name)) for name in names]
    lines.append("## Constants")
    lines += [f"### `spacy_deid.{name}` {{ #{name.strip('_')} }}\n\nThe version of the package." for name in plain]
    return "\n\n".join(lines) + "\n"


def _describe(name: str, value: Any) -> str:
    """Describe a class with its public members, or a function."""
    lines = [f"### `spacy_deid.{name}` {{ #{name} }}"]
    if inspect.isclass(value) and issubclass(value, Exception):
        bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
        return "\n\n".join([*lines, f"{to_markdown(value.__doc__ or '')}\nSubclass of {bases}."])
    lines += [_signature(name, value), to_markdown(value.__doc__ or "")]
    if inspect.isclass(value):
        lines += [_member(name, key, member) for key, member in _members(value)]
    return "\n\n".join(lines)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Iterate over the public methods and properties of a class that have a docstring, and ``__call__``."""
    for key, member in vars(value).items():
        bound = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if (key == "__call__" or not key.startswith("_")) and (
            inspect.isfunction(bound) or isinstance(bound, property)
        ):
            yield key, bound


def _member(name: str, key: str, member: Any) -> str:
    """Describe a method or a property of a class."""
    shown = f"{name}.{key}" if key != "__call__" else f"{name}.__call__"
    lines = [f"#### `{shown}` {{ #{name}.{key.strip('_')} }}"]
    if inspect.isfunction(member):
        lines.append(_signature(shown, member))
    return "\n\n".join([*lines, to_markdown(member.__doc__ or "")])


def _signature(name: str, value: Callable[..., Any]) -> str:
    """Format a signature without types, which the docstring has, one parameter a line if it is long."""
    signature = inspect.signature(value)
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))
    if len(name + text) > 90:
        parts = re.split(r", (?![^\[(]*[\])])", text[1:-1])
        text = "(\n" + "".join(f"    {part},\n" for part in parts) + ")"
    return f"```python\n{name}{text}\n```"


# ---------------------------------------------------------------- commands

TYPES = {"STR": "TEXT", "INT": "NUMBER", "INT RANGE": "NUMBER", "FLOAT": "NUMBER", "FLOAT RANGE": "NUMBER"}


def list_commands() -> list[str]:
    """List the names of the commands of ``spacy-deid``, in alphabetical order."""
    return sorted(_root().commands)


def write_commands() -> str:
    """Write the overview of all commands: one row each, with the first sentence of its help."""
    lines = ["# Commands", "`spacy-deid COMMAND --help` prints the same.", "| command | |\n|---|---|"]
    rows = []
    for name in list_commands():
        for path, command in _walk(f"spacy-deid {name}", _root().commands[name]):
            rows.append(f"| [`{path}`]({name}.md#{_anchor(path)}) | {_cell(_first_sentence(command.help or ''))} |")
    lines[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(lines) + "\n"


def write_command(name: str) -> str:
    """Write the page of a command and of its sub-commands: usage, help, arguments and options.

    name (str): name of the command.
    RETURNS (str): Markdown.
    """
    lines = []
    for path, command in _walk(f"spacy-deid {name}", _root().commands[name]):
        lines.append(f"{'##' if lines else '#'} {path} {{ #{_anchor(path)} }}")
        lines += [_help(command.help or "")]
        if not hasattr(command, "commands"):
            lines += [f"```bash\n{_usage(path, command)}\n```", *_parameters(command)]
    return "\n\n".join(lines) + "\n"


def _root() -> Any:
    """The click group of ``spacy-deid``."""
    import typer

    from spacy_deid.cli import app

    return typer.main.get_command(app)


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over a command and its sub-commands with their full names."""
    yield path, command
    for name, child in sorted(getattr(command, "commands", {}).items()):
        yield from _walk(f"{path} {name}", child)


def _usage(path: str, command: Any) -> str:
    """Format the first line of a command's help."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shown = [
        p.human_readable_name + ("..." if p.nargs == -1 and "..." not in p.human_readable_name else "")
        for p in arguments
    ]
    required = [p for p in command.params if p.param_type_name == "option" and p.required]
    shown += [f"{p.opts[0]} {'|'.join(_values(p))}" for p in required]
    return " ".join([path, *shown, "[OPTIONS]"])


def _parameters(command: Any) -> Iterator[str]:
    """Format the tables of arguments and options, one per panel of the help."""
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
        panels.setdefault(panel, []).append(_row(parameter, argument))
    for panel, rows in panels.items():
        yield f"**{panel}**\n\n| name | value | default | |\n|---|---|---|---|\n" + "\n".join(rows)


def _row(parameter: Any, argument: bool) -> str:
    """Format one argument or option as a row of a table."""
    names = [parameter.human_readable_name] if argument else [*parameter.opts, *parameter.secondary_opts]
    shown = ", ".join(f"`{name}`" for name in names)
    value = "" if getattr(parameter, "is_flag", False) else ", ".join(f"`{one}`" for one in _values(parameter))
    return f"| {shown} | {value} | {_default(parameter)} | {_cell(parameter.help or '')} |"


def _values(parameter: Any) -> list[str]:
    """Name the values of a parameter: its choices, or its type."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return [str(getattr(choice, "value", choice)) for choice in choices]
    named = parameter.metavar if parameter.param_type_name == "option" else ""
    return [TYPES.get(name := str(named or parameter.type.name).upper(), name)]


def _default(parameter: Any) -> str:
    """Format the default of a parameter; "required" if it has none and needs one."""
    if parameter.required:
        return "required"
    default = parameter.default
    if default is None or callable(default) or default in ("", (), []) or "UNSET" in repr(default).upper():
        return ""
    if getattr(parameter, "is_flag", False):
        return "on" if default else ""
    return f"`{getattr(default, 'value', default)}`"


def _help(text: str) -> str:
    """Format the help of a command, without the mark of Typer for a break."""
    paragraphs = inspect.cleandoc(text.replace("\b", "").replace("\f", "")).split("\n\n")
    return "\n\n".join(
        "```text\n" + inspect.cleandoc(part) + "\n```" if part.startswith("    ") else escape(" ".join(part.split()))
        for part in paragraphs
    )


def _first_sentence(text: str) -> str:
    """Return the text up to the first full stop that ends a sentence."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", " ".join(text.split()))[0].rstrip(":")


def _anchor(path: str) -> str:
    """Make the anchor of a command: its names joined by hyphens."""
    return path.removeprefix("spacy-deid ").replace(" ", "-")


def _cell(text: str) -> str:
    """Format a text for a cell of a table."""
    return escape(" ".join(text.split()))


# ---------------------------------------------------------------- errors


@dataclass(frozen=True)
class Section:
    """A section of the catalogue: what to do if a message does not say it, and the page that explains the feature."""

    advice: str
    page: str


# Title of a section in errors.py → what to do. Messages that end with an instruction of their own show that instead.
SECTIONS = {
    "core": Section("Correct the value that the message names", "../architecture.md"),
    "rules": Section("Correct this rule; the message says what is wrong with it", "../guides/patterns.md"),
    "term lists": Section("Correct this row of the list", "../guides/lists.md"),
    "dictionaries from a record system": Section(
        "Correct this place of the mapping or of the table", "../guides/dictionaries.md"
    ),
    "evaluation": Section("Correct this line of the annotations", "../guides/evaluation.md"),
    "fairness, peers": Section("Correct the setting or file that the message names", "../guides/fairness.md"),
    "operating points and reports": Section("Choose a value within the bounds", "../guides/operating_points.md"),
    "the token classifier": Section("Train the component, or load a trained pipeline", "../guides/training.md"),
    "transformers": Section("Correct the setting that the message names", "../guides/transformers.md"),
    "adaptation": Section("Annotate more notes and run the command again", "../guides/adapt.md"),
    "command line": Section("Correct the option or the file that the message names", "cli/index.md"),
    "merging, policies, surrogates": Section(
        "Correct the policy or the setting of the component", "../guides/policies.md"
    ),
    "inflection, two-column CoNLL": Section("Use one of the values that the message lists", "../guides/surrogates.md"),
    "dates": Section("Correct the date, or its format", "../guides/surrogates.md"),
    "synthetic corpora": Section("Correct the template or the list that the message names", "../guides/synth.md"),
    "keys of surrogates": Section("Correct the file of the key", "../guides/surrogates.md"),
    "strategies and styles of surrogates": Section("Correct the setting of the style", "../guides/surrogates.md"),
    "medical dictionaries, phrase counts": Section("Build the dictionary again", "../guides/medical.md"),
    "local language models": Section("Check the server, the model file or the prompt", "../guides/llm.md"),
    "tables of notes, sampling": Section("Correct this row or column of the table", "../guides/sampling.md"),
    "CAS, texts of one document": Section("Correct the annotation that the message names", "../guides/evaluation.md"),
    "documents": Section(
        "Open the file in the program that wrote it, save it again, and retry", "../guides/documents.md"
    ),
    "processes": Section("Correct the item or the setting that the message names", "../guides/processes.md"),
    "recovery": Section("Correct the setting that the message names", "../guides/recovery.md"),
    "masked language models": Section("Correct the model file or the setting", "../design/surprisal.md"),
    "measures of scored tokens": Section("Correct the file of scores", "../design/surprisal.md"),
    "review": Section("Correct the file or the setting that the message names", "../guides/review.md"),
    "app": Section("Correct the request or the setting of the service that the message names", "../guides/service.md"),
    "warehouse": Section(
        "Correct the column, the row or the setting that the message names", "../guides/warehouse.md"
    ),
    "FHIR": Section("Correct the profile or the resource that the message names", "../guides/fhir.md"),
    "presidio": Section("Correct the call", "../guides/coming_from.md"),
    "data_models": Section("Correct the file of the data model or the option", "../guides/omop.md"),
    "warnings": Section("Read the message; the result is usable", "../guides/operating_points.md"),
    "lemmatizers": Section("Install the package, or use another lemmatizer", "../design/surprisal.md"),
}
OTHER = Section("Correct what the message names", "../README.md")
CODE = re.compile(r"^    (?P<code>DW?\d+) =|^    # (?P<title>.+)$|^class (?P<class>\w+)", re.MULTILINE)
# What follows the first full stop of a message, or its last clause, if it is an instruction.
INSTRUCTION = re.compile(
    r"(?:\. (?P<sentence>[A-Z].*)|[.:] (?P<clause>(?:pip install|set|call|add|give|list|use|start|train)\b.*))$",
    re.DOTALL,
)

KNOWN = re.compile(r"[.,] Known [\w ]+: (?P<text>\{known\})$")


def write_errors() -> str:
    """Write the page of all error and warning codes: code, message, and what to do."""
    lines = [
        "# Errors and warnings",
        "Codes are stable: search for one here or in the source. A message never quotes a note; it contains files, "
        "rows, keys, labels and offsets. `{...}` stands for what a message fills in. All exceptions are subclasses of "
        "[`DeidError`](python.md#DeidError).",
    ]
    for title, codes in catalogue().items():
        section = SECTIONS.get(title, OTHER)
        lines.append(f"## {(title[0].upper() + title[1:]).replace('_', ' ')}")
        lines.append(f"Explained in [{section.page.rpartition('/')[2].removesuffix('.md')}]({section.page}).")
        rows = [_error_row(code, message, section) for code, message in codes.items()]
        lines.append("| code | message | what to do |\n|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(lines) + "\n"


def catalogue() -> dict[str, dict[str, str]]:
    """Read the catalogue of messages: title of the section → code → message. Warnings are in their own section."""
    messages = {name: text for kind in (errors.Errors, errors.Warnings) for name, text in vars(kind).items()}
    sections: dict[str, dict[str, str]] = {}
    title = ""
    for match in CODE.finditer(inspect.getsource(errors)):
        if match["class"]:
            title = "warnings" if match["class"] == "Warnings" else ""
        elif match["title"] and title != "warnings":
            title = match["title"]
        elif match["code"]:
            sections.setdefault(title, {})[match["code"]] = messages[match["code"]]
    return sections


def advise(message: str, section: Section) -> tuple[str, str]:
    """Divide a message into what happened and what to do.

    message (str): the message.
    section (Section): its section, whose advice is used if the message has no instruction of its own.
    RETURNS (tuple[str, str]): what happened, and what to do.
    """
    if match := KNOWN.search(message):
        return message[: match.start()], f"Use one of {match['text']}"
    match = INSTRUCTION.search(message)
    if match is None:
        return message, section.advice
    text = match["sentence"] or match["clause"]
    return message[: match.start()], text[0].upper() + text[1:]


def _error_row(code: str, message: str, section: Section) -> str:
    """Format one message as a row of the table."""
    what, advice = (_placeholders(" ".join(part.split())) for part in advise(message, section))
    return f'| <span id="{code}">`{code}`</span> | {what} | {advice.rstrip(".")} |'


def _placeholders(text: str) -> str:
    """Format a message: what it fills in becomes code."""
    return re.sub(r"\{(\w+)[^{}]*\}", r"`{\1}`", escape(text).replace("\\_", "_"))
