"""The sample corpus and the sample notes: made by the script that stands beside them, readable, well-formed."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from spacy_deid.evaluation import read_folder
from spacy_deid.labels import SCHEMES
from spacy_deid.lang.es.identifiers import is_dni, is_nuss

CORPUS = Path(__file__).parent.parent / "corpus" / "sample"
SAMPLES = Path(str(files("spacy_deid"))) / "lang" / "es" / "samples"


def corpus(split):
    return read_folder(CORPUS / split, "brat", scheme="meddocan")


def values(documents, label):
    return [doc.text[e.start : e.end] for doc in documents for e in doc.entities if e.label == label]


@pytest.mark.parametrize(("split", "count"), [("train", 24), ("dev", 8)])
def test_the_corpus_is_read_with_its_quotes_checked(split, count):
    documents = corpus(split)
    assert len(documents) == count
    assert len({doc.text for doc in documents}) == count
    assert all(doc.entities for doc in documents)


def test_all_labels_of_meddocan_occur():
    labels = {line.split()[1] for path in (CORPUS / "train").glob("*.ann") for line in path.read_text().splitlines()}
    assert labels == set(SCHEMES["meddocan"])


def test_insurance_numbers_have_right_check_digits():
    numbers = values(corpus("train"), "INSURANCE_ID")
    assert numbers
    assert all(is_nuss(number) for number in numbers)


def test_identity_numbers_have_right_letters():
    numbers = [value for value in values(corpus("train"), "MRN") if value[-1].isalpha()]
    assert numbers
    assert all(is_dni(number) for number in numbers)


def test_the_script_writes_what_is_there(tmp_path):
    script = tmp_path / "make.py"
    script.write_bytes((CORPUS / "make.py").read_bytes())
    subprocess.run([sys.executable, script], check=True, timeout=60)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.glob("*/*.*")}
    there = {path.relative_to(CORPUS): path.read_bytes() for path in CORPUS.glob("*/*.*")}
    assert written == there
    assert len(there) == 64


def test_four_sample_notes_ship_with_what_must_survive():
    notes = {path.stem: path.read_text(encoding="utf8") for path in SAMPLES.glob("*.txt")}
    assert len(notes) == 4
    together = "\n".join(notes.values())
    assert all(term in together for term in ("soplo sistólico 2/6", "T3N0M0", "Parkinson", "Hashimoto", "12,4 g/dl"))
