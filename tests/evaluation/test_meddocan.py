"""The whole of MEDDOCAN, which is not shipped: SPACY_DEID_MEDDOCAN names the folder that holds train/ and dev/."""

import os
from pathlib import Path

import pytest

from spacy_deid.evaluation import FORMATS, evaluate, read_folder, write_folder

CORPUS = os.environ.get("SPACY_DEID_MEDDOCAN", "")
pytestmark = pytest.mark.skipif(not CORPUS, reason="SPACY_DEID_MEDDOCAN names no folder")


@pytest.fixture(scope="module", params=["train", "dev"])
def brat(request):
    return request.param, read_folder(Path(CORPUS, request.param, "brat"), scheme="meddocan")


def test_brat_and_xml_hold_the_same_entities(brat):
    split, documents = brat
    assert len(documents) == {"train": 500, "dev": 250}[split]
    assert sum(len(document.entities) for document in documents) == {"train": 11333, "dev": 5801}[split]
    assert read_folder(Path(CORPUS, split, "xml"), scheme="meddocan") == documents


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "spacy"])
def test_every_note_is_read_as_it_was_written(brat, format, tmp_path):
    write_folder(brat[1], tmp_path, format, scheme="meddocan")
    assert read_folder(tmp_path, scheme="meddocan") == brat[1]


def test_gold_against_itself_is_perfect(brat):
    part = evaluate(brat[1], brat[1], scheme="meddocan", bootstrap=5)["all"]
    assert [part[kind]["f1"] for kind in ("ner", "span_strict", "span_merged", "character")] == [1.0] * 4
    assert part["clean"]["share"] == 1.0
