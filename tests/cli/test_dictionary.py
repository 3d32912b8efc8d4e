"""``spacy-deid dictionary``."""

import json
import stat

import pytest
from ehr_tables import CANARIES, MAPPING, ROWS, write_csv

from spacy_deid.background.counts import count_phrases


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
    built = cli("dictionary", "build", mapping, tmp_path / "local")
    assert built.exit_code == 0, built.output
    assert "4 patient(s) with" in clean(built)
    assert "19 values used, 1 empty, 0 skipped" in built.output
    report = tmp_path / "local-report.json"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert json.loads(report.read_text())["fuzzy"] is False
    shown = cli("dictionary", "show", tmp_path / "local")
    assert shown.exit_code == 0
    assert "patients.surname: surname (PATIENT), 4 value(s), 0 skipped" in clean(shown)
    assert "source patients: patients.csv" in shown.output


def test_settings_reach_the_report(cli, mapping, tmp_path):
    count_phrases(["nada de nada"]).to_file(tmp_path / "counts.bin")
    options = ["--fuzzy", "--limit", 9, "--background", tmp_path / "counts.bin", "--n-process", 1]
    built = cli("dictionary", "build", mapping, tmp_path / "local", *options, "--report", tmp_path / "r.json")
    assert built.exit_code == 0, built.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["fuzzy"], report["limit_per_million"], report["background_words"]) == (True, 9.0, {"es": 3})


def test_update_and_replace(cli, mapping, tmp_path):
    cli("dictionary", "build", mapping, tmp_path / "local")
    write_csv(tmp_path / "patients.csv", [("1000299", "Nuño", "Olmedilla", None, None), ROWS[0]])
    built = cli("dictionary", "build", mapping, tmp_path / "local", "--update")
    assert "5 patient(s)" in clean(built)
    built = cli("dictionary", "build", mapping, tmp_path / "local", "--update", "--replace")
    assert "5 patient(s)" in clean(built)
    alone = cli("dictionary", "build", mapping, tmp_path / "local", "--replace")
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
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_built(cli, mapping, tmp_path, old, new, message):
    mapping.write_text(mapping.read_text().replace(old, new))
    result = cli("dictionary", "build", mapping, tmp_path / "local")
    assert result.exit_code == 1
    assert message in clean(result)
    assert cli("dictionary", "show", tmp_path / "local").exit_code == 1


def test_show_refuses_what_others_can_read(cli, mapping, tmp_path):
    cli("dictionary", "build", mapping, tmp_path / "local")
    (tmp_path / "local" / "manifest.json").chmod(0o644)
    shown = cli("dictionary", "show", tmp_path / "local")
    assert shown.exit_code == 1
    assert "chmod -R go-rwx" in shown.output


def test_redact_uses_the_dictionaries_and_flags_each_note(cli, mapping, redact, tmp_path):
    cli("dictionary", "build", mapping, tmp_path / "local")
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
