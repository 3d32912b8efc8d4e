"""Build the training corpus of the Finnish edit-tree lemmatizer from treebanks in CoNLL-U.

    python -m scripts.lemma_corpus corpus/ud_finnish --output corpus/lemmas

The training files of UD Finnish are too large to redistribute, so the development files are split: training data are
the first four fifths of TDT dev, all of FTB dev, and the sentences of FinnTreeBank 1 that are not in FTB test; every
tenth passage of this selects the checkpoint. The last fifth of TDT dev and FTB test are test data of
benchmarks/lemmatizers.py.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

app = typer.Typer(pretty_exceptions_enable=False)

Sentence = list[list[str]]  # rows of a CoNLL-U file
SENTENCES = 10  # of a Doc
SHARE = 0.8  # of TDT dev that trains; benchmarks/lemmatizers.py measures on the rest
DEV_EVERY = 10


@app.command()
def main(
    treebanks: Annotated[Path, typer.Argument(help="Folder with TDT, FTB and FTB1U.")],
    output: Annotated[Path, typer.Option(help="Folder of train.spacy and dev.spacy.")],
) -> None:
    """Write the corpus."""
    tdt = list(read_sentences(treebanks / "TDT" / "fi_tdt-ud-dev.conllu"))
    unseen = {text_of(sentence) for sentence in read_sentences(treebanks / "FTB" / "fi_ftb-ud-test.conllu")}
    sentences = tdt[: int(len(tdt) * SHARE)]
    for path in sorted((treebanks / "FTB").glob("*dev.conllu")) + sorted((treebanks / "FTB1U").glob("*.conllu")):
        sentences += [sentence for sentence in read_sentences(path) if text_of(sentence) not in unseen]
    docs = list(make_docs({text_of(sentence): sentence for sentence in sentences}.values()))
    output.mkdir(parents=True, exist_ok=True)
    parts = {
        "dev": docs[::DEV_EVERY],
        "train": [doc for place, doc in enumerate(docs) if place % DEV_EVERY],
    }
    for name, part in parts.items():
        DocBin(attrs=["ORTH", "LEMMA", "SPACY"], docs=part).to_disk(output / f"{name}.spacy")
        typer.echo(f"{output / name}.spacy: {sum(map(len, part))} words")


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Read the words of each sentence, without multiword token ranges."""
    for block in path.read_text(encoding="utf8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        yield [row for row in rows if row[0].isdigit()]


def text_of(sentence: Sentence) -> str:
    """Return the words of a sentence as a key for comparison."""
    return " ".join(row[1] for row in sentence)


def make_docs(sentences: Iterable[Sentence]) -> Iterator[Doc]:
    """Create Docs of several sentences with lemmas; "#" separates the parts of compounds."""
    vocab = Vocab()
    rest = iter(sentences)
    while block := list(islice(rest, SENTENCES)):
        rows = [row for sentence in block for row in sentence]
        lemmas = [row[2].replace("#", "") or row[1] for row in rows]
        yield Doc(vocab, words=[row[1] for row in rows], lemmas=lemmas)


if __name__ == "__main__":
    app()
