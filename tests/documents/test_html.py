"""HTML: visible text is edited in place, and hidden content is removed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document, verify
from spacy_deid.errors import DeidError, InputError
from spacy_deid.offsets import Edit, apply_edits

NAME = "Braulio Sanz"
PAGE = f"""<!DOCTYPE html><!-- {NAME} --><html lang="es"><head><meta name="author" content="{NAME}">
<title>Informe de {NAME}</title><style>p:after {{content: "{NAME}"}}</style><script>var a = "{NAME}"</script></head>
<body onload="f('{NAME}')"><h1>Informe</h1>
<p class="{NAME}" style="color: red">Paciente   <b>Brau</b>lio
  <i>Sanz</i> &amp; hija<br>Alta</p>
<table><tr><td>Nombre</td><td>{NAME}</td></tr></table>
<a href="mailto:{NAME}" title="Write to {NAME}">mail</a> <img src="{NAME}.png" alt="Photo of {NAME}">
<input type="hidden" value="{NAME}"><input value="{NAME}"><textarea>{NAME}</textarea>
<svg><text>{NAME}</text></svg><iframe srcdoc="{NAME}"></iframe><Sanz@x.es><x-card data-who="{NAME}">kept</x-card>
<template>{NAME}</template></body></html>"""


def every(text: str, wanted: str = NAME) -> list[Edit]:
    return [Edit(found.start(), found.end(), "PATIENT", "[P]") for found in re.finditer(wanted, text)]


def test_visible_text_is_read_and_words_are_not_split():
    text = read_document(PAGE.encode(), "a.html").text
    assert f"Informe\nPaciente {NAME} & hija\nAlta\nNombre\t{NAME}\n" in text
    assert text.startswith(f"Informe de {NAME}\n")
    assert "kept" in text
    assert text.count(NAME) == 8


def test_hidden_content_is_removed_and_formatting_kept():
    document = read_document(PAGE.encode(), "a.html")
    copy = redact_document(document, every(document.text)).decode()
    assert "Sanz" not in copy
    assert "Braulio" not in copy
    assert '<p style="color: red">Paciente <b>[P]</b><i></i> &amp; hija<br>Alta</p>' in copy
    assert '<img alt="Photo of [P]">' in copy
    root = html.fromstring(copy.encode())
    assert root.findtext(".//title") == "Informe de [P]"
    assert not root.xpath("//script | //style | //svg | //iframe | //*[@href] | //*[@src] | //*[@class]")
    assert document.warnings == ("pictures and embedded objects are removed",)


@pytest.mark.parametrize("name", ["a\x01b", "\x1f", "a\ufffeb", "{a}b", "}b{", "{}", "xmlns:\x02", "a:b:c"])
def test_attributes_whose_names_are_not_valid_in_xml_are_removed(name):
    page = f'<html {name}="{NAME}"><p {name}="{NAME}" title="Write\x01" align="left">{NAME}</p></html>'
    document = read_document(page.encode(), "a.html")
    copy = redact_document(document, every(document.text), identifiers=[NAME]).decode()
    assert '<p title="Write\ufffd" align="left">[P]</p>' in copy
    assert "Braulio" not in copy


def test_control_characters_in_text_with_a_direction_are_replaced():
    page = f"<p><bdo dir=ltr>A\x01 {NAME}</bdo></p>"
    assert f"A\ufffd {NAME}" in read_document(page.encode(), "a.html").text


def test_copy_with_a_name_in_an_odd_attribute_is_withheld():
    page = f'<p {{a}}title="{NAME}" a\x01{NAME.replace(" ", "")}="{NAME}">'
    with pytest.raises(DeidError, match="an attribute still contains") as caught:
        verify(page.encode(), "html", {NAME: "PATIENT"}, WriteSettings())
    assert "Braulio" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        "<meta charset=iso-8859-1><p>Íñigo</p>".encode("latin-1"),
        "<p>Íñigo</p>".encode("utf-16"),
        "<p>Íñigo</p>".encode(),
        b'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body>'
        + "<p>Íñigo</p></body></html>".encode(),
        "Íñigo".encode(),
        b"<p>&Iacute;&ntilde;igo",
    ],
)
def test_page_in_any_encoding_is_written_in_utf_8(data):
    document = read_document(data, "a.htm")
    assert document.text == "Íñigo"
    assert "Íñigo" in redact_document(document, []).decode("utf-8")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_edits_across_tags_round_trip(data):
    words = data.draw(st.lists(st.text("abñ<&", min_size=1, max_size=5), min_size=1, max_size=6))
    escaped = [word.replace("&", "&amp;").replace("<", "&lt;") for word in words]
    tags = data.draw(st.lists(st.sampled_from(["b", "i", "span"]), min_size=len(words), max_size=len(words)))
    page = "".join(f"<{tag}>{word}</{tag}>" for tag, word in zip(tags, escaped, strict=True))
    document = read_document(f"<p>start {page} end</p>".encode(), "a.html")
    assert document.text == f"start {''.join(words)} end"
    cuts = sorted(data.draw(st.sets(st.integers(6, len(document.text) - 4), max_size=4)))
    edits = [Edit(a, b, "", "[X]") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    assert read_document(redact_document(document, edits), "a.html").text == apply_edits(document.text, edits)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<p>Brau<b title="fett">lio</b> Sanz</p>', "Braulio Sanz\nfett"),
        ("<p>Brau&shy;lio Sa&#8203;nz&#xfeff;</p>", "Braulio Sanz"),
        ("<p>Braulio <b> Sanz</b></p>", "Braulio Sanz"),
        ("<p>Brau<wbr>lio</p><pre>a  b</pre>", "Braulio\na  b"),
        ("<table><tr><td>a<td>b<tr><td>c<p>d</table>", "a\tb\nc\nd"),
    ],
)
def test_inline_elements_do_not_split_words(page, text):
    document = read_document(page.encode(), "a.html")
    assert document.text == text
    assert read_document(redact_document(document, []), "a.html").text == text


@pytest.mark.parametrize("name", ["Black", "Center", "Solid"])
def test_names_equal_to_css_keywords_do_not_withhold_the_copy(name):
    page = f'<p align="center" style="color: black; border: solid 1px">Dr. {name} informa</p>'
    document = read_document(page.encode(), "a.html")
    assert b'align="center"' in redact_document(document, every(document.text, name))
    with pytest.raises(DeidError, match="attribute style still contains"):
        verify(f'<p style="font: {name}">a</p>'.encode(), "html", [name], WriteSettings())


def test_raw_text_elements_do_not_become_scripts():
    page = b'<p>a<noscript><p title="</noscript><script>f()</script>">b</p></noscript><xmp><script>g()</script></xmp>'
    copy = redact_document(read_document(page, "a.html"), [])
    assert b"<script" not in copy
    assert b"<noscript" not in copy


@pytest.mark.parametrize("depth", [380, 1000, 100_000])
def test_deeply_nested_page_is_read_completely_or_refused(depth):
    page = b"<div>" * depth + b"Alta"
    if depth < 400:
        assert read_document(page, "a.html").text == "Alta"
        return
    with pytest.raises(InputError, match=r"a\.html: more than 400 levels of nested elements"):
        read_document(page, "a.html")


def test_paragraphs_with_equal_formatting_are_joined_if_an_edit_covers_the_break():
    page = "<p>ab</p>\n<p>c<b>d</b></p><p></p><p>e</p><p align=left>f</p><table><tr><td>g</td><td>h</td></tr></table>"
    document = read_document(page.encode(), "a.html")
    assert document.text == "ab\ncd\ne\nf\ng\th"
    copy = redact_document(
        document, [Edit(1, 4, "X", "-"), Edit(5, 6, "X", "_"), Edit(7, 9, "X", "+"), Edit(11, 12, "X", "")]
    )
    assert b"<p>a-<b>d_</b>e</p>" in copy
    assert read_document(copy, "a.html").text == "a-d_e\n+\ng\th"


def test_name_in_a_comment_is_found():
    with pytest.raises(DeidError, match="comments still contains"):
        verify(f"<p>Alta</p><!-- {NAME} -->".encode(), "html", [NAME], WriteSettings())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"   ", "no visible content"),
        (b"<meta charset=klingon>x", "unknown encoding"),
        (b"\xff\xfa", "not valid utf-8"),
    ],
)
def test_invalid_pages_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        read_document(data, "a.html", ReadSettings())


def test_control_characters_in_unknown_elements_are_read():
    document = read_document(b"<div><ana\x1c>Ingresa\x1c Ana</ana\x1c></div><x-y>\x0bHoy</x-y>", "a.html")
    assert "Ana" in document.text
    assert "Hoy" in document.text


def test_page_with_too_many_elements_is_refused_before_parsing():
    with pytest.raises(InputError, match=r"a\.html: more than 1,000,000 elements"):
        read_document(b"Alta" + b"<br>" * 1_000_001, "a.html")


@pytest.mark.parametrize(
    "planted", ['lang="braulio"', 'style="font-family: braulio"', 'style="color: braulio"', 'style="braulio: red"']
)
def test_name_in_place_of_an_html_keyword_is_removed(planted):
    document = read_document(f"<p {planted}>Soy Braulio</p>".encode(), "a.html")
    copy = redact_document(document, [Edit(4, 11, "PATIENT", "[P]")])
    assert b"braulio" not in copy.lower()


def test_styles_of_css_keywords_only_are_kept():
    page = b'<p style="font-family: Georgia, serif; color:#ff0000; border: 1px solid black" lang="es-ES">Alta</p>'
    copy = redact_document(read_document(page, "a.html"), [])
    assert b'<p style="font-family: georgia, serif; color:#ff0000; border: 1px solid black" lang="es-ES">' in copy
