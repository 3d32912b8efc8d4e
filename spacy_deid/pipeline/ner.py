"""deid_ner: a trainable token classifier for PHI over any tok2vec or transformer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Config, Model
from thinc.types import Floats2d, Floats3d

from ..errors import ConfigError, Errors
from ..labels import LABELS, get_label
from ..ml import bioes, crf
from ..ml.calibration import Calibration, fit_calibration
from ..ml.decoding import Decoded, decode_spans, token_probs
from ..ml.echo import find_echoes
from ..ml.layout import dense_tokens
from ..spans import Evidence, check_key, write_evidence

__all__ = ["DEFAULT_MODEL", "DeidNER", "make_ner"]

Scores = Sequence[Floats2d | Floats3d]
Found = tuple[int, int, int, float, str]

_DEFAULT_MODEL = """
[model]
@architectures = "spacy_deid.TagScorer.v1"
dropout = 0.2

[model.tok2vec]
@architectures = "spacy_deid.NoteTok2Vec.v1"
"""
DEFAULT_MODEL = Config().from_str(_DEFAULT_MODEL)["model"]


@Language.factory(
    "deid_ner",
    assigns=["doc.spans"],
    default_config={
        "model": DEFAULT_MODEL,
        "key": "deid/ner",
        "threshold": 0.5,
        "echo": True,
        "scorer": {"@scorers": "spacy_deid.deid_scorer.v1"},
    },
)
def make_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], Scores],
    key: str,
    threshold: float,
    echo: bool,
    scorer: Callable[..., dict[str, Any]] | None,
) -> "DeidNER":
    """Make the component.

    model (Model[List[Doc], List[Floats2d]]): scores of the BIOES tags, shape (tokens, tags) for each Doc, or
        (members, tokens, tags) for a committee.
    key (str): span group to write, "deid/…".
    threshold (float): operating point, a probability: tokens that are PHI with at least this probability are covered.
        0.5 follows the best path; lower values find more and are wrong more often.
    echo (bool): whether the words of a person's name that was found are looked for again in the whole note.
    scorer (Optional[Callable]): registered scorer.
    """
    return DeidNER(nlp.vocab, model, name, key=key, threshold=threshold, echo=echo, scorer=scorer)


class DeidNER(TrainablePipe):  # type: ignore[misc]
    """BIOES token classifier with constrained decoding and calibrated span scores."""

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], Scores],
        name: str = "deid_ner",
        *,
        key: str = "deid/ner",
        threshold: float = 0.5,
        echo: bool = True,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.key = check_key(key)
        self.echo = echo
        self.scorer = scorer
        self.cfg: dict[str, Any] = {"labels": [], "tokens": [1.0, 0.0], "spans": [1.0, 0.0], "version": ""}
        self.set_threshold(threshold)

    @property
    def labels(self) -> tuple[str, ...]:
        """Canonical labels, in the order of the model's tags."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> list[str]:
        """Labels for ``spacy init labels``."""
        return list(self.labels)

    def set_threshold(self, threshold: float) -> None:
        """Choose the operating point.

        threshold (float): a probability above 0 and below 1.
        RAISES: ConfigError (D200) for anything else.
        """
        if not 0.0 < threshold < 1.0:
            raise ConfigError(Errors.D200.format(name=self.name, threshold=threshold))
        self.threshold = threshold

    def add_label(self, label: str) -> int:
        """Add a label before the model is initialized.

        label (str): canonical label.
        RETURNS (int): 1 if it is new, else 0.
        RAISES: ConfigError for an unknown label (D001) or if the model's size is fixed already (D201).
        """
        if get_label(label).name in self.cfg["labels"]:
            return 0
        if self.model.has_dim("nO"):
            raise ConfigError(Errors.D201.format(name=self.name, label=label))
        self.cfg["labels"].append(label)
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Collect the labels and size the model.

        get_examples (Callable): examples whose reference Docs have ``ents`` with canonical labels.
        labels (Optional[Sequence[str]]): the labels, if they are known already.
        RAISES: ConfigError if there is no label (D202) or an unknown one (D001).
        """
        examples = list(get_examples())
        found = {ent.label_ for example in examples for ent in example.reference.ents}
        for label in labels if labels is not None else sorted(found):
            self.add_label(label)
        if not self.labels:
            raise ConfigError(Errors.D202.format(name=self.name))
        sample = [example.x for example in examples if len(example.x)][:10]
        self.model.initialize(X=sample, Y=[self._zeros(doc) for doc in sample])

    def _zeros(self, doc: Doc) -> Floats2d:
        """An output of the right shape, for shape inference."""
        return self.model.ops.alloc2f(len(doc), bioes.n_tags(len(self.labels)))

    def predict(self, docs: Iterable[Doc]) -> list[list[Found]]:
        """Find PHI; changes nothing.

        docs (Iterable[Doc]): Docs, empty ones too.
        RETURNS (list[list[tuple]]): for each Doc its (start token, end token, label number, probability, rule), the
            rule being "model", or "echo" for a name that was found elsewhere in the note.
        RAISES: ConfigError (D203) if the model was never trained.
        """
        docs = list(docs)
        return [self._with_echoes(doc, spans) for doc, spans in zip(docs, self._decode(docs), strict=True)]

    def _decode(self, docs: list[Doc]) -> list[Decoded]:
        """The spans of the model alone."""
        tokens, spans = Calibration(*self.cfg["tokens"]), Calibration(*self.cfg["spans"])
        dense = [dense_tokens(doc) for doc in docs]
        found = decode_spans(self._emissions(docs, dense), self.threshold, tokens, spans)
        return [_trim(doc, _widen(part, rows)) for doc, part, rows in zip(docs, found, dense, strict=True)]

    def _with_echoes(self, doc: Doc, spans: Decoded) -> list[Found]:
        """Add the echoes of the names that were found."""
        persons = {i for i, label in enumerate(self.labels) if LABELS[label].conll == "PER"}
        echoes = find_echoes(doc, spans, persons) if self.echo else []
        return [(*span, "model") for span in spans] + [(*span, "echo") for span in echoes]

    def _emissions(self, docs: list[Doc], dense: list[np.ndarray]) -> list[np.ndarray]:
        """Tag scores of the dense tokens of each Doc, the mean over a committee; models are spared the empty Docs."""
        if not self.labels:
            raise ConfigError(Errors.D203.format(name=self.name))
        full = [doc for doc, rows in zip(docs, dense, strict=True) if len(rows)]
        scores = iter(self.model.predict(full) if full else [])
        nothing = np.zeros((0, bioes.n_tags(len(self.labels))), dtype=np.float32)
        return [_mean(_to_numpy(self.model, next(scores)))[rows] if len(rows) else nothing for rows in dense]

    def set_annotations(self, docs: Iterable[Doc], predicted: list[list[Found]]) -> None:
        """Write the group; the only place that changes a Doc."""
        for doc, spans in zip(docs, predicted, strict=True):
            evidence = [self._evidence(doc, *span) for span in spans]
            write_evidence(doc, self.key, evidence, version=self.cfg["version"])

    def _evidence(self, doc: Doc, start: int, end: int, label: int, score: float, rule: str) -> Evidence:
        """Turn a decoded span into evidence."""
        last = doc[end - 1]
        return Evidence(doc[start].idx, last.idx + len(last), self.labels[label], self.name, score, rule)

    def get_loss(self, examples: Iterable[Example], scores: Scores) -> tuple[float, Scores]:
        """Negative log-likelihood of the gold path, and its gradient.

        examples (Iterable[Example]): gold in ``example.reference.ents``.
        scores (Sequence): the model's output for ``example.predicted``.
        RETURNS (tuple[float, Sequence]): loss summed over tokens and members, gradient of the shape of `scores`.
        """
        examples = list(examples)
        dense = [dense_tokens(example.x) for example in examples]
        gold = [_encode(self._gold(example), rows) for example, rows in zip(examples, dense, strict=True)]
        flat, owner = [], []
        for i, score in enumerate(scores):
            members = _to_numpy(self.model, score)
            members = members if members.ndim == 3 else members[None]
            flat += list(members[:, dense[i]])
            owner += [i] * len(members)
        losses, gradients = _path_loss(flat, [gold[i] for i in owner])
        whole = []
        for i, score in enumerate(scores):
            gradient = np.zeros(score.shape if score.ndim == 3 else (1, *score.shape), dtype=np.float32)
            gradient[:, dense[i]] = [g / len(gold) for g, o in zip(gradients, owner, strict=True) if o == i]
            whole.append(cast(Floats2d, self.model.ops.xp.asarray(gradient.reshape(score.shape))))
        return losses, whole

    def _gold(self, example: Example) -> list[tuple[int, int, int]]:
        """The reference on the tokens of the prediction: start, end, label; of two that overlap the longer stays."""
        numbers = {label: i for i, label in enumerate(self.labels)}
        doc, spans, taken = example.x, [], np.zeros(len(example.x), dtype=bool)
        for ent in sorted(example.reference.ents, key=lambda e: e.start_char - e.end_char):
            span = doc.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
            if span is None or ent.label_ not in numbers or taken[span.start : span.end].any():
                continue
            taken[span.start : span.end] = True
            spans.append((span.start, span.end, numbers[ent.label_]))
        return sorted(spans)

    def calibrate(self, examples: Iterable[Example]) -> dict[str, float]:
        """Fit probabilities on a development set: of tokens, which the threshold means, then of spans, the scores.

        A token counts as right if it is PHI of any label, a span if all its tokens are.

        examples (Iterable[Example]): held-out examples; the model must not have seen them.
        RETURNS (dict[str, float]): for "tokens" and "spans" the "scale", "shift" and "number", and the expected
            calibration error before ("ece_before") and after ("ece_after"), each as "tokens scale" and so on.
        """
        examples = list(examples)
        docs = [example.x for example in examples]
        gold = [bioes.encode(self._gold(example), len(example.x)) != bioes.O for example in examples]
        dense = [dense_tokens(doc) for doc in docs]
        probs = token_probs(self._emissions(docs, dense))
        right = [hits[rows] for hits, rows in zip(gold, dense, strict=True)]
        tokens, report = fit_calibration(np.concatenate(probs), np.concatenate(right))
        self.cfg.update(tokens=[tokens.scale, tokens.shift], spans=[1.0, 0.0])
        found = self._decode(docs)
        scores = [score for spans in found for *_, score in spans]
        hits = [bool(g[s:e].all()) for g, spans in zip(gold, found, strict=True) for s, e, *_ in spans]
        spans, more = fit_calibration(np.asarray(scores), np.asarray(hits))
        self.cfg["spans"] = [spans.scale, spans.shift]
        return {f"tokens {k}": v for k, v in report.items()} | {f"spans {k}": v for k, v in more.items()}


def _to_numpy(model: Model[Any, Any], scores: Any) -> np.ndarray:
    """Scores on the host, wherever the model runs."""
    return cast(np.ndarray, model.ops.to_numpy(scores))  # type: ignore[no-untyped-call]


def _encode(spans: list[tuple[int, int, int]], dense: np.ndarray) -> np.ndarray:
    """BIOES tags of the dense tokens."""
    edges = [(*np.searchsorted(dense, (start, end)).tolist(), label) for start, end, label in spans]
    return bioes.encode([edge for edge in edges if edge[0] < edge[1]], len(dense))


def _widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Spans of dense tokens as spans of all tokens; a blank within a span belongs to it."""
    return [(int(dense[start]), int(dense[end - 1]) + 1, label, score) for start, end, label, score in spans]


def _trim(doc: Doc, spans: Decoded) -> Decoded:
    """Take off what names nobody: marks before a span's first word, and white space after its last token.

    A line's end that is replaced joins lines. Marks after the last word stay, for they may belong to it ("4 izq.").
    """
    trimmed = []
    for start, end, label, score in spans:
        while start < end and not any(char.isalnum() for char in doc[start].text):
            start += 1
        while start < end and doc[end - 1].is_space:
            end -= 1
        if start < end:
            trimmed.append((start, end, label, score))
    return trimmed


def _mean(scores: np.ndarray) -> np.ndarray:
    """Emissions of a committee: the mean over its members."""
    return scores if scores.ndim == 2 else cast(np.ndarray, scores.mean(axis=0))


def _path_loss(emissions: list[np.ndarray], gold: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Negative log-likelihood of the gold paths, summed, and the gradient of each: posterior minus gold."""
    padded, lengths = crf.pad(emissions)
    posterior = crf.marginals(padded)
    loss, gradients = 0.0, []
    for i, (tags, length) in enumerate(zip(gold, lengths, strict=True)):
        steps = np.arange(length)
        gradient = posterior.probs[i, :length].copy()
        gradient[steps, tags] -= 1.0
        loss += float(posterior.log_z[i] - padded[i, steps, tags].sum())
        gradients.append(gradient)
    return loss, gradients
