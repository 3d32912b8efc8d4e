"""Build the English training corpus: synthetic notes, real text with injected identifiers, and re-identified notes.

    python -m scripts.corpus_en --assets corpus

Assets are e3c, mtsamples_ptnotes and clinical_visit_notes (carriers, whose own identifiers are labelled by the rules,
and the names of ACI-Bench by its metadata), asq_phi (its training half) and presidio_synth. Labelled notes are
repeated with the identifiers of other people, so that many names occur in their sentences. Missing corpora are skipped
with a message. Output: corpus/en/train.spacy; dev.spacy, with templates of a second author and labelled notes that are
not in train; and test.spacy, with templates of a third author and rare names that the others do not contain.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import typer

from scripts.english_corpora import keep_free, read_aci_bench, read_asq_phi, read_presidio, retell
from spacy_deid.evaluation import AnnotatedText, Entity, write_docbin
from spacy_deid.synth import make_corpus
from spacy_deid.synth.carriers import make_rule_labeller, read_carriers
from spacy_deid.synth.language import load_language, stable_hash
from spacy_deid.synth.noise import rewrite

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

QUERIES = "asq_phi/synthetic_clinical_queries.txt"
VISITS = "clinical_visit_notes/data/aci-bench/challenge_data"
SENTENCES = "presidio_synth/data/synth_dataset_v2.json"
TOLD_AGAIN = {QUERIES: 2, VISITS: 5}
SHARE_FOR_DEV = 8  # one labelled note in so many is for development
HEAD = 400  # characters that tell a note from the others; carriers are cut further down
SENTENCES_USED, DEV_NOTES, TEST_NOTES = 300, 250, 400
BESIDE_NAMES = frozenset({"AGE", "DATE"})  # what ASQ-PHI leaves unlabelled where the law lets it stand
SHARE_ON_THE_WARD_CLOCK = 0.35  # notes with "1405" for "14:05", which is no year
CLOCK = re.compile(r"(?<![\d:.])(?:[01]\d|2[0-3]):[0-5]\d(?![\d:])")
Label = Callable[[str], list[Entity]]


@app.command()
def main(
    assets: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("assets"),
    output: Annotated[Path, typer.Option(help="Folder of the corpus.")] = Path("corpus/en"),
    made: Annotated[int, typer.Option(help="Number of notes from templates.")] = 4000,
    injected: Annotated[int, typer.Option(help="Number of carriers with injected identifiers.")] = 1500,
    plain: Annotated[int, typer.Option(help="Number of unchanged carriers.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the random generators.")] = 1,
) -> None:
    """Write the three files."""
    rules = make_rule_labeller("en")
    visits = {note.text[:HEAD]: note for note in read_visits(assets)}
    label = remember(lambda text: keep_free([*names_of(visits.get(text[:HEAD]), text), *rules(text)]))
    labelled = [*read_queries(assets, rules), *complete(visits.values(), label)]
    kept = {note.text[:HEAD] for note in labelled if for_dev(note)}
    carriers = [(name, text) for name, text in read_carriers(assets, "en") if text[:HEAD] not in kept]
    train = [
        *make_corpus("en", made, seed),
        *make_corpus("en", injected, seed + 1, carriers=carriers, prelabel=label, carrier_share=1.0),
        *(AnnotatedText(name, text, tuple(label(text))) for name, text in Random(seed).sample(carriers, plain)),
        *tell_again([note for note in labelled if not for_dev(note)], seed),
        *read_sentences(assets),
    ]
    write(by_the_ward_clock(train, seed), output / "train.spacy")
    write([*make_corpus("en", DEV_NOTES, seed + 100, split="dev"), *filter(for_dev, labelled)], output / "dev.spacy")
    write(make_corpus("en", TEST_NOTES, seed + 200, split="test"), output / "test.spacy")


def is_there(assets: Path, path: str) -> bool:
    """Test whether a corpus exists, and print a message if not."""
    if not (assets / path).exists():
        typer.echo(f"left out, not there: {path}", err=True)
    return (assets / path).exists()


def read_queries(assets: Path, rules: Label) -> list[AnnotatedText]:
    """Read the training half of ASQ-PHI and add the ages and years that it leaves unlabelled."""
    if not is_there(assets, QUERIES):
        return []
    return [
        AnnotatedText(
            f"{QUERIES}/{note.name}",
            note.text,
            tuple(keep_free([*note.entities, *(e for e in rules(note.text) if e.label in BESIDE_NAMES)])),
        )
        for note in read_asq_phi(assets / QUERIES, "train")
    ]


def read_visits(assets: Path) -> list[AnnotatedText]:
    """Read the training notes of ACI-Bench with the names of its metadata."""
    if not is_there(assets, VISITS):
        return []
    notes = read_aci_bench(assets / VISITS / "train.csv", assets / VISITS / "train_metadata.csv")
    return [AnnotatedText(f"{VISITS}/{note.name}", note.text, note.entities) for note in notes]


def names_of(note: AnnotatedText | None, text: str) -> list[Entity]:
    """Return the entities in the used part of a note."""
    return [entity for entity in note.entities if entity.end <= len(text)] if note else []


def complete(notes: Iterable[AnnotatedText], label: Label) -> Iterator[AnnotatedText]:
    """Add what the rules find to the entities of notes."""
    return (AnnotatedText(note.name, note.text, tuple(label(note.text))) for note in notes)


def read_sentences(assets: Path) -> list[AnnotatedText]:
    """Read a fixed sample of sentences of presidio-research."""
    if not is_there(assets, SENTENCES):
        return []
    notes = sorted(read_presidio(assets / SENTENCES), key=lambda note: stable_hash(note.name))[:SENTENCES_USED]
    return [AnnotatedText(f"{SENTENCES}/{note.name}", note.text, note.entities) for note in notes]


def for_dev(note: AnnotatedText) -> bool:
    """Test whether a labelled note belongs to the development set."""
    return stable_hash(note.name) % SHARE_FOR_DEV == 0


def tell_again(notes: Iterable[AnnotatedText], seed: int) -> Iterator[AnnotatedText]:
    """Yield labelled notes, and copies of them with other people's identifiers."""
    language = load_language("en")
    for note in notes:
        yield note
        times = next(count for corpus, count in TOLD_AGAIN.items() if note.name.startswith(corpus))
        for number in range(times):
            rng = Random(f"{note.name}/{seed}/{number}")
            yield retell(note, language, rng, f"{note.name}/again{number}")


def by_the_ward_clock(notes: Iterable[AnnotatedText], seed: int) -> Iterator[AnnotatedText]:
    """Write the times of a share of the notes with four digits and no separator."""
    for note in notes:
        pieces = list(note.text)
        if Random(f"{note.name}/{seed}/clock").random() < SHARE_ON_THE_WARD_CLOCK:
            for time in CLOCK.finditer(note.text):
                if not any(e.start < time.end() and time.start() < e.end for e in note.entities):
                    pieces[time.start() + 2] = ""
        yield rewrite(note, pieces)


def remember(label: Label) -> Label:
    """Cache the results of a labeller by text."""
    known: dict[str, list[Entity]] = {}

    def remembered(text: str) -> list[Entity]:
        if text not in known:
            known[text] = label(text)
        return known[text]

    return remembered


def write(notes: Iterable[AnnotatedText], path: Path) -> None:
    """Write a file and print its size."""
    listed = list(notes)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
    trimmed = write_docbin(listed, path, nlp.make_doc)
    words = sum(len(note.text.split()) for note in listed)
    entities = sum(len(note.entities) for note in listed)
    typer.echo(f"{path}: {len(listed)} notes, {words} words, {entities} entities, {trimmed} trimmed")


if __name__ == "__main__":
    app()
