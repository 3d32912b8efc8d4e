"""Collect the pre-training text of a masked language model: a JSONL file to train on and one that is held out.

    python -m scripts.lm_corpus es --output corpus/lm

Sources are open text of the language, clinical text first, and the synthetic notes of the training corpus. MEDDOCAN
train is split: one case in five is held out, to fit scores on notes that the model has not seen, and texts that repeat
a sentence of these cases are left out. MEDDOCAN dev, and the test notes of the other languages, are not used.
"""

import bz2
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import srsly
import typer
from spacy.tokens import DocBin

from spacy_deid.synth.language import stable_hash

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

HELD_OUT = 5  # one text in so many
SENTENCE = 60  # characters; a shorter sentence may stand in two cases by chance
LONGEST = 6000  # characters of a text; longer ones are cut at a line
LINES = 20  # lines of a corpus of sentences that make a text
BIOMED = 60_000  # lines of the English biomedical sentences
WIKI = 45_000  # lines of the Finnish translations


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language: es, en or fi.")],
    output: Annotated[Path, typer.Option(help="Folder of LANG/train.jsonl and LANG/held_out.jsonl.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the unpacked corpora.")] = Path("corpus"),
) -> None:
    """Collect the text of a language."""
    train: list[str] = []
    held_out: list[str] = []
    kept_back: set[str] = set()
    for source, times in SOURCES[lang]:
        before = sum(map(len, train))
        for name, text in source(corpus):
            if is_held_out(name):
                held_out += cut(text)
                kept_back |= sentences(text) if source is meddocan else set()
            elif not kept_back & sentences(text):
                train += cut(text) * times
        typer.echo(f"{source.__name__} {sum(map(len, train)) - before:,} characters")
    Random(0).shuffle(train)
    for part, texts in (("train", train), ("held_out", held_out)):
        path = output / lang / f"{part}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        srsly.write_jsonl(path, ({"text": text} for text in texts))
        typer.echo(f"{path}: {len(texts):,} texts, {sum(map(len, texts)):,} characters")


def is_held_out(name: str) -> bool:
    """Test whether a text is held out."""
    return stable_hash(name) % HELD_OUT == 0


def sentences(text: str) -> set[str]:
    """Return the long sentences of a text."""
    return {part for line in text.splitlines() for part in line.split(". ") if len(part) > SENTENCE}


def meddocan(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read the cases of MEDDOCAN train."""
    for path in sorted((corpus / "meddocan" / "train" / "brat").glob("*.txt")):
        yield path.stem, path.read_text(encoding="utf8")


def e3c_es(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read Spanish case reports."""
    return rows(corpus / "e3c" / "e3c_es_ccby_clean.jsonl")


def e3c_en(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read English case reports."""
    return rows(corpus / "e3c" / "e3c_en_ccby.jsonl")


def nubes(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read sentences of Spanish health records."""
    for path in sorted((corpus / "nubes").rglob("*.txt")):
        yield from paragraphs(path, None)


def help_es(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read Spanish help texts."""
    return paragraphs(corpus / "es_fi_libreoffice_help" / "lohelp_es.txt", 5000)


def help_fi(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read Finnish help texts."""
    return paragraphs(corpus / "es_fi_libreoffice_help" / "lohelp_fi.txt", 5000)


def parliament_fi(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read questions to and answers of the Finnish government."""
    for path in sorted((corpus / "fi_eduskunta_vkk").rglob("*.csv*")):
        sentences = [row.get("sentence", "") for row in read_csv(path)]
        for first in range(0, len(sentences), LINES):
            yield f"{path.stem}/{first}", "\n".join(sentences[first : first + LINES])


def wiki_fi(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read articles machine-translated into Finnish."""
    for name in ("squad2_fi.txt", "nq_fi.txt"):
        yield from paragraphs(corpus / "fi_wiki_mt_squad2_nq" / name, WIKI)


def biomed_en(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read sentences of English biomedical articles."""
    return paragraphs(corpus / "biomed_ner_mtl" / "biomed_sentences_en.txt", BIOMED)


def samples_en(corpus: Path) -> Iterator[tuple[str, str]]:
    """Read transcribed English notes."""
    return rows(corpus / "mtsamples_ptnotes" / "mtsamples_unique.jsonl")


def made(lang: str, *files: str) -> Callable[[Path], Iterator[tuple[str, str]]]:
    """Read the synthetic notes of a training corpus."""

    def made_notes(corpus: Path) -> Iterator[tuple[str, str]]:
        vocab = spacy.blank(lang).vocab
        for file in files:
            path = (corpus / lang / file).with_suffix(".spacy")
            for number, doc in enumerate(DocBin().from_disk(path).get_docs(vocab)):
                yield f"{file}/{number}", doc.text

    return made_notes


def rows(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSONL file."""
    for number, row in enumerate(srsly.read_jsonl(path)):
        yield f"{path.stem}/{number}", row["text"]


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file, compressed or not."""
    with bz2.open(path, "rt", encoding="utf8") if path.suffix == ".bz2" else path.open(encoding="utf8") as file:
        yield from csv.DictReader(file)


def paragraphs(path: Path, limit: int | None) -> Iterator[tuple[str, str]]:
    """Yield texts of several lines from a file of sentences; with a limit, sample lines evenly."""
    lines = [line for line in path.read_text(encoding="utf8").splitlines() if line.strip()]
    step = max(1, len(lines) // limit) if limit else 1
    for first in range(0, len(lines), LINES * step):
        yield f"{path.stem}/{first}", "\n".join(lines[first : first + LINES])


def cut(text: str) -> list[str]:
    """Split a text into parts of limited length."""
    parts, start = [], 0
    while len(text) - start > LONGEST:
        end = text.rfind("\n", start, start + LONGEST) + 1 or start + LONGEST
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]] if text[start:].strip() else parts


# what is read, and how often: clinical notes count most
SOURCES: dict[str, list[tuple[Callable[[Path], Iterator[tuple[str, str]]], int]]] = {
    "es": [(meddocan, 4), (e3c_es, 1), (nubes, 1), (made("es", "train/synth", "train/injected"), 1), (help_es, 1)],
    "en": [(e3c_en, 1), (samples_en, 3), (made("en", "train"), 1), (biomed_en, 1)],
    "fi": [(parliament_fi, 1), (wiki_fi, 1), (made("fi", "train/made"), 2), (help_fi, 1)],
}


if __name__ == "__main__":
    app()
