import pytest

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import FORMATS, AnnotatedText, Entity, detect_format, read_folder, write_folder
from spacy_deid.evaluation.formats import annotation_files

NOTES = [
    AnnotatedText("a", "Ana, 57", (Entity(0, 3, "PATIENT"), Entity(5, 7, "AGE"))),
    AnnotatedText("b", "Sin datos.\r\n"),
]


@pytest.mark.parametrize("format", FORMATS)
def test_folder_is_read_as_it_was_written_and_its_format_told(tmp_path, format):
    folder = tmp_path / "new" / "folder"
    assert write_folder(NOTES, folder, format, scheme="meddocan") == 0
    assert detect_format(folder) == format
    assert read_folder(folder, scheme="meddocan") == NOTES


@pytest.mark.parametrize("format", FORMATS)
def test_single_file_is_read(tmp_path, format):
    write_folder(NOTES[:1], tmp_path, format)
    path = annotation_files(tmp_path, format)[0]
    assert read_folder(path) == NOTES[:1]


def test_hidden_and_other_files_are_not_read(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    for name in (".stats_cache.xml", "annotation.conf", "README"):
        (tmp_path / name).write_text("x")
    assert read_folder(tmp_path) == NOTES


def test_note_without_annotations_is_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    (tmp_path / "b.ann").unlink()
    with pytest.raises(InputError, match=r"b\.txt has no matching \.ann"):
        read_folder(tmp_path)


def test_annotations_without_a_note_are_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InputError, match=r"a\.ann has no matching \.txt"):
        read_folder(tmp_path)


def test_folder_of_two_formats_asks_which(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    write_folder(NOTES, tmp_path, "i2b2", scheme="i2b2")
    with pytest.raises(InputError, match="brat and i2b2"):
        read_folder(tmp_path)
    assert [note.name for note in read_folder(tmp_path, "i2b2", scheme="i2b2")] == ["a", "b"]


def test_same_name_in_two_files_is_an_error(tmp_path):
    for folder in ("one", "two"):
        write_folder(NOTES, tmp_path / folder, "jsonl")
        (tmp_path / folder / "documents.jsonl").rename(tmp_path / f"{folder}.jsonl")
    with pytest.raises(InputError, match="duplicate document name 'a'"):
        read_folder(tmp_path)


def test_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no file of a known format"):
        read_folder(tmp_path)


def test_folder_without_a_file_of_the_named_format_is_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    with pytest.raises(InputError, match="no file of format i2b2"):
        read_folder(tmp_path, "i2b2")


def test_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder or file"):
        read_folder(tmp_path / "none")


def test_unknown_format_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="unknown format 'conll'"):
        write_folder(NOTES, tmp_path / "new", "conll")
    assert not (tmp_path / "new").exists()


def test_unknown_scheme_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="unknown label scheme 'klingon'"):
        write_folder(NOTES, tmp_path / "new", "brat", scheme="klingon")
    assert not (tmp_path / "new").exists()


def test_labels_of_another_scheme_are_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat", scheme="meddocan")
    with pytest.raises(InputError, match=r"a\.ann, line 1: the label is not in scheme 'i2b2'"):
        read_folder(tmp_path, scheme="i2b2")
