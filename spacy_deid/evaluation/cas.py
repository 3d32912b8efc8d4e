"""Read and write notes as UIMA CAS, in JSON 0.4.0 and XMI: the formats that INCEpTION imports and exports.

Files are parsed by dkpro-cassis. JSON is written without it, so that notes can be exported for annotation without
installing the extra. Offsets in files count UTF-16 code units, as in Java; dkpro-cassis converts them.

Identifiers are the annotations of one layer: an annotation type with a feature that contains the label. Everything
else (tokens, sentences, other layers, types) is ignored when reading, and preserved when annotations are written
back to the CAS they came from. An annotation without a label is read as OTHER.

Sources: JSON serialization of the UIMA CAS 0.4.0, https://github.com/apache/uima-uimaj-io-jsoncas; XML Metadata
Interchange (XMI) of UIMA, https://uima.apache.org/d/uimaj-current/references.html
"""

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from ..errors import ConfigError, DeidError, Errors, InputError, describe_system
from ..labels import LABELS, SCHEMES, from_scheme, to_scheme
from .documents import AnnotatedText, Entity, check_xml, file_name, read_bytes, relabel, write_text

LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


class Layer(NamedTuple):
    """The annotation layer of a CAS that contains the identifiers.

    type (str): name of the annotation type.
    feature (str): name of the feature with the label.
    """

    type: str
    feature: str


_GRASCCO = Layer("webanno.custom.PHI", "kind")
# layers of GraSCCo and GeMTeX, of DKPro Core, and of INCEpTION's template "Basic annotation"
LAYERS = (_GRASCCO, Layer(LAYER, "value"), Layer("custom.Span", "label"))


def write_cas_json(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its annotations as CAS JSON.

    Labels of the scheme "grascco" are written to the layer of that project, others to the named-entity layer.

    document (AnnotatedText): the note.
    folder (Path): folder in which NAME.json is written.
    scheme (str): scheme of the labels to write.
    RETURNS (Path): the file.
    RAISES: InputError if the name is not a valid file name (D311) or the text cannot be encoded in UTF-8 (D301).
    """
    path = folder / file_name(document.name, ".json")
    write_text(path, json.dumps(make_cas(document, scheme), ensure_ascii=False, indent=1) + "\n")
    return path


def make_tagset(labels: Iterable[str] = tuple(LABELS), name: str = "spacy_deid") -> dict[str, Any]:
    """Create a tagset with canonical labels as tags, as a dict that INCEpTION can import after encoding as JSON."""
    tags = [{"tag_name": label, "tag_description": LABELS[label].description} for label in labels]
    return {"name": name, "description": "Identifiers", "language": "", "tags": tags, "create_tag": False}


def make_cas(document: AnnotatedText, scheme: str = "canonical") -> dict[str, Any]:
    """Convert a note to a CAS: a dict that can be encoded as JSON, with labels of the given scheme."""
    layer = _GRASCCO if scheme == "grascco" else Layer(LAYER, "value")
    # UTF-16 code units before each character and before the end
    units = [0, *accumulate(1 + (char > "\uffff") for char in document.text)]
    sofa = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": "_InitialView", "mimeType": "text"}
    whole = {"begin": 0, "end": units[-1], "language": "x-unspecified"}
    structures: list[dict[str, Any]] = [
        sofa | {"sofaString": document.text},
        {"%ID": 2, "%TYPE": "uima.tcas.DocumentAnnotation", "@sofa": 1} | whole,
    ]
    for number, entity in enumerate(relabel(document.entities, scheme), start=3):
        span = {"begin": units[entity.start], "end": units[entity.end], layer.feature: entity.label}
        structures.append({"%ID": number, "%TYPE": layer.type, "@sofa": 1} | span)
    # the named-entity layer of DKPro Core has the additional feature "identifier"
    names = [layer.feature, "identifier"] if layer.type == LAYER else [layer.feature]
    features = {name: {"%NAME": name, "%RANGE": "uima.cas.String"} for name in names}
    kind = {"%NAME": layer.type, "%SUPER_TYPE": "uima.tcas.Annotation"} | features
    members = [structure["%ID"] for structure in structures[1:]]
    return {
        "%TYPES": {layer.type: kind},
        "%FEATURE_STRUCTURES": structures,
        "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": members}},
    }


TYPE_SYSTEM = "TypeSystem.xml"
UNLABELLED = "OTHER"
_XMI_ID = "{http://www.omg.org/XMI}id"

_HEAD = re.compile(rb'\s*\{\s*"%(?:HEADER|TYPES|FEATURE_STRUCTURES|VIEWS)"')
# prefixes of types that DKPro Core and UIMA declare in every file; other types are custom layers
_BUILT_IN = ("uima.", "de.tudarmstadt.ukp.", "org.dkpro.", "org.apache.")


def is_cas_json(path: Path) -> bool:
    """Test whether a JSON file contains a CAS, by its first key. RAISES: InputError (D303) if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(Errors.D303.format(path=path, reason=describe_system(error))) from None
    return bool(_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def parse_layer(layer: str | None) -> Layer | None:
    """Parse a layer given by a user as "TYPE:FEATURE".

    layer (str | None): annotation type and feature; None if none is given.
    RETURNS (Layer | None): the layer; None if none is given.
    RAISES: ConfigError (D758) if the name is malformed.
    """
    if layer is None:
        return None
    kind, _, feature = layer.partition(":")
    if not kind or not feature or ":" in feature:
        raise ConfigError(Errors.D758.format(layer=layer))
    return Layer(kind, feature)


def read_cas(path: Path, *, scheme: str = "canonical", layer: Layer | None = None) -> AnnotatedText:
    """Read a note and its identifiers from a CAS file.

    path (Path): a .json file, or an .xmi file with its TypeSystem.xml in the same or the parent folder.
    scheme (str): scheme of the labels in the file.
    layer (Layer | None): the layer of the identifiers; None to detect it, see `find_layer`.
    RETURNS (AnnotatedText): named after the file stem, with canonical labels.
    RAISES: InputError with the file name and the id of the annotation if the file is invalid (D303, D753–D755, D759);
        ConfigError if dkpro-cassis is not installed (D757).
    """
    cas = load_cas(path)
    found = find_layer(cas, path, layer)
    return AnnotatedText(
        path.stem, cas.sofa_string, tuple(entity for _, entity in _entities(cas, path, scheme, found))
    )


def load_cas(path: Path) -> Any:
    """Load a .json or .xmi file and return its view with the text, a cassis.Cas. RAISES: as in `read_cas`."""
    data = read_bytes(path)
    types = None
    if path.suffix != ".json":  # INCEpTION exports the type system to either of these folders
        files = [folder / TYPE_SYSTEM for folder in (path.parent, path.resolve().parent.parent)]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise InputError(Errors.D759.format(path=path))
        types = read_bytes(found)
    try:
        cas = _parse(data, types)
        views = [cas.get_view(sofa.sofaID) for sofa in cas.sofas if sofa.sofaString is not None]
    except DeidError:
        raise
    except Exception as error:
        # the message of the exception may contain text of the note
        raise InputError(Errors.D753.format(path=path, reason=type(error).__name__)) from None
    if len(views) != 1:
        raise InputError(Errors.D753.format(path=path, reason=f"it holds {len(views)} texts, not one"))
    return views[0]


def _parse(data: bytes, types: bytes | None) -> Any:
    """Parse JSON, or XMI with its type system. RAISES: any exception; ConfigError (D757) without dkpro-cassis."""
    cassis = import_cassis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # otherwise invalid offsets would be kept without conversion
        warnings.filterwarnings("error", message="Not mapping")
        if types is None:
            return cassis.load_cas_from_json(data.decode("utf-8-sig"))
        _refuse_doctype(types)
        _refuse_doctype(data)
        return cassis.load_cas_from_xmi(BytesIO(data), cassis.load_typesystem(BytesIO(types)))


def import_cassis() -> Any:
    """Import dkpro-cassis, an optional dependency. RAISES: ConfigError (D757) if it is not installed."""
    try:
        import cassis
    except ImportError:
        raise ConfigError(Errors.D757) from None
    return cassis


def _refuse_doctype(data: bytes) -> None:
    """Check that XML has no DOCTYPE, which could define custom entities. RAISES: ValueError if it has one."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        raise ValueError("DOCTYPE")

    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def find_layer(cas: Any, path: Path, layer: Layer | None = None) -> Layer:
    """Find the layer of the identifiers: the one of `LAYERS` that has annotations.

    If none has annotations, the file has no identifiers, unless a custom layer of the project has annotations: that
    layer might contain them, so the layer must then be specified.

    cas (cassis.Cas): the CAS.
    path (Path): its file, for the error message.
    layer (Layer | None): the layer, if specified.
    RETURNS (Layer): the layer; it is declared in the CAS.
    RAISES: InputError (D754) if the layer is not declared, or if no layer or several layers qualify.
    """
    declared = {kind.name: {feature.name for feature in kind.all_features} for kind in cas.typesystem.get_types()}
    known = [one for one in ([layer] if layer else LAYERS) if one.feature in declared.get(one.type, ())]
    used = [one for one in known if cas.select(one.type)]
    own = {fs.type.name for fs in cas.select_all_annotations() if not fs.type.name.startswith(_BUILT_IN)}
    if layer and not known:
        reason = "it declares no such layer"
    elif len(used) > 1:
        reason = "several layers hold annotations that could be identifiers"
    elif not known or (own and not used and not layer):
        reason = "it has no layer that is known to hold identifiers"
    else:
        return (used or known)[0]
    layers = sorted(name for name in declared if not name.startswith(_BUILT_IN)) or ["none of its own"]
    raise InputError(Errors.D754.format(path=path, reason=reason, known=", ".join(layers)))


def _entities(cas: Any, path: Path, scheme: str, layer: Layer) -> Iterator[tuple[Any, Entity]]:
    """Yield each annotation of a layer with its entity. RAISES: InputError (D755) for an invalid annotation."""
    length = len(cas.sofa_string)
    annotations = cas.select(layer.type)
    # structures that others refer to, such as relations, may legitimately be in no view
    if strays := _stored_ids(path, layer) - _reached_ids(cas):
        raise InputError(
            Errors.D755.format(path=path, number=min(strays), reason="it is in no view, so no annotation")
        )
    for annotation in annotations:
        start, end, label = annotation.begin, annotation.end, annotation[layer.feature]
        if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= length:
            reason = f"{start}:{end} is outside the text of {length} characters or empty"
        elif label and (not isinstance(label, str) or label not in SCHEMES[scheme]):
            reason = f"the label is not in scheme '{scheme}'. Known labels: {', '.join(sorted(SCHEMES[scheme]))}"
        else:
            yield annotation, Entity(start, end, from_scheme(label, scheme) if label else UNLABELLED)
            continue
        raise InputError(Errors.D755.format(path=path, number=annotation.xmiID, reason=reason))


def _reached_ids(cas: Any) -> set[int]:
    """Return the ids of all feature structures in a view of the CAS, and of those to which they refer."""
    found: set[int] = set()
    left = [structure for sofa in cas.sofas for structure in cas.get_view(sofa.sofaID).select_all_fs()]
    while left:
        structure = left.pop()
        if structure.xmiID not in found:
            found.add(structure.xmiID)
            values = [getattr(structure, feature.name, None) for feature in structure.type.all_features]
            inner = [part for value in values if isinstance(value, list) for part in value]
            left += [value for value in (*values, *inner) if hasattr(value, "xmiID")]
    return found


def _stored_ids(path: Path, layer: Layer) -> set[int]:
    """Return the ids of a layer's feature structures in the file. dkpro-cassis drops those that are in no view."""
    data = read_bytes(path)
    if path.suffix == ".json":
        cas = json.loads(data.decode("utf-8-sig"))
        return {structure["%ID"] for structure in cas["%FEATURE_STRUCTURES"] if structure["%TYPE"] == layer.type}
    space, _, name = layer.type.rpartition(".")
    tag = f"{{http:///{space.replace('.', '/')}.ecore}}{name}"
    return {int(element.get(_XMI_ID, 0)) for element in ElementTree.fromstring(data).iter(tag)}


def replace_entities(cas: Any, document: AnnotatedText, path: Path, *, scheme: str, layer: Layer) -> None:
    """Replace the identifiers in a CAS by the entities of a note. Unchanged annotations are not touched.

    cas (cassis.Cas): the CAS, modified in place.
    document (AnnotatedText): note with the same text and the new entities.
    path (Path): the file of the CAS, for error messages.
    scheme (str): scheme of the labels in the CAS.
    layer (Layer): the layer of the identifiers.
    RAISES: InputError if the texts differ (D310) or an annotation is invalid (D755).
    """
    if cas.sofa_string != document.text:
        raise InputError(Errors.D310.format(name=document.name))
    wanted = set(document.entities)
    there = list(_entities(cas, path, scheme, layer))
    for annotation, entity in there:
        if entity not in wanted:
            cas.remove(annotation)
    kind = cas.typesystem.get_type(layer.type)
    for entity in sorted(wanted - {entity for _, entity in there}):
        label = to_scheme(entity.label, scheme)
        cas.add(kind(begin=entity.start, end=entity.end, **{layer.feature: label}))


def write_xmi(document: AnnotatedText, folder: Path, *, scheme: str = "canonical") -> Path:
    """Write a note and its identifiers as XMI, together with its type system.

    document (AnnotatedText): the note.
    folder (Path): folder in which NAME.xmi and TypeSystem.xml are written.
    scheme (str): scheme of the labels to write.
    RETURNS (Path): the .xmi file.
    RAISES: InputError if the text contains a character that XML does not allow (D312), the name is not a valid file
        name (D311), or the type system in the folder is invalid (D753); ConfigError without dkpro-cassis (D757).
    """
    check_xml(document)
    return _write_xmi(import_cassis().load_cas_from_json(json.dumps(make_cas(document, scheme))), document, folder)


def write_back(
    document: AnnotatedText, source: Path, folder: Path, *, scheme: str = "canonical", layer: Layer | None = None
) -> Path:
    """Write the identifiers of a note to the CAS that the note came from. Everything else is preserved, including ids.

    document (AnnotatedText): the note with the entities to write.
    source (Path): the original CAS. It is modified only if it is also the output file.
    folder (Path): output folder. The file has the name of the document and the format of the source.
    scheme (str): scheme of the labels in the CAS.
    layer (Layer | None): the layer of the identifiers; None to detect it.
    RETURNS (Path): the file.
    RAISES: InputError if the texts differ (D310); otherwise as in `read_cas` and `write_xmi`.
    """
    cas = load_cas(source)
    replace_entities(cas, document, source, scheme=scheme, layer=find_layer(cas, source, layer))
    if source.suffix != ".json":
        return _write_xmi(cas, document, folder)
    # cassis drops unknown keys such as "%HEADER"
    whole = json.loads(read_bytes(source).decode("utf-8-sig")) | json.loads(cas.to_json())
    path = folder / file_name(document.name, source.suffix)
    write_text(path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
    return path


def _write_xmi(cas: Any, document: AnnotatedText, folder: Path) -> Path:
    """Write a CAS as XMI, and its type system merged with that of the folder."""
    path = folder / file_name(document.name, ".xmi")
    types = cas.typesystem
    file = folder / TYPE_SYSTEM
    if file.is_file():  # one file serves all notes in the folder
        cassis = import_cassis()
        try:
            types = cassis.merge_typesystems(cassis.load_typesystem(read_bytes(file).decode("utf-8")), types)
        except InputError:
            raise
        except Exception as error:
            raise InputError(Errors.D753.format(path=file, reason=type(error).__name__)) from None
    write_text(file, types.to_xml())
    write_text(path, cas.to_xmi())
    return path
