"""Texts with medical mentions and identifiers, for the benchmarks of recovery.

Hand-written sentences are annotated (tests/data/recovery_*.jsonl). In published texts, a mention is an annotated
disease that contains a word of the name lists (BC5CDR, NCBI), or a word of an open list of eponyms that is also a name
(E3C). A person can be planted beside each mention, half of them with the same name as the disease.
"""

import csv
import json
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.medical.build import is_place
from spacy_deid.medical.name_context import given_names

ROOT = Path(__file__).parents[1]
SEED = 4
NAME = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]+(?:[-'’][A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]+)*")
# Authors, makers, societies and places are not what is asked about.
NO_EPONYM = re.compile(
    r"et al|\by cols?\b|(?:described|reported|introduced|proposed) by|Universi|Hospital|Inc\b|Ltd|Germany|USA"
    r"|Corporation|®|™|©|GmbH|Laborator|Street|Institut|Company|Society|Foundation|[Gg]roup\b|[A-Z]\. [A-Z]"
)
PLANTS = {
    "en": [
        ("Seen by Dr. ", "{surname}", " today."),
        ("", "{given} {surname}", " walked to the clinic."),
        ("Spoke with Mrs. ", "{surname}", " on the phone."),
        ("Attending: ", "{surname}", ""),
        ("", "{surname}", " said that the pain was gone."),
        ("The patient, ", "{given} {surname}", ", agreed."),
    ],
    "es": [
        ("Valorado por el Dr. ", "{surname}", " hoy."),
        ("", "{given} {surname}", " acude a la consulta."),
        ("Hablo con la Sra. ", "{surname}", " por teléfono."),
        ("Médico responsable: ", "{surname}", ""),
        ("", "{surname}", " refiere que el dolor ha cedido."),
        ("El paciente, ", "{given} {surname}", ", está de acuerdo."),
    ],
}


@dataclass(slots=True)
class Case:
    """A text with medical mentions and identifiers as character spans."""

    text: str
    medical: list[tuple[int, int]]
    phi: list[tuple[int, int]]


@cache
def is_name(word: str) -> bool:
    """Test whether every part of a word is on the name lists or is the name of an eponym."""
    return any(part in name_words() or part in eponyms() for part in normal_form(word).split())


@cache
def eponyms() -> frozenset[str]:
    """Return the words of the eponyms of the package, so that detectors flag them whatever the name lists contain."""
    source = files("spacy_deid") / "resources" / "medical" / "eponyms.csv"
    rows = csv.DictReader(source.read_text(encoding="utf8").splitlines())
    return frozenset(part for row in rows for part in normal_form(row["name"]).split() if len(part) > 2)


def read_set(lang: str) -> list[Case]:
    """Read the hand-written sentences of a language."""
    lines = (ROOT / "tests" / "data" / f"recovery_{lang}.jsonl").read_text(encoding="utf8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Case(r["text"], [(s, e) for s, e in r["medical"]], [(s, e) for s, e in r["phi"]]) for r in rows]


def published(folder: Path, lang: str) -> Iterator[tuple[str, list[Case]]]:
    """Read the published texts of a language.

    folder (Path): folder with biomed_ner_mtl, e3c and med_terms.
    lang (str): language code.
    YIELDS (tuple[str, list[Case]]): name and sentences with a mention, of the texts that are available.
    """
    biomedical = folder / "biomed_ner_mtl"
    if lang == "en":
        for name in ("BC5CDR", "NCBI-disease"):
            yield f"{name} dev", list(read_iob(biomedical / f"{name}-IOB" / "devel.tsv"))
    names = _open_list(folder / "med_terms" / "eponyms_en" / "eponym_names.tsv")
    path = folder / "e3c" / {"en": "e3c_en_ccby.jsonl", "es": "e3c_es_ccby_clean.jsonl"}.get(lang, "-")
    if path.is_file():
        rows = map(json.loads, path.read_text(encoding="utf8").splitlines())
        # The health records that it took over hold surrogate names of persons.
        texts = [row["text"] for row in rows if "nubes" not in row["source"].lower()]
        yield f"E3C {lang}", list(find_eponyms(texts, names))


def read_iob(path: Path) -> Iterator[Case]:
    """Read sentences of an IOB file with diseases that contain a capitalized name, joined without spaces at
    punctuation.
    """
    rows = path.read_text(encoding="utf8")
    forms = Counter(line.split("\t")[0] for line in rows.splitlines())
    for block in rows.split("\n\n"):
        cells = [line.split("\t") for line in block.splitlines() if "\t" in line]
        text, spans = _join((row[0], row[-1]) for row in cells)
        names = [
            m
            for start, end in spans
            for m in NAME.finditer(text, start, end)
            if is_name(m[0]) and not m[0].isupper() and _is_capital(m[0], forms)
        ]
        named = [(start, end) for start, end in spans if any(start <= m.start() < end for m in names)]
        if named:
            yield Case(text, named, [])


def _join(words: Iterable[tuple[str, str]]) -> tuple[str, list[list[int]]]:
    """Join words to a text. RETURNS: the text, and the spans of diseases."""
    text, spans, opened = "", [], False
    for word, tag in words:
        glued = word in "-'’,.;:)" or text.endswith(("-", "(", "'", "’")) or not text
        if text.endswith(("'", "’")) and word != "s":
            glued = False
        text += "" if glued else " "
        if tag.startswith("B-") and tag.endswith("Disease"):
            spans.append([len(text), 0])
            opened = True
        elif not tag.startswith("I-"):
            opened = False
        text += word
        if opened:
            spans[-1][1] = len(text)
    return text, spans


def _is_capital(word: str, forms: Mapping[str, int]) -> bool:
    """Test whether a corpus capitalizes a word in most cases, as names are."""
    return any(forms[part] > forms[part.lower()] for part in re.findall(r"[^\W\d_]{3,}", word))


def _open_list(path: Path) -> frozenset[str]:
    """Read the names of the open list of eponyms."""
    return frozenset(re.sub(r"['’]s$", "", row.split("\t")[0]) for row in path.read_text(encoding="utf8").splitlines())


def find_eponyms(texts: Iterable[str], names: frozenset[str]) -> Iterator[Case]:
    """Find sentences with an eponym: a run of names of the open list inside the sentence.

    Words that are given names or places, or that are mostly lower case in the corpus ("May", "White"), are ambiguous
    and not used.

    texts (Iterable[str]): the texts.
    names (frozenset[str]): the open list.
    YIELDS (Case): the sentences.
    """
    texts = list(texts)
    forms = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text))
    words = {w for w in names if len(w) > 3 and forms[w] > forms[w.lower()] and normal_form(w) not in given_names()}
    words = {w for w in words if not is_place(normal_form(w))}
    for sentence in (s for text in texts for s in re.split(r"(?<=[.!?])\s+(?=[A-ZÁÉÍÓÚ])|\n", text)):
        runs = [m.span() for m in NAME.finditer(sentence) if m.start() and _is_eponym(m[0], words)]
        if runs and not NO_EPONYM.search(sentence):
            yield Case(sentence, runs, [])


def _is_eponym(word: str, names: Collection[str]) -> bool:
    """Test whether a run of capitalized words is a name with one part on the list."""
    return is_name(word) and any(part in names for part in re.split(r"[-'’]", word))


def plant(cases: Iterable[Case], lang: str) -> Iterator[Case]:
    """Plant a person beside each mention; every second one has the name of the mention."""
    rng = random.Random(SEED)
    given = sorted(name for name in given_names() if len(name) > 3 and name.isalpha())
    surnames = sorted(word for word in name_words() if len(word) > 4 and word.isalpha())
    for number, case in enumerate(cases):
        start, end = case.medical[0]
        own = [m[0] for m in NAME.finditer(case.text[start:end]) if is_name(m[0])]
        surname = re.split("[-'’]", own[0])[-1] if own and number % 2 else rng.choice(surnames).capitalize()
        before, name, after = rng.choice(PLANTS[lang])
        name = name.format(surname=surname, given=rng.choice(given).capitalize())
        first = f"{before}{name}{after}"
        shift = len(first) + 1
        moved = [(s + shift, e + shift) for s, e in case.medical]
        yield Case(f"{first}\n{case.text}", moved, [(len(before), len(before) + len(name))])
