"""Train a self-decoding model on made-up names from the open lists, and measure it as its paper does.

    python -m scripts.self_decoder train es --output training/self_decoder_es --encoder training/lm_es
    python -m scripts.self_decoder measure es training/self_decoder_es

Two losses are minimized: the cross-entropy of reproducing the names without the matrix, and the squared difference
between a target value and the cosine similarity of states before and after the matrix. Interrupted training resumes
from its last checkpoint. Needs the extra "transformers".
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from spacy_deid.errors import ConfigError, Errors
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.evaluation.surrogate_table import (
    BETTER,
    Pair,
    diversities,
    format_surrogate_table,
    surrogate_figures,
)
from spacy_deid.medical.name_context import unfit_words
from spacy_deid.ml.self_decoder import Plan, SelfDecoder, build_model, decoder_states, load_encoder, replaced_states
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.self_decoded import SelfDecoded
from spacy_deid.surrogates.strategies import Setting, Strategy
from spacy_deid.surrogates.style import replace_mentions
from spacy_deid.synth.language import read_table

SURNAMES = {"es": 2}
TARGETS = {
    "same": 0.005,
    "empty": 0.0,
    "trigram similarity": 0.15,
    "trigram diversity": 0.996,
    "BERTScore F1": 0.84,
}
SECRET = bytes(range(32))

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def train(
    lang: Annotated[str, typer.Argument(help="Language of the names.")],
    output: Annotated[Path, typer.Option(help="Folder of the model.")],
    config: Annotated[Path, typer.Option(help="Config with a block [self_decoder].")] = Path(
        "configs/self_decoder.cfg"
    ),
    encoder: Annotated[str, typer.Option(help="Folder or name of the encoder; that of the config by default.")] = "",
    names: Annotated[int, typer.Option(help="Number of names to train on.")] = 71_197,
    epochs: Annotated[int, typer.Option(help="Number of epochs; that of the config by default.")] = 0,
) -> None:
    """Train a model, or resume interrupted training."""
    changed = {"encoder": encoder, "epochs": epochs}
    plan = Plan.from_config(config, **{name: value for name, value in changed.items() if value})
    learned = make_names(lang, names, "train", plan.seed)
    model, tokenizer = train_model(learned, plan, output, report=report_step)
    SelfDecoder(model, tokenizer, plan).to_disk(output)


@app.command()
def measure(
    context: typer.Context,
    lang: Annotated[str, typer.Argument(help="Language of the names.")],
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    names: Annotated[int, typer.Option(help="Number of names to replace.")] = 500,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/self_decoder.json"),
) -> None:
    """Measure a model on names that it was not trained on: its own output, and the output of the strategy."""
    decoder = SelfDecoder.from_disk(model)
    given = unseen(lang, names, decoder.plan.seed)
    drawn = SelfDecoded(decoder.propose, lang, words=unfit_words(lang))
    pairs, left = zip(*released(drawn, given, lang), strict=True)
    plain = (pair for pair, _ in released(lambda mentions, setting: [0], given, lang))
    columns = {
        "model alone": [Pair(old, new) for old, new in zip(given, decoder.decode(given), strict=True)],
        "strategy": pairs,
        "consistent": list(plain),
    }
    figures = {title: surrogate_figures(pairs, decoder.embed) for title, pairs in columns.items()}
    figures["strategy"]["fallback on consistent"] = sum(left) / len(left)
    figures["model alone"]["said again"] = said_again(decoder, given)
    figures["originals"] = diversities(given)
    typer.echo(format_surrogate_table(figures))
    given_as = command_line("scripts.self_decoder", context)
    command, today = given_as.replace(".py", ".py measure", 1), date.today().isoformat()
    rows = []
    for title, column in figures.items():
        for name, value in column.items():
            target = TARGETS.get(name) if title == "strategy" else None
            better = BETTER.get(name, "higher" if name == "said again" else "lower")
            data = f"made-up names ({lang})"
            rows.append(MetricRow(f"{title}: {name}", round(value, 5), target, better, data, "test", command, today))
    replace_rows(metrics, rows)


def make_names(lang: str, count: int, split: str, seed: int) -> list[str]:
    """Draw different full names from the lists of a language."""
    rng = Random(f"{lang} {split} {seed}")
    surname = read_table(lang, "surname")
    found: dict[str, None] = {}
    while len(found) < count:
        given = read_table(lang, rng.choice(("female", "male"))).draw(rng, split)
        family = [surname.draw(rng, split) for _ in range(SURNAMES.get(lang, 1))]
        found[" ".join([given, *family])] = None
    return list(found)


def unseen(lang: str, count: int, seed: int) -> list[str]:
    """Draw test names, leaving out those that training may have drawn too."""
    learned = set(make_names(lang, 71_197, "train", seed))
    return [name for name in make_names(lang, count + 200, "test", seed) if name not in learned][:count]


def released(strategy: Strategy, names: Sequence[str], lang: str) -> Iterator[tuple[Pair, bool]]:
    """Yield what a strategy releases for each name in a note of its own, and whether it fell back to `consistent`."""
    project = ProjectKey(SECRET)
    for number, name in enumerate(names):
        mentions, key = [Mention(name, "PATIENT", "", "")], project.patient(str(number))
        chosen = strategy(mentions, Setting(key, lang, "", [1]))
        made = replace_mentions(mentions, key, lang, {"PATIENT": lambda m, s, chosen=chosen: chosen})[0]
        yield Pair(name, made.text if made.action == "replace" else None), chosen[0] == 0


def said_again(decoder: SelfDecoder, names: Sequence[str]) -> float:
    """Return the share of names that are reproduced without the matrix, which the first loss trains."""
    again = decoder.decode(names, bypass=True)
    return sum(old.casefold() == (new or "").casefold() for old, new in zip(names, again, strict=True)) / len(names)


def report_step(step: int, steps: int, loss: float, cosine: float) -> None:
    """Print the progress of training."""
    typer.echo(f"step {step} of {steps}: {loss:.4f} nats a piece, cosine {cosine:.3f}")


CHECKPOINT = "checkpoint.pt"


class Losses(NamedTuple):
    """The two losses of a batch, and the mean cosine similarity."""

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
    """Train a model, or resume from the checkpoint in a folder.

    names (Sequence[str]): training names.
    plan (Plan): settings of model and training.
    folder (Path): folder of the checkpoint.
    every (int): number of steps between checkpoints.
    local (bool): whether to use local files only.
    report (Callable): called at each checkpoint with the step, the number of steps, the mean cross-entropy since the
        last checkpoint (nats per piece) and the cosine.
    RETURNS (tuple[torch.nn.ModuleDict, PreTrainedTokenizerFast]): the trained model and its tokenizer.
    RAISES: ConfigError if the encoder cannot be loaded (D240), there are no names (D248), or the checkpoint belongs to
        other settings (D801).
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
    """Create the batches of an epoch: names of similar length together, batches in random order.

    lengths (Sequence[int]): number of pieces of each name.
    plan (Plan): batch size and seed.
    epoch (int): number of the epoch, from 0; it determines the order.
    RETURNS (list[NDArray]): name indices of each batch.
    """
    rng = np.random.default_rng([plan.seed, epoch])
    by_length = np.argsort(np.asarray(lengths) + rng.random(len(lengths)), kind="stable")
    batches = [by_length[i : i + plan.batch] for i in range(0, len(by_length), plan.batch)]
    return [batches[i] for i in rng.permutation(len(batches))]


def losses_of(model: Any, batch: Any, plan: Plan) -> Losses:
    """Compute the losses of a batch over all positions with a piece.

    model (torch.nn.ModuleDict): the model.
    batch (BatchEncoding): padded "input_ids" and "attention_mask".
    plan (Plan): target cosine.
    RETURNS (Losses): scalars.
    """
    from torch.nn import functional

    real = batch["attention_mask"].bool()
    states = decoder_states(model, batch["input_ids"], batch["attention_mask"], train_encoder=plan.train_encoder)[real]
    cross_entropy = functional.cross_entropy(model["head"](states), batch["input_ids"][real])
    cosine = functional.cosine_similarity(states, replaced_states(model, states), dim=-1)
    return Losses(cross_entropy, ((cosine - plan.similarity) ** 2).mean(), cosine.mean().detach())


def _step(model: Any, optimizer: Any, learned: list[Any], batch: Any, plan: Plan, step: int, steps: int) -> Losses:
    """Do one step of AdamW. Its random seed depends on the step, so that resumed training gives the same result."""
    import torch

    model.train()
    if not plan.train_encoder:
        model["encoder"].eval()
    torch.manual_seed(plan.seed * 1_000_003 + step)
    for group in optimizer.param_groups:
        group["lr"] = plan.rate * _learning_rate_factor(step, steps)
    found = losses_of(model, batch, plan)
    optimizer.zero_grad(set_to_none=True)
    (found.cross_entropy + plan.weight * found.cosine_loss).backward()
    torch.nn.utils.clip_grad_norm_(learned, 1.0)
    optimizer.step()
    return found


def _learning_rate_factor(step: int, steps: int) -> float:
    """Return the factor of the learning rate at a step: linear warm-up over 5 % of the steps, then cosine decay."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.01 + 0.99 * 0.5 * float(1 + np.cos(np.pi * (step - rise) / max(1, steps - rise)))


def _save(folder: Path, model: Any, optimizer: Any, plan: Plan, step: int) -> None:
    """Write a checkpoint atomically."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{CHECKPOINT}.part"
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "plan": plan.to_dict(), "step": step}
    torch.save(states, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def _resume(folder: Path, model: Any, optimizer: Any, plan: Plan) -> int:
    """Load the checkpoint if there is one. RETURNS (int): the next step."""
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


if __name__ == "__main__":
    app()
