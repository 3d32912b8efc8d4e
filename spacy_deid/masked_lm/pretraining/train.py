"""Train a small encoder to fill masked words in, on a CPU or a GPU, with checkpoints to go on from.

The encoder is a ModernBERT: places are told by rotation (RoPE), and norms stand before the layers. Trained with small
batches, the original BERT stays at the frequencies of words for thousands of steps; this one leaves them after 200.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ConfigError, Errors
from .batches import Batch, Pieces, batch_of_step

__all__ = ["Plan", "asked_scores", "build_model", "held_out_loss", "last_states", "scores_of", "train_model"]

CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True)
class Plan:
    """Size of a model and length of its training.

    hidden, layers, heads (int): size of the encoder; its gated inner layers are twice as wide.
    length (int): pieces of a window.
    batch (int): windows of a step.
    steps (int): steps.
    rate (float): highest learning rate; it rises for a twentieth of the steps and falls to a hundredth along a cosine.
    seed (int): seed.
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
    """Train a model, or go on where a checkpoint in the folder left off.

    pieces (Pieces): training texts.
    special (dict[str, int]): ids of "pad", "cls", "sep", "mask".
    vocabulary (int): number of pieces.
    plan (Plan): what is trained, and how long.
    folder (Path): folder of the checkpoint.
    every (int): steps from one checkpoint to the next.
    report (Callable): called at each checkpoint with the step and the mean loss since the last one, nats a piece.
    RETURNS (transformers.ModernBertForMaskedLM): the trained model, on the CPU.
    RAISES: ConfigError if the checkpoint is one of another plan (D801).
    """
    import torch

    torch.manual_seed(plan.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model(vocabulary, special, plan).to(device)
    optimizer = torch.optim.AdamW(_groups(model), lr=plan.rate, betas=(0.9, 0.98), eps=1e-6)
    done = _resume(folder, model, optimizer, plan)
    model.train()
    half = torch.autocast("cuda", dtype=torch.bfloat16) if device == "cuda" else nullcontext()
    losses: list[float] = []
    sizes = {"size": plan.batch, "length": plan.length, "seed": plan.seed, "special": special}
    for step in range(done, plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * _share(step, plan.steps)
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
    """Mean loss on texts the model has not read, masked as in training; its exponential is the perplexity.

    model (transformers.ModernBertForMaskedLM): the model.
    pieces (Pieces): held-out texts.
    special (dict[str, int]): as in `train_model`.
    plan (Plan): length and number of windows of a batch.
    steps (int): batches.
    RETURNS (float): nats a masked piece.
    """
    import torch

    sizes = {"size": plan.batch, "length": plan.length, "seed": 0, "special": special}
    batches = (batch_of_step(pieces, step, **sizes) for step in range(steps))  # type: ignore[arg-type]
    with torch.no_grad():
        pairs = [(_loss(model, batch, "cpu").item(), len(batch.targets)) for batch in batches]
    return float(sum(loss * count for loss, count in pairs) / sum(count for _, count in pairs))


def build_model(vocabulary: int, special: dict[str, int], plan: Plan) -> Any:
    """An untrained ModernBERT of the plan's size, its output weights tied to its embeddings."""
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
    """Cross-entropy at the places asked; the output layer runs on those alone."""
    import torch

    ids, attention, places, targets = (torch.from_numpy(part).to(device) for part in batch)
    scores = asked_scores(model, ids, attention, places)
    return torch.nn.functional.cross_entropy(scores.float(), targets)


def asked_scores(model: Any, ids: Any, attention: Any, places: Any) -> Any:
    """Scores of the vocabulary at flat places of a batch, (asked, vocabulary)."""
    return scores_of(model, last_states(model, ids, attention), places)


def last_states(model: Any, ids: Any, attention: Any) -> Any:
    """Last hidden states of a batch, (rows, length, width)."""
    return model.model(input_ids=ids, attention_mask=attention).last_hidden_state


def scores_of(model: Any, states: Any, places: Any) -> Any:
    """Scores of the vocabulary at flat places of states, (asked, vocabulary)."""
    return model.decoder(model.head(states.flatten(0, 1)[places]))


def _share(step: int, steps: int) -> float:
    """Share of the highest learning rate at a step."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.01 + 0.99 * 0.5 * float(1 + np.cos(np.pi * (step - rise) / max(1, steps - rise)))


def _groups(model: Any) -> Iterator[dict[str, Any]]:
    """Parameters for the optimizer: matrices decay, vectors do not."""
    named = list(model.parameters())
    yield {"params": [p for p in named if p.ndim > 1], "weight_decay": 0.01}
    yield {"params": [p for p in named if p.ndim < 2], "weight_decay": 0.0}


def _save(folder: Path, model: Any, optimizer: Any, plan: Plan, step: int) -> None:
    """Write a checkpoint, whole or not at all."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{CHECKPOINT}.part"
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "plan": asdict(plan), "step": step}
    torch.save(states, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def _resume(folder: Path, model: Any, optimizer: Any, plan: Plan) -> int:
    """Load a checkpoint if there is one. Returns the step to go on with."""
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
