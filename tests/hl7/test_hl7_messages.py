"""Bytes to messages and back, and escape sequences."""

import pytest
from hl7_messages import HEAD, NUMBER, PID, message, obx
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.hl7.messages import Encoding, parse_message, read_text, split_messages

ENCODING = Encoding()
PLAIN = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs", "Cc")))


@given(PLAIN)
def test_an_escaped_text_is_read_unchanged(text):
    assert read_text(ENCODING.write(text), ENCODING, "").text == text


@given(PLAIN.map(ENCODING.write), st.sampled_from(["\\H\\", "\\.br\\", "\\.sp3\\", "\\X4142\\", "~", "^"]), PLAIN)
def test_a_text_without_edits_is_written_byte_for_byte(first, middle, last):
    raw = first + middle + ENCODING.write(last)
    assert read_text(raw, ENCODING, "").write([], ENCODING) == raw


@given(PLAIN, PLAIN, PLAIN)
def test_an_edit_replaces_only_its_span(before, name, after):
    read = read_text("\\H\\".join(map(ENCODING.write, (before, name + "x", after))), ENCODING, "")
    edit = (len(before), len(before) + len(name) + 1, "a|b")
    made = read_text(read.write([edit], ENCODING), ENCODING, "")
    assert made.text == f"{before}a|b{after}"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\", "a|b^c&d~e\\"),
        ("a\\.br\\b\\.sp2\\c", "a\nb\n\nc"),
        ("Quill\\H\\feather\\N\\", "Quillfeather"),
        ("\\XC3A4\\", "ä"),
        ("10^9 Quill^Feather", "10^9 Quill Feather"),
    ],
)
def test_escape_sequences_are_read(raw, text):
    assert read_text(raw, ENCODING, "").text == text


@pytest.mark.parametrize("raw", ["a\\b", "\\Q\\", "\\X4\\", "\\X\\", "\\XFF\\", "\\C2842\\", "\\Zx\\"])
def test_damaged_escape_sequences_are_errors_without_content(raw):
    with pytest.raises(InputError, match="OBX-5") as caught:
        read_text(f"Quillfeather {raw}", ENCODING, "OBX-5")
    assert "Quill" not in str(caught.value)


def test_an_edit_of_a_part_of_a_sequence_keeps_the_rest():
    assert read_text("\\X414243\\", ENCODING, "").write([(1, 2, "x")], ENCODING) == "AxC"


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("frame", [("", ""), ("\x0b", "\x1c\r")])
def test_messages_of_a_file_are_written_byte_for_byte(tmp_path, end, frame):
    one = frame[0].encode() + message(obx("a"), end=end) + frame[1].encode()
    path = tmp_path / "feed.hl7"
    path.write_bytes(one * 3)
    found = list(split_messages(path))
    assert len(found) == 3
    assert b"".join(parse_message(data, "", "utf-8").write("") for data in found) == path.read_bytes()


def test_a_file_is_split_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_deid.hl7.messages._BLOCK", 7)
    path = tmp_path / "feed.hl7"
    path.write_bytes(b"FHS|^~\\&\r" + message(obx("a")) * 3 + b"FTS|3\r")
    assert [data[:3] for data in split_messages(path)] == [b"FHS", b"MSH", b"MSH", b"MSH", b"FTS"]


def test_other_encoding_characters_are_kept():
    data = HEAD.replace("|", "#").replace("^~\\&", "*!$%").encode() + b"\rPID#1##7*Q$S$x\r"
    parsed = parse_message(data, "", "utf-8")
    assert parsed.encoding[:5] == ("#", "*", "!", "$", "%")
    assert parsed.segments[1].get(3) == "7*Q$S$x"
    assert parsed.write("") == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PID.encode(), "MSH"),
        (b"MSH|^~\\\rPID|1\r", "MSH-2"),
        (b"MSH|^^\\&\rPID|1\r", "MSH-2"),
        (message(f"Quill {NUMBER}"), "line 5 is no segment"),
        (message().replace(b"PV1", b"MSH"), "second segment"),
        (message(obx("a\x07b")), "control character"),
        (message(obx("Quill")).replace(b"Quill", b"Quill\xff"), "utf-8"),
        (message(head=HEAD + "||||||KLINGON"), "MSH-18"),
    ],
)
def test_a_damaged_message_is_an_error_without_content(data, reason):
    with pytest.raises(InputError, match=reason) as caught:
        parse_message(data, "message 1", "utf-8")
    assert str(caught.value).startswith("message 1")
    assert "Quill" not in str(caught.value)
    assert NUMBER not in str(caught.value)


def test_the_character_set_of_the_message_counts():
    head = HEAD + "||||||8859/1"
    data = message(obx("Jérôme"), head=head).decode().encode("latin-1")
    parsed = parse_message(data, "", "utf-8")
    assert parsed.segments[-1].get(5) == "Jérôme"
    assert parsed.write("") == data
