"""Train a self-decoding model on made-up names of the open lists, and measure it as its paper does.

    python -m scripts.self_decoder train es training/self_decoder_es --encoder training/lm_es
    python -m scripts.self_decoder measure es training/self_decoder_es

Needs the extra "transformers".
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.evaluation.surrogate_table import (
    BETTER,
    Pair,
    diversities,
    format_surrogate_table,
    surrogate_figures,
)
from spacy_deid.medical.name_words import unfit_words
from spacy_deid.ml.self_decoder import SelfDecoder
from spacy_deid.ml.self_decoding.plan import Plan
from spacy_deid.ml.self_decoding.train import train_model
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.self_decoded import SelfDecoded
from spacy_deid.surrogates.strategies import Setting, Strategy
from spacy_deid.surrogates.style import replace_mentions
from spacy_deid.synth.names import read_table

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
    lang: Annotated[str, typer.Argument(help="Language of the names")],
    output: Annotated[Path, typer.Argument(help="Folder of the model")],
    config: Annotated[Path, typer.Option(help="Config with a block [self_decoder]")] = Path(
        "configs/self_decoder.cfg"
    ),
    encoder: Annotated[str, typer.Option(help="Folder or name of the encoder, if not that of the config")] = "",
    names: Annotated[int, typer.Option(help="Names to learn from")] = 71_197,
    epochs: Annotated[int, typer.Option(help="Times each is seen, if not as in the config")] = 0,
) -> None:
    """Train a model; goes on if it was stopped."""
    changed = {"encoder": encoder, "epochs": epochs}
    plan = Plan.from_config(config, **{name: value for name, value in changed.items() if value})
    learned = make_names(lang, names, "train", plan.seed)
    model, tokenizer = train_model(learned, plan, output, report=say)
    SelfDecoder(model, tokenizer, plan).to_disk(output)


@app.command()
def measure(
    context: typer.Context,
    lang: Annotated[str, typer.Argument(help="Language of the names")],
    model: Annotated[Path, typer.Argument(help="Folder of the model")],
    names: Annotated[int, typer.Option(help="Names to replace")] = 500,
    metrics: Annotated[Path, typer.Option(help="Where the figures are written")] = Path("metrics/self_decoder.json"),
) -> None:
    """Measure a model on names that it has not learned from, as it says them and as the strategy releases them."""
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
    """Different full names, drawn from the lists of a language."""
    rng = Random(f"{lang} {split} {seed}")
    surname = read_table(lang, "surname")
    found: dict[str, None] = {}
    while len(found) < count:
        given = read_table(lang, rng.choice(("female", "male"))).draw(rng, split)
        family = [surname.draw(rng, split) for _ in range(SURNAMES.get(lang, 1))]
        found[" ".join([given, *family])] = None
    return list(found)


def unseen(lang: str, count: int, seed: int) -> list[str]:
    """Names of the test. A full name that training might draw as well is as good as impossible; it is left out."""
    learned = set(make_names(lang, 71_197, "train", seed))
    return [name for name in make_names(lang, count + 200, "test", seed) if name not in learned][:count]


def released(strategy: Strategy, names: Sequence[str], lang: str) -> Iterator[tuple[Pair, bool]]:
    """What a strategy releases, each name in a note of its own, and whether it left it to `consistent`."""
    project = ProjectKey(SECRET)
    for number, name in enumerate(names):
        mentions, key = [Mention(name, "PATIENT", "", "")], project.patient(str(number))
        chosen = strategy(mentions, Setting(key, lang, "", [1]))
        made = replace_mentions(mentions, key, lang, {"PATIENT": lambda m, s, chosen=chosen: chosen})[0]
        yield Pair(name, made.text if made.action == "replace" else None), chosen[0] == 0


def said_again(decoder: SelfDecoder, names: Sequence[str]) -> float:
    """Share of names that are said again with the matrix bypassed: what the first loss trains."""
    again = decoder.decode(names, bypass=True)
    return sum(old.casefold() == (new or "").casefold() for old, new in zip(names, again, strict=True)) / len(names)


def say(step: int, steps: int, loss: float, cosine: float) -> None:
    """Tell how far the training is."""
    typer.echo(f"step {step} of {steps}: {loss:.4f} nats a piece, cosine {cosine:.3f}")


if __name__ == "__main__":
    app()
