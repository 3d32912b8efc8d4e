import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.brat import read_brat, write_brat

CANARY = "Wenzeslaus"


@pytest.fixture
def brat(tmp_path):
    """Write a pair of files, byte by byte, and give the .ann file."""

    def write(text: str, annotations: str):
        (tmp_path / "note.txt").write_bytes(text.encode())
        (tmp_path / "note.ann").write_bytes(annotations.encode())
        return tmp_path / "note.ann"

    return write


def test_entities_are_read_and_all_other_lines_skipped(brat):
    path = brat(
        "Ana Rueda, Lugo",
        "T1\tNOMBRE_SUJETO_ASISTENCIA 0 9\tAna Rueda\n"
        "A1\tNegated T1\n"
        "R1\tLives Arg1:T1 Arg2:T2\n"
        "E1\tVisit:T1\n"
        "#1\tAnnotatorNotes T1\tsure\n"
        "*\tEquiv T1 T2\n"
        "N1\tReference T1 DB:1\tx\n"
        "\n"
        "T2\tTERRITORIO 11 15\tLugo\n",
    )
    expected = (Entity(0, 9, "PATIENT"), Entity(11, 15, "TERRITORY"))
    assert read_brat(path, scheme="meddocan") == AnnotatedText("note", "Ana Rueda, Lugo", expected)


def test_offsets_count_carriage_returns_of_the_file(brat):
    path = brat("Datos\r\nAna", "T1\tPATIENT 7 10\tAna\r\n")
    note = read_brat(path)
    assert (note.text, note.entities) == ("Datos\r\nAna", (Entity(7, 10, "PATIENT"),))


def test_offsets_count_the_byte_order_mark(brat):
    assert read_brat(brat("\ufeffAna", "T1\tPATIENT 1 4\tAna\n")).text == "\ufeffAna"


def test_offsets_count_characters_and_not_bytes_or_code_units(brat):
    path = brat("😀 Íñigo", "T1\tPATIENT 2 7\tÍñigo\n")
    assert read_brat(path).entities == (Entity(2, 7, "PATIENT"),)


def test_fragments_become_entities_of_their_own(brat):
    path = brat("Ana (madre) Rueda", "T1\tPATIENT 0 3;12 17\tAna Rueda\n")
    assert read_brat(path).entities == (Entity(0, 3, "PATIENT"), Entity(12, 17, "PATIENT"))


def test_fragments_around_a_line_end_are_one_entity(brat):
    path = brat("Ana\nRueda", "T1\tPATIENT 0 3;4 9\tAna Rueda\n")
    assert read_brat(path).entities == (Entity(0, 9, "PATIENT"),)


def test_entity_across_a_line_end_is_quoted_with_a_blank(brat):
    path = brat("Ana\r\nRueda", "T1\tPATIENT 0 10\tAna  Rueda\n")
    assert read_brat(path).entities == (Entity(0, 10, "PATIENT"),)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (f"T1\tPATIENT 0 3\t{CANARY}\n", "line 1: the quoted text differs from the text at 0:3"),
        ("T1\tPATIENT 0 3\n", "line 1: the quoted text differs"),
        (f"T1\tPATIENT 0 99\t{CANARY}\n", "line 1: 0:99 is outside the text of 15 characters"),
        ("T1\tPATIENT 3 3\t\n", "line 1: 3:3 is outside the text"),
        (f"#1\tNote T1\tx\nT1\t{CANARY} 0 3\tAna\n", "line 2: the label is not in scheme 'canonical'"),
        (f"{CANARY}\n", "line 1: not an annotation"),
        ("T1\tPATIENT -1 3\tAna\n", "line 1: not an annotation"),
        ("T1\tPATIENT 0 3\tAna\nT1\tPATIENT 4 9\tRueda\n", "line 2: the id of the annotation stands twice"),
    ],
)
def test_broken_line_is_an_error_that_names_file_and_line_and_no_content(brat, annotations, message):
    path = brat(f"Ana Rueda, {CANARY[:4]}", annotations)
    with pytest.raises(InputError, match=rf"note\.ann, {message}") as raised:
        read_brat(path)
    assert CANARY not in str(raised.value)


def test_quoted_text_can_be_left_unchecked(brat):
    path = brat("Ana Rueda", "T1\tPATIENT 0 3\tEva\n")
    assert read_brat(path, check_text=False).entities == (Entity(0, 3, "PATIENT"),)


def test_offsets_are_checked_even_if_quotes_are_not(brat):
    with pytest.raises(InputError, match="outside the text"):
        read_brat(brat("Ana", "T1\tPATIENT 0 9\tAna\n"), check_text=False)


def test_missing_note_is_an_error_that_names_it(tmp_path):
    (tmp_path / "note.ann").write_text("")
    with pytest.raises(InputError, match=r"note\.txt: No such file"):
        read_brat(tmp_path / "note.ann")


def test_note_in_another_encoding_is_an_error_that_names_it(tmp_path):
    (tmp_path / "note.ann").write_text("")
    (tmp_path / "note.txt").write_bytes("Íñigo".encode("latin-1"))
    with pytest.raises(InputError, match=r"note\.txt: not valid UTF-8 text"):
        read_brat(tmp_path / "note.ann")


@pytest.mark.parametrize("name", ["", "../note", "a/b", ".hidden", "a\\b", "a\nb"])
def test_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="cannot be used as a file name"):
        write_brat(AnnotatedText(name, "Ana"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_lone_surrogate_is_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(InputError, match=r"note\.txt: not valid UTF-8"):
        write_brat(AnnotatedText("note", "Ana \ud800"), tmp_path)
    assert not list(tmp_path.iterdir())


@st.composite
def notes(draw, alphabet=None):
    """Notes full of line ends, marks and characters outside the basic plane."""
    alphabet = alphabet or st.sampled_from("ab \n\r\t]>&\"'<\ufeff😀\u2028ñ;")
    text = draw(st.text(alphabet, max_size=30))
    spans = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted)
    kept = [(a, b) for a, b in draw(st.lists(spans, max_size=4)) if a < b <= len(text)]
    return AnnotatedText("note", text, tuple(Entity(a, b, "PATIENT") for a, b in kept))


@given(note=notes())
def test_any_note_is_read_as_it_was_written(tmp_path_factory, note):
    folder = tmp_path_factory.mktemp("brat")
    assert read_brat(write_brat(note, folder, scheme="i2b2"), scheme="i2b2") == note
