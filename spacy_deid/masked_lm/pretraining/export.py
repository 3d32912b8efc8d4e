"""Write a trained model as `exported.ExportedMaskedLM` reads it: int8 weights, and two ONNX graphs over them.

A weight w of column c is stored as round(127 w / max|w_c|), so that a column's largest weight keeps its value.
"""

import hashlib
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import srsly

from .train import last_states, scores_of
from .vocabulary import SPECIAL

__all__ = ["export_model"]

SMALLEST = 10_000  # weights of a matrix that is quantised
WEIGHTS = "weights.bin"


def export_model(model: Any, tokenizer_file: Path, folder: Path, name: str) -> int:
    """Export a model.

    model (transformers.ModernBertForMaskedLM): the model.
    tokenizer_file (Path): its ``tokenizer.json``.
    folder (Path): folder to write; what is in it is replaced.
    name (str): what the model is called; a digest of its weights is put behind it.
    RETURNS (int): bytes written.
    """
    import onnx

    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as made:
        work = Path(made)
        _trace(model, work / "plain.onnx")
        plain = onnx.load(work / "plain.onnx")
        (work / "plain.onnx").unlink()
        for graph, rewrite in (("float", _widen), ("int8", _multiply_integers)):
            _save(rewrite(plain), work, f"{graph}.onnx")
        shutil.copyfile(tokenizer_file, work / "tokenizer.json")
        digest = hashlib.sha256((work / WEIGHTS).read_bytes()).hexdigest()[:8]
        special = {"mask": SPECIAL["mask"], "pad": SPECIAL["pad"], "unknown": SPECIAL["unk"]}
        settings = {"name": f"{name}-{digest}", "length": model.config.max_position_embeddings, **special}
        srsly.write_json(work / "masked_lm.json", settings)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in work.iterdir():
            shutil.copyfile(file, folder / file.name)
    return sum(file.stat().st_size for file in folder.iterdir())


def _trace(model: Any, path: Path) -> None:
    """Write the graph that answers at the asked places alone, and gives the last hidden states of all."""
    import torch

    class Asked(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any, attention: Any, places: Any) -> tuple[Any, Any]:
            states = last_states(self.model, ids, attention)
            return torch.log_softmax(scores_of(self.model, states, places), -1), states

    model.eval()
    ids = torch.zeros((2, 16), dtype=torch.long)
    rows = {0: "rows", 1: "length"}
    asked = {0: "asked"}
    axes = {"ids": rows, "attention": rows, "states": rows, "places": asked, "log_probs": asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is constant in the trace is constant in the model
        torch.onnx.export(
            Asked(),
            (ids, torch.ones_like(ids), torch.tensor([1, 5, 20])),
            path,
            input_names=["ids", "attention", "places"],
            output_names=["log_probs", "states"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )


def _quantised(plain: Any) -> tuple[Any, dict[str, int]]:
    """A copy of a graph with its matrices as int8 and scales. Returns the axis of the columns of each, too."""
    from onnx import ModelProto, numpy_helper

    model = ModelProto()
    model.CopyFrom(plain)
    axes = {}
    right = {node.input[1] for node in model.graph.node if node.op_type == "MatMul"}
    for tensor in list(model.graph.initializer):
        weights = numpy_helper.to_array(tensor)
        if weights.ndim != 2 or weights.size < SMALLEST:
            continue
        axes[tensor.name] = axis = int(tensor.name in right)
        scales = np.abs(weights).max(axis=1 - axis) / 127
        scales[scales == 0] = 1.0
        whole = np.rint(weights / (scales if axis else scales[:, None])).astype(np.int8)
        model.graph.initializer.remove(tensor)
        model.graph.initializer.append(numpy_helper.from_array(whole, f"{tensor.name}.int8"))
        model.graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{tensor.name}.scale"))
    return model, axes


def _widen(plain: Any) -> Any:
    """The graph that computes in float32."""
    model, axes = _quantised(plain)
    for name, axis in axes.items():
        model.graph.node.insert(0, _widening(name, axis))
    return model


def _multiply_integers(plain: Any) -> Any:
    """The graph that multiplies integers; embeddings and the output layer, which share a matrix, stay float32."""
    from onnx import helper

    model, axes = _quantised(plain)
    nodes: list[Any] = []
    used = set()
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in axes:
            nodes.append(node)
            continue
        given, weights, out = node.input[0], node.input[1], node.output[0]
        used.add(weights)
        parts = [f"{out}.{part}" for part in ("given", "scale", "zero", "product", "float", "scales")]
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [given], parts[:3]),
            helper.make_node("MatMulInteger", [parts[0], f"{weights}.int8", parts[2]], parts[3:4]),
            helper.make_node("Cast", parts[3:4], parts[4:5], to=1),
            helper.make_node("Mul", [parts[1], f"{weights}.scale"], parts[5:]),
            helper.make_node("Mul", parts[4:], [out]),
        ]
    del model.graph.node[:]
    model.graph.node.extend([*(_widening(name, axis) for name, axis in axes.items() if name not in used), *nodes])
    return model


def _widening(name: str, axis: int) -> Any:
    """The node that makes float32 of int8."""
    from onnx import helper

    return helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.scale"], [name], axis=axis)


def _save(model: Any, folder: Path, file: str) -> None:
    """Write a graph; its weights go to the file that both graphs share."""
    import onnx

    (folder / WEIGHTS).unlink(missing_ok=True)  # the same weights in the same order: the other graph's are these
    onnx.save_model(model, folder / file, save_as_external_data=True, location=WEIGHTS, size_threshold=1024)
