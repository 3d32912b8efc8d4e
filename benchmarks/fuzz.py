"""Search for inputs that break a promise: texts, damaged files, settings, and requests to the service.

    python -m benchmarks.fuzz --minutes 60

`benchmarks.coverage_fuzz` tries the same targets with inputs that reach new code.

Each target makes inputs with hypothesis from valid ones in which pieces were changed, removed, repeated or inserted.
What must hold: the program either returns a result or raises an error with a code, never any other exception; no
message quotes the canary that is in the input; a text that was released does not contain the canary. Tests try some
inputs of each target; this command tries more, with other random numbers in each round, and writes how many it tried
and how many broke a promise.
"""

import io
import json
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files as files_of
from pathlib import Path
from typing import Annotated, Any

import typer
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from spacy_deid import Deidentifier
from spacy_deid.app.access import find_rule
from spacy_deid.cda import profile as cda_profile
from spacy_deid.cda.structure import parse_document
from spacy_deid.cli.options import read_config
from spacy_deid.documents import read_document
from spacy_deid.errors import DeidError, Errors
from spacy_deid.evaluation import MetricRow
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.fhir.json_values import read_json
from spacy_deid.fhir.profile import parse_profile
from spacy_deid.hl7 import profile as hl7_profile
from spacy_deid.hl7.messages import parse_message
from spacy_deid.llm.prompts import load_prompt
from spacy_deid.notes import open_source
from spacy_deid.patterns.rules import parse_rules
from spacy_deid.policies import load_policy

CANARY = "zyxwalda.qvistberg@example.org"
_PIECES = ("zyxwalda", "qvistberg")
_WITHHELD = Errors.D418.partition("}. ")[2]  # describes an exception without a code
_ROUND = 100  # examples between two looks at the clock
_TOKENS = [
    b"\0",
    b"\xff\xfe",
    b"<",
    b"]]>",
    b"&#0;",
    b"%%EOF",
    b"-1",
    b"99999999999",
    b"[",
    b"{",
    b'"',
    b"\\",
    b"../",
    b"\r\n",
]

# Every kind of Unicode: letters, marks, lone surrogates, controls, directions, joiners, private and unassigned.
ODD = [
    "\0",
    "\u200b",
    "\u200d",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u0301",
    "\U0001f1ea",
    "\ud800",
    "\udfff",
    "\U0010ffff",
]
CHARACTERS = st.one_of(
    st.characters(), st.characters(categories=["Mn", "Cf", "Cs", "Cc", "Co", "Cn"]), st.sampled_from(ODD)
)
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=1),
    st.text(CHARACTERS, max_size=80),
    st.lists(st.sampled_from(["Nombre: ", "NHC 12", "Dr. ", "\t", "\n", "١٢/٣/٢٠٢٤", "ﬁ", "İ", *ODD])).map("".join),
)


class Broken(AssertionError):
    """A promise does not hold for an input."""


@dataclass(frozen=True)
class Target:
    """Something that reads inputs.

    inputs (SearchStrategy): makes inputs.
    check (Callable): raises `Broken` if a promise does not hold for an input.
    seeds (tuple[bytes, ...]): valid inputs as bytes.
    convert (Callable): makes an input of other bytes.
    words (Callable): returns words that inputs are made of, for fuzzers that insert them.
    """

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    seeds: tuple[bytes, ...] = ()
    convert: Callable[[bytes], Any] = bytes
    words: Callable[[], Sequence[bytes]] = tuple


def require_quiet(message: str) -> None:
    """Check that a message does not quote the canary. RAISES: Broken if it does."""
    if any(piece in message.lower() for piece in _PIECES):
        raise Broken("a message quotes the input")


def require_code(run: Callable[[], object]) -> None:
    """Check that a call returns or raises an error with a code. RAISES: Broken if it raises anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run()
        except DeidError as error:
            require_quiet(str(error))
        except Exception as error:
            raise Broken(f"{type(error).__name__} instead of an error with a code") from error


# --- inputs ---


def damaged(data: bytes) -> st.SearchStrategy[bytes]:
    """Make copies of a file in which pieces were changed, removed, repeated or inserted."""
    place = st.integers(0, len(data))
    change = st.tuples(
        st.sampled_from(["set", "cut", "repeat", "insert", "end"]),
        place,
        st.integers(1, 40),
        st.one_of(st.sampled_from(_TOKENS), st.binary(min_size=1, max_size=8)),
    )

    def apply(changes: list[tuple[str, int, int, bytes]]) -> bytes:
        copy = bytearray(data)
        for kind, at, length, piece in changes:
            if kind == "set":
                copy[at : at + len(piece)] = piece
            elif kind == "cut":
                del copy[at : at + length]
            elif kind == "repeat":
                copy[at:at] = copy[at : at + length] * 3
            elif kind == "insert":
                copy[at:at] = piece
            else:
                del copy[at:]
        return bytes(copy)

    return st.lists(change, min_size=1, max_size=4).map(apply)


def unpack(data: bytes) -> dict[str, bytes]:
    """Read the members of a ZIP archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repack(members: dict[str, bytes], name: str, content: bytes) -> bytes:
    """Write a ZIP archive in which one member has another content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, old in members.items():
            archive.writestr(each, content if each == name else old)
    return out.getvalue()


def damaged_archive(data: bytes) -> st.SearchStrategy[bytes]:
    """Make copies of a ZIP archive in which one member was damaged, or the archive itself."""
    members = unpack(data)
    inner = [
        damaged(content).map(lambda new, name=name: repack(members, name, new)) for name, content in members.items()
    ]
    return st.one_of(*inner, damaged(data))


def _archive_target(data: bytes, check: Callable[[bytes], None]) -> Target:
    """Make the target of a ZIP archive. As bytes, an input is the number of a member, and its content."""
    members = unpack(data)
    names = list(members)

    def convert(given: bytes) -> bytes:
        return repack(members, names[given[0] % len(names)], given[1:]) if given else data

    seeds = tuple(bytes([number]) + content for number, content in enumerate(members.values()))
    return Target(damaged_archive(data), check, seeds, convert)


def _bytes_target(data: bytes, check: Callable[[bytes], None]) -> Target:
    """Make the target of a file or text that is changed as a whole."""
    return Target(damaged(data), check, (data,))


@cache
def files() -> dict[str, bytes]:
    """Make a small valid file of each format: suffix → content. Each contains the canary."""
    import pyarrow
    from openpyxl import Workbook
    from pyarrow import parquet
    from reportlab.pdfgen.canvas import Canvas

    page = f"<html><head><title>T</title></head><body><p>Ana &amp; {CANARY}</p><table><tr><td>1</td></tr></table>"
    page += "</body></html>"
    mail = f"From: A <{CANARY}>\r\nTo: b@example.org\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\nMIME-Version: 1.0\r\n"
    mail += (
        'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nHola\r\n--x--\r\n'
    )
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    docx, odt, workbook, pdf, table = (io.BytesIO() for _ in range(5))
    with zipfile.ZipFile(docx, "w") as archive:
        archive.writestr(
            "[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
        )
        link = f'<Relationship Id="r" Type="{office}/officeDocument" Target="word/document.xml"/>'
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{links}">{link}</Relationships>')
        body = f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>{CANARY}</w:t></w:r></w:p></w:body></w:document>'
        archive.writestr("word/document.xml", body)
    with zipfile.ZipFile(odt, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        space = "urn:oasis:names:tc:opendocument:xmlns"
        names = f'xmlns:office="{space}:office:1.0" xmlns:text="{space}:text:1.0"'
        body = f"<office:body><office:text><text:p>{CANARY}</text:p></office:text></office:body>"
        archive.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
    book = Workbook()
    book.active.append(["name", CANARY, 1])
    book.save(workbook)
    canvas = Canvas(pdf)
    canvas.drawString(72, 700, f"Ana {CANARY}")
    canvas.save()
    parquet.write_table(pyarrow.table({"name": ["Ana"], "mail": [CANARY]}), table)
    return {
        ".txt": f"Ana {CANARY}\n".encode(),
        ".csv": f'name,mail\nAna,"{CANARY}"\n'.encode(),
        ".tsv": f"name\tmail\nAna\t{CANARY}\n".encode(),
        ".parquet": table.getvalue(),
        ".html": page.encode(),
        ".eml": mail.encode(),
        ".rtf": ("{\\rtf1\\ansi{\\fonttbl\\f0 Arial;}\\f0 Ana \\'e1 " + CANARY + "\\par}").encode(),
        ".docx": docx.getvalue(),
        ".odt": odt.getvalue(),
        ".xlsx": workbook.getvalue(),
        ".pdf": pdf.getvalue(),
    }


HL7 = "MSH|^~\\&|LAB|H|||20240102||ORU^R01|1|P|2.5\rPID|1||123||Ruiz^Ana||19500101|F\r"
HL7 += f"OBX|1|FT|8251-1||{CANARY}\\.br\\||||||F\r"
CDA = '<ClinicalDocument xmlns="urn:hl7-org:v3"><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>'
CDA += f'<id root="1.2.3"/><code/><title>{CANARY}</title><effectiveTime/><confidentialityCode/>'
CDA += "".join(f'<{name} nullFlavor="NI"/>' for name in ("recordTarget", "author", "custodian"))
CDA += "<component><nonXMLBody><text>a</text></nonXMLBody></component></ClinicalDocument>"
FHIR = json.dumps({"resourceType": "Patient", "name": [{"family": CANARY}], "birthDate": "1950-01-01", "x": 1.50})
POLICY = 'name = "own"\ndefault = "replace"\nsure = 0.9\n[labels]\nDATE = "generalize"\nAGE = "keep"\n'
RULES = 'name = "own"\n[[rules]]\nid = "id"\nlabel = "MRN"\npattern = "ID-[0-9]+"\nexamples = ["el [ID-12]"]\n'
_RESOURCES = files_of("spacy_deid") / "resources"
PROFILE, HL7_PROFILE, CDA_PROFILE = (
    (_RESOURCES / kind / "profile.toml").read_bytes() for kind in ("fhir", "hl7", "cda")
)
ROWS = f'{{"note_id": "1", "text": "{CANARY}"}}\n{{"note_id": "2", "text": null}}\n'
OPTIONS = '[redact]\npipeline = "es"\nn-process = 2\ntrace = true\n'
PROMPT = 'id = "own"\nsystem = "List all."\nuser = "{labels} {text}"\n[labels]\nDATE = "a date"\n'
PROMPT += '[canaries]\nDATE = "On {}."\n[[example]]\ntext = "In May"\n[example.answer]\nDATE = ["May"]\n'
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just(CANARY)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def changed_body(request: bytes) -> st.SearchStrategy[bytes]:
    """Make copies of a request with a body of JSON in which values have other types."""
    head, _, body = request.partition(b"\n\n")
    fields = json.loads(body)
    keys = st.sampled_from([*fields, "policy", "patient_id", "pipeline", "settings", "nope"])
    changes = st.dictionaries(keys, VALUES, min_size=1, max_size=3)
    return changes.map(lambda new: head + b"\n\n" + json.dumps({**fields, **new}).encode())


# --- checks ---


@cache
def deidentifier() -> Deidentifier:
    """The Spanish pipeline, with tags."""
    return Deidentifier("es", style="tag")


def check_text(text: str) -> None:
    """Check a text around the canary: the whole text is read, and the canary is removed or the text is refused."""
    note = f"{text} {CANARY} {text}"
    result = deidentifier()(note)
    require_quiet(result.reason)
    if not result.ok:
        if _WITHHELD in result.reason:
            raise Broken("a text fails without a code")
        return
    released, last, kept = result.text, 0, []
    for edit in result.edits:
        kept += [note[last : edit.start], edit.replacement]
        last = edit.end
    if released != "".join([*kept, note[last:]]):
        raise Broken("the released text is not that of the edits")
    if CANARY in released:
        raise Broken("the canary was released")


def _file_target(text: str, name: str, read: Callable[[Path], object]) -> Target:
    """Make the target of a reader of files."""

    def check(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            require_code(lambda: read(path))

    return _bytes_target(text.encode(), check)


def _read_rows(path: Path) -> None:
    """Read all rows of a table of notes."""
    source = open_source(str(path))
    try:
        for _ in source.scan(["note_id", "text"]):
            pass
    finally:
        source.close()


def check_request(data: bytes) -> None:
    """Check a request to the service: there is an answer in time that is not an internal error. A refusal and the log
    do not quote the request, and a text that was released does not contain an address that is whole in the request.
    """
    from benchmarks.fuzz_service import RELEASE, service

    try:
        sent, answer = service().call(data)
    except TimeoutError:
        raise Broken("a request without an answer in time") from None
    said = answer.body.decode("utf-8", "replace")
    place = f"{sent.method} {find_rule(sent.method, sent.path)[0].path}"
    if answer.status >= 500 and answer.status not in (503, 507):
        raise Broken(f"{place} fails without a code: {said[:300]}")
    if answer.status >= 400:
        require_quiet(said)
    elif sent.path in RELEASE and CANARY in said:
        raise Broken(f"{place} releases the canary")
    require_quiet(service().read_log())


def _text_target(data: bytes, read: Callable[[str], object]) -> Target:
    """Make the target of a reader of texts."""
    return _bytes_target(data, lambda given: require_code(lambda: read(given.decode("utf-8", "replace"))))


def make_targets() -> dict[str, Target]:
    """Make all targets, by name."""
    from typer.main import get_command

    from benchmarks.fuzz_service import make_requests, make_words
    from spacy_deid.cli import app

    readers = {
        f"files {suffix}": (_archive_target if data.startswith(b"PK") else _bytes_target)(
            data, lambda data, name=f"note{suffix}": require_code(lambda: read_document(data, name))
        )
        for suffix, data in files().items()
    }
    requests = make_requests(CANARY, HL7, CDA)
    with_json = [request for request in requests if b"application/json" in request.partition(b"\n\n")[0]]
    changed = st.one_of(*map(changed_body, with_json), *map(damaged, requests))
    redact = get_command(app).commands["redact"]  # type: ignore[attr-defined]
    return {
        "texts": Target(
            TEXTS,
            check_text,
            ("Ñ ".encode(), "ﬁ\u202e١٢".encode()),
            lambda data: data.decode(errors="surrogateescape"),
        ),
        **readers,
        "JSONL tables": _file_target(ROWS, "rows.jsonl", _read_rows),
        "HL7 messages": _bytes_target(
            HL7.encode(), lambda data: require_code(lambda: parse_message(data, "message 1"))
        ),
        "CDA documents": _bytes_target(CDA.encode(), lambda data: require_code(lambda: parse_document(data, "a.xml"))),
        "FHIR resources": _text_target(FHIR.encode(), read_json),
        "FHIR profiles": _text_target(PROFILE, lambda text: parse_profile(text, "p")),
        "HL7 profiles": _text_target(HL7_PROFILE, lambda text: hl7_profile.parse_profile(text, "p")),
        "CDA profiles": _text_target(CDA_PROFILE, lambda text: cda_profile.parse_profile(text, "p")),
        "policies": _file_target(POLICY, "policy.toml", lambda path: load_policy(str(path))),
        "rules": _text_target(RULES.encode(), lambda text: parse_rules(text, "r.toml")),
        "prompts": _file_target(PROMPT, "prompt.toml", lambda path: load_prompt(str(path), "es")),
        "options in a file": _file_target(OPTIONS, "redact.toml", lambda path: read_config(path, redact)),
        "REST requests": Target(changed, check_request, requests, words=make_words),
    }


def try_target(target: Target, examples: int, number: int) -> tuple[int, str]:
    """Try inputs of a target.

    target (Target): the target.
    examples (int): number of inputs.
    number (int): seed of the inputs.
    RETURNS (tuple[int, str]): number of inputs that were tried, and what broke; "" if nothing did.
    """
    tried = 0

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def run(value: Any) -> None:
        nonlocal tried
        tried += 1
        target.check(value)

    try:
        run()
    except Broken as broken:
        return tried, str(broken)
    return tried, ""


def main(
    context: typer.Context,
    minutes: Annotated[float, typer.Option(min=0, help="Minutes for all targets together.")] = 60,
    only: Annotated[list[str] | None, typer.Option(help="Targets to try, by the beginning of their names.")] = None,
    first: Annotated[int, typer.Option("--seed", help="Seed of the first round.")] = 1,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/fuzz.json"),
) -> None:
    """Try inputs of each target in turn until the time is over. Exits with 1 if a promise was broken."""
    end = time.monotonic() + 60 * minutes
    targets = {name: each for name, each in make_targets().items() if not only or name.startswith(tuple(only))}
    tried, broken, number = dict.fromkeys(targets, 0), dict.fromkeys(targets, 0), first
    while not any(tried.values()) or time.monotonic() < end:
        for name, target in targets.items():
            count, reason = try_target(target, _ROUND, number)
            tried[name] += count
            broken[name] += bool(reason)
            if reason:
                typer.echo(f"{name}, seed {number}: {reason}")
            if time.monotonic() > end and all(tried.values()):
                break
        number += 1
    typer.echo(
        f"{sum(tried.values())} inputs of {len(targets)} targets, {sum(broken.values())} round(s) broke a promise"
    )
    if not only:
        command, today = command_line("benchmarks.fuzz", context), date.today().isoformat()
        replace_rows(
            metrics,
            [
                MetricRow("broken promises", sum(broken.values()), 0, "lower", "all targets", "fuzz", command, today),
                MetricRow("inputs tried", sum(tried.values()), None, "higher", "all targets", "fuzz", command, today),
                *(
                    MetricRow(f"inputs tried: {name}", count, None, "higher", "all targets", "fuzz", command, today)
                    for name, count in tried.items()
                ),
            ],
        )
    raise typer.Exit(int(any(broken.values())))


if __name__ == "__main__":
    typer.run(main)
