"""Notes for readers give nothing away but their surrogates, and guesses are compared with the answers."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.native_reader import aim, fold, kinds_of, release, towns_abroad
from benchmarks.readers import app, upper_end
from spacy_deid.synth.authored import read_authored

RUNNER = CliRunner()
NOTE = """#! brief: es-t{brief:02}
=== 1
#! genre: nota
#! institution: Hospital Zqcanario
#! date: 2014-06-11
#! patient = Zqcanara / Zqcanez Ruiz, f
Paciente: [Zqcanara Zqcanez Ruiz](PATIENT patient), vista el [11-6-14](DATE).
  Sin   cambios {brief}.
"""


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for brief in range(1, 13):
        (folder / f"es-t{brief:02}.txt").write_text(NOTE.format(brief=brief), encoding="utf8")
    return folder


@pytest.fixture
def drawn(corpus, tmp_path):
    paths = ["--output", str(tmp_path / "notes"), "--answers", str(tmp_path / "key"), "--number", "8"]
    result = RUNNER.invoke(app, ["draw", str(corpus), "--lang", "es", *paths])
    assert result.exit_code == 0, result.output
    return json.loads((tmp_path / "key" / "key.json").read_text(encoding="utf8"))


def test_half_of_the_notes_have_surrogates_and_the_others_are_unchanged(corpus, drawn, tmp_path):
    originals = {note.name: note.text for note in read_authored(corpus)}
    assert len(drawn) == len(list((tmp_path / "notes").iterdir())) == 8
    assert sum(row["answer"] == "surrogate" for row in drawn.values()) == 4
    for name, row in drawn.items():
        text = (tmp_path / "notes" / name).read_text(encoding="utf8")
        assert ("Zqcan" in text) == (row["answer"] == "original")
        assert "  Sin   cambios" in text
        if row["answer"] == "original":
            assert text == originals[row["note"]] + "\n"


def test_files_give_nothing_away(drawn, tmp_path):
    assert len({path.stat().st_mtime for path in (tmp_path / "notes").iterdir()}) == 1
    assert (tmp_path / "key" / "key.json").stat().st_mode & 0o077 == 0


def test_a_folder_with_files_is_refused(corpus, drawn, tmp_path):
    paths = ["--output", str(tmp_path / "notes"), "--answers", str(tmp_path / "key2")]
    assert RUNNER.invoke(app, ["draw", str(corpus), "--lang", "es", *paths]).exit_code != 0


def test_guesses_are_scored(drawn, tmp_path):
    rows = [f"{name},{'surrogate' if i < 6 else 'original'},names" for i, name in enumerate(drawn)]
    (tmp_path / "guesses.csv").write_text("\n".join(["file,guess,reason", *rows]) + "\n", encoding="utf8")
    right = sum(row["answer"] == ("surrogate" if i < 6 else "original") for i, row in enumerate(drawn.values()))
    paths = [str(tmp_path / "key" / "key.json"), str(tmp_path / "guesses.csv")]
    options = ["--lang", "es", "--reader", "1", "--metrics", str(tmp_path / "m.json")]
    result = RUNNER.invoke(app, ["score", *paths, *options])
    assert f"{right} of 8 right" in result.output
    found = {row["name"]: row["value"] for row in json.loads((tmp_path / "m.json").read_text(encoding="utf8"))}
    assert found["readers right"] == right / 8
    assert found["readers right, upper end"] == pytest.approx(upper_end(right, 8), abs=1e-4)


def test_wilsons_interval():
    assert upper_end(30, 60) == pytest.approx(0.6226, abs=1e-3)


def test_the_figures_of_the_native_reader_have_targets():
    assert aim("firms and brands drawn") == (0.0, "lower")
    assert aim("sex kept") == (0.98, "higher")
    assert kinds_of("Clínica del Mar", "es") == {"clinica"}
    assert fold("Ávila’s") == "avila's"
    assert "lyon" in towns_abroad("es")["francia"]
    assert release([("Vive en ", ""), ("Getafe", "CITY")], "es", "a") != ["Getafe"]
