import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder
from spacy_deid.evaluation.i2b2 import read_i2b2, write_i2b2
from spacy_deid.labels import LABELS

CANARY = "Wenzeslaus"


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
        (f'<NAME start="0" end="3" TYPE="{CANARY}"/>', "the label is not in scheme 'i2b2'"),
        (f'<{CANARY} start="0" end="3"/>', "the label is not in scheme 'i2b2'"),
        ('<NAME end="3" TYPE="PATIENT"/>', "the tag has no start"),
        ('<NAME start="0.5" end="3" TYPE="PATIENT"/>', "an offset is not a whole number"),
        ('<NAME start="-1" end="3" TYPE="PATIENT"/>', "an offset is not a whole number"),
        ('<NAME start="0" end="99" TYPE="PATIENT"/>', "0:99 is outside the text"),
        (f'<NAME start="0" end="3" text="{CANARY}" TYPE="PATIENT"/>', "the quoted text differs from the text at 0:3"),
    ],
)
def test_broken_tag_is_an_error_that_names_file_and_line_and_no_content(xml, tags, message):
    path = xml(deid("Ana Rueda", tags))
    with pytest.raises(InputError, match=rf"note\.xml, line 4: {message}") as raised:
        read_i2b2(path)
    assert CANARY not in str(raised.value)


def test_quoted_text_can_be_left_unchecked(xml):
    tags = '<NAME start="0" end="3" text="Eva" TYPE="PATIENT"/>'
    assert read_i2b2(xml(deid("Ana", tags)), check_text=False).entities == (Entity(0, 3, "PATIENT"),)


def test_document_type_declaration_is_refused_before_any_entity_expands(xml):
    bomb = '<!DOCTYPE deIdi2b2 [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n' + deid("&b;", "")
    with pytest.raises(InputError, match="line 1: a DOCTYPE is not allowed"):
        read_i2b2(xml(bomb))


def test_external_entity_is_refused(xml, tmp_path):
    (tmp_path / "secret").write_text(CANARY)
    evil = f'<!DOCTYPE d [<!ENTITY a SYSTEM "{tmp_path}/secret">]>\n' + deid("&a;", "")
    with pytest.raises(InputError, match="DOCTYPE"):
        read_i2b2(xml(evil))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"<deIdi2b2><TEXT>{CANARY}", "line 1: not XML"),
        ("", "line 1: not XML"),
        (f"<deIdi2b2>\n<TEXT>{CANARY}\x00</TEXT></deIdi2b2>", "line 2: not XML"),
        (f"<deIdi2b2><TEXT>{CANARY}</TEXT></deIdi2b2>", "needs one TEXT and one TAGS"),
        (f"<a><TEXT>{CANARY}</TEXT><TEXT/><TAGS/></a>", "needs one TEXT and one TAGS"),
        (f"<a><TEXT><PHI>{CANARY}</PHI></TEXT><TAGS/></a>", "line 1: an element within TEXT"),
        (f"<?xml version='1.0' encoding='klingon'?><a>{CANARY}</a>", "not XML"),
    ],
)
def test_broken_file_is_an_error_that_names_it_and_no_content(xml, content, message):
    with pytest.raises(InputError, match=rf"note\.xml.*{message}") as raised:
        read_i2b2(xml(content))
    assert CANARY not in str(raised.value)


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
