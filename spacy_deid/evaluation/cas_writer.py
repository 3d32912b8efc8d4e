"""UIMA CAS written by dkpro-cassis: XMI of a note, and identifiers put back into the CAS that they came from."""

import json
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .cas import TYPE_SYSTEM, find_layer, import_cassis, load_cas, replace_entities
from .cas_json import Layer, make_cas
from .documents import AnnotatedText
from .files import check_xml, file_name, read_bytes, write_text

__all__ = ["write_back", "write_xmi"]


def write_xmi(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its identifiers as XMI, and the type system that it needs beside it.

    document (AnnotatedText): what to write.
    folder (Path): folder to write NAME.xmi and TypeSystem.xml to.
    scheme (str): scheme to write the labels in.
    RETURNS (Path): the .xmi file.
    RAISES: InputError if the text holds a character that XML has no place for (D312), the name cannot be a file's
        (D311), or the type system of the folder cannot be read (D753); ConfigError without dkpro-cassis (D757).
    """
    check_xml(document)
    return _write_xmi(import_cassis().load_cas_from_json(json.dumps(make_cas(document, scheme))), document, folder)


def write_back(
    document: AnnotatedText, source: Path, folder: Path, *, scheme: str = "canonical", layer: Layer | None = None
) -> Path:
    """Write a note's identifiers into the CAS that the note came from. All else in it stays, its ids too.

    document (AnnotatedText): the note, with the entities that the CAS shall hold.
    source (Path): the CAS; it is changed only if it is the file that is written.
    folder (Path): folder to write to; the file's name is the document's, its format the source's.
    scheme (str): scheme of the labels in the CAS.
    layer (Layer | None): where the identifiers stand; None to find it.
    RETURNS (Path): the file.
    RAISES: InputError if the texts differ (D310); as `cas.read_cas` and `write_xmi`.
    """
    cas = load_cas(source)
    replace_entities(cas, document, source, scheme=scheme, layer=find_layer(cas, source, layer))
    if source.suffix != ".json":
        return _write_xmi(cas, document, folder)
    # cassis leaves out what it does not know, as "%HEADER"
    whole = json.loads(read_bytes(source).decode("utf-8-sig")) | json.loads(cas.to_json())
    path = folder / file_name(document.name, source.suffix)
    write_text(path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
    return path


def _write_xmi(cas: Any, document: AnnotatedText, folder: Path) -> Path:
    """Write a CAS as XMI, and the types of the folder's notes."""
    path = folder / file_name(document.name, ".xmi")
    types = cas.typesystem
    if (folder / TYPE_SYSTEM).is_file():
        types = _merge(folder / TYPE_SYSTEM, types)
    write_text(folder / TYPE_SYSTEM, types.to_xml())
    write_text(path, cas.to_xmi())
    return path


def _merge(path: Path, types: Any) -> Any:
    """Unite the type system of a folder with another: one file serves all notes of the folder."""
    cassis = import_cassis()
    try:
        return cassis.merge_typesystems(cassis.load_typesystem(read_bytes(path).decode("utf-8")), types)
    except InputError:
        raise
    except Exception as error:
        raise InputError(Errors.D753.format(path=path, reason=type(error).__name__)) from None
