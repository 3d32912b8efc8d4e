"""Any masked language model of Hugging Face transformers, on torch."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .model import PieceReader

__all__ = ["TransformersMaskedLM"]

_ENDLESS = 1 << 20  # a tokenizer that knows no limit says a very large number
_LONGEST = 512


class TransformersMaskedLM:
    """A masked language model on torch; satisfies `MaskedLM`. The output layer runs on the asked places alone, if the
    architecture has one that can be told from its encoder."""

    def __init__(self, source: str, precision: str, *, local: bool = True) -> None:
        """Load.

        source (str): folder, or name on the hub.
        precision (str): "float" or "int8" (dynamic quantisation of linear layers).
        local (bool): whether nothing is fetched.
        RAISES: ConfigError if a package is missing (D806), the folder holds no masked language model (D807), or its
            tokenizer is a slow one (D805) or has no mask (D802).
        """
        try:
            import torch
            import transformers
        except ImportError:
            raise ConfigError(Errors.D806.format(path=source, extra="transformers")) from None
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, use_fast=True, local_files_only=local)
            model = transformers.AutoModelForMaskedLM.from_pretrained(source, local_files_only=local)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise ConfigError(Errors.D807.format(path=source, kind=type(error).__name__)) from None
        if not tokenizer.is_fast:
            raise ConfigError(Errors.D805.format(path=source))
        special = {"mask": tokenizer.mask_token, "pad": tokenizer.pad_token, "unknown": tokenizer.unk_token}
        self.pieces = PieceReader(tokenizer.backend_tokenizer, source, **special)
        self.name = f"{source.rstrip('/').rsplit('/', 1)[-1]}-{_digest(model)}"
        self.length = _length(tokenizer, model)
        model.eval()
        if precision == "int8":
            model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
        self._model, self._torch = model, torch

    def log_probs(
        self, ids: NDArray[np.int64], attention: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """See `MaskedLM.log_probs`."""
        torch = self._torch
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}
        asked = torch.from_numpy(places)
        with torch.inference_mode():
            scores = self._scores(given, asked)
            found: NDArray[np.float32] = torch.log_softmax(scores.float(), -1).numpy()
        return found

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `MaskedLM.states`."""
        torch = self._torch
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}
        with torch.inference_mode():
            found: NDArray[np.float32] = self._model.base_model(**given).last_hidden_state.float().numpy()
        return found

    def _scores(self, given: dict[str, Any], asked: Any) -> Any:
        """Scores of the vocabulary at the asked places."""
        head = getattr(self._model, "cls", None) or getattr(self._model, "lm_head", None)
        if head is None:
            return self._model(**given).logits.flatten(0, 1)[asked]
        return head(self._model.base_model(**given).last_hidden_state.flatten(0, 1)[asked])


def _digest(model: Any) -> str:
    """Tell weights from others: scores that are kept belong to one model, whatever its folder is called."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().float().numpy().tobytes())
    return digest.hexdigest()[:8]


def _length(tokenizer: Any, model: Any) -> int:
    """Pieces that a model reads at once: the lowest limit that the tokenizer or the configuration knows."""
    positions = getattr(model.config, "max_position_embeddings", None) or _ENDLESS
    if getattr(model.config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
        positions -= model.config.pad_token_id + 1  # their positions are counted from behind the pad
    limits = [limit for limit in (positions, tokenizer.model_max_length) if 0 < limit < _ENDLESS]
    return int(min(limits, default=_LONGEST))
