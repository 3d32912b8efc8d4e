"""Short notes in which the name alone changes: by group of origin, by sex and by decade of birth.

    lang/<lang>/fairness.txt            contexts, in the sections [patient], [relative] and [clinician]
    lang/<lang>/names/origins.toml      given names per sex and surnames of each group, given names of each decade

Each draw is one context; every group and every decade gets a woman and a man in it, so that a difference between two
of them is a difference of names and of nothing else.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from .documents import AnnotatedText, Entity

__all__ = [
    "SEXES",
    "Context",
    "Contexts",
    "Inflect",
    "Pool",
    "Swap",
    "blend",
    "draw_swaps",
    "load_contexts",
    "load_pools",
]

SEXES = ("female", "male")

Inflect = Callable[[str, str, str], str]

_LABELS = {"patient": "PATIENT", "relative": "RELATIVE", "clinician": "CLINICIAN"}
_TWO = "two surnames"
_HEAD = re.compile(r"\[(.+)\]")
_SLOT = re.compile(
    r"\{(?:(?P<what>full|given|surname|formal)(?P<filters>(?::\w+)*)|sex\?(?P<m>[^{}|]*)\|(?P<f>[^{}|]*))\}"
)
_KINDS = {"full": "name", "formal": "name", "given": "given", "surname": "surname"}
_LETTERS: Mapping[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower}


@dataclass(frozen=True, slots=True)
class Context:
    """A short note with slots for one person.

    label (str): canonical label of the names in it.
    source (str): the note, with its slots.
    """

    label: str
    source: str


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a language.

    contexts (tuple[Context, ...]): in the order of the file.
    two_surnames (frozenset[str]): groups whose members bear two surnames.
    """

    contexts: tuple[Context, ...]
    two_surnames: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pool:
    """Names that one group or decade draws from.

    axis (str): "origin" or "decade".
    name (str): name of the group or decade.
    given (Mapping[str, Sequence[str]]): given names by sex.
    surnames (Sequence[str]): surnames; those of a decade are of the language's first group.
    count (int): surnames that a person bears.
    """

    axis: str
    name: str
    given: Mapping[str, Sequence[str]] = field(repr=False)
    surnames: Sequence[str] = field(repr=False)
    count: int


@dataclass(frozen=True, slots=True)
class Swap:
    """A note with one person's name in it.

    context (int): number of the context.
    axis, pool, sex (str): whose name it is.
    note (AnnotatedText): the text, and each mention of the name as an entity.
    """

    context: int
    axis: str
    pool: str
    sex: str
    note: AnnotatedText


def load_contexts(lang: str) -> Contexts:
    """Read the contexts of a language.

    lang (str): code of the language.
    RETURNS (Contexts): the contexts.
    RAISES: ConfigError if there are none (D370) or a line cannot be read (D371).
    """
    text = get_language(lang).read_text("fairness.txt")
    if not text:
        raise ConfigError(Errors.D370.format(lang=lang, known=", ".join(language_codes("fairness.txt"))))
    return parse_contexts(text, "fairness.txt")


def parse_contexts(text: str, name: str) -> Contexts:
    """Parse the lines of a file of contexts.

    text (str): the file.
    name (str): its name, for the error.
    RETURNS (Contexts): the contexts.
    RAISES: ConfigError (D371) for a line before the first section, an unknown section, a line without a slot for a
        name, or with a brace that belongs to none.
    """
    contexts: list[Context] = []
    two: set[str] = set()
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            section = head[1]
        elif section == _TWO:
            two.update(line.split())
        elif section not in _LABELS:
            raise ConfigError(Errors.D371.format(path=name, line=number, reason=f"not in a section {list(_LABELS)}"))
        elif not any(match["what"] for match in _SLOT.finditer(line)) or {"{", "}"} & set(_SLOT.sub("", line)):
            raise ConfigError(Errors.D371.format(path=name, line=number, reason="no slot for a name, or a broken one"))
        else:
            contexts.append(Context(_LABELS[section], line.replace("\\n", "\n")))
    return Contexts(tuple(contexts), frozenset(two))


def load_pools(lang: str, two_surnames: frozenset[str]) -> list[Pool]:
    """Read the names of a language.

    lang (str): code of the language.
    two_surnames (frozenset[str]): groups whose members bear two surnames.
    RETURNS (list[Pool]): groups of origin, then decades.
    RAISES: ConfigError (D370) if there are none.
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
    """A name that nobody has listed, the front of one and the end of another.

    first, second (str): names of one group.
    rng (Random): the source of chance.
    RETURNS (str): the new name; `first` if either is short or more than letters.
    """
    if not (first.isalpha() and second.isalpha() and min(len(first), len(second)) > 3):
        return first
    return first[: rng.randint(2, len(first) - 2)] + second[-rng.randint(2, len(second) - 2) :].lower()


def draw_swaps(
    contexts: Sequence[Context], pools: Sequence[Pool], n: int, seed: int, inflect: Inflect, unlisted: bool = False
) -> Iterator[Swap]:
    """Draw names into contexts. The contexts take turns; the same seed gives the same notes.

    contexts (Sequence[Context]): the contexts.
    pools (Sequence[Pool]): the names.
    n (int): draws for each pool and sex.
    seed (int): seed of the draws.
    inflect (Inflect): puts a name (text, case, kind of name) in a case.
    unlisted (bool): whether to blend the names of a group to new ones: a model may have seen the listed ones.
    YIELDS (Swap): notes.
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
    """Put one person's name into a context.

    context (Context): the context.
    name (str): name of the note.
    given, surname, sex (str): the person.
    inflect (Inflect): puts a name in a case.
    RETURNS (AnnotatedText): the note; each mention of the name is an entity.
    """
    texts = {"full": f"{given} {surname}", "given": given, "surname": surname, "formal": f"{surname}, {given}"}
    parts: list[str] = []
    entities: list[Entity] = []
    last = length = 0

    for match in _SLOT.finditer(context.source):
        literal = context.source[last : match.start()]
        what = match["what"]
        value = (
            _filtered(texts[what], what, match["filters"], inflect) if what else match["f" if sex == "female" else "m"]
        )
        start = length + len(literal)
        parts += [literal, value]
        length, last = start + len(value), match.end()
        if what:
            entities.append(Entity(start, length, context.label))
    return AnnotatedText(name, "".join([*parts, context.source[last:]]), tuple(entities))


def _filtered(text: str, what: str, filters: str, inflect: Inflect) -> str:
    """Apply the filters of a slot in their order: letters, or else a case."""
    for name in filters.split(":")[1:]:
        change = _LETTERS.get(name)
        text = change(text) if change else inflect(text, name, _KINDS[what])
    return text
