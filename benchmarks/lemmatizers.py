"""Compare lemmatizers on treebanks with gold lemmas: accuracy, and whether forms of a word get the same lemma.

    python -m benchmarks.lemmatizers --treebanks corpus --edit-trees training/fi_lemmatizer/model-best

Masking needs the forms of a word to have the same lemma, and different words to have different lemmas. Treebanks are
therefore split into passages of 25 sentences, the length of a note, and pairs of different forms within a passage are
compared: the share of pairs with equal gold lemma that get equal lemmas, and the number of pairs of different words
that get equal lemmas, per 1,000 words. Case is ignored; only words of letters count. Figures of fewer than 20 pairs
are left out: Spanish names do not inflect. Words per second are per processor second, without the first call. A
lemmatizer whose package is not installed is skipped, and its existing rows are kept. The trained lemmatizer was
trained on parts of TDT dev, so it is tested on the last fifth of it and on FTB test (scripts/lemma_corpus.py).
"""

import re
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import spacy
import typer
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_deid.errors import ConfigError
from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.lemmatizers import Lemmatizer, choose_lemmatizer, lower_form

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

COMMAND = "python -m benchmarks.lemmatizers --treebanks corpus --edit-trees training/fi_lemmatizer/model-best"
SENTENCES = 25
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
FEWEST = 20  # pairs
GROUPS = {"all words": (), "nouns and adjectives": ("NOUN", "ADJ"), "proper nouns": ("PROPN",)}
LOWER_CASE = "lower case, as a yardstick"
EDIT_TREES = "edit trees"
# language → name, file, split, share of the file that is left out at its start
TREEBANKS = {
    "fi": (
        ("UD Finnish TDT", "ud_finnish/TDT/fi_tdt-ud-dev.conllu", "dev", 0.0),
        ("UD Finnish TDT", "ud_finnish/TDT/fi_tdt-ud-dev.conllu", "last fifth of dev", 0.8),
        ("UD Finnish FTB", "ud_finnish/FTB/fi_ftb-ud-test.conllu", "test", 0.0),
    ),
    "es": (
        ("UD Spanish AnCora", "ud_spanish/AnCora/es_ancora-ud-dev.conllu", "dev", 0.0),
        ("UD Spanish GSD", "ud_spanish/GSD/es_gsd-ud-test.conllu", "test", 0.0),
    ),
}
CAPITALISED = "spacy_deid.capitalised_lemmatizer.v1"
LEMMATIZERS: dict[str, dict[str, Any]] = {
    "fi": {
        "default": "rules",
        "simplemma": "simplemma",
        "simplemma, names by rule": {
            "@deid_lemmatizers": CAPITALISED,
            "capitalised": "rules",
            "others": "simplemma",
            "lang": "fi",
        },
        "Voikko": "voikko",
    },
    "es": {"simplemma": "simplemma", "lookup": "lookup"},
}


class Word(NamedTuple):
    """A word of a treebank."""

    form: str
    lemma: str
    pos: str


def read_passages(path: Path, left_out: float = 0.0) -> Iterator[list[Word]]:
    """Read a CoNLL-U file, without a share at its beginning, in passages of `SENTENCES` sentences."""
    sentences = path.read_text(encoding="utf8").strip().split("\n\n")
    for start in range(int(len(sentences) * left_out), len(sentences), SENTENCES):
        lines = "\n".join(sentences[start : start + SENTENCES]).splitlines()
        rows = [line.split("\t") for line in lines if line[:1].isdigit()]
        yield [Word(row[1], row[2].replace("#", ""), row[3]) for row in rows if row[0].isdigit()]


def run(lemmatizer: Lemmatizer, passages: list[list[Word]]) -> tuple[list[list[str]], float]:
    """Return the lemmas of all passages, and words per second."""
    vocab = Vocab()
    docs = [Doc(vocab, words=[word.form for word in passage]) for passage in passages]
    lemmatizer(docs[0])
    start = time.process_time()
    lemmas = [lemmatizer(doc) for doc in docs]
    return lemmas, sum(map(len, docs)) / (time.process_time() - start)


def measure(passages: list[list[Word]], lemmas: list[list[str]], group: str) -> Iterator[tuple[str, float, str]]:
    """Yield (figure, value, direction) for a group of words."""
    tags = GROUPS[group]
    kept = [
        [
            (word, lemma)
            for word, lemma in zip(passage, found, strict=True)
            if WORD.fullmatch(word.form) and (not tags or word.pos in tags)
        ]
        for passage, found in zip(passages, lemmas, strict=True)
    ]
    right = [lower_form(word.lemma) == lemma for passage in kept for word, lemma in passage]
    pairs = [pair for passage in kept for pair in compare(passage)]
    together = [joined for same, joined in pairs if same]
    wrong = [not same for same, joined in pairs if joined]
    yield f"{group}, right lemma", sum(right) / len(right), "higher"
    if len(together) >= FEWEST:
        yield f"{group}, pairs of forms brought together", sum(together) / len(together), "higher"
    yield f"{group}, pairs of two words joined per 1,000 words", 1000 * sum(wrong) / len(right), "lower"


def compare(passage: Iterable[tuple[Word, str]]) -> Iterator[tuple[bool, bool]]:
    """Yield (same gold lemma, same lemma) for all pairs of different forms of a passage."""
    gold: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {}
    for word, lemma in passage:
        gold.setdefault(lower_form(word.form), set()).add(lower_form(word.lemma))
        found.setdefault(lower_form(word.form), set()).add(lemma)
    for first, second in combinations(gold, 2):
        same, joined = bool(gold[first] & gold[second]), bool(found[first] & found[second])
        if same or joined:
            yield same, joined


def lower_case(doc: Doc) -> list[str]:
    """Baseline without a lemmatizer."""
    return [lower_form(token.text) for token in doc]


@app.command()
def main(
    treebanks: Annotated[Path, typer.Option(help="Folder with ud_finnish and ud_spanish.")],
    edit_trees: Annotated[
        Path | None, typer.Option(help="Folder of a trained Finnish pipeline with an edit-tree lemmatizer.")
    ] = None,
    lang: Annotated[list[str] | None, typer.Option(help="Language to measure; all by default.")] = None,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/lemmatizers.json"),
) -> None:
    """Measure all lemmatizers on treebanks."""
    for language in lang or TREEBANKS:
        configs = {LOWER_CASE: None, **LEMMATIZERS[language]}
        if language == "fi" and edit_trees:
            configs[EDIT_TREES] = {
                "@deid_lemmatizers": "spacy_deid.edit_tree_lemmatizer.v1",
                "path": str(edit_trees),
            }
        for data, file, split, left_out in TREEBANKS[language]:
            passages = list(read_passages(treebanks / file, left_out))
            for name, config in configs.items():
                if name != EDIT_TREES or split != "dev":
                    write_rows(metrics, compare_one(name, config, language, passages, data, split))


def compare_one(
    name: str, config: Any, lang: str, passages: list[list[Word]], data: str, split: str
) -> list[MetricRow]:
    """Measure a lemmatizer on a treebank. RETURNS: rows; empty if it is not installed."""
    try:
        found = spacy.registry.resolve({"lemmatizer": config})["lemmatizer"]
        made = choose_lemmatizer(found, lang) if config else lower_case
    except ConfigError as error:
        print(f"{name}: left out. {error}")
        return []
    lemmas, speed = run(made, passages)
    figures = [figure for group in GROUPS for figure in measure(passages, lemmas, group)]
    figures.append(("words per second", round(speed, -2), "higher"))
    print(f"{data} {split}: {name}")
    for figure, value, _ in figures:
        print(f"    {figure:60} {value:12,.4f}")
    today = datetime.now(UTC).date().isoformat()
    return [
        MetricRow(f"{name}: {figure}", round(value, 5), None, better, data, split, COMMAND, today)
        for figure, value, better in figures
    ]


if __name__ == "__main__":
    app()
