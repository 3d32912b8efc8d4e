"""Compare a local language model, a pipeline, and both together on the same notes: accuracy, failures, time and cost.

    python -m benchmarks.llm corpus/sample/dev es --model model.gguf --scheme meddocan --data "sample corpus"

Figures are those of published comparisons: precision, recall and F1 over letters and digits, whatever the label;
failed documents, of which nothing is released and which are not in the other figures; seconds and cost per document.
With --runs N the model runs N times with different seeds, and the runs are compared with the Kruskal-Wallis test over
the figures of documents, which are not normally distributed (as in Wiest et al. 2024).
"""

import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc

from spacy_deid.errors import DeidError
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow, read_folder
from spacy_deid.evaluation.per_document import measure_documents
from spacy_deid.evaluation.rows import command_line, write_rows
from spacy_deid.loading import load, use_llm
from spacy_deid.spans import read_evidence

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

KEY = "deid/llm"
LOWER = {"failed documents", "seconds per document", "cost of 10,000 documents, US dollars", "strings not in the note"}
Figures = dict[str, float]
Notes = Sequence[AnnotatedText]


@app.command()
def main(
    context: typer.Context,
    notes: Annotated[Path, typer.Argument(help="Folder of notes with gold annotations.")],
    pipeline: Annotated[str, typer.Argument(help="Pipeline to compare: a name or a folder.")],
    model: Annotated[str, typer.Option(help="GGUF file, or address of a server on this machine.")],
    model_name: Annotated[str | None, typer.Option(help="Name of the model, if the server has several.")] = None,
    allow: Annotated[list[str] | None, typer.Option(help="Other host that the server may run on.")] = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Prompt: a name or a file; repeatable.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Label to request; those of the prompt by default.")] = None,
    chunk: Annotated[int, typer.Option(help="Maximum length of a part of a note in characters.")] = 4000,
    context_size: Annotated[int, typer.Option("--context", help="Context of the in-process model in tokens.")] = 8192,
    max_tokens: Annotated[int, typer.Option(help="Maximum number of tokens per response.")] = 2048,
    canaries: Annotated[
        int, typer.Option(help="Number of canaries per request; 0 for a model trained without canaries.")
    ] = 2,
    slots: Annotated[int, typer.Option(help="Number of simultaneous requests to a server.")] = 4,
    threads: Annotated[int | None, typer.Option(help="Threads of the in-process model.")] = None,
    scheme: Annotated[str, typer.Option(help="Label scheme of the notes.")] = "canonical",
    runs: Annotated[int, typer.Option(min=1, help="Number of requests per part of a note.")] = 1,
    prices: Annotated[Path, typer.Option(help="File of prices.")] = Path("benchmarks/prices.toml"),
    data: Annotated[str, typer.Option(help="Name of the notes in the metric rows.")] = "notes",
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")] = "dev",
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/llm.json"),
) -> None:
    """Measure the systems one after the other and write the rows."""
    settings: dict[str, Any] = {
        "labels": label,
        "canaries": canaries,
        "server": {"model_name": model_name, "allow": allow or []},
        "in_process": {"context": context_size, "threads": threads},
        "chunks": {"size": chunk, "overlap": min(200, chunk // 4)},
        "limits": {"max_tokens": max_tokens, "slots": slots},
    }
    try:
        gold = read_folder(notes, scheme=scheme)
        nlp = load(pipeline)
        price = read_prices(prices)
        systems = {"pipeline": measure(nlp, gold, entities_of_doc, price["pipeline"])[0]}
        repeated: dict[str, Any] = {}
        for each in prompt or ["zero_shot.v2", "one_shot.v2"]:
            asked = [
                ask(nlp.lang, model, {**settings, "prompt": each, "sampling": {"seed": run}}, gold, price)
                for run in range(runs)
            ]
            systems[f"LLM, {Path(each).stem}"] = asked[0][0]
            if runs > 1:
                repeated[Path(each).stem] = repeat(gold, [found for _, found in asked])
        use_llm(nlp, model, **settings, prompt=each)
        systems["both"] = measure(nlp, gold, entities_of_doc, price["llm"])[0]
    except DeidError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(table(systems, repeated))
    rest = {"data": data, "split": split, "command": command_line("benchmarks.llm", context)}
    write_rows(metrics, rows(systems, repeated, runs, {**rest, "date": date.today().isoformat()}))


def read_prices(path: Path) -> dict[str, float]:
    """Read the hourly price of the machine of each system."""
    data = tomllib.loads(path.read_text(encoding="utf8"))
    return {system: data["per_hour"][machine] for system, machine in data["machines"].items()}


def ask(
    lang: str, model: str, settings: Mapping[str, Any], gold: Notes, price: Mapping[str, float]
) -> tuple[Figures, list[AnnotatedText]]:
    """Run the language model alone."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    use_llm(nlp, model, **settings)
    component: Any = nlp.get_pipe("deid_llm")
    _ = component.extractor  # loading is not timed
    figures, found = measure(nlp, gold, entities_of_llm, price["llm"])
    counts = component.counts
    if counts["strings"]:
        figures["strings not in the note"] = counts["ungrounded"] / counts["strings"]
    return figures, found


def entities_of_doc(doc: Doc) -> list[Entity]:
    """Return the predictions of a pipeline."""
    return [Entity(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def entities_of_llm(doc: Doc) -> list[Entity]:
    """Return the grounded answers of the language model, each span once."""
    return sorted({Entity(item.start, item.end, item.label) for item in read_evidence(doc, KEY)}, key=_place)


def _place(entity: Entity) -> tuple[int, int, str]:
    return entity.start, entity.end, entity.label


def measure(
    nlp: Language, gold: Notes, take: Callable[[Doc], list[Entity]], per_hour: float
) -> tuple[Figures, list[AnnotatedText]]:
    """Run a system. Failed documents are counted and left out of the predictions, as in published comparisons."""
    nlp.set_error_handler(lambda *_: None)
    start = time.perf_counter()
    pairs = nlp.pipe(((note.text, note.name) for note in gold), as_tuples=True)
    found = [AnnotatedText(name, doc.text, tuple(take(doc))) for doc, name in pairs]
    seconds = (time.perf_counter() - start) / len(gold)
    names = {note.name for note in found}
    figures = _rates([note for note in gold if note.name in names], found) if found else {}
    figures |= {"failed documents": len(gold) - len(found), "seconds per document": seconds}
    return figures | {"cost of 10,000 documents, US dollars": seconds * per_hour / 3600 * 10_000}, found


def _rates(gold: Notes, found: Notes) -> Figures:
    """Compute precision, recall and F1, leaving out undefined ones."""
    micro = measure_documents(gold, found)["micro"]
    tp, fp, fn = micro["tp"], micro["fp"], micro["fn"]
    parts = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "F1": (2 * tp, 2 * tp + fp + fn)}
    return {name: above / below for name, (above, below) in parts.items() if below}


def repeat(gold: Notes, runs: Sequence[Notes]) -> dict[str, Any]:
    """Compare runs over the documents that did not fail in any of them."""
    names = set.intersection(*({note.name for note in run} for run in runs))
    return compare_runs(*_only(names, [gold]), _only(names, runs)) if names else {}


def _only(names: set[str], runs: Sequence[Notes]) -> list[list[AnnotatedText]]:
    """Select some documents of each run."""
    return [[note for note in run if note.name in names] for run in runs]


def table(systems: Mapping[str, Figures], repeated: Mapping[str, Any]) -> str:
    """Format the figures for the console."""
    names = list(dict.fromkeys(figure for figures in systems.values() for figure in figures))
    lines = [f"{'':<40}" + "".join(f"{system:>20}" for system in systems)]
    for name in names:
        values = (figures.get(name) for figures in systems.values())
        lines.append(f"{name:<40}" + "".join("–".rjust(20) if v is None else f"{v:>20.4f}" for v in values))
    for prompt, result in repeated.items():
        tests = ", ".join(f"{rate} {result[rate]['p']:.4f}" for rate in ("accuracy", "recall", "fnr") if result)
        lines.append(f"{prompt}: same answer in {result.get('same', 0):.0%} of documents; Kruskal-Wallis p: {tests}")
    return "\n".join(lines)


def rows(systems: Mapping[str, Figures], repeated: Mapping[str, Any], runs: int, rest: Mapping[str, str]) -> list[Any]:
    """Create metric rows."""
    out = [
        MetricRow(f"{system}: {name}", round(value, 4), None, "lower" if name in LOWER else "higher", **rest)
        for system, figures in systems.items()
        for name, value in figures.items()
    ]
    for prompt, result in repeated.items():
        named = {f"documents with the same answer in {runs} runs": result["same"]} if result else {}
        for rate in ("accuracy", "recall", "fnr") if result else ():
            named[f"Kruskal-Wallis p of {rate} over {runs} runs"] = result[rate]["p"]
        out += [
            MetricRow(f"LLM, {prompt}: {name}", round(value, 4), None, "higher", **rest)
            for name, value in named.items()
        ]
    return out


def compare_runs(gold: Notes, runs: Sequence[Notes]) -> dict[str, Any]:
    """Compare repeated runs over the same documents.

    gold (Sequence[AnnotatedText]): documents with gold annotations.
    runs (Sequence): for each run, the predictions for the same documents.
    RETURNS (dict): "same", the share of documents for which all runs gave the same result; for each of accuracy,
        recall and fnr the "micro" value of each run, and "h" and "p" of the Kruskal-Wallis test over documents.
    RAISES: InputError if documents cannot be paired (D308–D310).
    """
    measured = [measure_documents(gold, run) for run in runs]
    found: dict[str, set[tuple[object, ...]]] = {}
    for run in runs:
        for document in run:
            found.setdefault(document.name, set()).add(tuple(document.entities))
    result: dict[str, Any] = {"same": sum(len(each) == 1 for each in found.values()) / len(found)}
    for rate in ("accuracy", "recall", "fnr"):
        h, p = kruskal_wallis([[row[rate] for row in one["rows"] if row[rate] is not None] for one in measured])
        result[rate] = {"micro": [one["micro"][rate] for one in measured], "h": h, "p": p}
    return result


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Test whether groups of values have the same distribution (Kruskal and Wallis 1952, corrected for ties).

    groups (Sequence[Sequence[float]]): at least two groups with at least one value each.
    RETURNS (tuple[float, float]): the statistic H and its p-value; 0 and 1 if all values are equal.
    """
    from scipy.stats import kruskal

    if len({value for group in groups for value in group}) == 1:
        return 0.0, 1.0
    h, p = kruskal(*groups)
    return float(h), float(p)


if __name__ == "__main__":
    app()
