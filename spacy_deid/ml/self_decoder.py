"""Convert names to others with a self-decoding model (Self-Decoded Model of Medical De-identification, SDM-M-DID).

An encoder computes embeddings of the word pieces of a name. A decoder of Transformer layers has only these embeddings
as input and computes a state for every position at once. A linear layer, the head, converts states to scores of the
vocabulary, in one of two modes: *self-decoding* uses the states directly, to reproduce the name; *replacing* first
multiplies them by a learned matrix, to produce another name.

The paper leaves some details open, which are decided here: as the decoder has no second input, its layers have
self-attention only; the matrix is initialized randomly, so that training approaches the target cosine from far away
instead of from the identity; the head is initialized with the encoder's embeddings, so that pieces of rare names need
not be learned from few examples.

`SelfDecoder.decode` returns the most probable output, as in the paper. This is not safe for released notes: if a name
always became the same other name, anyone with the model could build a table that maps them back. `SelfDecoder.propose`
therefore returns several pieces per position with their probabilities, from which the caller draws with a secret key.
A proposal never repeats a piece of the original at its position, keeps the number of words, and consists of letters
only.

It requires the extra "transformers", which is imported when a model is loaded. Models are trained with
`scripts/self_decoder.py`; the package contains none.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
import srsly
from confection import Config
from numpy.typing import NDArray

from ..errors import ConfigError, Errors

SECTION = "self_decoder"


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of a model and settings of its training, from the block [self_decoder] of a config.

    Defaults are those of the paper where it gives a value.

    encoder (str): folder of a transformers encoder, or its name on the hub.
    layers, heads (int): size of the decoder.
    inner (int): width of its feed-forward layers.
    dropout (float): dropout rate of the decoder.
    pieces (int): maximum number of word pieces of a name, including special ones.
    similarity (float): target cosine similarity of the decoder's states before and after multiplication by the matrix.
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
            raise ConfigError(Errors.D248.format(reason="one of its numbers is out of range"))

    @classmethod
    def from_config(cls, path: str | Path, **overrides: Any) -> Self:
        """Read the settings of a model and its training from a config file.

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
                raise ConfigError(Errors.D248.format(reason=f"'{name}' has the wrong type"))
        if "encoder" not in settings:
            raise ConfigError(Errors.D248.format(reason="'encoder' is missing"))
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dict."""
        return asdict(self)


def load_encoder(name: str, *, local: bool = True) -> tuple[Any, Any]:
    """Load a pretrained transformers encoder and its tokenizer.

    name (str): folder, or name on the hub.
    local (bool): whether to use local files only; if False, the encoder can be downloaded.
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
    """Build an untrained self-decoding model on top of an encoder.

    encoder (PreTrainedModel): the encoder.
    plan (Plan): size of the decoder.
    RETURNS (torch.nn.ModuleDict): the modules "encoder", "decoder", "matrix" and "head".
    RAISES: ConfigError (D248) if the width of the encoder is not divisible by the number of heads.
    """
    from torch import nn

    width, vocabulary = encoder.config.hidden_size, encoder.config.vocab_size
    if width % plan.heads:
        raise ConfigError(
            Errors.D248.format(reason=f"the encoder's width {width} is not divisible by {plan.heads} heads")
        )
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
    """Compute the decoder's states for names.

    model (torch.nn.ModuleDict): a model from `build_model`.
    ids, attention (torch.Tensor): vocabulary ids and attention mask, shape (names, pieces).
    train_encoder (bool): whether gradients flow into the encoder.
    RETURNS (torch.Tensor): the states, shape (names, pieces, width).
    """
    import torch

    with torch.set_grad_enabled(train_encoder and torch.is_grad_enabled()):
        embeddings = model["encoder"](input_ids=ids, attention_mask=attention).last_hidden_state
    return model["decoder"](embeddings, src_key_padding_mask=attention == 0)


def replaced_states(model: Any, states: Any) -> Any:
    """Multiply the decoder's states by the learned matrix, which makes the head produce other names.

    model (torch.nn.ModuleDict): a model from `build_model`.
    states (torch.Tensor): states from `decoder_states`.
    RETURNS (torch.Tensor): the new states, of the same shape.
    """
    return model["matrix"](states)


# The pieces proposed for one position in a word, with their probabilities.
Place = Sequence[tuple[str, float]]
# Character offsets of a word in its name, and the proposals for each position of its replacement.
Word = tuple[int, int, Sequence[Place]]

_MARKERS = ("##", "▁", "Ġ")
_ROWS = 128  # names that go through the model at once


class SelfDecoder:
    """Proposes replacements for names with a trained self-decoding model.

    model (torch.nn.ModuleDict): the model.
    tokenizer (PreTrainedTokenizerFast): the tokenizer of its encoder.
    plan (Plan): its training settings.
    """

    def __init__(self, model: Any, tokenizer: Any, plan: Plan) -> None:
        self.model, self.tokenizer, self.plan = model.eval(), tokenizer, plan
        self._special = frozenset(tokenizer.all_special_ids)
        self._pieces = tokenizer.convert_ids_to_tokens(list(range(model["head"].out_features)))
        kinds = defaultdict(list)
        for number, piece in enumerate(self._pieces):
            if number not in self._special and (kind := _kind(piece)):
                kinds[kind].append(number)
        self._kinds = {kind: np.array(numbers) for kind, numbers in kinds.items()}

    @classmethod
    def from_disk(cls, folder: str | Path) -> Self:
        """Load a trained model from a folder.

        folder (Union[str, Path]): the folder that `to_disk` wrote.
        RETURNS (SelfDecoder): the model.
        RAISES: ConfigError if packages are missing (D806), the folder contains no self-decoding model (D249), or its
            settings or encoder cannot be read (D240, D248).
        """
        folder = Path(folder)
        try:
            plan = Plan.from_dict(srsly.read_json(folder / "plan.json"))
            encoder, tokenizer = load_encoder(str(folder / "encoder"))
            import torch

            model = build_model(encoder, plan)
            model.load_state_dict(torch.load(folder / "model.pt", map_location="cpu", weights_only=True))
        except ConfigError:
            raise
        except Exception as error:  # damaged files raise whatever their readers do
            raise ConfigError(Errors.D249.format(folder=folder.name, kind=type(error).__name__)) from None
        return cls(model, tokenizer, plan)

    def to_disk(self, folder: str | Path) -> None:
        """Save encoder, tokenizer, weights and settings; nothing else is needed to load the model.

        folder (Union[str, Path]): the folder; it is created if needed.
        """
        import torch

        folder = Path(folder)
        self.model["encoder"].save_pretrained(folder / "encoder")
        self.tokenizer.save_pretrained(folder / "encoder")
        torch.save(self.model.state_dict(), folder / "model.pt")
        # the place of the encoder on one machine is of no use on another
        srsly.write_json(folder / "plan.json", {**self.plan.to_dict(), "encoder": Path(self.plan.encoder).name})

    def decode(self, names: Sequence[str], *, bypass: bool = False) -> list[str | None]:
        """Convert each name to the most probable other name, by taking the most probable piece at each position.

        names (Sequence[str]): names.
        bypass (bool): whether to skip the matrix, so that the model reproduces the names (self-decoding).
        RETURNS (list[Optional[str]]): other names; "" for a name without pieces; None if a predicted piece is not a
            word piece.
        """
        out: list[str | None] = []
        for start in range(0, len(names), _ROWS):
            batch = self._encode(names[start : start + _ROWS])
            best = self._scores(batch, bypass=bypass).argmax(-1)
            real = [[i for i, word in enumerate(encoding.word_ids) if word is not None] for encoding in batch]
            out += [self._read([int(row[i]) for i in places]) for row, places in zip(best, real, strict=True)]
        return out

    def propose(self, names: Sequence[str], count: int = 40) -> list[list[Word]]:
        """Propose pieces of which replacements for names can be made.

        names (Sequence[str]): capitalized names.
        count (int): maximum number of pieces to propose per position.
        RETURNS (list[list[Word]]): for each name its words, as (start, end, proposals): the character offsets in the
            name, and for each position the pieces with their probabilities. A word is missing if the model cannot
            replace it, because it contains other characters than letters or an unknown piece, or is too long.
        """
        out: list[list[Word]] = []
        for start in range(0, len(names), _ROWS):
            part = names[start : start + _ROWS]
            batch = self._encode(part)
            scores = self._scores(batch)
            out += [
                self._words(encoding, row, count, len(name))
                for encoding, row, name in zip(batch, scores, part, strict=True)
            ]
        return out

    def embed(self, text: str) -> NDArray[np.float32]:
        """Compute the encoder's embeddings of the pieces of a text, for BERTScore.

        text (str): the text.
        RETURNS (NDArray): shape (pieces, width), float32.
        """
        import torch

        found = self.tokenizer([text], truncation=True, return_tensors="pt", return_special_tokens_mask=True)
        inner = found.pop("special_tokens_mask")[0] == 0
        given = {"input_ids": found["input_ids"], "attention_mask": found["attention_mask"]}
        with torch.inference_mode():
            rows: NDArray[np.float32] = self.model["encoder"](**given).last_hidden_state[0][inner].numpy()
        return rows

    def _encode(self, names: Sequence[str]) -> list[Any]:
        """Tokenize names, padded to the same length."""
        found = self.tokenizer(list(names), truncation=True, max_length=self.plan.pieces, padding=True)
        return list(found.encodings)

    def _scores(self, batch: Sequence[Any], *, bypass: bool = False) -> NDArray[np.float32]:
        """Compute the logits at each position, shape (names, pieces, vocabulary)."""
        import torch

        ids = torch.tensor([encoding.ids for encoding in batch])
        attention = torch.tensor([encoding.attention_mask for encoding in batch])
        with torch.inference_mode():
            states = decoder_states(self.model, ids, attention)
            states = states if bypass else replaced_states(self.model, states)
            scores: NDArray[np.float32] = self.model["head"](states).float().numpy()
        return scores

    def _read(self, ids: list[int]) -> str | None:
        """Return the text of predicted pieces; None if one of them is the unknown piece."""
        if self.tokenizer.unk_token_id in ids:
            return None
        said = [i for i in ids if i not in self._special]
        text = str(self.tokenizer.decode(said, clean_up_tokenization_spaces=False))
        return text.replace(" ##", "").strip()  # of a tokenizer that was saved without a decoder

    def _words(self, encoding: Any, scores: NDArray[np.float32], count: int, length: int) -> list[Word]:
        """Return the proposals for the words of a name."""
        places: dict[int, list[int]] = defaultdict(list)
        for place, word in enumerate(encoding.word_ids):
            if word is not None:
                places[word].append(place)
        reached = max((encoding.offsets[group[-1]][1] for group in places.values()), default=0)
        if reached < length and len(encoding.ids) >= self.plan.pieces:
            places.pop(max(places, default=-1), None)  # it may go on beyond the last piece
        found: list[Word] = []
        for group in places.values():
            ids = [encoding.ids[place] for place in group]
            made = [self._place(number, scores[place], count) for number, place in zip(ids, group, strict=True)]
            if all(made):
                found.append((encoding.offsets[group[0]][0], encoding.offsets[group[-1]][1], made))
        return found

    def _place(self, original: int, scores: NDArray[np.float32], count: int) -> list[tuple[str, float]]:
        """Return the most probable pieces of the same kind as the original, without the original; none if it is
        unknown.
        """
        kind = _kind(self._pieces[original])
        if kind is None or original in self._special:
            return []
        numbers = self._kinds[kind]
        numbers = numbers[numbers != original]
        best = numbers[np.argsort(-scores[numbers], kind="stable")[:count]]
        weights = np.exp(scores[best] - scores[best].max(initial=-np.inf))
        # rounded, because the last digits differ from machine to machine, and draws should not
        shares = (weights / weights.sum()).round(3).tolist()
        return [(_bare(self._pieces[i]), p) for i, p in zip(best, shares, strict=True) if p > 0]


def _kind(piece: str) -> tuple[str, bool] | None:
    """Return how a piece is marked and whether it is capitalized; None if it is not all letters."""
    bare = _bare(piece)
    return (piece[: len(piece) - len(bare)], bare[0].isupper()) if bare.isalpha() else None


def _bare(piece: str) -> str:
    """Return a piece without the marker of its tokenizer."""
    marker = next((marker for marker in _MARKERS if piece.startswith(marker)), "")
    return piece[len(marker) :]
