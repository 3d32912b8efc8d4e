"""A trained self-decoding model, which converts names to other names.

`decode` returns the most probable output, as in the paper. For a release this is not enough: if a name always became
the same other name, anyone with the model could build a table of both. `propose` therefore returns several pieces per
position with their probabilities, and the caller draws from them with a key. A proposal never repeats a piece of the
original at its position, keeps the number of words, and consists of letters only.

It requires the extra "transformers", which is imported when a model is loaded. Models are trained with
`scripts/self_decoder.py`; none ships.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .self_decoder_model import Plan, build_model, decoder_states, load_encoder, replaced_states

__all__ = ["Place", "SelfDecoder", "Word"]

# Pieces and their probabilities, at one place of a word.
Place = Sequence[tuple[str, float]]
# Where a word starts and ends in its name, and the places that another one is made of.
Word = tuple[int, int, Sequence[Place]]

_MARKERS = ("##", "▁", "Ġ")
_ROWS = 128  # names that go through the model at once


class SelfDecoder:
    """A trained model.

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
        """Load a model.

        folder (Union[str, Path]): folder written by `to_disk`.
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
        """Convert names to the most probable piece at each position.

        names (Sequence[str]): names.
        bypass (bool): whether to skip the matrix, which reproduces the input (self-decoding).
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
        """Propose replacements for names.

        names (Sequence[str]): capitalized names.
        count (int): number of pieces per position.
        RETURNS (list[list[Word]]): proposals for the words of each name. A word is missing if it has no letters or an
            unknown piece, or exceeds the maximum length.
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
        """Return the text of predicted pieces."""
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
