"""Drawing samples from tables in files and databases."""

import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.audit.run import AuditSettings, run_audit
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import InputError
from spacy_deid.notes import open_source
from spacy_deid.notes.source import Columns, NoteKey
from spacy_deid.sampling.draw import Candidate, CandidatePool, draw_order, make_sample
from spacy_deid.sampling.sample import Settings, make_finder

HEADER = ["note_id", "patient_id", "note_type", "date", "text"]


class CountingSource:
    """A real table that says how often its texts are read."""

    def __init__(self, source):
        self._source, self.scanned, self.read = source, [], 0
        self.name, self.columns = source.name, source.columns

    def scan(self, columns):
        self.scanned.append(list(columns))
        return self._source.scan(columns)

    def texts(self, keys, columns):
        self.read += len(keys)
        return self._source.texts(keys, columns)

    def close(self):
        self._source.close()


def make_table(tmp_path, rows, header=HEADER):
    path = tmp_path / "notes.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return CountingSource(open_source(str(path)))


def many(count, patients=40):
    return [
        (
            f"N{i}",
            f"P{i * 7 % patients}",
            ("progress", "phone")[i % 4 == 0],
            f"{2018 + i % 2}-05-01",
            "w " * (1 + i % 9),
        )
        for i in range(count)
    ]


def names(sample):
    return [note.note_id for note in sample.notes]


def test_the_frame_counts_every_group_and_the_notes_come_from_them(tmp_path):
    sample = make_sample(make_table(tmp_path, many(400)), Columns(), Settings(40, 5))
    frame = sample.frame()
    assert [(g["note_type"], g["period"]) for g in frame["groups"]] == [
        ("phone", "2018"),
        ("progress", "2018"),
        ("progress", "2019"),
    ]
    assert sum(group["documents"] for group in frame["groups"]) == frame["documents"] == 400
    assert all(group["drawn"] == group["planned"] for group in frame["groups"])
    assert frame["drawn"] == len(sample.notes) >= 40
    assert len(set(names(sample))) == len(sample.notes)


def test_the_seed_decides_and_the_order_of_the_table_does_not(tmp_path):
    first = make_sample(make_table(tmp_path, many(300)), Columns(), Settings(30, 5, seed=1))
    turned = make_sample(make_table(tmp_path, many(300)[::-1]), Columns(), Settings(30, 5, seed=1))
    other = make_sample(make_table(tmp_path, many(300)), Columns(), Settings(30, 5, seed=2))
    assert names(first) == names(turned)
    assert names(first) != names(other)


def test_distinct_patients_come_first(tmp_path):
    rows = [(f"N{i}", "frequent", "a", "2020-01-01", "w w w") for i in range(500)]
    rows += [(f"M{i}", f"P{i}", "a", "2020-01-01", "w w w") for i in range(20)]
    sample = make_sample(make_table(tmp_path, rows), Columns(), Settings(21))
    assert len({note.patient_id for note in sample.notes}) == 21


def test_patients_of_one_group_are_not_drawn_again_in_another(tmp_path):
    rows = [(f"N{i}", f"P{i % 40}", f"type{i // 200}", "2020-01-01", "w") for i in range(400)]
    sample = make_sample(make_table(tmp_path, rows), Columns(), Settings(40))
    assert len({note.patient_id for note in sample.notes}) == 40


def test_a_small_patient_base_fills_up_with_further_notes(tmp_path):
    sample = make_sample(make_table(tmp_path, many(60, patients=3)), Columns(), Settings(60, 60))
    assert len(sample.notes) == 60


def test_notes_with_identifiers_are_preferred_but_not_to_distinct_patients(tmp_path):
    rows = [(f"N{i}", f"P{i % 30}", "a", "2020-01-01", "MARK" if i % 3 == 0 else "none") for i in range(90)]
    rows += [(f"M{i}", f"Q{i}", "a", "2020-01-01", "none") for i in range(10)]
    source = make_table(tmp_path, rows)
    sample = make_sample(source, Columns(), Settings(10), lambda patient, text: "MARK" in text)
    assert all(note.identified for note in sample.notes)
    assert sample.groups[0].with_identifiers == 10
    everyone = make_sample(source, Columns(), Settings(40), lambda patient, text: "MARK" in text)
    assert len({note.patient_id for note in everyone.notes}) == 40


def test_without_a_finder_no_note_is_searched(tmp_path):
    sample = make_sample(make_table(tmp_path, many(50)), Columns(), Settings(5))
    assert sample.frame()["with_identifiers"] is None
    assert {note.identified for note in sample.notes} == {None}


def test_with_a_column_of_words_only_drawn_notes_are_read(tmp_path):
    rows = [(*row, len(row[-1].split())) for row in many(400)]
    source = make_table(tmp_path, rows, [*HEADER, "words"])
    sample = make_sample(source, Columns(words="words"), Settings(20, 2))
    assert source.read == len(sample.notes)
    assert all("text" not in columns for columns in source.scanned)


def test_with_a_finder_only_candidates_are_read(tmp_path):
    rows = [(*row, len(row[-1].split())) for row in many(2000, patients=1000)]
    source = make_table(tmp_path, rows, [*HEADER, "words"])
    make_sample(source, Columns(words="words"), Settings(20, 2, pool=2), lambda patient, text: False)
    assert source.read < 400


def test_what_cannot_be_drawn_is_counted(tmp_path):
    rows = [
        *many(20),
        ("", "P1", "a", "2020-01-01", "w"),
        ("E1", "P1", "a", "2020-01-01", " \n"),
        ("E2", "P1", "a", "", ""),
    ]
    sample = make_sample(make_table(tmp_path, rows), Columns(), Settings(50))
    assert sample.skipped == {"no note id": 1, "empty": 2}
    assert sorted(names(sample)) == sorted(row[0] for row in many(20))


def test_notes_without_type_date_or_patient_are_drawn_too(tmp_path):
    rows = [*many(10), ("X1", "", "", "", "w"), ("X2", "", "", "", "w")]
    sample = make_sample(make_table(tmp_path, rows), Columns(), Settings(50), lambda patient, text: True)
    strays = [note for note in sample.notes if note.note_id in ("X1", "X2")]
    assert [(n.group.note_type, n.group.period, n.patient_id, n.identified) for n in strays] == [
        ("untyped", "undated", None, None)
    ] * 2


def test_columns_that_are_not_there_may_be_left_out(tmp_path):
    source = make_table(tmp_path, [(row[4],) for row in many(30)], ["text"])
    sample = make_sample(source, Columns("", "text", "", "", ""), Settings(7, 0))
    assert len(sample.notes) == 7
    assert [(group.note_type, group.period) for group in sample.groups] == [("untyped", "")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], r"no notes to sample from \(0 rows: none skipped\)"),
        ([("N1", "P", "a", "2020-01-01", "")], r"no notes to sample from \(1 rows: 1 empty\)"),
        ([("N1", "P", "a", "1.2.2020", "w")], "none of the 1 dates could be parsed"),
        (
            [("N1", "P", "a", "2020-01-01", "w"), ("N1", "P", "a", "2020-01-01", "w")],
            "rows 1 and 2 have the same note id",
        ),
    ],
)
def test_invalid_tables_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        make_sample(make_table(tmp_path, rows), Columns(), Settings(5))


def test_a_number_of_words_must_be_a_number(tmp_path):
    source = make_table(tmp_path, [("N1", "P", "a", "2020-01-01", "w", "Zarza")], [*HEADER, "words"])
    with pytest.raises(InputError, match="row 1: the number of words is not a number"):
        make_sample(source, Columns(words="words"), Settings(5))


def test_a_table_that_shrinks_meanwhile_is_refused(tmp_path):
    source = make_table(tmp_path, many(30))
    source.texts = lambda keys, columns: iter([])
    with pytest.raises(InputError, match=r"could not be read again"):
        make_sample(source, Columns(), Settings(5))


def test_an_id_that_an_empty_note_has_too_is_told(tmp_path):
    rows = [*many(10), ("N3", "P1", "progress", "2018-05-01", "")]
    with pytest.raises(InputError, match=r"1 note\(s\) could not be read again.*note ids are unique"):
        make_sample(make_table(tmp_path, rows), Columns(), Settings(5))


def test_half_of_a_surrogate_pair_is_refused_with_its_row(tmp_path):
    path = tmp_path / "n.jsonl"
    path.write_text('{"note_id": "1", "text": "Zarza \\ud83d"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"row 1: .* half of a surrogate pair") as caught:
        make_sample(open_source(str(path)), Columns(patient_id="", note_type="", date=""), Settings(5))
    assert "Zarza" not in str(caught.value)


def test_texts_are_drawn_as_they_are(tmp_path):
    text = "Sen\u0303ora\r\nNu\u0301n\u0303ez 👩‍⚕️\r\n\tfin "
    sample = make_sample(make_table(tmp_path, [("N1", "P", "a", "2020-01-01", text)]), Columns(), Settings(5))
    assert [note.text for note in sample.notes] == [text]


def test_a_column_of_ids_is_no_note_type(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_deid.sampling.draw._MAX_GROUPS", 20)
    with pytest.raises(InputError, match=r"more than 20 groups.*Check that 'note_id' holds the note type"):
        make_sample(make_table(tmp_path, many(30)), Columns(note_type="note_id"), Settings(5))


def candidate(note, patient):
    return Candidate(draw_order(0, f"n{note}"), patient, True, NoteKey(note + 1, f"N{note}"), 0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), max_size=80), st.integers(1, 10))
def test_a_pool_holds_distinct_patients_and_enough_notes(owners, size):
    pool = CandidatePool(size, 2)
    for note, owner in enumerate(owners):
        pool.add(candidate(note, str(owner)), draw_order(0, f"p{owner}"))
    kept = list(pool)
    assert len({c.key.row for c in kept}) == len(kept) <= size * 3
    assert len({c.patient for c in kept}) >= min(size, len(set(owners)))
    assert len(kept) >= min(size, len(owners))


def test_a_drawn_note_does_not_show_itself(tmp_path):
    sample = make_sample(make_table(tmp_path, [("N1", "P9", "a", "2020-01-01", "Zarza")]), Columns(), Settings(5))
    assert repr(sample.notes[0]) == "SampledNote(name='n000001', row=1)"


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
    with pytest.raises(InputError, match=r"the database rejected the query \(DivisionByZero\)"):
        make_sample(source, Columns(text="body", words="words"), Settings(20, 2))
    source.close()


def test_an_empty_table_of_a_server_is_refused(server, postgres_url):
    server("DELETE FROM sampled")
    source = open_source(postgres_url, table="sampled")
    with pytest.raises(InputError, match="no notes to sample from"):
        make_sample(source, Columns(), Settings(20, 2))
    source.close()


def test_a_server_gives_the_audit_that_a_file_gives(server, postgres_url, file, store):
    database = open_source(postgres_url, table="sampled")
    audits = [run_audit(source, Columns(), store, AuditSettings()).as_dict() for source in (file, database)]
    database.close()
    assert audits[0] == audits[1]
    assert audits[0]["leaks"]["all"]["all"]["hits"] > 0
