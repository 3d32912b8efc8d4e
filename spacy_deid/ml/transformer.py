"""A transformer encoder under `deid_ner` that reads every character of a note, however long or dense.

spacy-transformers cuts a note into windows of so many tokens and then drops the word pieces that an encoder has no
room for, with a line in the log. Dense strings (keys, scanned tables, base64) have many pieces a token, so a name
beside them would go unseen. `build_windowed_transformer` measures its windows in word pieces, so that none is ever
dropped, and runs them a few at a time, so that attention takes no more memory for a longer note.
`build_checked_listener` hands the vectors to a component and refuses a note of which the encoder has not seen a part,
whichever windows it was read by.

Needs the extra "transformers"; nothing here imports it before a model is built.
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

__all__ = ["Windows", "align_pieces", "build_checked_listener", "build_windowed_transformer"]


@dataclass(frozen=True, slots=True)
class Windows:
    """How a note is cut.

    window (int): word pieces in a window, the special ones included.
    stride (int): word pieces from the start of one window to that of the next.
    batch (int): word pieces that go through the encoder at once when it predicts.
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
    """An encoder for spaCy's ``transformer`` component.

    name (str): folder of a model, or its name on the hub. Read when the component is initialized; a saved pipeline
        holds the encoder and its tokenizer and needs neither the folder nor a network.
    window (int): word pieces in a window, at most what the encoder takes.
    stride (int): word pieces from the start of one window to that of the next; windows overlap by the rest, so that a
        token at an edge is seen with context from both sides.
    batch_pieces (int): word pieces that go through the encoder at once when it predicts. Bounds memory.
    tokenizer_config (Optional[dict]): settings of the tokenizer, such as "do_lower_case"; it is always a fast one.
    transformer_config (Optional[dict]): settings of the encoder, such as "hidden_dropout_prob".
    mixed_precision (bool): half precision where it is safe; for GPUs.
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
    """Let torch run on one thread in processes that are forked from this one.

    A forked process does not have the threads of torch's pool and waits for them forever, as the workers of
    ``nlp.pipe(n_process=2)`` do. With one thread torch uses no pool. Its own data loader does the same.
    """
    if hasattr(os, "register_at_fork"):
        import torch

        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def _to_bytes(shim: Any) -> bytes:
    """Save all but the place that the encoder was read from: a path of one machine, and after loading a random one."""
    if shim._hfmodel.transformer is not None:
        shim._hfmodel.transformer.config._name_or_path = ""
    return bytes(type(shim).to_bytes(shim))


def _init(windows: Windows, model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Read the encoder, unless a saved pipeline brought it."""
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
    encoder.tokenizer.model_max_length = _limit(encoder.tokenizer, encoder.transformer)
    _check(windows, encoder.tokenizer, name)
    model.attrs["set_transformer"](model, encoder)


def _objects(model: Model[Any, Any]) -> Any:
    """The encoder and its tokenizer, where the library keeps them."""
    shim: Any = model.layers[0].shims[0]
    return shim._hfmodel


def _limit(tokenizer: Any, transformer: Any) -> int:
    """Word pieces that an encoder takes: its positions, less those that RoBERTa and its kin leave to padding."""
    positions = int(getattr(transformer.config, "max_position_embeddings", 0) or tokenizer.model_max_length)
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return min(int(tokenizer.model_max_length), positions - (0 if padding is None else padding + 1))


def _check(windows: Windows, tokenizer: Any, name: str) -> None:
    """Refuse windows that the encoder cannot take, and tokenizers that do not say where a piece stands."""
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
    """Cut, encode and align."""
    from spacy_transformers.data_classes import FullTransformerBatch, WordpieceBatch

    tokenizer = _objects(model).tokenizer
    _check(windows, tokenizer, model.attrs["name"])
    full = [doc for doc in docs if len(doc)]
    encoding = _encode(tokenizer, [doc.text for doc in full], windows)
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


def _encode(tokenizer: Any, texts: list[str], windows: Windows) -> Any:
    """Windows of word pieces; what a window has no room for is in the next one."""
    overlap = windows.window - tokenizer.num_special_tokens_to_add() - windows.stride
    encoding = tokenizer(
        texts,
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
    return encoding


def _run(layer: Model[Any, Any], pieces: Any, is_train: bool, rows: int) -> tuple[Any, Callable[[Any], Any]]:
    """The encoder's last layer: at once in training, a few rows at a time when it predicts."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    if is_train:
        output, backprop = layer(pieces, True)
        return BaseModelOutput(last_hidden_state=output.last_hidden_state), backprop
    parts = [layer.predict(pieces[i : i + rows]).last_hidden_state for i in range(0, len(pieces), rows)]
    return BaseModelOutput(last_hidden_state=torch.cat(parts)), lambda gradient: []


def _align_all(docs: Sequence[Doc], rows: Sequence[np.ndarray]) -> Ragged:
    """The pieces of the tokens of all Docs, numbered through the batch."""
    data, lengths, before = [], [], 0
    for doc, offsets in zip(docs, rows, strict=True):
        pieces, counts = align_pieces(doc, offsets)
        data.append(pieces + before)
        lengths.append(counts)
        before += offsets.shape[0] * offsets.shape[1]
    return Ragged(cast(Any, np.concatenate(data).astype("i")), cast(Any, np.concatenate(lengths).astype("i")))


def align_pieces(doc: Doc, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the word pieces of each token: all that share a character with it, in every window that has them.

    doc (Doc): the note.
    offsets (ndarray): start and end of each piece in its text, shape (windows, pieces, 2); special pieces are empty.
    RETURNS (tuple[ndarray, ndarray]): numbers of the pieces in the flat array, token by token, and how many each
        token has.
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
    """The windows as spans; together they have every token, those without pieces too."""
    ends = np.asarray([token.idx + len(token) for token in doc])
    last = [int(np.searchsorted(ends, row[:, 1].max())) + 1 for row in offsets[:-1]] + [len(doc)]
    first = [0, *(int(np.searchsorted(ends, _start(row), side="right")) for row in offsets[1:])]
    return [doc[min(a, b - 1) : b] for a, b in zip(first, last, strict=True)]


def _start(row: np.ndarray) -> int:
    """Where the text of a window starts."""
    return int(row[row[:, 1] > row[:, 0], 0].min())


@registry.architectures("spacy_deid.CheckedListener.v1")
def build_checked_listener(
    pooling: Model[Ragged, Floats2d], grad_factor: float = 1.0, upstream: str = "*"
) -> Model[list[Doc], list[Floats2d]]:
    """The vectors of a ``transformer`` component for the tokens of a Doc; a Doc that it has not read whole is refused.

    pooling (Model): makes one vector of the pieces of a token, as "reduce_mean.v1".
    grad_factor (float): weight of this component's gradient in the encoder; 0 leaves the encoder as it is.
    upstream (str): name of the transformer component; "*" for the only one.
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
    """Hand the encoder's output on, if there is one for all of each Doc.

    Where the encoder did not run the library's listener gives zeros, which are needed to infer shapes. A trained model
    would find nothing in them, so it refuses.
    """
    if is_train:
        model.attrs["trained"] = True
    elif model.attrs["trained"] and not all(doc.has_extension("trf_data") and doc._.trf_data for doc in docs):
        raise NotDeidentified(Errors.D244)
    outputs, backprop = model.layers[0](docs, is_train)
    for doc, data in zip(docs, outputs, strict=True):
        _refuse_unread(doc, data.align.lengths)
        if not is_train:  # in training the gradient's scaler skips such a step
            _refuse_overflow(model, data)
    return outputs, backprop


def _refuse_unread(doc: Doc, lengths: Any) -> None:
    """Refuse a Doc with a token without pieces. Blanks, controls and marks may have none: encoders pass them over."""
    unread = [i for i in np.flatnonzero(np.asarray(lengths) == 0).tolist() if _visible(doc[i].text)]
    if unread:
        shown = ", ".join(map(str, unread[:10])) + (" …" if len(unread) > 10 else "")
        raise NotDeidentified(Errors.D245.format(count=len(unread), tokens=shown))


def _refuse_overflow(model: Model[Any, Any], data: Any) -> None:
    """Refuse vectors that are no numbers, as half precision may give: they would decode to "nothing found"."""
    for values in data.tensors:
        if not model.ops.xp.isfinite(values).all():
            raise NotDeidentified(Errors.D246)


def _visible(text: str) -> bool:
    """Whether a text has a letter, a digit, punctuation or a symbol."""
    return any(unicodedata.category(char)[0] in "LNPS" for char in text)
