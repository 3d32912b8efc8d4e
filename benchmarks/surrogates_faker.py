"""Compare surrogates with the usual approach: a random value of Faker for each mention, by label.

    python -m benchmarks.surrogates_faker corpus/meddocan/dev/brat --lang es --scheme meddocan --data meddocan

Both replace the same gold mentions and are measured in the same way (`benchmarks/surrogates.py`). Faker does not see
the text around a mention or other mentions. For labels that it does not cover, a tag is written. Needs Faker (extra
"dev"). Rows are written to metrics/surrogates_faker.json.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

import random
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from faker import Faker

from spacy_deid.evaluation import AnnotatedText, read_folder
from spacy_deid.evaluation.gold_surrogates import ReleasedNote, make_disjoint
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.surrogates.mention import find_mentions
from spacy_deid.surrogates.strategies import FALLBACK, Replacement, tag_of

from .surrogates import KEYS, aim, count, measure, release

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LOCALES = {"es": "es_ES", "en": "en_US", "fi": "fi_FI"}
PROVIDERS: dict[str, str] = {
    "PATIENT": "name",
    "RELATIVE": "name",
    "CLINICIAN": "name",
    "PERSON": "name",
    "USERNAME": "user_name",
    "EMAIL": "email",
    "DATE": "date",
    "CITY": "city",
    "TERRITORY": "city",
    "STATE": "state",
    "COUNTRY": "country",
    "STREET": "street_address",
    "ZIP": "postcode",
    "HOSPITAL": "company",
    "HEALTH_CENTER": "company",
    "ORGANIZATION": "company",
    "PROFESSION": "job",
    "PHONE": "phone_number",
    "FAX": "phone_number",
    "URL": "url",
    "IP_ADDRESS": "ipv4",
    "SSN": "ssn",
    "NATIONAL_ID": "ssn",
    "INSURANCE_ID": "ssn",
    "ACCOUNT": "iban",
    "VEHICLE": "license_plate",
}
NUMBERS = "MRN ENCOUNTER_ID HEALTH_PLAN LICENSE EMPLOYEE_ID DEVICE ID_OTHER".split()


@app.command()
def main(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Folder of the annotated corpus.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates_faker.json"),
) -> None:
    """Replace the gold mentions of a corpus in both ways."""
    notes = read_folder(path, scheme=scheme)
    makers: dict[str, Callable[[Sequence[AnnotatedText]], list[ReleasedNote]]] = {
        "consistent": lambda notes: release(notes, lang, KEYS[0]),
        "Faker": FakerOnly(lang).release,
    }
    command, today = command_line("benchmarks.surrogates_faker", context), date.today().isoformat()
    rows = []
    for maker, make in makers.items():
        make(notes[:20])  # what is read once is not timed
        began = time.process_time()
        released = make(notes)
        seconds = time.process_time() - began
        figures = measure(released, lang) | {"entities/s on one core": count(released) / seconds}
        for name, value in figures.items():
            if not name.startswith("tags"):
                better = aim(name)[1]
                rows.append(MetricRow(f"{maker}: {name}", round(value, 5), None, better, data, split, command, today))
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}")


class FakerOnly:
    """Replaces each mention independently with a value of Faker.

    lang (str): language of the notes.
    """

    def __init__(self, lang: str) -> None:
        self._faker = Faker(LOCALES[lang])
        self._faker.seed_instance(1)
        self._chance = random.Random(1)

    def release(self, notes: Sequence[AnnotatedText]) -> list[ReleasedNote]:
        """Replace the mentions of notes. The released text is not built, because no figure needs it."""
        return [self._release(note) for note in notes]

    def _release(self, note: AnnotatedText) -> ReleasedNote:
        entities = make_disjoint(note.entities, note.text)
        mentions = find_mentions(note.text, [(e.start, e.end, e.label) for e in entities])
        made = [self._make(mention.label, tag_of(mention)) for mention in mentions]
        return ReleasedNote(note, [], entities, mentions, made)

    def _make(self, label: str, tag: str) -> Replacement:
        """Return a value for a label, or its tag."""
        if label in NUMBERS:
            return Replacement(str(self._chance.randrange(10**7)))
        if label == "AGE":
            return Replacement(str(self._chance.randrange(1, 100)))
        make = getattr(self._faker, PROVIDERS.get(label, ""), None)
        return Replacement(str(make())) if make else Replacement(tag, FALLBACK)


if __name__ == "__main__":
    app()
