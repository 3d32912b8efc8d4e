"""annotate: what was detected, on the original text."""

from pathlib import Path

import pytest
from conftest import NOTE, slow

from spacy_deid.evaluation import read_folder
from spacy_deid.surrogates.keys import ProjectKey

FOUND = ["Puerto Esparza", "ana.lopez@ejemplo.es"]
ANNOTATION_FORMATS = ("brat", "i2b2", "jsonl", "spacy", "cas", "xmi")
SCHEMES = ("canonical", "meddocan", "i2b2", "grascco")


@pytest.fixture
def annotate(cli, pipeline_folder: Path, tmp_path: Path):
    """Annotate the folder "notes" into "out"."""
    (tmp_path / "notes").mkdir()

    def run(*args: object):
        return cli("annotate", tmp_path / "notes", "--pipeline", pipeline_folder, "--output", tmp_path / "out", *args)

    return run


QUICK = {(to, "meddocan") for to in ANNOTATION_FORMATS} | {("brat", scheme) for scheme in SCHEMES}


@pytest.mark.parametrize(
    ("to", "scheme"),
    [(to, scheme) if (to, scheme) in QUICK else slow(to, scheme) for to in ANNOTATION_FORMATS for scheme in SCHEMES],
)
def test_every_format_and_scheme_reads_back(annotate, tmp_path: Path, to: str, scheme: str):
    (tmp_path / "notes" / "a.txt").write_bytes(NOTE.encode())
    result = annotate("--format", to, "--scheme", scheme)
    assert result.exit_code == 0, result.stderr
    (document,) = read_folder(tmp_path / "out", scheme=scheme)
    assert document.name == "a"
    assert [document.text[e.start : e.end] for e in document.entities] == FOUND


@pytest.mark.parametrize("to", ["brat", "jsonl"])
def test_offsets_are_those_of_the_file_as_read(annotate, tmp_path: Path, to: str):
    text = "\ufeff" + NOTE.replace("\n", "\r\n")
    (tmp_path / "notes" / "a.txt").write_bytes(text.encode())
    assert annotate("--format", to).exit_code == 0
    (document,) = read_folder(tmp_path / "out")
    assert document.text == text
    assert [document.text[e.start : e.end] for e in document.entities] == FOUND


def test_tree_is_kept(annotate, tmp_path: Path):
    (tmp_path / "notes" / "ward").mkdir()
    (tmp_path / "notes" / "ward" / "b.txt").write_text(NOTE)
    assert annotate("--format", "brat").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out" / "ward").iterdir()) == ["b.ann", "b.txt"]


def test_note_that_a_format_cannot_hold_fails_alone(annotate, tmp_path: Path):
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    (tmp_path / "notes" / "nul.txt").write_text("Esparza\0")
    (tmp_path / "notes" / "bad.txt").write_bytes(b"\xff")
    result = annotate("--format", "i2b2")
    assert result.exit_code == 1
    assert "nul.txt: " in result.stderr
    assert "bad.txt: not valid utf-8" in result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.xml"]


def test_annotations_beside_the_notes_would_overwrite_them(cli, pipeline_folder: Path, tmp_path: Path):
    (tmp_path / "a.txt").write_text(NOTE)
    options = ["--pipeline", pipeline_folder, "--output", tmp_path, "--format", "brat", "--overwrite"]
    assert cli("annotate", tmp_path, *options).exit_code == 1
    assert (tmp_path / "a.txt").read_text() == NOTE


def test_run_is_resumed_note_by_note(annotate, tmp_path: Path):
    for name in "ab":
        (tmp_path / "notes" / f"{name}.txt").write_text(NOTE)
    assert annotate("--format", "brat").exit_code == 0
    (tmp_path / "out" / "b.ann").unlink()
    assert annotate("--format", "brat").exit_code == 1
    result = annotate("--format", "brat", "--resume")
    assert result.exit_code == 0
    assert "1 note(s) annotated" in result.stdout
    assert "1 skipped" in result.stdout
    assert annotate("--format", "jsonl", "--resume").exit_code == 1


# With surrogates


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "project.key"
    ProjectKey(bytes(range(32))).to_file(path)
    return path


@pytest.mark.parametrize("to", ["brat", "i2b2", "jsonl", "spacy"])
def test_the_text_with_surrogates_is_written_with_the_labels_of_the_original(annotate, tmp_path: Path, key: Path, to):
    (tmp_path / "notes" / "a.txt").write_bytes(NOTE.encode())
    result = annotate("--format", to, "--surrogates", "--key", key)
    assert result.exit_code == 0, result.stderr
    (document,) = read_folder(tmp_path / "out")
    assert [entity.label for entity in document.entities] == ["CITY", "EMAIL"]
    for entity, surface in zip(document.entities, FOUND, strict=True):
        assert surface not in document.text
        assert document.text[entity.start - 2] in "n:"
        assert document.text[entity.start - 1] == " "
    start, end = [(e.start, e.end) for e in document.entities]
    assert document.text[: start[0]] == "Nombre: Ana.\nVive en "
    assert document.text[start[1] : end[0]] == ".\nCorreo: "
    assert document.text[end[1] :] == "\n"


def test_surrogates_are_not_written_without_a_key(annotate, tmp_path: Path):
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    result = annotate("--format", "brat", "--surrogates")
    assert result.exit_code == 1
    assert "spacy-deid key new" in result.stderr
    assert not (tmp_path / "out").exists()
