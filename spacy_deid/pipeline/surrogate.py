"""deid_surrogate: turns the decision in ``doc.ents`` into a list of edits, under a policy."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import registry

from ..context import set_edits
from ..errors import ConfigError, Errors, NotDeidentified
from ..offsets import Edit
from ..policies import Policy, load_policy
from ..spans import MERGED, RECOVERED
from ..surrogates.generalize import GENERALIZERS
from ..surrogates.persons import number_mentions, number_persons

__all__ = ["PERSONS", "Style", "Surrogate", "make_surrogate"]

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})

# A style sees all spans of one Doc at once, so that it can be consistent, and returns one replacement for each.
Style = Callable[[Sequence[Span]], list[str]]


def tagged(spans: Sequence[Span]) -> list[str]:
    """``[PATIENT]``."""
    return [f"[{span.label_}]" for span in spans]


def numbered(spans: Sequence[Span]) -> list[str]:
    """``[PATIENT_1]``: the same person or value has the same number in a document."""
    out = [""] * len(spans)
    for label in {span.label_ for span in spans}:
        here = [i for i, span in enumerate(spans) if span.label_ == label]
        number = number_persons if label in PERSONS else number_mentions
        for i, n in zip(here, number([spans[i].text for i in here]), strict=True):
            out[i] = f"[{label}_{n}]"
    return out


def masked(spans: Sequence[Span], mask: str = "*") -> list[str]:
    """As many mask characters as there were; line breaks stay, so that lines keep their number."""
    return ["".join(c if c in "\r\n" else mask for c in span.text) for span in spans]


def removed(spans: Sequence[Span]) -> list[str]:
    """Nothing is left."""
    return [""] * len(spans)


# Functions of the module and no closures: a pipeline with n_process is pickled where processes are spawned.
STYLES: dict[str, Style] = {"tag": tagged, "numbered": numbered, "mask": masked, "remove": removed}


@registry.misc("spacy_deid.tag_style.v1")
def make_tag_style() -> Style:
    """Make the style `tagged`."""
    return tagged


@registry.misc("spacy_deid.numbered_style.v1")
def make_numbered_style() -> Style:
    """Make the style `numbered`."""
    return numbered


@registry.misc("spacy_deid.mask_style.v1")
def make_mask_style(mask: str = "*") -> Style:
    """Make the style `masked`.

    mask (str): what stands for each character.
    """
    return partial(masked, mask=mask)


@registry.misc("spacy_deid.remove_style.v1")
def make_remove_style() -> Style:
    """Make the style `removed`."""
    return removed


@Language.factory(
    "deid_surrogate",
    requires=["doc.ents", "doc.spans"],
    default_config={"style": "tag", "policy": "strict"},
)
def make_surrogate(nlp: Language, name: str, style: str | Style, policy: str) -> "Surrogate":
    """Make the component.

    style (Union[str, Style]): "tag", "numbered", "mask", "remove", or a registered style.
    policy (str): "strict", "safe_harbor", "limited_data_set", or the path of a policy file.
    """
    return Surrogate(name, style=style, policy=policy)


class Surrogate:
    """Writes the edits that make the released text. Changes neither ``doc.ents`` nor the text."""

    def __init__(self, name: str, *, style: str | Style = "tag", policy: str | Policy = "strict") -> None:
        self.name = name
        self.set_style(style)
        self.set_policy(policy)

    def set_style(self, style: str | Style) -> None:
        """Choose how replaced spans are written.

        style (Union[str, Style]): a style's name or function.
        RAISES: ConfigError (D507) for an unknown name.
        """
        if isinstance(style, str) and style not in STYLES:
            raise ConfigError(Errors.D507.format(style=style, known=", ".join(STYLES)))
        self.style: Style = STYLES[style] if isinstance(style, str) else style
        function = getattr(self.style, "func", self.style)
        known = (name for name, shipped in STYLES.items() if shipped is function)
        self.style_name: str = next(known, getattr(function, "__name__", "custom"))

    def set_policy(self, policy: str | Policy) -> None:
        """Choose what is done with each label.

        policy (Union[str, Policy]): a policy, its name or its file.
        RAISES: ConfigError (D505, D506).
        """
        self.policy = load_policy(policy) if isinstance(policy, str) else policy

    def __call__(self, doc: Doc) -> Doc:
        """Write the edits of a Doc.

        RAISES: NotDeidentified if nothing was merged (D502), or ``doc.ents`` holds less than was merged and not
            recovered (D510).
        """
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        merged, recovered, decided = (
            {i for span in spans for i in range(span.start, span.end)}
            for spans in (doc.spans[MERGED], doc.spans.get(RECOVERED, []), doc.ents)
        )
        if lost := merged - recovered - decided:
            raise NotDeidentified(Errors.D510.format(count=len(lost), name=self.name))
        edits, decisions = self.edit(list(doc.ents), self._disputed(doc))
        set_edits(doc, edits, {"policy": self.policy.name, "style": self.style_name, "actions": decisions})
        return doc

    def _disputed(self, doc: Doc) -> set[int]:
        """Tokens that some detector gave a label which the policy replaces.

        Where two detectors disagree, one label wins in ``doc.ents``; if the policy keeps that one, the other must not
        be forgotten: what may be a name is not released because it may also be a town.
        """
        if self.policy.replaces_all:
            return set()
        spans = (span for key in doc.spans[MERGED].attrs["sources"] for span in doc.spans[key])
        return {i for span in spans if self.policy.replaces(span.label_) for i in range(span.start, span.end)}

    def edit(
        self, spans: Sequence[Span], disputed: AbstractSet[int] = frozenset()
    ) -> tuple[list[Edit], list[list[Any]]]:
        """Decide on every span; changes nothing.

        spans (Sequence[Span]): disjoint, in the order of the text.
        disputed (AbstractSet[int]): tokens that are replaced whatever the label of their span.
        RETURNS (tuple): edits, and [start, end, label, action] of every span, changed or kept.
        """
        styled = self.style(spans)
        edits, decisions = [], []
        for span, replacement in zip(spans, styled, strict=True):
            doubt = not disputed.isdisjoint(range(span.start, span.end))
            action, text = self._act(span, replacement, doubt)
            decisions.append([span.start_char, span.end_char, span.label_, action])
            if text is not None:
                edits.append(Edit(span.start_char, span.end_char, span.label_, text))
        return edits, decisions

    def _act(self, span: Span, replacement: str, doubt: bool) -> tuple[str, str | None]:
        """The action that was taken on a span, and what replaces it (None: nothing does)."""
        action = self.policy.action(span.label_)
        if doubt and action in ("keep", "generalize"):
            return "replace", replacement
        if action == "keep":
            return action, None
        if action == "tag":
            return action, f"[{span.label_}]"
        if action == "generalize" and span.label_ in GENERALIZERS:
            coarse = GENERALIZERS[span.label_](span.text, self.policy.year)
            if coarse is not None:
                return ("keep", None) if coarse == span.text else (action, coarse)
        return "replace", replacement

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Nothing but the config belongs to this component."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Surrogate":
        """Nothing but the config belongs to this component."""
        return self
