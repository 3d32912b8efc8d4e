"""Count the phrases of open text in each language: spacy_deid/lang/LANG/counts.bin.

    python -m scripts.background corpus

`SOURCES` names the corpora and licences. The most frequent phrases that fit into 0.7 MB are kept. Counts are facts
about the corpora; the files contain no text.
"""

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.background.corpora import CorpusReader
from spacy_deid.background.counts import PhraseCounts, count_phrases

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

OUT = Path(__file__).parents[1] / "spacy_deid" / "lang"
LARGEST = 700_000  # bytes of a file
STEP = 0.9

# language → (path below the corpora, key or column of the text, licence)
SOURCES = {
    "es": (
        ("e3c/e3c_es_ccby_clean.jsonl", "text", "CC BY 4.0, part CC BY-SA"),
        ("nubes/NUBes", "text", "CC BY-SA 3.0 ES"),
        ("nubes/IULA+", "text", "CC BY-SA 3.0 ES"),
    ),
    "en": (
        ("e3c/e3c_en_ccby.jsonl", "text", "CC BY 4.0, part CC BY-SA"),
        ("biomed_ner_mtl/biomed_sentences_en.txt", "text", "CC BY 4.0"),
        ("mtsamples_ptnotes/mtsamples_unique.jsonl", "text", "free to share with credit to www.mtsamples.com"),
    ),
    "fi": (
        ("fi_eduskunta_vkk/vkk", "sentence", "CC BY 4.0"),
        ("fi_wiki_mt_squad2_nq/squad2_fi.txt", "text", "CC BY-SA 4.0"),
        ("fi_wiki_mt_squad2_nq/nq_fi.txt", "text", "CC BY-SA 3.0"),
    ),
}


def texts(root: Path, lang: str) -> Iterator[str]:
    """Yield the texts of a language."""
    for path, field, _ in SOURCES[lang]:
        yield from CorpusReader([field]).texts([root / path])


def fit(counts: PhraseCounts) -> PhraseCounts:
    """Remove the rarest phrases until the file is small enough. Always cuts the full table, so the error bound is
    tight.
    """
    most = min(len(counts), 400_000)
    while True:
        cut = copy(counts)
        cut.keep(most)
        if len(cut.to_bytes()) <= LARGEST:
            return cut
        most = int(most * STEP)


@app.command()
def main(
    corpora: Annotated[Path, typer.Argument(help="Folder of the unpacked corpora.")],
    lang: Annotated[list[str] | None, typer.Option(help="Language to count; all by default.")] = None,
) -> None:
    """Count phrases, reduce the table, write it, and print its size."""
    for language in lang or sorted(SOURCES):
        counts = count_phrases(texts(corpora, language))
        counts.manifest = {"sources": [{"path": path, "licence": licence} for path, _, licence in SOURCES[language]]}
        seen = len(counts)
        counts = fit(counts)
        counts.to_file(OUT / language / "counts.bin")
        size = (OUT / language / "counts.bin").stat().st_size
        print(f"{language}: {counts.texts} texts, {counts.total} words, {seen} phrases, {len(counts)} kept, ", end="")
        print(f"too low by {counts.error} at most, {size} bytes")


if __name__ == "__main__":
    app()
