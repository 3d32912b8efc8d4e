"""What a masked language model is to the scorer, and how one is loaded.

The scorer knows pieces and their places in the text, and asks for distributions at places. Whether the pieces come
from WordPiece, BPE or SentencePiece, and what computes the distributions, is known here alone.
"""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes

__all__ = ["Encoded", "MaskedLM", "PieceReader", "load_masked_lm", "shipped_models"]


class Encoded(NamedTuple):
    """The pieces of a text, without those that are put around it.

    ids (NDArray): pieces, (pieces,) int64.
    starts, ends (NDArray): characters that each piece covers, (pieces,) int64; both rise.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class MaskedLM(Protocol):
    """A masked language model.

    name (str): what it is called in results; it changes with the weights.
    pieces (PieceReader): its tokenizer.
    length (int): pieces it reads at once, those around the text counted in.
    """

    name: str
    pieces: "PieceReader"
    length: int

    def log_probs(
        self, ids: NDArray[np.int64], attention: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Distributions over the vocabulary.

        ids (NDArray): pieces with masks, (rows, length).
        attention (NDArray): 1 where there is a piece, (rows, length).
        places (NDArray): flat positions that are asked, (asked,).
        RETURNS (NDArray): natural logarithms of probabilities, (asked, vocabulary) float32.
        """

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """Last hidden states, the embeddings of pieces in their text.

        ids, attention (NDArray): as for `log_probs`.
        RETURNS (NDArray): (rows, length, width) float32.
        RAISES: ConfigError (D813) for a model that was exported without them.
        """


class PieceReader:
    """A fast tokenizer: text to pieces with offsets, of whatever kind it is."""

    def __init__(self, tokenizer: Any, source: str, *, mask: str | None, pad: str | None, unknown: str | None) -> None:
        """Set up.

        tokenizer (tokenizers.Tokenizer): the tokenizer.
        source (str): where it comes from, for errors.
        mask, pad, unknown (Optional[str]): its special pieces.
        RAISES: ConfigError if it has no mask (D802).
        """
        ids = {role: tokenizer.token_to_id(piece) for role, piece in (("mask", mask), ("unk", unknown)) if piece}
        if ids.get("mask") is None:
            raise ConfigError(Errors.D802.format(path=source))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.mask: int = ids["mask"]
        self.unknown: int | None = ids.get("unk")
        self.pad: int = (tokenizer.token_to_id(pad) if pad else None) or 0
        self.size: int = tokenizer.get_vocab_size()
        around = tokenizer.encode("a")
        inside = [place for place, special in enumerate(around.special_tokens_mask) if not special]
        first, last = (inside[0], inside[-1]) if inside else (len(around.ids), len(around.ids))
        self.before: list[int] = list(around.ids[:first])
        self.after: list[int] = list(around.ids[last + 1 :])

    def encode(self, text: str) -> Encoded:
        """Cut a text into pieces.

        text (str): the text.
        RETURNS (Encoded): its pieces. Those that cover no character are left out.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        ids = np.array(encoding.ids, dtype=np.int64)
        there = offsets[:, 1] > offsets[:, 0]
        starts, ends = offsets[there].T
        return Encoded(ids[there], np.maximum.accumulate(starts), np.maximum.accumulate(ends))

    def first_pieces(self, words: list[str]) -> list[int | None]:
        """The first piece of each word, as it stands inside a text.

        words (list[str]): words.
        RETURNS (list[Optional[int]]): ids; None where there is none.
        """
        encoded = self._tokenizer.encode_batch([f" {word}" for word in words], add_special_tokens=False)
        return [self._first(encoding.ids, encoding.offsets) for encoding in encoded]

    def text_of(self, piece: int) -> str:
        """The letters of a piece, as the tokenizer writes it back.

        piece (int): its id.
        RETURNS (str): the text.
        """
        return str(self._tokenizer.decode([piece], skip_special_tokens=False))

    @staticmethod
    def _first(ids: list[int], offsets: list[tuple[int, int]]) -> int | None:
        """The first piece that covers more than the blank before the word."""
        return next((piece for piece, (_, end) in zip(ids, offsets, strict=True) if end > 1), None)


def shipped_models() -> list[str]:
    """Languages whose model ships with the package.

    RETURNS (list[str]): their codes.
    """
    return language_codes("masked_lm")


def load_masked_lm(source: str | Path, *, precision: str = "float", allow_download: bool = False) -> MaskedLM:
    """Load a model: one that ships, by its language; a folder; or one by its name on a hub.

    source (str | Path): "es"; a folder of an exported or of a transformers model; a hub's name.
    precision (str): "float", or "int8": faster, scores differ a little and with the batch. Models that are not
        exported are quantised by torch.
    allow_download (bool): whether a name that is no folder may be fetched; nothing is ever fetched without it.
    RETURNS (MaskedLM): the model.
    RAISES: ConfigError for another precision (D803), no such folder (D804), a model without a mask (D802) or with a
        slow tokenizer (D805), or a package that is missing (D806).
    """
    if precision not in ("float", "int8"):
        raise ConfigError(Errors.D803.format(precision=precision))
    folder = get_language(str(source)).resource("masked_lm") if str(source) in shipped_models() else Path(source)
    if (folder / "masked_lm.json").is_file():
        from .exported import ExportedMaskedLM

        return ExportedMaskedLM(folder, precision)
    if not folder.is_dir() and not allow_download:
        raise ConfigError(Errors.D804.format(path=source, known=", ".join(shipped_models())))
    from .transformers_model import TransformersMaskedLM

    return TransformersMaskedLM(str(source), precision, local=folder.is_dir() or not allow_download)
