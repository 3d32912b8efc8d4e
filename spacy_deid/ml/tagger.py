"""thinc models of the token classifier.

`build_note_tok2vec` embeds the hashed features of a note and encodes neighbouring tokens; it replaces spaCy's
HashEmbedCNN. `build_tag_scorer` adds tag scores to any tok2vec or transformer listener. `build_committee` trains
several of these models, each with its own loss; the component averages their scores.

Weights are saved in half precision and compressed, which reduces a saved model to a third of its size; it finds the
same spans.
"""

import lzma
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import (
    Dropout,
    HashEmbed,
    Linear,
    Maxout,
    Model,
    NumpyOps,
    chain,
    clone,
    concatenate,
    expand_window,
    get_current_ops,
    residual,
    with_array,
    zero_init,
)
from thinc.model import deserialize_attr
from thinc.types import Floats2d, Floats3d, Ints2d
from thinc.util import convert_recursive, is_xp_array

from ..errors import ConfigError, Errors
from .features import FEATURES, NoteFeatures, dense_tokens
from .lexicon import Lexicon

DEFAULT_ROWS: Mapping[str, int] = {
    "lower": 6000,
    "prefix": 200,
    "suffix3": 2500,
    "shape": 500,
    "prefix3": 2500,
    "suffix2": 600,
    "suffix4": 3500,
    "long_shape": 1000,
    "key": 400,
    "long_key": 600,
    "field_place": 40,
    "note_place": 200,
    "memory": 200,
    "repeats": 8,
    "lexicon": 1500,
    "cluster": 700,
    "case": 600,
    "subcluster": 2500,
}
_FROM_LEXICON = frozenset({"lexicon", "cluster", "subcluster"})
_LEXICAL = frozenset({"lower", "suffix3", "prefix3", "suffix4", "memory"})
_PIECE = 4096  # tokens that go through the network at once when it predicts


@registry.architectures("spacy_deid.NoteTok2Vec.v1")
def build_note_tok2vec(
    width: int = 128,
    depth: int = 3,
    window_size: int = 1,
    maxout_pieces: int = 2,
    embed_size: int = 32,
    rows: dict[str, int] | None = None,
    word_dropout: float = 0.0,
    lexicon: str | None = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Build a model that embeds the features of `features.NoteFeatures` and encodes them with a windowed maxout
    network.

    width (int): width of the output and of each layer.
    depth (int): number of encoder layers; each reads `window_size` tokens on both sides.
    window_size (int): number of neighbours on each side per layer.
    maxout_pieces (int): pieces of each maxout unit.
    embed_size (int): width of the embedding of one feature.
    rows (Optional[dict[str, int]]): feature → rows of its hash table, for the features to use; None for all.
    word_dropout (float): share of tokens whose word identity is hidden in training, so that the network learns to use
        shape and context; in practice most names are unseen.
    lexicon (Optional[str]): file of a `lexicon.Lexicon`. It is read on initialization and saved with the model; a
        saved model does not need the file.
    RETURNS (Model): Docs → float32 arrays of shape (tokens, width), zero for white space.
    """
    known = {name: n for name, n in DEFAULT_ROWS.items() if lexicon is not None or name not in _FROM_LEXICON}
    tables = dict(rows or known)
    embeds: list[Model[Any, Any]] = [
        HashEmbed(embed_size, n, column=i, seed=i + 8) for i, n in enumerate(tables.values())
    ]
    mix: Model[Any, Any] = Maxout(width, embed_size * len(embeds), nP=maxout_pieces, normalize=True, dropout=0.0)
    seen = 2 * window_size + 1
    unit: Model[Any, Any] = Maxout(width, width * seen, nP=maxout_pieces, normalize=True, dropout=0.0)
    encode = clone(residual(chain(expand_window(window_size), unit)), depth)
    network: Model[Any, Any] = with_array(chain(concatenate(*embeds), mix, encode), pad=depth * window_size)
    dense: Model[Any, Any] = chain(
        _extract(list(tables), word_dropout, lexicon),
        Model("in_pieces", partial(_pieces_forward, depth * window_size), init=_pieces_init, layers=[network]),
    )
    model: Model[Any, Any] = Model(
        "with_blanks", _blanks_forward, init=_pieces_init, layers=[dense], dims={"nO": None}
    )
    model.set_dim("nO", width)
    return _on_blas(model)


@registry.architectures("spacy_deid.TagScorer.v1")
def build_tag_scorer(
    tok2vec: Model[list[Doc], list[Floats2d]], dropout: float = 0.2, nO: int | None = None
) -> Model[list[Doc], list[Floats2d]]:
    """Build a model that scores every tag at every token.

    tok2vec (Model): Docs → arrays of shape (tokens, width): a tok2vec, a transformer, or a listener to one.
    dropout (float): dropout before the output layer; ``training.dropout`` overrides it.
    nO (Optional[int]): number of tags, set when the component is initialized.
    RETURNS (Model): Docs → float32 arrays of shape (tokens, tags), unnormalized.
    """
    width = tok2vec.get_dim("nO") if tok2vec.has_dim("nO") else None
    output: Model[Any, Any] = Linear(nO, width, init_W=zero_init)
    return _on_blas(chain(tok2vec, with_array(chain(Dropout(dropout), output))))


@registry.architectures("spacy_deid.Committee.v1")
def build_committee(*members: Model[list[Doc], list[Floats2d]]) -> Model[list[Doc], list[Floats3d]]:
    """Build an ensemble of networks that are initialized and trained independently.

    members (Model): tag scorers, of the same or different shape. Networks with different errors gain most from
        averaging.
    RETURNS (Model): Docs → float32 arrays of shape (members, tokens, tags).
    """
    return Model("committee", _committee_forward, init=_committee_init, layers=members, dims={"nO": None})


class _Batch(list[Doc]):
    """A list of Docs that is passed through several networks, with the features that were already computed."""

    def __init__(self, docs: list[Doc]) -> None:
        super().__init__(docs)
        self.features: dict[bytes, list[np.ndarray]] = {}


def _committee_forward(
    model: Model[Any, Any], docs: list[Doc], is_train: bool
) -> tuple[list[Floats3d], Callable[[list[Floats3d]], list[Doc]]]:
    """Run all members on the same batch."""
    batch = _Batch(docs)
    outputs, callbacks = zip(*(layer(batch, is_train) for layer in model.layers), strict=True)

    def backprop(gradients: list[Floats3d]) -> list[Doc]:
        for i, callback in enumerate(callbacks):
            callback([gradient[i] for gradient in gradients])
        return []

    return [model.ops.xp.stack(scores) for scores in zip(*outputs, strict=True)], backprop


def _committee_init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Initialize all members."""
    for layer in model.layers:
        layer.initialize(X=X, Y=Y)
    model.set_dim("nO", model.layers[0].get_dim("nO"))


def _extract(names: list[str], word_dropout: float, lexicon: str | None) -> Model[list[Doc], list[Ints2d]]:
    """Build the layer of the chosen feature columns; in training it hides the word identity of some tokens."""
    columns = [FEATURES.index(name) for name in names]
    lexical = [i for i, name in enumerate(names) if name in _LEXICAL]
    forward = _Extract(columns, lexical, word_dropout)
    return Model("note_features", forward, init=partial(_read_lexicon, lexicon), attrs={"lexicon": b""})


def feature_names(extract: Model[Any, Any]) -> list[str]:
    """Return the features that a layer "note_features" computes, in the order of its columns."""
    return [FEATURES[i] for i in cast(_Extract, extract._func).columns]


def _read_lexicon(path: str | None, model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Read the lexicon into the attributes that are saved with the model."""
    if path is not None:
        model.attrs["lexicon"] = Lexicon.from_disk(path).to_bytes()


class _Extract:
    """Forward pass of the feature columns. It keeps one feature extractor for the current lexicon of the model."""

    def __init__(self, columns: list[int], lexical: list[int], word_dropout: float) -> None:
        self.columns, self.lexical, self.word_dropout = columns, lexical, word_dropout
        self.extract, self.lexicon = NoteFeatures(), b""

    def __call__(
        self, model: Model[Any, Any], docs: list[Doc], is_train: bool
    ) -> tuple[list[Any], Callable[[list[Any]], list[Doc]]]:
        """Compute the feature columns of Docs."""
        if model.attrs["lexicon"] is not self.lexicon:
            self.lexicon = model.attrs["lexicon"]
            self.extract = NoteFeatures(Lexicon.from_bytes(self.lexicon) if self.lexicon else None)
        arrays = [features[:, self.columns] for features in self._features(docs)]
        if is_train and self.word_dropout:
            for array in arrays:
                hidden = np.flatnonzero(np.random.random(len(array)) < self.word_dropout)
                array[hidden[:, None], self.lexical] = 0
        return [model.ops.xp.asarray(array) for array in arrays], lambda gradients: []

    def _features(self, docs: list[Any]) -> list[np.ndarray]:
        """Compute all columns, once for the committee members with the same lexicon."""
        if not isinstance(docs, _Batch):
            return [self.extract(doc) for doc in docs]
        if self.lexicon not in docs.features:
            docs.features[self.lexicon] = [self.extract(doc) for doc in docs]
        return docs.features[self.lexicon]


def _blanks_forward(
    model: Model[Any, Any], docs: list[Any], is_train: bool
) -> tuple[list[Any], Callable[[list[Any]], list[Doc]]]:
    """Insert zero rows for white space, which the network does not process."""
    dense = [dense_tokens(doc) for doc in docs]
    outputs, backprop_dense = model.layers[0](docs, is_train)

    def backprop(gradients: list[Any]) -> list[Doc]:
        backprop_dense([gradient[rows] for gradient, rows in zip(gradients, dense, strict=True)])
        return []

    spread: list[Any] = [
        model.ops.alloc2f(len(doc), output.shape[1]) for doc, output in zip(docs, outputs, strict=True)
    ]
    for whole, rows, output in zip(spread, dense, outputs, strict=True):
        whole[rows] = output
    return spread, backprop


def _pieces_forward(
    overlap: int, model: Model[Any, Any], arrays: list[Any], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Any]]]:
    """Run the layer piece by piece in prediction, and on whole arrays in training."""
    layer = model.layers[0]
    if is_train:
        outputs, backprop = layer(arrays, True)
        return outputs, backprop
    return [part for group in _groups(arrays) for part in _predict_group(layer, group, overlap)], lambda gradients: []


def _pieces_init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Initialize the inner layer."""
    model.layers[0].initialize(X=X, Y=Y)


def _groups(arrays: list[Any]) -> list[list[Any]]:
    """Group arrays, in order, into groups of about one piece; a longer array forms its own group."""
    groups: list[list[Any]] = []
    room = 0
    for array in arrays:
        if len(array) > room or not groups:
            groups.append([])
            room = _PIECE
        groups[-1].append(array)
        room -= len(array)
    return groups


def _predict_group(layer: Model[Any, Any], group: list[Any], overlap: int) -> list[Any]:
    """Run the layer on a group at once, or on one long array in windows."""
    if len(group) > 1 or len(group[0]) <= _PIECE:
        return list(layer.predict(group))
    whole, out = group[0], []
    for start in range(0, len(whole), _PIECE):
        low = max(0, start - overlap)
        window = layer.predict([whole[low : start + _PIECE + overlap]])[0]
        out.append(window[start - low : start - low + _PIECE])
    return [layer.ops.xp.concatenate(out)]


def _on_blas(model: Model[Any, Any]) -> Model[Any, Any]:
    """Use NumPy's BLAS for matrix multiplication on the CPU, which is several times faster than BLIS for these small
    shapes.
    """
    if type(get_current_ops()) is NumpyOps:
        for node in model.walk():
            node.ops = NumpyOps(use_blis=False)
    return model


_COMPRESSED = b"\xfd7zXZ\x00"  # how an xz file begins


def weights_to_bytes(model: Model[Any, Any], *, compress: bool = False) -> bytes:
    """Serialize a model as `Model.to_bytes` does, with its float32 parameters as float16.

    model (Model): the model.
    compress (bool): whether to compress, which takes seconds and saves a third of the size.
    RETURNS (bytes): input of `weights_from_bytes`.
    """
    message = model.to_dict()
    message["params"] = convert_recursive(
        is_xp_array, lambda array: _to(model, array, "float32", "float16"), message["params"]
    )
    data = bytes(srsly.msgpack_dumps(message))
    return lzma.compress(data) if compress else data


def weights_from_bytes(model: Model[Any, Any], data: bytes, n_tags: int | None = None) -> None:
    """Load weights in half or single precision, compressed or not, into a model of the same structure.

    model (Model): the model, changed in place; its parameters are float32 again.
    data (bytes): output of `weights_to_bytes` or `Model.to_bytes`.
    n_tags (Optional[int]): number of tags that the model has afterwards, at least that of the saved model; the
        weights of further tags are zero. None for the tags of the saved model.
    RAISES: ValueError from thinc if the structure differs.
    """
    message = srsly.msgpack_loads(lzma.decompress(data) if data.startswith(_COMPRESSED) else data)
    if n_tags is not None:
        _add_tags(message, n_tags)
    message["params"] = convert_recursive(
        is_xp_array, lambda array: _to(model, array, "float16", "float32"), message["params"]
    )
    _decode_attributes(model, message["attrs"])
    model.from_dict(message)


def _add_tags(message: dict[str, Any], n_tags: int) -> None:
    """Pad the weights of a saved model with rows of zeros, one for each further tag."""
    saved = message["nodes"][0]["dims"]["nO"]
    for node, params in zip(message["nodes"], message["params"], strict=True):
        if node["dims"].get("nO") == saved:
            node["dims"]["nO"] = n_tags
            for name, array in params.items():
                params[name] = np.pad(array, [(0, n_tags - saved)] + [(0, 0)] * (array.ndim - 1))


def _decode_attributes(model: Model[Any, Any], saved: list[dict[str, bytes]]) -> None:
    """Set the attributes of all nodes that thinc decodes by msgpack, and remove them from the saved ones.

    srsly looks its extensions up at every call, which takes milliseconds, so the values are decoded as one array.
    """
    usual = deserialize_attr.dispatch(object)
    plain, parts = [], []
    for node, attributes in zip(model.walk(), saved, strict=False):
        for name in [name for name in attributes if deserialize_attr.dispatch(type(node.attrs.get(name))) is usual]:
            plain.append((node, name))
            parts.append(attributes.pop(name))
    array = b"\xdd" + len(parts).to_bytes(4, "big")  # how an array of that length begins in msgpack
    for (node, name), value in zip(plain, srsly.msgpack_loads(array + b"".join(parts)), strict=True):
        node.attrs[name] = value


def _to(model: Model[Any, Any], array: Any, old: str, new: str) -> Any:
    """Convert an array to another type if it has the old one; float16 in main memory, float32 on the device of the
    model.
    """
    host = model.ops.to_numpy(array)  # type: ignore[no-untyped-call]
    changed = host.astype(new) if host.dtype == old else host
    return changed if new == "float16" else model.ops.asarray(changed)


@registry.callbacks("spacy_deid.load_weights.v1")
def make_load_weights(path: str | None = None, name: str = "deid_ner") -> Callable[[Language], Language]:
    """Make a callback that loads the labels and weights of a trained classifier before training.

    Labels of the training data that the classifier does not have are added to it.

    path (Optional[str]): folder of a pipeline that was trained with the same network settings; None to train from
        scratch.
    name (str): name of the component in both pipelines.
    RETURNS (Callable): callback for the setting "after_init" of the initialization.
    RAISES: ConfigError (D213) when it runs, if the folder has no such component.
    """

    def start(nlp: Language) -> Language:
        folder = Path(path, name) if path is not None else None
        if folder is not None:
            if not folder.is_dir():
                raise ConfigError(Errors.D213.format(path=path, name=name))
            block = nlp.config.interpolate()["components"][name]["model"]
            model = registry.resolve({"model": block})["model"]  # thinc does not change the size of an initialized one
            cast(Any, nlp.get_pipe(name)).continue_from(folder, model)
        return nlp

    return start
