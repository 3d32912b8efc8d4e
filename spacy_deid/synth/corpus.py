"""Generate a reproducible stream of notes: from templates, from loose sentences, and from carriers.

A carrier is a real note into which identifiers are injected: sentences between its sentences, clauses after words, a
header and a footer around it. The offsets of the carrier's own entities are adjusted, and nothing is injected inside
or directly next to one.

Each note has its own random generator, seeded with language, split, seed and number, so the same arguments make the
same notes on every machine, and the first hundred notes of a thousand are those of a stream of a hundred.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, Entity
from .authored import AuthoredNote
from .identity import Case
from .language import Language, Template, load_language, split_of_carrier
from .markup import Writer, slots
from .noise import add_noise
from .refill import refill
from .values import Filler

SPLITS = ("train", "dev", "test")
Prelabel = Callable[[str], list[Entity]]

_SENTENCE_END = re.compile(r"[.!?](?=[ \n])")
_WORDS_PER_SENTENCE = 45


def make_corpus(
    lang: str,
    n: int,
    seed: int,
    split: str = "train",
    *,
    carriers: Iterable[tuple[str, str]] = (),
    prelabel: Prelabel | None = None,
    carrier_share: float = 0.5,
    noise: float = 0.2,
    folder: Path | None = None,
) -> Iterator[AnnotatedText]:
    """Generate notes with invented, annotated identifiers from templates and carriers (real notes).

    lang (str): code of a language with templates.
    n (int): number of notes.
    seed (int): seed of the random generators.
    split (str): "train", "dev" or "test": determines the templates, carriers and rare names that are used.
    carriers (Iterable[tuple[str, str]]): name and text of real notes, see `carriers`. The name determines the split.
    prelabel (Callable[[str], list[Entity]] | None): finds the own identifiers of a carrier, which are added to the
        gold; None to add none.
    carrier_share (float): share of the notes that are carriers, if there are any.
    noise (float): share of the notes with typing or scanning errors.
    folder (Optional[Path]): folder with one folder per language; None for the languages of the package.
    YIELDS (AnnotatedText): notes named by language, split, seed and number.
    RAISES: ConfigError if the language (D602) or the split (D605) is unknown, or the split has no templates (D606) or
        nothing to inject into carriers (D610); InputError if carriers are given but none belongs to the split (D609).
    """
    if split not in SPLITS:
        raise ConfigError(Errors.D605.format(split=split, known=", ".join(SPLITS)))
    language = load_language(lang, folder)
    if not any(template.split == split for template in language.notes):
        raise ConfigError(Errors.D606.format(lang=lang, split=split))
    given = list(carriers)
    usable = [(name, text) for name, text in given if split_of_carrier(name, language) == split and text.strip()]
    if given and not usable:
        raise InputError(Errors.D609.format(split=split, count=len(given)))
    if given:
        check_injection(language, split)
    # labels of carriers are mapped to those that the templates of the language use; "" drops the entity
    fold = language.settings.get("fold", {})
    for i in range(n):
        rng = Random(f"{lang}/{split}/{seed}/{i}")
        name = f"{lang}-{split}-{seed}-{i:05}"
        if usable and rng.random() < carrier_share:
            text = rng.choice(usable)[1]
            labels = ((e, fold.get(e.label, e.label)) for e in (prelabel(text) if prelabel else ()))
            entities = tuple(Entity(e.start, e.end, label) for e, label in labels if label)
            note = carry(AnnotatedText(name, text, entities), language, rng, split)
        else:
            note = drop_unused(make_note(language, rng, split, name), language)
        note = widen_ages(note, language)
        yield add_noise(note, rng) if rng.random() < noise else note


def make_authored_corpus(
    notes: Sequence[AuthoredNote], seed: int, turn: int, *, noise: float = 0.0
) -> Iterator[AnnotatedText]:
    """Generate one note from each authored note (written by hand): the note itself, or one with other values.

    notes (Sequence[AuthoredNote]): the authored notes.
    seed (int): seed of the random generators.
    turn (int): 0 for the notes as they were written; every other number fills them with different values.
    noise (float): share of the notes with typing or scanning errors.
    YIELDS (AnnotatedText): notes named by their brief, their number and the turn.
    """
    for note in notes:
        rng = Random(f"authored/{seed}/{turn}/{note.name}")
        made = replace(refill(note, rng) if turn else note.annotated(), name=f"{note.name}-{turn:02}")
        yield add_noise(made, rng) if rng.random() < noise else made


def check_injection(language: Language, split: str) -> None:
    """Check that a language has text to inject into carriers of a split. RAISES: ConfigError (D610) if not."""
    if not any((*_injectable(language, split), *_of_split(language.frames, split))):
        raise ConfigError(Errors.D610.format(lang=language.lang, split=split))


def drop_unused(note: AnnotatedText, language: Language) -> AnnotatedText:
    """Remove entities with labels that the language does not use (``[unused]`` in language.toml)."""
    unused = language.get("unused", "labels", ())
    return replace(note, entities=tuple(e for e in note.entities if e.label not in unused))


def widen_ages(note: AnnotatedText, language: Language) -> AnnotatedText:
    """Extend each age to the unit that follows it (``[ages] unit`` in language.toml): "68" to "68-year-old"."""
    unit = language.get("ages", "unit", "")
    if not unit:
        return note
    after = re.compile(unit)
    entities = []
    for entity in note.entities:
        match = after.match(note.text, entity.end) if entity.label == "AGE" else None
        following = min((e.start for e in note.entities if e.start >= entity.end), default=len(note.text))
        entities.append(replace(entity, end=match.end()) if match and match.end() <= following else entity)
    return replace(note, entities=tuple(entities))


def make_note(language: Language, rng: Random, split: str, name: str) -> AnnotatedText:
    """Generate a note from a template, or with probability .2 from one to seven unrelated sentences.

    language (Language): templates and lists of the language.
    rng (Random): random generator.
    split (str): one of `SPLITS`.
    name (str): name of the note.
    RETURNS (AnnotatedText): the note.
    """
    sentences = _of_split(language.sentences, split)
    if sentences and rng.random() < 0.2:
        chosen = [rng.choice(sentences) for _ in range(rng.randint(1, 7))]
        gap = rng.choice((" ", " ", "\n"))
        nodes = [node for template in chosen for node in (*template.nodes, gap)][:-1]
        return render_template(Template(name, tuple(nodes), split), language, rng, split, name)
    by_type: dict[str, list[Template]] = {}
    for template in _of_split(language.notes, split):
        by_type.setdefault(template.name.partition(".")[0], []).append(template)
    return render_template(rng.choice(by_type[rng.choice(sorted(by_type))]), language, rng, split, name)


def render_template(template: Template, language: Language, rng: Random, split: str, name: str) -> AnnotatedText:
    """Generate a note by filling a template with invented persons.

    template (Template): the template.
    language (Language): templates and lists of its language.
    rng (Random): random generator.
    split (str): "train" or "test".
    name (str): name of the note.
    RETURNS (AnnotatedText): the note.
    """
    case = Case(language, rng, split, asks_of([template]), template.directives)
    writer = Writer()
    Filler(case).write(template.nodes, writer)
    return writer.finish(name)


def asks_of(templates: Iterable[Template]) -> set[tuple[str, str]]:
    """Return the (person, attribute) pairs that occur as slots in templates, such as ("patient", "age")."""
    return {(slot.who, slot.what) for template in templates for slot in slots(template.nodes)}


def carry(body: AnnotatedText, language: Language, rng: Random, split: str) -> AnnotatedText:
    """Insert identifiers of invented persons into a carrier (a real note).

    body (AnnotatedText): the carrier, with its own identifiers as entities.
    language (Language): templates and lists of its language.
    rng (Random): random generator.
    split (str): one of `SPLITS`.
    RETURNS (AnnotatedText): the note and all its entities.
    """
    sentences, clauses = _injectable(language, split)
    frames = _of_split(language.frames, split)
    return drop_unused(inject(body, sentences, clauses, language, rng, split, frames), language)


def _of_split(templates: Sequence[Template], split: str) -> list[Template]:
    """Select the templates of one split: "train", "dev" or "test"."""
    return [template for template in templates if template.split == split]


def _injectable(language: Language, split: str) -> tuple[list[Template], list[tuple[str, Template]]]:
    """Return the templates of a split that can be inserted into real notes: sentences, and clauses as pairs of the
    word after which a clause is inserted and its template. Without sentences, lines of its note templates are used.
    """
    clauses = [(word, clause) for word, clause in language.clauses if clause.split == split]
    return _of_split(language.sentences, split) or _of_split(language.lines, split), clauses


def inject(
    carrier: AnnotatedText,
    sentences: list[Template],
    clauses: list[tuple[str, Template]],
    language: Language,
    rng: Random,
    split: str,
    frames: list[Template],
) -> AnnotatedText:
    """Insert sentences and clauses with invented identifiers into a carrier; add a frame with probability .6.

    carrier (AnnotatedText): the real note, with its own identifiers as entities.
    sentences (list[Template]): sentences to insert between its sentences.
    clauses (list[tuple[str, Template]]): a word, and a clause to insert after that word.
    language (Language): templates and lists of the language.
    rng (Random): random generator.
    split (str): "train" or "test".
    frames (list[Template]): headers and footers with a slot {note.body}.
    RETURNS (AnnotatedText): the note and all its entities.
    """
    count = rng.randint(1, 2 + len(carrier.text.split()) // _WORDS_PER_SENTENCE)
    chosen = [rng.choice(sentences) for _ in range(min(count, 14))] if sentences else []
    around = rng.choice(frames) if frames and rng.random() < 0.6 else None
    used = [*chosen, *(clause for _, clause in clauses), *([around] if around else [])]
    filler = Filler(Case(language, rng, split, asks_of(used)))
    # offset in the carrier, template, whether it is a sentence that follows another
    pieces = [(at, template, at > 0) for at, template in zip(_ends(carrier, rng, len(chosen)), chosen, strict=False)]
    pieces += [(at, clause, False) for at, clause in _anchors(carrier, clauses, rng)]
    writer, last = Writer(), 0
    moved: list[Entity] = []
    for at, template, separate in [*sorted(pieces, key=lambda piece: piece[0]), (len(carrier.text), None, False)]:
        shift = writer.length - last
        inside = (e for e in carrier.entities if last <= e.start and e.end <= at)
        moved += [Entity(e.start + shift, e.end + shift, e.label) for e in inside]
        writer.write(carrier.text[last:at])
        if separate:
            writer.write(rng.choice((" ", " ", " ", "\n")))
        if template:
            filler.write(template.nodes, writer)
        last = at
    writer.entities += moved
    body = writer.finish(carrier.name)
    if around is None:
        return body
    writer = Writer()
    cut = next(i for i, node in enumerate(around.nodes) if getattr(node, "what", "") == "body")
    filler.write(around.nodes[:cut], writer)
    shift = writer.length
    writer.write(body.text)
    writer.entities += [Entity(e.start + shift, e.end + shift, e.label) for e in body.entities]
    filler.write(around.nodes[cut + 1 :], writer)
    return writer.finish(body.name)


def _ends(carrier: AnnotatedText, rng: Random, count: int) -> list[int]:
    """Draw up to `count` offsets of sentence ends that do not touch an entity, in increasing order."""

    def ends_sentence(end: int) -> bool:  # a capital follows, and no abbreviation or initial precedes
        word = re.search(r"\S+$", carrier.text[: end - 1])
        follows = carrier.text[end:].lstrip()[:1]
        return bool(word and len(word[0]) > 3 and (not follows or follows.isupper()))

    ends = [match.end() for match in _SENTENCE_END.finditer(carrier.text)]
    ends = [end for end in ends if _is_free(carrier, end) and ends_sentence(end)]
    ends.append(len(carrier.text.rstrip()))
    return sorted(rng.sample(ends, min(count, len(ends))))


def _is_free(carrier: AnnotatedText, at: int) -> bool:
    """Test whether text can be inserted at an offset: it must not split or touch an entity of the carrier."""
    return all(at < entity.start or at > entity.end + 1 for entity in carrier.entities)


def _anchors(
    carrier: AnnotatedText, clauses: list[tuple[str, Template]], rng: Random, most: int = 3
) -> list[tuple[int, Template]]:
    """Draw up to `most` clauses to insert, each with an offset directly after an occurrence of its word."""
    found: dict[int, Template] = {}
    for word, clause in rng.sample(clauses, min(len(clauses), 12)):
        places = [m.end() for m in re.finditer(rf"\b{re.escape(word)}(?=[ ,.;])", carrier.text)]
        places = [at for at in places if _is_free(carrier, at)]
        if places and len(found) < most:
            found[rng.choice(places)] = clause
    return sorted(found.items(), key=lambda item: item[0])
