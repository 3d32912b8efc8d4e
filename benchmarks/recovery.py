"""Measure `deid_recovery`: which falsely detected mentions it releases, and which identifiers it releases by mistake.

    python -m benchmarks.recovery mentions --data corpus --metrics metrics/recovery.json
    python -m benchmarks.recovery notes --data corpus --metrics metrics/recovery.json

``mentions`` computes figures on hand-written sentences and, with --data, on published texts (recovery_texts.py): the
share of flagged medical mentions that are recovered, and the share of flagged names and other identifiers that are
released. Both are measured with two kinds of detectors. "shipped" is the pipeline of the language. "everything" flags
all candidates: the patterns of the language, every run of capitalized words on the name lists, and every run with a
digit.

``notes`` counts released tokens of gold identifiers and removed false alarms in whole notes: synthetic ones of the
test templates, which were not used to develop recovery, and MEDDOCAN dev with --data.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, Token

import spacy_deid
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import function_words
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.evaluation.standoff import read_brat
from spacy_deid.spans import MERGED, RECOVERED, Evidence, write_evidence
from spacy_deid.synth.corpus import make_corpus

from .recovery_texts import NAME, Case, is_name, plant, published, read_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True)

LANGUAGES = ("en", "es", "fi")
POINTS = ("high_recall", "max_recall")
RECOVERED_TARGET, RELEASED_TARGET = 0.95, 0.005
PRIOR = 0.1  # score of the detector that flags everything
NOTES, SEED = 400, 4
LOST_TARGET = 0.0005  # of the tokens of gold identifiers
NUMBER = re.compile(r"(?<!\S)[^\s]*\d[^\s]*")
INFLECTION = re.compile(r"(?:in|n|ia|a|lta|lla|lle)$")
# the target applies to the eponyms of these texts together
TOGETHER = "E3C, BC5CDR and NCBI dev"
POOLED = ("BC5CDR dev", "NCBI-disease dev", "E3C en", "E3C es")


@dataclass(slots=True)
class Count:
    """Number of flagged mentions, and of released ones."""

    flagged: Counter[str] = field(default_factory=Counter)
    free: Counter[str] = field(default_factory=Counter)

    def share(self, kind: str) -> float:
        """Return the share of flagged mentions that were released."""
        return self.free[kind] / self.flagged[kind] if self.flagged[kind] else 0.0

    def add(self, other: "Count") -> None:
        """Add another count."""
        self.flagged += other.flagged
        self.free += other.free


@Language.component("flag_everything")
def flag_everything(doc: Doc) -> Doc:
    """Flag runs of capitalized names as persons, and everything with a digit as a number."""
    text = doc.text
    runs: list[list[int]] = []
    for match in NAME.finditer(text):
        named = is_name(match[0]) or is_name(INFLECTION.sub("", match[0]))
        if not named or normal_form(match[0]) in function_words():
            continue
        if runs and text[runs[-1][1] : match.start()] == " ":
            runs[-1][1] = match.end()
        else:
            runs.append([*match.span()])
    found = [Evidence(start, end, "PERSON", "flag_everything", PRIOR, "name") for start, end in runs]
    found += [Evidence(*m.span(), "ID_OTHER", "flag_everything", PRIOR, "digit") for m in NUMBER.finditer(text)]
    write_evidence(doc, "deid/flags", found)
    return doc


def everything(lang: str) -> Language:
    """Create the pipeline that flags all candidates."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("flag_everything")
    nlp.add_pipe("deid_merge", config={"sources": ["deid/patterns", "deid/flags"]})
    nlp.add_pipe("deid_recovery")
    return nlp


def shipped(name: str, point: str | None) -> Language:
    """Load a pipeline and add a recovery if it has none, as a pipeline of your own may not."""
    nlp = spacy_deid.load(name, operating_point=point)
    if "deid_recovery" not in nlp.pipe_names:
        nlp.add_pipe("deid_recovery", after="deid_merge")
    return nlp


def measure(nlp: Language, cases: list[Case], show: Collection[str]) -> Count:
    """Count flagged mentions, and released ones: medical mentions as a whole, identifiers also in part."""
    count = Count()
    for case, doc in zip(cases, nlp.pipe(case.text for case in cases), strict=True):
        for kind, spans in (("medical", case.medical), ("phi", case.phi)):
            for start, end in spans:
                merged, kept = _covered(doc, MERGED, start, end), _covered(doc, RECOVERED, start, end)
                if not merged:
                    continue
                free = merged <= kept if kind == "medical" else bool(kept & merged)
                count.flagged[kind] += 1
                count.free[kind] += free
                if kind in show and free == (kind == "phi"):
                    parts = case.text[max(0, start - 60) : start], case.text[start:end], case.text[end : end + 50]
                    print(kind, *(part.replace("\n", " ") for part in parts), sep=" | ")
    return count


def _covered(doc: Doc, key: str, start: int, end: int) -> set[int]:
    """Return the tokens of a span that a group covers, without punctuation."""
    covered = {i for span in doc.spans[key] for i in range(span.start, span.end)}
    inside = (t for t in doc if t.i in covered and start <= t.idx < end and any(c.isalnum() for c in t.text))
    return {t.i for t in inside if t.lower_ != "s"}


def measured(lang: str, nlp: Language, data: Path | None, show: Collection[str]) -> Iterator[tuple[str, Count]]:
    """Measure a pipeline on all texts of a language: name of the texts → counts."""
    yield f"hand-written {lang}", measure(nlp, read_set(lang), show)
    for name, cases in published(data, lang) if data else ():
        # Once alone, so that a planted namesake does not veto what is measured; once with the planted person.
        alone, planted = measure(nlp, cases, show), measure(nlp, list(plant(cases, lang)), set(show) - {"medical"})
        alone.flagged["phi"], alone.free["phi"] = planted.flagged["phi"], planted.free["phi"]
        yield name, alone


def rows(count: Count, data: str, split: str, command: str) -> Iterator[MetricRow]:
    """Create metric rows of both shares, and of the numbers of mentions."""
    today = date.today().isoformat()
    shares: list[tuple[str, str, float | None, Literal["higher", "lower"]]] = [
        ("recovered", "medical", RECOVERED_TARGET if data == TOGETHER else None, "higher"),
        ("released", "phi", RELEASED_TARGET, "lower"),
    ]
    for share, kind, target, better in shares:
        name = f"all texts, {share}" if data == TOGETHER else share
        if flagged := count.flagged[kind]:
            value = round(count.share(kind), 5)
            yield MetricRow(name, value, target, better, data, split, command, today)
            yield MetricRow(f"{name}, mentions flagged", flagged, None, "higher", data, split, command, today)
            print(f"{split:14} {share:10} {data:24} {value:.4f} of {flagged}")


@app.command("mentions")
def measure_mentions(
    data: Annotated[Path | None, typer.Option(help="Folder with e3c, biomed_ner_mtl and med_terms.")] = None,
    lang: Annotated[list[str] | None, typer.Option(help="Language to measure; all by default.")] = None,
    detectors: Annotated[list[str] | None, typer.Option(help='"everything" or "shipped"; both by default.')] = None,
    point: Annotated[list[str] | None, typer.Option(help="Operating point of the shipped pipelines.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print errors with the text of the notes.")] = False,
    metrics: Annotated[Path | None, typer.Option(help="File of the metric rows.")] = None,
) -> None:
    """Measure recovery on sentences with marked medical mentions and identifiers."""
    command = "python -m benchmarks.recovery mentions --data corpus --metrics metrics/recovery.json"
    shown = {"medical", "phi"} if show else set()
    settings = ["everything"] if "everything" in (detectors or ["everything"]) else []
    settings += (point or POINTS) if "shipped" in (detectors or ["shipped"]) else []
    written: list[MetricRow] = []
    for setting in settings:
        pooled = Count()
        for language in lang or LANGUAGES:
            nlp = everything(language) if setting == "everything" else shipped(language, setting)
            for name, count in measured(language, nlp, data, shown):
                written += rows(count, name, setting, command)
                pooled.add(count if name in POOLED else Count())
        written += rows(pooled, TOGETHER, setting, command)
    if metrics:
        write_rows(metrics, written)


def corpora(lang: str, data: Path | None) -> Iterator[tuple[str, str, list[AnnotatedText]]]:
    """Yield the notes of a language: name, split, notes."""
    yield f"synthetic notes {lang}", "test", list(make_corpus(lang, NOTES, SEED, "test"))
    if data and lang == "es":
        files = sorted((data / "meddocan").rglob("dev/brat/*.txt"))
        yield "MEDDOCAN", "dev", [read_brat(path, scheme="meddocan") for path in files]


def tokens(doc: Doc, key: str) -> set[int]:
    """Return the tokens of a group."""
    return {i for span in doc.spans[key] for i in range(span.start, span.end)}


def measure_notes(nlp: Language, notes: list[AnnotatedText]) -> tuple[int, int, int, int]:
    """Count tokens of gold identifiers and released ones; falsely flagged tokens and released ones."""
    gold = lost = wrong = freed = 0
    for note, doc in zip(notes, nlp.pipe(note.text for note in notes), strict=True):
        true = {token.i for token in doc if _inside(token, note)}
        merged, recovered = tokens(doc, MERGED), tokens(doc, RECOVERED)
        gold, lost = gold + len(true), lost + len(true & recovered)
        wrong, freed = wrong + len(merged - true), freed + len(recovered - true)
    return gold, lost, wrong, freed


def _inside(token: Token, note: AnnotatedText) -> bool:
    """Test whether a token overlaps a gold identifier."""
    return any(e.start < token.idx + len(token) and token.idx < e.end for e in note.entities)


def note_rows(lang: str, points: Iterable[str], data: Path | None) -> Iterator[MetricRow]:
    """Create the rows of a language."""
    command = "python -m benchmarks.recovery notes --data corpus --metrics metrics/recovery.json"
    today = date.today().isoformat()
    for point in points:
        nlp = shipped(lang, point)
        for name, split, notes in corpora(lang, data):
            gold, lost, wrong, freed = measure_notes(nlp, notes)
            about = f"{name}, {point}", split, command, today
            yield MetricRow("identifying tokens released", round(lost / gold, 6), LOST_TARGET, "lower", *about)
            yield MetricRow("false alarms ended, tokens", round(freed / max(wrong, 1), 5), None, "higher", *about)
            print(
                f"{name} {point}: {lost} of {gold} identifying tokens released, {freed} of {wrong} false alarms ended"
            )


@app.command("notes")
def measure_whole_notes(
    data: Annotated[Path | None, typer.Option(help="Folder with meddocan.")] = None,
    point: Annotated[list[str] | None, typer.Option(help="Operating point of the shipped pipelines.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="File of the metric rows.")] = None,
) -> None:
    """Measure recovery on whole notes."""
    written = [row for lang in LANGUAGES for row in note_rows(lang, point or POINTS, data)]
    if metrics:
        write_rows(metrics, written)


if __name__ == "__main__":
    app()
