"""A seeded stream of notes: templates, loose sentences, carriers with identifiers put in, typed by many hands.

Each note has its own source of chance, made from language, split, seed and number, so the same arguments make the same
notes on every machine, and the first hundred of a thousand are the hundred.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText, Entity
from .inject import inject, render_template
from .language import LANGUAGES, Language, Template, load_language, split_of
from .noise import add_noise

__all__ = ["SPLITS", "make_corpus", "make_note"]

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
    folder: Path = LANGUAGES,
) -> Iterator[AnnotatedText]:
    """Make notes with gold PHI.

    lang (str): code of a language that the workshop knows.
    n (int): how many.
    seed (int): the seed.
    split (str): "train", "dev" or "test": which templates, carriers and rare names are used.
    carriers (Iterable[tuple[str, str]]): name and text of real notes to put identifiers into, see `carriers`.
    prelabel (Callable[[str], list[Entity]] | None): finds what a carrier holds of its own; it becomes gold.
    carrier_share (float): share of the notes that are carriers, where there are any.
    noise (float): share of the notes that are typed badly.
    folder (Path): where the languages are.
    YIELDS (AnnotatedText): the notes, named by language, split, seed and number.
    RAISES: ConfigError if the language (D602) or the split (D605) is unknown, or the split has no templates (D606).
    """
    if split not in SPLITS:
        raise ConfigError(Errors.D605.format(split=split, known=", ".join(SPLITS)))
    language = load_language(lang, folder)
    if not any(template.split == split for template in language.notes):
        raise ConfigError(Errors.D606.format(lang=lang, split=split))
    usable = [(name, text) for name, text in carriers if split_of(name) == split and text.strip()]
    for i in range(n):
        rng = Random(f"{lang}/{split}/{seed}/{i}")
        name = f"{lang}-{split}-{seed}-{i:05}"
        if usable and rng.random() < carrier_share:
            text = rng.choice(usable)[1]
            body = AnnotatedText(name, text, tuple(_folded(prelabel(text), language)) if prelabel else ())
            note = _carry(body, language, rng, split)
        else:
            note = make_note(language, rng, split, name)
        yield add_noise(note, rng) if rng.random() < noise else note


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


def _carry(body: AnnotatedText, language: Language, rng: Random, split: str) -> AnnotatedText:
    """A carrier with identifiers put in."""
    clauses = [(word, clause) for word, clause in language.clauses if clause.split == split]
    sentences, frames = _of(language.sentences, split), _of(language.frames, split)
    return inject(body, sentences, clauses, language, rng, split, frames)
