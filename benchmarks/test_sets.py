"""Read the synthetic test sets, corpus/LANG/test.spacy, and verify that they are the pinned versions.

test_sets.json holds the SHA-256 of each file. Figures on notes of different templates are not comparable, so a file
with another hash is rejected. After building a new test set on purpose, update its hash in test_sets.json.
"""

import json
from hashlib import sha256
from pathlib import Path

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.formats import read_docbin

TEST_SETS = Path(__file__).with_suffix(".json")


def read_test_set(lang: str, corpus: Path, table: Path = TEST_SETS) -> list[AnnotatedText]:
    """Read the test set of a language.

    lang (str): language code.
    corpus (Path): folder with one folder per language.
    table (Path): JSON file with path and SHA-256 of each file.
    RETURNS (list[AnnotatedText]): notes with canonical labels.
    RAISES: InputError (D303) if the file does not exist or has another hash.
    """
    entry = json.loads(table.read_text(encoding="utf8"))[lang]
    path = corpus / entry["path"]
    if not path.exists():
        raise InputError(
            Errors.D303.format(path=path, reason="not there; the corpus command of the language writes it")
        )
    if sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise InputError(Errors.D303.format(path=path, reason=f"its SHA-256 differs from that in {table.name}"))
    return read_docbin(path)
