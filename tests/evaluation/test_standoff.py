"""Reading and writing brat stand-off and i2b2 XML."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import FORMATS, AnnotatedText, Entity, evaluate, read_folder, write_folder
from spacy_deid.evaluation.standoff import read_brat, read_i2b2, write_brat, write_i2b2
from spacy_deid.labels import LABELS

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


CANARY_I2B2 = "Wenzeslaus"


@pytest.fixture
def xml(tmp_path):
    """Write a file, byte by byte."""

    def write(content: str, encoding: str = "utf-8"):
        path = tmp_path / "note.xml"
        path.write_bytes(content.encode(encoding))
        return path

    return write


def deid(text: str, tags: str) -> str:
    return f"<deIdi2b2>\n<TEXT>{text}</TEXT>\n<TAGS>\n{tags}\n</TAGS>\n</deIdi2b2>"


def test_note_of_the_2014_task_is_read(pytestconfig):
    notes = read_folder(pytestconfig.rootpath / "tests/data/evaluation/i2b2", scheme="i2b2")
    assert [note.name for note in notes] == ["900-01"]
    text, found = notes[0].text, [(notes[0].text[e.start : e.end], e.label) for e in notes[0].entities]
    assert text.startswith("\n\n\nRecord date: 2081-03-14\n")
    assert found == [
        ("2081-03-14", "DATE"),
        ("Brindleford Clinic", "HOSPITAL"),
        ("Odalys Quenby", "PATIENT"),
        ("57", "AGE"),
        ("tanner & dyer", "PROFESSION"),
        ("555-0143", "PHONE"),
        ("Z. Thackeray", "CLINICIAN"),
    ]


def test_note_of_meddocan_is_read(pytestconfig):
    (note,) = read_folder(pytestconfig.rootpath / "tests/data/evaluation/meddocan", scheme="meddocan")
    found = [(note.text[e.start : e.end], e.label) for e in note.entities]
    assert found == [("Zoraida Peláez", "PATIENT"), ("Villaquieta", "TERRITORY"), ("madre", "RELATIVE")]


def test_offsets_count_the_text_that_the_parser_gives(xml):
    path = xml(
        "<deIdi2b2>\r\n<TEXT>Hi\r\nAna</TEXT><TAGS>\r\n<NAME start='3' end='6' TYPE='PATIENT'/></TAGS></deIdi2b2>"
    )
    note = read_i2b2(path)
    assert (note.text, note.entities) == ("Hi\nAna", (Entity(3, 6, "PATIENT"),))


def test_risk_factors_of_the_second_track_are_no_entities(xml):
    tags = '<MEDICATION id="DOC0" time="before DCT" type1="statin" type2=""/><SMOKER id="DOC1" status="past"/>'
    assert read_i2b2(xml(deid("x", tags))).entities == ()


def test_tag_without_type_is_of_the_type_that_it_is_named_by(xml):
    assert read_i2b2(xml(deid("57", '<AGE start="0" end="2"/>'))).entities == (Entity(0, 2, "AGE"),)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (f'<NAME start="0" end="3" TYPE="{CANARY_I2B2}"/>', "the label is not in scheme 'i2b2'"),
        (f'<{CANARY_I2B2} start="0" end="3"/>', "the label is not in scheme 'i2b2'"),
        ('<NAME end="3" TYPE="PATIENT"/>', "the tag has no start"),
        ('<NAME start="0.5" end="3" TYPE="PATIENT"/>', "an offset is not a whole number"),
        ('<NAME start="-1" end="3" TYPE="PATIENT"/>', "an offset is not a whole number"),
        ('<NAME start="0" end="99" TYPE="PATIENT"/>', "0:99 is outside the text"),
        (
            f'<NAME start="0" end="3" text="{CANARY_I2B2}" TYPE="PATIENT"/>',
            "the quoted text differs from the text at 0:3",
        ),
    ],
)
def test_broken_tag_is_an_error_that_names_file_and_line_and_no_content(xml, tags, message):
    path = xml(deid("Ana Rueda", tags))
    with pytest.raises(InputError, match=rf"note\.xml, line 4: {message}") as raised:
        read_i2b2(path)
    assert CANARY_I2B2 not in str(raised.value)


def test_quoted_text_can_be_left_unchecked_of_i2b2(xml):
    tags = '<NAME start="0" end="3" text="Eva" TYPE="PATIENT"/>'
    assert read_i2b2(xml(deid("Ana", tags)), check_text=False).entities == (Entity(0, 3, "PATIENT"),)


def test_document_type_declaration_is_refused_before_any_entity_expands(xml):
    bomb = '<!DOCTYPE deIdi2b2 [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n' + deid("&b;", "")
    with pytest.raises(InputError, match="line 1: a DOCTYPE is not allowed"):
        read_i2b2(xml(bomb))


def test_external_entity_is_refused(xml, tmp_path):
    (tmp_path / "secret").write_text(CANARY_I2B2)
    evil = f'<!DOCTYPE d [<!ENTITY a SYSTEM "{tmp_path}/secret">]>\n' + deid("&a;", "")
    with pytest.raises(InputError, match="DOCTYPE"):
        read_i2b2(xml(evil))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"<deIdi2b2><TEXT>{CANARY_I2B2}", "line 1: not XML"),
        ("", "line 1: not XML"),
        (f"<deIdi2b2>\n<TEXT>{CANARY_I2B2}\x00</TEXT></deIdi2b2>", "line 2: not XML"),
        (f"<deIdi2b2><TEXT>{CANARY_I2B2}</TEXT></deIdi2b2>", "needs one TEXT and one TAGS"),
        (f"<a><TEXT>{CANARY_I2B2}</TEXT><TEXT/><TAGS/></a>", "needs one TEXT and one TAGS"),
        (f"<a><TEXT><PHI>{CANARY_I2B2}</PHI></TEXT><TAGS/></a>", "line 1: an element within TEXT"),
        (f"<?xml version='1.0' encoding='klingon'?><a>{CANARY_I2B2}</a>", "not XML"),
    ],
)
def test_broken_file_is_an_error_that_names_it_and_no_content(xml, content, message):
    with pytest.raises(InputError, match=rf"note\.xml.*{message}") as raised:
        read_i2b2(xml(content))
    assert CANARY_I2B2 not in str(raised.value)


def test_other_encodings_are_read_as_declared(xml):
    content = "<?xml version='1.0' encoding='ISO-8859-1'?>" + deid("Íñigo", '<NAME start="0" end="5" TYPE="PATIENT"/>')
    assert read_i2b2(xml(content, "latin-1")).text == "Íñigo"


@pytest.mark.parametrize(
    "text", ["a]]>b", "]]>", "]]]>>]]", "a\r\nb\rc\n", "a\tb", "<&>\"'", "😀\ufeff\x85\u2028", ""]
)
def test_text_survives_whatever_xml_makes_of_it(tmp_path, text):
    entities = (Entity(0, len(text), "PATIENT"),) if text else ()
    note = AnnotatedText("note", text, entities)
    assert read_i2b2(write_i2b2(note, tmp_path)) == note


@pytest.mark.parametrize(("char", "code"), [("\x00", "0000"), ("\x0c", "000C"), ("\x1b", "001B"), ("\ufffe", "FFFE")])
def test_character_without_a_place_in_xml_is_an_error_and_leaves_no_file(tmp_path, char, code):
    with pytest.raises(InputError, match=rf"'note': the character U\+{code} at 3 is not allowed in XML"):
        write_i2b2(AnnotatedText("note", f"Ana{char}Rueda"), tmp_path)
    assert not list(tmp_path.iterdir())


@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_is_read_as_it_was_written_or_refused(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("xml")
    note = AnnotatedText("note", text, (Entity(0, len(text), "DATE"),) if text else ())
    try:
        path = write_i2b2(note, folder)
    except InputError:
        assert any(ord(char) < 32 or char in "\ufffe\uffff" for char in text)
    else:
        assert read_i2b2(path) == note


@pytest.mark.parametrize(
    ("label", "scheme", "start"),
    [
        ("PATIENT", "i2b2", '<NAME id="P0" start="0" end="3" text="Ana" TYPE="PATIENT"'),
        ("PATIENT", "meddocan", '<NAME id="P0" start="0" end="3" text="Ana" TYPE="NOMBRE_SUJETO_ASISTENCIA"'),
        ("RELATIVE", "meddocan", '<OTHER id="P0" start="0" end="3" text="Ana" TYPE="FAMILIARES_SUJETO_ASISTENCIA"'),
        ("EMAIL", "meddocan", '<CONTACT id="P0" start="0" end="3" text="Ana" TYPE="CORREO_ELECTRONICO"'),
        ("COUNTRY", "canonical", '<LOCATION id="P0" start="0" end="3" text="Ana" TYPE="COUNTRY"'),
        ("LICENSE", "i2b2", '<ID id="P0" start="0" end="3" text="Ana" TYPE="LICENSE"'),
    ],
)
def test_each_type_stands_in_the_element_of_its_category(tmp_path, label, scheme, start):
    path = write_i2b2(AnnotatedText("note", "Ana", (Entity(0, 3, label),)), tmp_path, scheme=scheme)
    assert start in path.read_text()


@pytest.mark.parametrize("scheme", ["canonical", "i2b2", "meddocan", "tab", "conll"])
def test_every_label_can_be_written(tmp_path, scheme):
    entities = tuple(Entity(i, i + 1, label) for i, label in enumerate(LABELS))
    path = write_i2b2(AnnotatedText("note", "x" * len(LABELS), entities), tmp_path, scheme=scheme)
    assert len(read_i2b2(path, scheme=scheme).entities) == len(LABELS)


@pytest.mark.parametrize(("scheme", "root"), [("i2b2", "<deIdi2b2>"), ("meddocan", "<MEDDOCAN>")])
def test_root_element_is_that_of_the_corpus(tmp_path, scheme, root):
    assert root in write_i2b2(AnnotatedText("note", "Ana"), tmp_path, scheme=scheme).read_text()


CORPUS = os.environ.get("SPACY_DEID_MEDDOCAN", "")
pytestmark = pytest.mark.skipif(not CORPUS, reason="SPACY_DEID_MEDDOCAN names no folder")


@pytest.fixture(scope="module", params=["train", "dev"])
def meddocan_brat(request):
    return request.param, read_folder(Path(CORPUS, request.param, "brat"), scheme="meddocan")


def test_brat_and_xml_hold_the_same_entities(meddocan_brat):
    split, documents = meddocan_brat
    assert len(documents) == {"train": 500, "dev": 250}[split]
    assert sum(len(document.entities) for document in documents) == {"train": 11333, "dev": 5801}[split]
    assert read_folder(Path(CORPUS, split, "xml"), scheme="meddocan") == documents


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "spacy"])
def test_every_note_is_read_as_it_was_written(meddocan_brat, format, tmp_path):
    write_folder(meddocan_brat[1], tmp_path, format, scheme="meddocan")
    assert read_folder(tmp_path, scheme="meddocan") == meddocan_brat[1]


def test_gold_against_itself_is_perfect(meddocan_brat):
    part = evaluate(meddocan_brat[1], meddocan_brat[1], scheme="meddocan", bootstrap=5)["all"]
    assert [part[kind]["f1"] for kind in ("ner", "span_strict", "span_merged", "character")] == [1.0] * 4
    assert part["clean"]["share"] == 1.0
