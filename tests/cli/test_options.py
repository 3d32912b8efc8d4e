"""Options in files (--config), groups of options in --help, and escaped messages."""

from pathlib import Path

import pytest
from conftest import NOTE, REDACTED

from spacy_deid.errors import printable

SECRET = "Zubeldiagoyena"


@pytest.fixture
def run(cli, pipeline_folder: Path, tmp_path: Path):
    """Run a command on a folder with one note, with a config file of the given content."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text(NOTE)

    def call(command: str, config: str, *args: object, name: str = "run.toml"):
        text = config.replace("PIPELINE", str(pipeline_folder)).replace("OUT", str(tmp_path / "out"))
        (tmp_path / name).write_text(text)
        return cli(command, tmp_path / "notes", "--config", tmp_path / name, *args)

    return call


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("run.toml", 'pipeline = "PIPELINE"\noutput = "OUT"\nstyle = "mask"\ntrace = true\n'),
        ("run.toml", '[redact]\npipeline = "PIPELINE"\noutput = "OUT"\nstyle = "mask"\ntrace = true\n'),
        ("run.cfg", '[redact]\npipeline = "PIPELINE"\noutput = "OUT"\nstyle = "mask"\ntrace = true\n'),
    ],
    ids=["keys", "table", "cfg"],
)
def test_config_file_has_the_options_of_a_run(run, tmp_path, name, config):
    result = run("redact", config, name=name)
    assert result.exit_code == 0, result.output
    assert "**************" in (tmp_path / "out" / "a.txt").read_text()
    assert (tmp_path / "out" / "a.trace.json").exists()


def test_an_option_on_the_command_line_wins(run, tmp_path):
    result = run("redact", 'pipeline = "PIPELINE"\noutput = "OUT"\nstyle = "mask"\n', "--style", "tag")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "a.txt").read_text() == REDACTED


def test_options_with_several_values_are_lists_or_single_values(run, tmp_path):
    (tmp_path / "notes" / "b.jsonl").write_text('{"id": 1, "day": 2, "text": "x"}\n')
    base = 'pipeline = "PIPELINE"\noutput = "OUT"\ntext-field = "text"\noverwrite = true\n'
    for value, kept in (('["id", "day"]', {"id", "day", "text"}), ('"id"', {"id", "text"})):
        result = run("redact", f"{base}keep-field = {value}\n")
        assert result.exit_code == 0, result.output
        assert {key for key in ("id", "day", "text") if f'"{key}"' in (tmp_path / "out/b.jsonl").read_text()} == kept


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (f'pipelin = "{SECRET}"\n', "unknown option 'pipelin'. Known options: batch-size"),
        (f'style = ["{SECRET}"]\n', "'style' takes a single value"),
        (f'config = "{SECRET}"\n', "unknown option 'config'"),
        (f"style = {SECRET}\n", "not a valid TOML or .cfg file"),
    ],
)
def test_a_wrong_file_is_refused_without_its_values(run, config, message):
    result = run("redact", config)
    assert result.exit_code == 1
    assert message in result.stderr
    assert SECRET not in result.output


def test_a_missing_file_is_refused(cli, tmp_path):
    result = cli("redact", tmp_path, "--config", tmp_path / "none.toml")
    assert result.exit_code == 1
    assert "none.toml: No such file or directory" in result.stderr


def test_other_commands_have_a_config_file(run, tmp_path):
    result = run("annotate", 'pipeline = "PIPELINE"\noutput = "OUT"\nformat = "jsonl"\n')
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "documents.jsonl").exists()


def test_the_options_of_redact_are_listed_in_panels(cli):
    shown = cli("redact", "--help").output
    panels = ["Detection", "Policy and surrogates", "Output", "Input", "EHR context", "Documents", "Processes"]
    found = [panel for panel in panels if f"─ {panel} ─" in shown]
    assert found == panels


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\r\u202e\x9bb\nfailed: nothing.txt"


def test_control_characters_in_file_names_are_escaped(redact, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"{HOSTILE}.txt").write_bytes(b"\xff\xfe")
    result = redact(tmp_path / "in")
    assert result.exit_code == 1
    assert "a\\x1b[2J" in result.stderr
    assert [char for char in result.output if not char.isprintable() and char != "\n"] == []
    assert "\nfailed: nothing.txt" not in result.output


@pytest.mark.parametrize("text", ["señal áéí 日本語", "a\u00a0b", "", "a b"])
def test_printable_text_is_unchanged(text):
    assert printable(text) == text
