"""Decoding that keeps offsets, and files that are whole or not there."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.io import check_encoding, decode, encode, find_notes, plan, whole_file, whole_folder, write_whole


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"]), st.booleans())
def test_bytes_come_back_as_they_were(text: str, encoding: str, mark: bool):
    data = (("\ufeff" if mark else "") + text).encode(encoding)
    decoded, same = decode(data, check_encoding(encoding), "note.txt")
    assert encode(decoded, same, "note.txt") == data


@pytest.mark.parametrize("codec", ["utf-16-be", "utf-16-le"])
def test_byte_order_is_that_of_the_mark(codec: str):
    data = "\ufeffAna".encode(codec)
    text, same = decode(data, check_encoding("utf-16"), "note.txt")
    assert text == "\ufeffAna"
    assert encode(text, same, "note.txt") == data


@pytest.mark.parametrize("encoding", ["nope", "rot13", "zlib", "utf-8\0"])
def test_unknown_encoding_is_refused(encoding: str):
    with pytest.raises(ConfigError, match="unknown text encoding"):
        check_encoding(encoding)


def test_undecodable_bytes_name_the_file_and_not_the_content():
    with pytest.raises(InputError) as caught:
        decode("Núñez".encode("latin-1"), "utf-8", "note.txt")
    assert (
        str(caught.value)
        == "note.txt: not valid utf-8 text. Set the encoding with --encoding, or 'encoding' in the settings of a job"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_writing_leaves_the_old_file_and_no_other(tmp_path: Path, error: type[BaseException]):
    path = tmp_path / "note.txt"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]
    assert path.read_text() == "old"


def test_temporary_file_does_not_bear_the_name(tmp_path: Path):
    with whole_file(tmp_path / "Ana Lopez.txt") as temporary:
        assert temporary.parent == tmp_path
        assert "Ana" not in temporary.name


def test_files_get_the_permissions_of_the_umask(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "note.txt", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "note.txt").stat().st_mode & 0o777 == 0o640


def test_longest_names_can_be_written(tmp_path: Path):
    path = tmp_path / ("n" * 251 + ".txt")
    write_whole(path, b"x")
    assert path.read_bytes() == b"x"


def test_folder_that_is_a_file_is_named(tmp_path: Path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match=r"note\.txt: "):
        write_whole(tmp_path / "out" / "note.txt", b"")


def test_folders_are_searched_and_other_files_counted(tmp_path: Path):
    for name in ("b.txt", "sub/a.TXT", "sub/._a.txt", "c.doc", "out/b.txt"):
        write_whole(tmp_path / name, b"")
    found, others = find_notes([tmp_path], (".txt",), skip=tmp_path / "out")
    assert [relative.as_posix() for _, relative in found] == ["b.txt", "sub/a.TXT"]
    assert others == 2


def test_links_in_a_ring_end(tmp_path: Path):
    write_whole(tmp_path / "a.txt", b"")
    (tmp_path / "ring").symlink_to(tmp_path)
    found, _ = find_notes([tmp_path], (".txt",), skip=tmp_path / "out")
    assert len(found) == 1


def test_notes_that_differ_in_folder_alone_collide(tmp_path: Path):
    notes = [(tmp_path / folder / "n.txt", Path("n.txt")) for folder in "ab"]
    for path, _ in notes:
        write_whole(path, b"")
    with pytest.raises(InputError, match="same file"):
        plan(notes, lambda relative: [tmp_path / "out" / relative])


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "new" / "folder"
    with whole_folder(place) as folder:
        (folder / "a.txt").write_text("1")
        assert not place.exists()
    with pytest.raises(ZeroDivisionError), whole_folder(place) as folder:
        (folder / "b.txt").write_text(str(1 / 0))
    assert [path.name for path in place.iterdir()] == ["a.txt"]
    assert list(place.parent.iterdir()) == [place]
    assert place.stat().st_mode & 0o077 == 0
    with whole_folder(place) as folder:
        (folder / "c.txt").write_text("2")
    assert [path.name for path in place.iterdir()] == ["c.txt"]


def test_a_folder_that_cannot_be_written_is_an_error_with_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"), whole_folder(tmp_path / "file" / "folder"):
        pass
