"""Pre-train a small masked language model on a CPU or GPU, and measure its perplexity on held-out text.

    python -m scripts.pretrain es corpus/lm/es --output training/lm_es

The encoder is a ModernBERT, with rotary position embeddings (RoPE) and pre-normalization. With small batches, the
original BERT only learns word frequencies for thousands of steps; this architecture gets past them after 200. An
interrupted run resumes from its last checkpoint. Needs the extra "transformers".
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import date
from math import exp
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import srsly
import typer

from spacy_deid.errors import ConfigError, Errors
from spacy_deid.evaluation.rows import MetricRow, write_rows

from .lm_data import (
    SPECIAL,
    Batch,
    Pieces,
    batch_of_step,
    encode_texts,
    load_vocabulary,
    save_vocabulary,
    train_vocabulary,
)

LARGEST = 12_000_000  # parameters


CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True)
class Plan:
    """Size of a model and settings of its training.

    hidden, layers, heads (int): size of the encoder; its gated feed-forward layers are twice as wide.
    length (int): pieces per window.
    batch (int): windows per step.
    steps (int): number of steps.
    rate (float): maximum learning rate, after a warm-up of 5 % of the steps; cosine decay to 1 % of it.
    seed (int): random seed.
    """

    hidden: int = 192
    layers: int = 5
    heads: int = 4
    length: int = 128
    batch: int = 16
    steps: int = 4000
    rate: float = 2e-3
    seed: int = 1


def train_model(
    pieces: Pieces,
    special: dict[str, int],
    vocabulary: int,
    plan: Plan,
    folder: Path,
    *,
    every: int = 250,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> Any:
    """Train a model, or resume from the checkpoint in a folder.

    pieces (Pieces): training texts.
    special (dict[str, int]): ids of "pad", "cls", "sep", "mask".
    vocabulary (int): size of the vocabulary.
    plan (Plan): settings of model and training.
    folder (Path): folder of the checkpoint.
    every (int): number of steps between checkpoints.
    report (Callable): called at each checkpoint with the step and the mean loss since the last one, in nats per piece.
    RETURNS (transformers.ModernBertForMaskedLM): the trained model, on the CPU.
    RAISES: ConfigError (D801) if the checkpoint belongs to other settings.
    """
    import torch

    torch.manual_seed(plan.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model(vocabulary, special, plan).to(device)
    optimizer = torch.optim.AdamW(_parameter_groups(model), lr=plan.rate, betas=(0.9, 0.98), eps=1e-6)
    done = _resume(folder, model, optimizer, plan)
    model.train()
    half = torch.autocast("cuda", dtype=torch.bfloat16) if device == "cuda" else nullcontext()
    losses: list[float] = []
    sizes = {"size": plan.batch, "length": plan.length, "seed": plan.seed, "special": special}
    for step in range(done, plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * _learning_rate_factor(step, plan.steps)
        with half:
            loss = _loss(model, batch_of_step(pieces, step, **sizes), device)  # type: ignore[arg-type]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % every == 0 or step + 1 == plan.steps:
            _save(folder, model, optimizer, plan, step + 1)
            report(step + 1, float(np.mean(losses)))
            losses.clear()
    return model.cpu().eval()


def held_out_loss(model: Any, pieces: Pieces, special: dict[str, int], plan: Plan, steps: int = 100) -> float:
    """Compute the mean loss on held-out texts, masked as in training; its exponential is the perplexity.

    model (transformers.ModernBertForMaskedLM): the model.
    pieces (Pieces): held-out texts.
    special (dict[str, int]): as in `train_model`.
    plan (Plan): window length and batch size.
    steps (int): number of batches.
    RETURNS (float): nats per masked piece.
    """
    import torch

    sizes = {"size": plan.batch, "length": plan.length, "seed": 0, "special": special}
    batches = (batch_of_step(pieces, step, **sizes) for step in range(steps))  # type: ignore[arg-type]
    with torch.no_grad():
        pairs = [(_loss(model, batch, "cpu").item(), len(batch.targets)) for batch in batches]
    return float(sum(loss * count for loss, count in pairs) / sum(count for _, count in pairs))


def build_model(vocabulary: int, special: dict[str, int], plan: Plan) -> Any:
    """Build an untrained ModernBERT with tied input and output embeddings."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    config = ModernBertConfig(
        vocab_size=vocabulary,
        hidden_size=plan.hidden,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        intermediate_size=2 * plan.hidden,
        max_position_embeddings=plan.length,
        global_attn_every_n_layers=2,  # the others see 16 pieces to each side
        local_attention=32,
        pad_token_id=special["pad"],
        bos_token_id=special["cls"],
        cls_token_id=special["cls"],
        eos_token_id=special["sep"],
        sep_token_id=special["sep"],
        reference_compile=False,
        attn_implementation="sdpa",
    )
    return ModernBertForMaskedLM(config)


def _loss(model: Any, batch: Batch, device: str) -> Any:
    """Compute the cross-entropy at the masked positions; the output layer runs on these only."""
    import torch

    ids, attention, places, targets = (torch.from_numpy(part).to(device) for part in batch)
    scores = asked_scores(model, ids, attention, places)
    return torch.nn.functional.cross_entropy(scores.float(), targets)


def asked_scores(model: Any, ids: Any, attention: Any, places: Any) -> Any:
    """Compute the scores of the vocabulary at flat positions of a batch, (positions, vocabulary)."""
    return scores_of(model, last_states(model, ids, attention), places)


def last_states(model: Any, ids: Any, attention: Any) -> Any:
    """Compute the last hidden states of a batch, (windows, length, width)."""
    return model.model(input_ids=ids, attention_mask=attention).last_hidden_state


def scores_of(model: Any, states: Any, places: Any) -> Any:
    """Apply the output layer to the states at flat positions, (positions, vocabulary)."""
    return model.decoder(model.head(states.flatten(0, 1)[places]))


def _learning_rate_factor(step: int, steps: int) -> float:
    """Return the factor of the learning rate at a step."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.01 + 0.99 * 0.5 * float(1 + np.cos(np.pi * (step - rise) / max(1, steps - rise)))


def _parameter_groups(model: Any) -> Iterator[dict[str, Any]]:
    """Yield parameter groups for the optimizer: weight decay for matrices, none for vectors."""
    named = list(model.parameters())
    yield {"params": [p for p in named if p.ndim > 1], "weight_decay": 0.01}
    yield {"params": [p for p in named if p.ndim < 2], "weight_decay": 0.0}


def _save(folder: Path, model: Any, optimizer: Any, plan: Plan, step: int) -> None:
    """Write a checkpoint atomically."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{CHECKPOINT}.part"
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "plan": asdict(plan), "step": step}
    torch.save(states, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def _resume(folder: Path, model: Any, optimizer: Any, plan: Plan) -> int:
    """Load the checkpoint if there is one. RETURNS (int): the next step."""
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    states = torch.load(path, map_location="cpu", weights_only=True)
    if states["plan"] != asdict(plan):
        raise ConfigError(Errors.D801.format(path=path))
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])
    return int(states["step"])


# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language, for the metric rows.")],
    corpus: Annotated[Path, typer.Argument(help="Folder of train.jsonl and held_out.jsonl.")],
    output: Annotated[Path, typer.Option(help="Folder of the model.")],
    pieces: Annotated[int, typer.Option(help="Size of the vocabulary.")] = 8192,
    steps: Annotated[int, typer.Option(help="Number of training steps of 16 windows of 128 pieces.")] = Plan.steps,
    metrics: Annotated[Path | None, typer.Option(help="File of the metric rows; none by default.")] = None,
) -> None:
    """Pre-train a model."""
    plan = Plan(steps=steps)
    if not (output / "tokenizer.json").is_file():
        save_vocabulary(train_vocabulary(read(corpus / "train.jsonl"), pieces), output, plan.length)
    tokenizer = load_vocabulary(output)
    special = {role: tokenizer.token_to_id(piece) for role, piece in SPECIAL.items()}
    size = tokenizer.get_vocab_size()
    texts = encode_texts(tokenizer, read(corpus / "train.jsonl"))
    typer.echo(f"{size} pieces in the vocabulary, {len(texts.ids):,} in {len(texts.starts) - 1:,} texts")
    model = train_model(texts, special, size, plan, output, report=report_step)
    model.save_pretrained(output)
    loss = held_out_loss(model, encode_texts(tokenizer, read(corpus / "held_out.jsonl")), special, plan)
    typer.echo(f"held out: {loss:.4f} nats a masked piece, perplexity {exp(loss):.1f}")
    if metrics:
        write_rows(metrics, rows_of(lang, exp(loss), sum(p.numel() for p in model.parameters())))


def rows_of(lang: str, perplexity: float, parameters: int) -> Iterator[MetricRow]:
    """Yield the metric rows of a model."""
    figures = (
        (f"perplexity of a masked piece, {lang}", perplexity, None),
        (f"parameters of the masked language model, {lang}", parameters, LARGEST),
    )
    for name, value, target in figures:
        command, day = f"spacy project run pretrain-{lang}", date.today().isoformat()
        yield MetricRow(name, round(value, 2), target, "lower", f"open text ({lang})", "held out", command, day)


def read(path: Path) -> Iterator[str]:
    """Read the texts of a JSONL file."""
    return (row["text"] for row in srsly.read_jsonl(path))


def report_step(step: int, loss: float) -> None:
    """Print the progress of training."""
    typer.echo(f"step {step}: {loss:.4f} nats a masked piece")


if __name__ == "__main__":
    app()
