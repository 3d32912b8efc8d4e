"""The English notes that peers are compared on, each with its gold.

ASQ-PHI lists the values of a query and ACI-Bench the names of a visit, without offsets: every place where one stands
as a word of its own is gold.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.synth.corpus import make_corpus
from spacy_deid.synth.language import split_of

__all__ = ["Corpus", "annotate", "read_aci", "read_asq", "read_corpora"]

ASQ_LABELS = {
    "NAME": "PERSON",
    "GEOGRAPHIC_LOCATION": "LOCATION_OTHER",
    "DATE": "DATE",
    "MEDICAL_RECORD_NUMBER": "MRN",
    "HEALTH_PLAN_BENEFICIARY_NUMBER": "HEALTH_PLAN",
    "PHONE_NUMBER": "PHONE",
    "FAX_NUMBER": "FAX",
    "SOCIAL_SECURITY_NUMBER": "SSN",
    "EMAIL_ADDRESS": "EMAIL",
    "ACCOUNT_NUMBER": "ACCOUNT",
    "CERTIFICATE_LICENSE_NUMBER": "LICENSE",
    "IP_ADDRESS": "IP_ADDRESS",
    "URL": "URL",
}
_TITLE = re.compile(r"(?:dr|mr|mrs|ms)\.?\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Notes with gold.

    name, split (str): as in metric rows.
    notes (list[AnnotatedText]): the notes.
    complete (bool): whether the gold is all there is to find, so that precision can be told.
    """

    name: str
    split: str
    notes: list[AnnotatedText] = field(repr=False)
    complete: bool


def annotate(name: str, text: str, values: Iterable[tuple[str, str]]) -> AnnotatedText:
    """Find values in a text, wherever they stand as words of their own, upper case or lower.

    name, text (str): the note.
    values (Iterable[tuple[str, str]]): value and canonical label.
    RETURNS (AnnotatedText): the note with its gold.
    """
    entities = [
        Entity(*match.span(), label)
        for value, label in values
        for match in re.finditer(rf"(?<!\w){re.escape(value.strip())}(?!\w)", text, re.IGNORECASE)
        if value.strip()
    ]
    return AnnotatedText(name, text, tuple(entities))


def read_asq(path: Path) -> Iterator[AnnotatedText]:
    """Read the queries of ASQ-PHI.

    path (Path): synthetic_clinical_queries.txt.
    YIELDS (AnnotatedText): queries, those without anything to find among them.
    """
    for number, block in enumerate(_read(path).split("===QUERY===")[1:], start=1):
        query, _, tags = block.partition("===PHI_TAGS===")
        records = [json.loads(line) for line in tags.splitlines() if line.strip()]
        values = [(record["value"], ASQ_LABELS.get(record["identifier_type"], "ID_OTHER")) for record in records]
        yield annotate(f"asq-{number}", query.strip(), values)


def read_aci(folder: Path, split: str) -> Iterator[AnnotatedText]:
    """Read notes of ACI-Bench with the names of patient and doctor as gold.

    folder (Path): challenge_data.
    split (str): "train" or "valid".
    YIELDS (AnnotatedText): notes in which at least one of the names stands.
    """
    people = {row["encounter_id"]: row for row in _table(folder / f"{split}_metadata.csv")}
    for row in _table(folder / f"{split}.csv"):
        person = people[row["encounter_id"]]
        values = [(person["patient_firstname"], "PATIENT"), (person["patient_familyname"], "PATIENT")]
        values += [(word, "CLINICIAN") for word in _TITLE.sub("", person["doctor_name"]).split()]
        note = annotate(row["encounter_id"], row["note"], values)
        if note.entities:
            yield note


def read_corpora(assets: Path, n: int, seed: int) -> Iterator[Corpus]:
    """Read what is there.

    assets (Path): folder of the unpacked corpora.
    n, seed (int): synthetic notes, and their seed.
    YIELDS (Corpus): ASQ-PHI, ACI-Bench and the synthetic test notes.
    RAISES: InputError (D374) for a file that cannot be read.
    """
    queries = read_asq(assets / "asq_phi" / "synthetic_clinical_queries.txt")
    yield Corpus("ASQ-PHI", "dev", [note for note in queries if split_of(note.text) == "test"], complete=True)
    folder = assets / "clinical_visit_notes" / "data" / "aci-bench" / "challenge_data"
    yield Corpus("ACI-Bench, names", "valid", list(read_aci(folder, "valid")), complete=False)
    notes = list(make_corpus("en", n, seed, split="test"))
    yield Corpus(f"synthetic English, seed {seed}", "test", notes, complete=True)


def _read(path: Path) -> str:
    """Read a file of a corpus."""
    try:
        return path.read_text(encoding="utf8")
    except (OSError, UnicodeError) as error:
        raise InputError(Errors.D374.format(name=path.parent.name, path=path, reason=type(error).__name__)) from None


def _table(path: Path) -> list[dict[str, str]]:
    """Read a CSV file."""
    return list(csv.DictReader(_read(path).splitlines(keepends=True)))
