"""The same sample and the same audit from a file and from a PostgreSQL server."""

import json

import pytest

from spacy_deid.audit.run import AuditSettings, run_audit
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import InputError
from spacy_deid.notes import open_source
from spacy_deid.notes.source import Columns
from spacy_deid.sampling.draw import make_sample
from spacy_deid.sampling.sample import Settings, make_finder

COLUMNS = ("note_id", "patient_id", "note_type", "date", "text", "words")
ROWS = [
    (f"N{i}", f"P{i % 40}", ("letter", "phone")[i % 3 == 0], f"{2018 + i % 3}-03-04", f"Acude Zuriaga{i % 80}.", 2)
    for i in range(240)
]


@pytest.fixture
def store(tmp_path):
    with StoreWriter(tmp_path / "store") as writer:
        for i in range(40):
            writer.add_patient(f"P{i}", [LocalEntry(f"zuriaga{i}", "PATIENT", "patients.surname")])
        writer.commit({})
    return tmp_path / "store"


@pytest.fixture
def server(postgres_url):
    """Run statements."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(postgres_url)

    def run(*statements, rows=()):
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sqlalchemy.text(statement))
            if rows:
                insert = f"INSERT INTO sampled VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
                values = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
                connection.execute(sqlalchemy.text(insert), values)

    kinds = "note_id TEXT, patient_id TEXT, note_type TEXT, date DATE, text TEXT, words INT"
    run("DROP TABLE IF EXISTS sampled CASCADE", f"CREATE TABLE sampled ({kinds})", rows=ROWS[::-1])
    yield run
    engine.dispose()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in ROWS))
    return open_source(str(path))


def test_a_server_gives_the_sample_that_a_file_gives(server, postgres_url, file, store):
    finder = make_finder(LocalStore.open(store))
    columns, settings = Columns(words="words"), Settings(20, 2)
    database = open_source(postgres_url, table="sampled")
    samples = [make_sample(source, columns, settings, finder) for source in (file, database)]
    database.close()
    first, second = ([(note.note_id, note.text) for note in sample.notes] for sample in samples)
    assert first == second
    assert all(note.identified for note in samples[0].notes)


def test_texts_that_are_not_drawn_are_never_asked_for(server, postgres_url):
    # The text of every other note is an error to read.
    text = "CASE WHEN substr(note_id, 2)::int % 2 = 0 THEN text ELSE (1 / (words - 2))::text END AS text"
    server(f"CREATE VIEW guarded AS SELECT note_id, patient_id, note_type, date, words, {text} FROM sampled")
    server("UPDATE sampled SET words = 0 WHERE substr(note_id, 2)::int % 2 = 1")
    server("CREATE VIEW broken AS SELECT *, (1 / (words - words))::text AS body FROM sampled")
    source = open_source(postgres_url, table="guarded")
    assert len(make_sample(source, Columns(words="words"), Settings(20, 2)).notes) >= 20
    source.close()
    source = open_source(postgres_url, table="broken")
    with pytest.raises(InputError, match=r"the database refused \(DivisionByZero\)"):
        make_sample(source, Columns(text="body", words="words"), Settings(20, 2))
    source.close()


def test_an_empty_table_of_a_server_is_refused(server, postgres_url):
    server("DELETE FROM sampled")
    source = open_source(postgres_url, table="sampled")
    with pytest.raises(InputError, match="no notes to draw from"):
        make_sample(source, Columns(), Settings(20, 2))
    source.close()


def test_a_server_gives_the_audit_that_a_file_gives(server, postgres_url, file, store):
    database = open_source(postgres_url, table="sampled")
    audits = [run_audit(source, Columns(), store, AuditSettings()).as_dict() for source in (file, database)]
    database.close()
    assert audits[0] == audits[1]
    assert audits[0]["leaks"]["all"]["all"]["hits"] > 0
