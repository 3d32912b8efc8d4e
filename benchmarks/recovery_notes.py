"""Measure `deid_recovery` on whole notes: released tokens of gold identifiers, and removed false alarms.

    python -m benchmarks.recovery_notes [--data DIR] [--point POINT] [--out metrics/recovery.json]

Notes are synthetic ones of the test templates, which were not used to develop recovery, and MEDDOCAN dev with --data.
The detectors are the shipped pipeline of the language.
"""

import argparse
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Token

from spacy_deid.evaluation import AnnotatedText, MetricRow
from spacy_deid.evaluation.rows import write_rows
from spacy_deid.evaluation.standoff import read_brat
from spacy_deid.spans import MERGED, RECOVERED
from spacy_deid.synth.corpus import make_corpus

from .recovery import LANGUAGES, shipped

NOTES, SEED = 400, 4
LOST_TARGET = 0.0005  # of the tokens of gold identifiers


def corpora(lang: str, data: Path | None) -> Iterator[tuple[str, str, list[AnnotatedText]]]:
    """Yield the notes of a language: name, split, notes."""
    yield f"synthetic notes {lang}", "test", list(make_corpus(lang, NOTES, SEED, "test"))
    if data and lang == "es":
        files = sorted((data / "meddocan").rglob("dev/brat/*.txt"))
        yield "MEDDOCAN", "dev", [read_brat(path, scheme="meddocan") for path in files]


def tokens(doc: Doc, key: str) -> set[int]:
    """Return the tokens of a group."""
    return {i for span in doc.spans[key] for i in range(span.start, span.end)}


def measure(nlp: Language, notes: list[AnnotatedText]) -> tuple[int, int, int, int]:
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


def rows(lang: str, points: Iterable[str], data: Path | None) -> Iterator[MetricRow]:
    """Create the rows of a language."""
    command = "python -m benchmarks.recovery_notes --data assets --out metrics/recovery.json"
    today = date.today().isoformat()
    for point in points:
        nlp = shipped(lang, point)
        for name, split, notes in corpora(lang, data):
            gold, lost, wrong, freed = measure(nlp, notes)
            about = f"{name}, {point}", split, command, today
            yield MetricRow("identifying tokens released", round(lost / gold, 6), LOST_TARGET, "lower", *about)
            yield MetricRow("false alarms ended, tokens", round(freed / max(wrong, 1), 5), None, "higher", *about)
            print(
                f"{name} {point}: {lost} of {gold} identifying tokens released, {freed} of {wrong} false alarms ended"
            )


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with meddocan")
    parser.add_argument("--point", action="append", help="operating point of the pipelines; all that are named")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    measured = [
        row for lang in LANGUAGES for row in rows(lang, args.point or ["high_recall", "max_recall"], args.data)
    ]
    if args.out:
        write_rows(args.out, measured)


if __name__ == "__main__":
    main()
