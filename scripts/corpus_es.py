"""Build the Spanish training corpus: gold notes, open notes labelled by a teacher, injected and synthetic notes.

    python -m scripts.corpus_es gold corpus
    python -m scripts.corpus_es notes corpus --teacher training/es_teacher

``gold`` writes corpus/es/train/gold.spacy (MEDDOCAN train) and corpus/es/dev.spacy. A teacher is trained on the first
and on authored notes. ``notes`` writes the other files in corpus/es/train: `silver` (unlabelled case reports labelled
by the teacher), `injected` (case reports and sentences of health records with injected identifiers; the teacher labels
their own ones), `synth` (synthetic notes).

Only labels of MEDDOCAN are used: it has no CITY, so CITY becomes TERRITORY. Its relatives without a name ("madre")
become KINSHIP. The teacher must not be trained on MEDDOCAN dev.
"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.tokens import DocBin

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, Entity, from_doc, make_docs
from spacy_deid.evaluation.documents import reduce_labels
from spacy_deid.synth import make_corpus
from spacy_deid.synth.carriers import read_carriers
from spacy_deid.synth.language import split_of

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

GOLD_WEIGHT = 2  # how often the gold is seen beside what was made
TEST_NOTES = 300
CASE_WORDS = 150  # a text this long is a whole case report


Corpus = Annotated[Path, typer.Argument(help="Folder with meddocan/, e3c/ and nubes/; es/ is written to it.")]


@app.command()
def gold(corpus: Corpus) -> None:
    """Write MEDDOCAN train and dev with the labels of the classifier."""
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    write = make_writer(nlp, corpus / "es")
    for split, path in (("train", "train/gold"), ("dev", "dev")):
        docs = DocBin().from_disk(corpus / "meddocan" / f"{split}.spacy").get_docs(nlp.vocab)
        write(path, (from_doc(doc, str(i)) for i, doc in enumerate(docs)))


@app.command()
def notes(
    corpus: Corpus,
    teacher: Annotated[Path, typer.Option(help="Pipeline trained on MEDDOCAN train and on authored notes.")],
    injected: Annotated[int, typer.Option(help="Number of carriers with injected identifiers.")] = 900,
    made: Annotated[int, typer.Option(help="Number of notes from templates.")] = 700,
    seed: Annotated[int, typer.Option(help="Seed of the random generators.")] = 1,
) -> None:
    """Write the other training files and the synthetic test set."""
    nlp = spacy_deid.load(teacher)
    nlp.get_pipe("deid_ner").set_threshold(0.5)
    carriers = read_carriers(corpus, "es")
    cases = [(name, text) for name, text in carriers if name.startswith("e3c/") and len(text.split()) >= CASE_WORDS]
    label = make_labeller(nlp)
    silver = [AnnotatedText(name, text, tuple(label(text))) for name, text in cases if split_of(name) == "train"]
    write = make_writer(nlp, corpus / "es")
    write("train/silver", silver)
    write("train/injected", make_corpus("es", injected, seed, carriers=carriers, prelabel=label, carrier_share=1.0))
    write("train/synth", make_corpus("es", made, seed + 1))
    write("test", make_corpus("es", TEST_NOTES, seed, split="test"))
    for again in range(1, GOLD_WEIGHT):
        shutil.copy(corpus / "es" / "train" / "gold.spacy", corpus / "es" / "train" / f"gold_{again + 1}.spacy")


def make_labeller(nlp: Language) -> Callable[[str], list[Entity]]:
    """Return a function that labels texts with the teacher, caching results."""
    known: dict[str, list[Entity]] = {}

    def label(text: str) -> list[Entity]:
        if text not in known:
            known[text] = list(from_doc(nlp(text), "").entities)
        return known[text]

    return label


def make_writer(nlp: Language, folder: Path) -> Callable[[str, Iterable[AnnotatedText]], None]:
    """Return a function that writes notes as Docs, with the labels of MEDDOCAN."""

    def write(name: str, notes: Iterable[AnnotatedText]) -> None:
        path = folder / f"{name}.spacy"
        path.parent.mkdir(parents=True, exist_ok=True)
        docs, dropped = make_docs((tell_kinship(reduce_labels(note, "meddocan")) for note in notes), nlp.make_doc)
        DocBin(docs=docs).to_disk(path)
        entities = sum(len(doc.ents) for doc in docs)
        typer.echo(f"{path}: {len(docs)} notes, {entities} entities, {dropped} overlapping ones left out")

    return write


def tell_kinship(note: AnnotatedText) -> AnnotatedText:
    """Label the relatives of MEDDOCAN that are not named KINSHIP: "su madre", but not "Juan"."""
    entities = (
        replace(e, label="KINSHIP") if e.label == "RELATIVE" and note.text[e.start : e.end].islower() else e
        for e in note.entities
    )
    return replace(note, entities=tuple(entities))


if __name__ == "__main__":
    app()
