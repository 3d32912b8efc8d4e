"""Pre-train a small masked language model: vocabulary, training with checkpoints, perplexity on held-out text.

    python -m scripts.pretrain es corpus/lm/es training/lm_es

A run that was stopped goes on from its last checkpoint. Needs the extra "transformers".
"""

from collections.abc import Iterator
from datetime import date
from math import exp
from pathlib import Path
from typing import Annotated

import srsly
import typer

from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.masked_lm.pretraining.batches import encode_texts
from spacy_deid.masked_lm.pretraining.train import Plan, held_out_loss, train_model
from spacy_deid.masked_lm.pretraining.vocabulary import SPECIAL, load_vocabulary, save_vocabulary, train_vocabulary

LARGEST = 12_000_000  # parameters

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language, for the table")],
    corpus: Annotated[Path, typer.Argument(help="Folder of train.jsonl and held_out.jsonl")],
    output: Annotated[Path, typer.Argument(help="Folder of the model")],
    pieces: Annotated[int, typer.Option(help="Size of the vocabulary")] = 8192,
    steps: Annotated[int, typer.Option(help="Steps of 16 windows of 128 pieces")] = Plan.steps,
    metrics: Annotated[Path | None, typer.Option(help="Table of figures to add to")] = None,
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
    model = train_model(texts, special, size, plan, output, report=say)
    model.save_pretrained(output)
    loss = held_out_loss(model, encode_texts(tokenizer, read(corpus / "held_out.jsonl")), special, plan)
    typer.echo(f"held out: {loss:.4f} nats a masked piece, perplexity {exp(loss):.1f}")
    if metrics:
        write_rows(metrics, rows_of(lang, exp(loss), sum(p.numel() for p in model.parameters())))


def rows_of(lang: str, perplexity: float, parameters: int) -> Iterator[MetricRow]:
    """What is measured."""
    figures = (
        (f"perplexity of a masked piece, {lang}", perplexity, None),
        (f"parameters of the masked language model, {lang}", parameters, LARGEST),
    )
    for name, value, target in figures:
        command, day = f"spacy project run pretrain-{lang}", date.today().isoformat()
        yield MetricRow(name, round(value, 2), target, "lower", f"open text ({lang})", "held out", command, day)


def read(path: Path) -> Iterator[str]:
    """Texts of a file."""
    return (row["text"] for row in srsly.read_jsonl(path))


def say(step: int, loss: float) -> None:
    """Tell how far the training is."""
    typer.echo(f"step {step}: {loss:.4f} nats a masked piece")


if __name__ == "__main__":
    app()
