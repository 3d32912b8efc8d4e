"""The self-decoding model for medical de-identification, as a PyTorch module.

An encoder reads a name. A decoder of Transformer layers reads nothing but the encoder's embeddings and gives a state
for every place at once. A dense head turns states into scores of the vocabulary, on two ways: *self-decoding* hands it
the states themselves, to say the name again; *replacing* multiplies them by a matrix of parameters before, to say
another one (Self-Decoded Model of Medical De-identification, SDM-M-DID).

What the paper leaves open is decided here: as the decoder has no second input, its layers are of self-attention alone;
the matrix begins at random, so that it comes to its cosine from far and not from the identity; the head begins as the
encoder's embeddings of its pieces, so that pieces of rare names need not be learned from few examples.
"""

from pathlib import Path
from typing import Any

from ...errors import ConfigError, Errors
from .plan import Plan

__all__ = ["build_model", "decoder_states", "load_encoder", "replaced_states"]


def load_encoder(name: str, *, local: bool = True) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer.

    name (str): folder, or name on the hub.
    local (bool): whether nothing is fetched.
    RETURNS (tuple[PreTrainedModel, PreTrainedTokenizerFast]): the encoder without a head, and its tokenizer.
    RAISES: ConfigError if packages are missing (D806), the encoder cannot be loaded (D240), or its tokenizer is slow
        (D243).
    """
    try:
        import transformers
        import transformers.utils.logging as chatter
    except ImportError:
        raise ConfigError(Errors.D806.format(path=name, extra="transformers")) from None
    level = chatter.get_verbosity()
    chatter.set_verbosity_error()  # a head that is left out is no news
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True, local_files_only=local)
        encoder = transformers.AutoModel.from_pretrained(name, local_files_only=local)
    except (OSError, ValueError, KeyError):
        raise ConfigError(Errors.D240.format(name=Path(name).name)) from None
    finally:
        chatter.set_verbosity(level)
    if not tokenizer.is_fast:
        raise ConfigError(Errors.D243.format(name=Path(name).name))
    return encoder, tokenizer


def build_model(encoder: Any, plan: Plan) -> Any:
    """Build an untrained model around an encoder.

    encoder (PreTrainedModel): the encoder.
    plan (Plan): size of the decoder.
    RETURNS (torch.nn.ModuleDict): "encoder", "decoder", "matrix", "head".
    RAISES: ConfigError (D248) if the heads do not divide the width of the encoder.
    """
    from torch import nn

    width, vocabulary = encoder.config.hidden_size, encoder.config.vocab_size
    if width % plan.heads:
        raise ConfigError(Errors.D248.format(reason=f"{plan.heads} heads do not divide a width of {width}"))
    layer = nn.TransformerEncoderLayer(
        width, plan.heads, plan.inner, plan.dropout, activation="gelu", batch_first=True, norm_first=True
    )
    decoder = nn.TransformerEncoder(layer, plan.layers, nn.LayerNorm(width), enable_nested_tensor=False)
    head, pieces = nn.Linear(width, vocabulary), encoder.get_input_embeddings().weight
    if pieces.shape == head.weight.shape:
        head.weight.data.copy_(pieces.data)
    matrix = nn.Linear(width, width, bias=False)
    return nn.ModuleDict({"encoder": encoder, "decoder": decoder, "matrix": matrix, "head": head})


def decoder_states(model: Any, ids: Any, attention: Any, *, train_encoder: bool = False) -> Any:
    """The decoder's states of all places of names, (names, pieces, width)."""
    import torch

    with torch.set_grad_enabled(train_encoder and torch.is_grad_enabled()):
        embeddings = model["encoder"](input_ids=ids, attention_mask=attention).last_hidden_state
    return model["decoder"](embeddings, src_key_padding_mask=attention == 0)


def replaced_states(model: Any, states: Any) -> Any:
    """The states after the matrix."""
    return model["matrix"](states)
