"""Build the Finnish training corpus: synthetic notes, real text with injected identifiers, and Turku NER.

    python -m scripts.corpus_fi --assets corpus

Assets are `turku_ner` (documents with gold names) and `fi_eduskunta_vkk` (unlabelled written answers of ministers). Of
the answers, only sentences without names are used: a sentence is skipped if it has a capitalized word that is on the
name lists in any case form, or that is on no list at all. Dates, countries and towns in them are labelled. Places of
the Turku corpus get the finer labels of the lists.

Output: corpus/fi/train/made.spacy; dev.spacy, with templates of a second author and a part of Turku train; test.spacy,
with templates of a third author and rare names that the others do not contain.

With --teacher, a pipeline trained on these files, sentences of `fi_wiki_mt_squad2_nq` in which the teacher is certain
of every word are labelled by it and written to corpus/fi/train/silver.spacy: they contain many foreign names.
"""

import bz2
import csv
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language

import spacy_deid
from scripts.conll import read_conll
from spacy_deid.evaluation import AnnotatedText, Entity, from_doc, write_docbin
from spacy_deid.labels import LABELS
from spacy_deid.lang.inflection import case_forms
from spacy_deid.synth.corpus import make_corpus
from spacy_deid.synth.language import load_language, read_table, stable_hash

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

GOLD_WEIGHT = 3  # how often the gold is seen beside what was made
MADE, INJECTED, DEV, TEST = 3500, 2500, 300, 400
SILVER, SHORTEST, SURE = 3000, 40, 0.8  # paragraphs, words of one, probability of a label that is taken
SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-ZÅÄÖ])")
NAMES_USED = 6000  # of each list; rarer names hardly stand in the answers
RULED = {"DATE", "AGE", "PHONE", "EMAIL", "URL"}
HOSPITAL = re.compile(r"sairaala|klinik", re.IGNORECASE)
YEAR_WORD = re.compile(r"(?:vuo(?:nna|den|desta|teen|sina|sien|sista)) (?=\d)", re.IGNORECASE)
YEARS = re.compile(r"\d[\d.]*(?= ?[–-] ?\d)|(?<=[–-])\d[\d.]*$|(?<=[–-] )\d[\d.]*$")
WEEKDAY = re.compile(r"\b(?:maanantai|tiistai|keskiviik|torstai|perjantai|lauantai|sunnuntai)\w*", re.IGNORECASE)
_BEFORE, _AFTER = re.compile(r" +([.,;:!?%)\]])"), re.compile(r"([(\[]) +")
_WORD = re.compile(r"[^\W\d_][\w:'-]*")


@cache
def name_forms() -> frozenset[str]:
    """Return all case forms of the frequent names."""
    parts = {"female": "given", "male": "given", "surname": "surname"}
    names = ((name, kind) for part, kind in parts.items() for name in read_table("fi", part).names[:NAMES_USED])
    return frozenset(form for name, kind in names for form in case_forms(name, "fi", kind=kind))


@cache
def place_forms() -> dict[str, str]:
    """Map all case forms of towns and countries to labels."""
    lists = load_language("fi").lists
    towns = {row["city"] for row in lists["places"]}
    countries = {row["text"] for row in lists["countries"]} | {"Suomi"}
    forms = {form: "CITY" for town in towns for form in case_forms(town, "fi", kind="place")}
    return forms | {form: "COUNTRY" for country in countries for form in case_forms(country, "fi", kind="place")}


def read_turku(folder: Path, split: str) -> list[AnnotatedText]:
    """Read the Turku NER corpus, with finer labels for places and hospitals on the lists."""
    return [_refine(note) for note in read_conll(folder / "turku_ner" / "data" / "conll" / f"{split}.tsv")]


def _refine(note: AnnotatedText) -> AnnotatedText:
    """Relabel towns, countries, hospitals and days of the week, and split date ranges."""

    def label(entity: Entity) -> str:
        text = note.text[entity.start : entity.end]
        if entity.label == "LOCATION_OTHER":
            return place_forms().get(text, entity.label)
        return "HOSPITAL" if entity.label == "ORGANIZATION" and HOSPITAL.search(text) else entity.label

    def start(entity: Entity) -> int:
        """Where a date begins: at the year, not at the word "vuonna" before it."""
        word = YEAR_WORD.match(note.text, entity.start) if entity.label == "DATE" else None
        return word.end() if word else entity.start

    entities = [Entity(start(e), e.end, label(e)) for entity in note.entities for e in _parts(entity, note.text)]
    taken = {at for entity in entities for at in range(entity.start, entity.end)}
    days = [Entity(*match.span(), "DATE") for match in WEEKDAY.finditer(note.text) if match.start() not in taken]
    return AnnotatedText(note.name, note.text, tuple(sorted([*entities, *days])))


def _parts(entity: Entity, text: str) -> list[Entity]:
    """Return the two dates of a range, or the entity itself."""
    found = list(YEARS.finditer(text[entity.start : entity.end])) if entity.label == "DATE" else []
    if len(found) != 2:
        return [entity]
    return [Entity(entity.start + match.start(), entity.start + match.end(), "DATE") for match in found]


def read_answers(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of notes made of three to nine sentences without names."""
    with bz2.open(path, "rt", encoding="utf8", newline="") as file:
        tidy = (_AFTER.sub(r"\1", _BEFORE.sub(r"\1", row["sentence"])).strip() for row in csv.DictReader(file))
        sentences = [sentence for sentence in tidy if is_nameless(sentence)]
    at = 0
    while at < len(sentences):
        count = 3 + stable_hash(f"answers/{at}") % 7
        yield f"answers/{at}", " ".join(sentences[at : at + count])
        at += count


def is_nameless(sentence: str) -> bool:
    """Test whether a sentence contains no word that could be an unlabelled name."""
    words = _WORD.findall(sentence)
    inner = [word for word in words[1:] if word[0].isupper() and word not in place_forms()]
    first_is_name = bool(words) and words[0] in name_forms() and not inner
    return 5 <= len(words) <= 60 and not inner and not (first_is_name and words[0].lower() not in _common())


@cache
def _common() -> frozenset[str]:
    """Return words that begin sentences and are also names."""
    return frozenset("asia aika ilman ilma tällä näin kun kuten muun toivo into onni kari vesa meri kai".split())


def make_rules() -> Language:
    """Create a pipeline of the rules only."""
    nlp = spacy.blank("fi")
    nlp.tokenizer = spacy.util.registry.tokenizers.get("spacy_deid.ClinicalTokenizer.v1")()(nlp)
    nlp.add_pipe("deid_patterns", config={"languages": ["fi"]})
    nlp.add_pipe("deid_merge", config={"sources": ["deid/patterns"]})
    return nlp


def label_answers(nlp: Language, text: str) -> list[Entity]:
    """Label a text without names with the rules and the lists of places."""
    found = [entity for entity in from_doc(nlp(text), "answer").entities if entity.label in RULED]
    covered = {at for entity in found for at in range(entity.start, entity.end)}
    for match in _WORD.finditer(text):
        label = place_forms().get(match[0])
        if label and match[0][0].isupper() and match.start() not in covered:
            found.append(Entity(match.start(), match.end(), label))
    return found


def make_train(assets: Path, nlp: Language, seed: int) -> Iterator[AnnotatedText]:
    """Return synthetic notes, notes with injected identifiers, and the gold."""
    turku = [note for note in read_turku(assets, "train") if not for_dev(note)]
    gold = {note.text: list(note.entities) for note in turku}
    answers = list(read_answers(assets / "fi_eduskunta_vkk" / "vkk" / "train.csv.bz2"))
    known: dict[str, list[Entity]] = {}

    def label(text: str) -> list[Entity]:
        if text not in gold and text not in known:
            known[text] = label_answers(nlp, text)
        return gold[text] if text in gold else known[text]

    yield from make_corpus("fi", MADE, seed)
    for offset, carriers in enumerate(([(n.name, n.text) for n in turku], answers), 1):
        notes = make_corpus("fi", INJECTED // 2, seed + offset, carriers=carriers, prelabel=label, carrier_share=1.0)
        yield from notes
    for again in range(GOLD_WEIGHT):
        yield from (AnnotatedText(f"{note.name}/{again}", note.text, note.entities) for note in turku)
    plain = islice(answers, 0, 600)
    yield from (AnnotatedText(name, text, tuple(label(text))) for name, text in plain)


def read_silver(path: Path, teacher: Language) -> Iterator[AnnotatedText]:
    """Yield paragraphs of an encyclopedia labelled by the teacher, without the sentences it is uncertain of."""
    paragraphs = [line for line in path.read_text(encoding="utf8").splitlines() if len(line.split()) > SHORTEST]
    for number, text in enumerate(sorted(paragraphs, key=stable_hash)[:SILVER]):
        sure, unsure = (label_at(teacher, text, threshold) for threshold in (SURE, 1 - SURE))
        kept, entities = "", []
        for start, end in pairwise([0, *(match.end() for match in SENTENCE.finditer(text)), len(text)]):
            inside, maybe = ([e for e in found if e.start < end and start < e.end] for found in (sure, unsure))
            if inside == maybe and all(start <= e.start and e.end <= end for e in inside):
                by = len(kept) - start
                entities += [Entity(e.start + by, e.end + by, e.label) for e in inside]
                kept += text[start:end]
        yield AnnotatedText(f"silver/{number}", kept, tuple(entities))


def label_at(teacher: Language, text: str, threshold: float) -> list[Entity]:
    """Label a text with the classifier at a threshold. Patients and clinicians become persons."""
    ner = teacher.get_pipe("deid_ner")
    ner.set_threshold(threshold)
    doc = ner(teacher.make_doc(text))
    labels = {
        span.label_: "PERSON" if LABELS[span.label_].conll == "PER" else span.label_ for span in doc.spans[ner.key]
    }
    return [Entity(span.start_char, span.end_char, labels[span.label_]) for span in doc.spans[ner.key]]


def for_dev(note: AnnotatedText) -> bool:
    """Test whether a document of Turku train belongs to the development set: one in twelve."""
    return stable_hash(note.name) % 12 == 0


def make_dev(assets: Path, seed: int) -> Iterator[AnnotatedText]:
    """Return synthetic notes of the second author and a part of the gold."""
    yield from make_corpus("fi", DEV, seed + 100, split="dev")
    yield from (note for note in read_turku(assets, "train") if for_dev(note))


def write(notes: Iterable[AnnotatedText], path: Path, nlp: Language) -> None:
    """Write a file and print its size."""
    listed = list(notes)
    path.parent.mkdir(parents=True, exist_ok=True)
    trimmed = write_docbin(listed, path, nlp.make_doc)
    entities = sum(len(note.entities) for note in listed)
    print(f"{path}: {len(listed)} notes, {entities} entities, {trimmed} trimmed")


@app.command()
def main(
    assets: Annotated[Path, typer.Option(help="Folder with turku_ner and fi_eduskunta_vkk.")],
    output: Annotated[Path, typer.Option(help="Folder of the corpus.")] = Path("corpus/fi"),
    teacher: Annotated[
        Path | None, typer.Option(help="Pipeline that labels open text; only train/silver.spacy is then written.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random generators.")] = 7,
) -> None:
    """Build the Finnish training corpus."""
    nlp = make_rules()
    if teacher:
        encyclopaedia = assets / "fi_wiki_mt_squad2_nq" / "squad2_fi.txt"
        write(read_silver(encyclopaedia, spacy_deid.load(teacher)), output / "train" / "silver.spacy", nlp)
        return
    write(make_train(assets, nlp, seed), output / "train" / "made.spacy", nlp)
    write(make_dev(assets, seed), output / "dev.spacy", nlp)
    write(make_corpus("fi", TEST, seed + 200, split="test"), output / "test.spacy", nlp)


if __name__ == "__main__":
    app()
