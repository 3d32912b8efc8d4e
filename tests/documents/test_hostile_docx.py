"""DOCX files that are damaged or malicious, or contain names in unusual places: they are refused or withheld."""

import io
import zipfile

import docx
import pytest
from word_files import DRAWN, NAMESPACES, RELS, WORD, every, link, members, package, run, save, zipped

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit

NAME = "Braulio Sanz"


def stored(files: dict[str, bytes]) -> bytes:
    """As `zipped`, but not packed, so that repetitions are no bomb."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


WORDS = (
    "Roman Strong Light Black Grid Calibri Office Table Theme Document Header Numbering Settings Style Styles Georgia "
    "Relationship Package Content Image Microsoft Default Major Accent"
).split()


def test_names_equal_to_words_of_the_format_do_not_withhold_the_copy():
    original = docx.Document()
    for name in WORDS:
        original.add_paragraph(f"Dr. {name} informa", style="List Bullet").runs[0].font.name = "Georgia"
    original.sections[0].header.paragraphs[0].text = "Alta"
    document = read_document(save(original), "a.docx")
    assert document.text.startswith("Alta\n\nDr. Roman informa\nDr. Strong informa")
    starts = [document.text.index(f"Dr. {name} informa") + 4 for name in WORDS]
    edits = [Edit(start, start + len(name), "P", "[P]") for start, name in zip(starts, WORDS, strict=True)]
    copy = redact_document(document, edits)
    assert [p.text for p in docx.Document(io.BytesIO(copy)).paragraphs] == ["Dr. [P] informa"] * len(WORDS)


PLANTED = "Braulio"


FONTS = f'<w:fonts {NAMESPACES}><w:font w:name="{{}}"/></w:fonts>'


SCHEME = f'<a:theme xmlns:a="{DRAWN}" name=""><a:latin typeface="{{}}"/></a:theme>'


@pytest.mark.parametrize("planted", [PLANTED, PLANTED.lower(), "Braulio_Sanz"])
@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ('<w:p><w:r><w:rPr><w:rFonts w:ascii="{}"/></w:rPr><w:t>Soy Braulio</w:t></w:r></w:p>', {}),
        ("", {"fontTable_xml": FONTS}),
        ("", {"theme_xml": SCHEME}),
        ('<w:p><w:pPr><w:shd w:themeFill="{}"/></w:pPr></w:p>', {}),
        ('<w:p xmlns:q="http://schemas.openxmlformats.org/{}"><q:p/></w:p>', {}),
    ],
    ids=["font of a run", "font table", "theme", "value", "namespace"],
)
def test_name_in_place_of_a_format_keyword_is_found(body, parts, planted):
    body = f"<w:p>{run('Soy Braulio')}</w:p>" + body.format(planted)
    links = "".join(link(f"rId{i}", name[:-4], name.replace("_", ".")) for i, name in enumerate(parts))
    data = package(body, links, **{name: part.format(planted) for name, part in parts.items()})
    document = read_document(data, "a.docx")
    with pytest.raises(DeidError, match="still contains PATIENT"):
        redact_document(document, every(document.text, "Braulio"))


@pytest.mark.parametrize("name", ["braulio", "Braulio"])
def test_unknown_element_names_and_ids_are_searched(name):
    data = members(package(f"<w:p>{run('Alta')}<w:{name}/></w:p>"))
    with pytest.raises(DeidError, match="names of elements still contains PATIENT"):
        verify(zipped(data), "docx", {"Braulio": "PATIENT"}, WriteSettings())
    data = members(package("", link(name, "header", f"{name}.xml")))
    with pytest.raises(DeidError, match="still contains PATIENT"):
        verify(zipped(data), "docx", {"Braulio": "PATIENT"}, WriteSettings())


@pytest.mark.parametrize(
    ("content", "planted"),
    [
        ('<w:style w:styleId="x"><w:name w:val="Braulio"/></w:style>', "word/styles.xml"),
        ('<w:p><w:bookmarkStart w:id="0" w:name="Braulio"/></w:p>', "word/document.xml"),
        ('<item who="Braulio"/>', "customXml/item1.xml"),
        ("<item/>", "word/Braulio.xml"),
        ("<cp><creator>Braulio</creator></cp>", "docProps/core.xml"),
        ('<w:p><w:r><w:fldSimple w:instr="AUTHOR Braulio"/></w:r></w:p>', "word/document.xml"),
        ('<w:p><w:ins w:author="Braulio"/></w:p>', "word/document.xml"),
    ],
)
def test_custom_values_are_searched(content, planted):
    root = f"<w:document {NAMESPACES}>{content}</w:document>" if "w:" in content else content
    data = members(package(f"<w:p>{run('Alta')}</w:p>")) | {planted: root}
    with pytest.raises(DeidError, match="still contains PATIENT"):
        verify(zipped(data), "docx", {"Braulio": "PATIENT"}, WriteSettings())


def test_chain_of_a_thousand_parts_is_read():
    files = members(package("<w:p/>", link("rId1", "header", "h0.xml")))
    for i in range(1500):
        files[f"word/h{i}.xml"] = f"<w:hdr {NAMESPACES}><w:p>{run('h')}</w:p></w:hdr>".encode()
        files[f"word/_rels/h{i}.xml.rels"] = (
            f'<Relationships xmlns="{RELS}">{link("rId1", "header", f"h{i + 1}.xml")}</Relationships>'
        ).encode()
    assert read_document(zipped(files), "a.docx").text.count("h") == 1500


def test_parts_with_removable_root_elements_are_read():
    data = package(f"<w:p>{run('Alta')}</w:p>", link("rId1", "header", "h.xml"), h_xml=f"<w:del {NAMESPACES}/>")
    assert read_document(data, "a.docx").text == "Alta"


def test_text_in_an_unread_part_is_found():
    data = members(package(f"<w:p>{run('Alta')}</w:p>")) | {"word/strange.xml": f"<a>{NAME}</a>"}
    with pytest.raises(DeidError, match=r"word/strange\.xml still contains PATIENT"):
        verify(zipped(data), "docx", {NAME: "PATIENT"}, WriteSettings())


def attack(entity: str) -> bytes:
    files = members(package(""))
    files["word/document.xml"] = (
        f'<!DOCTYPE a [{entity}]><w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body>'
        "</w:document>"
    ).encode()
    return zipped(files)


def broken(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members(package("")).items():
            archive.writestr(name, content)
    data = out.getvalue()
    at = data.index(b"word/document.xml") + 30
    return data[:at] + b"\xff" * 50 + data[at + 50 :]


LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("acdefghi", "cdefghib", strict=True)
)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (attack('<!ENTITY b SYSTEM "file:///etc/passwd">'), "document type"),
        (attack(LAUGHS), "document type|malformed XML"),
        (zipped({"[Content_Types].xml": "", "word/a.xml": b"0" * 50_000_000}), "compressed by more than"),
        (zipped({"[Content_Types].xml": "", "word/a.xml": ""}), "the main part is missing"),
        (package("<w:p>"), "malformed XML"),
        (package("")[:200], "a damaged ZIP file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted or old Office file"),
        (b"PK\x03\x04", "a damaged ZIP file"),
        (broken(zipfile.ZIP_LZMA), "cannot be decompressed"),
        (broken(zipfile.ZIP_DEFLATED), "cannot be decompressed"),
        (b"", "the file is empty"),
        (zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "the content is xlsx"),
    ],
)
def test_invalid_files_are_refused(data, message):
    with pytest.raises(InputError, match=message) as caught:
        read_document(data, "a.docx")
    assert "a.docx" in str(caught.value)


def test_archive_over_max_bytes_is_not_decompressed():
    with pytest.raises(InputError, match="more than 90000 bytes after decompression"):
        read_document(package("<w:p/>" * 20_000), "a.docx", ReadSettings(max_bytes=90_000))


def test_document_with_too_many_elements_is_refused_before_parsing():
    files = members(package("<w:p/>" * 1_000_001))
    with pytest.raises(InputError, match=r"a\.docx: more than 1,000,000 elements"):
        read_document(stored(files), "a.docx")
