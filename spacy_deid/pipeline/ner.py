"""deid_ner: a trainable token classifier that finds identifiers, on the vectors of any tok2vec or transformer.

The model scores a tag for each token, which says whether the token begins, continues or ends an entity, and of which
label. An operating point, a set of thresholds, decides from which probability on a token counts as PHI.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import srsly
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer
from thinc.types import Floats2d, Floats3d

from ..errors import ConfigError, Errors
from ..labels import LABELS, get_label
from ..lang.inflection import forms_of_names
from ..medical.known_words import known_words, ordinary_words
from ..ml import crf
from ..ml.crf import committee_loss, encode_dense, gold_spans
from ..ml.decoding import (
    Calibration,
    Decoded,
    OperatingPoint,
    Posterior,
    choose_spans,
    fit_calibration,
    make_point,
    read_point,
    read_stretches,
)
from ..ml.features import dense_tokens
from ..ml.log_ins import LOG_IN, find_log_ins
from ..ml.postprocess import admit, join_names, propagate_names, settle_roles, split_contacts, trim, widen
from ..ml.prediction import Predictor, can_predict
from ..ml.second_reading import undo_damage, unite
from ..ml.tagger import weights_from_bytes, weights_to_bytes
from ..spans import PROBABILITIES, Evidence, check_key, write_evidence

Scores = Sequence[Floats2d | Floats3d]
Found = tuple[int, int, int, float, str]

_CONTACTS = frozenset("DEF")  # telephone, fax, e-mail: HIPAA categories


class DeidNER(TrainablePipe):  # type: ignore[misc]
    """Finds identifiers with a token classifier, and writes them to a span group with calibrated probabilities.

    The classifier predicts BIOES tags (Begin, Inside, Outside, End, Single); decoding allows only legal sequences of
    them, so every span has a start, an end and one label. See `factories.make_ner` for the settings.

    threshold (Union[float, Mapping[str, float]]): the thresholds in use, unless a named operating point is set.
    operating_point (Optional[str]): name of the operating point in use; None if `threshold` is used.
    predictor (Optional[Predictor]): fast implementation for the current weights. It is made when it is first needed,
        and dropped when the weights change; None also for a model that it does not support, which then predicts
        itself.
    keep_probabilities (bool): whether to keep the probability of every token in the Doc, for ``deid_review``, which
        turns it on.
    """

    keep_probabilities = False

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], Scores],
        name: str,
        *,
        key: str,
        threshold: float | Mapping[str, float],
        propagate_names: bool,
        scorer: Callable[..., dict[str, Any]] | None,
        second_reading: bool = False,
        tokenizer: Callable[[str], Doc] | None = None,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.key = check_key(key)
        self.propagate_names = propagate_names
        self.second_reading = second_reading
        self.tokenizer = tokenizer
        self.scorer = scorer
        self.predictor: Predictor | None = None
        self.operating_point: str | None = None
        self.cfg: dict[str, Any] = {
            "labels": [],
            "tokens": [1.0, 0.0],
            "spans": [1.0, 0.0],
            "version": "",
            "points": {},
        }
        self.set_threshold(threshold)

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple[str, ...]: Canonical labels, in the order of the model's tags."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> list[str]:
        """list[str]: The labels, in the form that ``spacy init labels`` saves to a file."""
        return list(self.labels)

    def set_threshold(self, threshold: float | Mapping[str, float]) -> None:
        """Set the thresholds: probabilities from which on a token counts as PHI.

        They replace a named operating point.

        threshold (Union[float, Mapping[str, float]]): a probability between 0 and 1, or thresholds by label such as
            ``{"default": 0.3, "PATIENT": 0.1}``.
        RAISES: ConfigError for other values (D200, D340) or an unknown label (D001).
        """
        point = make_point(threshold, self.name)
        for label in point.labels:
            get_label(label)
        self.threshold, self.operating_point = threshold, None

    def set_operating_point(self, name: str) -> None:
        """Use the thresholds of a named operating point, which was calibrated on a development set.

        name (str): "balanced", "high_recall", "max_recall", or a point that `spacy-deid calibrate` added.
        RAISES: ConfigError (D341) for an unknown point.
        """
        self.operating_point = self.get_point(name).name

    def get_point(self, name: str | None = None) -> OperatingPoint:
        """Return the thresholds of an operating point.

        name (Optional[str]): name of the point; None for the one in use.
        RETURNS (OperatingPoint): the point.
        RAISES: ConfigError (D341) for an unknown point.
        """
        name = name or self.operating_point
        if name is None:
            return make_point(self.threshold, self.name)
        points = self.cfg.get("points", {})
        if name not in points:
            known = ", ".join(points) or "none; `spacy-deid calibrate` makes them"
            raise ConfigError(Errors.D341.format(name=self.name, point=name, known=known))
        return read_point(name, points[name], self.name)

    def add_label(self, label: str) -> int:
        """Add a label before the model is initialized.

        label (str): canonical label.
        RETURNS (int): 1 if it is new, else 0.
        RAISES: ConfigError for an unknown label (D001), or if the model is already initialized (D201).
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
        """Collect the labels from the examples and initialize the model for them, before training.

        get_examples (Callable): returns examples whose reference Docs have ``ents`` with canonical labels.
        nlp (Optional[Language]): the pipeline; ignored.
        labels (Optional[Sequence[str]]): the labels, such as those of `label_data`; None to collect them.
        RAISES: ConfigError for an unknown label (D001), or if there are no labels (D202).
        """
        examples = list(get_examples())
        found = {ent.label_ for example in examples for ent in example.reference.ents}
        for label in labels if labels is not None else sorted(found):
            self.add_label(label)
        if not self.labels:
            raise ConfigError(Errors.D202.format(name=self.name))
        sample = [example.x for example in examples if len(example.x)][:10]
        self.model.initialize(X=sample, Y=[self._zeros(doc) for doc in sample])
        self.predictor = None

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights with the gradients of the current batch.

        sgd (Optimizer): the optimizer.
        """
        super().finish_update(sgd)
        self.predictor = None

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Use other weights for a time, such as the averages of the optimizer.

        This is a generator, because `Language.use_params` expects one.

        params (dict): the weights by node and name.
        YIELDS (None): once; the weights are restored when the generator continues.
        """
        self.predictor = None
        with self.model.use_params(params):
            yield
        self.predictor = None

    def _zeros(self, doc: Doc) -> Floats2d:
        """Return an output of zeros for a Doc, from which thinc infers the number of tags."""
        return self.model.ops.alloc2f(len(doc), crf.n_tags(len(self.labels)))

    def __call__(self, doc: Doc, *, operating_point: str | None = None) -> Doc:
        """Find identifiers in a Doc and write them to the span group.

        doc (Doc): the Doc.
        operating_point (Optional[str]): operating point for this call only, via ``nlp(text, component_cfg={"deid_ner":
            {…}})``.
        RETURNS (Doc): the same Doc.
        """
        for one in self.pipe([doc], batch_size=1, operating_point=operating_point):
            doc = one
        return doc

    def pipe(
        self, stream: Iterable[Doc], *, batch_size: int = 128, operating_point: str | None = None
    ) -> Iterator[Doc]:
        """Find identifiers in a stream of Docs and write them to the span groups.

        stream (Iterable[Doc]): the Docs.
        batch_size (int): number of Docs per batch.
        operating_point (Optional[str]): operating point for this stream only, via ``nlp.pipe(texts,
            component_cfg=…)``.
        YIELDS (Doc): the Docs in order.
        """
        for docs in minibatch(stream, size=batch_size):  # type: ignore[no-untyped-call]
            try:
                point = self.get_point(operating_point)
                read = self.read(docs)
                found = [self.choose(doc, one, point) for doc, one in zip(docs, read, strict=True)]
                self.set_annotations(docs, found, operating_point)
                if self.keep_probabilities:
                    self.set_probabilities(docs, read)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
                continue
            yield from docs

    def predict(self, docs: Iterable[Doc], operating_point: str | None = None) -> list[list[Found]]:
        """Find identifiers, without changing the Docs.

        docs (Iterable[Doc]): Docs; they may be empty.
        operating_point (Optional[str]): a named operating point; None for the current one.
        RETURNS (list[list[tuple]]): for each Doc the spans as (start token, end token, label index, probability,
            rule). The rule is "model" for a span that the model found, "second reading" if it found a part of it only
            in the restored text of a damaged note, "echo" for a further mention of its
            name, or "log-in" for a log-in that is made of one.
        RAISES: ConfigError if the model is not trained (D203) or has no such operating point (D341).
        """
        docs, point = list(docs), self.get_point(operating_point)
        return [self.choose(doc, read, point) for doc, read in zip(docs, self.read(docs), strict=True)]

    def read(self, docs: Sequence[Doc]) -> list[Posterior]:
        """Compute the probabilities for Docs, from which `choose` selects spans at any operating point.

        docs (Sequence[Doc]): Docs; they may be empty.
        RETURNS (list[Posterior]): one per Doc, for its dense tokens: those that `features.dense_tokens` returns,
            which leaves out most white space.
        RAISES: ConfigError (D203) if the model is not trained.
        """
        found = self._read(docs)
        if not (self.second_reading and self.tokenizer):
            return found
        restored = {i: text for i, doc in enumerate(docs) if (text := undo_damage(doc.text))}
        again = [self.tokenizer(text) for text, _ in restored.values()]
        for (i, (_, origin)), doc, second in zip(restored.items(), again, self._read(again), strict=True):
            found[i] = unite(docs[i], found[i], doc, second, origin)
        return found

    def _read(self, docs: Sequence[Doc]) -> list[Posterior]:
        """Compute the probabilities for Docs from one reading."""
        return read_stretches([len(dense_tokens(doc)) for doc in docs], self._emissions(list(docs)))

    def read_members(self, docs: Sequence[Doc]) -> list[list[Posterior]]:
        """Compute the probabilities of each network of a committee by itself, to see where they disagree.

        docs (Sequence[Doc]): Docs; they may be empty.
        RETURNS (list[list[Posterior]]): for each network the output of `read`; of a single network, one list.
        RAISES: ConfigError (D203) if the model is not trained.
        """
        if not self.labels:
            raise ConfigError(Errors.D203.format(name=self.name))
        dense = [dense_tokens(doc) for doc in docs]
        full = [i for i, rows in enumerate(dense) if len(rows)]
        found = []
        for member in self.model.layers if self.model.name == "committee" else [self.model]:
            scores = member.predict([docs[i] for i in full]) if full else []
            parts = ((i, _to_numpy(self.model, one)[dense[i]]) for i, one in zip(full, scores, strict=True))
            found.append(read_stretches(list(map(len, dense)), parts))
        return found

    def choose(self, doc: Doc, read: Posterior, point: OperatingPoint | Mapping[str, Any]) -> list[Found]:
        """Select spans at an operating point, without changing the Doc.

        doc (Doc): the Doc.
        read (Posterior): output of `read` for the Doc.
        point (Union[OperatingPoint, Mapping]): the thresholds, or ``{"default": …, "labels": {…}}``.
        RETURNS (list[tuple]): spans in the form that `predict` returns for one Doc.
        """
        if isinstance(point, Mapping):
            point = OperatingPoint(point["default"], point["labels"])
        found = self._with_propagated(doc, self._choose(doc, read, point))
        if read.first is None:
            return found
        once = widen(self._covering(read.first, point), dense_tokens(doc))
        covered = {i for start, end, *_ in once for i in range(start, end)}
        return [
            (s, e, k, p, "second reading" if rule == "model" and not covered.issuperset(range(s, e)) else rule)
            for s, e, k, p, rule in found
        ]

    def likely_labels(self, doc: Doc, read: Posterior) -> list[tuple[int, int, str]]:
        """Return the label that each token would have if it were PHI. The token is compared with its threshold.

        doc (Doc): the Doc.
        read (Posterior): output of `read` for the Doc.
        RETURNS (list[tuple]): character offsets and label of each dense token: (start, end, label).
        """
        tokens = (doc[int(row)] for row in dense_tokens(doc))
        return [(t.idx, t.idx + len(t), self.labels[k]) for t, k in zip(tokens, read.labels.tolist(), strict=True)]

    def _choose(self, doc: Doc, read: Posterior, point: OperatingPoint) -> Decoded:
        """Return the corrected spans of the model at an operating point, without further mentions of names."""
        found = self._covering(read, point)
        contacts = {i for i, label in enumerate(self.labels) if LABELS[label].hipaa in _CONTACTS}
        parted = split_contacts(doc, widen(found, dense_tokens(doc)), contacts)
        return join_names(doc, admit(doc, trim(doc, parted), self.labels), self._persons())

    def _covering(self, read: Posterior, point: OperatingPoint) -> Decoded:
        """Return the spans of the model at an operating point, over dense tokens and without corrections."""
        tokens, spans = Calibration(*self.cfg["tokens"]), Calibration(*self.cfg["spans"])
        return choose_spans(read, point.thresholds(self.labels), tokens, spans)

    def _persons(self) -> set[int]:
        """Return the indices of the labels for names of persons."""
        return {i for i, label in enumerate(self.labels) if LABELS[label].conll == "PER"}

    def _with_propagated(self, doc: Doc, spans: Decoded) -> list[Found]:
        """Add further mentions of the names that were found, join adjacent parts of a name, and settle roles."""
        persons = self._persons()
        forms, is_known = forms_of_names(doc.lang_), known_words(doc.lang_)
        echoes = set(propagate_names(doc, spans, persons, forms, is_known) if self.propagate_names else [])
        whole = join_names(doc, sorted([*spans, *echoes]), persons, echoes)
        rules = ["echo" if span in echoes else "model" for span in whole]
        found = [(*span, rule) for span, rule in zip(settle_roles(doc, whole, persons), rules, strict=True)]
        if not (self.propagate_names and LOG_IN in self.labels):
            return found
        number, is_ordinary = self.labels.index(LOG_IN), ordinary_words(doc.lang_)
        log_ins = find_log_ins(doc, whole, persons, is_ordinary)
        return sorted([*found, *((start, end, number, score, "log-in") for start, end, score in log_ins)])

    def _emissions(self, docs: list[Doc]) -> Iterator[tuple[int, np.ndarray]]:
        """Compute the tag scores of the dense tokens of each Doc, averaged over a committee.

        YIELDS (tuple[int, ndarray]): index of the Doc, scores of its next dense tokens, shape (tokens, tags).
        """
        if not self.labels:
            raise ConfigError(Errors.D203.format(name=self.name))
        if self.predictor is None and can_predict(self.model):
            self.predictor = Predictor(self.model)
        if self.predictor is not None:
            yield from self.predictor(docs)
            return
        full = [i for i, doc in enumerate(docs) if len(doc)]
        scores = self.model.predict([docs[i] for i in full]) if full else []
        for i, score in zip(full, scores, strict=True):
            yield i, _mean(_to_numpy(self.model, score))[dense_tokens(docs[i])]

    def set_annotations(
        self, docs: Iterable[Doc], predicted: list[list[Found]], operating_point: str | None = None
    ) -> None:
        """Write spans to the span group, with the operating point in its attributes. No other method changes a Doc.

        docs (Iterable[Doc]): the Docs.
        predicted (list[list[tuple]]): output of `predict` for them.
        operating_point (Optional[str]): the point that the spans were chosen at; None for the current one.
        """
        receipt = self.get_point(operating_point).receipt()
        for doc, spans in zip(docs, predicted, strict=True):
            evidence = [self._evidence(doc, *span) for span in spans]
            write_evidence(doc, self.key, evidence, version=self.cfg["version"], **receipt)

    def set_probabilities(self, docs: Iterable[Doc], read: Iterable[Posterior]) -> None:
        """Keep the calibrated probability of every dense token to be PHI in ``doc.user_data["deid/probabilities"]``.

        The dict has lists of equal length: "starts" and "ends" (character offsets), "united" (the probability),
        "first" (that of the first reading alone; the same without a second reading), and "labels" (the label that the
        token would have if it were PHI).

        docs (Iterable[Doc]): the Docs.
        read (Iterable[Posterior]): output of `read` for them.
        """
        curve = Calibration(*self.cfg["tokens"])
        for doc, one in zip(docs, read, strict=True):
            tokens = [doc[int(row)] for row in dense_tokens(doc)]
            doc.user_data[PROBABILITIES] = {
                "starts": [token.idx for token in tokens],
                "ends": [token.idx + len(token) for token in tokens],
                "united": curve(one.phi).tolist(),
                "first": curve((one.first or one).phi).tolist(),
                "labels": [self.labels[label] for label in one.labels.tolist()],
            }

    def _evidence(self, doc: Doc, start: int, end: int, label: int, score: float, rule: str) -> Evidence:
        """Convert a span of tokens to evidence, the record of a detection with its character offsets and score."""
        last = doc[end - 1]
        return Evidence(doc[start].idx, last.idx + len(last), self.labels[label], self.name, score, rule)

    def get_loss(self, examples: Iterable[Example], scores: Scores) -> tuple[float, Scores]:
        """Compute the loss of a batch and its gradient: the negative log-likelihood of the gold tag sequences.

        examples (Iterable[Example]): the batch; ``example.reference.ents`` are the gold entities.
        scores (Sequence): output of the model for ``example.predicted``.
        RETURNS (tuple[float, Sequence]): loss, summed over tokens and over the members of a committee; gradients with
            the shapes of `scores`.
        """
        examples = list(examples)
        dense = [dense_tokens(example.x) for example in examples]
        gold = [
            encode_dense(gold_spans(example, self.labels), rows) for example, rows in zip(examples, dense, strict=True)
        ]
        loss, gradients = committee_loss([_to_numpy(self.model, score) for score in scores], gold, dense)
        return loss, [cast(Floats2d, self.model.ops.xp.asarray(gradient)) for gradient in gradients]

    def calibrate(self, examples: Iterable[Example], read: Sequence[Posterior] | None = None) -> dict[str, float]:
        """Fit the calibration curves on a development set and keep them in the settings of the component.

        Two curves are fitted: one for the probabilities of tokens, which thresholds are compared with, and one for the
        scores of spans. A token counts as correct if it is PHI of any label, a span if all its tokens are.

        examples (Iterable[Example]): held-out examples, which the model was not trained on.
        read (Optional[Sequence[Posterior]]): output of `read` for their predicted Docs, such as that of other models
            in cross-fitting; None to compute it.
        RETURNS (dict[str, float]): for "tokens" and "spans" the "scale", "shift" and "number", and the expected
            calibration error before ("ece_before") and after it ("ece_after"), with keys such as "tokens scale".
        """
        examples = list(examples)
        docs = [example.x for example in examples]
        read = self.read(docs) if read is None else read
        gold = [crf.encode_tags(gold_spans(example, self.labels), len(example.x)) != crf.O for example in examples]
        right = [hits[dense_tokens(doc)] for hits, doc in zip(gold, docs, strict=True)]
        tokens, report = fit_calibration(np.concatenate([one.phi for one in read]), np.concatenate(right))
        self.cfg.update(tokens=[tokens.scale, tokens.shift], spans=[1.0, 0.0])
        found = [self._choose(doc, one, self.get_point()) for doc, one in zip(docs, read, strict=True)]
        scores = [score for spans in found for *_, score in spans]
        hits = [bool(g[s:e].all()) for g, spans in zip(gold, found, strict=True) for s, e, *_ in spans]
        spans, more = fit_calibration(np.asarray(scores), np.asarray(hits))
        self.cfg["spans"] = [spans.scale, spans.shift]
        return {f"tokens {k}": v for k, v in report.items()} | {f"spans {k}": v for k, v in more.items()}

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component, with weights in half precision, which finds the same spans.

        exclude (Iterable[str]): parts to leave out, such as "vocab"; the model is always included.
        RETURNS (bytes): the data.
        """
        parts = {"component": super().to_bytes(exclude=[*exclude, "model"])}
        return bytes(srsly.msgpack_dumps(parts | {"model": weights_to_bytes(self.model)}))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "DeidNER":
        """Deserialize the component in place.

        data (bytes): output of `to_bytes`.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (DeidNER): the component.
        """
        parts = srsly.msgpack_loads(data)
        super().from_bytes(parts["component"], exclude=[*exclude, "model"])
        weights_from_bytes(self.model, parts["model"])
        self.predictor = None
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component, with compressed weights in half precision.

        path (Union[str, Path]): folder of the component.
        exclude (Iterable[str]): parts to leave out, such as "vocab"; the model is always saved.
        """
        super().to_disk(path, exclude=[*exclude, "model"])
        (Path(path) / "model").write_bytes(weights_to_bytes(self.model, compress=True))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "DeidNER":
        """Load the component in place.

        path (Union[str, Path]): folder of the component.
        exclude (Iterable[str]): parts to keep unchanged.
        RETURNS (DeidNER): the component.
        """
        super().from_disk(path, exclude=[*exclude, "model"])
        weights_from_bytes(self.model, (Path(path) / "model").read_bytes())
        self.predictor = None
        return self

    def extend_labels(self, labels: Sequence[str], model: Model[list[Doc], Scores]) -> "DeidNER":
        """Add labels to this trained component, with weights of zero in the output layers.

        labels (Sequence[str]): canonical labels.
        model (Model): an uninitialized model with the network settings of this component, which replaces its model.
        RETURNS (DeidNER): this component.
        RAISES: ConfigError (D001) for an unknown label.
        """
        new = [get_label(label).name for label in labels if label not in self.labels]
        data = weights_to_bytes(self.model)
        self.cfg["labels"] = [*self.labels, *new]
        weights_from_bytes(model, data, crf.n_tags(len(self.labels)))
        self.model, self.predictor = model, None
        return self

    def continue_from(self, path: str | Path, model: Model[list[Doc], Scores]) -> "DeidNER":
        """Load a trained component into this one after its initialization, to continue its training.

        path (Union[str, Path]): folder of a component with the same network settings. Labels of this component that
            it does not have are added after its own, with weights of zero in the output layers. If this component
            has a lexicon, it keeps it.
        model (Model): an uninitialized model with these settings, which replaces that of this component.
        RETURNS (DeidNER): this component.
        """
        found = self.labels
        lexicons = [node.attrs.get("lexicon") for node in self.model.walk()]
        super().from_disk(path, exclude=["vocab", "model"])
        self.cfg["labels"] += [label for label in found if label not in self.cfg["labels"]]
        self.model = model
        weights_from_bytes(model, (Path(path) / "model").read_bytes(), crf.n_tags(len(self.labels)))
        for node, initialized in zip(model.walk(), lexicons, strict=True):
            if initialized:
                node.attrs["lexicon"] = initialized
        self.predictor = None
        return self


def _to_numpy(model: Model[Any, Any], scores: Any) -> np.ndarray:
    """Copy scores to main memory, wherever the model runs."""
    return cast(np.ndarray, model.ops.to_numpy(scores))  # type: ignore[no-untyped-call]


def _mean(scores: np.ndarray) -> np.ndarray:
    """Average the scores of a committee over its members; the scores of a single network are returned as they are."""
    return scores if scores.ndim == 2 else cast(np.ndarray, scores.mean(axis=0))
