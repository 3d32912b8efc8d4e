"""UIMA CAS, what INCEpTION exports and imports: JSON 0.4.0 and XMI, read and written by dkpro-cassis.

Files count UTF-16 code units, as Java does; cassis turns them into characters. Identifiers stand in one layer, a type
of annotation with a feature that holds the label. Everything else (tokens, sentences, other layers, types) is not
looked at, and stays when annotations are written back into the CAS that they came from.

An annotation of the layer without a label is read as OTHER: it says that something identifies, and not what.

Sources: JSON serialization of the UIMA CAS 0.4.0, https://github.com/apache/uima-uimaj-io-jsoncas; XML Metadata
Interchange (XMI) of UIMA, https://uima.apache.org/d/uimaj-current/references.html
"""

import json
import os
import re
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from ..errors import ConfigError, DeidError, Errors, InputError
from ..labels import SCHEMES, from_scheme, to_scheme
from .cas_json import LAYERS, Layer
from .documents import AnnotatedText, Entity
from .files import read_bytes

__all__ = [
    "TYPE_SYSTEM",
    "find_layer",
    "import_cassis",
    "is_cas_json",
    "load_cas",
    "parse_layer",
    "read_cas",
    "replace_entities",
]

TYPE_SYSTEM = "TypeSystem.xml"
UNLABELLED = "OTHER"
_XMI_ID = "{http://www.omg.org/XMI}id"

_HEAD = re.compile(rb'\s*\{\s*"%(?:HEADER|TYPES|FEATURE_STRUCTURES|VIEWS)"')
# What DKPro Core and UIMA declare in every file; other types are a project's own.
_BUILT_IN = ("uima.", "de.tudarmstadt.ukp.", "org.dkpro.", "org.apache.")


def is_cas_json(path: Path) -> bool:
    """Tell a CAS from other JSON by how it begins.

    path (Path): a file.
    RETURNS (bool): whether its first key is one of a CAS.
    RAISES: InputError (D303) if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(Errors.D303.format(path=path, reason=os.strerror(error.errno or 0))) from None
    return bool(_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def parse_layer(layer: str | None) -> Layer | None:
    """Read the name of a layer.

    layer (str | None): "TYPE:FEATURE".
    RETURNS (Layer | None): the layer; None for None.
    RAISES: ConfigError (D758).
    """
    if layer is None:
        return None
    kind, _, feature = layer.partition(":")
    if not kind or not feature or ":" in feature:
        raise ConfigError(Errors.D758.format(layer=layer))
    return Layer(kind, feature)


def read_cas(path: Path, *, scheme: str = "canonical", layer: Layer | None = None) -> AnnotatedText:
    """Read a note and its identifiers.

    path (Path): .json, or .xmi with its TypeSystem.xml beside it or in the folder above.
    scheme (str): scheme of the labels in the file.
    layer (Layer | None): where the identifiers stand; None to find it, see `find_layer`.
    RETURNS (AnnotatedText): named by the file's stem, with canonical labels.
    RAISES: InputError naming the file, and the annotation by its id, for what cannot be read (D303, D753–D755, D759);
        ConfigError if dkpro-cassis is not installed (D757).
    """
    cas = load_cas(path)
    found = find_layer(cas, path, layer)
    return AnnotatedText(
        path.stem, cas.sofa_string, tuple(entity for _, entity in _entities(cas, path, scheme, found))
    )


def load_cas(path: Path) -> Any:
    """Load a CAS.

    path (Path): .json or .xmi.
    RETURNS (cassis.Cas): the view that holds the text.
    RAISES: as `read_cas`.
    """
    data = read_bytes(path)
    types = None if path.suffix == ".json" else read_bytes(_find_type_system(path))
    try:
        cas = _parse(data, types)
        views = [cas.get_view(sofa.sofaID) for sofa in cas.sofas if sofa.sofaString is not None]
    except DeidError:
        raise
    except Exception as error:
        # The exception may hold what the file says, and with it the note.
        raise InputError(Errors.D753.format(path=path, reason=type(error).__name__)) from None
    if len(views) != 1:
        raise InputError(Errors.D753.format(path=path, reason=f"it holds {len(views)} texts, not one"))
    return views[0]


def _parse(data: bytes, types: bytes | None) -> Any:
    """Parse JSON, or XMI with its type system. RAISES: any exception; ConfigError (D757) without dkpro-cassis."""
    cassis = import_cassis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # An offset that is none would be kept as it is, as if the text had no characters of two units.
        warnings.filterwarnings("error", message="Not mapping")
        if types is None:
            return cassis.load_cas_from_json(data.decode("utf-8-sig"))
        _refuse_doctype(types)
        _refuse_doctype(data)
        return cassis.load_cas_from_xmi(BytesIO(data), cassis.load_typesystem(BytesIO(types)))


def import_cassis() -> Any:
    """Import dkpro-cassis, which is an extra.

    RETURNS (module): cassis.
    RAISES: ConfigError (D757) if it is not installed.
    """
    try:
        import cassis
    except ImportError:
        raise ConfigError(Errors.D757) from None
    return cassis


def _refuse_doctype(data: bytes) -> None:
    """Refuse a document type declaration, and with it every entity."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        raise ValueError("DOCTYPE")

    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def _find_type_system(path: Path) -> Path:
    """The type system of an XMI file, where INCEpTION's export puts it."""
    for folder in (path.parent, path.resolve().parent.parent):
        if (folder / TYPE_SYSTEM).is_file():
            return folder / TYPE_SYSTEM
    raise InputError(Errors.D759.format(path=path))


def find_layer(cas: Any, path: Path, layer: Layer | None = None) -> Layer:
    """Find the layer of the identifiers: the one of `cas_json.LAYERS` that holds annotations.

    A file without any has no identifiers, unless a layer of the project itself holds annotations: then that could be
    the one, and it has to be named.

    cas (cassis.Cas): the CAS.
    path (Path): its file, for the error.
    layer (Layer | None): the layer, if it is known.
    RETURNS (Layer): the layer; it is declared in the CAS.
    RAISES: InputError (D754) if the layer is not declared, or none or several could be it.
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
    """The annotations of a layer, each with the entity that it stands for."""
    length = len(cas.sofa_string)
    annotations = cas.select(layer.type)
    # one that another structure refers to, as a relation does, may rightly be in no view
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
    """The ids of the structures that views have, and of those that they refer to."""
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
    """The ids of a layer's structures in a file that was loaded before. Those that no view has are lost in loading."""
    data = read_bytes(path)
    if path.suffix == ".json":
        cas = json.loads(data.decode("utf-8-sig"))
        return {structure["%ID"] for structure in cas["%FEATURE_STRUCTURES"] if structure["%TYPE"] == layer.type}
    space, _, name = layer.type.rpartition(".")
    tag = f"{{http:///{space.replace('.', '/')}.ecore}}{name}"
    return {int(element.get(_XMI_ID, 0)) for element in ElementTree.fromstring(data).iter(tag)}


def replace_entities(cas: Any, document: AnnotatedText, path: Path, *, scheme: str, layer: Layer) -> None:
    """Put the entities of a note in place of those that a CAS holds. What says the same stays as it is.

    cas (cassis.Cas): the CAS, changed in place.
    document (AnnotatedText): a note of the same text.
    path (Path): the file of the CAS, for errors.
    scheme (str): scheme of the labels in the CAS.
    layer (Layer): the layer of the identifiers.
    RAISES: InputError if the texts differ (D310) or the CAS cannot be read (D755).
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
