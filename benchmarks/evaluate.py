"""Evaluate pipelines on gold corpora and write metric rows for the figures.

    python -m benchmarks.evaluate corpus training/es corpus/meddocan/dev/brat --data meddocan --split dev
    python -m benchmarks.evaluate english spacy_deid/pipelines/en --assets corpus
    python -m benchmarks.evaluate finnish spacy_deid/pipelines/fi --assets corpus

``corpus`` evaluates a pipeline at each named operating point, without each of its components, and on the same notes in
upper case, in lower case and without accents; with --test-set also on the synthetic test set of its language.

``english`` measures names in visits (ACI-Bench), values in queries (ASQ-PHI), and the synthetic test set. The assets
folder contains asq_phi and clinical_visit_notes, unpacked by `project.yml`, and en/test.spacy. Missing corpora are
skipped with a message. With --with-text, misses and false alarms are printed to the console and nowhere else.

``finnish`` measures names in the Turku NER corpus, the synthetic test set, and inflected names. The assets folder
contains turku_ner and fi/test.spacy. For inflected names, each test template that has a name in an oblique case is
filled many times, once unchanged and once with the same names in the nominative, and the recall of these names is
compared. The bootstrap draws templates instead of names, in pairs, because names in the same sentence are not
independent.

False alarms in unlabelled text are counted by false_alarms.py, which also defines a false alarm.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import srsly
import typer
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from scripts.conll import read_conll
from scripts.english_corpora import read_aci_bench, read_asq_phi
from spacy_deid.evaluation import AnnotatedText, Entity, evaluate, format_table, from_doc, read_folder
from spacy_deid.evaluation.counts import count_exact, is_covered
from spacy_deid.evaluation.metrics import interval, ratio, resample
from spacy_deid.evaluation.report import ablate
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows, with_interval
from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.loading import use_operating_point
from spacy_deid.ml.augment import retype
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.language import Language as SynthLanguage
from spacy_deid.synth.language import Template, load_language
from spacy_deid.synth.markup import Choice, Node, Slot

from .false_alarms import changes, use_policy
from .test_sets import read_test_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True)

Pipeline = Annotated[str, typer.Argument(help="Pipeline to evaluate: a name or a folder.")]
Assets = Annotated[Path, typer.Option(help="Folder of the corpora.")]


# figure → region, score and key in the result of `evaluate`
FIGURES = {
    "strict F1": ("all", "ner", "f1"),
    "strict span F1": ("all", "span_strict", "f1"),
    "merged span F1": ("all", "span_merged", "f1"),
    "narrative strict F1": ("narrative", "ner", "f1"),
    "header strict F1": ("header", "ner", "f1"),
    "strict precision": ("all", "ner", "precision"),
    "strict recall": ("all", "ner", "recall"),
    "character recall": ("all", "character", "recall"),
    "character precision": ("all", "character", "precision"),
    "documents with nothing missed": ("all", "clean", "share"),
    "leak": ("all", "leak", "leak"),
}
# operating point → figure → target
TARGETS = {
    "balanced": {
        "strict F1": 0.970,
        "strict span F1": 0.975,
        "merged span F1": 0.982,
        "narrative strict F1": 0.92,
    },
    "high_recall": {"character recall": 0.995, "character precision": 0.95, "documents with nothing missed": 0.90},
    "max_recall": {},
}
# targets of the first release, at the default operating point
FOUNDATION = {
    "strict F1": 0.960,
    "merged span F1": 0.975,
    "narrative strict F1": 0.88,
    "character recall": 0.985,
    "character precision": 0.96,
    "documents with nothing missed": 0.75,
}
HANDS = {"upper": "in capitals", "lower": "in lower case", "plain": "without accents"}


@app.command("corpus")
def evaluate_corpus(
    context: typer.Context,
    pipeline: Pipeline,
    gold: Annotated[Path, typer.Argument(help="Folder of annotated notes in any supported format.")],
    data: Annotated[str, typer.Option(help="Name of the corpus in the metric rows.")],
    split: Annotated[str, typer.Option(help="Name of the split in the metric rows.")],
    scheme: Annotated[str, typer.Option(help="Label scheme of the corpus.")] = "meddocan",
    metrics: Annotated[Path, typer.Option(help="Folder of the metric files.")] = Path("metrics"),
    test_set: Annotated[Path | None, typer.Option(help="Folder with LANG/test.spacy, to evaluate as well.")] = None,
) -> None:
    """Evaluate a pipeline with named operating points on a gold corpus."""
    nlp = spacy_deid.load(pipeline)
    texts = read_folder(gold, scheme=scheme)
    metrics.mkdir(parents=True, exist_ok=True)
    stamp = {"command": command_line("benchmarks.evaluate corpus", context), "date": date.today().isoformat()}
    about = stamp | {"data": data, "split": split}
    measure_points(nlp, texts, scheme, metrics, about)
    use_operating_point(nlp, "balanced")
    if test_set:
        scores = score(nlp, read_test_set(str(nlp.lang), test_set), scheme)
        rows = make_rows("synthetic notes, ", scores, {}, stamp | {"data": f"synth_{nlp.lang}", "split": "test"})
        replace_rows(metrics / f"detection_{nlp.lang}.json", rows)
    ablation = [
        MetricRow(f"{variant}: {figure.replace('_', ' ')}", value, None, "higher", **about)
        for variant, figures in ablate(nlp, texts, scheme=scheme).items()
        for figure, value in figures.items()
        if value is not None
    ]
    replace_rows(metrics / f"ablation_{nlp.lang}.json", ablation)
    typed = []
    for hand, name in HANDS.items():
        notes = [AnnotatedText(text.name, retype(text.text, hand), text.entities) for text in texts]
        typed += make_rows(f"{name}: ", score(nlp, notes, scheme), {}, about)
    replace_rows(metrics / f"typing_{nlp.lang}.json", typed)


def measure_points(
    nlp: Language, texts: Sequence[AnnotatedText], scheme: str, metrics: Path, about: dict[str, str]
) -> None:
    """Evaluate a pipeline at each of its operating points, and write all scores."""
    rows = []
    for point, targets in TARGETS.items():
        use_operating_point(nlp, point)
        scores = score(nlp, texts, scheme)
        typer.echo(f"{point}\n{format_table(scores)}")
        srsly.write_json(metrics / f"{nlp.lang}_{about['data']}_{about['split']}_{point}.json", scores)
        rows += make_rows(f"{point}, ", scores, targets, about)
        if point == "balanced":
            replace_rows(metrics / f"foundation_{nlp.lang}.json", make_rows("", scores, FOUNDATION, about))
    replace_rows(metrics / f"detection_{nlp.lang}.json", rows)


def score(nlp: Language, texts: Sequence[AnnotatedText], scheme: str) -> dict[str, Any]:
    """Compute all scores of a pipeline on gold notes."""
    return evaluate(texts, predict(nlp, texts), scheme=scheme)


def predict(nlp: Language, notes: Sequence[AnnotatedText]) -> list[AnnotatedText]:
    """Run a pipeline on notes."""
    docs = nlp.pipe(note.text for note in notes)
    return [from_doc(doc, note.name) for doc, note in zip(docs, notes, strict=True)]


def make_rows(
    prefix: str, scores: dict[str, Any], targets: dict[str, float], stamp: dict[str, str]
) -> list[MetricRow]:
    """Create a row for each figure, with intervals for figures with a target. Only a lower "leak" is better."""
    rows = []
    for figure, (region, kind, key) in FIGURES.items():
        value = scores[region].get(kind, {}).get(key)
        better: Any = "lower" if figure == "leak" else "higher"
        if value is not None:
            row = MetricRow(prefix + figure, round(value, 5), targets.get(figure), better, **stamp)
            rows += with_interval(row, scores[region][kind]["ci"][key] if figure in targets else None)
    return rows


# ---------------------------------------------------------------- English

QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"

# name, value, target, data, split, interval
EnglishFigure = tuple[str, float, float | None, str, str, list[float] | None]

# figures of the synthetic test set: name, score, key, target
MADE = (
    ("strict F1", "ner", "f1", 0.97),
    ("strict recall", "ner", "recall", None),
    ("character recall", "character", "recall", None),
    ("character precision", "character", "precision", None),
)


class EnglishPipeline:
    """A pipeline with the Safe Harbor policy.

    nlp (Language): pipeline with "deid_surrogate".
    with_text (bool): whether to print misses and false alarms.
    """

    def __init__(self, pipeline: str, with_text: bool) -> None:
        self.nlp = spacy_deid.load(pipeline)
        use_policy(self.nlp)
        self.with_text = with_text

    def show(self, kind: str, doc: Doc, start: int, end: int) -> None:
        """Print a miss or false alarm with its context."""
        if self.with_text:
            before, after = doc.text[max(0, start - 40) : start], doc.text[end : end + 30]
            typer.echo(f"{kind}: {before}[[{doc.text[start:end]}]]{after}".replace("\n", " "))

    def found(self, kind: str, notes: Sequence[AnnotatedText], wholes: Sequence[AnnotatedText]) -> float:
        """Compute the share of entities of `wholes` for which all contained entities of `notes` are covered."""
        hits = total = 0
        for note, whole, doc in zip(notes, wholes, self.nlp.pipe(note.text for note in notes), strict=True):
            found = from_doc(doc, note.name).entities
            for entity in whole.entities:
                parts = [part for part in note.entities if entity.start <= part.start and part.end <= entity.end]
                hit = all(is_covered(doc.text, part, found) for part in parts)
                hits, total = hits + hit, total + 1
                if not hit:
                    self.show(f"missed {kind}", doc, entity.start, entity.end)
        return hits / total

    def is_quiet(self, doc: Doc) -> bool:
        """Test whether the policy would leave a text unchanged."""
        alarms = changes(doc)
        for edit in alarms:
            self.show("alarm", doc, edit.start, edit.end)
        return not alarms


def measure_queries(measure: EnglishPipeline, assets: Path) -> list[EnglishFigure]:
    """Measure ASQ-PHI, development half: recall of values, and hard negatives without a false alarm."""
    parts = read_asq_phi(assets / QUERIES, "dev")
    wholes = read_asq_phi(assets / QUERIES, "dev", parts=False)
    harmless = [note for note in wholes if not note.entities]
    quiet = [measure.is_quiet(doc) for doc in measure.nlp.pipe(note.text for note in harmless)]
    return [
        ("ASQ-PHI values found", measure.found("value", parts, wholes), 0.97, "asq_phi", "dev", None),
        ("ASQ-PHI hard negatives without a false alarm", sum(quiet) / len(quiet), 0.90, "asq_phi", "dev", None),
    ]


def measure_visits(measure: EnglishPipeline, assets: Path) -> list[EnglishFigure]:
    """Measure ACI-Bench, validation part: recall of the names in the metadata."""
    notes = read_aci_bench(assets / VISITS / "valid.csv", assets / VISITS / "valid_metadata.csv")
    return [("ACI-Bench names found", measure.found("name", notes, notes), 0.98, "aci_bench", "valid", None)]


def measure_test_set(measure: EnglishPipeline, assets: Path) -> list[EnglishFigure]:
    """Measure the synthetic test set."""
    gold = read_test_set("en", assets)
    scores = evaluate(gold, predict(measure.nlp, gold), bootstrap=1000)
    figures: list[EnglishFigure] = []
    for name, kind, key, target in MADE:
        score = scores["all"][kind]
        figures.append((f"synthetic English {name}", score[key], target, "synth_en", "test", score["ci"][key]))
    return figures


PARTS: tuple[tuple[Callable[[EnglishPipeline, Path], list[EnglishFigure]], list[str]], ...] = (
    (measure_visits, [VISITS]),
    (measure_queries, [QUERIES]),
    (measure_test_set, ["en/test.spacy"]),
)


@app.command("english")
def evaluate_english(
    context: typer.Context,
    pipeline: Pipeline,
    assets: Assets = Path("assets"),
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/detection_en.json"),
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Print misses and false alarms with the text of the notes.")
    ] = False,
) -> None:
    """Evaluate an English pipeline with the Safe Harbor policy."""
    measure = EnglishPipeline(pipeline, with_text)
    about = {"command": command_line("benchmarks.evaluate english", context), "date": date.today().isoformat()}
    rows: list[MetricRow] = []
    for part, needed in PARTS:
        if missing := [path for path in needed if not (assets / path).exists()]:
            typer.echo(f"skipped, not found: {', '.join(missing)}", err=True)
            continue
        for name, value, target, data, split, ends in part(measure, assets):
            rows += with_interval(MetricRow(name, round(value, 5), target, "higher", data, split, **about), ends)
    write(metrics, rows)


def write(metrics: Path, rows: list[MetricRow]) -> None:
    """Write rows to a file and print them."""
    replace_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name:<75}{row.value:8.4f}" + (f"  target {row.target}" if row.target else ""))


# ---------------------------------------------------------------- Finnish

PEOPLE = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"}
REPLICATES = 2000
Counts = tuple[int, int, int]
FinnishFigure = tuple[str, float, float | None, Any, list[float] | None]  # name, value, target, better, interval


def f1(counts: Iterable[Counts]) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of summed counts."""
    hits, extra, missed = (sum(column) for column in zip(*counts, strict=True))
    precision, recall = hits / max(1, hits + extra), hits / max(1, hits + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def people(entities: Iterable[Entity]) -> list[Entity]:
    """Map all names of persons to one label, whatever their role."""
    return [Entity(e.start, e.end, "PERSON") for e in entities if e.label in PEOPLE]


def measure_turku(nlp: Language, path: Path) -> dict[str, float]:
    """Measure names of persons in the Turku corpus, exact match."""
    gold = read_conll(path)
    found = predict(nlp, gold)
    counts = [count_exact(people(g.entities), people(p.entities)) for g, p in zip(gold, found, strict=True)]
    return dict(zip(("precision", "recall", "F1"), f1(counts), strict=True))


def measure_made(nlp: Language, notes: Sequence[AnnotatedText]) -> dict[str, float]:
    """Measure synthetic notes, exact match of span and label; and the F1 of each label."""
    found = predict(nlp, notes)
    pairs = list(zip(notes, found, strict=True))
    figures = dict(
        zip(("precision", "recall", "F1"), f1(count_exact(g.entities, p.entities) for g, p in pairs), strict=True)
    )
    sides = ([{(e.start, e.end) for e in note.entities} for note in pair] for pair in pairs)
    spans = (count_exact(gold, pred) for gold, pred in sides)
    figures["span F1"] = f1(spans)[2]
    for label in sorted({e.label for note in notes for e in note.entities}):
        of = ([[e for e in note.entities if e.label == label] for note in pair] for pair in pairs)
        figures[f"F1, {label}"] = f1(count_exact(gold, pred) for gold, pred in of)[2]
    return figures


def in_nominative(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Put the names of a template into the nominative."""
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Slot):
            node = replace(node, filters=tuple(name for name in node.filters if name not in CASES))
        elif isinstance(node, Choice):
            node = Choice(tuple(in_nominative(branch) for branch in node.branches))
        changed.append(node)
    return tuple(changed)


def count_cases(nlp: Language, language: SynthLanguage, least: int) -> NDArray[np.int64]:
    """Count found names in oblique cases and in the nominative, in notes of the test templates.

    least (int): minimum number of names.
    RETURNS (NDArray): shape (templates, 3): names found in oblique cases, found in the nominative, and names.
    """
    templates = [t for t in (*language.notes, *language.sentences) if t.split == "test"]
    twins = [(t, twin) for t in templates if (twin := replace(t, nodes=in_nominative(t.nodes))).nodes != t.nodes]
    counts, number = np.zeros((len(twins), 3), dtype=np.int64), 0
    while counts[:, 2].sum() < least:
        sides = ([fill(pair[side], language, number) for pair in twins] for side in (0, 1))
        found = [zip(notes, predict(nlp, notes), strict=True) for notes in sides]
        names = np.array([count_names(oblique, plain) for oblique, plain in zip(*found, strict=True)])
        if not names.any() and not number:
            raise ValueError("no test template has a name in an oblique case")
        counts, number = counts + names, number + 1
    return counts


def count_names(oblique: tuple[AnnotatedText, AnnotatedText], plain: tuple[AnnotatedText, AnnotatedText]) -> list[int]:
    """Compare a note and its nominative twin: names found in each, and number of names that differ."""
    hits = [0, 0, 0]
    for entity, twin in zip(oblique[0].entities, plain[0].entities, strict=True):
        words = oblique[0].text[entity.start : entity.end], plain[0].text[twin.start : twin.end]
        if entity.label in PEOPLE and words[0] != words[1]:
            hits[0] += is_covered(oblique[0].text, entity, oblique[1].entities)
            hits[1] += is_covered(plain[0].text, twin, plain[1].entities)
            hits[2] += 1
    return hits


def fill(template: Template, language: SynthLanguage, number: int) -> AnnotatedText:
    """Fill a template; the number determines the persons."""
    name = f"{template.name}-{number}"
    return render_template(template, language, Random(name), "test", name)


def make_case_figures(counts: NDArray[np.int64]) -> list[FinnishFigure]:
    """Compute recall in oblique cases, in the nominative, and their difference, with intervals.

    counts (NDArray): result of `count_cases`.
    RETURNS (list[FinnishFigure]): the figures.
    """

    def recalls(table: NDArray[np.int64]) -> NDArray[np.float64]:
        oblique, plain = (ratio(table[..., side], table[..., 2]) for side in (0, 1))
        return np.stack([oblique, plain, plain - oblique], axis=-1)

    values, replicates = recalls(counts.sum(axis=0)), recalls(resample(counts, REPLICATES, 0))
    kinds = (
        ("recall on names in oblique cases", None, "higher"),
        ("recall on the same names in the nominative", None, "higher"),
        ("recall lost in oblique cases", 0.01, "lower"),
    )
    return [
        (name, float(values[i]), target, better, interval(replicates[:, i]))
        for i, (name, target, better) in enumerate(kinds)
    ]


def name_figures(kind: str, figures: dict[str, float], target: float) -> list[FinnishFigure]:
    """Name figures after the data; F1 gets a target."""
    return [
        (f"{kind}, {key}", value, target if key == "F1" else None, "higher", None) for key, value in figures.items()
    ]


@app.command("finnish")
def evaluate_finnish(
    context: typer.Context,
    pipeline: Pipeline,
    assets: Assets = Path("assets"),
    names: Annotated[int, typer.Option(help="Minimum number of names in oblique cases.")] = 3000,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/detection_fi.json"),
) -> None:
    """Evaluate a Finnish pipeline."""
    nlp = spacy_deid.load(pipeline)
    counts = count_cases(nlp, load_language("fi"), names)
    turku = measure_turku(nlp, assets / "turku_ner/data/conll/dev.tsv")
    made = measure_made(nlp, read_test_set("fi", assets))
    figures = {
        ("Turku NER", "dev"): name_figures("Turku persons", turku, 0.85),
        ("synth_fi", "test"): name_figures("synthetic notes", made, 0.96),
        ("names in made Finnish notes", "test"): make_case_figures(counts),
    }
    about = {"command": command_line("benchmarks.evaluate finnish", context), "date": date.today().isoformat()}
    rows = []
    for (data, split), found in figures.items():
        for name, value, target, better, ends in found:
            row = MetricRow(name, round(value, 5), target, better, data, split, **about)
            rows += with_interval(row, ends)
    typer.echo(f"{counts[:, 2].sum()} names in oblique cases, {len(counts)} templates")
    write(metrics, rows)


if __name__ == "__main__":
    app()
