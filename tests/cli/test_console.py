"""What commands print: names of files cannot change a terminal."""

import pytest

from spacy_deid.errors import printable

HOSTILE = "a\x1b[2J\x1b]0;owned\x07\r\u202e\x9bb\nfailed: nothing.txt"


def test_a_hostile_file_name_reaches_the_terminal_as_escapes(redact, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"{HOSTILE}.txt").write_bytes(b"\xff\xfe")
    result = redact(tmp_path / "in")
    assert result.exit_code == 1
    assert "a\\x1b[2J" in result.stderr
    assert [char for char in result.output if not char.isprintable() and char != "\n"] == []
    assert "\nfailed: nothing.txt" not in result.output


@pytest.mark.parametrize("text", ["señal áéí 日本語", "a\u00a0b", "", "a b"])
def test_ordinary_text_stays(text):
    assert printable(text) == text
