"""deid_recovery: uncovers medical terms that detectors took for identifiers, unless they name a person in the note.

"Parkinson" in "Parkinson's disease" is removed from the entities, so that it is released; in "Dr. Parkinson" it stays.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from spacy.tokens import Doc, Span

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words
from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import get_label
from ..medical.dictionary import MedicalDictionary
from ..medical.name_context import NameContext, read_context
from ..medical.unlisted_eponyms import UnlistedEponyms
from ..medical.use import IDENTIFIERS, NUMBERS, PLACES, RECOVERABLE, MedicalUse, SpanIndex
from ..medical.veto import Detected, Veto
from ..patterns.matcher import recovery_matcher
from ..spans import MERGED, RECOVERED, Evidence, read_evidence, write_evidence

_BETWEEN = ("", " ", "-", "/", ", ")
_JOINING = tuple("./-+:_@")  # a number goes on behind these
_MARKS = ".,;:)"  # that a token may end with: "A." is one
_NO_NAME = re.compile(r"['’]?s|[IVX]{1,4}|[ABC]", re.IGNORECASE)  # a possessive, or a class: "Chiari I"
# characters around an entity that are searched for a medical term that touches it: the other words of an eponym, or
# the unit, letters or instrument next to a number
_REACH = dict.fromkeys(RECOVERABLE, 60) | dict.fromkeys(NUMBERS | IDENTIFIERS | {"AGE"}, 24)
_SPACE = re.compile(r"\s")
_YEAR = re.compile(r"(?:19|20)\d\d")  # without a unit, whatever stands before it
_SAID = ("before", "after", "sign")  # reasons that hold of a name without its capital
_LONGEST_CODE = 4  # letters of an abbreviation that may be a part of a code
_CODE_BEFORE = re.compile(r"[^\W_][-/_.]$")
_CODE_AFTER = re.compile(r"[-/_.][A-Z0-9]")
_NAME_BEFORE = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-ſ][^\W\d_]*[.,]?[ -]?$")
_NAME_AFTER = re.compile(r",?[ -]?[A-ZÀ-ÖØ-ÞĀ-ſ]")


class Recovery:
    """Removes medical terms from ``doc.ents`` and records them in ``doc.spans["deid/recovered"]``."""

    def __init__(
        self,
        name: str,
        *,
        lang: str,
        labels: Iterable[str],
        medical: MedicalDictionary | None,
        terms: bool,
        expressions: bool,
        lists: Sequence[str],
    ) -> None:
        """Initialize the component; see `factories.make_recovery`.

        name (str): name of the component, which its evidence contains as the source.
        lang (str): language of the notes.
        labels (Iterable[str]): labels whose entities may be uncovered.
        medical (Optional[MedicalDictionary]): medical terms; None to use no dictionary.
        terms (bool): whether eponyms that the dictionary lacks are recognized by a word next to the name, such as
            "disease".
        expressions (bool): whether the recovery expressions of the language are used: patterns of medical text, such
            as genetic variants.
        lists (Sequence[str]): keys of the span groups of detectors that search for listed terms.
        RAISES: ConfigError for an unknown label (D001), or one that is never recovered (D720).
        """
        self.name, self.lang, self.medical, self.terms, self.lists = name, lang, medical, terms, list(lists)
        # sorted, because spaCy writes the attribute to the meta data
        self.labels = tuple(sorted({get_label(label).name for label in labels}))
        if wrong := sorted(set(self.labels) - RECOVERABLE):
            raise ConfigError(
                Errors.D720.format(labels=", ".join(wrong), name=name, known=", ".join(sorted(RECOVERABLE)))
            )
        self.expressions = recovery_matcher(lang) if expressions else None
        self.context = NameContext(lang)
        self.unlisted = UnlistedEponyms(lang)

    @cached_property
    def version(self) -> str:
        """str: Short hash of the expressions, the labels, the dictionary and the context words of names."""
        rules = [rule.to_dict() for rule in self.expressions.rules] if self.expressions else []
        medical = self.medical.version if self.medical else ""
        plain = json.dumps([rules, medical, self.terms, *self.labels, read_context(self.lang)], default=str)
        return hashlib.sha256(plain.encode("utf8")).hexdigest()[:12]

    def __call__(self, doc: Doc) -> Doc:
        """Remove the medical terms of a Doc from its entities and write them to the group of recovered spans.

        doc (Doc): a Doc that ``deid_merge`` ran on.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified if ``deid_merge`` did not run (D502), or the group of a detector is missing (D501).
        """
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        self.set_annotations(doc, self.match(doc))
        return doc

    def set_annotations(self, doc: Doc, recovered: Sequence[Evidence]) -> None:
        """Write the recovered spans to their group, and remove their tokens from the entities."""
        write_evidence(doc, RECOVERED, recovered, version=self.version)
        free = {i for span in doc.spans[RECOVERED] for i in range(span.start, span.end)}
        doc.set_ents([piece for ent in doc.ents for piece in _rest(doc, ent, free)], default="outside")

    def match(self, doc: Doc) -> list[Evidence]:
        """Find the parts of entities that are medical terms, without changing the Doc.

        Entities that ``deid_merge`` did not write, for example those of an ``entity_ruler``, are not considered.

        doc (Doc): a Doc that ``deid_merge`` ran on.
        RETURNS (list[Evidence]): the spans to recover, in the order of the text, each with the label of its entity and
            a rule that states the reason.
        RAISES: NotDeidentified (D501) if the group of a detector is missing.
        """
        text = doc.text  # spaCy puts it together at every call
        merged = {i for span in doc.spans[MERGED] for i in range(span.start, span.end)}
        ents = [ent for ent in doc.ents if ent.label_ in self.labels and merged.issuperset(range(ent.start, ent.end))]
        uses = self.uses(
            text, [(ent.start_char - _REACH[ent.label_], ent.end_char + _REACH[ent.label_]) for ent in ents]
        )
        if not uses:
            return []
        touching = SpanIndex(uses)
        veto = self._veto(doc, text, touching)
        found = []
        for ent in ents:
            for use in touching(ent.start_char, ent.end_char):
                piece = _piece(ent, use, text, self.context)
                if piece is not None and not veto(piece.start_char, piece.end_char, use):
                    whole = _with_space(ent, piece)
                    found.append(Evidence(whole.start_char, whole.end_char, ent.label_, self.name, 1.0, use.rule))
        return _disjoint(found)

    def _veto(self, doc: Doc, text: str, uses: SpanIndex[MedicalUse]) -> Veto:
        """Create the check that prevents the recovery of a medical term if a detector found it to be an identifier.

        doc (Doc): a Doc that ``deid_merge`` ran on.
        text (str): its text.
        uses (SpanIndex[MedicalUse]): places of medical terms in it.
        RETURNS (Veto): function of the start and end of a span and a medical use. It returns True if the span must
            stay an identifier.
        RAISES: NotDeidentified (D501) if the group of a detector is missing.
        """
        keys = doc.spans[MERGED].attrs["sources"]
        records = [
            Detected(item.start, item.end, item.label, item.rule, key in self.lists, item.score)
            for key in keys
            for item in read_evidence(doc, key)
        ]
        checked = {rule for key in keys for rule in doc.spans[key].attrs.get("checked", ())}
        ents = [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        return Veto(text, records, ents, uses, self.context, checked, self.labels)

    def uses(self, text: str, near: Iterable[tuple[int, int]] | None = None) -> list[MedicalUse]:
        """Find medical terms in a text. A term that may be a name is found only if its context shows that it is none.

        text (str): the note.
        near (Optional[Iterable[tuple[int, int]]]): start and end of the stretches of the text that are searched,
            extended to the next white space; None to search the whole text. The words around a term are read
            everywhere.
        RETURNS (list[MedicalUse]): places of medical terms; they may overlap.
        """
        uses = []
        for start, end in [(0, len(text))] if near is None else _windows(text, near):
            uses += self._uses(text, start, end)
        return uses

    def _uses(self, text: str, start: int, end: int) -> list[MedicalUse]:
        """Find the medical terms in one stretch of a text."""
        part = text if end - start == len(text) else text[start:end]
        listed = self.medical.find(part) if self.medical else ()
        matches = [MedicalUse(m.start + start, m.end + start, m.rule) for m in listed]
        if self.terms:
            matches += [*self.unlisted.find(text, start, end), *self.context.signs(text, start, end)]
        plain = SpanIndex(use for use in matches if use.form != "name")
        uses = [self._judged(text, use, plain) for use in matches]
        if self.expressions:
            found = (m for m in self.expressions.find(part) if not _YEAR.fullmatch(part, m.start, m.end))
            uses += [self._judged(text, MedicalUse(m.start + start, m.end + start, m.rule), plain) for m in found]
        kept = sorted((use for use in uses if use is not None), key=lambda use: (use.start, -use.end))
        return [*kept, *_joined(text, kept)]

    def _judged(self, text: str, use: MedicalUse, plain: SpanIndex[MedicalUse]) -> MedicalUse | None:
        """Return a medical use, with a reason in its rule if it is a bare name; None if it may name a person."""
        listed = not use.rule.startswith("recovery/")
        if listed and (_in_code(text, use.start, use.end) or self.context.ambiguous(text, use.start, use.end)):
            return None
        if use.form == "name":
            reason = self.context.medical(text, use.start, use.end, plain, use.rule.rpartition(":")[2])
            sure = text[use.start].isupper() or reason in _SAID
            return MedicalUse(use.start, use.end, f"{use.rule}:{reason}") if reason and sure else None
        alone = use.form == "eponym" and not re.search(r"\s", text[use.start : use.end])
        if not text[use.start].isupper():
            return use
        if self.context.person(text, use.start, use.end, headed=not alone):
            return None
        if alone and self.context.acts(text, use.start, use.end):
            return None
        return MedicalUse(*self.unlisted.widen(text, use.start, use.end), use.rule) if use.named else use

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return no data: the component is defined by its config."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Recovery":
        """Do nothing: the component is defined by its config."""
        return self


def _windows(text: str, near: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Extend stretches of a text to the next white space, and join those that overlap.

    text (str): the note.
    near (Iterable[tuple[int, int]]): start and end of the stretches; offsets outside of the text are allowed.
    RETURNS (list[tuple[int, int]]): start and end of the windows, which are sorted and do not overlap.
    """
    windows: list[tuple[int, int]] = []
    for start, end in sorted(near):
        reached = windows[-1][1] if windows else 0
        if windows and end <= reached:
            continue
        space = _SPACE.search(text, min(len(text), end))
        right, left = space.start() if space else len(text), max(reached, start)
        while left > reached and not text[left - 1].isspace():
            left -= 1
        if windows and left == reached:
            windows[-1] = windows[-1][0], right
        else:
            windows.append((left, right))
    return windows


def _in_code(text: str, start: int, end: int) -> bool:
    """Return whether a medical term is a part of a code, as "RH" in "RH4471802" or "RH/DB/SRH"."""
    if text[start - 1 : start].isalnum() or text[end : end + 1].isalnum():
        return True
    if not text[start:end].isupper() or end - start > _LONGEST_CODE:
        return False
    return bool(_CODE_BEFORE.search(text, max(0, start - 2), start) or _CODE_AFTER.match(text, end))


def _piece(ent: Span, use: MedicalUse, text: str, context: NameContext) -> Span | None:
    """Return the medical part of an entity; None if removing it would cut a name, a place or a number."""
    doc = ent.doc
    inside = [t.i for t in ent if use.start <= t.idx and t.idx + len(t.text.rstrip(_MARKS)) <= use.end]
    if not inside:
        return None
    piece = doc[inside[0] : inside[-1] + 1]
    rest = [t for t in ent if not piece.start <= t.i < piece.end]
    if not any(any(c.isalnum() for c in t.text) and not _NO_NAME.fullmatch(t.text) for t in rest):
        return ent
    before, after = text[ent.start_char : piece.start_char], text[piece.end_char : ent.end_char]
    introduced = context.introduced(text, piece.start_char)
    if ent.label_ in PLACES:
        return piece if introduced and not after.strip() else None
    if ent.label_ in NUMBERS:
        return None if before.endswith(_JOINING) or after.startswith(_JOINING) else piece
    first = _NAME_BEFORE.search(before)
    named = first and normal_form(first[0]).strip(".,") not in function_words()
    return None if _NAME_AFTER.match(after) or (named and not introduced) else piece


def _with_space(ent: Span, piece: Span) -> Span:
    """Extend a part of an entity by the adjacent white space, which would not be covered otherwise."""
    doc, start, end = ent.doc, piece.start, piece.end
    while start > ent.start and doc[start - 1].is_space:
        start -= 1
    while end < ent.end and doc[end].is_space:
        end += 1
    return doc[start:end]


def _rest(doc: Doc, ent: Span, free: set[int]) -> Iterator[Span]:
    """Yield the parts of an entity whose tokens are not recovered."""
    start = None
    for i in range(ent.start, ent.end + 1):
        kept = i < ent.end and i not in free
        if kept and start is None:
            start = i
        elif not kept and start is not None:
            yield Span(doc, start, i, label=ent.label_)
            start = None


def _joined(text: str, uses: Sequence[MedicalUse]) -> Iterator[MedicalUse]:
    """Join neighbours separated only by a space or a punctuation mark: "BRAF V600E", "Crohn's disease/colitis"."""
    for first, second in pairwise(uses):
        if first.headed and second.headed and first.end <= second.start and text[first.end : second.start] in _BETWEEN:
            yield MedicalUse(first.start, second.end, second.rule if second.unmistakable else first.rule)


def _disjoint(found: Iterable[Evidence]) -> list[Evidence]:
    """Sort evidence by its place, and drop what lies inside an earlier item."""
    kept: list[Evidence] = []
    for item in sorted(found, key=lambda e: (e.start, -e.end)):
        if not kept or item.end > kept[-1].end:
            kept.append(item)
    return kept
