"""deid_surrogate: converts the entities in ``doc.ents`` to a list of edits, which make the released text.

A policy determines for each label whether its spans are kept, tagged, generalized or replaced; a style makes the
replacements. The style "surrogate" requires a project key (`Surrogate.set_key`), which is never part of a config,
saved pipeline, trace or pickle. Notes with the same ``doc._.ehr["patient_id"]`` get the same surrogates; a note
without an id has its own.
"""

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc, Span

from ..context import set_edits
from ..errors import ConfigError, Errors, NotDeidentified
from ..offsets import Edit
from ..patient_ids import normal_id
from ..policies import Policy, load_policy
from ..registries import choose_part, registry
from ..spans import DISCARDED, MERGED, RECOVERED, read_evidence

if TYPE_CHECKING:
    from ..dictionaries.store import LocalStore
    from ..surrogates.keys import IdentityKey, ProjectKey
    from ..surrogates.style import SurrogateStyle
    from ..vault.salts import Salts

_WORD = re.compile(r"[^\W\d_]{2,}")

# A style sees all spans of one Doc at once, so that it can be consistent, and returns one replacement for each.
Style = Callable[[Sequence[Span]], list[str]]


def tagged(spans: Sequence[Span]) -> list[str]:
    """Return the label of each span in brackets: ``[PATIENT]``."""
    return [f"[{span.label_}]" for span in spans]


def numbered(spans: Sequence[Span]) -> list[str]:
    """Return numbered labels: ``[PATIENT_1]``. The same person or value has the same number within a document."""
    from ..surrogates.mention import PERSONS, number_mentions, number_persons

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
    """Return an empty replacement for each span, which removes it from the text."""
    return [""] * len(spans)


# Functions of the module and no closures: a pipeline with n_process is pickled where processes are spawned.
STYLES: dict[str, Style] = {"tag": tagged, "numbered": numbered, "mask": masked, "remove": removed}
"""The styles that a setting can name, except "surrogate"."""


@registry.deid_styles("spacy_deid.mask_style.v1")
def make_mask_style(mask: str) -> Style:
    """Make a style that masks each character of a span, as "mask" does, with a character of your choice.

    mask (str): what each character is replaced by, such as "█".
    RETURNS (Style): the style.
    """
    return partial(masked, mask=mask)


class Surrogate:
    """Decides how each entity is released, and writes the edits to the Doc.

    It changes neither ``doc.ents`` nor the text; applying the edits makes the released text.

    policy (Policy): the action for each label.
    style_name (str): name of the current style, as edits record it.
    """

    def __init__(
        self, name: str, *, style: "str | Style | SurrogateStyle" = "tag", policy: str | Policy = "strict"
    ) -> None:
        """Initialize the component; see `factories.make_surrogate`. The policy can also be given as an object.

        RAISES: ConfigError for an unknown style (D507), or an unknown or invalid policy (D505, D506).
        """
        self.name = name
        self._key: ProjectKey | None = None
        self._salts: Salts | None = None
        self._roster: Container[str] = ()
        self._store: LocalStore | None = None
        # The style: surrogates, or the function of another style.
        self._surrogates: SurrogateStyle | None = None
        self._style: Style = tagged
        self.set_style(style)
        self.set_policy(policy)

    @property
    def style(self) -> "Style | SurrogateStyle":
        """Union[Style, SurrogateStyle]: The current style."""
        return self._style if self._surrogates is None else self._surrogates

    def set_style(self, style: "str | Style | SurrogateStyle") -> None:
        """Set the style that makes the replacements.

        style (Union[str, Style, SurrogateStyle]): name of a style, or a style. If the config already set a surrogate
            style, "surrogate" keeps it with its strategies.
        RAISES: ConfigError (D507) for an unknown name.
        """
        if style == "surrogate" and self._surrogates is not None:
            return
        chosen: Any = style
        if style == "surrogate":
            from ..surrogates.style import SurrogateStyle

            chosen = SurrogateStyle()
        elif isinstance(style, str) and style in STYLES:
            chosen = STYLES[style]
        elif isinstance(style, str):
            if style not in registry.deid_styles:
                raise ConfigError(Errors.D507.format(style=style, known=", ".join([*STYLES, "surrogate"])))
            chosen = choose_part("deid_styles", style, {}, setting="style")
        if not callable(chosen):
            self._surrogates, self.style_name = chosen, "surrogate"
            return
        self._surrogates, self._style = None, chosen
        function = getattr(chosen, "func", chosen)
        known = (name for name, shipped in STYLES.items() if shipped is function)
        self.style_name = next(known, getattr(function, "__name__", "custom"))

    def set_key(self, key: "ProjectKey | str | Path | None", salts: str | Path | None = None) -> None:
        """Set the project key, which the style "surrogate" requires. It is never saved.

        key (Union[ProjectKey, str, Path]): the key or its file; None to remove it.
        salts (Optional[Union[str, Path]]): file of the patients' salts; None for none. See `vault.salts`.
        RAISES: ConfigError for a key that is too short, not readable or readable by other users (D640 – D642), or for
            salts that were encrypted with another key (D647).
        """
        from ..surrogates.keys import ProjectKey

        self._key = ProjectKey.from_file(key) if isinstance(key, str | Path) else key
        self._salts = None
        if salts is not None and self._key is not None:
            from ..vault.salts import Salts

            self._salts = Salts(salts, self._key)

    def open_roster(self, folder: str | Path) -> None:
        """Open dictionaries of real patients and staff, whose names are not used as surrogates from now on.

        In a note with the id of a patient in the dictionaries, the names of the patient and of the patient's relatives
        in them are part of the patient's identity: "T. Ruiz" gets the surrogate of "Tyler Ruiz", who is in the
        dictionaries but not in the note.

        folder (Union[str, Path]): folder written by ``spacy-deid dictionary build``.
        RAISES: ConfigError for the same reasons as `LocalStore.open`.
        """
        from ..dictionaries.store import LocalStore

        self.store = LocalStore.open(folder)

    def close_roster(self) -> None:
        """Close the dictionaries of `open_roster`. Their names can be surrogates again."""
        self.store = None

    @property
    def store(self) -> "LocalStore | None":
        """Optional[LocalStore]: The open dictionaries of `open_roster`."""
        return self._store

    @store.setter
    def store(self, store: "LocalStore | None") -> None:
        self._store, self._roster = store, store.identities if store else ()

    @property
    def lacks_key(self) -> bool:
        """bool: Whether the style requires a project key that was not set."""
        return self._surrogates is not None and self._key is None

    def set_policy(self, policy: str | Policy) -> None:
        """Set the policy, which determines the action for each label.

        policy (Union[str, Policy]): a policy, the name of one that ships, or the path of its file.
        RAISES: ConfigError for an unknown (D505) or invalid policy (D506).
        """
        self.policy = load_policy(policy) if isinstance(policy, str) else policy

    def __call__(self, doc: Doc) -> Doc:
        """Decide how each entity of a Doc is released, and write the edits.

        doc (Doc): a Doc that ``deid_merge`` ran on.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified if ``deid_merge`` did not run (D502), a token that it covered is neither in
            ``doc.ents`` nor recovered as a medical term (D510), or the project key is missing (D691).
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
        if self._surrogates is not None:
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

    def _identity(self, doc: Doc) -> "tuple[str, IdentityKey]":
        """Return the scope in which surrogates are consistent ("patient" or "document"), and the key for it."""
        if self._key is None:
            raise NotDeidentified(Errors.D691)
        if patient_id := normal_id(doc._.ehr.get("patient_id")):
            salt = b"" if self._salts is None else self._salts.of(patient_id)
            return "patient", self._key.patient(patient_id, salt)
        digest = hashlib.sha256(doc.text.encode("utf-8", "surrogatepass")).hexdigest()
        return "document", self._key.patient(f"\0document {digest}")  # no id begins like this

    def _replaces(self, label: str) -> bool:
        """Return whether neither the policy nor the style releases the text of spans with a label."""
        return self.policy.replaces(label) and not (self._surrogates is not None and self._surrogates.releases(label))

    def _doubts(self, doc: Doc) -> list[str]:
        """Return for each entity the reason to replace it although the policy keeps its label; "" if there is none.

        If detectors disagree, one label wins in ``doc.ents``. If the policy keeps that label, the other one still
        counts: a span that may be a name is not released because it may also be a town. A mention of sex or kinship
        is kept only if its words are listed, so a name with the wrong label is not released either.
        """
        if self._surrogates is None and all(self._replaces(ent.label_) for ent in doc.ents):
            return [""] * len(doc.ents)
        from ..surrogates.mention import (
            DESCRIBING,
            DISPUTED,
            PERSONS,
            UNLISTED,
            Detection,
            find_doubts,
            is_listed,
        )

        sources = doc.spans[MERGED].attrs["sources"]
        disputed: dict[int, set[str]] = {}  # token → labels that are replaced
        for span in (span for key in sources for span in doc.spans[key]):
            for i in range(span.start, span.end) if self._replaces(span.label_) else ():
                disputed.setdefault(i, set()).add(span.label_)
        doubts = [
            DISPUTED if any(disputed.get(i, set()) - {ent.label_} for i in range(ent.start, ent.end)) else ""
            for ent in doc.ents
        ]
        for i, ent in enumerate(doc.ents):
            if ent.label_ in DESCRIBING and not self._replaces(ent.label_) and not is_listed(ent.text, ent.label_):
                doubts[i] = doubts[i] or UNLISTED
        kept = [i for i, ent in enumerate(doc.ents) if ent.label_ in PERSONS and not self._replaces(ent.label_)]
        if not kept:
            return doubts
        text = doc.text  # spaCy joins its tokens at every call
        found = [item for key in sources for item in read_evidence(doc, key)]
        names = [(text[item.start : item.end], item.label) for item in found if item.label in PERSONS]
        names += [(ent.text, ent.label_) for ent in doc.ents if ent.label_ in PERSONS]
        names += [(str(doc._.ehr["name"]), "PATIENT")] if doc._.ehr.get("name") else []
        spans = [(ent.start_char, ent.end_char, ent.label_) for ent in (doc.ents[i] for i in kept)]
        detections = [Detection(e.start, e.end, e.label, e.source, e.score, e.validated) for e in found]
        for i, reason in zip(kept, find_doubts(text, spans, detections, names, self.policy.sure), strict=True):
            doubts[i] = doubts[i] or reason
        return doubts

    def edit(self, spans: Sequence[Span], doubts: Sequence[str] = ()) -> tuple[list[Edit], list[list[Any]]]:
        """Choose the action for each span and make the edits, without changing the Doc.

        spans (Sequence[Span]): disjoint spans of one Doc, in the order of the text.
        doubts (Sequence[str]): for each span the reason why it must be replaced even if the policy keeps its label, or
            ""; an empty sequence if there are no reasons.
        RETURNS (tuple): the edits, and [start, end, label, action] of every span in character offsets.
        """
        doubts = doubts or [""] * len(spans)
        edits: list[Edit] = []
        decisions: list[list[Any]] = []
        written = self._write(spans, doubts) if spans else []
        for span, (replacement, made), doubt in zip(spans, written, doubts, strict=True):
            action, text = self._act(span, replacement, made, doubt)
            if text is not None:
                before = self._before(span, text) if action in ("replace", "generalize") else None
                edits += [before] if before and (not decisions or before.start >= decisions[-1][1]) else []
                edits.append(Edit(span.start_char, span.end_char, span.label_, text))
            decisions.append([span.start_char, span.end_char, span.label_, action])
        return edits, decisions

    def _before(self, span: Span, text: str) -> Edit | None:
        """Return the edit of the word before a span that makes it agree with the surrogate, such as "a" to "an"; None
        if the word does not change.
        """
        if self._surrogates is None:
            return None
        from ..surrogates.mention import Mention
        from ..surrogates.style import agree

        start, near = span.start_char, span.doc[max(0, span.start - 3) : span.end]
        changed = agree(Mention(span.text, span.label_, near.text[: start - near.start_char]), text, span.doc.lang_)
        return Edit(start - changed[0], start - changed[1], "", changed[2]) if changed else None

    def _write(self, spans: Sequence[Span], doubts: Sequence[str]) -> list[tuple[str, str]]:
        """Return the replacement of each span in the current style, and its action."""
        if self._surrogates is None:
            return [(text, "replace") for text in self._style(spans)]
        from ..medical.name_context import unfit_words
        from ..surrogates.forbidden import Forbidden
        from ..surrogates.mention import find_mentions
        from ..surrogates.strategies import FALLBACK

        doc = spans[0].doc
        mentions = find_mentions(doc.text, [(span.start_char, span.end_char, span.label_) for span in spans])
        own = own_names(self._store, doc._.ehr.get("patient_id"))
        made = self._surrogates.replace(
            mentions,
            self._identity(doc)[1],
            doc.lang_,
            Forbidden(mentions, doc.lang_, unfit_words(doc.lang_), self._roster, [term for term, _ in own]),
            ehr={**doc._.ehr, "known_names": known_names(own)},
            year=self.policy.year,
            must_replace={i for i, doubt in enumerate(doubts) if doubt},
        )
        return [
            (f"[{span.label_}]", FALLBACK) if _repeats_name(span, new.text) else (new.text, new.action)
            for span, new in zip(spans, made, strict=True)
        ]

    def _act(self, span: Span, written: str, made: str, doubt: str) -> tuple[str, str | None]:
        """Return the action for a span, and its replacement (None if the span is kept).

        written (str): replacement that the current style made.
        made (str): action that the style reports for it, such as "replace" or "keep".
        doubt (str): the reason why the span must be replaced, or "".
        """
        action = self.policy.action(span.label_)
        if not doubt and action == "keep":
            return action, None
        if action == "tag":
            return action, f"[{span.label_}]"
        if not doubt and action == "generalize":
            from ..surrogates.strategies import GENERALIZERS

            coarse = GENERALIZERS[span.label_](span.text, self.policy.year) if span.label_ in GENERALIZERS else None
            if coarse is not None:
                return ("keep", None) if coarse == span.text else (action, coarse)
        return made, None if made == "keep" else written

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return no data: the component is defined by its config."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Surrogate":
        """Do nothing: the component is defined by its config."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without key, salts and known identities, except for a worker process that is being spawned."""
        return vars(self) | (
            {} if get_spawning_popen() is not None else {"_key": None, "_salts": None, "_roster": (), "_store": None}
        )


def _repeats_name(span: Span, replacement: str) -> bool:
    """Return whether a replacement has a word of the span that is the name of a person in a dictionary.

    Surrogates of places and institutions keep their general words: "Northern Hospital" becomes "Northern Infirmary".
    If a relative of the patient is called Northern, this would release the name.

    span (Span): an entity whose label is not that of a person.
    replacement (str): its surrogate.
    RETURNS (bool): False for an entity with the label of a person, whose names are all replaced.
    """
    from ..surrogates.mention import PERSONS

    doc = span.doc
    if span.label_ in PERSONS or DISCARDED not in doc.spans:
        return False
    names = (
        doc.text[item.start : item.end]
        for item in read_evidence(doc, DISCARDED)
        if item.validated and item.label in PERSONS and item.start < span.end_char and item.end > span.start_char
    )
    words = {word for name in names for word in _WORD.findall(name.casefold())}
    return not words.isdisjoint(_WORD.findall(replacement.casefold()))


def own_names(store: "LocalStore | None", patient_id: Any) -> list[tuple[str, str]]:
    """Return the names in a patient's records: those of the patient, of relatives and of clinicians.

    None of them is a surrogate in a note of the patient, even if the note does not contain it. So a name has the same
    surrogate in all notes of the patient, although each note has other names.

    store (Optional[LocalStore]): the dictionaries; None for none.
    patient_id (Any): the patient id of the note, as text or number.
    RETURNS (list[tuple[str, str]]): normal forms with their label. Empty if the patient is unknown.
    """
    from ..surrogates.mention import PERSONS

    if store is None or not (patient := normal_id(patient_id)):
        return []
    tags = list(store.tags)
    terms = ((term, tags[number - 1][0]) for term, number in store.patients.tagged_terms(patient))
    return [(term, label) for term, label in terms if label in PERSONS]


def known_names(own: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Choose the full names of a patient and of the patient's relatives.

    own (Iterable[tuple[str, str]]): the names of `own_names`.
    RETURNS (list[tuple[str, str]]): names as "Surnames, Given names" with their label, PATIENT first. A name of which
        another one has all words is left out. Empty if no one has a given name and a surname.
    """
    names: dict[tuple[str, frozenset[str]], str] = {}
    for term, label in own:
        words = frozenset(term.replace(",", " ").split())
        # Of the spellings of a name, only that with a comma shows which words are surnames.
        plain = all(len(word) > 1 and word.replace("-", "").isalpha() for word in words)
        if label in ("PATIENT", "RELATIVE") and term.count(",") == 1 and plain:
            names.setdefault((label, words), term.title())
    whole = {key: name for key, name in names.items() if not any(key[0] == k[0] and key[1] < k[1] for k in names)}
    return sorted(((name, label) for (label, _), name in whole.items()), key=lambda row: (row[1] != "PATIENT", row))
