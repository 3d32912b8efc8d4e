"""Fine-tune a trained token classifier on annotated notes, mixed with notes that are replayed.

The optimizer has the settings of configs/ner.cfg; only the learning rate is lower and the batches are smaller. The
number of steps is fixed in advance and grows with the number of notes, because a few notes are too few to decide when
to stop.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.training.batchers import minibatch_by_words
from spacy.util import registry
from thinc.api import Adam, Model, Optimizer, fix_random_seed
from thinc.schedules import warmup_linear

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText, make_docs
from ..ml.augment import make_casing_augmenter
from ..ml.prediction import can_predict
from ..synth.training import make_mixed_reader, make_noise_augmenter
from .notes import Pass

DROPOUT = 0.3
ADAM: dict[str, Any] = {
    "beta1": 0.9,
    "beta2": 0.99,
    "L2_is_weight_decay": True,
    "L2": 0.01,
    "grad_clip": 1.0,
    "eps": 1e-8,
}
CASING = {"upper": 0.1, "lower": 0.1, "plain": 0.05, "excerpt": 0.3, "fields": 0.1, "rename": 0.3}
DAMAGE = [
    "photocopied",
    "wrapped",
    "flattened",
    "glued",
    "columns",
    "scanned",
    "slipped",
    "mistyped",
    "careless",
    "capitals",
    "lower",
]
_DAMAGED = 0.15
_PASS = 1000  # notes that the mixture draws at once
_TOLERANCE = 0.2  # share by which a batch may be larger, as in configs/ner.cfg


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of fine-tuning.

    weight (float): share of the batches' notes that are those of the hospital; the others are replayed.
    learn_rate (float): maximum learning rate.
    batch_words (int): words in a batch.
    steps (Optional[int]): number of steps; None for a number that grows with the notes, see `steps_for`.
    seed (int): random seed.
    """

    weight: float = 0.5
    learn_rate: float = 0.0007
    batch_words: int = 1500
    steps: int | None = None
    seed: int = 0

    def steps_for(self, notes: int) -> int:
        """Return the number of steps for a number of notes: 100 and 4 for each note, at most 600."""
        return self.steps if self.steps is not None else min(600, 100 + 4 * notes)


class Tuner:
    """Fine-tunes the token classifier of a pipeline, as often as needed, from the same weights.

    nlp (Language): the pipeline. Its classifier is changed in place.
    ner (DeidNER): the classifier.
    labels (Sequence[str]): labels of the notes; those that the classifier does not have are added to it.
    replay (Callable): returns the notes of the next pass over the replay corpus, with labels of the classifier.
    plan (Plan): the settings.
    RAISES: ConfigError (D225) if the classifier reads the output of another trained component.
    """

    def __init__(self, nlp: Language, ner: Any, labels: Sequence[str], replay: Pass, plan: Plan) -> None:
        if not can_predict(ner.model):
            raise ConfigError(Errors.D225.format(name=f"{nlp.lang}_{nlp.meta['name']}"))
        self.nlp, self.ner, self.replay, self.plan = nlp, ner, replay, plan
        self.added = sorted(set(labels) - set(ner.labels))
        if self.added:
            name = next(name for name, part in nlp.pipeline if part is ner)
            block = nlp.config.interpolate()["components"][name]["model"]
            ner.extend_labels(self.added, registry.resolve({"model": block})["model"])
        self.start = _weights(ner.model)

    def tune(self, notes: Sequence[AnnotatedText], step: Callable[[], object] = lambda: None) -> None:
        """Fine-tune the classifier on notes, starting from the weights before any fine-tuning.

        notes (Sequence[AnnotatedText]): training notes with labels of the classifier.
        step (Callable): called after each step, for a progress bar.
        """
        _set_weights(self.start)
        plan, steps = self.plan, self.plan.steps_for(len(notes))
        fix_random_seed(plan.seed)
        rate: Any = warmup_linear(plan.learn_rate, max(1, steps // 10), steps + 1)
        sgd: Optimizer = Adam(rate, use_averages=True, **ADAM)
        batches = self._batches(notes)
        for _ in range(steps):
            self.ner.update(next(batches), drop=DROPOUT, sgd=sgd)
            sgd.step_schedules()  # type: ignore[no-untyped-call]
            step()
        with self.ner.model.use_params(sgd.averages or {}):
            tuned = _weights(self.ner.model)
        _set_weights(tuned)
        self.ner.predictor = None

    def digest(self) -> str:
        """Return the first 12 hexadecimal digits of the SHA-256 of the current weights, which identify them."""
        digest = hashlib.sha256()
        for _, _, array in _weights(self.ner.model):
            digest.update(array.tobytes())
        return digest.hexdigest()[:12]

    def _batches(self, notes: Sequence[AnnotatedText]) -> Iterator[list[Example]]:
        """Yield batches of the mixture without end."""
        plan = self.plan
        read = make_mixed_reader(
            {"notes": self._reader(lambda: notes), "replay": self._reader(self.replay)},
            {"notes": plan.weight, "replay": 1 - plan.weight},
            _PASS,
            plan.seed,
            make_noise_augmenter(_DAMAGED, DAMAGE, plan.seed),
        )
        while True:
            yield from minibatch_by_words(read(self.nlp), plan.batch_words, tolerance=_TOLERANCE)

    def _reader(self, source: Pass) -> Callable[[Language], Iterator[Example]]:
        """Make a corpus reader of annotated notes, with changed copies of some."""
        augment = make_casing_augmenter(**CASING, seed=self.plan.seed)

        def read(nlp: Language) -> Iterator[Example]:
            for note in source():
                (doc,), _ = make_docs([note], nlp.make_doc)
                yield from augment(nlp, Example(nlp.make_doc(note.text), doc))

        return read


Weights = list[tuple[Model[Any, Any], str, Any]]


def _weights(model: Model[Any, Any]) -> Weights:
    """Return the parameters of a model, rounded as they are saved, so that what is measured is what is saved."""
    return [
        (node, name, node.get_param(name).astype("float16").astype("float32"))
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name)
    ]


def _set_weights(weights: Weights) -> None:
    """Set the parameters that `_weights` returned."""
    for node, name, array in weights:
        node.set_param(name, array.copy())
