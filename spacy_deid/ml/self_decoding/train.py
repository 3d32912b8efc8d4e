"""Train a self-decoding model on names, with checkpoints to go on from.

Two losses at once: the cross-entropy of the names themselves, said again with the matrix bypassed, and the distance
of the cosine of changed and unchanged states from the one that is held.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError, Errors
from .model import build_model, decoder_states, load_encoder, replaced_states
from .plan import Plan

__all__ = ["CHECKPOINT", "Losses", "losses_of", "make_batches", "train_model"]

CHECKPOINT = "checkpoint.pt"


class Losses(NamedTuple):
    """The two losses of a batch, and the cosine that the second one holds."""

    cross_entropy: Any
    cosine_loss: Any
    cosine: Any


def train_model(
    names: Sequence[str],
    plan: Plan,
    folder: Path,
    *,
    every: int = 100,
    local: bool = True,
    report: Callable[[int, int, float, float], None] = lambda step, steps, loss, cosine: None,
) -> tuple[Any, Any]:
    """Train a model, or go on where a checkpoint in the folder left off.

    names (Sequence[str]): what is learned.
    plan (Plan): what is trained, and how long.
    folder (Path): folder of the checkpoint.
    every (int): steps from one checkpoint to the next.
    local (bool): whether nothing is fetched.
    report (Callable): called at each checkpoint with the step, the number of steps, the mean cross-entropy since the
        last one (nats a piece) and the cosine.
    RETURNS (tuple[torch.nn.ModuleDict, PreTrainedTokenizerFast]): the trained model and its tokenizer.
    RAISES: ConfigError for an encoder that cannot be loaded (D240), no names (D248), or a checkpoint of another plan
        (D801).
    """
    encoder, tokenizer = load_encoder(plan.encoder, local=local)
    import torch

    if not names:
        raise ConfigError(Errors.D248.format(reason="there are no names to learn from"))
    torch.manual_seed(plan.seed)
    model = build_model(encoder, plan)
    model["encoder"].requires_grad_(plan.train_encoder)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=plan.rate, weight_decay=plan.decay)
    done = _resume(folder, model, optimizer, plan)
    cut: dict[str, Any] = {"truncation": True, "max_length": plan.pieces}
    lengths = [len(row) for row in tokenizer(list(names), **cut)["input_ids"]]
    order = [batch for epoch in range(plan.epochs) for batch in make_batches(lengths, plan, epoch)]
    seen: list[tuple[float, float]] = []
    for step in range(done, len(order)):
        batch = tokenizer([names[i] for i in order[step]], padding=True, return_tensors="pt", **cut)
        found = _step(model, optimizer, learned, batch, plan, step, len(order))
        seen.append((found.cross_entropy.item(), found.cosine.item()))
        if (step + 1) % every == 0 or step + 1 == len(order):
            _save(folder, model, optimizer, plan, step + 1)
            report(step + 1, len(order), *np.mean(seen, axis=0).tolist())
            seen.clear()
    return model.eval(), tokenizer


def make_batches(lengths: Sequence[int], plan: Plan, epoch: int) -> list[NDArray[np.int64]]:
    """The batches of an epoch: names of about the same length together, the batches in random order.

    lengths (Sequence[int]): pieces of each name.
    plan (Plan): size of a batch, and the seed.
    epoch (int): number of the epoch, from 0. The same number gives the same batches.
    RETURNS (list[NDArray]): numbers of the names of each batch.
    """
    rng = np.random.default_rng([plan.seed, epoch])
    by_length = np.argsort(np.asarray(lengths) + rng.random(len(lengths)), kind="stable")
    batches = [by_length[i : i + plan.batch] for i in range(0, len(by_length), plan.batch)]
    return [batches[i] for i in rng.permutation(len(batches))]


def losses_of(model: Any, batch: Any, plan: Plan) -> Losses:
    """The losses of a batch, over all places that have a piece.

    model (torch.nn.ModuleDict): the model.
    batch (BatchEncoding): "input_ids" and "attention_mask", padded.
    plan (Plan): the cosine that is held.
    RETURNS (Losses): scalars.
    """
    from torch.nn import functional

    real = batch["attention_mask"].bool()
    states = decoder_states(model, batch["input_ids"], batch["attention_mask"], train_encoder=plan.train_encoder)[real]
    cross_entropy = functional.cross_entropy(model["head"](states), batch["input_ids"][real])
    cosine = functional.cosine_similarity(states, replaced_states(model, states), dim=-1)
    return Losses(cross_entropy, ((cosine - plan.similarity) ** 2).mean(), cosine.mean().detach())


def _step(model: Any, optimizer: Any, learned: list[Any], batch: Any, plan: Plan, step: int, steps: int) -> Losses:
    """One step of AdamW. Its chance is that of its number, so that a resumed training goes on as it would have."""
    import torch

    model.train()
    if not plan.train_encoder:
        model["encoder"].eval()
    torch.manual_seed(plan.seed * 1_000_003 + step)
    for group in optimizer.param_groups:
        group["lr"] = plan.rate * _share(step, steps)
    found = losses_of(model, batch, plan)
    optimizer.zero_grad(set_to_none=True)
    (found.cross_entropy + plan.weight * found.cosine_loss).backward()
    torch.nn.utils.clip_grad_norm_(learned, 1.0)
    optimizer.step()
    return found


def _share(step: int, steps: int) -> float:
    """Share of the highest learning rate at a step: up for a twentieth, down along a cosine."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.01 + 0.99 * 0.5 * float(1 + np.cos(np.pi * (step - rise) / max(1, steps - rise)))


def _save(folder: Path, model: Any, optimizer: Any, plan: Plan, step: int) -> None:
    """Write a checkpoint, whole or not at all."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{CHECKPOINT}.part"
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "plan": plan.to_dict(), "step": step}
    torch.save(states, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def _resume(folder: Path, model: Any, optimizer: Any, plan: Plan) -> int:
    """Load a checkpoint if there is one. Returns the step to go on with."""
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    states = torch.load(path, map_location="cpu", weights_only=True)
    if states["plan"] != plan.to_dict():
        raise ConfigError(Errors.D801.format(path=path))
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])
    return int(states["step"])
