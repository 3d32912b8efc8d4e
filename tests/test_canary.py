"""A name that stands in notes is found nowhere else: in no output, log, error, figure, pickle or saved pipeline."""

import logging
import pickle
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest
from conftest import build_pipeline
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import ignore_error

import spacy_deid
from spacy_deid.cli.rows import Row
from spacy_deid.evaluation import AnnotatedText, Entity, write_folder
from spacy_deid.saving import save

FIRST, LAST = "Zyxwalda", "Qvistberg"
CANARY = f"Nombre: {FIRST}.\nApellidos: {LAST}.\nCorreo: {FIRST}.{LAST}@ejemplo.es\nAcude por tos.\n"
# A part of a word counts too: spaCy's strings hold prefixes and suffixes, which say nothing alone.
PIECES = [piece for name in (FIRST, LAST) for piece in (name, name.lower(), name.upper(), name[1:])]


def sightings(data: bytes | str) -> list[str]:
    """The pieces of the canary in something, whatever its encoding."""
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    codecs = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
    return [piece for piece in PIECES for codec in codecs if piece.encode(codec) in raw]


def sightings_folder(folder: Path) -> dict[str, list[str]]:
    """The same in the names and contents of all files of a folder."""
    paths = list(folder.rglob("*"))
    assert paths
    found = {
        str(path): sightings(path.name) + (sightings(path.read_bytes()) if path.is_file() else []) for path in paths
    }
    return {name: pieces for name, pieces in found.items() if pieces}


@Language.component("quotes_note")
def quotes_note(doc: Doc) -> Doc:
    """Do what careless components do: warn with the text, log it, and raise it where it says so."""
    warnings.warn(f"odd text: {doc.text}", UserWarning, stacklevel=1)
    if "FAIL" in doc.text:
        raise ValueError(f"cannot handle '{doc.text}'")
    return doc


@pytest.fixture(scope="session")
def spanish_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved pipeline whose patterns find the canary."""
    folder = tmp_path_factory.mktemp("spanish")
    save(build_pipeline(folder, languages=("es",)), folder / "saved")
    return folder / "saved"


@pytest.fixture
def spanish(spanish_folder: Path) -> Language:
    """The pipeline, loaded afresh."""
    return spacy_deid.load(spanish_folder)


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything is logged, whoever logs it."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog


def write_notes(folder: Path, text: str = CANARY) -> Path:
    """A folder with the canary as text and as JSONL."""
    folder.mkdir()
    (folder / "a.txt").write_text(text)
    (folder / "b.txt").write_text(CANARY)
    (folder / "c.jsonl").write_text('{"t": "Acude por tos."}\n')
    return folder


def test_the_canary_can_be_seen():
    for codec in ("utf-8", "utf-16-le", "utf-32-be"):
        assert sightings(CANARY.encode(codec))


@pytest.mark.parametrize("processes", [1, 2])
def test_redact(cli, spanish_folder: Path, tmp_path: Path, logs: pytest.LogCaptureFixture, processes: int):
    notes = write_notes(tmp_path / "notes")
    out = tmp_path / "out"
    result = cli(
        *("redact", notes, "--pipeline", spanish_folder, "--output", out, "--trace", "--text-field", "t"),
        *("--report", out / "report.json", "--n-process", processes),
    )
    assert result.exit_code == 0, result.stderr
    assert "[EMAIL]" in (out / "b.txt").read_text()
    assert (out / "b.trace.json").is_file()
    assert sightings_folder(out) == {}
    assert sightings(result.output) == []
    assert sightings(logs.text) == []


@pytest.mark.parametrize("handler", [None, ignore_error])
def test_redact_with_a_component_that_quotes_the_note(
    cli, spanish: Language, tmp_path: Path, logs: pytest.LogCaptureFixture, handler, monkeypatch: pytest.MonkeyPatch
):
    spanish.add_pipe("quotes_note", first=True)
    spanish.to_disk(tmp_path / "pipeline")
    notes = write_notes(tmp_path / "notes", "FAIL " + CANARY)
    if handler:
        real = spacy_deid.loading.spacy.load

        def load(*args: object, **kwargs: object) -> Language:
            nlp = real(*args, **kwargs)
            nlp.set_error_handler(handler)
            return nlp

        monkeypatch.setattr(spacy_deid.loading.spacy, "load", load)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = cli("redact", notes, "--pipeline", tmp_path / "pipeline", "--output", tmp_path / "out")
    # The component is no detector: where its errors are ignored, all that must run has run.
    assert result.exit_code == (0 if handler else 1)
    assert (f"failed: {notes / 'a.txt'}: ValueError" in result.stderr) is (handler is None)
    assert "warning: UserWarning at test_canary.py:" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == (["a.txt"] if handler else []) + ["b.txt"]
    assert sightings_folder(tmp_path / "out") == {}
    assert sightings(result.output) == []
    assert sightings("".join(traceback.format_exception(result.exception))) == []
    assert sightings(logs.text) == []


def test_redact_from_standard_input_that_fails_in_a_process_of_its_own(spanish_folder: Path, tmp_path: Path):
    command = [sys.executable, "-m", "spacy_deid", "redact", "-", "--pipeline", str(spanish_folder)]
    done = subprocess.run(command, input=CANARY.encode() + b"\xff", capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr
    assert sightings(done.stdout + done.stderr) == []


def test_evaluate(cli, tmp_path: Path, logs: pytest.LogCaptureFixture):
    name = Entity(CANARY.index(FIRST), CANARY.index(FIRST) + len(FIRST), "PATIENT")
    for folder, entities in (("gold", (name,)), ("pred", ())):
        write_folder([AnnotatedText("a", CANARY, entities)], tmp_path / folder, "brat", scheme="meddocan")
    args = ["evaluate", tmp_path / "gold", tmp_path / "pred", "--scheme", "meddocan"]
    result = cli(*args, "--output", tmp_path / "metrics.json")
    assert result.exit_code == 0, result.stderr
    assert sightings(result.output + (tmp_path / "metrics.json").read_text() + logs.text) == []
    (tmp_path / "pred" / "a.ann").write_text(f"T1\tNOPE 8 16\t{FIRST}\n{FIRST}\n")
    result = cli(*args)
    assert result.exit_code == 1
    assert "a.ann, line 1" in result.stderr
    assert sightings(result.output) == []


def test_convert(cli, tmp_path: Path):
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "a.jsonl").write_text(
        f'{{"id": "a", "text": "{FIRST}", "entities": [{{"label": "{LAST}"}}]}}\n'
    )
    result = cli("convert", tmp_path / "gold", "--output", tmp_path / "out.spacy", "--scheme", "meddocan")
    assert result.exit_code == 1
    assert sightings(result.output) == []


def test_saved_pipeline_bytes_and_pickle(spanish: Language, tmp_path: Path, logs: pytest.LogCaptureFixture):
    docs = [spanish(CANARY), *spanish.pipe([CANARY] * 3)]
    assert all(FIRST not in doc._.deid_text for doc in docs)
    spanish.to_disk(tmp_path / "to_disk")
    save(spanish, tmp_path / "save")
    assert sightings_folder(tmp_path) == {}
    assert sightings(spanish.to_bytes()) == []
    assert sightings(pickle.dumps(spanish)) == []
    assert sightings(logs.text) == []


def test_exceptions_of_the_pipeline(spanish: Language):
    spanish.disable_pipe("deid_patterns")
    with pytest.raises(spacy_deid.NotDeidentified) as caught:
        _ = spanish(CANARY)._.deid_text
    assert sightings("".join(traceback.format_exception(caught.value))) == []


def test_ignored_error_gives_no_text(spanish: Language):
    spanish.add_pipe("quotes_note", first=True)
    spanish.disable_pipe("deid_patterns")
    spanish.set_error_handler(ignore_error)
    for doc in spanish.pipe([CANARY]):
        with pytest.raises(spacy_deid.NotDeidentified) as caught:
            _ = doc._.deid_text
        assert sightings(str(caught.value)) == []


def test_reprs(spanish: Language):
    values = [AnnotatedText("a", CANARY), Row(1, {"t": CANARY}, CANARY, "", "\n")]
    values += [spanish(CANARY)._.deid_edits, spanish(CANARY)._.deid_trace]
    values += [component for _, component in spanish.components]
    assert sightings(repr(values)) == []
