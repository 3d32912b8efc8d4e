"""deid_surrogate: turns the decision in ``doc.ents`` into a list of edits, under a policy."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import registry

from ..context import set_edits
from ..errors import ConfigError, Errors, NotDeidentified
from ..offsets import Edit
from ..policies import Policy, load_policy
from ..spans import MERGED
from ..surrogates.generalize import GENERALIZERS
from ..surrogates.persons import number_mentions, number_persons

__all__ = ["PERSONS", "Style", "Surrogate", "make_surrogate"]

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})

# A style sees all spans of one Doc at once, so that it can be consistent, and returns one replacement for each.
Style = Callable[[Sequence[Span]], list[str]]


@registry.misc("spacy_deid.tag_style.v1")
def make_tag_style() -> Style:
    """``[PATIENT]``."""
    return lambda spans: [f"[{span.label_}]" for span in spans]


@registry.misc("spacy_deid.numbered_style.v1")
def make_numbered_style() -> Style:
    """``[PATIENT_1]``: the same person or value has the same number in a document."""
    return _numbered


@registry.misc("spacy_deid.mask_style.v1")
def make_mask_style(mask: str = "*") -> Style:
    """As many mask characters as there were; line breaks stay, so that lines keep their number."""
    return lambda spans: ["".join(c if c in "\r\n" else mask for c in span.text) for span in spans]


@registry.misc("spacy_deid.remove_style.v1")
def make_remove_style() -> Style:
    """Nothing is left."""
    return lambda spans: ["" for _ in spans]


STYLES: dict[str, Callable[[], Style]] = {
    "tag": make_tag_style,
    "numbered": make_numbered_style,
    "mask": make_mask_style,
    "remove": make_remove_style,
}


def _numbered(spans: Sequence[Span]) -> list[str]:
    """Number the spans of each label by first appearance."""
    out = [""] * len(spans)
    for label in {span.label_ for span in spans}:
        here = [i for i, span in enumerate(spans) if span.label_ == label]
        number = number_persons if label in PERSONS else number_mentions
        for i, n in zip(here, number([spans[i].text for i in here]), strict=True):
            out[i] = f"[{label}_{n}]"
    return out


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
        self.style: Style = STYLES[style]() if isinstance(style, str) else style
        self.style_name = style if isinstance(style, str) else getattr(style, "__name__", "custom")

    def set_policy(self, policy: str | Policy) -> None:
        """Choose what is done with each label.

        policy (Union[str, Policy]): a policy, its name or its file.
        RAISES: ConfigError (D505, D506).
        """
        self.policy = load_policy(policy) if isinstance(policy, str) else policy

    def __call__(self, doc: Doc) -> Doc:
        """Write the edits of a Doc.

        RAISES: NotDeidentified (D502) if nothing was merged.
        """
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        edits, decisions = self.edit(list(doc.ents))
        set_edits(doc, edits, {"policy": self.policy.name, "style": self.style_name, "actions": decisions})
        return doc

    def edit(self, spans: Sequence[Span]) -> tuple[list[Edit], list[list[Any]]]:
        """Decide on every span; changes nothing.

        spans (Sequence[Span]): disjoint, in the order of the text.
        RETURNS (tuple): edits, and [start, end, label, action] of every span, changed or kept.
        """
        styled = self.style(spans)
        edits, decisions = [], []
        for span, replacement in zip(spans, styled, strict=True):
            action, text = self._act(span, replacement)
            decisions.append([span.start_char, span.end_char, span.label_, action])
            if text is not None:
                edits.append(Edit(span.start_char, span.end_char, span.label_, text))
        return edits, decisions

    def _act(self, span: Span, replacement: str) -> tuple[str, str | None]:
        """The action that was taken on a span, and what replaces it (None: nothing does)."""
        action = self.policy.action(span.label_)
        if action == "keep":
            return action, None
        if action == "tag":
            return action, f"[{span.label_}]"
        if action == "generalize" and span.label_ in GENERALIZERS:
            coarse = GENERALIZERS[span.label_](span.text, self.policy.reference_year)
            if coarse is not None:
                return ("keep", None) if coarse == span.text else (action, coarse)
        return "replace", replacement

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Nothing but the config belongs to this component."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Surrogate":
        """Nothing but the config belongs to this component."""
        return self
