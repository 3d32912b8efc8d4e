"""Measure the grammar of surrogates: case of Finnish names and places, sex and particles of Spanish names.

    python -m benchmarks.grammar fi --mentions 2000
    python -m benchmarks.grammar es --mentions 500

Mentions are generated from the lists of names and places of the package, each in a note of its own, so that only the
mention and the preceding word determine its grammar. All persons are invented.

- Finnish: names and towns in twelve cases. The judge is Voikko, whose dictionary the package does not use. Mentions
    are
  forms that Voikko analyses as the intended case; a surrogate is correct if Voikko analyses it as the same case.
  Unknown words are left out and counted as *unknown to the judge*. Inner and outer locative cases of places are
  equivalent: "Tampereella" may become "Porissa". For full names the last word counts.
- Spanish, *sex*: given names after "Dña.", "D." or "Dra.", or alone; correct is a given name that is more frequent for
  that sex in the lists; unlisted names are *unknown to the judge*. *Particles*: "de la Fuente", "María del Carmen";
  correct is a name that the lists have with the same particles ("de la" before "Torre"; "Ben Haddou") or without any,
  and the same number of names.

Rows are written to metrics/grammar.json.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import typer

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow, write_rows
from spacy_deid.evaluation.gold_surrogates import replace_gold
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.synth.language import read_origins

app = typer.Typer(pretty_exceptions_enable=False)

LANGUAGES = Path(spacy_deid.__file__).parent / "lang"
COMMON = 1500
TARGETS = {"fi": 0.98, "es": 0.99}
CASES = {
    "nom": "nimento",
    "gen": "omanto",
    "par": "osanto",
    "ine": "sisaolento",
    "ela": "sisaeronto",
    "ill": "sisatulento",
    "ade": "ulkoolento",
    "abl": "ulkoeronto",
    "all": "ulkotulento",
    "ess": "olento",
    "tra": "tulento",
    "abe": "vajanto",
}
OUTER = {"ulkoolento": "sisaolento", "ulkoeronto": "sisaeronto", "ulkotulento": "sisatulento"}
PARTICLES = frozenset(
    {"de", "del", "la", "las", "los", "y", "do", "da", "dos", "san", "santa", "van", "von", "el", "ben", "o", "a"}
)


class Asked(NamedTuple):
    """A mention, and the function that judges its surrogate.

    kind (str): group of the figure.
    right (Callable): surrogate → whether it is correct; None if unknown.
    """

    kind: str
    label: str
    before: str
    text: str
    right: Callable[[str], bool | None]

    def __repr__(self) -> str:
        return f"Asked({self.kind})"


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language: fi or es.")],
    mentions: Annotated[int, typer.Option(min=1, help="Number of mentions.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the random generator and of the key.")] = 1,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/grammar.json"),
    show: Annotated[int, typer.Option(help="Show so many wrong ones. All are invented.")] = 0,
) -> None:
    """Measure the grammar of surrogates."""
    key = ProjectKey(bytes([seed % 256]) * 32)
    draw = {"fi": finnish, "es": spanish}[lang](Random(seed))
    verdicts: Counter[tuple[str, bool | str | None]] = Counter()
    for i, asked in zip(range(mentions), draw, strict=False):
        made = replaced(asked, key, str(i), lang)
        verdict = "tag" if made is None else asked.right(made)
        verdicts.update([(asked.kind, verdict), ("all", verdict)])
        if verdict is False and show:
            show -= 1
            typer.echo(f"{asked.kind}: {asked.before}{asked.text} → {made}")
    command = f"python -m benchmarks.grammar {lang} --mentions {mentions} --seed {seed}"
    rows = list(figures(verdicts, lang, command))
    write_rows(metrics, rows)
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}" + ("" if row.met is not False else "  (missed)"))


def replaced(asked: Asked, key: ProjectKey, patient: str, lang: str) -> str | None:
    """Return the surrogate of a mention; None for a tag."""
    start = len(asked.before)
    entity = Entity(start, start + len(asked.text), asked.label)
    note = AnnotatedText(patient, asked.before + asked.text + ".\n", (entity,))
    made = replace_gold(note, key.patient(patient), lang).replacements[0]
    return made.text if made.action == "replace" else None


def figures(verdicts: Counter[tuple[str, Any]], lang: str, command: str) -> Iterator[MetricRow]:
    """Yield the shares of correct surrogates among those that can be judged, and of those that cannot."""
    today = date.today().isoformat()
    for kind in sorted({kind for kind, _ in verdicts}):
        right, judged = verdicts[kind, True], verdicts[kind, True] + verdicts[kind, False]
        target = TARGETS[lang] if kind == "all" else None
        if judged:
            yield MetricRow(
                f"right, {kind}", round(right / judged, 5), target, "higher", f"lists, {lang}", "none", command, today
            )
    total = sum(number for (kind, _), number in verdicts.items() if kind == "all")
    for name, verdict in (("no surrogate", "tag"), ("unknown to the judge", None)):
        share = verdicts["all", verdict] / max(1, total)
        yield MetricRow(f"{name}, share", round(share, 5), None, "lower", f"lists, {lang}", "none", command, today)


def finnish(random: Random) -> Iterator[Asked]:
    """Yield names and towns in cases that Voikko recognizes."""
    given = names("fi_female") + names("fi_male")
    surnames, towns = names("fi_surname"), places()
    while True:
        kind = random.choice(["given", "surname", "full name", "town"])
        case = random.choice(list(CASES))
        base = random.choice({"given": given, "town": towns}.get(kind, surnames))
        sort = {"town": "place", "full name": "surname"}.get(kind, kind)
        form = inflect(base, "fi", case, kind=sort)
        if not reads(form, CASES[case], kind == "town"):
            continue
        first = f"{random.choice(given)} " if kind == "full name" else ""
        label = "CITY" if kind == "town" else "PATIENT"
        yield Asked(f"{kind}, {case}", label, "Kirjaus: ", first + form, judge(CASES[case], kind == "town"))


def judge(case: str, local: bool) -> Callable[[str], bool | None]:
    """Return a function that judges whether a surrogate has a case."""
    return lambda made: reads(made.split()[-1], case, local)


def reads(form: str, case: str, local: bool) -> bool | None:
    """Test whether Voikko analyses a word as a name in a case; None if it knows no name of that form."""
    found = [a for a in voikko().analyze(form) if a.get("CLASS") in ("etunimi", "sukunimi", "paikannimi", "nimi")]
    if not found:
        return None
    cases = {a.get("SIJAMUOTO") for a in found if a.get("NUMBER") == "singular" or local}
    return case in cases or (local and OUTER.get(case, case) in {OUTER.get(c, c) for c in cases})


@cache
def voikko() -> Any:
    """Create the Voikko analyser without a word cache."""
    from libvoikko import Voikko

    return Voikko("fi")


def spanish(random: Random) -> Iterator[Asked]:
    """Yield names with a sex, and names with particles."""
    female, male, surnames = names("es_female"), names("es_male"), names("es_surname")
    linked = [name for name in counts("es_surname") if name.split()[0].lower() in PARTICLES and " " in name]
    double = [name for name in counts("es_female") if " de" in name]
    while True:
        sex, first, second = random.choice(["female", "male"]), random.choice(surnames), random.choice(surnames)
        given = random.choice(female if sex == "female" else male)
        particle = random.choice(linked)
        title = {"female": ["Dña. ", "Dra. ", ""], "male": ["D. ", "Dr. ", ""]}[sex]
        yield Asked(
            f"sex, {sex}", "PATIENT", "Paciente: " + random.choice(title), f"{given} {first} {second}", of_sex(sex)
        )
        yield Asked("particles, surname", "CLINICIAN", "la Dra. ", particle, surnames_are(1))
        yield Asked("particles, full name", "PATIENT", "Paciente: ", f"{given} {particle} {second}", after_given)
        yield Asked("particles, given name", "PATIENT", "Paciente: ", f"{random.choice(double)} {first}", double_given)


def of_sex(sex: str) -> Callable[[str], bool | None]:
    """Test whether a name begins with a given name more frequent for a sex; None if it is on no list."""
    other = {"female": "male", "male": "female"}[sex]

    def right(made: str) -> bool | None:
        words = made.split()
        head = next((n for n in (2, 1) if fold(" ".join(words[:n])) in folded(f"es_{sex}")), 1)
        name = fold(" ".join(words[:head]))
        same, opposite = folded(f"es_{sex}").get(name, 0), folded(f"es_{other}").get(name, 0)
        return same > opposite if same or opposite else None

    return right


def surnames_are(number: int) -> Callable[[str], bool]:
    """Test whether a text consists of a number of surnames, with particles as in the lists."""

    def right(made: str) -> bool:
        return number in parses(fold(made).split(), endings("es_surname"))

    return right


def after_given(made: str) -> bool:
    """Test whether a text is a given name and two surnames, as in the lists."""
    words = made.split()
    ends = (n for n in (1, 2, 3) if len(words) > n and words[n - 1].lower() not in PARTICLES)
    return any(surnames_are(2)(" ".join(words[n:])) for n in ends)


def double_given(made: str) -> bool:
    """Test whether a text is a woman's given name with particles as in the lists."""
    words = fold(made).split()
    if folded("es_female").get(words[0], 0) <= folded("es_male").get(words[0], 0):
        return False
    return 2 in parses(words[1:], endings("es_surname") | endings("es_female"))


def parses(words: Sequence[str], listed: AbstractSet[str]) -> set[int]:
    """Return the possible numbers of listed phrases into which words can be split."""
    ways: list[set[int]] = [{0}]
    for end in range(1, len(words) + 1):
        ways.append({n + 1 for s in range(end) if " ".join(words[s:end]) in listed for n in ways[s]})
    return ways[-1]


@cache
def endings(table: str) -> frozenset[str]:
    """Return the last word of each listed name with the preceding particles: "del Carmen" of "María del Carmen"."""
    found = set()
    for name in folded(table):
        words = name.split()
        start = len(words) - 1
        while start and words[start - 1] in PARTICLES:
            start -= 1
        found.add(" ".join(words[start:]))
    return frozenset(found)


@cache
def counts(table: str) -> Mapping[str, int]:
    """Read a list of names of the package, most frequent first, with counts."""
    lang, part = table.split("_")
    with (LANGUAGES / lang / "names" / f"{part}.csv").open(encoding="utf8", newline="") as file:
        return {row["name"]: int(row["count"]) for row in csv.DictReader(file)}


@cache
def folded(table: str) -> Mapping[str, int]:
    """Return `counts` without case and accents, with the names of groups of origin."""
    lang, sort = table.split("_")
    found = Counter(fold(name) for group in read_origins(lang).values() for name in group.get(sort, ()))
    for name, number in counts(table).items():
        found[fold(name)] += number
    return found


def names(table: str) -> list[str]:
    """Return the most frequent names of one word."""
    return [name for name in counts(table) if name.isalpha()][:COMMON]


def places() -> list[str]:
    """Return Finnish towns of one word."""
    with (LANGUAGES / "fi" / "synth" / "lists" / "places.csv").open(encoding="utf8", newline="") as file:
        return sorted({row["city"] for row in csv.DictReader(file) if row["city"].isalpha()})


if __name__ == "__main__":
    app()
