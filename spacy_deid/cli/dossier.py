"""``spacy-deid dossier``: what a privacy board needs to know of a release, on one signed page."""

import csv
import hashlib
import hmac
import io
import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..dossier import make_dossier, render, sign, verify
from ..dossier.figures import Attachments
from ..dossier.legal import effective_policy
from ..errors import ConfigError, Errors, InputError
from ..evaluation.documents import read_text
from ..io import write_whole
from ..loading import find_components, load
from ..policies import load_policy
from ..surrogates.keys import ProjectKey
from .console import reporting
from .measure import check_output, read_gold
from .options import Bootstrap, OperatingPoint, Scheme, Seed, Style, check_new

dossier = typer.Typer(name="dossier", no_args_is_help=True, help="A signed dossier for the privacy board.")
KeyFile = Annotated[Path, typer.Option(help="File of the project key, which signs the page. 'key new' makes one.")]
Attached = Annotated[Path | None, typer.Option(help="JSON file of the command of this name.")]
_PDF_HASH = re.compile(r'"pdf": "([0-9a-f]{64})"\}</script>')


@dossier.command()
def make(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    gold: Annotated[Path, typer.Argument(help="The board's annotated notes, in any format of 'convert'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")],
    key: KeyFile,
    pdf: Annotated[Path | None, typer.Option(help="PDF to write as well (extra 'documents').")] = None,
    policy: Annotated[str, typer.Option(help="Policy of the release. Default: that of the pipeline.")] = "",
    style: Annotated[Style | None, typer.Option(help="Style of the release. Default: that of the pipeline.")] = None,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the gold notes.")] = "canonical",
    operating_point: OperatingPoint = None,
    data: Annotated[str, typer.Option(help="Name of the gold notes on the page. Default: name of the folder.")] = "",
    types: Annotated[
        Path | None, typer.Option(help="CSV file with the columns note and type: the type of each gold note.")
    ] = None,
    audit: Annotated[Path | None, typer.Option(help="JSON file of 'audit --output'.")] = None,
    fairness: Annotated[Path | None, typer.Option(help="JSON file of 'fairness --output'.")] = None,
    review: Annotated[Path | None, typer.Option(help="JSON file of 'review status --output'.")] = None,
    log: Annotated[Path | None, typer.Option(help="Lines of JSON that 'user log' printed.")] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing page or PDF.")] = False,
) -> None:
    """Run a pipeline on the board's own gold notes, and write one signed page about the release.

    It has what was run (versions, hashes, policy, key), figures with intervals by label and type of note, what the
    policy keeps under HIPAA and the GDPR, and the residual risk in plain words. It quotes and names no note.
    """
    with reporting():
        for path in filter(None, (output, pdf)):
            check_output(path, gold)
            check_new(path, overwrite)
        secret = ProjectKey.from_file(key)
        documents = read_gold(gold, scheme)
        nlp = load(pipeline, operating_point=operating_point)
        surrogate: Any = next(iter(find_components(nlp, "deid_surrogate", required=not (policy and style))), None)
        chosen = load_policy(policy) if policy else surrogate.policy
        releases = getattr(surrogate.style, "releases", None) if surrogate and style in (None, "surrogate") else None
        content = make_dossier(
            nlp,
            documents,
            policy=effective_policy(chosen, releases) if releases else chosen,
            style=style or surrogate.style_name,
            key=secret,
            data=data or gold.name,
            types=read_types(types) if types else None,
            attachments=Attachments(
                _attach(audit, "audit", "leaks"),
                _attach(fairness, "fairness", "origin"),
                _attach(review, "review status", "upper"),
                _read_log(log) if log else (),
            ),
            bootstrap=bootstrap,
            seed=seed,
        )
        printed = _write_pdf(content, pdf) if pdf else b""
        page = render(content, hashlib.sha256(printed).hexdigest() if printed else "")
        write_whole(output, sign(page, secret))
        every, high = (content["misses"]["levels"][level] for level in ("all", "high"))
        typer.echo(
            f"{len(documents)} notes: {every['missed_entities']} of {every['entities']} identifiers missed, "
            f"{high['missed_entities']} of high risk; signed with key {secret.fingerprint}: {output}"
        )


@dossier.command(name="verify")
def verify_(
    page: Annotated[Path, typer.Argument(help="Page that 'dossier make' wrote.")],
    key: KeyFile,
    pdf: Annotated[Path | None, typer.Option(help="PDF that was written with the page.")] = None,
) -> None:
    """Check that a dossier was signed with a key and was not changed since. The exit code is 1 if it was."""
    with reporting():
        secret = ProjectKey.from_file(key)
        verify(page, secret)
        if pdf:
            found = _PDF_HASH.search(page.read_text(encoding="utf-8"))
            actual = hashlib.sha256(pdf.read_bytes()).hexdigest() if pdf.is_file() else ""
            if found is None or not hmac.compare_digest(found[1], actual):
                raise InputError(Errors.D359.format(path=pdf, reason="it is not the PDF that the page names"))
        typer.echo(f"valid: signed with key {secret.fingerprint}, unchanged")


def read_types(path: Path) -> dict[str, str]:
    """Read the types of the gold notes.

    path (Path): CSV file with the columns "note" (name of the note, without a suffix) and "type".
    RETURNS (dict[str, str]): name of a note → its type.
    RAISES: InputError (D303) if a column is missing.
    """
    rows = csv.DictReader(io.StringIO(read_text(path)))
    if not {"note", "type"} <= set(rows.fieldnames or ()):
        raise InputError(Errors.D303.format(path=path, reason="needs the columns 'note' and 'type'"))
    return {row["note"]: row["type"] or "" for row in rows}


def _attach(path: Path | None, command: str, required: str) -> dict[str, Any]:
    """Read the output of another command. RAISES: InputError (D358) if it lacks a key that this output has."""
    if path is None:
        return {}
    try:
        found = json.loads(read_text(path))
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or required not in found:
        raise InputError(Errors.D358.format(path=path, command=command))
    return found


def _read_log(path: Path) -> list[dict[str, Any]]:
    """Read the lines of ``user log``. RAISES: InputError (D358) if a line is not an entry."""
    try:
        entries = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
        if all({"user", "action", "seal"} <= set(entry) for entry in entries):
            return entries
    except (json.JSONDecodeError, TypeError):
        pass
    raise InputError(Errors.D358.format(path=path, command="user log"))


def _write_pdf(content: dict[str, Any], path: Path) -> bytes:
    """Write the PDF. RETURNS (bytes): its content. RAISES: ConfigError (D713) without the extra ``documents``."""
    try:
        from ..dossier.pages import write_pdf

        printed = write_pdf(content, f"De-identification dossier: {content['gold']['name']}")
    except ModuleNotFoundError as error:
        raise ConfigError(Errors.D713.format(path=path, package=error.name)) from None
    write_whole(path, printed)
    return printed
