"""Input that breaks tools: each is de-identified, or refused with a message that names it and quotes nothing."""

import json
import resource
from pathlib import Path

import pytest
from conftest import NOTE, REDACTED
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language

import spacy_deid
from spacy_deid.errors import ConfigError

TOWN = "Puerto Esparza"
TEXTS = {
    "empty": "",
    "space": " ",
    "white": " \t\n\r\n\u00a0\u2003\u3000",
    "mark": "\ufeff" + NOTE,
    "crlf": NOTE.replace("\n", "\r\n"),
    "cr": NOTE.replace("\n", "\r"),
    "separators": NOTE.replace("\n", "\u2028") + "\u2029\u0085\x0b\x0c\x1c",
    "nul": f"\0Vive en {TOWN}\0.\0",
    "controls": "".join(map(chr, range(32))) + TOWN,
    "emoji": f"👩‍⚕️ {TOWN} 🇪🇸👍🏽",
    "accents": f"cafe\u0301 a\u0328\u0301 {TOWN} \u0301",
    "bidi": f"\u200f{TOWN}\u202e abc \u202c\u2066x\u2069",
    "zero width": f"\u200b{TOWN}\u200d\ufeff",
    "astral": f"𝔸𝔹 {TOWN} \U0010ffff",
    "glued": f"({TOWN}),53años{TOWN}:28",
    "html": f"<b>{TOWN}</b>&nbsp;<!-- x -->",
}


@pytest.fixture(scope="module")
def pipeline(pipeline_folder: Path) -> Language:
    """The pipeline; tests of this file change nothing in it."""
    return spacy_deid.load(pipeline_folder)


def check(text: str, doc) -> None:
    """What holds of every note: the Doc is the text, the rest is untouched, the town is gone where it stood alone."""
    assert doc.text == text
    last, kept = 0, []
    for edit in doc._.deid_edits:
        kept += [text[last : edit.start], edit.replacement]
        last = edit.end
    assert doc._.deid_text == "".join([*kept, text[last:]])


@pytest.mark.parametrize("name", TEXTS)
def test_note_is_redacted_and_the_rest_untouched(pipeline: Language, name: str):
    text = TEXTS[name]
    doc = pipeline(text)
    check(text, doc)
    assert doc._.deid_text.count("[CITY]") >= (1 if TOWN in text and name != "glued" else 0)
    assert TOWN not in doc._.deid_text or name == "glued"


@pytest.mark.parametrize("name", TEXTS)
def test_file_keeps_its_bytes_around_the_edits(redact, tmp_path: Path, name: str):
    data = TEXTS[name].encode()
    (tmp_path / "a.txt").write_bytes(data)
    result = redact(tmp_path / "a.txt", "--trace")
    assert result.exit_code == 0, result.stderr
    released = (tmp_path / "out" / "a.txt").read_bytes()
    spans = json.loads((tmp_path / "out" / "a.trace.json").read_text())["spans"]
    text, last, parts = data.decode(), 0, []
    for span in spans:
        parts += [text[last : span["start"]], f"[{span['label']}]"]
        last = span["end"]
    assert released.decode() == "".join([*parts, text[last:]])


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60).map(lambda text: text + " " + TOWN + " " + text))
def test_any_text_is_redacted(pipeline: Language, text: str):
    with pipeline.memory_zone():
        doc = pipeline(text)
        check(text, doc)
        assert TOWN not in doc._.deid_text


def test_a_surrogate_code_point_is_refused_with_its_offset(pipeline_folder: Path):
    result = spacy_deid.Deidentifier(pipeline_folder)(f"{TOWN} \udc80")
    assert not result.ok
    assert f"U+DC80) at offset {len(TOWN) + 1}" in result.reason
    assert TOWN not in result.reason


def test_crlf_and_mark_stay(redact, tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(("\ufeff" + NOTE.replace("\n", "\r\n")).encode())
    assert redact(tmp_path / "a.txt").exit_code == 0
    expected = ("\ufeff" + REDACTED.replace("\n", "\r\n")).encode()
    assert (tmp_path / "out" / "a.txt").read_bytes() == expected


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-8-sig"])
def test_other_encodings_are_read_and_written(redact, tmp_path: Path, encoding: str):
    (tmp_path / "a.txt").write_bytes(("Señal. " + NOTE).encode(encoding))
    assert redact(tmp_path / "a.txt", "--encoding", encoding).exit_code == 0
    assert (tmp_path / "out" / "a.txt").read_bytes() == ("Señal. " + REDACTED).encode(encoding)


def test_undecodable_bytes_name_the_file_alone(redact, tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes("Vive en Núñez".encode("latin-1"))
    result = redact(path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"failed: {path}: not valid utf-8 text. Set the encoding with --encoding")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("size", [200_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
def test_large_file(redact, tmp_path: Path, size: int):
    line = "Paciente que acude a consulta por dolor torácico de tres horas de evolución, sin fiebre ni tos.\n"
    path = tmp_path / "a.txt"
    path.write_text(line * (size // len(line.encode()) + 1) + f"Vive en {TOWN}.\n")
    assert path.stat().st_size >= size
    result = redact(path)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "a.txt").read_text().endswith("Vive en [CITY].\n")


def test_one_long_line_and_one_long_word(pipeline: Language):
    for text in ("a" * 200_000 + " " + TOWN, "1" * 100_000, "a1" * 50_000, "- " * 100_000):
        with pipeline.memory_zone():
            doc = pipeline(text)
            check(text, doc)
            assert (TOWN in text) == ("[CITY]" in doc._.deid_text)


def test_file_that_cannot_be_read_is_named(redact, tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    (tmp_path / "notes" / "gone.txt").symlink_to(tmp_path / "nowhere")
    result = redact(tmp_path / "notes")
    assert result.exit_code == 1
    assert (tmp_path / "out" / "a.txt").read_text() == REDACTED
    assert "gone.txt: No such file" in result.stderr


def test_odd_file_names(redact, tmp_path: Path):
    (tmp_path / "notes").mkdir()
    for name in ("a b.txt", "ñ.txt", "-x.txt", "[1].txt", "new\nline.txt"):
        (tmp_path / "notes" / name).write_text(NOTE)
    assert redact(tmp_path / "notes").exit_code == 0
    assert len(list((tmp_path / "out").iterdir())) == 5


def test_unknown_pipeline_lists_what_there_is(redact, cli, tmp_path: Path):
    (tmp_path / "a.txt").write_text(NOTE)
    result = cli("redact", tmp_path / "a.txt", "--pipeline", "nope", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "pipeline 'nope' not found" in result.stderr
    assert not (tmp_path / "out").exists()


def test_unknown_label_lists_the_labels(redact, tmp_path: Path):
    (tmp_path / "a.txt").write_text(NOTE)
    policy = tmp_path / "p.toml"
    policy.write_text('name = "p"\ndefault = "replace"\n[labels]\nNOPE = "keep"\n')
    result = redact(tmp_path / "a.txt", "--policy", policy)
    assert result.exit_code == 1
    assert "unknown label 'NOPE'" in result.stderr
    assert "NATIONAL_ID" in result.stderr
    with pytest.raises(ConfigError, match="NATIONAL_ID"):
        spacy_deid.labels.get_label("NOPE")


def test_unknown_style_lists_the_styles(redact, tmp_path: Path):
    (tmp_path / "a.txt").write_text(NOTE)
    result = redact(tmp_path / "a.txt", "--style", "nope")
    assert result.exit_code == 2
    assert "numbered" in result.stderr


@pytest.mark.slow
def test_memory_stays_flat_over_many_files(redact, tmp_path: Path):
    (tmp_path / "notes").mkdir()
    peaks = []
    for turn in range(3):
        for i in range(300):
            text = " ".join(f"palabra{turn}x{i}x{j}" for j in range(300))
            (tmp_path / "notes" / f"n{i}.txt").write_text(text)
        assert redact(tmp_path / "notes", "--overwrite").exit_code == 0
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[2] < peaks[0] * 1.1
