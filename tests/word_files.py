"""Build Word files from the XML of their parts."""

import io
import re
import zipfile

from spacy_deid.offsets import Edit

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"


NAMESPACES = (
    f'xmlns:w="{WORD}" xmlns:r="{OFFICE}" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:o="urn:schemas-microsoft-com:office:office" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: dict[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def package(body: str, links: str = "", **parts: str | bytes) -> bytes:
    """A document from the XML of its body, and other parts by their names."""
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{RELS}"><Relationship Id="rId1" Type="{OFFICE}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELS}">{links}</Relationships>',
    }
    return zipped(files | {f"word/{name.replace('__', '/').replace('_', '.')}": part for name, part in parts.items()})


RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def link(rid: str, kind: str, target: str, mode: str = "Internal") -> str:
    return f'<Relationship Id="{rid}" Type="{OFFICE}/{kind}" Target="{target}" TargetMode="{mode}"/>'


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def every(text: str, wanted: str) -> list[Edit]:
    return [Edit(found.start(), found.end(), "PATIENT", "[P]") for found in re.finditer(wanted, text)]


def save(document) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
