"""English notes with gold, on which tools are compared."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts.english_corpora import read_aci_bench, read_asq_phi
from spacy_deid.evaluation import AnnotatedText

QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Notes with gold.

    name, split (str): as in metric rows.
    notes (list[AnnotatedText]): the notes.
    complete (bool): whether the gold is complete, so that precision can be computed.
    """

    name: str
    split: str
    notes: list[AnnotatedText] = field(repr=False)
    complete: bool


def read_corpora(assets: Path, made: list[AnnotatedText]) -> Iterator[Corpus]:
    """Read the queries of ASQ-PHI and the visits of ACI-Bench with a name of the metadata; add the synthetic notes.

    assets (Path): folder of the unpacked corpora.
    made (list[AnnotatedText]): the synthetic test set.
    YIELDS (Corpus): the corpora.
    RAISES: InputError if a file cannot be read.
    """
    yield Corpus("ASQ-PHI", "dev", read_asq_phi(assets / QUERIES, "dev"), complete=True)
    visits = read_aci_bench(assets / VISITS / "valid.csv", assets / VISITS / "valid_metadata.csv")
    yield Corpus("ACI-Bench, names", "valid", [note for note in visits if note.entities], complete=False)
    yield Corpus("synthetic English", "test", made, complete=True)
