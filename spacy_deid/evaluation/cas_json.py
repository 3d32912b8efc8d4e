"""UIMA CAS JSON 0.4.0, the format that INCEpTION imports and exports, made of a note without any other package.

Identifiers go into the named-entity layer, those of the scheme "grascco" into the layer of its project.

Offsets count UTF-16 code units, as Java does: what lies beyond the Basic Multilingual Plane counts two.

Source: JSON serialization of the UIMA CAS 0.4.0, https://github.com/apache/uima-uimaj-io-jsoncas
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ..labels import LABELS
from .documents import AnnotatedText, relabel
from .files import file_name, write_text

__all__ = ["LAYER", "LAYERS", "Layer", "make_cas", "make_tagset", "write_cas_json"]

LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


class Layer(NamedTuple):
    """Where identifiers stand in a CAS.

    type (str): name of the annotation's type.
    feature (str): name of the feature that holds the label.
    """

    type: str
    feature: str


_GRASCCO = Layer("webanno.custom.PHI", "kind")
# those of GraSCCo and GeMTeX, of DKPro Core, and of INCEpTION's template "Basic annotation"
LAYERS = (_GRASCCO, Layer(LAYER, "value"), Layer("custom.Span", "label"))


def write_cas_json(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its annotations.

    document (AnnotatedText): what to write.
    folder (Path): folder to write NAME.json to.
    scheme (str): scheme to write the labels in.
    RETURNS (Path): the file.
    RAISES: InputError if the name cannot be a file's (D311) or the text cannot be UTF-8 (D301).
    """
    path = folder / file_name(document.name, ".json")
    write_text(path, json.dumps(make_cas(document, scheme), ensure_ascii=False, indent=1) + "\n")
    return path


def make_tagset(labels: Iterable[str] = tuple(LABELS), name: str = "spacy_deid") -> dict[str, Any]:
    """The labels as a tagset that INCEpTION imports.

    labels (Iterable[str]): canonical labels.
    name (str): name of the tagset.
    RETURNS (dict): JSON values.
    """
    tags = [{"tag_name": label, "tag_description": LABELS[label].description} for label in labels]
    return {"name": name, "description": "Identifiers", "language": "", "tags": tags, "create_tag": False}


def make_cas(document: AnnotatedText, scheme: str = "canonical") -> dict[str, Any]:
    """Make the CAS of a note.

    document (AnnotatedText): the note.
    scheme (str): scheme to write the labels in.
    RETURNS (dict): JSON values.
    """
    layer = _GRASCCO if scheme == "grascco" else Layer(LAYER, "value")
    units = _count_units(document.text)
    sofa = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": "_InitialView", "mimeType": "text"}
    whole = {"begin": 0, "end": units[-1], "language": "x-unspecified"}
    structures: list[dict[str, Any]] = [
        sofa | {"sofaString": document.text},
        {"%ID": 2, "%TYPE": "uima.tcas.DocumentAnnotation", "@sofa": 1} | whole,
    ]
    for number, entity in enumerate(relabel(document.entities, scheme), start=3):
        span = {"begin": units[entity.start], "end": units[entity.end], layer.feature: entity.label}
        structures.append({"%ID": number, "%TYPE": layer.type, "@sofa": 1} | span)
    members = [structure["%ID"] for structure in structures[1:]]
    return {
        "%TYPES": {layer.type: _type(layer)},
        "%FEATURE_STRUCTURES": structures,
        "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": members}},
    }


def _type(layer: Layer) -> dict[str, Any]:
    """The layer's type. DKPro Core declares an identifier for its named entities as well."""
    names = [layer.feature, "identifier"] if layer.type == LAYER else [layer.feature]
    features = {name: {"%NAME": name, "%RANGE": "uima.cas.String"} for name in names}
    return {"%NAME": layer.type, "%SUPER_TYPE": "uima.tcas.Annotation"} | features


def _count_units(text: str) -> Sequence[int]:
    """For each character of a text and its end, how many UTF-16 code units stand before it."""
    return [0, *accumulate(1 + (char > "\uffff") for char in text)]
