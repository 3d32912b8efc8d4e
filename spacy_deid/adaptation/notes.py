"""Check the annotated notes that a pipeline is adapted to, split them, and provide the notes that are replayed.

Fine-tuning on a few notes alone would make a classifier forget the identifiers that these notes do not have. Therefore
it is also trained on other notes (replay): synthetic notes of its language, or the authored corpus. Part of them, with
other templates or texts, is used to calibrate and to measure what was forgotten.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path
from random import Random

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, Entity
from ..labels import LABELS, from_scheme, to_scheme
from ..synth.authored import read_authored
from ..synth.corpus import make_authored_corpus, make_corpus
from ..synth.language import load_language

NEEDED = 20
"""Minimum number of annotated notes."""

NEEDED_WITH_IDENTIFIERS = 10
"""Minimum number of notes that have identifiers."""

SYNTHETIC_NOTES = 400
REPLAY_DEV = 60
_MIN_FRAME = 20  # words outside of the identifiers, from which on equal ones are no coincidence
_UNITING = ("meddocan", "i2b2")

Pass = Callable[[], Iterable[AnnotatedText]]


@dataclass(frozen=True, slots=True)
class Replay:
    """Notes that a pipeline is trained on in addition to those that it is adapted to.

    name (str): "synthetic" or "authored", for the report.
    read (Callable[[], Iterable[AnnotatedText]]): returns the training notes of the next pass.
    train, dev (list[AnnotatedText]): the training notes of the first pass, and the notes for calibration.
    """

    name: str
    read: Pass
    train: list[AnnotatedText] = field(repr=False)
    dev: list[AnnotatedText] = field(repr=False)


def make_replay(lang: str, folder: Path | None = None, *, dev: int | None = None, seed: int = 0) -> Replay:
    """Make the replay corpus of a language.

    lang (str): language of the pipeline.
    folder (Optional[Path]): folder of authored notes, see `synth.authored`. Those of a development brief are used to
        calibrate; if there are none, a fifth of the notes. Training notes are filled anew in each pass. None for
        synthetic notes.
    dev (Optional[int]): maximum number of notes for calibration; None for `REPLAY_DEV`.
    seed (int): seed of the random generators.
    RETURNS (Replay): the corpus.
    RAISES: ConfigError (D228) if there are no templates for the language; InputError if the folder cannot be read
        (D613, D615) or has no notes of the language (D614).
    """
    dev = REPLAY_DEV if dev is None else dev
    if folder is None:
        return _synthesize(lang, dev, seed)
    notes = [note for note in read_authored(folder) if note.lang == lang]
    held = [note for note in notes if note.split == "dev"]
    if not held:
        held = Random(seed).sample(notes, len(notes) // 5)
    names = {note.name for note in held}
    train = [note for note in notes if note.name not in names]
    if not train or not held:
        raise InputError(Errors.D614.format(path=folder, lang=lang, split="train"))
    turns = count()
    return Replay(
        "authored",
        lambda: make_authored_corpus(train, seed, next(turns)),
        [note.annotated() for note in train],
        [note.annotated() for note in (Random(seed).sample(held, dev) if len(held) > dev else held)],
    )


def _synthesize(lang: str, dev: int, seed: int) -> Replay:
    """Make a replay corpus of synthetic notes. RAISES: ConfigError (D228) for a language without templates."""
    try:
        splits = {template.split for template in load_language(lang).notes}
    except ConfigError:
        raise ConfigError(Errors.D228.format(lang=lang)) from None
    notes = list(make_corpus(lang, SYNTHETIC_NOTES, seed))
    # a language without templates for development calibrates on other notes of the training templates
    held = make_corpus(lang, dev, seed, "dev") if "dev" in splits else make_corpus(lang, dev, seed + 1)
    return Replay("synthetic", lambda: notes, notes, list(held))


def check_notes(notes: Sequence[AnnotatedText], replay: Replay) -> None:
    """Check that a pipeline can be adapted to annotated notes, before any training.

    notes (Sequence[AnnotatedText]): the notes.
    replay (Replay): the replay corpus.
    RAISES: InputError if there are too few notes (D220), no note or too few have identifiers (D224), entities overlap
        (D221), two notes have the same text (D223), or a note is in the replay corpus already (D222).
    """
    if len(notes) < NEEDED:
        raise InputError(Errors.D220.format(notes=len(notes), needed=NEEDED))
    if (having := sum(bool(note.entities) for note in notes)) < NEEDED_WITH_IDENTIFIERS:
        raise InputError(Errors.D224.format(notes=having, needed=NEEDED_WITH_IDENTIFIERS))
    for note in notes:
        for one, other in pairwise(note.entities):
            if other.start < one.end:
                where = {"first": f"{one.start}:{one.end}", "second": f"{other.start}:{other.end}"}
                raise InputError(Errors.D221.format(name=note.name, **where))
    keys = [_words(note.text) for note in notes]
    if repeated := [note.name for i, note in enumerate(notes) if keys[i] in keys[:i]]:
        raise InputError(Errors.D223.format(count=len(repeated), name=repeated[0]))
    known = {key for note in (*replay.train, *replay.dev) for key in _identities(note)}
    if shared := [note.name for note in notes if not known.isdisjoint(_identities(note))]:
        raise InputError(Errors.D222.format(count=len(shared), name=shared[0], corpus=replay.name))


def _words(text: str) -> str:
    """Return the words of a text in lower case, without anything between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _identities(note: AnnotatedText) -> Iterator[tuple[str, str]]:
    """Yield what two copies of a note share: all words, or those outside the identifiers if they were replaced."""
    yield "text", _words(note.text)
    parts, last = [], 0
    for entity in note.entities:
        parts.append(note.text[last : entity.start])
        last = max(last, entity.end)
    frame = _words(" ".join([*parts, note.text[last:]]))
    if frame.count(" ") >= _MIN_FRAME:
        yield "frame", frame


def learned_label(label: str, known: Iterable[str]) -> str:
    """Return the label under which a classifier learns a label.

    A classifier that was trained with the labels of a scheme does not distinguish all canonical labels: for MEDDOCAN,
    a CITY is a TERRITORY. A new label beside it would divide the same words between two labels.

    label (str): canonical label.
    known (Iterable[str]): labels of the classifier.
    RETURNS (str): the label itself if it is known; a known label of the same kind that MEDDOCAN or i2b2-2014 unites
        with it; else the label itself, which has to be added.
    """
    known = set(known)
    for scheme in _UNITING if label not in known else ():
        other = from_scheme(to_scheme(label, scheme), scheme)
        if other in known and LABELS[other].conll == LABELS[label].conll:
            return other
    return label


def relabel_notes(notes: Iterable[AnnotatedText], known: Iterable[str]) -> list[AnnotatedText]:
    """Replace the labels of notes by those under which a classifier learns them, see `learned_label`."""
    to = {label: learned_label(label, known) for label in LABELS}
    return [
        replace(note, entities=tuple(Entity(e.start, e.end, to[e.label]) for e in note.entities)) for note in notes
    ]


def deal(notes: Sequence[AnnotatedText], parts: int, seed: int) -> list[list[int]]:
    """Divide notes into parts with similar numbers of identifiers.

    The notes are sorted by their number of identifiers, cut into groups of `parts` notes, and each group is dealt in
    random order.

    notes (Sequence[AnnotatedText]): the notes.
    parts (int): number of parts.
    seed (int): seed of the random generator.
    RETURNS (list[list[int]]): the indices of the notes of each part, in increasing order.
    """
    rng = Random(f"deal/{seed}")
    order = sorted(range(len(notes)), key=lambda i: (len(notes[i].entities), rng.random()))
    dealt: list[list[int]] = [[] for _ in range(parts)]
    for first in range(0, len(order), parts):
        group = order[first : first + parts]
        for part, i in zip(rng.sample(range(parts), len(group)), group, strict=True):
            dealt[part].append(i)
    return [sorted(part) for part in dealt]
