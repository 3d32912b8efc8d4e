"""``spacy-deid doctor``: checks an installation, and says for each problem what to do."""

import base64
import hashlib
import json
import os
import platform
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Annotated, Literal

import typer
from packaging.requirements import Requirement

from ..deidentifier import Deidentifier
from ..dictionaries.store import LocalStore
from ..errors import describe, printable
from ..lang import get_language
from ..loading import shipped_pipelines
from ..saving import verify_checksums
from ..surrogates.keys import ProjectKey
from .console import reporting
from .info import sample_notes

_NAME = "spacy-deid"
_REINSTALL = "pip install --force-reinstall spacy-deid"
_SECONDS = 20  # for Tesseract to list its languages

State = Literal["ok", "optional", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    name (str): what was checked.
    state (str): "ok"; "optional" if something is missing that not every use needs; "failed" if it is needed.
    finding (str): what was found. It never contains text of a note or a secret.
    advice (str): what to do; "" if nothing.
    """

    name: str
    state: State
    finding: str
    advice: str = ""

    def line(self) -> str:
        """Return the check as one line."""
        return f"{self.state:<9} {self.name}: {self.finding}" + (f". To do: {self.advice}" if self.advice else "")


def check_installation(
    key: Annotated[Path | None, typer.Option(help="File of a project key to check.")] = None,
    vault: Annotated[Path | None, typer.Option(help="File of a vault to check.")] = None,
    salts: Annotated[Path | None, typer.Option(help="File of the patients' salts to check.")] = None,
    dictionaries: Annotated[Path | None, typer.Option(help="Folder of dictionaries to check.")] = None,
    users: Annotated[Path | None, typer.Option(help="File of the users of a service to check.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check an installation: versions, packages, pipelines, OCR, and the files that only their owner may read.

    An invented note is de-identified with each included pipeline. Exits with 1 if something that is needed failed.
    """
    with reporting():
        checks: list[Check] = []
        for check in run_checks(key=key, vault=vault, salts=salts, dictionaries=dictionaries, users=users):
            checks.append(check)
            if not as_json:
                typer.echo(printable(check.line()))
        failed = sum(check.state == "failed" for check in checks)
        if as_json:
            typer.echo(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}, indent=2))
        else:
            typer.echo(f"{len(checks)} checks, {failed} failed")
        if failed:
            raise typer.Exit(1)


def run_checks(
    *,
    key: Path | None = None,
    vault: Path | None = None,
    salts: Path | None = None,
    dictionaries: Path | None = None,
    users: Path | None = None,
) -> Iterator[Check]:
    """Check the installation and the given files.

    key, vault, salts, dictionaries, users (Optional[Path]): confidential files; None for those that are not used.
    YIELDS (Check): the checks, in the order in which they are printed.
    """
    yield check_python()
    yield from check_packages()
    yield check_files()
    for name, folder in shipped_pipelines().items():
        checked = check_checksums(name, folder)
        yield checked
        if checked.state == "ok":
            yield check_pipeline(name)
    yield check_tesseract()
    yield check_temporary()
    yield check_offline()
    if key:
        yield check_key(key)
    if dictionaries:
        yield check_dictionaries(dictionaries)
    for what, path in (("vault", vault), ("salts", salts), ("users", users)):
        if path:
            yield check_private(what, path)


def check_python() -> Check:
    """Check the version of Python against the one that the package requires."""
    here, needed = platform.python_version(), distribution(_NAME).metadata["Requires-Python"]
    if Requirement(f"python{needed}").specifier.contains(here, prereleases=True):
        return Check("Python", "ok", here)
    return Check("Python", "failed", here, f"use a Python {needed}: python3 -m venv .venv, then install in it")


def check_packages() -> Iterator[Check]:
    """Check the packages that are always needed, and those of each extra."""
    about = distribution(_NAME)
    needed = [Requirement(line) for line in about.requires or ()]
    unmet = _unmet(needed, "")
    if unmet:
        yield Check("packages", "failed", ", ".join(unmet), _REINSTALL)
    else:
        yield Check(
            "packages", "ok", f"spacy-deid {about.version}, spacy {version('spacy')}, thinc {version('thinc')}"
        )
    for extra in sorted(set(about.metadata.get_all("Provides-Extra") or ()) - {"dev"}):
        if unmet := _unmet(needed, extra):
            advice = f"pip install 'spacy-deid[{extra}]', if you use it"
            yield Check(f"extra {extra}", "optional", ", ".join(unmet), advice)
        else:
            yield Check(f"extra {extra}", "ok", "installed")


def _unmet(requirements: Iterable[Requirement], extra: str) -> list[str]:
    """Return the requirements of an extra that are not met, those that are always needed for ""."""
    found = []
    for one in requirements:
        always = one.marker is None or one.marker.evaluate({"extra": ""})
        if always == bool(extra) or not (one.marker is None or one.marker.evaluate({"extra": extra})):
            continue
        try:
            here = version(one.name)
        except PackageNotFoundError:
            found.append(f"{one.name} is not installed")
            continue
        if not one.specifier.contains(here, prereleases=True):
            found.append(f"{one.name} {here} instead of {one.specifier}")
    return found


def check_files() -> Check:
    """Compare the files of the package with the hashes that the installation recorded."""
    return compare_files(distribution(_NAME))


def compare_files(installed: Distribution) -> Check:
    """Compare the files of an installed package with the hashes in its list of files.

    installed (Distribution): the package.
    RETURNS (Check): "failed" if a file is missing or differs.
    """
    hashed = [file for file in installed.files or () if file.hash and file.parts[0] == "spacy_deid"]
    if not hashed:
        return Check("files of the package", "ok", "installed in place, so there are no hashes to compare")
    for file in hashed:
        assert file.hash is not None
        try:
            digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            return Check("files of the package", "failed", f"{file} cannot be read", _REINSTALL)
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
            return Check("files of the package", "failed", f"{file} was changed", _REINSTALL)
    return Check("files of the package", "ok", f"{len(hashed)} files are as they were installed")


def check_checksums(name: str, folder: Path) -> Check:
    """Compare the files of an included pipeline with its checksums."""
    try:
        known = verify_checksums(folder, name)
    except Exception as error:
        return Check(f"pipeline {name}", "failed", describe(error), _REINSTALL)
    if not known:
        return Check(f"pipeline {name}", "failed", "its checksums are missing", _REINSTALL)
    return Check(f"pipeline {name}", "ok", "its files are as they were saved")


def check_pipeline(name: str) -> Check:
    """De-identify a sample note to which a random e-mail address is added."""
    address = f"{secrets.token_hex(6)}@example.org"
    try:
        deid = Deidentifier(name, style="tag")
        note = next(iter(sample_notes(str(deid.nlp.lang)).values()))
        result = deid(f"{note}\n{address}\n")
        labels = {edit.label for edit in result.edits}
        released = result.text
    except Exception as error:
        return Check(f"note {name}", "failed", describe(error), _REINSTALL)
    if address in released or not {"EMAIL", "PATIENT"} <= labels:
        return Check(f"note {name}", "failed", "identifiers of an invented note were not found", _REINSTALL)
    return Check(f"note {name}", "ok", f"{len(result.edits)} identifiers of an invented note were replaced")


def check_tesseract() -> Check:
    """Check that Tesseract is installed with the languages of the included pipelines."""
    if not shutil.which("tesseract"):
        advice = "install it if you have scans (Debian: apt-get install tesseract-ocr)"
        return Check("OCR", "optional", "Tesseract is not installed", advice)
    command = ["tesseract", "--list-langs"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return Check("OCR", "optional", f"Tesseract cannot be run ({type(error).__name__})", "install Tesseract again")
    there = set(done.stdout.split("\n")[1:])
    missing = sorted({get_language(name).ocr_language for name in shipped_pipelines()} - there)
    if missing:
        packages = " ".join(f"tesseract-ocr-{name}" for name in missing)
        advice = f"install it if you have scans (Debian: apt-get install {packages})"
        return Check("OCR", "optional", f"Tesseract has no data for {', '.join(missing)}", advice)
    return Check("OCR", "ok", "Tesseract with the languages of all pipelines")


def check_temporary() -> Check:
    """Check that temporary files can be written."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return Check("temporary files", "failed", describe(error), "set TMPDIR to a folder that can be written to")
    return Check("temporary files", "ok", f"in {tempfile.gettempdir()}")


def check_offline() -> Check:
    """Check that no model is looked up in a hub. Only `transformers` could do this, for the name of an encoder."""
    try:
        version("transformers")
    except PackageNotFoundError:
        return Check("offline", "ok", "no package is installed that looks up models in a hub")
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        return Check("offline", "ok", "HF_HUB_OFFLINE is set")
    advice = "set HF_HUB_OFFLINE=1, unless you train with an encoder from a hub"
    return Check("offline", "optional", "transformers may look up encoders in a hub", advice)


def check_key(path: Path) -> Check:
    """Check that a project key can be read, and by its owner only."""
    try:
        key = ProjectKey.from_file(path)
    except Exception as error:
        return Check("key", "failed", describe(error))
    return Check("key", "ok", f"{path} has the fingerprint {key.fingerprint}")


def check_dictionaries(path: Path) -> Check:
    """Check that dictionaries can be opened, and by their owner only."""
    try:
        counts = LocalStore.open(path).counts
    except Exception as error:
        return Check("dictionaries", "failed", describe(error))
    found = f"{counts['institution_terms']} terms of the institution, {counts['patients']} patients"
    return Check("dictionaries", "ok", f"{path} has {found}")


def check_private(what: str, path: Path) -> Check:
    """Check that only its owner can read a file, and that others cannot replace it in its folder."""
    try:
        mode, around = (stat.S_IMODE(os.stat(one).st_mode) for one in (path, path.absolute().parent))
    except OSError as error:
        return Check(what, "failed", f"{path}: {describe(error)}", "correct the path")
    if os.name == "posix" and mode & 0o077:
        return Check(what, "failed", f"{path}: other users can read it (mode {mode:04o})", f"chmod 600 '{path}'")
    if os.name == "posix" and around & 0o002 and not around & stat.S_ISVTX:
        folder = path.absolute().parent
        return Check(what, "failed", f"{folder}: other users can replace files in it", f"chmod o-w '{folder}'")
    return Check(what, "ok", f"{path} is readable by its owner only")
