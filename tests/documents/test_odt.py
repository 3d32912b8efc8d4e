"""ODT: the text of every part is edited in place, formatting is kept, and hidden content is not copied."""

import io
import re
import zipfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf import teletype
from odf.opendocument import OpenDocumentText, load
from odf.style import Footer, Header, MasterPage, PageLayout, Style, TextProperties
from odf.table import Table, TableCell, TableRow
from odf.text import H, P, Span
from PIL import Image

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.documents.odt import FORMAT as ODT
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit, apply_edits

NAME = "Braulio Sanz"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = " ".join(
    f'xmlns:{short}="{ODF}:{long}:1.0"'
    for short, long in [
        *(("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("form", "form")),
        *(("svg", "svg-compatible"), ("style", "style")),
    ]
)
NAMESPACES += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def zipped(files: dict[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def package(body: str, **others: str | bytes) -> bytes:
    content = f"<office:document-content {NAMESPACES}><office:body><office:text>{body}</office:text></office:body>"
    files = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": content + "</office:document-content>",
    }
    return zipped(files | {name.replace("__", "/").replace("_", "."): part for name, part in others.items()})


def every(text: str, wanted: str = NAME) -> list[Edit]:
    return [Edit(found.start(), found.end(), "PATIENT", "[P]") for found in re.finditer(wanted, text)]


def released(data: bytes) -> bytes:
    document = read_document(data, "a.odt")
    copy = redact_document(document, every(document.text))
    for content in members(copy).values():
        assert not any(part.encode() in content for part in NAME.split())
    return copy


def test_document_of_another_program_keeps_its_formatting():
    original = OpenDocumentText()
    original.meta.addElement(__import__("odf.dc", fromlist=["Title"]).Title(text=NAME))
    bold = Style(name="Bold", family="text")
    bold.addElement(TextProperties(fontweight="bold"))
    original.automaticstyles.addElement(bold)
    layout = PageLayout(name="layout")
    original.automaticstyles.addElement(layout)
    master = MasterPage(name="Standard", pagelayoutname=layout)
    original.masterstyles.addElement(master)
    for kind in (Header, Footer):
        part = kind()
        part.addElement(P(text=f"Historia de {NAME}"))
        master.addElement(part)
    original.text.addElement(H(outlinelevel=1, text="Informe"))
    paragraph = P(text="Paciente ")
    paragraph.addElement(Span(stylename=bold, text="Brau"))
    paragraph.addText("lio Sanz ingresa")
    original.text.addElement(paragraph)
    table, row = Table(name=NAME), TableRow()
    for text in ("Nombre", NAME):
        cell = TableCell(valuetype="string", stringvalue=text)
        cell.addElement(P(text=text))
        row.addElement(cell)
    table.addElement(row)
    original.text.addElement(table)
    out = io.BytesIO()
    original.save(out)
    text = read_document(out.getvalue(), "a.odt").text
    assert text == f"Historia de {NAME}\nHistoria de {NAME}\n\nInforme\nPaciente {NAME} ingresa\nNombre\t{NAME}"
    copy = load(io.BytesIO(released(out.getvalue())))
    assert [teletype.extractText(p) for p in copy.getElementsByType(P)][:3] == [
        "Paciente [P] ingresa",
        "Nombre",
        "[P]",
    ]
    assert [str(span) for span in copy.getElementsByType(Span)] == ["[P]"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f'<text:tracked-changes><text:changed-region xml:id="a"><text:del><text:p>{NAME}</text:p></text:del>'
         "</text:changed-region></text:tracked-changes><text:p>Al<text:change-start/>ta</text:p>", "Alta"),
        (f'<text:p><text:a xlink:href="mailto:{NAME}" office:title="{NAME}">Al</text:a>ta</text:p>', "Alta"),
        (f'<text:p>Al<text:bookmark text:name="{NAME}"/>ta</text:p>', "Alta"),
        (f"<text:p>Alta<!-- {NAME} --></text:p><office:strange>{NAME}</office:strange>", "Alta"),
        (f'<text:p>A<draw:frame draw:name="{NAME}"><draw:object xlink:href="./a"/></draw:frame>lta</text:p>', "Alta"),
        (f'<office:forms><form:text form:value="{NAME}"/></office:forms><text:p>Alta</text:p>', "Alta"),
        (f'<text:user-field-decls><text:user-field-decl office:string-value="{NAME}"/></text:user-field-decls>'
         "<text:p>Alta</text:p>", "Alta"),
        ("<text:p>a<text:s text:c='2'/>b<text:tab/>c<text:line-break/>d</text:p>", "a  b\tc\nd"),
        ("<text:p>\n   a\n   b </text:p>", "a b "),
        (f'<text:p xmlns:h="http://www.w3.org/1999/xhtml" h:content="{NAME}">Alta<draw:control draw:control="{NAME}"/>'
         "</text:p>", "Alta"),
        (f'<text:p>Al<x:y xmlns:x="urn:{NAME.split()[0]}" who="{NAME}">ta</x:y></text:p>', "Alta"),
        (f'<text:p>Al<office:annotation office:name="{NAME}"><text:p>x</text:p></office:annotation>ta'
         f'<office:annotation-end office:name="{NAME}"/></text:p>', "Alta\nx"),
        ('<text:p>Al\u00adta<text:s text:c="²"/> \u200bb</text:p>', "Alta  b"),
        ("<text:p>Al <text:span> ta</text:span></text:p>", "Al ta"),
        ("<text:p><text:ruby><text:ruby-base>Alta</text:ruby-base><text:ruby-text>a</text:ruby-text></text:ruby></text:p>",
         "Alta\na"),
        ("<text:p><text:author-name>Ana</text:author-name> y <text:date>hoy</text:date></text:p>", "Ana y hoy"),
    ],
)  # fmt: skip
def test_hidden_content_is_neither_read_nor_copied(body, text):
    data = package(body, meta_xml=f"<a>{NAME}</a>", Thumbnails__thumbnail_png=NAME, **{"Object 1__content_xml": NAME})
    assert read_document(data, "a.odt").text == text
    assert set(members(released(data))) == {"mimetype", "content.xml", "META-INF/manifest.xml"}


def test_notes_comments_and_frames_follow_their_paragraph():
    note = f"<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Note on {NAME}</text:p>"
    comment = f"<office:annotation><dc:creator>{NAME}</dc:creator><text:p>Call {NAME}</text:p></office:annotation>"
    frame = f"<draw:frame><draw:text-box><text:p>Box of {NAME}</text:p></draw:text-box>"
    frame += f"<svg:desc>Photo of {NAME}</svg:desc></draw:frame>"
    body = f"<text:p>Bra{note}</text:note-body></text:note>u{comment}lio {frame}Sanz</text:p>"
    text = read_document(package(body), "a.odt").text
    assert text == f"{NAME}\n1 Note on {NAME}\nCall {NAME}\nPhoto of {NAME}\nBox of {NAME}"
    released(package(body))


def test_only_layout_settings_are_kept():
    items = "".join(
        f'<c:config-item c:name="{name}" c:type="{kind}">{value}</c:config-item>'
        for name, kind, value in [
            ("TabOverflow", "boolean", "true"),
            ("TableRowKeep", "string", NAME),
            ("PrinterName", "string", NAME),
            (NAME, "boolean", "true"),
        ]
    )
    settings = f'<a xmlns:c="{ODF}:config:1.0"><c:config-item-set c:name="{NAME}">{items}</c:config-item-set></a>'
    copy = released(package("<text:p>Alta</text:p>", settings_xml=settings))
    kept = members(copy)["settings.xml"].decode()
    assert kept.count("config-item ") == 1
    assert 'config:name="TabOverflow" config:type="boolean">true<' in kept
    assert 'full-path="settings.xml"' in members(copy)["META-INF/manifest.xml"].decode()


def test_hidden_text_is_removed_and_does_not_split_words():
    styles = '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    styles = f"<office:document-styles {NAMESPACES}><office:styles>{styles}</office:styles></office:document-styles>"
    body = f'<text:p>Brau<text:span text:style-name="H">{NAME}</text:span>lio Sanz</text:p>'
    document = read_document(package(body, styles_xml=styles), "a.odt")
    assert document.text == NAME
    assert document.warnings == ("hidden texts are removed",)


def test_picture_is_renamed_or_removed_according_to_settings():
    picture = io.BytesIO()
    Image.new("L", (40, 30), 0).save(picture, "PNG")
    body = f'<text:p>Alta<draw:frame><draw:image xlink:href="Pictures/{NAME}.png"/></draw:frame></text:p>'
    read = ReadSettings(pictures="remove")
    document = read_document(
        zipped(members(package(body)) | {f"Pictures/{NAME}.png": picture.getvalue()}), "a.odt", read
    )
    copy = members(redact_document(document, [], WriteSettings(read=read)))
    with Image.open(io.BytesIO(copy["Pictures/1"])) as image:
        assert image.getextrema() == (255, 255)
    assert b'xlink:href="Pictures/1"' in copy["content.xml"]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_edits_across_spans_round_trip(data):
    part = st.one_of(st.text("abñ<&", min_size=1, max_size=5), st.just("\t"), st.just("  "))
    parts = data.draw(st.lists(part, min_size=1, max_size=6))
    shown = {"\t": "<text:tab/>", "  ": '<text:s text:c="2"/>'}
    spans = [shown.get(part, f"<text:span>{escape(part)}</text:span>") for part in parts]
    document = ODT.read(package(f"<text:p>x{''.join(spans)}x</text:p>"), "a.odt", ReadSettings())  # with wide blanks
    assert document.text == f"x{''.join(parts)}x"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(document.text)), max_size=6)))
    edits = [Edit(a, b, "", "[X]") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    copy = ODT.read(redact_document(document, edits), "a.odt", ReadSettings())
    assert copy.text == apply_edits(document.text, edits)


def test_paragraphs_with_equal_formatting_are_joined_if_an_edit_covers_the_break():
    body = "<text:p>a<text:span>b</text:span></text:p><text:p>c<text:tab/>d</text:p><text:h>ef</text:h>"
    document = read_document(package(body), "a.odt")
    assert document.text == "ab\nc\td\nef"
    copy = redact_document(document, [Edit(1, 4, "X", "-"), Edit(5, 8, "X", "+")])
    assert read_document(copy, "a.odt").text == "a-\t+\nf"


def test_text_in_an_unread_part_is_found():
    with pytest.raises(DeidError, match=r"strange\.xml still contains PATIENT"):
        verify(package("<text:p/>", strange_xml=f"<a>{NAME}</a>"), "odt", {NAME: "PATIENT"}, WriteSettings())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (package("<text:p>"), "malformed XML"),
        (package("<text:p/>", **{"META-INF__manifest_xml": "<a><encryption-data/></a>"}), "encrypted"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "content.xml is missing"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), "the content is unknown"),
        (
            zipped(
                {
                    "mimetype": "application/vnd.oasis.opendocument.text",
                    "content.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a/>',
                }
            ),
            "document type",
        ),
    ],
)
def test_invalid_files_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        read_document(data, "a.odt")


def test_document_with_too_many_elements_is_refused_before_parsing():
    files = members(package("<text:p/>" * 1_000_001))
    with pytest.raises(InputError, match=r"a\.odt: more than 1,000,000 elements"):
        read_document(zipped(files), "a.odt")
