"""A masked language model that is small enough to be made by a test: it expects every word as often as it was read."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = ("[PAD]", "[UNK]", "[MASK]")


def make_unigram_model(folder: Path, texts: Iterable[str], name: str = "unigram") -> Path:
    """Write an exported model.

    folder (Path): is made.
    texts (Iterable[str]): what is read; every word that stands in it twice gets a place in the vocabulary.
    name (str): name of the model.
    RETURNS (Path): the folder.
    """
    cut = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)])
    counts = Counter(word for text in texts for word, _ in cut.pre_tokenize_str(text))
    words = sorted(word for word, count in counts.items() if count > 1)
    pieces = {piece: i for i, piece in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = cut
    tokenizer.add_special_tokens(list(SPECIAL))
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"name": name, "length": 64, "mask": "[MASK]", "pad": "[PAD]", "unknown": "[UNK]"}
    (folder / "masked_lm.json").write_text(json.dumps(settings))
    (folder / "weights.bin").write_bytes(b"")
    shares = np.array([1e-9, 1.0, 1e-9, *(counts[word] for word in words)])
    model = _graph(np.log(shares / shares.sum()).astype(np.float32))
    for precision in ("float", "int8"):
        onnx.save(model, folder / f"{precision}.onnx")
    return folder


def _graph(log_probs: np.ndarray) -> onnx.ModelProto:
    """The same row of logarithms for every place that is asked."""
    rows = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"]) for name in ("ids", "attention")
    ]
    places = helper.make_tensor_value_info("places", TensorProto.INT64, ["asked"])
    result = helper.make_tensor_value_info("log_probs", TensorProto.FLOAT, ["asked", len(log_probs)])
    nodes = [
        helper.make_node("Mul", ["places", "zero"], ["first"]),
        helper.make_node("Gather", ["table", "first"], ["log_probs"], axis=0),
    ]
    constants = [numpy_helper.from_array(np.array(0), "zero"), numpy_helper.from_array(log_probs[None], "table")]
    graph = helper.make_graph(nodes, "unigram", [*rows, places], [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
