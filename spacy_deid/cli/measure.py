"""``spacy-deid evaluate``, ``fairness``, ``report`` and ``surrogates evaluate``.

They measure predictions against gold annotations, the recall by origin of names, pipelines, and surrogates.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors, InputError
from ..evaluation import FORMATS, AnnotatedText, MetricRow, detect_format, format_table, read_folder
from ..evaluation import evaluate as compare
from ..evaluation.cas import is_cas_json
from ..evaluation.documents import Entity
from ..evaluation.fairness import (
    Swap,
    count_found,
    draw_swaps,
    format_fairness,
    load_contexts,
    load_pools,
    make_rows,
    measure,
)
from ..evaluation.gold_surrogates import ReleasedNote, replace_gold
from ..evaluation.per_document import format_csv, format_documents, measure_documents
from ..evaluation.report import make_report, render
from ..evaluation.rows import write_rows
from ..evaluation.surrogate_table import BETTER, Embed, Floats, Pair, format_surrogate_table, surrogate_figures
from ..evaluation.text_alignment import move_documents
from ..io import write_whole
from ..labels import LABELS
from ..lang.inflection import inflect
from ..llm.backends import Backend, open_backend
from ..llm.prompts import replace_values
from ..loading import find_components, load
from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..registries import registry
from ..saving import fingerprint
from ..surrogates.keys import ProjectKey
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.similar import Similar
from ..surrogates.strategies import FALLBACK, Strategy, check_probability, consistent, markov, randomized
from ..surrogates.style import SurrogateStyle
from .console import reporting, say
from .options import Bootstrap, CasLayer, Metrics, OperatingPoint, OptionalJson, Scheme, Seed, repeat_command


def evaluate(
    gold: Annotated[Path, typer.Argument(help="Folder of gold annotations in any format of 'convert'.")],
    pred: Annotated[Path, typer.Argument(help="Folder of predictions of the same notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of both folders, and of the comparison.")],
    output: OptionalJson = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="CSV file for figures of each document, worst first. It names the documents."),
    ] = None,
    align: Annotated[
        bool,
        typer.Option(
            "--align", help="Align gold with the text of the predictions, if PDF files were read in two ways."
        ),
    ] = False,
    layer: CasLayer = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
) -> None:
    """Compare predictions with gold: print a table and write the figures as JSON. Neither quotes a note."""
    with reporting():
        for file in (output, documents):
            if file:
                check_output(file, gold, pred)
        golds, preds = (read_folder(folder, scheme=scheme, layer=layer) for folder in (gold, pred))
        refused: dict[str, InputError] = {}
        if align:
            golds, lost = move_documents(golds, preds, refused=refused)
            if refused and not golds:
                raise next(iter(refused.values()))
            for error in refused.values():
                say(f"left out: {error}")
            for name, count in lost.items():
                say(f"{name}: {count} identifier(s) of the gold are left out: the text of the predictions lacks them")
            preds = [pred for pred in preds if pred.name not in refused]
        result = compare(golds, preds, scheme=scheme, bootstrap=bootstrap, seed=seed)
        typer.echo(format_table(result), nl=False)
        if documents:
            measured = measure_documents(golds, preds, scheme=scheme)
            write_whole(documents, format_csv(measured.pop("rows")).encode("utf-8"))
            typer.echo("\n" + format_documents(measured), nl=False)
            result["per_document"] = measured
        if output:
            write_whole(output, (json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        if refused:
            raise typer.Exit(1)


def read_gold(path: Path, scheme: str, layer: str | None = None) -> list[AnnotatedText]:
    """Read a gold corpus. A .spacy file of ``convert`` has canonical labels, whatever the scheme.

    path (Path): a folder or a file.
    scheme (str): label scheme of all other formats.
    layer (Optional[str]): layer of the identifiers in CAS files, see `read_folder`.
    RETURNS (list[AnnotatedText]): the documents.
    RAISES: InputError as `read_folder`, or if there are no documents (D348).
    """
    format = detect_format(path)
    gold = read_folder(path, format, scheme="canonical" if format == "spacy" else scheme, layer=layer)
    if not gold:
        raise InputError(Errors.D348.format(path=path))
    return gold


def check_output(output: Path, *inputs: Path) -> None:
    """Check that an output file does not overwrite annotations in the input folders.

    RAISES: InputError (D408) if it is one of the folders, or a file in one of them with a suffix of annotations.
    """
    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes} - {".json"}
    folders = {path.resolve() for path in inputs}
    real = output.resolve()
    taken = real.suffix in known or (real.suffix == ".json" and real.is_file() and is_cas_json(real))
    if real in folders or (taken and real.parent in folders):
        raise InputError(Errors.D408.format(path=output))


def fairness(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    n: Annotated[int, typer.Option(min=1, help="Number of draws per group of names and sex.")] = 200,
    seed: Seed = 1,
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Draw names that are on no list, blended from the names of a group.")
    ] = False,
    bootstrap: Annotated[int, typer.Option(min=1, help="Replicates for the 95 % intervals.")] = 1000,
    output: OptionalJson = None,
    metrics: Metrics = None,
) -> None:
    """Put names of origin groups, sexes and decades of birth into the same notes, and compare the recall."""
    with reporting():
        deid = Deidentifier(pipeline)
        contexts = load_contexts(lang)
        pools = load_pools(lang, contexts.two_surnames)
        put = partial(_inflect, lang)
        swaps = draw_swaps(contexts.contexts, pools, n, seed, put, unlisted)
        result = measure(_count_names(deid, swaps), len(contexts.contexts), bootstrap=bootstrap, seed=seed)
        typer.echo(format_fairness(result), nl=False)
        if output:
            settings = {"lang": lang, "n": n, "seed": seed, "unlisted": unlisted, "bootstrap": bootstrap}
            write_whole(output, (json.dumps(settings | result, indent=2) + "\n").encode("utf-8"))
        if metrics:
            more = " --unlisted" if unlisted else ""
            command = f"spacy-deid fairness {pipeline} --lang {lang} --n {n} --seed {seed}{more} --metrics {metrics}"
            names, today = "unlisted" if unlisted else "listed", date.today().isoformat()
            rows = make_rows(result, lang=lang, names=names, n=n, seed=seed, command=command, date=today)
            write_rows(metrics, rows)


def _inflect(lang: str, text: str, case: str, kind: str) -> str:
    """Inflect a name; `lang` is the first parameter so that it can be fixed by ``partial``."""
    return inflect(text, lang, case, kind=kind)


def _count_names(deid: Deidentifier, swaps: Iterator[Swap]) -> Iterator[tuple[Swap, tuple[int, int]]]:
    """Detect identifiers in notes with swapped names. YIELDS (tuple): each swap with its counts of found names.

    Entities with labels of other components, such as diseases, are not counted.

    RAISES: DeidError if a note fails, because leaving it out would make the recall look better.
    """
    pairs = ((swap.note.text, swap) for swap in swaps)
    for result, swap in deid.detect(pairs, as_tuples=True, batch_size=512):
        if result.reason:
            raise DeidError(result.reason)
        yield swap, count_found(swap, [Entity(*entity) for entity in result.entities if entity[2] in LABELS])


def report(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    gold: Annotated[Path, typer.Argument(help="Gold corpus: a folder or file in any format of 'convert'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="JSON file for all figures.")] = None,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus, and of the comparison.")] = "canonical",
    operating_point: OperatingPoint = None,
    data: Annotated[
        str | None, typer.Option(help="Name of the data on the page. Default: name of the folder.")
    ] = None,
    bootstrap: Bootstrap = 100,
    seed: Seed = 0,
    with_text: Annotated[
        bool,
        typer.Option("--with-text", help="Quote missed identifiers. The page is then as confidential as the notes."),
    ] = False,
) -> None:
    """Measure a pipeline on a gold corpus and write an HTML page: scores with intervals, misses by category and risk,
    scores by label, the contribution of each component, and operating points.

    The page needs no network. It neither quotes nor names a note unless --with-text is given; the JSON never does.
    """
    with reporting():
        for path in (output, json_file):
            if path:
                check_output(path, gold)
        documents = read_gold(gold, scheme)
        nlp = load(pipeline, operating_point=operating_point)
        ner: Any = next(iter(find_components(nlp, "deid_ner")), None)
        about = _describe(nlp, ner, data or gold.name)
        result, examples = make_report(
            nlp, documents, scheme=scheme, bootstrap=bootstrap, seed=seed, with_text=with_text
        )
        points = {
            name: {**ner.get_point(name).receipt()["thresholds"], "figures": record["figures"]}
            for name, record in (ner.cfg.get("points", {}) if ner else {}).items()
        }
        page = render(result, about, points=points, examples=examples)
        write_whole(output, page.encode("utf-8"))
        if json_file:
            whole = {**about, "points": points, **result}
            write_whole(json_file, (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        every, high = (result["misses"]["levels"][level] for level in ("all", "high"))
        typer.echo(
            f"{len(documents)} notes: {every['missed_entities']} of {every['entities']} identifiers missed, "
            f"{high['missed_entities']} of high risk; written to {output}"
        )


def _describe(nlp: Language, ner: Any, data: str) -> dict[str, Any]:
    """Describe what was measured: pipeline, versions, data, operating point and date."""
    meta: dict[str, Any] = nlp.meta
    pipeline = {
        "name": f"{nlp.lang}_{meta['name']}",
        "version": meta["version"],
        "fingerprint": fingerprint(nlp),
        "components": nlp.pipe_names,
        "trained": (meta.get("deid") or {}).get("trained", ""),
        "sources": [{key: item.get(key, "") for key in ("name", "license")} for item in meta.get("sources") or []],
    }
    return {
        "pipeline": pipeline,
        "versions": {"spacy_deid": __version__, "spacy": spacy_version},
        "data": data,
        "operating_point": dict(ner.get_point().receipt()) if ner else {},
        "date": date.today().isoformat(),
    }


LEFT = "left as they are"
"""Name of the figure for mentions that are kept on purpose, such as "three days ago": their share of all mentions."""

FELL = "left to consistent"
"""Name of the figure for the share of names and towns for which a strategy fell back to `consistent`."""

Made = list[tuple[str, str, str | None]]  # label, original, and surrogate or None if none can be made


def make_strategies(
    probabilities: Sequence[float], lang: str, masked_lm: str, self_decoded: str
) -> dict[str, Strategy]:
    """Make the strategies to compare: those that draw surrogates from lists, and those whose models are given.

    probabilities (Sequence[float]): probabilities of a change for `markov`, one strategy for each.
    lang (str): language of the notes.
    masked_lm (str): masked language model for `similar`, or "".
    self_decoded (str): folder of a self-decoding model, or "".
    RETURNS (dict[str, Strategy]): title of the column → strategy.
    RAISES: ConfigError for a probability out of range (D690), or if a model cannot be loaded.
    """
    made: dict[str, Strategy] = {"consistent": consistent, "random": randomized}
    made |= {f"markov({p:g})": partial(markov, p=check_probability(p)) for p in probabilities}
    for name, model in {"similar": masked_lm, "self_decoded": self_decoded}.items():
        if model:
            made[name] = registry.deid_strategies.get(f"spacy_deid.{name}_strategy.v1")(lang=lang, model=model)
    return made


def release(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, seed: int) -> Iterator[ReleasedNote]:
    """Replace the annotated identifiers of notes by surrogates. Each note is treated as that of another patient.

    notes (Sequence[AnnotatedText]): the notes.
    lang (str): language of the notes.
    strategy (Strategy): makes the surrogates.
    seed (int): seed of the project key.
    RETURNS (Iterator[ReleasedNote]): the notes with surrogates.
    """
    key = ProjectKey(hashlib.sha256(f"surrogates evaluate {seed}".encode()).digest())
    style = SurrogateStyle(strategy)
    return (replace_gold(note, key.patient(note.name), lang, style) for note in notes)


def measure_strategy(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, strategy: Strategy
) -> dict[str, float]:
    """Compare originals and surrogates in the notes that a strategy released: name of the figure → value."""
    made, left = _made(released, labels)
    figures = surrogate_figures([Pair(old, new) for _, old, new in made], embed) | {LEFT: left}
    if isinstance(strategy, Similar | SelfDecoded) and strategy.asked:
        figures[FELL] = strategy.left / strategy.asked
    return figures


def measure_llm(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, backend: Backend
) -> dict[str, float]:
    """Let a large language model replace the mentions of the same notes, and compute the same figures for it."""
    made, left = _made(released, labels)
    said = replace_values(backend, ((label, old) for label, old, _ in made))
    return surrogate_figures([Pair(old, said[label, old]) for label, old, _ in made], embed) | {LEFT: left}


def _made(released: Iterator[ReleasedNote], labels: Sequence[str]) -> tuple[Made, float]:
    """Collect the replacements with the given labels (all if empty), and the share of mentions that are kept."""
    pairs = [
        (mention.label, mention.text, replacement)
        for note in released
        for mention, replacement in zip(note.mentions, note.replacements, strict=True)
        if not labels or mention.label in labels
    ]
    made = [
        (label, old, None if new.action == FALLBACK else new.text) for label, old, new in pairs if new.action != "keep"
    ]
    return made, 1 - len(made) / max(1, len(pairs))


def make_embedder(pipeline: str, masked_lm: str) -> Embed | None:
    """Make a function that embeds the tokens of a text with a spaCy pipeline, or else with a masked language model.

    pipeline, masked_lm (str): name of each; "" for none.
    RETURNS (Optional[Embed]): the function; None if neither is given.
    RAISES: ConfigError as `load`, or (D695) if the pipeline has no vectors.
    """
    if not pipeline:
        return WordsInPlace(partial(load_masked_lm, masked_lm)).embed if masked_lm else None
    nlp = load(pipeline)
    if not len(embed_tokens("a", nlp)):
        raise ConfigError(Errors.D695.format(name=pipeline))
    return partial(embed_tokens, nlp=nlp)


def embed_tokens(text: str, nlp: Language) -> Floats:
    """Embed the tokens of a text with the output of a tok2vec (``doc.tensor``), or else with word vectors.

    text (str): the text.
    nlp (Language): the pipeline.
    RETURNS (Floats): shape (tokens, width); no rows if the pipeline has neither.
    """
    doc = nlp(text)
    rows: Floats = doc.tensor
    if not len(rows) and nlp.vocab.vectors_length:
        rows = np.array([token.vector for token in doc])
    return rows


surrogates = typer.Typer(name="surrogates", no_args_is_help=True, help="Evaluation of surrogates.")


@surrogates.callback()
def main() -> None:
    """Evaluation of surrogates."""


@surrogates.command(name="evaluate")
def evaluate_surrogates(
    context: typer.Context,
    gold: Annotated[Path, typer.Argument(help="Annotated notes: a folder of brat or i2b2 XML, or a .spacy file.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the notes.")] = "canonical",
    p: Annotated[
        list[float] | None, typer.Option(help="Probability of a change for 'markov'. Can be given several times.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only mentions of this label. Can be given several times.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="spaCy pipeline that embeds tokens (a tok2vec or vectors), for the BERTScore.")
    ] = None,
    masked_lm: Annotated[
        str,
        typer.Option(help="Masked language model: adds 'similar', and the BERTScore if no pipeline embeds tokens."),
    ] = "",
    self_decoded: Annotated[str, typer.Option(help="Folder of a self-decoding model: adds 'self_decoded'.")] = "",
    llm: Annotated[
        str, typer.Option(help="Language model to compare with: a GGUF file, or the address of a local server.")
    ] = "",
    llm_model: Annotated[str | None, typer.Option(help="Name of the model on the server.")] = None,
    llm_allow: Annotated[
        list[str] | None,
        typer.Option(help="Host other than this machine that values may be sent to. Can be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the project key.")] = 1,
    metrics: Metrics = None,
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows.")] = "",
    split: Annotated[str, typer.Option(help="Split in the rows.")] = "",
) -> None:
    """De-identify a corpus by its gold annotations with each strategy, and compare. No note is quoted."""
    with reporting():
        chosen = make_strategies([0.1] if p is None else p, lang, masked_lm, self_decoded)
        backend = open_backend(llm, allow=llm_allow or (), model=llm_model) if llm else None
        embed = make_embedder(encoder or "", masked_lm)
        notes = read_folder(gold, scheme=scheme)
        columns = {
            name: measure_strategy(release(notes, lang, strategy, seed), label or (), embed, strategy)
            for name, strategy in chosen.items()
        }
        if backend:
            columns["LLM"] = measure_llm(release(notes, lang, consistent, seed), label or (), embed, backend)
        if not any(figures["mentions"] for figures in columns.values()):
            raise InputError(Errors.D694.format(path=gold))
        typer.echo(format_surrogate_table(columns), nl=False)
        if metrics:
            command, today = repeat_command(context, "metrics"), date.today().isoformat()
            rows = [
                MetricRow(
                    *(f"{name}, {title}", round(figures[name], 5), None, way),
                    *(data or gold.stem, split, command, today),
                )
                for title, figures in columns.items()
                for name, way in (BETTER | {FELL: "lower"}).items()
                if name in figures
            ]
            write_rows(metrics, rows)
