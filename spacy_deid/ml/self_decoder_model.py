"""The network and the settings of a self-decoding model (Self-Decoded Model of Medical De-identification, SDM-M-DID).

An encoder reads a name. A decoder of Transformer layers reads only the encoder's embeddings and produces a state for
every position at once. A dense head turns states into scores of the vocabulary in one of two modes: *self-decoding*
uses the states directly, to reproduce the name; *replacing* multiplies them with a learned matrix first, to produce
another name.

The paper leaves some details open, which are decided here: as the decoder has no second input, its layers have
self-attention only; the matrix is initialized randomly, so that training approaches the target cosine from far away
instead of from the identity; the head is initialized with the encoder's embeddings, so that pieces of rare names need
not be learned from few examples.
"""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from confection import Config

from ..errors import ConfigError, Errors

SECTION = "self_decoder"


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of a model and settings of its training, from the block [self_decoder] of a config.

    Defaults are those of the paper, or values for what it leaves open.

    encoder (str): folder of a transformers encoder, or its name on the hub.
    layers, heads (int): size of the decoder.
    inner (int): width of its feed-forward layers.
    dropout (float): dropout rate of the decoder.
    pieces (int): maximum number of word pieces of a name, including special ones.
    similarity (float): target cosine similarity of states before and after the matrix.
    weight (float): weight of the similarity loss relative to the cross-entropy.
    train_encoder (bool): whether to train the encoder too.
    epochs (int): number of epochs.
    batch (int): batch size in names.
    rate (float): maximum learning rate.
    decay (float): weight decay.
    seed (int): random seed.
    RAISES: ConfigError (D248) for invalid values.
    """

    encoder: str
    layers: int = 6
    heads: int = 8
    inner: int = 768
    dropout: float = 0.1
    pieces: int = 16
    similarity: float = 0.7
    weight: float = 1.0
    train_encoder: bool = False
    epochs: int = 3
    batch: int = 64
    rate: float = 1e-3
    decay: float = 0.01
    seed: int = 1

    def __post_init__(self) -> None:
        counts = (self.layers, self.heads, self.inner, self.epochs, self.batch)
        if min(counts) < 1 or self.pieces < 3 or not 0.0 <= self.dropout < 1.0 or not -1.0 <= self.similarity <= 1.0:
            raise ConfigError(Errors.D248.format(reason="its numbers make no model"))

    @classmethod
    def from_config(cls, path: str | Path, **overrides: Any) -> Self:
        """Read a plan from a config file.

        path (Union[str, Path]): config with a block [self_decoder].
        overrides (Any): settings that override those of the file.
        RETURNS (Plan): the plan.
        RAISES: ConfigError (D248) if the file cannot be read, or a setting is unknown or has the wrong type.
        """
        try:
            settings: dict[str, Any] = {**Config().from_disk(Path(path))[SECTION], **overrides}
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(Errors.D248.format(reason=f"{Path(path).name}: {type(error).__name__}")) from None
        return cls.from_dict(settings)

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """Create a plan from its settings. RAISES: ConfigError (D248) for an unknown or invalid setting."""
        kinds = {field.name: field.type for field in fields(cls)}
        for name, value in settings.items():
            if name not in kinds:
                raise ConfigError(Errors.D248.format(reason=f"unknown setting '{name}'"))
            wanted = (int, float) if kinds[name] is float else kinds[name]
            if not isinstance(value, wanted) or (kinds[name] is not bool and isinstance(value, bool)):  # type: ignore[arg-type]
                raise ConfigError(Errors.D248.format(reason=f"'{name}' is of the wrong kind"))
        if "encoder" not in settings:
            raise ConfigError(Errors.D248.format(reason="no encoder is named"))
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dict."""
        return asdict(self)


def load_encoder(name: str, *, local: bool = True) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer.

    name (str): folder, or name on the hub.
    local (bool): whether to use local files only.
    RETURNS (tuple[PreTrainedModel, PreTrainedTokenizerFast]): the encoder without a head, and its tokenizer.
    RAISES: ConfigError if packages are missing (D806), the encoder cannot be loaded (D240), or it has no fast
        tokenizer (D243).
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
    RAISES: ConfigError (D248) if the width of the encoder is not divisible by the number of heads.
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
    """Compute the decoder states of names, shape (names, pieces, width)."""
    import torch

    with torch.set_grad_enabled(train_encoder and torch.is_grad_enabled()):
        embeddings = model["encoder"](input_ids=ids, attention_mask=attention).last_hidden_state
    return model["decoder"](embeddings, src_key_padding_mask=attention == 0)


def replaced_states(model: Any, states: Any) -> Any:
    """Multiply states with the matrix."""
    return model["matrix"](states)
