"""Measure speed and memory of scoring words with a masked language model, compared with a naive loop.

    python -m benchmarks.surprisal_speed speed es --model training/lm_es --notes corpus/meddocan/dev/brat

The naive loop uses transformers on torch: one forward pass for each piece of each word, scores of the whole vocabulary
at every position, with weights before quantization (the largest difference is printed). All variants score the same
words of the same notes on one thread in one run. They are compared by words per second and by Spearman's rank
correlation with exact mode. Needs the extra "transformers". Writes metrics/surprisal_speed.json.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer

from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.masked_lm.masking import make_same_word_masking, make_uncommon_candidates
from spacy_deid.masked_lm.model import load_masked_lm
from spacy_deid.masked_lm.scoring import (
    Mode,
    NoteWords,
    align_words,
    cut_windows,
    half_overlap,
    make_exact_mode,
    make_spread_mode,
    make_unmasked_mode,
    score_words,
)

app = typer.Typer(pretty_exceptions_enable=False)

METRICS = Path("metrics/surprisal_speed.json")
LONG_NOTE = 200_000  # words
MEMORY = 2000  # MB that it may take
GAPS = (4, 6, 10, 16)

Way = tuple[Mode, str, list[NoteWords]]


@app.command()
def speed(
    lang: Annotated[str, typer.Argument(help="Language.")],
    model: Annotated[Path, typer.Option(help="Folder of the trained transformers model.")],
    notes: Annotated[Path, typer.Option(help="Folder of .txt notes.")],
    count: Annotated[int, typer.Option(help="Number of notes to score.")] = 3,
    words: Annotated[int, typer.Option(help="Number of words of each note to score.")] = 500,
) -> None:
    """Compare ways of scoring the words of notes of 500 words."""
    nlp = blank(lang)
    texts = [path.read_text(encoding="utf8") for path in islice(sorted(notes.glob("*.txt")), count)]
    docs = [first_words(nlp, text, words) for text in texts]
    shipped = {precision: load_masked_lm(lang, precision=precision) for precision in ("float", "int8")}
    prepared = [prepare(shipped["float"], doc) for doc in docs]
    fewer = [prepare(shipped["float"], doc, make_uncommon_candidates(lang)) for doc in docs]
    loop, naive = timed(lambda: [naive_loop(model, note) for note in prepared])
    rows = compare(lang, shipped, ways_of(prepared, fewer), loop, np.concatenate(naive))
    seconds = min(timed(lambda: nlp_scored(lang, texts[0], words))[0] for _ in range(3))
    rows.append(row(f"seconds for a note of {words} words, shipped model, one core, {lang}", seconds, 1.5, "lower"))
    write_rows(METRICS, rows)
    for one in rows:
        typer.echo(f"{one.value:10.3f}  {one.name}")


def ways_of(prepared: list[NoteWords], fewer: list[NoteWords]) -> dict[str, Way]:
    """Return the variants, exact mode first: all words, and uncommon words only."""
    ways: dict[str, Way] = {
        "exact, batched, float": (make_exact_mode(), "float", prepared),
        "exact, batched, int8": (make_exact_mode(), "int8", prepared),
        "unmasked, int8": (make_unmasked_mode(), "int8", prepared),
    }
    for gap in GAPS:
        ways[f"spread, gap {gap}, float"] = (make_spread_mode(gap), "float", prepared)
        ways[f"spread, gap {gap}, int8"] = (make_spread_mode(gap), "int8", prepared)
    return ways | {"spread, gap 10, int8, candidates alone": (make_spread_mode(10), "int8", fewer)}


def compare(lang: str, shipped: dict[str, Any], ways: dict[str, Way], loop: float, naive: Any) -> list[MetricRow]:
    """Time each variant, given the seconds and scores of the naive loop."""
    exact: Any = None
    rows = list(rows_of(lang, "naive loop", len(naive) / loop, None, None))
    for name, (mode, precision, given) in ways.items():
        seconds, scores = timed(lambda: score_words(shipped[precision], given, mode))  # noqa: B023
        found = np.concatenate([score.log_prob for score in scores])
        exact = found if exact is None else exact
        wanted = np.concatenate([note.wanted for note in given])
        order = spearman(exact[wanted], found[wanted])
        rows += rows_of(lang, name, len(naive) / seconds, loop / seconds, order)
    there = np.isfinite(exact)
    agreed = float(np.abs(naive[there] - exact[there]).max())
    name = f"naive loop against exact, batched, float: largest difference in nats, {lang}"
    rows.append(row(name, agreed, None, "lower"))
    faithful = [one.value for one in rows if one.name.endswith("times the naive loop") and is_faithful(rows, one)]
    name = f"best way with Spearman of .98 and more: times the naive loop, {lang}"
    return [*rows, row(name, max(faithful), 20.0)]


@app.command()
def memory(lang: Annotated[str, typer.Argument(help="Language.")], words: int = LONG_NOTE) -> None:
    """Measure the memory for a very long note in a separate process."""
    command = [sys.executable, "-m", __spec__.name, "long-note", lang, "--words", str(words)]
    highest = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    name = f"highest memory for a note of {words:,} words, MB, {lang}"
    write_rows(METRICS, [row(name, highest, MEMORY, "lower", data="made text")])
    typer.echo(f"{highest:.0f} MB")


@app.command(hidden=True)
def long_note(lang: str, words: int = LONG_NOTE) -> None:
    """Score a very long note and print the peak memory in MB."""
    rng = np.random.default_rng(0)
    stock = "Paciente varón de 54 años que acude por dolor abdominal con Juan Pérez y María el 12/03/2014".split()
    text = " ".join(rng.choice(stock, size=words))
    nlp = blank(lang, {})
    nlp.max_length = len(text) + 1
    doc = nlp(text)
    assert len(doc.user_data["deid/surprisal"]["values"]) >= words
    typer.echo(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def blank(lang: str, settings: dict[str, Any] | None = None) -> Any:
    """Create a pipeline with the tokenizer, and with the component if there are settings for it."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    if settings is not None:
        nlp.add_pipe("deid_surprisal", config=settings)
    return nlp


def first_words(nlp: Any, text: str, words: int) -> Any:
    """Return the beginning of a note with a number of words."""
    doc = nlp.make_doc(text)
    places = [token.i for token in doc if any(map(str.isalnum, token.text))]
    return nlp.make_doc(doc[: places[:words][-1] + 1].text)


def prepare(model: Any, doc: Any, candidates: Any = None) -> NoteWords:
    """Convert a note to the input of the scorer."""
    words = [token.i for token in doc if any(map(str.isalnum, token.text))]
    encoded = model.pieces.encode(doc.text)
    starts = np.array([doc[word].idx for word in words])
    ends = starts + np.array([len(doc[word]) for word in words])
    parts = align_words(encoded, starts, ends, model.pieces.unknown, half_overlap(model.length))
    wanted = candidates(doc, words) if candidates else np.ones(len(words), dtype=bool)
    return NoteWords(encoded.ids, *parts, make_same_word_masking().find(doc, words), wanted)


def naive_loop(folder: Path, note: NoteWords) -> Any:
    """Score words with one forward pass per piece, computing everything at every position."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    room, found = model.config.max_position_embeddings - 2, np.zeros(len(note.first))
    found[~note.aligned] = -np.inf
    for window in cut_windows(note, room, half_overlap(room + 2)):
        for job in make_exact_mode().jobs(note, window):
            text = note.ids[job.start : job.end].copy()
            text[np.array(job.masked) - job.start] = tokenizer.mask_token_id
            ids = torch.tensor([[tokenizer.cls_token_id, *text, tokenizer.sep_token_id]])
            with torch.no_grad():
                log_probs = torch.log_softmax(model(input_ids=ids).logits[0], -1)
            (piece, word, _), *_ = job.asked
            found[word] += float(log_probs[piece - job.start + 1, note.ids[piece]])
    return found


def nlp_scored(lang: str, text: str, words: int, known: dict[str, Any] = {}) -> Any:  # noqa: B006
    """Score a note with the pipeline."""
    nlp = known.setdefault(lang, blank(lang, {}))
    return nlp(first_words(nlp, text, words).text)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def spearman(one: Any, other: Any) -> float:
    """Compute Spearman's rank correlation, with mean ranks for ties."""
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def ranks(values: Any) -> Any:
    """Compute mean ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def is_faithful(rows: list[MetricRow], speedup: MetricRow) -> bool:
    """Test whether a variant scores all words and ranks them as exact mode does."""
    name = speedup.name.rsplit(":", 1)[0]
    orders = [r.value for r in rows if r.name.startswith(f"{name}:") and "Spearman" in r.name]
    return bool(orders) and orders[0] >= 0.98 and "candidates" not in name


def rows_of(lang: str, name: str, speed: float, ratio: float | None, order: float | None) -> Iterator[MetricRow]:
    """Yield the rows of a variant."""
    yield row(f"{name}, {lang}: words a second", speed, None)
    if ratio is not None:
        yield row(f"{name}, {lang}: times the naive loop", ratio, None)
    if order is not None:
        yield row(f"{name}, {lang}: Spearman with exact", order, None)


def row(
    name: str, value: float, target: float | None, better: Any = "higher", data: str = "notes of 500 words"
) -> MetricRow:
    """Create a row."""
    command = "spacy project run surprisal"
    return MetricRow(name, round(value, 4), target, better, data, "dev", command, date.today().isoformat())


if __name__ == "__main__":
    app()
