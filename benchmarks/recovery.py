"""Measure `deid_recovery`: which falsely detected mentions it releases, and which identifiers it releases by mistake.

    python -m benchmarks.recovery [--data DIR] [--lang LANG] [--point POINT] [--show] [--out metrics/recovery.json]

Figures are computed on hand-written sentences and, with --data, on published texts (recovery_texts.py): the share of
flagged medical mentions that are recovered, and the share of flagged names and other identifiers that are released.
Both are measured with two kinds of detectors. "shipped" is the pipeline of the language. "everything" flags all
candidates: the patterns of the language, every run of capitalized words on the name lists, and every run with a digit.
"""

import argparse
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import spacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import function_words
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.spans import MERGED, RECOVERED, Evidence, write_evidence

from .recovery_texts import NAME, Case, is_name, plant, published, read_set

LANGUAGES = ("en", "es", "fi")
RECOVERED_TARGET, RELEASED_TARGET = 0.95, 0.005
PRIOR = 0.1  # the score of a detector that flags everything and knows nothing
NUMBER = re.compile(r"(?<!\S)[^\s]*\d[^\s]*")
INFLECTION = re.compile(r"(?:in|n|ia|a|lta|lla|lle)$")
# The published texts whose eponyms, all together, the target is about.
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
    """Load a pipeline and add a recovery if it has none."""
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


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with e3c, biomed_ner_mtl and med_terms")
    parser.add_argument("--lang", action="append", choices=LANGUAGES, help="measure this language alone")
    parser.add_argument("--detectors", action="append", choices=("everything", "shipped"))
    parser.add_argument("--point", action="append", help="operating point of the pipelines; all that are named")
    parser.add_argument("--show", action="store_true", help="quote what went wrong")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    command = "python -m benchmarks.recovery --data assets --out metrics/recovery.json"
    show = {"medical", "phi"} if args.show else set()
    settings = [
        *(["everything"] if "everything" in (args.detectors or ["everything"]) else []),
        *((args.point or ["high_recall", "max_recall"]) if "shipped" in (args.detectors or ["shipped"]) else []),
    ]
    written: list[MetricRow] = []
    for setting in settings:
        pooled = Count()
        for lang in args.lang or LANGUAGES:
            nlp = everything(lang) if setting == "everything" else shipped(lang, setting)
            for name, count in measured(lang, nlp, args.data, show):
                written += rows(count, name, setting, command)
                pooled.add(count if name in POOLED else Count())
        written += rows(pooled, TOGETHER, setting, command)
    if args.out:
        write_rows(args.out, written)


if __name__ == "__main__":
    main()
