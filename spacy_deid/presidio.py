"""Use a pipeline in Presidio's analyzer: as its NLP engine, or as one of its recognizers.

    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from spacy_deid.presidio import DeidNlpEngine

    engine = DeidNlpEngine({"en": "en"})
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.add_nlp_recognizer(engine)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    found = analyzer.analyze(text, language="en")

Each span that the policy does not keep becomes a result. Its score is always 1, so that no threshold of Presidio drops
it: the operating point of the pipeline has already decided. A text that the pipeline cannot de-identify raises an
error, so an empty list of results always means that nothing was found.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import spacy
from spacy.language import Language

from .context import KEEP
from .deidentifier import Deidentifier
from .errors import ConfigError, Errors, NotDeidentified
from .labels import LABELS, to_scheme
from .results import Result

try:
    from presidio_analyzer import AnalysisExplanation, EntityRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import NlpArtifacts, SpacyNlpEngine
except ImportError:
    raise ConfigError(Errors.D821.format(package="presidio-analyzer", extra="presidio")) from None

ENTITIES = tuple(sorted({label.presidio for label in LABELS.values()}))
"""Entity types of the results; see `labels.to_scheme` with the scheme "presidio"."""

_SCORE = 1.0
_TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}

Pipeline = str | Path | Language | Deidentifier
"""What `Deidentifier` takes, or a deidentifier with settings of its own."""


class _Found(NamedTuple):
    """A span to remove: its offsets in the input text, its canonical label, and the detectors that found it."""

    start: int
    end: int
    label: str
    sources: list[str]


class _Finder:
    """Runs a pipeline on texts. Several threads can share it; they wait for each other.

    pipeline (Pipeline): the pipeline.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.deid = pipeline if isinstance(pipeline, Deidentifier) else Deidentifier(pipeline)
        self._lock = Lock()

    def __call__(self, texts: list[str], **settings: Any) -> list[list[_Found]]:
        """Find the spans to remove.

        texts (list[str]): the texts.
        **settings (Any): settings of `Deidentifier.pipe`.
        RETURNS (list[list[_Found]]): the spans of each text, in order.
        RAISES: NotDeidentified (D997) for the first text that could not be de-identified; ConfigError as
            `Deidentifier.pipe`.
        """
        with self._lock:
            results = list(self.deid.pipe(texts, **settings))
        return [_read_spans(result) for result in results]


def _read_spans(result: Result) -> list[_Found]:
    """Return the spans of a text that its policy does not keep. RAISES: NotDeidentified (D997) if it was withheld."""
    if not result.ok:
        raise NotDeidentified(Errors.D997.format(number=result.number, reason=result.reason))
    return [
        _Found(row["start"], row["end"], row["label"], sorted({item["source"] for item in row["evidence"]}))
        for row in result.trace
        if row["action"] != KEEP
    ]


class DeidNlpEngine(SpacyNlpEngine):  # type: ignore[misc]
    """An NLP engine of Presidio that tokenizes texts and finds identifiers with pipelines of spacy_deid.

    Presidio's `SpacyRecognizer`, which `RecognizerRegistry.add_nlp_recognizer` adds for this engine, turns the
    identifiers into results. They begin and end at tokens. Lemmas are the words in lower case, so context words of
    other recognizers must be given in the forms of the notes.

    pipelines (Mapping[str, Pipeline]): Presidio's language code → pipeline.
    RAISES: ConfigError as `Deidentifier`.
    """

    engine_name = "spacy_deid"
    is_available = True

    def __init__(self, pipelines: Mapping[str, Pipeline]) -> None:
        super().__init__(models=[{"lang_code": lang, "model_name": "spacy_deid"} for lang in pipelines])
        self._finders = {lang: _Finder(pipeline) for lang, pipeline in pipelines.items()}
        # the tokens of a text stay with Presidio, so they must not be added to the strings of the pipeline
        self.nlp = {
            lang: spacy.blank(finder.deid.nlp.lang or "xx", config=_TOKENIZER)
            for lang, finder in self._finders.items()
        }

    def load(self) -> None:
        """Do nothing, because the pipelines were loaded when the engine was made."""

    def get_supported_entities(self) -> list[str]:
        """Return `ENTITIES`."""
        return list(ENTITIES)

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """Find the identifiers in a text.

        text (str): the text.
        language (str): one of the languages of the engine.
        RETURNS (NlpArtifacts): its tokens and identifiers.
        RAISES: NotDeidentified (D997) if it could not be de-identified; ConfigError (D998) for an unknown language.
        """
        ((_, artifacts),) = self.process_batch([text], language)
        return artifacts

    def process_batch(
        self,
        texts: Iterable[Any],
        language: str,
        batch_size: int = 64,
        n_process: int = 1,
        as_tuples: bool = False,
        **_: Any,
    ) -> Iterator[tuple[Any, ...]]:
        """Find the identifiers in several texts, all of them before the first is yielded.

        texts (Iterable): texts, or (text, context) pairs with `as_tuples`. Other values are converted to text.
        language (str): one of the languages of the engine.
        batch_size, n_process (int): as in `Deidentifier.pipe`.
        as_tuples (bool): whether to take and yield contexts.
        YIELDS (tuple): text and NlpArtifacts, and the context with `as_tuples`.
        RAISES: NotDeidentified (D997) if a text could not be de-identified; ConfigError (D998) for a language that the
            engine does not have.
        """
        if language not in self._finders:
            raise ConfigError(Errors.D998.format(lang=language, known=", ".join(self._finders)))
        pairs = [(str(text), context) for text, context in (texts if as_tuples else ((text, None) for text in texts))]
        found = self._finders[language]([text for text, _ in pairs], batch_size=batch_size, n_process=n_process)
        for (text, context), spans in zip(pairs, found, strict=True):
            artifacts = self._make_artifacts(text, spans, language)
            yield (text, artifacts, context) if as_tuples else (text, artifacts)

    def _make_artifacts(self, text: str, found: list[_Found], language: str) -> NlpArtifacts:
        """Tokenize a text and add its identifiers, expanded to whole tokens."""
        doc = self.nlp[language].make_doc(text)
        spans = [
            doc.char_span(start, end, label=to_scheme(label, "presidio"), alignment_mode="expand")
            for start, end, label, _ in found
        ]
        if None in spans:
            raise NotDeidentified(Errors.D997.format(number=0, reason="a span is outside the text"))
        return NlpArtifacts(
            entities=spans,
            tokens=doc,
            tokens_indices=[token.idx for token in doc],
            lemmas=[token.lower_ for token in doc],
            nlp_engine=self,
            language=language,
            scores=[_SCORE] * len(spans),
        )


class DeidRecognizer(EntityRecognizer):  # type: ignore[misc]
    """A recognizer of Presidio that runs a pipeline, beside other recognizers and any NLP engine.

    It ignores the output of the NLP engine. The results have the exact offsets of the pipeline, its labels in
    ``recognition_metadata["label"]``, and the detectors in their explanation.

    pipeline (Pipeline): the pipeline.
    language (str): Presidio's language code; "" for the language of the pipeline.
    RAISES: ConfigError as `Deidentifier`.
    """

    def __init__(self, pipeline: Pipeline, language: str = "") -> None:
        self._find = _Finder(pipeline)
        name = language or self._find.deid.nlp.lang
        super().__init__(list(ENTITIES), name="spacy_deid", supported_language=name)

    def load(self) -> None:
        """Do nothing, because the pipeline was loaded when the recognizer was made."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any = None) -> list[RecognizerResult]:
        """Find the identifiers in a text.

        text (str): the text.
        entities (list[str]): entity types to return; empty for all.
        nlp_artifacts (Any): not used.
        RETURNS (list[RecognizerResult]): one result per identifier with one of these types.
        RAISES: NotDeidentified (D997) if the text could not be de-identified.
        """
        (found,) = self._find([text])
        results = [self._make_result(span) for span in found]
        return [result for result in results if not entities or result.entity_type in entities]

    def _make_result(self, span: _Found) -> RecognizerResult:
        """Convert a span to a result."""
        reason = f"{span.label} found by {', '.join(span.sources)}"
        metadata = {
            RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
            RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
            "label": span.label,
        }
        return RecognizerResult(
            entity_type=to_scheme(span.label, "presidio"),
            start=span.start,
            end=span.end,
            score=_SCORE,
            analysis_explanation=AnalysisExplanation(self.name, _SCORE, textual_explanation=reason),
            recognition_metadata=metadata,
        )
