"""The commands dictionary, medical and counts."""

import json
import stat

import pytest
from ehr_tables import CANARIES, MAPPING, ROWS, write_csv
from typer.testing import CliRunner

from spacy_deid.background.counts import PhraseCounts, count_phrases
from spacy_deid.cli import app
from spacy_deid.dictionaries.store import LocalEntry, StoreWriter
from spacy_deid.medical.dictionary import MedicalDictionary


@pytest.fixture
def mapping(tmp_path):
    write_csv(tmp_path / "patients.csv")
    path = tmp_path / "mapping.toml"
    path.write_text(MAPPING.format(source='path = "patients.csv"'), encoding="utf-8")
    return path


def clean(result):
    text = result.output + str(result.exception)
    assert not [value for value in CANARIES if value in text]
    return result.output


def test_build_and_show(cli, mapping, tmp_path):
    built = cli("dictionary", "build", mapping, "--output", tmp_path / "local")
    assert built.exit_code == 0, built.output
    assert "4 patient(s) with" in clean(built)
    assert "19 values used, 1 empty, 0 skipped" in built.output
    report = tmp_path / "local-report.json"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert json.loads(report.read_text())["fuzzy"] is True
    shown = cli("dictionary", "show", tmp_path / "local")
    assert shown.exit_code == 0
    assert "patients.surname: surname (PATIENT), 4 value(s), 0 skipped" in clean(shown)
    assert "source patients: patients.csv" in shown.output


def test_settings_reach_the_report(cli, mapping, tmp_path):
    count_phrases(["nada de nada"]).to_file(tmp_path / "counts.bin")
    options = ["--no-fuzzy", "--limit", 9, "--background", tmp_path / "counts.bin", "--n-process", 1]
    built = cli(
        "dictionary", "build", mapping, "--output", tmp_path / "local", *options, "--report", tmp_path / "r.json"
    )
    assert built.exit_code == 0, built.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["fuzzy"], report["limit_per_million"], report["background_words"]) == (False, 9.0, {"es": 3})


def test_update_and_replace(cli, mapping, tmp_path):
    cli("dictionary", "build", mapping, "--output", tmp_path / "local")
    write_csv(tmp_path / "patients.csv", [("1000299", "Nuño", "Olmedilla", None, None), ROWS[0]])
    built = cli("dictionary", "build", mapping, "--output", tmp_path / "local", "--update")
    assert "5 patient(s)" in clean(built)
    built = cli("dictionary", "build", mapping, "--output", tmp_path / "local", "--update", "--replace")
    assert "5 patient(s)" in clean(built)
    alone = cli("dictionary", "build", mapping, "--output", tmp_path / "local", "--replace")
    assert alone.exit_code == 1
    assert "--update" in alone.output or "update" in alone.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('phone = "phone"', 'fax = "phone"', "no column 'fax'"),
        ('path = "patients.csv"', 'path = "nowhere.csv"', "file not found"),
        ('path = "patients.csv"', 'url_env = "NO_SUCH_URL"\ntable = "t"', "environment variable NO_SUCH_URL"),
        ('"surname"', '"phone"', "column 'surname'"),
        ('"surname"', '"name"', "unknown kind"),
    ],
)
def test_wrong_input_gives_one_line_and_builds_nothing(cli, mapping, tmp_path, old, new, message):
    mapping.write_text(mapping.read_text().replace(old, new))
    result = cli("dictionary", "build", mapping, "--output", tmp_path / "local")
    assert result.exit_code == 1
    assert message in clean(result)
    assert cli("dictionary", "show", tmp_path / "local").exit_code == 1


def test_show_refuses_dictionaries_that_others_can_read(cli, mapping, tmp_path):
    cli("dictionary", "build", mapping, "--output", tmp_path / "local")
    (tmp_path / "local" / "manifest.json").chmod(0o644)
    shown = cli("dictionary", "show", tmp_path / "local")
    assert shown.exit_code == 1
    assert "chmod -R go-rwx" in shown.output


def test_redact_uses_the_dictionaries_and_flags_each_note(cli, mapping, redact, tmp_path):
    cli("dictionary", "build", mapping, "--output", tmp_path / "local")
    notes = [{"id": "1000234", "text": "Acude Zarzaquemada, Olalla."}, {"id": "7", "text": "Acude Zarzaquemada."}]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    result = redact(
        path, "--dictionaries", tmp_path / "local", "--text-field", "text", "--patient-field", "id", "--trace"
    )
    assert result.exit_code == 0, result.output
    out = tmp_path / "out"
    texts = [json.loads(line)["text"] for line in (out / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert texts == ["Acude [PATIENT].", "Acude Zarzaquemada."]
    (trace,) = out.glob("*trace.json")
    rows = json.loads(trace.read_text(encoding="utf-8"))["rows"]
    assert [row["dictionaries"] for row in rows] == [["patient"], ["institution: unknown patient_id"]]
    assert "patient:patients.surname" in json.dumps(rows[0]["spans"])
    assert not [value for value in CANARIES if value in trace.read_text(encoding="utf-8") + result.output]


def medical(*arguments):
    return CliRunner().invoke(app, ["medical", *map(str, arguments)])


@pytest.fixture
def science(tmp_path):
    count_phrases(["quuxitis of the pulmonary artery"]).to_file(tmp_path / "science.bin")
    return tmp_path / "science.bin"


def write_notes(path, text, patients=10):
    rows = (json.dumps({"patient_id": str(i), "text": text}) for i in range(patients))
    path.write_text("\n".join(rows), encoding="utf8")
    return path


def test_terminologies_are_compiled_and_counted(tmp_path):
    (tmp_path / "words.csv").write_text(
        "term,kind\nquuxitis,disease\nbroken,nothing\nbazoma,disease\n", encoding="utf8"
    )
    result = medical(
        "build", "en", "--no-base", "--source", f"words={tmp_path}/words.csv", "--output", tmp_path / "d.bin"
    )
    assert result.exit_code == 0, result.output
    assert "words.csv: 2 terms and forms (0 left out; 1 of 3 rows skipped, first row 3:" in result.output
    assert [match.label for match in MedicalDictionary.from_file(tmp_path / "d.bin").find("Quuxitis")] == ["disease"]


def test_shipped_dictionary_is_the_base_and_is_not_changed(tmp_path):
    (tmp_path / "words.csv").write_text("term,kind\nquuxitis,disease\n", encoding="utf8")
    before = len(MedicalDictionary.load("en"))
    result = medical("build", "en", "--source", f"words={tmp_path}/words.csv", "--output", tmp_path / "d.bin")
    assert result.exit_code == 0, result.output
    assert len(MedicalDictionary.from_file(tmp_path / "d.bin")) == before + 1
    assert len(MedicalDictionary.load("en")) == before


@pytest.mark.parametrize("source", ["words", "owl=x", "icd:nonsense=x", "obo=none.obo"])
def test_a_wrong_source_is_an_error_and_leaves_nothing(tmp_path, source):
    result = medical("build", "en", "--no-base", "--source", source, "--output", tmp_path / "d.bin")
    assert result.exit_code == 1
    assert not (tmp_path / "d.bin").exists()


def test_nothing_to_compile_is_an_error(tmp_path):
    assert "no medical terms" in medical("build", "en", "--no-base", "--output", tmp_path / "d.bin").output


def test_terms_are_harvested_and_can_be_compiled(tmp_path, science):
    notes = write_notes(tmp_path / "notes.jsonl", "Quuxitis of the pulmonary artery.")
    result = medical("harvest", notes, "--lang", "en", "--science", science, "--output", tmp_path / "h.csv")
    assert result.exit_code == 0, result.output
    assert "from 10 notes of 10 patients" in result.output
    result = medical("build", "en", "--no-base", "--source", f"words={tmp_path}/h.csv", "--output", tmp_path / "d.bin")
    assert result.exit_code == 0, result.output
    assert MedicalDictionary.from_file(tmp_path / "d.bin").find("pulmonary artery")


def test_known_identifiers_are_not_harvested(tmp_path, science):
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_institution([LocalEntry("Pulmonary Artery", "HOSPITAL", "sites.name")])
        for i in range(10):
            writer.add_patient(str(i), [LocalEntry("Quuxitis", "PATIENT", "patients.surname")])
        writer.commit({})
    notes = write_notes(tmp_path / "notes.jsonl", "Quuxitis of the pulmonary artery.")
    settings = (
        "--lang",
        "en",
        "--science",
        science,
        "--dictionaries",
        tmp_path / "store",
        "--output",
        tmp_path / "h.csv",
    )
    result = medical("harvest", notes, *settings)
    assert result.exit_code == 0, result.output
    assert "uuxitis" not in (tmp_path / "h.csv").read_text(encoding="utf8")
    assert "artery" not in (tmp_path / "h.csv").read_text(encoding="utf8")


def test_notes_without_the_patient_field_are_an_error(tmp_path, science):
    (tmp_path / "notes.jsonl").write_text('{"text": "Quuxitis of Virtanen"}\n', encoding="utf8")
    result = medical(
        "harvest", tmp_path / "notes.jsonl", "--lang", "en", "--science", science, "--output", tmp_path / "h.csv"
    )
    assert result.exit_code == 1
    assert "Virtanen" not in result.output
    assert not (tmp_path / "h.csv").exists()


def build_counts(*arguments):
    return CliRunner().invoke(app, ["counts", "build", *map(str, arguments)])


def test_counts_are_built_from_files_of_several_kinds(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("primary care\n", encoding="utf8")
    (tmp_path / "in" / "b.jsonl").write_text(json.dumps({"text": "primary care"}) + "\n{\n", encoding="utf8")
    result = build_counts(tmp_path / "in", "--output", tmp_path / "c.bin", "--licence", "CC0")
    assert result.exit_code == 0, result.output
    assert "skipped: 1 (not a JSON object)" in result.output
    counts = PhraseCounts.from_file(tmp_path / "c.bin")
    assert (counts.count("primary care"), counts.manifest["licence"]) == (2, "CC0")


def test_existing_output_is_not_replaced(tmp_path):
    (tmp_path / "c.bin").write_bytes(b"old")
    (tmp_path / "a.txt").write_text("x y", encoding="utf8")
    assert build_counts(tmp_path / "a.txt", "--output", tmp_path / "c.bin").exit_code == 1
    assert (tmp_path / "c.bin").read_bytes() == b"old"
    assert build_counts(tmp_path / "a.txt", "--output", tmp_path / "c.bin", "--overwrite", "--keep", 1).exit_code == 0


@pytest.mark.parametrize("text", ["", " , \n"])
def test_a_corpus_without_words_is_an_error_and_leaves_nothing(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf8")
    result = build_counts(tmp_path / "a.txt", "--output", tmp_path / "c.bin")
    assert result.exit_code == 1
    assert "holds no words" in result.output
    assert not (tmp_path / "c.bin").exists()
