"""Release the notes of a made database in OMOP CDM 5.4, and search the released tables for what was planted.

    pg_ctl -D data start
    python -m benchmarks.omop postgresql+psycopg://test@localhost/postgres --notes 100000

The database has one note per patient, a table of the names (which OMOP does not define), and the tables of the
clinicians and the addresses. The same patients are released as resources of FHIR, and the texts are compared. Rows are
written to metrics/standards.json.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from benchmarks.fhir import SENTENCES, Metrics, _left, _person, write_figures
from spacy_deid import Deidentifier
from spacy_deid.data_models.model import read_model
from spacy_deid.data_models.tables import TableIds
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.evaluation.rows import command_line
from spacy_deid.fhir.run import FhirDeidentifier, Unit
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.warehouse.inputs import InputSettings
from spacy_deid.warehouse.run import Run
from spacy_deid.warehouse.settings import Settings, TableColumns

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)
SCHEMA = "bench_omop"
DAY = "2024-11-30"
TEXT = " ".join((*SENTENCES, f"Seen on {DAY}."))
MODEL = """
extends = "omop"

[[people]]
table = "person_name"
source = "patient"
person = "person_id"
columns = { given_name = "given", family_name = "surname", phone = "phone" }

[[people]]
table = "relative_name"
source = "relative"
person = "person_id"
columns = { given_name = "given" }
"""
TABLES = {
    "person": "person_id int, gender_concept_id int, year_of_birth int, month_of_birth int, day_of_birth int, "
    "birth_datetime timestamp, location_id int, person_source_value text",
    "person_name": "person_id int, given_name text, family_name text, phone text",
    "relative_name": "person_id int, given_name text",
    "location": "location_id int, address_1 text, address_2 text, city text, zip text",
    "provider": "provider_id int, provider_name text, npi text, dea text, provider_source_value text",
    "care_site": "care_site_id int, care_site_name text",
    "note": "note_id int primary key, person_id int, note_date date, note_datetime timestamp, "
    "note_type_concept_id int, "
    "note_class_concept_id int, note_title text, note_text text, encoding_concept_id int, language_concept_id int, "
    "provider_id int, visit_occurrence_id int, visit_detail_id int, note_source_value text",
}


@app.command()
def main(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="URL of a PostgreSQL server, in SQLAlchemy's syntax.")],
    notes: Annotated[int, typer.Option(help="Number of notes and of patients.")] = 100_000,
    compared: Annotated[int, typer.Option(help="Number of patients that are released through FHIR as well.")] = 300,
    n_process: Annotated[int, typer.Option(help="Worker processes.")] = 1,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    metrics: Metrics = Path("metrics/standards.json"),
) -> None:
    """Release made notes and search for what was planted."""
    draw = Random(23)
    words = sorted(word.title() for word in name_words(lang) if word.isalpha() and len(word) > 4)
    people = [_person(draw, words, i) for i in range(notes)]
    key = ProjectKey(bytes(range(32)))
    with tempfile.TemporaryDirectory() as folder:
        output, model_file = Path(folder) / "out", Path(folder) / "model.toml"
        model_file.write_text(MODEL, encoding="utf-8")
        key.to_file(Path(folder) / "keys" / "project.key")
        _fill(url, people)
        model = read_model(model_file, SCHEMA)
        secret = str(Path(folder) / "keys" / "project.key")
        columns, plain = TableColumns.of_model(model), model.to_json()
        settings = Settings(lang, columns, style="surrogate", key=secret, data_model=plain)
        began = time.perf_counter()
        source = InputSettings(url, query=model.query, rows=1_000)
        Run(settings, source, output, n_process=n_process, say=typer.echo)()
        seconds = time.perf_counter() - began
        rows = list(_read(output / "notes"))
    by_id, ids = {row["note_id"]: row for row in rows}, TableIds(key)
    found = [by_id.get(ids.number("note", i), {}) for i in range(notes)]
    texts = [str(row.get("note_text", "")) for row in found]
    left = sum(len(_left(person, " ".join(map(str, row.values())))) for person, row in zip(people, found, strict=True))
    planted = sum(len(_left(person, TEXT.format(**person))) for person in people)
    alone = Deidentifier(lang, style="surrogate", key=key)
    some = people[: max(compared, 1000)]
    inputs = [(TEXT.format(**person), {"patient_id": person["number"]}) for person in some]
    without = sum(len(_left(person, result.text)) for person, result in zip(some, alone.pipe(inputs), strict=True))
    planted_some = sum(len(_left(person, TEXT.format(**person))) for person in some)
    in_texts = sum(len(_left(person, text)) for person, text in zip(people, texts, strict=True))
    same = _compare(people[:compared], texts, lang, key)
    figures: list[tuple[str, float, float | None, str]] = [
        ("planted identifiers left in released tables", left, 0, "lower"),
        ("notes not released", sum(not row for row in found), 0, "lower"),
        ("notes with the same text as through FHIR, share", same, 1, "higher"),
        ("recall in notes with the dictionary of the database", 1 - in_texts / planted, 1, "higher"),
        ("recall in notes without the dictionary", 1 - without / planted_some, None, "higher"),
        ("notes in the run", notes, 100_000, "higher"),
        ("notes per second", notes / seconds, None, "higher"),
    ]
    data = f"made OMOP CDM 5.4 in PostgreSQL, {lang}"
    write_figures(metrics, figures, data, command_line("benchmarks.omop", context))


def _fill(url: str, people: list[dict[str, str]]) -> None:
    """Write the tables, into a new schema."""
    import sqlalchemy

    with closing(sqlalchemy.create_engine(url).raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        cursor.execute(f"CREATE SCHEMA {SCHEMA}")
        for table, columns in TABLES.items():
            cursor.execute(f"CREATE TABLE {SCHEMA}.{table} ({columns})")
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        for i, person in enumerate(people):
            rows["person"].append((i, 8532, 1950, 3, 2, None, None, person["number"]))
            rows["person_name"].append((i, person["given"], person["family"], person["phone"]))
            rows["relative_name"].append((i, person["relative"]))
            rows["provider"].append((i, f"Okonkwo-{person['clinician']}", None, None, None))
            text = TEXT.format(**person)
            rows["note"].append((i, i, DAY, f"{DAY} 10:20", 1, 2, "Letter", text, 0, 0, i, i, None, "Report"))
        for table, values in rows.items():
            if values:
                marks = ", ".join(["%s"] * len(values[0]))
                cursor.executemany(f"INSERT INTO {SCHEMA}.{table} VALUES ({marks})", values)
        connection.commit()


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the released rows."""
    from pyarrow import parquet

    for path in sorted(folder.glob("*.parquet")):
        yield from parquet.read_table(path).to_pylist()


def _compare(people: list[dict[str, str]], texts: list[str], lang: str, key: ProjectKey) -> float:
    """Release some patients as resources of FHIR. RETURNS (float): the share of notes with the same text."""
    resources: list[dict[str, Any]] = []
    for i, person in enumerate(people):
        names = {"family": person["family"], "given": [person["given"]]}
        about = {"reference": f"Patient/{person['number']}"}
        resources += [
            {
                **{"resourceType": "Patient", "id": person["number"], "name": [names], "gender": "female"},
                **{"birthDate": "1950-03-02", "telecom": [{"system": "phone", "value": person["phone"]}]},
                "identifier": [{"system": "urn:oid:1.2.36", "value": person["number"]}],
            },
            {
                **{"resourceType": "RelatedPerson", "id": f"r{i}", "patient": about},
                "name": [{"given": [person["relative"]]}],
            },
            {"resourceType": "Practitioner", "id": f"d{i}", "name": [{"text": f"Okonkwo-{person['clinician']}"}]},
            {
                **{"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": about},
                **{"effectiveDateTime": DAY, "note": [{"text": TEXT.format(**person)}]},
            },
        ]
    with FhirDeidentifier(Deidentifier(lang, style="surrogate", key=key), key=key) as fhir:
        fhir.read(resources)
        notes = [outcome for outcome in fhir.release(map(Unit, resources)) if outcome.type == "Observation"]
    found = [outcome.resource["note"][0]["text"] if outcome.resource else "" for outcome in notes]
    return sum(a == b for a, b in zip(found, texts, strict=False)) / len(found)


if __name__ == "__main__":
    app()
