"""A seeded stream of notes: templates, loose sentences, carriers with identifiers put in, typed by many hands.

Each note has its own source of chance, made from language, split, seed and number, so the same arguments make the same
notes on every machine, and the first hundred of a thousand are the hundred.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, Entity
from .inject import inject, render_template
from .language import Language, Template, load_language, split_of_carrier
from .noise import add_noise

__all__ = ["SPLITS", "carry", "check_injection", "drop_unused", "make_corpus", "make_note"]

SPLITS = ("train", "dev", "test")
Prelabel = Callable[[str], list[Entity]]


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
    """Make notes with gold PHI.

    lang (str): code of a language that the workshop knows.
    n (int): how many.
    seed (int): the seed.
    split (str): "train", "dev" or "test": which templates, carriers and rare names are used.
    carriers (Iterable[tuple[str, str]]): name and text of real notes to put identifiers into, see `carriers`. The name
        decides the split.
    prelabel (Callable[[str], list[Entity]] | None): finds what a carrier holds of its own; it becomes gold.
    carrier_share (float): share of the notes that are carriers, where there are any.
    noise (float): share of the notes that are typed badly.
    folder (Optional[Path]): folder with one folder per language; None for the languages of the package.
    YIELDS (AnnotatedText): the notes, named by language, split, seed and number.
    RAISES: ConfigError if the language (D602) or the split (D605) is unknown, or the split has no templates (D606) or
        nothing to put into carriers (D610); InputError if there are carriers and none is of the split (D609).
    """
    if split not in SPLITS:
        raise ConfigError(Errors.D605.format(split=split, known=", ".join(SPLITS)))
    language = load_language(lang, folder)
    if not any(template.split == split for template in language.notes):
        raise ConfigError(Errors.D606.format(lang=lang, split=split))
    usable = _usable(carriers, language, split)
    for i in range(n):
        rng = Random(f"{lang}/{split}/{seed}/{i}")
        name = f"{lang}-{split}-{seed}-{i:05}"
        if usable and rng.random() < carrier_share:
            text = rng.choice(usable)[1]
            body = AnnotatedText(name, text, tuple(_folded(prelabel(text), language) if prelabel else ()))
            note = carry(body, language, rng, split)
        else:
            note = drop_unused(make_note(language, rng, split, name), language)
        yield add_noise(note, rng) if rng.random() < noise else note


def _usable(carriers: Iterable[tuple[str, str]], language: Language, split: str) -> list[tuple[str, str]]:
    """The carriers of a split. Without any, or with nothing to put in, other notes than those asked for would come."""
    given = list(carriers)
    usable = [(name, text) for name, text in given if split_of_carrier(name, language) == split and text.strip()]
    if given and not usable:
        raise InputError(Errors.D609.format(split=split, count=len(given)))
    if given:
        check_injection(language, split)
    return usable


def check_injection(language: Language, split: str) -> None:
    """Make sure that there is something to put into carriers.

    language (Language): the language. split (str): one of `SPLITS`.
    RAISES: ConfigError (D610).
    """
    if not any((*_to_put_in(language, split), *_of(language.frames, split))):
        raise ConfigError(Errors.D610.format(lang=language.lang, split=split))


def drop_unused(note: AnnotatedText, language: Language) -> AnnotatedText:
    """Take the labels away that no note of a language has, whatever its templates say.

    note (AnnotatedText): the note. language (Language): the language.
    RETURNS (AnnotatedText): the same text.
    """
    unused = language.get("unused", "labels", ())
    return replace(note, entities=tuple(e for e in note.entities if e.label not in unused))


def _folded(entities: Iterable[Entity], language: Language) -> Iterator[Entity]:
    """What a carrier holds, in the labels that the language's templates use; those that fold into "" are left out."""
    fold = language.settings.get("fold", {})
    for entity in entities:
        if label := fold.get(entity.label, entity.label):
            yield Entity(entity.start, entity.end, label)


def make_note(language: Language, rng: Random, split: str, name: str) -> AnnotatedText:
    """Make a note without a carrier: from a template, or of loose sentences.

    language (Language): the language. rng (Random): the source of chance. split (str): one of `SPLITS`.
    name (str): name of the note.
    RETURNS (AnnotatedText): the note.
    """
    sentences = _of(language.sentences, split)
    if sentences and rng.random() < 0.2:
        return _loose(sentences, language, rng, split, name)
    by_type: dict[str, list[Template]] = {}
    for template in _of(language.notes, split):
        by_type.setdefault(template.name.partition(".")[0], []).append(template)
    return render_template(rng.choice(by_type[rng.choice(sorted(by_type))]), language, rng, split, name)


def _of(templates: Sequence[Template], split: str) -> list[Template]:
    """The templates of a split."""
    return [template for template in templates if template.split == split]


def _loose(sentences: list[Template], language: Language, rng: Random, split: str, name: str) -> AnnotatedText:
    """A note of sentences that follow each other in no order."""
    blank = Template(name, (), split)
    chosen = [rng.choice(sentences) for _ in range(rng.randint(1, 7))]
    gap = rng.choice((" ", " ", "\n"))
    nodes = [node for template in chosen for node in (*template.nodes, gap)][:-1]
    whole = Template(blank.name, tuple(nodes), split)
    return render_template(whole, language, rng, split, name)


def carry(body: AnnotatedText, language: Language, rng: Random, split: str) -> AnnotatedText:
    """Put identifiers into a carrier.

    body (AnnotatedText): the carrier and what it holds of its own. language (Language): its language.
    rng (Random): the source of chance. split (str): one of `SPLITS`.
    RETURNS (AnnotatedText): the note and all its entities.
    """
    sentences, clauses = _to_put_in(language, split)
    return drop_unused(inject(body, sentences, clauses, language, rng, split, _of(language.frames, split)), language)


def _to_put_in(language: Language, split: str) -> tuple[list[Template], list[tuple[str, Template]]]:
    """The sentences and clauses of a split; without sentences of its own, lines of its templates."""
    clauses = [(word, clause) for word, clause in language.clauses if clause.split == split]
    return _of(language.sentences, split) or _of(language.lines, split), clauses
