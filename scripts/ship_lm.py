"""Export a masked language model for the package, and fit the combinations of its scores.

    python -m scripts.ship_lm es training/lm_es --output spacy_deid/lang/es/masked_lm

The export has two ONNX graphs that share int8 weights. A weight w of column c is stored as round(127 w / max|w_c|), so
that the largest weight of a column keeps its value.

The combinations are fitted on notes that are neither training data of the model nor test data: for Spanish the
held-out cases of MEDDOCAN train, for English and Finnish the synthetic development notes. Needs the extra
"transformers" and onnx.
"""

import hashlib
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer
from spacy.tokens import DocBin

from spacy_deid.evaluation.documents import AnnotatedText, Entity
from spacy_deid.evaluation.scored_tokens import find_scorable, score_tokens
from spacy_deid.evaluation.standoff import read_brat
from spacy_deid.masked_lm.columns import FORM_COLUMNS, MODEL_COLUMNS, Columns, form_columns
from spacy_deid.masked_lm.scores import fit_combination
from spacy_deid.synth.language import stable_hash

from .lm_data import SPECIAL
from .pretrain import last_states, scores_of

HELD_OUT = 5  # as scripts/lm_corpus.py holds cases out
KINDS = {
    "model": MODEL_COLUMNS,
    "form": (*FORM_COLUMNS, "rarity"),
    "all": (*MODEL_COLUMNS, *FORM_COLUMNS, "rarity"),
}


SMALLEST = 10_000  # weights of a matrix that is quantised
WEIGHTS = "weights.bin"


def export_model(model: Any, tokenizer_file: Path, folder: Path, name: str) -> int:
    """Export a model.

    model (transformers.ModernBertForMaskedLM): the model.
    tokenizer_file (Path): its ``tokenizer.json``.
    folder (Path): target folder; existing content is deleted.
    name (str): name of the model, to which a digest of its weights is appended.
    RETURNS (int): number of bytes written.
    """
    import onnx

    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as made:
        work = Path(made)
        _trace(model, work / "plain.onnx")
        plain = onnx.load(work / "plain.onnx")
        (work / "plain.onnx").unlink()
        for graph, rewrite in (("float", _float_graph), ("int8", _int8_graph)):
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
    """Write the ONNX graph that computes log-probabilities at the masked positions, and all last hidden states."""
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


def _quantize(plain: Any) -> tuple[Any, dict[str, int]]:
    """Copy a graph with its matrices as int8 and scales. RETURNS: the copy, and the column axis of each matrix."""
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


def _float_graph(plain: Any) -> Any:
    """Create the graph that computes in float32."""
    model, axes = _quantize(plain)
    for name, axis in axes.items():
        model.graph.node.insert(0, _dequantize_node(name, axis))
    return model


def _int8_graph(plain: Any) -> Any:
    """Create the graph that multiplies integers. Embeddings and output layer share a matrix and stay float32."""
    from onnx import helper

    model, axes = _quantize(plain)
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
    model.graph.node.extend(
        [*(_dequantize_node(name, axis) for name, axis in axes.items() if name not in used), *nodes]
    )
    return model


def _dequantize_node(name: str, axis: int) -> Any:
    """Create the node that converts an int8 matrix to float32."""
    from onnx import helper

    return helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.scale"], [name], axis=axis)


def _save(model: Any, folder: Path, file: str) -> None:
    """Write a graph, with its weights in the file that both graphs share."""
    import onnx

    (folder / WEIGHTS).unlink(missing_ok=True)  # the same weights in the same order: the other graph's are these
    onnx.save_model(model, folder / file, save_as_external_data=True, location=WEIGHTS, size_threshold=1024)


# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language.")],
    trained: Annotated[Path, typer.Argument(help="Folder of the trained model.")],
    output: Annotated[Path, typer.Option(help="Folder of the exported model.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the unpacked corpora.")] = Path("corpus"),
) -> None:
    """Export a model and fit the combinations of its scores."""
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(trained, local_files_only=True)
    size = export_model(model, trained / "tokenizer.json", output, lang)
    typer.echo(f"{output}: {size / 1e6:.2f} MB")
    notes = list(held_out(corpus) if lang == "es" else made(corpus, lang))
    rows = list(describe(notes, lang, output))
    for kind, columns in KINDS.items():
        fitted = fit_combination([known for known, _ in rows], [gold for _, gold in rows], columns)
        fitted.to_file(output / f"combined_{kind}.json")
    typer.echo(f"combinations fitted on {len(notes)} notes, {sum(len(gold) for _, gold in rows):,} words")


def held_out(corpus: Path) -> Iterator[AnnotatedText]:
    """Read the cases of MEDDOCAN train that are not in the training data of the model."""
    for path in sorted((corpus / "meddocan" / "train" / "brat").glob("*.txt")):
        if stable_hash(path.stem) % HELD_OUT == 0:
            yield read_brat(path, scheme="meddocan")


def made(corpus: Path, lang: str) -> Iterator[AnnotatedText]:
    """Read the synthetic development notes of a language."""
    docs = DocBin().from_disk(corpus / lang / "dev.spacy").get_docs(spacy.blank(lang).vocab)
    for number, doc in enumerate(docs):
        yield AnnotatedText(
            f"dev/{number}", doc.text, tuple(Entity(e.start_char, e.end_char, e.label_) for e in doc.ents)
        )


def describe(notes: list[AnnotatedText], lang: str, model: Path) -> Iterator[tuple[Columns, "np.ndarray"]]:
    """Yield the columns of each note, and which of its words are PHI."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_surprisal", config={"model": str(model)})
    for note, doc in zip(notes, nlp.pipe(note.text for note in notes), strict=True):
        record = doc.user_data["deid/surprisal"]
        known = {name: np.array(values) for name, values in record["features"].items()}
        yield known | form_columns(doc, find_scorable(doc)), score_tokens(note, doc, record).gold


if __name__ == "__main__":
    app()
