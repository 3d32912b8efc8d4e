"""Exported models: ONNX Runtime, no torch.

A folder holds ``masked_lm.json`` (settings), ``tokenizer.json``, the weights as int8 with a scale for each column in
``weights.bin``, and two graphs over them: ``float.onnx`` computes in float32, so that no result depends on what else
is in the batch; ``int8.onnx`` multiplies integers, about twice as fast.
"""

from pathlib import Path

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .model import PieceReader

__all__ = ["ExportedMaskedLM"]

FILES = ("tokenizer.json", "weights.bin", "float.onnx", "int8.onnx")


class ExportedMaskedLM:
    """A masked language model on ONNX Runtime; satisfies `MaskedLM`."""

    def __init__(self, folder: Path, precision: str, threads: int = 1) -> None:
        """Load.

        folder (Path): the folder.
        precision (str): "float" or "int8".
        threads (int): threads of a forward pass.
        RAISES: ConfigError if a file is missing (D800), damaged (D807), or a package is missing (D806).
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
        """See `MaskedLM.log_probs`."""
        given = {"ids": ids, "attention": attention, "places": places}
        found: NDArray[np.float32] = self._session.run(["log_probs"], given)[0]
        return found

    def states(self, ids: NDArray[np.int64], attention: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `MaskedLM.states`."""
        if not any(output.name == "states" for output in self._session.get_outputs()):
            raise ConfigError(Errors.D813.format(name=self.name))
        given = {"ids": ids, "attention": attention, "places": np.zeros(1, dtype=np.int64)}
        found: NDArray[np.float32] = self._session.run(["states"], given)[0]
        return found
