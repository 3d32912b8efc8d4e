"""Measure speed, exactness and memory of scoring words with a masked language model.

    python -m benchmarks.surprisal_speed speed es en fi --corpus corpus

There are two baselines, both with the weights of the shipped model and both exact:

- *One piece per pass, torch*: a PyTorch loop with one forward pass per piece of each word, which computes the scores
  of the whole vocabulary at every position. The PyTorch model is rebuilt from the shipped weights.
- *Exact, batched*: the mode "exact" of the package on ONNX Runtime, at the same precision as the compared mode.

All ways score the same words on one thread in one run. Speeds are words per second of CPU time, so that other
processes on the machine distort them little. Exactness is Spearman's rank correlation with the mode "exact", over the
words of all notes of a set. The gap is chosen on one set of notes and measured on others: the fastest gap that
correlates with at least `CHOSEN` in every language is the gap that the rows call chosen. Needs the extra
"transformers" and onnx. Writes metrics/surprisal_speed.json.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer

from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows, write_rows
from spacy_deid.lang import get_language
from spacy_deid.masked_lm.masking import make_same_word_masking
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
from spacy_deid.synth.authored import read_authored

from .surprisal import DATA

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

METRICS = Path("metrics/surprisal_speed.json")
LONG_NOTE = 200_000  # words
MEMORY = 2000  # MB that it may take
GAPS = (4, 6, 8, 10)
CHOSEN = 0.99  # Spearman on the notes that the gap is chosen on
PROMISED = 0.98  # Spearman on other notes
MOST = 250  # words of a note
TOTAL = 500  # words of a set of notes
NAIVE = 40  # words that the slow baseline scores

Sets = dict[str, list[NoteWords]]


@app.command()
def speed(
    context: typer.Context,
    langs: Annotated[list[str], typer.Argument(metavar="LANG...", help="Languages: es, en, fi.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("corpus"),
) -> None:
    """Compare ways of scoring words: choose the gap on training notes, and measure it on other notes."""
    about = {
        "command": command_line("benchmarks.surprisal_speed speed", context, ("corpus",)),
        "date": date.today().isoformat(),
    }
    rows: list[MetricRow] = []
    orders: dict[tuple[int, str, str, str], float] = {}
    for lang in langs:
        models = {precision: load_masked_lm(lang, precision=precision) for precision in ("float", "int8")}
        for split, name, notes in sets_of(lang, corpus):
            prepared = [prepare(models["float"], doc) for doc in first_words(lang, notes)]
            named = {"data": name, "split": split, **about}
            _, exact = timed(lambda: scored(models["float"], prepared, make_exact_mode()))  # noqa: B023
            for gap in GAPS:
                found = scored(models["int8"], prepared, make_spread_mode(gap))
                orders[gap, lang, name, split] = order = spearman(exact, found)
                rows.append(MetricRow(f"spread, gap {gap}, int8, {lang}: Spearman", r(order), None, "higher", **named))
            found = scored(models["int8"], prepared, make_unmasked_mode())
            rows.append(
                MetricRow(f"unmasked, int8, {lang}: Spearman", r(spearman(exact, found)), None, "higher", **named)
            )
            typer.echo(
                f"{lang} {name}: " + ", ".join(f"gap {gap} {orders[gap, lang, name, split]:.4f}" for gap in GAPS)
            )
            if split == "train":
                rows += times(lang, models, prepared[:1], named)
    rows += conclude(orders, rows, about)
    replace_rows(METRICS, rows)
    for one in rows:
        typer.echo(f"{one.value:10.4f}  {one.name} ({one.data} {one.split})")


def sets_of(lang: str, corpus: Path) -> Iterator[tuple[str, str, list[AnnotatedText]]]:
    """Yield split, name and notes of each set: first the notes to choose on, then others."""
    authored = corpus / "authored" / lang
    data = DATA[lang]
    yield "train", f"authored {lang}", [note.annotated() for note in read_authored(authored / "train")]
    yield "dev", f"authored {lang}", [note.annotated() for note in read_authored(authored / "dev")]
    yield data.split, data.name, data.test(corpus)


def first_words(lang: str, notes: Sequence[AnnotatedText]) -> list[Any]:
    """Return the beginnings of notes, `TOTAL` words together."""
    nlp, docs, left = blank(lang), [], TOTAL
    for note in notes:
        doc = nlp.make_doc(note.text)
        places = [token.i for token in doc if any(map(str.isalnum, token.text))][: min(MOST, left)]
        if places:
            docs.append(nlp.make_doc(doc[: places[-1] + 1].text))
            left -= len(places)
        if not left:
            break
    return docs


def times(lang: str, models: dict[str, Any], notes: list[NoteWords], named: dict[str, str]) -> Iterator[MetricRow]:
    """Yield the speed of each way, and how many times as fast as the baselines it is."""
    words = sum(len(note.first) for note in notes)
    few = [notes[0]._replace(wanted=np.arange(len(notes[0].first)) < NAIVE)]
    torch_model = rebuild_torch(get_language(lang).resource("masked_lm"))
    seconds, naive = timed(lambda: one_piece_per_pass(torch_model, models["float"], few[0]))
    slow = int((few[0].wanted & few[0].aligned).sum()) / seconds
    wanted = few[0].wanted & few[0].aligned
    agreed = np.abs(naive - scored(models["float"], few, make_exact_mode()))[wanted].max()
    ways: dict[str, tuple[Mode, str]] = {
        f"exact, batched, {precision}": (make_exact_mode(), precision) for precision in models
    }
    ways |= {f"spread, gap {gap}, {p}": (make_spread_mode(gap), p) for gap in GAPS for p in models}
    ways |= {"unmasked, int8": (make_unmasked_mode(), "int8")}
    speeds = {"one piece per pass, torch": slow}
    for name, (mode, precision) in ways.items():
        seconds, _ = timed(lambda: scored(models[precision], notes, mode))  # noqa: B023
        speeds[name] = words / seconds
    for name, found in speeds.items():
        row = {"target": None, "better": "higher", **named}
        yield MetricRow(f"{name}, {lang}: words per CPU second", r(found), **row)  # type: ignore[arg-type]
        yield MetricRow(f"{name}, {lang}: times one piece per pass, torch", r(found / slow), **row)  # type: ignore[arg-type]
        batched = speeds[f"exact, batched, {'int8' if name.endswith('int8') else 'float'}"]
        yield MetricRow(f"{name}, {lang}: times exact, batched", r(found / batched), **row)  # type: ignore[arg-type]
    name = f"one piece per pass, torch, against exact, batched, float: largest difference in nats, {lang}"
    yield MetricRow(name, r(float(agreed)), None, "lower", **named)


def conclude(
    orders: dict[tuple[int, str, str, str], float], rows: Sequence[MetricRow], about: dict[str, str]
) -> Iterator[MetricRow]:
    """Yield the chosen gap, with its worst correlation and its lowest speed over languages and sets."""

    def worst(gap: int, split: str) -> float:
        return min(
            o for (one, _, _, part), o in orders.items() if one == gap and (part == "train") == (split == "train")
        )

    gap = next((gap for gap in GAPS if worst(gap, "train") >= CHOSEN), GAPS[-1])
    named = {"data": "all languages", "split": "dev", **about}
    yield MetricRow("chosen gap of the mode spread, int8", gap, None, "lower", **named)
    yield MetricRow(
        "chosen gap: lowest Spearman on the notes it was chosen on", r(worst(gap, "train")), None, "higher", **named
    )
    yield MetricRow("chosen gap: lowest Spearman on other notes", r(worst(gap, "dev")), PROMISED, "higher", **named)
    for baseline, target in (("one piece per pass, torch", 20.0), ("exact, batched", None)):
        ratios = [
            row.value
            for row in rows
            if row.name.startswith(f"spread, gap {gap}, int8,") and row.name.endswith(f": times {baseline}")
        ]
        yield MetricRow(f"chosen gap: times {baseline}, slowest language", min(ratios), target, "higher", **named)


@app.command()
def note(context: typer.Context, lang: Annotated[str, typer.Argument(help="Language.")], words: int = MOST) -> None:
    """Measure the time for one note with the component, and its memory for a very long note in a separate process."""
    about = {"command": command_line("benchmarks.surprisal_speed note", context), "date": date.today().isoformat()}
    nlp, text = blank(lang, {}), made_text(words)
    nlp(text)
    seconds = min(timed(lambda: nlp(text))[0] for _ in range(3))
    command = [sys.executable, "-m", __spec__.name, "long-note", lang]
    highest = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    title = f"seconds for a note of {words} words, shipped model, one core, {lang}"
    rows = [MetricRow(title, r(seconds), 1.5, "lower", f"notes of {words} words", "dev", **about)]
    title = f"highest memory for a note of {LONG_NOTE:,} words, MB, {lang}"
    rows.append(MetricRow(title, r(highest), MEMORY, "lower", "made text", "dev", **about))
    write_rows(METRICS, rows)
    typer.echo(f"{seconds:.2f} s, {highest:.0f} MB")


@app.command(hidden=True)
def long_note(lang: str, words: int = LONG_NOTE) -> None:
    """Score a very long note and print the peak memory in MB."""
    text, nlp = made_text(words), blank(lang, {})
    nlp.max_length = len(text) + 1
    doc = nlp(text)
    assert len(doc.user_data["deid/surprisal"]["values"]) >= words
    typer.echo(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def made_text(words: int) -> str:
    """Draw words at random."""
    stock = "Paciente varón de 54 años que acude por dolor abdominal con Juan Pérez y María el 12/03/2014".split()
    return " ".join(np.random.default_rng(0).choice(stock, size=words))


def blank(lang: str, settings: dict[str, Any] | None = None) -> Any:
    """Create a pipeline with the tokenizer, and with the component if there are settings for it."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    if settings is not None:
        nlp.add_pipe("deid_surprisal", config=settings)
    return nlp


def prepare(model: Any, doc: Any) -> NoteWords:
    """Convert a note to the input of the scorer."""
    words = [token.i for token in doc if any(map(str.isalnum, token.text))]
    encoded = model.pieces.encode(doc.text)
    starts = np.array([doc[word].idx for word in words])
    ends = starts + np.array([len(doc[word]) for word in words])
    parts = align_words(encoded, starts, ends, model.pieces.unknown, half_overlap(model.length))
    return NoteWords(encoded.ids, *parts, make_same_word_masking().find(doc, words), np.ones(len(words), dtype=bool))


def scored(model: Any, notes: list[NoteWords], mode: Mode) -> Any:
    """Return the log-probabilities of all words."""
    return np.concatenate([found.log_prob for found in score_words(model, notes, mode)])


def rebuild_torch(folder: Path) -> Any:
    """Rebuild the PyTorch model of an exported model, with its weights as the float graph uses them.

    The export keeps the names of vectors and embeddings. Matrices have generated names and are in the order of the
    computation.
    """
    import onnx
    import torch
    from onnx import numpy_helper

    from scripts.pretrain import Plan, build_model

    graph = onnx.load(folder / "float.onnx").graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    plan = Plan()
    model = build_model(len(stored["model.decoder.bias"]), {"pad": 0, "cls": 0, "sep": 0}, plan)
    state = {name.removeprefix("model."): torch.tensor(array) for name, array in stored.items() if "int8" not in name}
    state = {name: tensor for name, tensor in state.items() if not name.endswith(".scale")}
    table = "model.model.embeddings.tok_embeddings.weight"
    state[table.removeprefix("model.")] = torch.tensor(stored[f"{table}.int8"] * stored[f"{table}.scale"][:, None])
    state["decoder.weight"] = state[table.removeprefix("model.")]
    names = [
        f"model.layers.{layer}.{part}.weight"
        for layer in range(plan.layers)
        for part in ("attn.Wqkv", "attn.Wo", "mlp.Wi", "mlp.Wo")
    ]
    matrices = [name.removesuffix(".int8") for name in stored if name.startswith("onnx::") and name.endswith(".int8")]
    for name, matrix in zip([*names, "head.dense.weight"], matrices, strict=True):
        state[name] = torch.tensor((stored[f"{matrix}.int8"] * stored[f"{matrix}.scale"]).T)
    model.load_state_dict(state)
    return model.eval()


def one_piece_per_pass(model: Any, shipped: Any, note: NoteWords) -> Any:
    """Score words with one forward pass per piece, computing everything at every position."""
    import torch

    torch.set_num_threads(1)
    pieces = shipped.pieces
    room, found = shipped.length - len(pieces.before) - len(pieces.after), np.zeros(len(note.first))
    for window in cut_windows(note, room, half_overlap(shipped.length)):
        for job in make_exact_mode().jobs(note, window):
            text = note.ids[job.start : job.end].copy()
            text[np.array(job.masked) - job.start] = pieces.mask
            ids = torch.tensor([[*pieces.before, *text, *pieces.after]])
            with torch.no_grad():
                log_probs = torch.log_softmax(model(input_ids=ids).logits[0], -1)
            (piece, word, _), *_ = job.asked
            found[word] += float(log_probs[piece - job.start + len(pieces.before), note.ids[piece]])
    return found


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def spearman(one: Any, other: Any) -> float:
    """Compute Spearman's rank correlation, with mean ranks for ties."""
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def ranks(values: Any) -> Any:
    """Compute mean ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def r(value: float) -> float:
    """Round a figure."""
    return round(value, 4)


if __name__ == "__main__":
    app()
