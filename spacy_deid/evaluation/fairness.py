"""Measure fairness by swapping names: compare the recall of names between origins, sexes and decades of birth.

The files of a language are

    lang/<lang>/fairness.txt            contexts, in the sections [patient], [relative] and [clinician]
    lang/<lang>/names/origins.toml      given names per sex and surnames of each group, given names of each decade

A context is a short note with slots for the name of one person. Each draw fills a context with a woman and a man of
every group and decade, so that differences in recall are due to the names alone. A mention is found if every letter of
it is covered, whatever the label. The bootstrap draws contexts instead of names, because the mentions of a context are
not independent (Efron and Tibshirani 1993, chapter 6; for the paired design see Xiao et al. 2023, arXiv:2305.11348).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from .counts import is_covered
from .documents import AnnotatedText, Entity
from .metrics import interval, ratio, resample
from .rows import MetricRow, with_interval

SEXES = ("female", "male")

Inflect = Callable[[str, str, str], str]

_LABELS = {"patient": "PATIENT", "relative": "RELATIVE", "clinician": "CLINICIAN"}
_TWO_SURNAMES = "two surnames"
_HEAD = re.compile(r"\[(.+)\]")
_SLOT = re.compile(
    r"\{(?:(?P<what>full|given|surname|formal)(?P<filters>(?::\w+)*)|sex\?(?P<m>[^{}|]*)\|(?P<f>[^{}|]*))\}"
)
_NAME_TYPES = {"full": "name", "formal": "name", "given": "given", "surname": "surname"}
_CASING: Mapping[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower}


@dataclass(frozen=True, slots=True)
class Context:
    """A short note in which the name of one person is left open, to be filled with names of different groups.

    label (str): canonical label of the name, "PATIENT", "RELATIVE" or "CLINICIAN".
    source (str): text of the note with its slots, such as "{full}" or "{surname:upper}".
    """

    label: str
    source: str


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a language (see `Context`), and the groups of origin whose members have two surnames.

    contexts (tuple[Context, ...]): in the order of the file.
    two_surnames (frozenset[str]): groups whose members have two surnames.
    """

    contexts: tuple[Context, ...]
    two_surnames: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pool:
    """The names of a group of people: those of one origin, or those born in one decade.

    axis (str): "origin" or "decade".
    name (str): name of the group or decade.
    given (Mapping[str, Sequence[str]]): given names by sex.
    surnames (Sequence[str]): surnames; for a decade, those of the first group of the language.
    count (int): number of surnames of a person.
    """

    axis: str
    name: str
    given: Mapping[str, Sequence[str]] = field(repr=False)
    surnames: Sequence[str] = field(repr=False)
    count: int


@dataclass(frozen=True, slots=True)
class Swap:
    """A note made by filling a context with the name of one person; see `Context`.

    context (int): index of the context.
    axis, pool (str): `axis` and `name` of the pool from which the name was drawn.
    sex (str): "female" or "male".
    note (AnnotatedText): the text, with each mention of the name as an entity.
    """

    context: int
    axis: str
    pool: str
    sex: str
    note: AnnotatedText


def load_contexts(lang: str) -> Contexts:
    """Load the contexts of a language. RAISES: ConfigError if there are none (D370) or a line is malformed (D371)."""
    text = get_language(lang).read_text("fairness.txt")
    if not text:
        raise ConfigError(Errors.D370.format(lang=lang, known=", ".join(language_codes("fairness.txt"))))
    return parse_contexts(text, "fairness.txt")


def parse_contexts(text: str, name: str) -> Contexts:
    """Parse the text of a fairness.txt; `name` is the file name for error messages.

    RAISES: ConfigError (D371) for a line outside a known section, a line without a slot for a name, or an invalid
        brace.
    """
    contexts: list[Context] = []
    two: set[str] = set()
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            section = head[1]
        elif section == _TWO_SURNAMES:
            two.update(line.split())
        elif section not in _LABELS:
            raise ConfigError(Errors.D371.format(path=name, line=number, reason=f"not in a section {list(_LABELS)}"))
        elif not any(match["what"] for match in _SLOT.finditer(line)) or {"{", "}"} & set(_SLOT.sub("", line)):
            raise ConfigError(Errors.D371.format(path=name, line=number, reason="no slot for a name, or a broken one"))
        else:
            contexts.append(Context(_LABELS[section], line.replace("\\n", "\n")))
    return Contexts(tuple(contexts), frozenset(two))


def load_pools(lang: str, two_surnames: frozenset[str]) -> list[Pool]:
    """Load the names of a language, in one pool per group of origin and then one per decade of birth.

    lang (str): language code.
    two_surnames (frozenset[str]): groups whose members have two surnames.
    RAISES: ConfigError (D370) if the language has no file of names.
    """
    origins = get_language(lang).read_toml("names/origins.toml")
    if not origins:
        raise ConfigError(Errors.D370.format(lang=lang, known=", ".join(language_codes("names/origins.toml"))))
    groups = [
        Pool("origin", name, group, group["surname"], 1 + (name in two_surnames))
        for name, group in origins["groups"].items()
    ]
    first = groups[0]
    decades = origins["decades"].items()
    return groups + [Pool("decade", name, given, first.surnames, first.count) for name, given in decades]


def blend(first: str, second: str, rng: Random) -> str:
    """Invent a name from the beginning of one name and the end of another, to test names that are on no list.

    first, second (str): names of the same group.
    rng (Random): random generator.
    RETURNS (str): the new name; `first` if a name has fewer than four characters or other characters than letters.
    """
    if not (first.isalpha() and second.isalpha() and min(len(first), len(second)) > 3):
        return first
    return first[: rng.randint(2, len(first) - 2)] + second[-rng.randint(2, len(second) - 2) :].lower()


def draw_swaps(
    contexts: Sequence[Context], pools: Sequence[Pool], n: int, seed: int, inflect: Inflect, unlisted: bool = False
) -> Iterator[Swap]:
    """Fill contexts with random names, cycling through the contexts. The same seed gives the same notes.

    contexts (Sequence[Context]): contexts to fill.
    pools (Sequence[Pool]): names to draw from.
    n (int): number of draws for each pool and sex.
    seed (int): seed of the random generator.
    inflect (Inflect): function that inflects a name, called with text, case and name type.
    unlisted (bool): whether to invent names with `blend`, because a model may have seen the listed ones.
    YIELDS (Swap): one filled note for each draw, pool and sex.
    """
    for i in range(n):
        number = i % len(contexts)
        for pool in pools:
            for sex in SEXES:
                rng = Random(f"{seed} {i} {pool.name} {sex}")
                given, surnames = rng.choice(pool.given[sex]), rng.sample(pool.surnames, pool.count)
                if unlisted:
                    given = blend(given, rng.choice(pool.given[sex]), rng)
                    surnames = [blend(name, rng.choice(pool.surnames), rng) for name in surnames]
                surname = " ".join(surnames)
                note = fill(contexts[number], f"{i}-{pool.name}-{sex}", given, surname, sex, inflect)
                yield Swap(number, pool.axis, pool.name, sex, note)


def fill(context: Context, name: str, given: str, surname: str, sex: str, inflect: Inflect) -> AnnotatedText:
    """Fill the slots of a context with the name of one person, and annotate the name.

    context (Context): the context.
    name (str): name of the resulting document.
    given, surname (str): the name of the person.
    sex (str): "female" or "male".
    inflect (Inflect): see `draw_swaps`.
    RETURNS (AnnotatedText): the note, with each mention of the name as an entity.
    """
    texts = {"full": f"{given} {surname}", "given": given, "surname": surname, "formal": f"{surname}, {given}"}
    parts: list[str] = []
    entities: list[Entity] = []
    last = length = 0

    for match in _SLOT.finditer(context.source):
        literal = context.source[last : match.start()]
        what = match["what"]
        value = texts[what] if what else match["f" if sex == "female" else "m"]
        for filter_name in match["filters"].split(":")[1:] if what else ():  # "upper", "lower", or a grammatical case
            change = _CASING.get(filter_name)
            value = change(value) if change else inflect(value, filter_name, _NAME_TYPES[what])
        start = length + len(literal)
        parts += [literal, value]
        length, last = start + len(value), match.end()
        if what:
            entities.append(Entity(start, length, context.label))
    return AnnotatedText(name, "".join([*parts, context.source[last:]]), tuple(entities))


AXES = {"origin": "origin groups", "decade": "decades of birth", "sex": "sexes"}
TARGET = 0.01

Counts = NDArray[np.int64]


def count_found(swap: Swap, found: Iterable[Entity]) -> tuple[int, int]:
    """Return the number of mentions of the name that the predicted entities fully cover, and that of all mentions."""
    found, mentions = list(found), swap.note.entities
    return sum(is_covered(swap.note.text, mention, found) for mention in mentions), len(mentions)


def measure(
    results: Iterable[tuple[Swap, tuple[int, int]]], contexts: int, *, bootstrap: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Compare recall between groups of origin, decades of birth and sexes.

    results (Iterable[tuple[Swap, tuple[int, int]]]): each filled note with the result of `count_found`.
    contexts (int): number of contexts.
    bootstrap (int): number of replicates for the 95 % intervals.
    seed (int): seed of the random generator.
    RETURNS (dict): result of `compare` by axis ("origin", "decade", "sex"); sexes are compared on the groups of
        origin.
    """
    tables: dict[str, dict[str, Counts]] = {axis: {} for axis in AXES}
    tables["sex"] = {sex: np.zeros((contexts, 2), dtype=np.int64) for sex in SEXES}
    for swap, counts in results:
        table = tables[swap.axis].setdefault(swap.pool, np.zeros((contexts, 2), dtype=np.int64))
        table[swap.context] += counts
        if swap.axis == "origin":
            tables["sex"][swap.sex][swap.context] += counts
    return {axis: compare(table, bootstrap, seed) for axis, table in tables.items()}


def compare(counts: Mapping[str, Counts], bootstrap: int, seed: int) -> dict[str, Any]:
    """Compare the recall of groups whose names were filled into the same contexts.

    counts (Mapping[str, Counts]): group → number of found and of all mentions in each context, shape (contexts, 2).
    bootstrap (int): number of replicates for the 95 % intervals.
    seed (int): seed of the random generator.
    RETURNS (dict): "groups", each with "found", "mentions", "recall" and the "difference" from all groups together;
        "pairs", each with "higher", "lower" and "difference"; "largest", the pair with the largest difference. Figures
        have a "ci". The interval of the largest difference is that of the largest difference in each replicate,
        whichever pair it is, because the pair was selected for its difference.
    """
    names = list(counts)
    table = np.stack([counts[name] for name in names], axis=1)
    total, replicates = table.sum(axis=0), resample(table, bootstrap, seed)

    def share(found: Counts) -> NDArray[np.float64]:  # found mentions / mentions, on the last axis
        return ratio(found[..., 0], found[..., 1])

    recall, recalls = share(total), share(replicates)
    gap = recall - share(total.sum(axis=0))
    gaps = recalls - share(replicates.sum(axis=1))[:, None]
    groups = {
        name: {
            "found": int(total[i, 0]),
            "mentions": int(total[i, 1]),
            "recall": _figure(recall[i], recalls[:, i]),
            "difference": _figure(gap[i], gaps[:, i]),
        }
        for i, name in enumerate(names)
    }
    pairs: list[dict[str, Any]] = []
    for one, other in combinations(range(len(names)), 2):
        i, j = (other, one) if recall[one] < recall[other] else (one, other)
        difference = _figure(recall[i] - recall[j], recalls[:, i] - recalls[:, j])
        pairs.append({"higher": names[i], "lower": names[j], "difference": difference})
    largest = max(pairs, key=lambda pair: pair["difference"]["value"])
    spread = _figure(largest["difference"]["value"], recalls.max(axis=1) - recalls.min(axis=1))
    return {"groups": groups, "pairs": pairs, "largest": largest | {"difference": spread}}


def _figure(value: float, replicates: NDArray[np.float64]) -> dict[str, Any]:
    """Return a dict with a figure ("value") and the 95 % interval of its bootstrap replicates ("ci")."""
    return {"value": float(value), "ci": interval(replicates)}


def make_rows(
    result: Mapping[str, Any], *, lang: str, names: str, n: int, seed: int, command: str, date: str
) -> list[MetricRow]:
    """Convert the result of a fairness measurement to rows of a metrics file.

    result (Mapping): result of `measure`.
    lang (str): language of the contexts.
    names (str): "listed" or "unlisted".
    n, seed (int): number of draws per group and sex, and their seed.
    command, date (str): as in `MetricRow`.
    RETURNS (list[MetricRow]): the largest differences, then recall and difference of each group.
    """
    rest: dict[str, Any] = {"data": f"{names} names, {n} draws", "split": lang, "command": command, "date": date}
    rows = []
    for axis, kinds in AXES.items():
        largest = result[axis]["largest"]["difference"]
        name = f"largest recall difference between two {kinds}"
        row = MetricRow(name, round(largest["value"], 4), TARGET, "lower", **rest)
        rows += with_interval(row, [round(end, 4) for end in largest["ci"] or ()])
    for axis in AXES:
        for group, figures in result[axis]["groups"].items():
            for key, name in (("recall", "recall of names"), ("difference", "recall difference to all names")):
                row = MetricRow(f"{name}, {group}", round(figures[key]["value"], 4), None, "higher", **rest)
                rows.append(row)
    return rows


def format_fairness(result: Mapping[str, Any]) -> str:
    """Format the result of `measure` as a plain text table."""
    lines = []
    for axis, kinds in AXES.items():
        lines.append(f"{kinds:<32}{'mentions':>9}{'recall':>9}  {'to all':<26}")
        for group, figures in result[axis]["groups"].items():
            recall, gap = figures["recall"]["value"], _format_difference(figures["difference"])
            lines.append(f"  {group:<30}{figures['mentions']:>9}{recall:>9.4f}  {gap}")
        largest = result[axis]["largest"]
        between = f"{largest['higher']} – {largest['lower']}"
        lines += [f"  largest difference: {_format_difference(largest['difference'])}  {between}", ""]
    return "\n".join(lines)


def _format_difference(figure: Mapping[str, Any]) -> str:
    """Format a difference with its sign and its confidence interval."""
    interval_ = "" if figure["ci"] is None else " [{:+.4f}, {:+.4f}]".format(*figure["ci"])
    return f"{figure['value']:+.4f}{interval_}"
