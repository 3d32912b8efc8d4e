"""The synthetic test sets: corpus/LANG/test.spacy as the corpus command wrote it once, and no other.

test_sets.json holds the SHA-256 of each file. Templates change, and figures on notes of other templates do not
compare: a file with another sum is refused. Whoever makes the test set anew on purpose writes its sum there.
"""

import json
from hashlib import sha256
from pathlib import Path

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.docbin import read_docbin

__all__ = ["TEST_SETS", "read_test_set"]

TEST_SETS = Path(__file__).with_suffix(".json")


def read_test_set(lang: str, corpus: Path, table: Path = TEST_SETS) -> list[AnnotatedText]:
    """Read the test set of a language.

    lang (str): code of the language.
    corpus (Path): folder that holds the folders of the languages.
    table (Path): JSON file with path and SHA-256 of each language's file.
    RETURNS (list[AnnotatedText]): the notes with their gold, canonical labels.
    RAISES: InputError (D303) if the file is not there or not the one that the table names.
    """
    entry = json.loads(table.read_text(encoding="utf8"))[lang]
    path = corpus / entry["path"]
    if not path.exists():
        raise InputError(
            Errors.D303.format(path=path, reason="not there; the corpus command of the language writes it")
        )
    if sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise InputError(Errors.D303.format(path=path, reason=f"not the file whose SHA-256 stands in {table.name}"))
    return read_docbin(path)
