"""Registers the factories of all components in spaCy, and the scorer that their configs refer to.

spaCy imports the modules of all factories whenever it makes a pipeline. Therefore each factory imports its component
when it is called, and a pipeline imports the components that it contains and no others.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d, Floats3d

from .errors import ConfigError, Errors
from .spans import PREFIX, SpansFilter

if TYPE_CHECKING:
    from spacy.training import Example

    from .medical.dictionary import MedicalDictionary
    from .pipeline.llm import LLM
    from .pipeline.merge import Merge
    from .pipeline.ner import DeidNER
    from .pipeline.patterns import Patterns
    from .pipeline.recovery import Recovery
    from .pipeline.review import Review
    from .pipeline.ruler import Ruler
    from .pipeline.surprisal import Surprisal
    from .pipeline.surrogate import Surrogate


@Language.factory(
    "deid_patterns",
    assigns=["doc.spans"],
    default_config={
        "key": "deid/patterns",
        "languages": None,
        "rules": [],
        "disable": [],
        "verify": True,
        "propagate_names": True,
    },
)
def make_patterns(
    nlp: Language,
    name: str,
    key: str,
    languages: list[str] | None,
    rules: list[str],
    disable: list[str],
    verify: bool,
    propagate_names: bool,
) -> "Patterns":
    """Make a ``deid_patterns`` component, which finds identifiers with a fixed form by rules and check digits.

    key (str): span group to write.
    languages (Optional[list[str]]): languages whose rules are used, in addition to the rules for all languages; None
        for the language of the pipeline.
    rules (list[str]): paths of further rules files.
    disable (list[str]): ids of rules to leave out, such as "es/dni".
    verify (bool): whether further rules files are run on their own examples when they are read.
    propagate_names (bool): whether each word of a person's name that was found is searched for in the whole note.
    """
    from .patterns.rules import rule_languages
    from .pipeline.patterns import Patterns

    if languages is None:
        languages = [nlp.lang] if nlp.lang in rule_languages() else []
    return Patterns(
        name,
        key=key,
        languages=languages,
        paths=rules,
        disable=disable,
        verify=verify,
        propagate_names=propagate_names,
    )


@Language.factory(
    "deid_ruler",
    assigns=["doc.spans"],
    default_config={
        "key": "deid/ruler",
        "paths": [],
        "label": None,
        "without_patient": "institution",
        "fuzzy": None,
    },
)
def make_ruler(
    nlp: Language, name: str, key: str, paths: list[str], label: str | None, without_patient: str, fuzzy: bool | None
) -> "Ruler":
    """Make a ``deid_ruler`` component, which finds the terms of lists and of the institution's dictionaries.

    key (str): span group to write.
    paths (list[str]): public lists, .csv or .jsonl. They are saved with the pipeline. "lang:es/gazetteer.csv" is the
        file ``gazetteer.csv`` of Spanish; see `spacy_deid.lang`.
    label (Optional[str]): label of rows without a label.
    without_patient (str): handling of a note without a patient id, or with an unknown one: "institution" searches only
        for the terms of the institution, "refuse" raises an error.
    fuzzy (Optional[bool]): whether misspelled long names of the note's patient match, too; None for the setting
        that the dictionaries were built with.
    """
    from .pipeline.ruler import Ruler

    return Ruler(name, key=key, paths=paths, label=label, without_patient=without_patient, fuzzy=fuzzy)


DEFAULT_MODEL = {
    "@architectures": "spacy_deid.TagScorer.v1",
    "dropout": 0.2,
    "tok2vec": {"@architectures": "spacy_deid.NoteTok2Vec.v1"},
}


@Language.factory(
    "deid_ner",
    assigns=["doc.spans"],
    default_config={
        "model": DEFAULT_MODEL,
        "key": "deid/ner",
        "threshold": 0.5,
        "operating_point": None,
        "propagate_names": True,
        "second_reading": False,
        "scorer": {"@scorers": "spacy_deid.deid_scorer.v1"},
    },
)
def make_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], Sequence[Floats2d | Floats3d]],
    key: str,
    threshold: float | dict[str, float],
    operating_point: str | None,
    propagate_names: bool,
    second_reading: bool,
    scorer: Callable[..., dict[str, Any]] | None,
) -> "DeidNER":
    """Make a ``deid_ner`` component, a trainable token classifier for identifiers.

    model (Model[List[Doc], List[Floats2d]]): Docs → scores of the BIOES tags, shape (tokens, tags), or (members,
        tokens, tags) for several models that vote (a committee).
    key (str): span group to write.
    threshold (Union[float, dict[str, float]]): tokens whose probability of being PHI is at least this are detected.
        0.5 follows the most probable tag sequence; lower values find more identifiers and more false positives. A dict
        sets it by label: ``{"default": 0.3, "PATIENT": 0.1}``.
    operating_point (Optional[str]): name of thresholds that `spacy-deid calibrate` fitted, used instead of the
        threshold.
    propagate_names (bool): whether each word of a person's name that was found is searched for in the whole note, and
        log-ins that are made of it.
    second_reading (bool): whether a damaged note (scanned, with broken words, in capitals) is read a second time after
        the damage was undone. What either reading finds is detected.
    scorer (Optional[Callable]): registered scorer.
    """
    from .pipeline.ner import DeidNER

    ner = DeidNER(
        nlp.vocab,
        model,
        name,
        key=key,
        threshold=threshold,
        propagate_names=propagate_names,
        scorer=scorer,
        second_reading=second_reading,
        tokenizer=nlp.tokenizer,
    )
    ner.operating_point = operating_point  # unchecked: its thresholds come with the weights
    return ner


@Language.factory(
    "deid_surprisal",
    assigns=["doc.spans", "doc.user_data"],
    default_config={
        "key": "deid/surprisal",
        "model": None,
        "language": None,
        "mode": "spread",
        "masking": "same_word",
        "lemmatizer": None,
        "candidates": "all",
        "score": "entropy",
        "threshold": None,
        "label": "OTHER",
        "precision": None,
        "window": None,
        "batch": 1024,
        "allow_download": False,
    },
)
def make_surprisal(
    nlp: Language,
    name: str,
    key: str,
    model: str | None,
    language: str | None,
    mode: Any,
    masking: Any,
    lemmatizer: Any,
    candidates: Any,
    score: Any,
    threshold: float | None,
    label: str,
    precision: str | None,
    window: int | None,
    batch: int,
    allow_download: bool,
) -> "Surprisal":
    """Make a ``deid_surprisal`` component, which scores words by how unexpected they are to a masked language model.

    The model is loaded when the first note is scored.

    `mode`, `masking`, `candidates` and `score` are plain names or config blocks of the registries ``deid_modes``,
    ``deid_masking``, ``deid_candidates`` and ``deid_scores``.

    key (str): span group to write.
    model (Optional[str]): folder of a masked language model, language of a model that ships, or with `allow_download`
        the name of a model on a hub; None for the language of the pipeline.
    language (Optional[str]): language of word counts, name lists and lemmatizer; None for that of the pipeline.
    mode (Union[str, Mode]): how many words are masked at once: "exact", "spread" or "unmasked".
    masking (Union[str, Masking]): which words are masked together: "none", "same_word" or "same_lemma".
    lemmatizer (Any): lemmatizer of "same_lemma"; see `lemmatizers.choose_lemmatizer`.
    candidates (Union[str, Candidates]): which words are scored: "all" or "uncommon".
    score (Union[str, Score]): how the score is computed: "surprisal", "per_piece", "rank", "entropy", "name_slot",
        "contrast" or "combined".
    threshold (Optional[float]): words with at least this score become spans; None for scores only.
    label (str): label of the spans.
    precision (Optional[str]): "float" or "int8"; None for the default of the mode.
    window (Optional[int]): window length in pieces; None for the maximum of the model.
    batch (int): number of pieces per batch.
    allow_download (bool): whether a model may be downloaded from a hub.
    """
    from .pipeline.surprisal import Surprisal

    return Surprisal(
        name,
        lang=language or str(nlp.lang),
        key=key,
        model=model,
        mode=mode,
        masking=masking,
        lemmatizer=lemmatizer,
        candidates=candidates,
        score=score,
        threshold=threshold,
        label=label,
        precision=precision,
        window=window,
        batch=batch,
        allow_download=allow_download,
    )


LLM_DEFAULTS: dict[str, Any] = {
    "key": "deid/llm",
    "model": None,
    "prompt": "zero_shot.v2",
    "language": None,
    "labels": None,
    "canaries": 2,
    "fuzzy": 90.0,
    "server": {"model_name": None, "allow": [], "key_variable": None, "ca_file": None, "response_format": "auto"},
    "in_process": {"context": 8192, "threads": None, "gpu_layers": 0},
    "sampling": {"temperature": 0.0, "seed": 0, "grammar": None},
    "chunks": {"size": 4000, "overlap": 200},
    "limits": {"max_tokens": 2048, "timeout": 300.0, "retries": 2, "wait": 0.5, "slots": 4},
}


@Language.factory("deid_llm", assigns=["doc.spans"], default_config=LLM_DEFAULTS)
def make_llm(
    nlp: Language,
    name: str,
    key: str,
    model: str | None,
    prompt: str,
    language: str | None,
    labels: list[str] | None,
    canaries: int,
    fuzzy: float | None,
    server: dict[str, Any],
    in_process: dict[str, Any],
    sampling: dict[str, Any],
    chunks: dict[str, Any],
    limits: dict[str, Any],
) -> "LLM":
    """Make a ``deid_llm`` component, which detects identifiers with a local large language model.

    The model is opened when the first note is processed.

    key (str): span group to write.
    model (Optional[str]): path of a GGUF file, or address of a server. There is no default: without a model no note is
        processed.
    prompt (str): name of a prompt that ships, or path of a file.
    language (Optional[str]): language of the prompt; None for that of the pipeline.
    labels (Optional[list[str]]): labels to ask for; None for those that the prompt describes.
    canaries (int): number of invented identifiers that are planted in every question. If an answer misses one, for
        example because the note contains a prompt injection, the question is repeated, and then the note fails. 0
        turns the check off.
    fuzzy (Optional[float]): similarity from 0 to 100 from which on words match what the model returned; None for no
        fuzzy matching.
    server (dict): settings of a server. "model_name": name of the model; None if the server has only one. "allow":
        hosts other than this machine that may be contacted: names, addresses or networks. "key_variable": environment
        variable that contains the API key. "ca_file": certificates of accepted authorities (PEM). "response_format":
        see `llm.open_backend`.
    in_process (dict): settings of a GGUF file. "context": maximum number of tokens of prompt and answer together.
        "threads": number of threads; None for one per core. "gpu_layers": number of layers on a GPU; -1 for all.
    sampling (dict): "temperature": 0 always takes the most probable token. "seed": random seed. "grammar": file with
        a GBNF grammar that constrains the answer instead of the schema made from the labels.
    chunks (dict): "size": maximum length of a part of a note, in characters. "overlap": maximum number of characters
        that two parts share.
    limits (dict): "max_tokens": maximum length of an answer; if one is cut off, the two halves of the part are
        processed separately. "timeout": time limit of a request to a server, in seconds. "retries": number of
        repetitions after a failure. "wait": seconds before the first repetition, doubled each time. "slots": number of
        simultaneous requests to a server.
    RAISES: ConfigError for an unknown setting of a block (D837), prompt (D735) or label (D001), or a value that is out
        of range (D812); InputError (D402) if the grammar cannot be read.
    """
    from .pipeline.llm import LLM

    blocks = {"server": server, "in_process": in_process, "sampling": sampling, "chunks": chunks, "limits": limits}
    for block, settings in blocks.items():
        if unknown := sorted(set(settings) - set(LLM_DEFAULTS[block])):
            known = ", ".join(LLM_DEFAULTS[block])
            raise ConfigError(Errors.D837.format(kind=f"setting of '{block}'", name=unknown[0], known=known))
    lang = language or str(nlp.lang)
    return LLM(
        name, lang=lang, key=key, model=model, prompt=prompt, labels=labels, canaries=canaries, fuzzy=fuzzy, **blocks
    )


@Language.factory(
    "deid_merge",
    requires=["doc.spans"],
    assigns=["doc.ents", "doc.spans"],
    default_config={
        "sources": None,
        "label_priority": None,
        "spans_filter": None,
    },
)
def make_merge(
    nlp: Language,
    name: str,
    sources: list[str] | None,
    label_priority: dict[str, int] | str | None,
    spans_filter: SpansFilter | None,
) -> "Merge":
    """Make a ``deid_merge`` component, which unites the detections of all detectors in ``doc.ents``.

    sources (Optional[list[str]]): span groups to merge, the most trusted first; None for those of the detectors that
        are in the pipeline when this component is added.
    label_priority (Optional[Union[dict[str, int], str]]): canonical label → number, or a JSON file with such an
        object; where detections overlap, the label with the smaller number wins. None for the priority that ships.
    spans_filter (Optional[SpansFilter]): makes the candidates disjoint; None for `spans.union_filter`, which trims
        overlapping spans and never uncovers a token.
    """
    from .pipeline.merge import Merge

    if sources is None:
        keys = (getattr(component, "key", None) for _, component in nlp.components)
        sources = [key for key in keys if isinstance(key, str) and key.startswith(PREFIX)]
    return Merge(name, sources=sources, label_priority=label_priority, spans_filter=spans_filter)


@Language.factory(
    "deid_recovery",
    requires=["doc.ents", "doc.spans"],
    assigns=["doc.ents", "doc.spans"],
    default_config={
        "labels": None,
        "language": None,
        "dictionary": None,
        "terms": True,
        "expressions": True,
        "lists": ["deid/ruler"],
    },
)
def make_recovery(
    nlp: Language,
    name: str,
    labels: list[str] | None,
    language: str | None,
    dictionary: str | None,
    terms: bool,
    expressions: bool,
    lists: list[str],
) -> "Recovery":
    """Make a ``deid_recovery`` component, which removes medical terms, such as eponyms, from the merged entities.

    A preceding ``deid_merge`` is set to expect it: without this step there is then no released text.

    labels (Optional[list[str]]): labels that may be recovered; None for `medical.use.RECOVERABLE`.
    language (Optional[str]): language of the notes; None for that of the pipeline.
    dictionary (Optional[str]): file of a medical dictionary; None for the one that ships.
    terms (bool): whether medical terms and eponyms are recovered.
    expressions (bool): whether matches of recovery expressions are recovered.
    lists (list[str]): span groups of list detectors; their clinicians are only recovered with a head word ("disease").
    """
    from .medical.use import RECOVERABLE
    from .pipeline.recovery import Recovery

    for _, component in nlp.components:
        if hasattr(component, "expects_recovery"):
            component.expects_recovery = True
    lang = language or str(nlp.lang)
    return Recovery(
        name,
        lang=lang,
        labels=RECOVERABLE if labels is None else labels,
        medical=_load_dictionary(dictionary, lang) if terms else None,
        terms=terms,
        expressions=expressions,
        lists=lists,
    )


@Language.factory(
    "deid_review",
    requires=["doc.ents", "doc.spans"],
    assigns=["doc.spans"],
    default_config={
        "per_1000_words": 5.0,
        "at_least": 1,
        "floor": 0.0,
        "longest": 10,
        "column": None,
        "medical": True,
        "recovered": True,
        "language": None,
        "dictionary": None,
    },
)
def make_review(
    nlp: Language,
    name: str,
    per_1000_words: float,
    at_least: int,
    floor: float,
    longest: int,
    column: str | None,
    medical: bool,
    recovered: bool,
    language: str | None,
    dictionary: str | None,
) -> "Review":
    """Make a ``deid_review`` component, which proposes words that no detector found for manual review.

    Add it after ``deid_merge`` and ``deid_recovery``. If the pipeline has ``deid_ner``, words are ranked by all
    evidence that they were missed; otherwise by the score of ``deid_surprisal``.

    per_1000_words (float): number of spans to propose per 1,000 words of a note.
    at_least (int): number of spans to propose in any note, however short.
    floor (float): minimum score of a word (exclusive); its scale depends on the score of ``deid_surprisal``.
    longest (int): maximum number of words per span, so that an unusual paragraph is not a single span.
    column (Optional[str]): "score" to rank words by the score of ``deid_surprisal``, or one of its columns, such as
        "surprisal" or "per_piece"; None for all evidence.
    medical (bool): whether terms of the medical dictionary are excluded.
    recovered (bool): whether text that ``deid_recovery`` released as medical is proposed nevertheless.
    language (Optional[str]): language of the notes; None for that of the pipeline.
    dictionary (Optional[str]): file of a medical dictionary; None for the one that ships.
    """
    from .pipeline.review import Review

    for _, part in nlp.pipeline:
        if hasattr(part, "keep_probabilities"):
            part.keep_probabilities = column is None
    return Review(
        name,
        per_1000_words=per_1000_words,
        at_least=at_least,
        floor=floor,
        longest=longest,
        column=column,
        terms=_load_dictionary(dictionary, language or str(nlp.lang)) if medical else None,
        recovered=recovered,
    )


@Language.factory(
    "deid_surrogate",
    requires=["doc.ents", "doc.spans"],
    default_config={"style": "tag", "policy": "strict"},
)
def make_surrogate(nlp: Language, name: str, style: Any, policy: str) -> "Surrogate":
    """Make a ``deid_surrogate`` component, which converts the entities in ``doc.ents`` to edits of the text.

    style (Union[str, Style, SurrogateStyle]): "tag", "numbered", "mask", "remove", "surrogate", or a config block of
        the registry ``deid_styles``.
    policy (str): which labels are replaced, generalized or kept: "strict", "safe_harbor", "limited_data_set", or the
        path of a policy file.
    """
    from .pipeline.surrogate import Surrogate

    return Surrogate(name, style=style, policy=policy)


def _load_dictionary(path: str | None, lang: str) -> "MedicalDictionary | None":
    """Load a medical dictionary from a file or, without a path, the one of the language; None if it has none."""
    from .medical.dictionary import MedicalDictionary, languages

    if path:
        return MedicalDictionary.from_file(path)
    return MedicalDictionary.load(lang) if lang in languages() else None


@registry.scorers("spacy_deid.deid_scorer.v1")  # type: ignore[untyped-decorator]
def make_deid_scorer(spans_key: str | None = None) -> Callable[..., dict[str, float | None]]:
    """Make the scorer for ``spacy train`` and ``spacy evaluate``.

    spans_key (Optional[str]): span group with the predictions, such as "deid/ner" to score a detector; None for
        ``doc.ents``.
    RETURNS (Callable): function from examples to the scores of `evaluation.metrics.score_examples`.
    """
    return partial(_score, spans_key)


def _score(spans_key: str | None, examples: "Iterable[Example]", **_: Any) -> dict[str, float | None]:
    """Score examples. This is a module-level function, because a closure would make pipelines unpicklable."""
    from .evaluation.metrics import score_examples

    return score_examples(examples, spans_key)
