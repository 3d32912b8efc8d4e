"""Build a transformer encoder for `deid_ner` that encodes every character of a note, however long the note is.

spacy-transformers splits a note into windows of a number of tokens. If a window has more word pieces than the encoder
accepts, the rest is dropped with a log message. Keys, scanned tables and base64 have many pieces per token, so a name
next to them would be missed. `build_windowed_transformer` measures windows in word pieces, so that no piece is
dropped, and runs a few windows at a time, so that the memory for attention does not grow with the note.
`build_checked_listener` passes the vectors to a component, and raises an error for a note that was not encoded
completely, whatever windows were used.

It requires the extra "transformers", which is imported when a model is built.
"""

import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc, Span
from spacy.util import registry
from thinc.api import Model, Ragged, chain
from thinc.types import Floats2d

from ..errors import ConfigError, Errors, NotDeidentified


@dataclass(frozen=True, slots=True)
class Windows:
    """The sizes by which a note is split into windows for the encoder.

    window (int): number of word pieces per window, including special pieces.
    stride (int): number of word pieces between the starts of two windows.
    batch (int): number of word pieces per batch in prediction.
    """

    window: int
    stride: int
    batch: int


@registry.architectures("spacy_deid.WindowedTransformer.v1")
def build_windowed_transformer(
    name: str,
    window: int = 256,
    stride: int = 192,
    batch_pieces: int = 8192,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
    mixed_precision: bool = False,
    grad_scaler_config: dict[str, Any] | None = None,
) -> Model[list[Doc], Any]:
    """Build an encoder for spaCy's ``transformer`` component that encodes a note completely, in overlapping windows.

    name (str): folder of a model, or its name on a hub. It is read when the component is initialized; a saved pipeline
        contains the encoder and its tokenizer, and needs neither the folder nor a network.
    window (int): word pieces per window, at most the maximum of the encoder.
    stride (int): word pieces between the starts of two windows. Windows overlap by the rest, so that a token at an
        edge is encoded with context on both sides.
    batch_pieces (int): word pieces per batch in prediction; it bounds the memory.
    tokenizer_config (Optional[dict]): settings of the (always fast) tokenizer, such as "do_lower_case".
    transformer_config (Optional[dict]): settings of the encoder, such as "hidden_dropout_prob".
    mixed_precision (bool): use half precision where possible; for GPUs.
    grad_scaler_config (Optional[dict]): settings of thinc's PyTorchGradScaler for mixed precision.
    RETURNS (Model): Docs → FullTransformerBatch.
    """
    from spacy_transformers.layers import TransformerModel

    _survive_forks()
    # Without a span getter the library's own forward, which drops pieces, could not run by mistake.
    model: Model[list[Doc], Any] = TransformerModel(
        name,
        None,
        {**(tokenizer_config or {}), "use_fast": True},
        dict(transformer_config or {}),
        mixed_precision,
        dict(grad_scaler_config or {}),
    )
    windows = Windows(window, stride, batch_pieces)
    # By closure and not as attributes, which a saved model would bring back over the settings of a config.
    model._func = partial(_forward, windows)
    model.init = partial(_init, windows)
    shim: Any = model.layers[0].shims[0]
    shim.to_bytes = partial(_to_bytes, shim)
    return model


@cache
def _survive_forks() -> None:
    """Limit torch to one thread in processes forked from this one.

    A forked process does not inherit the threads of torch's pool and waits for them forever, as the workers of
    ``nlp.pipe(n_process=2)`` would. With one thread torch uses no pool. torch's own data loader does the same.
    """
    if hasattr(os, "register_at_fork"):
        import torch

        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def _to_bytes(shim: Any) -> bytes:
    """Serialize everything except the path that the encoder was read from, which is machine-specific."""
    if shim._hfmodel.transformer is not None:
        shim._hfmodel.transformer.config._name_or_path = ""
    return bytes(type(shim).to_bytes(shim))


def _init(windows: Windows, model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Read the encoder, unless it came with a saved pipeline."""
    from spacy_transformers.layers.transformer_model import huggingface_from_pretrained

    if model.attrs["has_transformer"]:
        return
    name, objects = model.attrs["name"], _objects(model)
    settings = dict(objects._init_tokenizer_config), dict(objects._init_transformer_config)
    try:
        encoder = huggingface_from_pretrained(name, *settings)
    except (OSError, ValueError):  # no such folder, no network, or files that are no model
        raise ConfigError(Errors.D240.format(name=name)) from None
    # Saved with the tokenizer. Many tokenizers do not know what their encoder takes.
    positions = int(
        getattr(encoder.transformer.config, "max_position_embeddings", 0) or encoder.tokenizer.model_max_length
    )
    table = getattr(getattr(encoder.transformer, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    encoder.tokenizer.model_max_length = min(
        int(encoder.tokenizer.model_max_length), positions - (0 if padding is None else padding + 1)
    )
    _check(windows, encoder.tokenizer, name)
    model.attrs["set_transformer"](model, encoder)


def _objects(model: Model[Any, Any]) -> Any:
    """Return the encoder and its tokenizer."""
    shim: Any = model.layers[0].shims[0]
    return shim._hfmodel


def _check(windows: Windows, tokenizer: Any, name: str) -> None:
    """Check the window sizes and the tokenizer. RAISES: ConfigError for windows that the encoder cannot process (D241,
    D242), and for a tokenizer without character offsets (D243)."""
    if not tokenizer.is_fast:
        raise ConfigError(Errors.D243.format(name=name))
    limit, special = tokenizer.model_max_length, tokenizer.num_special_tokens_to_add()
    if windows.window > limit:
        raise ConfigError(Errors.D241.format(name=name, window=windows.window, limit=limit))
    if not 1 <= windows.stride <= windows.window - special:
        raise ConfigError(Errors.D242.format(window=windows.window, stride=windows.stride, special=special))


def _forward(
    windows: Windows, model: Model[Any, Any], docs: list[Doc], is_train: bool
) -> tuple[Any, Callable[[Any], list[Doc]]]:
    """Split, encode and align Docs."""
    from spacy_transformers.data_classes import FullTransformerBatch, WordpieceBatch

    tokenizer = _objects(model).tokenizer
    _check(windows, tokenizer, model.attrs["name"])
    full = [doc for doc in docs if len(doc)]
    overlap = windows.window - tokenizer.num_special_tokens_to_add() - windows.stride
    encoding = tokenizer(
        [doc.text for doc in full],
        truncation=True,
        max_length=windows.window,
        stride=overlap,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_attention_mask=True,
        padding="longest",
        return_tensors="np",
    )
    # A call leaves its settings in the tokenizer, where they would be saved.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    encoding["input_texts"] = [tokenizer.convert_ids_to_tokens(row) for row in encoding["input_ids"]]
    encoding["pad_token"] = tokenizer.pad_token
    offsets, owner = np.asarray(encoding.pop("offset_mapping")), np.asarray(encoding.pop("overflow_to_sample_mapping"))
    pieces = WordpieceBatch.from_batch_encoding(encoding)
    rows = [offsets[owner == i] for i in range(len(full))]
    spans = iter([_spans(doc, part) for doc, part in zip(full, rows, strict=True)])
    output, backprop = _run(model.layers[0], pieces, is_train, max(1, windows.batch // offsets.shape[1]))
    batch = FullTransformerBatch(
        spans=[next(spans) if len(doc) else [] for doc in docs],
        wordpieces=pieces,
        model_output=output,
        align=_align_all(full, rows),
    )
    return batch, lambda gradient: (backprop(gradient.model_output), docs)[1]


def _run(layer: Model[Any, Any], pieces: Any, is_train: bool, rows: int) -> tuple[Any, Callable[[Any], Any]]:
    """Compute the last layer of the encoder: at once in training, a few rows at a time in prediction."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    if is_train:
        output, backprop = layer(pieces, True)
        return BaseModelOutput(last_hidden_state=output.last_hidden_state), backprop
    parts = [layer.predict(pieces[i : i + rows]).last_hidden_state for i in range(0, len(pieces), rows)]
    return BaseModelOutput(last_hidden_state=torch.cat(parts)), lambda gradient: []


def _align_all(docs: Sequence[Doc], rows: Sequence[np.ndarray]) -> Ragged:
    """Align the tokens of all Docs to pieces, numbered across the batch."""
    data, lengths, before = [], [], 0
    for doc, offsets in zip(docs, rows, strict=True):
        pieces, counts = align_pieces(doc, offsets)
        data.append(pieces + before)
        lengths.append(counts)
        before += offsets.shape[0] * offsets.shape[1]
    return Ragged(cast(Any, np.concatenate(data).astype("i")), cast(Any, np.concatenate(lengths).astype("i")))


def align_pieces(doc: Doc, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the word pieces of each token: all pieces that share a character with it, in every window that contains
    them.

    doc (Doc): the note.
    offsets (ndarray): start and end of each piece in its text, shape (windows, pieces, 2); special pieces are empty.
    RETURNS (tuple[ndarray, ndarray]): indices of the pieces in the flattened array, token by token, and the number of
        pieces per token.
    """
    starts, lengths = doc.to_array([IDX, LENGTH]).astype(np.int64).reshape(-1, 2).T
    flat = offsets.reshape(-1, 2)
    real = np.flatnonzero(flat[:, 1] > flat[:, 0])
    first = np.searchsorted(starts + lengths, flat[real, 0], side="right")
    last = np.searchsorted(starts, flat[real, 1], side="left")
    shared = np.maximum(0, last - first)  # none for a piece that is the blank between two tokens
    pieces = np.repeat(real, shared)
    within = np.arange(len(pieces)) - np.repeat(np.cumsum(shared) - shared, shared)
    tokens = np.repeat(first, shared) + within
    order = np.argsort(tokens, kind="stable")
    return pieces[order], np.bincount(tokens, minlength=len(doc))


def _spans(doc: Doc, offsets: np.ndarray) -> list[Span]:
    """Return the windows of a note as spans, which together contain every token, also those without pieces."""
    ends = np.asarray([token.idx + len(token) for token in doc])
    last = [int(np.searchsorted(ends, row[:, 1].max())) + 1 for row in offsets[:-1]] + [len(doc)]
    first = [
        0,
        *(int(np.searchsorted(ends, int(row[row[:, 1] > row[:, 0], 0].min()), side="right")) for row in offsets[1:]),
    ]
    return [doc[min(a, b - 1) : b] for a, b in zip(first, last, strict=True)]


@registry.architectures("spacy_deid.CheckedListener.v1")
def build_checked_listener(
    pooling: Model[Ragged, Floats2d], grad_factor: float = 1.0, upstream: str = "*"
) -> Model[list[Doc], list[Floats2d]]:
    """Build a listener that returns the vectors of a ``transformer`` component. In prediction, the model raises
    NotDeidentified if the component did not run, did not encode a Doc completely, or returned NaN or infinite values.

    pooling (Model): reduces the pieces of a token to one vector, such as "reduce_mean.v1".
    grad_factor (float): factor for this component's gradient in the encoder; 0 freezes the encoder.
    upstream (str): name of the transformer component; "*" for any.
    RETURNS (Model): Docs → float32 arrays of shape (tokens, width).
    """
    from spacy_transformers.layers import TransformerListener, trfs2arrays

    _survive_forks()
    listener = TransformerListener(upstream_name=upstream)
    checked: Model[Any, Any] = Model("checked_listener", _listen, layers=[listener], attrs={"trained": False})
    model: Model[list[Doc], list[Floats2d]] = chain(checked, trfs2arrays(pooling, grad_factor))
    model.set_ref("listener", listener)
    return model


def _listen(
    model: Model[Any, Any], docs: list[Doc], is_train: bool
) -> tuple[list[Any], Callable[[list[Any]], list[Doc]]]:
    """Return the output of the encoder. RAISES: NotDeidentified if it does not exist for every Doc completely.

    If the encoder did not run, the listener of the library returns zeros, which are needed to infer shapes. A trained
    model would find no entity in them, so an error is raised instead.
    """
    if is_train:
        model.attrs["trained"] = True
    elif model.attrs["trained"] and not all(doc.has_extension("trf_data") and doc._.trf_data for doc in docs):
        raise NotDeidentified(Errors.D244)
    outputs, backprop = model.layers[0](docs, is_train)
    for doc, data in zip(docs, outputs, strict=True):
        unread = [
            i
            for i in np.flatnonzero(np.asarray(data.align.lengths) == 0).tolist()
            if any(unicodedata.category(char)[0] in "LNPS" for char in doc[i].text)
        ]
        if unread:
            shown = ", ".join(map(str, unread[:10])) + (" …" if len(unread) > 10 else "")
            raise NotDeidentified(Errors.D245.format(count=len(unread), tokens=shown))
        if not is_train:  # in training the gradient's scaler skips such a step
            for values in data.tensors:
                if not model.ops.xp.isfinite(values).all():
                    raise NotDeidentified(Errors.D246)
    return outputs, backprop
