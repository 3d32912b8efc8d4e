"""DOCX: the text of every part is edited in place, formatting is kept, and hidden content is not copied."""

import io
import re
from xml.sax.saxutils import escape

import docx
import pytest
from docx.shared import RGBColor
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from PIL import Image, ImageDraw, ImageFont
from word_files import DRAWN, NAMESPACES, every, link, members, package, run, save, zipped

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.documents.docx import FORMAT as DOCX
from spacy_deid.offsets import Edit, apply_edits

NAME = "Braulio Sanz"


def released(data: bytes, name: str = NAME) -> bytes:
    """The copy with a name taken out, in which no byte of it is left."""
    document = read_document(data, "a.docx")
    copy = redact_document(document, every(document.text, name))
    for content in members(copy).values():
        assert not any(part.encode() in content for part in name.split())
    return copy


def test_word_split_into_runs_is_joined_and_keeps_the_format_of_the_first():
    original = docx.Document()
    paragraph = original.add_paragraph("Paciente ")
    paragraph.add_run("Brau").bold = True
    paragraph.add_run("lio ").italic = True
    paragraph.add_run("Sanz").font.color.rgb = RGBColor(255, 0, 0)
    paragraph.add_run(" ingresa")
    data = save(original)
    assert read_document(data, "a.docx").text == "Paciente Braulio Sanz ingresa"
    (copy,) = docx.Document(io.BytesIO(released(data))).paragraphs
    assert copy.text == "Paciente [P] ingresa"
    assert [run.text for run in copy.runs if run.bold] == ["[P]"]


def test_tables_headers_and_footers_of_all_sections_are_read():
    original = docx.Document()
    table = original.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Nombre", NAME
    original.settings.odd_and_even_pages_header_footer = True
    for number in range(2):
        section = original.add_section() if number else original.sections[0]
        section.different_first_page_header_footer = True
        for place in ("header", "first_page_header", "even_page_header", "footer", "first_page_footer"):
            part = getattr(section, place)
            part.is_linked_to_previous = False
            part.paragraphs[0].text = f"{place} {number} {NAME}"
    data = save(original)
    text = read_document(data, "a.docx").text
    assert text.count(NAME) == 11
    assert f"Nombre\t{NAME}" in text
    copy = docx.Document(io.BytesIO(released(data)))
    assert copy.sections[1].first_page_footer.paragraphs[0].text == "first_page_footer 1 [P]"
    assert copy.tables[0].cell(0, 1).text == "[P]"


def test_comments_are_read_and_their_authors_removed():
    original = docx.Document()
    paragraph = original.add_paragraph("Alta")
    original.add_comment(paragraph.runs, text=f"Llamar a {NAME}", author=NAME, initials="BS")
    (comment,) = docx.Document(io.BytesIO(released(save(original)))).comments
    assert (comment.text, comment.author, comment.initials) == ("Llamar a [P]", "", None)
    assert comment.timestamp is None


def test_properties_thumbnails_custom_xml_and_unreferenced_parts_are_removed():
    original = docx.Document()
    original.core_properties.author = original.core_properties.title = NAME
    data = members(save(original))
    data |= {"docProps/custom.xml": f"<a>{NAME}</a>", "customXml/item1.xml": f"<a>{NAME}</a>"}
    data |= {"word/glossary/document.xml": f"<a>{NAME}</a>", "docProps/thumbnail.jpeg": NAME.encode()}
    copy = released(zipped(data))
    assert not [name for name in members(copy) if name.startswith(("docProps", "customXml", "word/glossary"))]
    assert docx.Document(io.BytesIO(copy)).paragraphs == []


def test_text_box_is_read_once_after_its_paragraph():
    box = f"<w:txbxContent><w:p>{run('Box of ' + NAME)}</w:p></w:txbxContent>"
    drawing = f'<w:drawing><wp:inline><wp:docPr id="1" name="{NAME}" descr="Photo of {NAME}"/>'
    drawing += f"<wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></wp:inline></w:drawing>"
    fallback = f'<w:pict><v:shape id="{NAME}" alt="{NAME}"><v:textbox>{box}</v:textbox></v:shape></w:pict>'
    both = f'<mc:AlternateContent><mc:Choice Requires="wps">{drawing}</mc:Choice>'
    both += f"<mc:Fallback>{fallback}</mc:Fallback></mc:AlternateContent>"
    data = package(f"<w:p>{run('Bra')}<w:r>{both}</w:r>{run('ulio Sanz')}</w:p>")
    assert read_document(data, "a.docx").text == f"{NAME}\nPhoto of {NAME}\nBox of {NAME}"
    assert b"Box of [P]" in members(released(data))["word/document.xml"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f'<w:del w:author="{NAME}"><w:r><w:delText>{NAME}</w:delText></w:r></w:del>{run("Alta")}', "Alta"),
        (f'<w:ins w:author="{NAME}">{run("Al")}</w:ins>{run("ta")}', "Alta"),
        (f"<w:moveFrom>{run(NAME)}</w:moveFrom><w:moveTo>{run('Alta')}</w:moveTo>", "Alta"),
        (f'<w:r><w:rPr><w:rPrChange w:author="{NAME}"/></w:rPr><w:t>Alta</w:t></w:r>', "Alta"),
        (f'<w:hyperlink w:tooltip="{NAME}" r:id="rId9">{run("Alta")}</w:hyperlink>', "Alta"),
        (f'<w:sdt><w:sdtPr><w:alias w:val="{NAME}"/></w:sdtPr><w:sdtContent>{run("Al")}</w:sdtContent></w:sdt>', "Al"),
        (
            f'<w:smartTag><w:smartTagPr><w:attr w:val="{NAME}"/></w:smartTagPr>{run("A")}</w:smartTag>',
            "A",
        ),
        (f'<w:fldSimple w:instr=" AUTHOR {NAME} ">{run("Alta")}</w:fldSimple>', "Alta"),
        (f'<w:bookmarkStart w:id="0" w:name="{NAME}"/>{run("Alta")}<w:bookmarkEnd w:id="0"/>', "Alta"),
        (f"<w:r><w:t>Al</w:t><w:noBreakHyphen/><w:t>ta</w:t><w:tab/><w:t>1</w:t></w:r><!-- {NAME} -->", "Al-ta\t1"),
        (f"{run('Alta')}<w:unknown>{NAME}</w:unknown>{NAME}", "Alta"),
        (f'<w:r><w:object><v:shape alt="{NAME}"/></w:object></w:r>{run("Alta")}', "Alta"),
        (
            f'<w:r><w:pict><v:shape><o:signatureline o:suggestedsigner="{NAME}"/><v:imagedata src="{NAME}"/></v:shape>'
            f"</w:pict></w:r>{run('Alta')}",
            "Alta",
        ),
    ],
)
def test_hidden_content_is_neither_read_nor_copied(body, text):
    data = package(f"<w:p>{body}</w:p>", link("rId9", "hyperlink", f"mailto:{NAME}", "External"))
    assert read_document(data, "a.docx").text == text
    assert NAME.split()[0].encode() not in b"".join(members(released(data)).values())


def field(code: str, shown: str) -> str:
    parts = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    return f"{parts[0]}<w:r><w:instrText>{code}</w:instrText></w:r>{parts[1]}{shown}{parts[2]}"


def test_fields_are_replaced_by_their_result_except_page_numbers():
    inner = field(f"MERGEFIELD {NAME}", run("gone"))
    body = field(f'IF {NAME} = "{inner}" "a"', run("Alta ")) + field(" PAGE ", run("3"))
    copy = released(package(f"<w:p>{body}</w:p>"))
    assert read_document(copy, "a.docx").text == "Alta 3"
    xml = members(copy)["word/document.xml"]
    assert xml.count(b"instrText") == 2
    assert b" PAGE " in xml


def test_deleted_row_is_removed():
    rows = f"<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p>{run(NAME)}</w:p></w:tc></w:tr>"
    rows += f"<w:tr><w:tc><w:p>{run('Alta')}</w:p></w:tc></w:tr>"
    assert read_document(package(f"<w:tbl>{rows}</w:tbl>"), "a.docx").text == "Alta"


def test_notes_and_watermarks_are_read():
    note = f'<w:footnotes {NAMESPACES}><w:footnote w:id="1"><w:p>{run("See " + NAME)}</w:p></w:footnote></w:footnotes>'
    mark = f'<w:p><w:r><w:pict><v:shape><v:textpath string="Copy of {NAME}"/></v:shape></w:pict></w:r></w:p>'
    data = package(f"<w:p>{run('Alta')}</w:p>{mark}", link("rId1", "footnotes", "footnotes.xml"), footnotes_xml=note)
    assert read_document(data, "a.docx").text == f"Alta\nCopy of {NAME}\n\nSee {NAME}"
    copy = members(released(data))
    assert b'string="Copy of [P]"' in copy["word/document.xml"]
    assert b"See [P]" in copy["word/footnotes1.xml"]


def test_embedded_files_and_macros_are_removed_with_a_warning():
    links = link("rId1", "oleObject", "embeddings/a.bin") + link("rId2", "vbaProject", "vbaProject.bin")
    parts = {"embeddings__a_bin": NAME.encode(), "vbaProject_bin": NAME.encode()}
    data = package(f'<w:p><w:r><w:object r:id="rId1"/></w:r>{run("Alta")}</w:p>', links, **parts)
    document = read_document(data, "a.docx")
    assert document.warnings == ("embedded objects are removed", "macros are removed")
    assert [name for name in members(released(data)) if name.endswith("bin")] == []


def picture(text: str) -> bytes:
    image = Image.new("RGB", (900, 120), "white")
    ImageDraw.Draw(image).text((20, 30), text, fill="black", font=ImageFont.load_default(48))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def with_picture() -> bytes:
    original = docx.Document()
    original.add_paragraph("Alta")
    original.add_picture(io.BytesIO(picture("Patient Braulio Sanz here")))
    return save(original)


def test_embedded_picture_is_read_and_redacted(with_picture):
    document = read_document(with_picture, "a.docx")
    assert document.text == "Alta\n\nPatient Braulio Sanz here"
    copy = redact_document(document, every(document.text, NAME))
    assert read_document(copy, "a.docx").text.startswith("Alta\n\nPatient [P]")


@pytest.mark.parametrize("wish", ["remove", "keep"])
def test_embedded_picture_is_removed_or_kept_according_to_settings(with_picture, wish):
    read = ReadSettings(pictures=wish)
    document = read_document(with_picture, "a.docx", read)
    assert document.text == "Alta"
    assert document.warnings
    media = members(redact_document(document, [], WriteSettings(read=read)))["word/media/image1.png"]
    with Image.open(io.BytesIO(media)) as image:
        assert image.size == (900, 120)
        assert (image.convert("L").getextrema() == (255, 255)) is (wish == "remove")


def test_metafile_is_replaced_by_a_blank_picture():
    blip = '<a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:embed="rId1"/>'
    body = f"<w:p>{run('Alta')}<w:r><w:drawing>{blip}</w:drawing></w:r></w:p>"
    data = package(body, link("rId1", "image", "media/a.emf"), media__a_emf=NAME.encode())
    document = read_document(data, "a.docx")
    assert document.warnings == ("pictures that cannot be read are removed",)
    assert members(redact_document(document, []))["word/media/image1.png"].startswith(b"\x89PNG")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_edits_of_words_in_random_runs_round_trip(data):
    letters = st.text("abäÖñ 1<&>\u200d𝒳", min_size=1, max_size=12)
    paragraphs = data.draw(st.lists(st.lists(letters, min_size=1, max_size=5), min_size=1, max_size=4))
    body = "".join(f"<w:p>{''.join(run(escape(text)) for text in runs)}</w:p>" for runs in paragraphs)
    document = DOCX.read(package(body), "a.docx", ReadSettings())  # with joiners and letters set apart, as they are
    assert document.text == "\n".join("".join(runs) for runs in paragraphs)
    edits, start = [], 0
    for line in document.text.split("\n"):
        cuts = sorted(data.draw(st.sets(st.integers(0, len(line)), max_size=4)))
        for first, last in zip(cuts[::2], cuts[1::2], strict=False):
            edits.append(Edit(start + first, start + last, "X", data.draw(st.sampled_from(["[X]", "Müller & Co"]))))
        start += len(line) + 1
    copy = DOCX.write(
        document, edits, WriteSettings()
    )  # random letters stand in names of styles, so it is not verified
    assert DOCX.read(copy, "a.docx", ReadSettings()).text == apply_edits(document.text, edits)


def test_edit_across_paragraphs_removes_text_of_all():
    document = read_document(package(f"<w:p>{run('ab')}</w:p><w:p>{run('cd')}</w:p><w:p>{run('ef')}</w:p>"), "a.docx")
    copy = redact_document(document, [Edit(1, 7, "X", "-")])
    assert read_document(copy, "a.docx").text == "a-f"


def paragraph(text: str, style: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{run(text)}</w:p>'


STYLES = f'<w:styles {NAMESPACES}><w:style w:styleId="A"/><w:style w:styleId="B"/></w:styles>'


@pytest.mark.parametrize(("style", "text"), [("A", "a-d\nx"), ("B", "a-\nd\nx")])
def test_paragraphs_with_equal_formatting_are_joined_if_an_edit_covers_the_break(style, text):
    body = paragraph("ab", "A") + paragraph("cd", style) + paragraph("x", "A")
    data = package(body, link("rId1", "styles", "styles.xml"), styles_xml=STYLES)
    copy = redact_document(read_document(data, "a.docx"), [Edit(1, 4, "X", "-")])
    assert read_document(copy, "a.docx").text == text


def test_cells_and_sections_are_not_joined():
    cells = "".join(f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in ("ab", "cd"))
    section = f"<w:p><w:pPr><w:sectPr/></w:pPr>{run('ef')}</w:p><w:p>{run('gh')}</w:p>"
    document = read_document(package(f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>{section}"), "a.docx")
    assert document.text == "ab\tcd\nef\ngh"
    copy = redact_document(document, [Edit(1, 4, "X", "-"), Edit(7, 10, "X", "+")])
    assert read_document(copy, "a.docx").text == "a-\td\ne+\nh"


def test_visible_content_is_unchanged_without_edits():
    original = docx.Document()
    original.add_heading("Informe", 1)
    original.add_paragraph("uno", style="List Bullet")
    document = read_document(save(original), "a.docx")
    copy = docx.Document(io.BytesIO(redact_document(document, [])))
    assert [(p.text, p.style.name) for p in copy.paragraphs] == [("Informe", "Heading 1"), ("uno", "List Bullet")]


def test_custom_styles_are_renamed_and_keep_their_formatting():
    original = docx.Document()
    original.styles.add_style("Notes of Braulio", 1).font.bold = True
    original.add_paragraph("Braulio ingresa", style="Notes of Braulio")
    (paragraph,) = docx.Document(io.BytesIO(released(save(original), "Braulio"))).paragraphs
    assert re.fullmatch(r"Style \d+", paragraph.style.name)
    assert paragraph.style.font.bold


def test_invalid_language_codes_are_removed():
    body = f'<w:p><w:r><w:rPr><w:lang w:val="{NAME}" w:bidi="ar-SA"/></w:rPr><w:t>Soy {NAME}</w:t></w:r></w:p>'
    xml = members(released(package(body)))["word/document.xml"]
    assert b'<w:lang w:bidi="ar-SA"/>' in xml


def test_names_of_lists_themes_and_namespaces_are_removed():
    lists = f'<w:abstractNum><w:name w:val="{NAME}"/></w:abstractNum>'
    styles = f'<w:style><w:aliases w:val="{NAME}"/><w:t>{NAME}</w:t></w:style>'
    parts = {
        "numbering_xml": f"<w:numbering {NAMESPACES}>{lists}</w:numbering>",
        "theme_xml": f'<a:theme xmlns:a="{DRAWN}" name="{NAME}"><a:t>{NAME}</a:t></a:theme>',
        "styles_xml": f"<w:styles {NAMESPACES}>{styles}</w:styles>",
    }
    links = "".join(link(f"rId{i}", name[:-4], name.replace("_", ".")) for i, name in enumerate(parts))
    body = f'<w:p xmlns:x="urn:{NAME.split()[0]}" x:who="{NAME}">{run("Alta")}<x:who name="{NAME}"/></w:p>'
    copy = members(released(package(body, links, **parts)))
    assert {"word/numbering1.xml", "word/theme1.xml", "word/styles1.xml"} < set(copy)


def test_word_across_a_deleted_paragraph_mark_is_joined():
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    body = f"<w:p>{mark}{run('Brau')}</w:p><w:p>{mark}</w:p><w:p><w:pPr/>{run('lio Sanz')}</w:p><w:p>{mark}</w:p>"
    document = read_document(package(body), "a.docx")
    assert document.text == NAME
    assert read_document(released(package(body)), "a.docx").text == "[P]"


def test_hidden_text_is_removed_and_does_not_split_words():
    hidden = f"<w:r><w:rPr><w:vanish/></w:rPr><w:t>{NAME}</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Brau</w:t></w:r>'
    document = read_document(package(f"<w:p>{shown}{hidden}{run('lio Sanz')}</w:p>"), "a.docx")
    assert document.text == NAME
    assert document.warnings == ("hidden texts are removed",)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (run("Brau\u00adlio \u200bSanz\ufeff"), NAME),
        ("<w:r><w:t>Brau</w:t><w:softHyphen/><w:t>lio Sanz</w:t></w:r>", NAME),
        (
            f"<w:r><w:ruby><w:rt>{run('read')}</w:rt><w:rubyBase>{run(NAME)}</w:rubyBase></w:ruby></w:r>",
            NAME + "\nread",
        ),
        ('<w:r><w:sym w:char="FFFFFFFF"/><w:sym w:char="D800"/><w:sym w:char="F041"/><w:sym/></w:r>', "??A?"),
        (
            f'<a:p xmlns:a="{DRAWN}"><a:t>Braulio</a:t></a:p><a:p xmlns:a="{DRAWN}"><a:t>Sanz</a:t></a:p>',
            "Braulio\nSanz",
        ),
        (f"<w:r><w:rPr><w:t>{NAME}</w:t></w:rPr></w:r>", NAME),
        ('<w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>' + run(NAME), NAME),
        (f"<w:r><w:rPr><w:rtl/></w:rPr><w:t>{NAME}</w:t></w:r>", NAME),
    ],
)
def test_visible_text_is_read_in_order(body, text):
    document = read_document(package(f"<w:p>{body}</w:p>"), "a.docx")
    assert document.text == text
    copy = redact_document(document, every(text, NAME))
    assert read_document(copy, "a.docx").text == text.replace(NAME, "[P]")


def test_picture_stays_when_its_effect_is_removed():
    effect = '<a:extLst><a:ext><a:imgLayer r:embed="rId2"/></a:ext></a:extLst>'
    blip = f'<a:blip xmlns:a="{DRAWN}" r:embed="rId1">{effect}</a:blip>'
    links = link("rId1", "image", "a.png") + link("rId2", "hdphoto", "a.wdp")
    data = package(f"<w:p><w:r><w:drawing>{blip}</w:drawing></w:r></w:p>", links, a_png=picture("Alta"), a_wdp=b"")
    document = read_document(data, "a.docx", ReadSettings(pictures="remove"))
    copy = members(redact_document(document, [], WriteSettings(read=ReadSettings(pictures="remove"))))
    assert b"<a:blip" in copy["word/document.xml"]
    assert b"imgLayer" not in copy["word/document.xml"]


def test_copy_opens_with_other_software():
    data = package(f"<w:p>{run('a')}</w:p>")
    copy = members(redact_document(read_document(data, "a.docx"), [Edit(0, 1, "X", "\x00<")]))
    assert "\ufffd&lt;" in copy["word/document.xml"].decode()
    assert etree.fromstring(copy["[Content_Types].xml"]) is not None
