"""evaluate and convert, with valid and with invalid corpora."""

import csv
import json
from pathlib import Path

import pytest
from conftest import NOTE
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_deid.cli.corpus import hash_folder
from spacy_deid.evaluation import AnnotatedText, Entity, write_folder

CAS = Path(__file__).parents[1] / "data" / "evaluation" / "cas" / "json"
CITY = Entity(NOTE.index("Puerto"), NOTE.index(".\nCorreo"), "CITY")
EMAIL = Entity(NOTE.index("ana.l"), len(NOTE) - 1, "EMAIL")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Gold with two entities, predictions with one of them."""
    gold, pred = tmp_path / "gold", tmp_path / "pred"
    write_folder([AnnotatedText("a", NOTE, (CITY, EMAIL))], gold, "brat", scheme="meddocan")
    write_folder([AnnotatedText("a", NOTE, (EMAIL,))], pred, "brat", scheme="meddocan")
    return gold, pred


def test_figures_are_printed_and_written(cli, folders: tuple[Path, Path], tmp_path: Path):
    result = cli("evaluate", *folders, "--scheme", "meddocan", "--output", tmp_path / "m" / "metrics.json")
    assert result.exit_code == 0, result.stderr
    assert "TERRITORIO" in result.stdout
    figures = json.loads((tmp_path / "m" / "metrics.json").read_text())
    assert figures["all"]["ner"]["recall"] == 0.5
    assert figures["all"]["ner"]["precision"] == 1.0


def test_figures_never_replace_annotations(cli, folders: tuple[Path, Path]):
    gold, _ = folders
    before = (gold / "a.ann").read_bytes()
    for output in (gold / "a.ann", gold / "b.ann", gold):
        assert cli("evaluate", *folders, "--scheme", "meddocan", "--output", output).exit_code == 1
    assert (gold / "a.ann").read_bytes() == before


def test_figures_do_not_replace_a_cas_file(cli, tmp_path: Path):
    gold = tmp_path / "gold"
    write_folder([AnnotatedText("a", NOTE, (CITY, EMAIL))], gold, "cas", scheme="meddocan")
    before = (gold / "a.json").read_bytes()
    assert cli("evaluate", gold, gold, "--scheme", "meddocan", "--output", gold / "a.json").exit_code == 1
    assert cli("evaluate", gold, gold, "--scheme", "meddocan", "--output", gold / "figures.json").exit_code == 0
    assert cli("evaluate", gold, gold, "--scheme", "meddocan").exit_code == 0
    assert (gold / "a.json").read_bytes() == before


def test_a_cas_becomes_docs(cli, tmp_path: Path):
    layer = ("--layer", "webanno.custom.PHI:kind")
    result = cli("convert", CAS, "--output", tmp_path / "dev.spacy", "--scheme", "grascco", "--lang", "xx", *layer)
    assert result.exit_code == 0, result.stderr
    assert "1 documents, 5 entities, 0 misaligned, 0 overlapping" in result.stdout


def test_documents_are_listed_worst_first_only_in_their_file(cli, folders: tuple[Path, Path], tmp_path: Path):
    rows, figures = tmp_path / "rows.csv", tmp_path / "figures.json"
    result = cli("evaluate", *folders, "--scheme", "meddocan", "--documents", rows, "--output", figures)
    assert result.exit_code == 0, result.stderr
    (row,) = csv.DictReader(rows.read_text().splitlines())
    assert (row["document"], row["missed"], row["fp"]) == ("a", f"TERRITORIO:{len('PuertoEsparza')}", "0")
    assert "without a miss" in result.stdout
    letters = json.loads(figures.read_text())["per_document"]
    assert letters["labels"]["TERRITORIO"]["without_miss"] == 0
    assert "rows" not in letters
    assert cli("evaluate", *folders, "--scheme", "meddocan", "--documents", folders[0] / "a.ann").exit_code == 1


def test_gold_is_aligned_with_another_text_with_align(cli, folders: tuple[Path, Path], tmp_path: Path):
    other = AnnotatedText("a", NOTE.replace(" ", "\n").replace("Esparza", "Es-\nparza"))
    write_folder([other], tmp_path / "other", "brat", scheme="meddocan")
    sides = (folders[0], tmp_path / "other", "--scheme", "meddocan")
    assert "different texts" in cli("evaluate", *sides).stderr
    result = cli("evaluate", *sides, "--align", "--output", tmp_path / "figures.json")
    assert result.exit_code == 0, result.stderr
    character = json.loads((tmp_path / "figures.json").read_text())["all"]["character"]
    assert (character["tp"], character["fn"]) == (0, len("PuertoEsparza" + "analopezejemploes"))


def test_gold_of_another_document_is_refused(cli, folders: tuple[Path, Path], tmp_path: Path):
    write_folder([AnnotatedText("a", "Sin relación alguna.")], tmp_path / "other", "brat")
    result = cli("evaluate", folders[0], tmp_path / "other", "--scheme", "meddocan", "--align")
    assert result.exit_code == 1
    assert "'a': the ground truth seems to belong to another text" in result.stderr


def test_gold_of_another_document_does_not_stop_the_others(cli, folders: tuple[Path, Path], tmp_path: Path):
    for folder, text in ((folders[0], NOTE), (tmp_path / "other", "Sin relación alguna.")):
        write_folder([AnnotatedText("b", text)], folder, "brat")
    write_folder([AnnotatedText("a", NOTE.replace(" ", "\n"))], tmp_path / "other", "brat")
    sides = (folders[0], tmp_path / "other", "--scheme", "meddocan", "--align")
    result = cli("evaluate", *sides, "--documents", tmp_path / "d.csv")
    assert result.exit_code == 1
    assert "left out: document 'b': the ground truth seems to belong to another text" in result.stderr
    assert [line.split(",")[0] for line in (tmp_path / "d.csv").read_text().splitlines()] == ["document", "a"]


def test_wrong_scheme_lists_the_labels(cli, folders: tuple[Path, Path]):
    result = cli("evaluate", *folders, "--scheme", "i2b2")
    assert result.exit_code == 1
    assert "MEDICALRECORD" in result.stderr


def test_unknown_scheme_lists_the_schemes(cli, folders: tuple[Path, Path]):
    result = cli("evaluate", *folders, "--scheme", "nope")
    assert result.exit_code == 2
    assert "meddocan" in result.stderr


def test_corpus_becomes_docs_with_canonical_labels(cli, folders: tuple[Path, Path], tmp_path: Path):
    result = cli("convert", folders[0], "--output", tmp_path / "dev.spacy", "--scheme", "meddocan")
    assert result.exit_code == 0, result.stderr
    assert "1 documents, 2 entities, 0 misaligned, 0 overlapping" in result.stdout
    (doc,) = DocBin().from_disk(tmp_path / "dev.spacy").get_docs(Vocab())
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == [
        (CITY.start, CITY.end, "TERRITORY"),
        (EMAIL.start, EMAIL.end, "EMAIL"),
    ]


def test_misaligned_and_overlapping_entities_are_counted(cli, tmp_path: Path):
    entities = (Entity(0, 3, "CITY"), Entity(0, 6, "CITY"), Entity(7, 14, "CITY"))
    write_folder([AnnotatedText("a", "Madrid Esparza", entities)], tmp_path / "gold", "jsonl")
    result = cli("convert", tmp_path / "gold", "--output", tmp_path / "dev.spacy", "--scheme", "canonical")
    assert "1 documents, 3 entities, 1 misaligned, 1 overlapping" in result.stdout


def test_wrong_hash_is_refused(cli, folders: tuple[Path, Path], tmp_path: Path):
    digest = hash_folder(folders[0])
    args = ["convert", folders[0], "--output", tmp_path / "dev.spacy", "--scheme", "meddocan", "--sha256"]
    result = cli(*args, "0" * 64)
    assert result.exit_code == 1
    assert digest in result.stderr
    assert not (tmp_path / "dev.spacy").exists()
    assert cli(*args, digest.upper()).exit_code == 0


def test_hash_separates_names_and_contents(tmp_path: Path):
    def made(**files: str) -> str:
        folder = tmp_path / "-".join([*files, *map(str, map(hash, files.values()))])
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.jsonl").write_text(text)
        return hash_folder(folder)

    hashes = [made(a="x", b="y"), made(a="xy", b=""), made(a="x", c="y"), made(a="x", b="z"), made(a="x")]
    assert len(set(hashes)) == len(hashes)


def test_broken_development_data_is_named(cli, pipeline_folder: Path, tmp_path: Path):
    (tmp_path / "dev.spacy").write_bytes(b"Ana Lopez")
    result = cli("calibrate", pipeline_folder, tmp_path / "dev.spacy", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "no component 'deid_ner'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_calibrated_pipeline_never_replaces_its_source(cli, pipeline_folder: Path, tmp_path: Path):
    result = cli("calibrate", pipeline_folder, tmp_path / "dev.spacy", "--output", pipeline_folder)
    assert result.exit_code == 1
    assert "Choose another output path" in result.stderr


TEXT = "Zutoiaga Rueda vive en Jaca"


def write(folder: Path, *entities: dict) -> Path:
    folder.mkdir()
    record = {"id": "note-1", "text": TEXT, "entities": list(entities)}
    (folder / "notes.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.mark.parametrize("label", ["NOMBRE", "", "patient"])
def test_unknown_label_is_refused_with_file_and_line(cli, tmp_path: Path, label):
    gold = write(tmp_path / "gold", {"start": 0, "end": 8, "label": label})
    result = cli("convert", gold, "--output", tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 1
    assert "notes.jsonl, line 1: the label is not in scheme 'canonical'" in result.stderr
    assert "Zutoiaga" not in result.output
    assert not (tmp_path / "out.spacy").exists()


@pytest.mark.parametrize(("start", "end"), [(5, 5), (8, 3), (20, 99)])
def test_empty_or_outside_entity_is_refused_with_its_offsets(cli, tmp_path: Path, start, end):
    gold = write(tmp_path / "gold", {"start": start, "end": end, "label": "PATIENT"})
    result = cli("convert", gold, "--output", tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 1
    assert f"notes.jsonl, line 1: {start}:{end} is outside the text" in result.stderr


def test_misaligned_and_overlapping_entities_are_listed_and_kept(cli, tmp_path: Path):
    entities = (Entity(0, 5, "PATIENT"), Entity(9, 20, "PERSON"), Entity(15, 27, "CITY"))
    write_folder([AnnotatedText("note-1", TEXT, entities)], tmp_path / "gold", "jsonl")
    result = cli("convert", tmp_path / "gold", "--output", tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 0, result.stderr
    assert "note-1: 0:5 PATIENT: not at the edges of tokens, widened to 0:8" in result.stderr
    assert "note-1: 9:20 PERSON: overlaps another entity" in result.stderr
    assert "2 misaligned, 1 overlapping" in result.stdout
    assert "Zutoiaga" not in result.output
    (doc,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab())
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == [
        (0, 8, "PATIENT"),
        (9, 14, "PERSON"),
        (15, 27, "CITY"),
    ]
