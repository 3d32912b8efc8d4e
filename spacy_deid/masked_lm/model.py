"""Load masked language models, and run them with ONNX Runtime or Hugging Face transformers behind one interface.

The code that scores words works with word pieces, their character offsets and distributions over the vocabulary. Only
this module depends on the kind of tokenizer and on the library that computes the distributions.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes


class Encoded(NamedTuple):
    """The word pieces of a text, without special pieces such as [CLS].

    ids (NDArray): vocabulary ids, shape (pieces,), int64.
    starts, ends (NDArray): character offsets of each piece, shape (pieces,), int64, both non-decreasing.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class MaskedLM(Protocol):
    """The interface of a masked language model.

    name (str): name by which results refer to the model; it identifies the weights.
    pieces (PieceReader): the tokenizer.
    length (int): maximum number of pieces per input, special pieces included.
    """

    name: str
    pieces: "PieceReader"
    length: int

    def log_probs(
        self, ids: NDArray[np.int64], attention: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Compute the distributions over the vocabulary at given positions.

        ids (NDArray): vocabulary ids of a batch of inputs, in which some pieces are masked, shape (rows, length).
        attention (NDArray): 1 for a piece and 0 for padding, shape (rows, length).
        places (NDArray): positions to predict, as indices in the flattened `ids`, shape (positions,).
        RETURNS (NDArray): natural logarithms of probabilities, shape (positions, vocabulary), float32.
        """

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute the last hidden states, which are contextual embeddings of the pieces.

        ids, attention (NDArray): as for `log_probs`.
        RETURNS (NDArray): shape (rows, length, width), float32.
        RAISES: ConfigError (D813) if the model was exported without hidden states.
        """


class PieceReader:
    """Converts texts to word pieces with character offsets, by a fast tokenizer of any kind (WordPiece, BPE, Unigram).

    mask, pad (int): vocabulary ids of the mask piece and of the padding piece.
    unknown (Optional[int]): vocabulary id of the piece for unknown text; None if the tokenizer has none.
    size (int): number of pieces in the vocabulary.
    before, after (list[int]): special pieces that every input begins and ends with, such as [CLS] and [SEP].
    """

    def __init__(self, tokenizer: Any, source: str, *, mask: str | None, pad: str | None, unknown: str | None) -> None:
        """Initialize the tokenizer.

        tokenizer (tokenizers.Tokenizer): the tokenizer.
        source (str): name of the model for error messages.
        mask, pad, unknown (Optional[str]): texts of its special pieces; None for one that it does not have.
        RAISES: ConfigError (D802) if it has no mask piece.
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
        """Split a text into word pieces with character offsets.

        text (str): the text.
        RETURNS (Encoded): the pieces, except those that cover no character.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        ids = np.array(encoding.ids, dtype=np.int64)
        there = offsets[:, 1] > offsets[:, 0]
        starts, ends = offsets[there].T
        return Encoded(ids[there], np.maximum.accumulate(starts), np.maximum.accumulate(ends))

    def first_pieces(self, words: list[str]) -> list[int | None]:
        """Return the first piece of each word, as it is inside a text (after a space).

        words (list[str]): the words.
        RETURNS (list[Optional[int]]): vocabulary ids; None for a word without pieces.
        """
        encoded = self._tokenizer.encode_batch([f" {word}" for word in words], add_special_tokens=False)
        return [self._first(encoding.ids, encoding.offsets) for encoding in encoded]

    def text_of(self, piece: int) -> str:
        """Convert a word piece to its text.

        piece (int): vocabulary id of the piece.
        RETURNS (str): the text as the tokenizer decodes it.
        """
        return str(self._tokenizer.decode([piece], skip_special_tokens=False))

    @staticmethod
    def _first(ids: list[int], offsets: list[tuple[int, int]]) -> int | None:
        """Return the first piece that covers more than the space before the word; None without one."""
        return next((piece for piece, (_, end) in zip(ids, offsets, strict=True) if end > 1), None)


def shipped_models() -> list[str]:
    """List the languages for which this package contains a masked language model.

    RETURNS (list[str]): ISO 639-1 codes, sorted.
    """
    return language_codes("masked_lm")


def load_masked_lm(source: str | Path, *, precision: str = "float", allow_download: bool = False) -> MaskedLM:
    """Load a masked language model.

    source (str | Path): code of a language whose model this package contains ("es"), folder of an exported or
        transformers model, or name on a model hub.
    precision (str): "float" or "int8". "int8" is faster; its scores differ slightly and depend on the batch. torch
        quantizes models that were not exported.
    allow_download (bool): whether a model may be downloaded. Without it no network connection is made.
    RETURNS (MaskedLM): the model.
    RAISES: ConfigError for an unknown precision (D803), a missing folder (D804), a model without a mask (D802) or with
        a slow tokenizer (D805), or missing packages (D806).
    """
    if precision not in ("float", "int8"):
        raise ConfigError(Errors.D803.format(precision=precision))
    folder = get_language(str(source)).resource("masked_lm") if str(source) in shipped_models() else Path(source)
    if (folder / "masked_lm.json").is_file():
        return ExportedMaskedLM(folder, precision)
    if not folder.is_dir() and not allow_download:
        raise ConfigError(Errors.D804.format(path=source, known=", ".join(shipped_models())))
    return TransformersMaskedLM(str(source), precision, local=folder.is_dir() or not allow_download)


FILES = ("tokenizer.json", "weights.bin", "float.onnx", "int8.onnx")


class ExportedMaskedLM:
    """An exported masked language model, which runs on ONNX Runtime without torch; implements `MaskedLM`.

    Its folder contains ``masked_lm.json`` (settings), ``tokenizer.json``, the weights as int8 with one scale per
    column in ``weights.bin``, and two graphs over these weights: ``float.onnx`` computes in float32, so that no result
    depends on the rest of the batch; ``int8.onnx`` multiplies integers and is about twice as fast.
    """

    def __init__(self, folder: Path, precision: str, threads: int = 1) -> None:
        """Load a masked language model.

        folder (Path): folder with the files of the model.
        precision (str): precision of the weights, "float" or "int8".
        threads (int): number of CPU threads for inference.
        RAISES: ConfigError if a file is missing (D800) or damaged (D807), or a package is missing (D806).
        """
        for file in FILES:
            if not (folder / file).is_file():
                raise ConfigError(Errors.D800.format(path=folder, file=file))
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise ConfigError(Errors.D806.format(path=folder, extra="surprisal")) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.add_session_config_entry("session.disable_quant_qdq", "1")  # weights are widened once, at loading
        try:
            settings = srsly.read_json(folder / "masked_lm.json")
            self.name, self.length = str(settings["name"]), int(settings["length"])
            special = {role: settings[role] for role in ("mask", "pad", "unknown")}
            self.pieces = PieceReader(Tokenizer.from_file(str(folder / "tokenizer.json")), str(folder), **special)
            path = folder / f"{precision}.onnx"
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except ConfigError:
            raise
        except Exception as error:  # whatever ONNX Runtime and the tokenizer make of a damaged file
            raise ConfigError(Errors.D807.format(path=folder, kind=type(error).__name__)) from None

    def log_probs(
        self, ids: NDArray[np.int64], attention: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Compute the log-probabilities of all pieces at the given positions; see `MaskedLM.log_probs`."""
        given = {"ids": ids, "attention": attention, "places": places}
        found: NDArray[np.float32] = self._session.run(["log_probs"], given)[0]
        return found

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute the hidden states of the last layer; see `MaskedLM.states`."""
        if not any(output.name == "states" for output in self._session.get_outputs()):
            raise ConfigError(Errors.D813.format(name=self.name))
        given = {"ids": ids, "attention": attention, "places": np.zeros(1, dtype=np.int64)}
        found: NDArray[np.float32] = self._session.run(["states"], given)[0]
        return found


_ENDLESS = 1 << 20  # a tokenizer that knows no limit says a very large number
_LONGEST = 512


class TransformersMaskedLM:
    """A masked language model of Hugging Face transformers, which runs on torch; implements `MaskedLM`.

    If the architecture separates the encoder from the output layer, the output layer runs only at the given positions.
    """

    def __init__(self, source: str, precision: str, *, local: bool = True) -> None:
        """Load the model.

        source (str): folder, or name on a model hub.
        precision (str): "float" or "int8" (dynamic quantization of linear layers).
        local (bool): whether downloads are forbidden.
        RAISES: ConfigError if a package is missing (D806), the folder contains no masked language model (D807), or its
            tokenizer is slow (D805) or has no mask (D802).
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
        digest = hashlib.sha256()
        for parameter in model.parameters():
            digest.update(parameter.detach().float().numpy().tobytes())
        self.name = f"{source.rstrip('/').rsplit('/', 1)[-1]}-{digest.hexdigest()[:8]}"
        positions = getattr(model.config, "max_position_embeddings", None) or _ENDLESS
        if getattr(model.config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
            positions -= model.config.pad_token_id + 1  # their positions are counted from behind the pad
        limits = [limit for limit in (positions, tokenizer.model_max_length) if 0 < limit < _ENDLESS]
        self.length = int(min(limits, default=_LONGEST))
        model.eval()
        if precision == "int8":
            model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
        self._model, self._torch = model, torch

    def log_probs(
        self, ids: NDArray[np.int64], attention: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Compute the log-probabilities of all pieces at the given positions; see `MaskedLM.log_probs`."""
        torch = self._torch
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}
        asked = torch.from_numpy(places)
        with torch.inference_mode():
            scores = self._scores(given, asked)
            found: NDArray[np.float32] = torch.log_softmax(scores.float(), -1).numpy()
        return found

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute the hidden states of the last layer; see `MaskedLM.states`."""
        torch = self._torch
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}
        with torch.inference_mode():
            found: NDArray[np.float32] = self._model.base_model(**given).last_hidden_state.float().numpy()
        return found

    def _scores(self, given: dict[str, Any], asked: Any) -> Any:
        """Compute the logits over the vocabulary at the given positions."""
        head = getattr(self._model, "cls", None) or getattr(self._model, "lm_head", None)
        if head is None:
            return self._model(**given).logits.flatten(0, 1)[asked]
        return head(self._model.base_model(**given).last_hidden_state.flatten(0, 1)[asked])
