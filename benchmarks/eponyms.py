"""Measure the recovery of eponyms that no list contains, per form and language, and its price in persons' names.

    python -m benchmarks.eponyms corpus --metrics metrics/recovery.json
    python -m benchmarks.eponyms corpus --strict --split test --metrics metrics/recovery.json

The names are those of ``eponyms.csv`` and of an open list (med_terms), without given names, places and signs that
notes write without a head word. They are kept out: the medical dictionary does not find them and the rules do not know
them. A hash of the name assigns each of them to the split "dev", which was used to write the rules, or to "test". The
sentences (eponym_texts.toml) have the same splits; both were written before the rules. A detector flags each name as a
person's; an eponym counts as recovered if all words of its names are.

The price is measured with the same names as those of persons, in sentences and in the authored training notes: every
surname of a note is replaced by a name of the list, and every identifier is flagged. A person counts as released if
any word of the name is.

Sentences of either meaning are those that are the same, word for word, for a person and for an eponym ("Xanthoun
katetri vaihdettu"). No rule can recover the eponym and protect the person, so that their share is the price of what
the rules recover in such sentences, if a note has no other mention of the person. ``--strict`` measures the other end
of the trade-off: every phrase stays protected whose head word can be a thing of a person.
"""

import hashlib
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang.inflection import inflect
from spacy_deid.medical import unlisted_eponyms
from spacy_deid.medical.build import is_place, read_eponyms
from spacy_deid.medical.dictionary import MedicalDictionary, MedicalMatch
from spacy_deid.medical.name_context import NameContext, given_names
from spacy_deid.medical.unlisted_eponyms import UnlistedEponyms
from spacy_deid.spans import Evidence, write_evidence
from spacy_deid.synth.authored import NAMES, AuthoredNote, read_authored

from .recovery import LANGUAGES, RECOVERED_TARGET, Count, measure
from .recovery_texts import Case

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

SPLITS = ("dev", "test")
TABLE = Path(spacy_deid.__file__).parent / "resources" / "medical" / "eponyms.csv"
NUMBER, SEED = 450, 9  # names of a split, and the seed of what is drawn from them
NAME = re.compile(r"[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]{3,}(?:[A-Z][a-z]+)?")
# names of organisms, minerals and proteins in the open list
LATIN = re.compile(
    r"(?:ii|ia|ella|idae|aea|ium|ian|ite|ins?|eri|us|is|ea|oides|rix|alis|ensis|ic|ism|pathy|[aeiou]ma)$"
)
MENTION = re.compile(r"\[\[(.+?)\]\]")
SLOT = re.compile(r"\{([nmk])(?:\.(gen|par))?\}")


@cache
def kept_out(path: Path) -> dict[str, list[str]]:
    """Read the names of ``eponyms.csv`` and of the open list. RETURNS (dict): split → names."""
    listed = (eponym.name for eponym in read_eponyms(TABLE))
    opened = (re.sub(r"['’]s$", "", line.split("\t")[0]) for line in path.read_text(encoding="utf8").splitlines())
    contexts = [NameContext(lang) for lang in LANGUAGES]
    names: dict[str, set[str]] = {split: set() for split in SPLITS}
    for name in [*listed, *opened]:
        form = normal_form(name)
        fits = NAME.fullmatch(name) and not LATIN.search(form) and not is_place(form) and form not in given_names()
        if fits and not any(context.sign(f"{name} positive", 0, len(name)) for context in contexts):
            names[SPLITS[hashlib.sha256(form.encode()).digest()[0] % 2]].add(name)
    rng = random.Random(SEED)
    return {split: sorted(rng.sample(sorted(found), min(NUMBER, len(found)))) for split, found in names.items()}


class Hidden:
    """A medical dictionary that does not find what contains the words of given texts, or is a part of them.

    `deid_recovery` searches stretches of a note, so that offsets in the note say nothing here.
    """

    def __init__(self, dictionary: MedicalDictionary) -> None:
        self.dictionary, self.version = dictionary, dictionary.version
        self.texts: list[str] = []

    def find(self, text: str) -> list[MedicalMatch]:
        """Find the other terms of a text."""
        spans = [m.span() for hidden in self.texts for m in re.finditer(re.escape(hidden), text)]
        found = self.dictionary.find(text)
        return [m for m in found if not any(start < m.end and m.start < end for start, end in spans)]


def write_case(template: str, names: Sequence[str], lang: str, *, person: bool) -> tuple[Case, list[tuple[int, int]]]:
    """Fill a sentence with names. RETURNS (tuple): sentence with its mention, and the spans to flag in it."""
    text, spans, flags = "", [], []
    for number, part in enumerate(MENTION.split(template)):
        start, found, at = len(text), [], 0
        for slot in SLOT.finditer(part):
            text += part[at : slot.start()]
            name = names["nmk".index(slot[1])]
            written = inflect(name, lang, slot[2], kind="surname") if slot[2] else name
            found.append((len(text), len(text) + len(written)))
            text, at = text + written, slot.end()
        text += part[at:]
        if number % 2:
            spans.append((start, len(text)))
            flags += [(start, len(text))] if person else found
    return Case(text, [] if person else spans, spans if person else []), flags


@Language.component("flag_given")
def flag_given(doc: Doc) -> Doc:
    """Flag the spans in ``doc.user_data["flags"]``: start, end and label."""
    rows = doc.user_data.get("flags", [])
    write_evidence(doc, "deid/flags", [Evidence(start, end, label, "flag_given", 0.9) for start, end, label in rows])
    return doc


def flagging(lang: str) -> Language:
    """Create a pipeline with recovery whose detector flags what it is given."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("flag_given")
    nlp.add_pipe("deid_merge", config={"sources": ["deid/flags"]})
    recovery = nlp.add_pipe("deid_recovery")
    recovery.medical = Hidden(recovery.medical)  # type: ignore[attr-defined]
    return nlp


class Given:
    """Reads texts with the spans to flag in them, in place of a pipeline."""

    def __init__(self, nlp: Language, flags: Sequence[Sequence[tuple[int, int, str]]]) -> None:
        self.nlp, self.flags = nlp, flags

    def pipe(self, texts: Iterator[str]) -> Iterator[Doc]:
        """Yield the Docs."""
        for text, flags in zip(texts, self.flags, strict=True):
            doc = self.nlp.make_doc(text)
            doc.user_data["flags"] = list(flags)
            hidden = sorted({text[start:end] for start, end, _ in flags})
            self.nlp.get_pipe("deid_recovery").medical.texts = hidden  # type: ignore[attr-defined]
            yield self.nlp(doc)


def cases(
    templates: Sequence[str], names: Sequence[str], lang: str, person: bool
) -> Iterator[tuple[Case, list[tuple[int, int, str]]]]:
    """Yield a sentence for each name, or three if the names are those of persons: the sentences in turn, with two
    further names where they have slots for them.
    """
    rng = random.Random(SEED)
    for number, name in enumerate([*names, *names, *names] if person else names):
        others = rng.sample(names, 2)
        case, flags = write_case(templates[number % len(templates)], [name, *others], lang, person=person)
        yield case, [(start, end, "PERSON") for start, end in flags]


def rename(note: AuthoredNote, names: Sequence[str], rng: random.Random) -> tuple[Case, list[tuple[int, int, str]]]:
    """Replace the surnames of an authored note. RETURNS (tuple): the note with its names, and all its identifiers."""
    new: dict[str, str] = defaultdict(lambda: rng.choice(names))
    text, at, spans, flags = "", 0, [], []
    for mark in note.marks:
        text += note.text[at : mark.start]
        start, at = len(text), mark.end
        written = note.text[mark.start : mark.end]
        if mark.label in NAMES and mark.key in note.persons:
            for surname in note.persons[mark.key].surnames:
                own = re.compile(rf"(?<!\w){re.escape(surname)}", re.IGNORECASE)
                written = own.sub(lambda match, surname=surname: _cased(new[surname], match[0]), written)  # type: ignore[misc]
            spans.append((start, start + len(written)))
        text += written
        flags.append((start, len(text), mark.label))
    return Case(text + note.text[at:], [], spans), flags


def _cased(name: str, like: str) -> str:
    """Write a name in the case of another word."""
    return name.upper() if like.isupper() else name.lower() if like.islower() else name


def protect_either() -> None:
    """Let the rules decide against an eponym wherever its head word can also be a thing of a person of the name."""
    decide = UnlistedEponyms._is_medical

    def is_sure(rules: UnlistedEponyms, match: re.Match[str], left: str, right: str) -> bool:
        rest = match[0].replace(match[match.lastgroup or 0], "")
        owned = rules._always_owned or rules._ownership is None or rules._ownership.search(match[0])
        sure = match.lastgroup in unlisted_eponyms._SUFFICIENT or not owned or rules._unowned.search(rest)
        return bool(sure) and decide(rules, match, left, right)

    setattr(UnlistedEponyms, "_is_medical", is_sure)  # noqa: B010  only for this measurement


@app.command()
def main(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(help="Folder with med_terms and authored.")],
    lang: Annotated[list[str] | None, typer.Option(help="Languages; all by default.")] = None,
    split: Annotated[list[str] | None, typer.Option(help='"dev" or "test"; both by default.')] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Recover nothing that can also belong to a person; rows without targets.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the errors in sentences of the split dev.")] = False,
    metrics: Annotated[Path | None, typer.Option(help="File of the metric rows.")] = None,
) -> None:
    """Measure the recovery of unlisted eponyms and its price."""
    texts = tomllib.loads((Path(__file__).parent / "eponym_texts.toml").read_text(encoding="utf8"))
    names = kept_out(data / "med_terms" / "eponyms_en" / "eponym_names.tsv")
    command, today, rows = (command_line("benchmarks.eponyms", context), date.today().isoformat(), list[MetricRow]())
    setattr(unlisted_eponyms, "eponym_words", frozenset)  # noqa: B010  the rules must not know any of the names
    if strict:
        protect_either()
    for code in lang or LANGUAGES:
        nlp = flagging(code)
        for part in split or SPLITS:
            counts: dict[str, Count] = {}
            for form, templates in texts[code][part].items():
                counts[form] = _counted(nlp, cases(templates, names[part], code, False), show and part == "dev")
            people = cases(texts[code]["persons"][part], names[part], code, True)
            counts["persons in sentences"] = _counted(nlp, people, show and part == "dev")
            people = cases(texts[code]["persons"]["either"], names[part], code, True)
            counts["persons in sentences of either meaning"] = _counted(nlp, people, False)
            notes = [note for note in read_authored(data / "authored" / code / "train") if note.split == "train"]
            rng, half = random.Random(SEED), SPLITS.index(part)
            renamed = (rename(note, names[part], rng) for note in notes[half::2])
            counts["persons in authored training notes"] = _counted(nlp, renamed, show and part == "dev")
            data_name = f"eponyms kept out {code}" + ", either meaning protected" * strict
            rows += _rows(counts, data_name, part, command, today, aim=not strict)
    if metrics:
        replace_rows(metrics, rows)


def _counted(nlp: Language, read: Iterator[tuple[Case, list[tuple[int, int, str]]]], show: bool) -> Count:
    """Count the mentions of texts."""
    both = list(read)
    given = Given(nlp, [flags for _, flags in both])
    return measure(given, [case for case, _ in both], {"medical", "phi"} if show else ())  # type: ignore[arg-type]


def _rows(
    counts: Mapping[str, Count], data: str, split: str, command: str, today: str, *, aim: bool = True
) -> Iterator[MetricRow]:
    """Create the metric rows of a language and split, and print them."""
    for form, count in counts.items():
        person = form.startswith("persons")
        kind, share = ("phi", "released") if person else ("medical", "recovered")
        value, better = round(count.share(kind), 5), "lower" if person else "higher"
        target = (0.0 if person else RECOVERED_TARGET) if aim and split == "test" else None
        print(f"{data:22} {split:4} {form:35} {share} {count.free[kind]} of {count.flagged[kind]} = {value:.4f}")
        yield MetricRow(f"{share}, {form}", value, target, better, data, split, command, today)  # type: ignore[arg-type]
        yield MetricRow(f"mentions flagged, {form}", count.flagged[kind], None, "higher", data, split, command, today)


if __name__ == "__main__":
    app()
