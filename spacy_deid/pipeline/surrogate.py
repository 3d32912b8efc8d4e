"""deid_surrogate: converts the entities in ``doc.ents`` to a list of edits, under a policy and in a style.

The style "surrogate" requires a project key (`Surrogate.set_key`), which is in no config, saved pipeline, trace or
pickle. Notes with the same ``doc._.ehr["patient_id"]`` get the same surrogates; a note without one has its own.
"""

import hashlib
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import fields
from functools import partial
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..context import set_edits
from ..dictionaries.store import KnownIdentities, LocalStore
from ..errors import ConfigError, Errors, NotDeidentified
from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..medical.name_context import unfit_words
from ..ml.self_decoder import SelfDecoder
from ..offsets import Edit
from ..patient_ids import normal_id
from ..policies import Policy, load_policy
from ..registries import choose_part, registry
from ..spans import MERGED, RECOVERED, read_evidence
from ..surrogates.calendar.shifting import DateRules
from ..surrogates.forbidden import Forbidden
from ..surrogates.keys import IdentityKey, ProjectKey
from ..surrogates.mention import (
    DISPUTED,
    PERSONS,
    Detection,
    Mention,
    find_doubts,
    find_mentions,
    number_mentions,
    number_persons,
)
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.similar import Similar
from ..surrogates.strategies import (
    GENERALIZERS,
    Replacement,
    Strategy,
    check_probability,
    consistent,
    generalize,
    keep,
    markov,
    randomized,
    tag,
)
from ..surrogates.style import SurrogateStyle, agree
from ..vault.salts import Salts

# A style sees all spans of one Doc at once, so that it can be consistent, and returns one replacement for each.
Style = Callable[[Sequence[Span]], list[str]]


def tagged(spans: Sequence[Span]) -> list[str]:
    """Return the label of each span in brackets: ``[PATIENT]``."""
    return [f"[{span.label_}]" for span in spans]


def numbered(spans: Sequence[Span]) -> list[str]:
    """Return numbered labels: ``[PATIENT_1]``. The same person or value has the same number within a document."""
    out = [""] * len(spans)
    for label in {span.label_ for span in spans}:
        here = [i for i, span in enumerate(spans) if span.label_ == label]
        number = number_persons if label in PERSONS else number_mentions
        for i, n in zip(here, number([spans[i].text for i in here]), strict=True):
            out[i] = f"[{label}_{n}]"
    return out


def masked(spans: Sequence[Span], mask: str = "*") -> list[str]:
    """Replace each character by the mask character, except line breaks, so that line numbers do not change."""
    return ["".join(c if c in "\r\n" else mask for c in span.text) for span in spans]


def removed(spans: Sequence[Span]) -> list[str]:
    """Return empty strings."""
    return [""] * len(spans)


# Functions of the module and no closures: a pipeline with n_process is pickled where processes are spawned.
STYLES: dict[str, Style | SurrogateStyle] = {
    "tag": tagged,
    "numbered": numbered,
    "mask": masked,
    "remove": removed,
    "surrogate": SurrogateStyle(),
}


STRATEGIES: dict[str, Strategy] = {
    "consistent": consistent,
    "random": randomized,
    "keep": keep,
    "tag": tag,
    "generalize": generalize,
}
"""Strategies that a surrogate style can name by a plain string."""


@registry.deid_styles("spacy_deid.mask_style.v1")
def make_mask_style(mask: str) -> Style:
    """Make the style "mask" with another character.

    mask (str): replacement of each character.
    RETURNS (Style): the style.
    """
    return partial(masked, mask=mask)


@registry.deid_styles("spacy_deid.surrogate_style.v1")
def make_surrogate_style(
    default: Any = "consistent", labels: dict[str, Any] | None = None, dates: dict[str, Any] | None = None
) -> SurrogateStyle:
    """Make the style "surrogate" with its own strategies and date rules.

    default (Union[str, Strategy]): strategy of all labels that are not in `labels`: "consistent", "random", "keep",
        "tag", "generalize", or a config block of the registry ``deid_strategies``.
    labels (Optional[dict]): canonical label → strategy.
    dates (Optional[dict]): settings of `surrogates.calendar.shifting.DateRules`, which shift dates and ages; None for
        a shift of at most three years into the past.
    RETURNS (SurrogateStyle): the style.
    RAISES: ConfigError for an unknown label (D692), strategy (D697, D698), date setting (D837) or date style (D660),
        or if no date offset satisfies the rules (D661).
    """
    known = [field.name for field in fields(DateRules)]
    if unknown := sorted(set(dates or {}) - set(known)):
        raise ConfigError(Errors.D837.format(kind="setting of 'dates'", name=unknown[0], known=", ".join(known)))
    chosen = {label: choose_strategy(strategy) for label, strategy in (labels or {}).items()}
    return SurrogateStyle(choose_strategy(default), chosen, None if dates is None else DateRules(**dates))


def choose_strategy(strategy: Any) -> Strategy:
    """Return the strategy that a setting names.

    strategy (Union[str, Strategy]): a key of `STRATEGIES`, a registered name, or a strategy.
    RETURNS (Strategy): the strategy.
    RAISES: ConfigError (D697, D698) for an unknown name.
    """
    plain = {name: partial(STRATEGIES.__getitem__, name) for name in STRATEGIES}
    found: Strategy = choose_part("deid_strategies", strategy, plain, setting="strategy")
    return found


@registry.deid_strategies("spacy_deid.markov_strategy.v1")
def make_markov_strategy(p: float) -> Strategy:
    """Make the strategy that may change the surrogate of an entity from one mention to the next.

    p (float): probability of a change.
    RETURNS (Strategy): see `surrogates.strategies.markov`.
    RAISES: ConfigError (D690) if `p` is not between 0 and 1.
    """
    return partial(markov, p=check_probability(p))


@registry.deid_strategies("spacy_deid.similar_strategy.v1")
def make_similar_strategy(lang: str, model: str = "", best: int = 5, candidates: int = 40) -> Strategy:
    """Make the strategy that chooses names which a masked language model finds similar in context.

    It requires the extra "surprisal" for the models that ship, and "transformers" for other models.

    lang (str): language of the names. In notes of other languages the strategy is "consistent".
    model (str): masked language model, as for `masked_lm.model.load_masked_lm`; "" for the one that ships. It is
        loaded when the first name is replaced.
    best (int): the surrogate is drawn from this many of the highest-ranked candidates.
    candidates (int): number of candidates that are ranked.
    RETURNS (Strategy): see `surrogates.similar.Similar`.
    RAISES: ConfigError (D696) if `candidates` is less than 2 or less than `best`.
    """
    return Similar(WordsInPlace(partial(load_masked_lm, model or lang)), lang, best, candidates)


@registry.deid_strategies("spacy_deid.self_decoded_strategy.v1")
def make_self_decoded_strategy(model: str, lang: str, attempts: int = 20) -> Strategy:
    """Make the strategy that writes names with a self-decoding model.

    It requires the extra "transformers" and a model that was trained with ``scripts/self_decoder.py``.

    model (str): folder of a trained model.
    lang (str): language of its names. In notes of other languages the strategy is "consistent".
    attempts (int): number of draws per word before the person gets the surrogate of "consistent".
    RETURNS (Strategy): see `surrogates.self_decoded.SelfDecoded`.
    RAISES: ConfigError if packages are missing (D806) or the folder contains no self-decoding model (D249).
    """
    return SelfDecoded(SelfDecoder.from_disk(model).propose, lang, attempts, unfit_words(lang))


@Language.factory(
    "deid_surrogate",
    requires=["doc.ents", "doc.spans"],
    default_config={"style": "tag", "policy": "strict"},
)
def make_surrogate(nlp: Language, name: str, style: Any, policy: str) -> "Surrogate":
    """Make the component.

    style (Union[str, Style, SurrogateStyle]): "tag", "numbered", "mask", "remove", "surrogate", or a config block of
        the registry ``deid_styles``.
    policy (str): "strict", "safe_harbor", "limited_data_set", or the path of a policy file.
    """
    return Surrogate(name, style=style, policy=policy)


class Surrogate:
    """Writes the edits that make the released text. It changes neither ``doc.ents`` nor the text."""

    def __init__(
        self, name: str, *, style: str | Style | SurrogateStyle = "tag", policy: str | Policy = "strict"
    ) -> None:
        """Initialize the component; see `make_surrogate`.

        name (str): name of the component.
        style (Union[str, Style, SurrogateStyle]): name of a style, or a style.
        policy (Union[str, Policy]): name or file of a policy, or a policy.
        RAISES: ConfigError for an unknown style (D507), or an unknown or invalid policy (D505, D506).
        """
        self.name = name
        self._key: ProjectKey | None = None
        self._salts: Salts | None = None
        self._roster: Container[str] = ()
        self.style: Style | SurrogateStyle = tagged
        self.set_style(style)
        self.set_policy(policy)

    def set_style(self, style: str | Style | SurrogateStyle) -> None:
        """Set the style.

        style (Union[str, Style, SurrogateStyle]): name of a style, or a style. "surrogate" keeps the strategies of a
            surrogate style that was set in the config.
        RAISES: ConfigError (D507) for an unknown name.
        """
        if isinstance(style, str) and style not in STYLES:
            if style not in registry.deid_styles:
                raise ConfigError(Errors.D507.format(style=style, known=", ".join(STYLES)))
            style = choose_part("deid_styles", style, {}, setting="style")
        if not (style == "surrogate" and isinstance(self.style, SurrogateStyle)):
            self.style = STYLES[style] if isinstance(style, str) else style
        if isinstance(self.style, SurrogateStyle):
            self.style_name = "surrogate"
            return
        function = getattr(self.style, "func", self.style)
        known = (name for name, shipped in STYLES.items() if shipped is function)
        self.style_name = next(known, getattr(function, "__name__", "custom"))

    def set_key(self, key: ProjectKey | str | Path | None, salts: str | Path | None = None) -> None:
        """Set the project key, which the style "surrogate" requires. It is never saved.

        key (Union[ProjectKey, str, Path]): the key or its file; None to remove it.
        salts (Optional[Union[str, Path]]): file of the patients' salts; None for none. See `vault.salts`.
        RAISES: ConfigError for a key that is too short, not readable or readable by other users (D640 – D642), or for
            salts that were encrypted with another key (D647).
        """
        self._key = ProjectKey.from_file(key) if isinstance(key, str | Path) else key
        self._salts = Salts(salts, self._key) if salts is not None and self._key is not None else None

    def open_roster(self, folder: str | Path) -> None:
        """Let no surrogate be a person that dictionaries know, from now on.

        folder (Union[str, Path]): what ``spacy-deid dictionary build`` wrote.
        RAISES: ConfigError as `LocalStore.open`.
        """
        self._roster = KnownIdentities(LocalStore.open(folder))

    @property
    def lacks_key(self) -> bool:
        """bool: Whether the style requires a project key that was not set."""
        return isinstance(self.style, SurrogateStyle) and self._key is None

    def set_policy(self, policy: str | Policy) -> None:
        """Set the policy.

        policy (Union[str, Policy]): a policy, its name or its file.
        RAISES: ConfigError for an unknown (D505) or invalid policy (D506).
        """
        self.policy = load_policy(policy) if isinstance(policy, str) else policy

    def __call__(self, doc: Doc) -> Doc:
        """Write the edits of a Doc.

        doc (Doc): a merged Doc.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified if nothing was merged (D502), a merged token is neither in ``doc.ents`` nor recovered
            (D510), or the project key is missing (D691).
        """
        if self.lacks_key:
            raise NotDeidentified(Errors.D691)
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        lost = np.zeros(len(doc), dtype=bool)
        for span in doc.spans[MERGED]:
            lost[span.start : span.end] = True
        for span in (*doc.spans.get(RECOVERED, []), *doc.ents):
            lost[span.start : span.end] = False
        if lost.any():
            raise NotDeidentified(Errors.D510.format(count=np.count_nonzero(lost), name=self.name))
        doubts = self._doubts(doc)
        edits, decisions = self.edit(list(doc.ents), doubts)
        about: dict[str, Any] = {"policy": self.policy.name, "style": self.style_name}
        if isinstance(self.style, SurrogateStyle):
            about["identity"] = self._identity(doc)[0]
        reasons = [
            [ent.start_char, doubt]
            for ent, doubt in zip(doc.ents, doubts, strict=True)
            if doubt and not self._replaces(ent.label_)
        ]
        if reasons:
            about["reasons"] = reasons
        set_edits(doc, edits, {**about, "actions": decisions})
        return doc

    def _identity(self, doc: Doc) -> tuple[str, IdentityKey]:
        """Return whether the surrogates are those of the patient or of the document, and the key for them."""
        if self._key is None:
            raise NotDeidentified(Errors.D691)
        if patient_id := normal_id(doc._.ehr.get("patient_id")):
            salt = b"" if self._salts is None else self._salts.of(patient_id)
            return "patient", self._key.patient(patient_id, salt)
        digest = hashlib.sha256(doc.text.encode("utf-8", "surrogatepass")).hexdigest()
        return "document", self._key.patient(f"\0document {digest}")  # no id begins like this

    def _disputed(self, doc: Doc) -> dict[int, set[str]]:
        """Return the tokens that a detector assigned to a label that is replaced, with these labels.

        If detectors disagree, one label wins in ``doc.ents``. If the policy keeps that label, the other one still
        counts: a span that may be a name is not released because it may also be a town.
        """
        if self.policy.replaces_all and not isinstance(self.style, SurrogateStyle):
            return {}
        spans = (span for key in doc.spans[MERGED].attrs["sources"] for span in doc.spans[key])
        labels: dict[int, set[str]] = {}
        for span in spans:
            for i in range(span.start, span.end) if self._replaces(span.label_) else ():
                labels.setdefault(i, set()).add(span.label_)
        return labels

    def _replaces(self, label: str) -> bool:
        """Return whether the policy and the style release nothing of spans with a label."""
        style = self.style
        return self.policy.replaces(label) and not (isinstance(style, SurrogateStyle) and style.releases(label))

    def _doubts(self, doc: Doc) -> list[str]:
        """Return for each entity why it is replaced although its label is kept; "" for no reason."""
        disputed = self._disputed(doc)
        doubts = [
            DISPUTED if any(disputed.get(i, set()) - {ent.label_} for i in range(ent.start, ent.end)) else ""
            for ent in doc.ents
        ]
        kept = [i for i, ent in enumerate(doc.ents) if ent.label_ in PERSONS and not self._replaces(ent.label_)]
        if not kept:
            return doubts
        text = doc.text  # spaCy puts it together at every call
        found = [item for key in doc.spans[MERGED].attrs["sources"] for item in read_evidence(doc, key)]
        names = [(text[item.start : item.end], item.label) for item in found if item.label in PERSONS]
        names += [(ent.text, ent.label_) for ent in doc.ents if ent.label_ in PERSONS]
        names += [(str(doc._.ehr["name"]), "PATIENT")] if doc._.ehr.get("name") else []
        spans = [(ent.start_char, ent.end_char, ent.label_) for ent in (doc.ents[i] for i in kept)]
        detections = [Detection(e.start, e.end, e.label, e.source, e.score, e.validated) for e in found]
        for i, reason in zip(kept, find_doubts(text, spans, detections, names, self.policy.sure), strict=True):
            doubts[i] = doubts[i] or reason
        return doubts

    def edit(self, spans: Sequence[Span], doubts: Sequence[str] = ()) -> tuple[list[Edit], list[list[Any]]]:
        """Choose the action for each span, without changing the Doc.

        spans (Sequence[Span]): disjoint, in the order of the text.
        doubts (Sequence[str]): for each span why it must be replaced, or ""; empty for no reasons.
        RETURNS (tuple): the edits, and [start, end, label, action] of every span.
        """
        doubts = doubts or [""] * len(spans)
        edits: list[Edit] = []
        decisions: list[list[Any]] = []
        for span, replacement, doubt in zip(spans, self._write(spans, doubts) if spans else [], doubts, strict=True):
            action, text = self._act(span, replacement, doubt)
            if text is not None:
                before = self._before(span, text) if action in ("replace", "generalize") else None
                edits += [before] if before and (not decisions or before.start >= decisions[-1][1]) else []
                edits.append(Edit(span.start_char, span.end_char, span.label_, text))
            decisions.append([span.start_char, span.end_char, span.label_, action])
        return edits, decisions

    def _before(self, span: Span, text: str) -> Edit | None:
        """Return the edit of the word before a span if it must agree with the surrogate: "a" and "an"."""
        if not isinstance(self.style, SurrogateStyle):
            return None
        start, near = span.start_char, span.doc[max(0, span.start - 3) : span.end]
        changed = agree(Mention(span.text, span.label_, near.text[: start - near.start_char]), text, span.doc.lang_)
        return Edit(start - changed[0], start - changed[1], "", changed[2]) if changed else None

    def _write(self, spans: Sequence[Span], doubts: Sequence[str]) -> list[Replacement]:
        """Return the replacement of each span in the current style."""
        if not isinstance(self.style, SurrogateStyle):
            return [Replacement(text) for text in self.style(spans)]
        doc = spans[0].doc
        mentions = find_mentions(doc.text, [(span.start_char, span.end_char, span.label_) for span in spans])
        never = Forbidden(mentions, doc.lang_, unfit_words(doc.lang_), self._roster)
        more = {
            "ehr": doc._.ehr,
            "year": self.policy.year,
            "must_replace": {i for i, doubt in enumerate(doubts) if doubt},
        }
        return self.style.replace(mentions, self._identity(doc)[1], doc.lang_, never, **more)

    def _act(self, span: Span, styled: Replacement, doubt: str) -> tuple[str, str | None]:
        """Return the action for a span, and its replacement (None if the span is kept)."""
        action = self.policy.action(span.label_)
        if not doubt and action == "keep":
            return action, None
        if action == "tag":
            return action, f"[{span.label_}]"
        if not doubt and action == "generalize" and span.label_ in GENERALIZERS:
            coarse = GENERALIZERS[span.label_](span.text, self.policy.year)
            if coarse is not None:
                return ("keep", None) if coarse == span.text else (action, coarse)
        return styled.action, None if styled.action == "keep" else styled.text

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return no data: the component is defined by its config."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Surrogate":
        """Do nothing: the component is defined by its config."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without key, salts and known identities, except for a worker process that is being spawned."""
        return vars(self) | ({} if get_spawning_popen() is not None else {"_key": None, "_salts": None, "_roster": ()})
