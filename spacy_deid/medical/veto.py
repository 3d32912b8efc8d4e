"""Why a medical stretch stays protected after all: what the detectors know, and who the persons of the note are."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from .name_context import NameContext
from .name_veto import NameVeto
from .touching import Touching
from .use import IDENTIFIERS, PERSONS, MedicalUse

__all__ = ["Detected", "Veto"]

_ROLES = PERSONS - {"PERSON"}
_SURE = 0.5  # a detector that is surer of a number or a word than this knows better than a list of words
_OWN = "patient:"  # rules of the patient's own index
_STRONG = frozenset({"title", "key", "initial", "given", "credentials"})
_AGED = re.compile(
    r"[ -]?(?:años|meses|a\b|years?|yrs?|yo\b|y/o|months?|vuoti\w+|vuotta|kuukau\w+|v\b|kk\b)", re.IGNORECASE
)
_HOUSED = re.compile(
    r"(?<!\w)(?:room|rm|bed|ward|bay|floor|huone\w{0,6}|sänky|vuodepaikka|osasto\w{0,5}|habitación|hab|cama|planta|box)"
    r"[.:]?[ ]{1,2}$",
    re.IGNORECASE,
)
_REACH = 24  # characters before a stretch
_WORD = re.compile(r"[^\W\d_]+")


class Detected(NamedTuple):
    """A detection, as far as it matters here.

    start, end (int): characters.
    label (str): canonical label.
    rule (str): what fired; a rule of a rules file has a "/".
    listed (bool): whether a dictionary has it, of the institution or of the patient.
    score (float): probability that it is an identifier.
    """

    start: int
    end: int
    label: str
    rule: str
    listed: bool
    score: float = 1.0

    @property
    def own(self) -> bool:
        """Whether it is one of the patient's own identifiers."""
        return self.rule.startswith(_OWN)


class Veto:
    """Says of a medical stretch that it stays protected.

    text (str): the note.
    records (Iterable[Detected]): the detections.
    ents (Iterable[tuple[int, int, str]]): what was merged of them: characters and label.
    uses (Touching[MedicalUse]): the medical stretches.
    context (NameContext): reads the neighbours of names.
    checked (Collection[str]): rules whose check digits make an identifier certain.
    labels (Collection[str]): labels that may be recovered.
    """

    def __init__(
        self,
        text: str,
        records: Iterable[Detected],
        ents: Iterable[tuple[int, int, str]],
        uses: Touching[MedicalUse],
        context: NameContext,
        checked: Collection[str],
        labels: Collection[str],
    ) -> None:
        self._text, self._context, self._checked, self._labels = text, context, checked, labels
        self._names = NameVeto()
        records = list(records)
        self._records = Touching(records)
        for item in records:
            if item.label in PERSONS and (item.own or (item.listed and item.label in _ROLES)):
                self._names.add(text[item.start : item.end], clinician=item.label == "CLINICIAN" and not item.own)
        for start, end, label in ents:
            if label in PERSONS and not uses(start, end):
                self._remember(start, end, label)

    def __call__(self, start: int, end: int, use: MedicalUse) -> bool:
        """Tell whether a stretch stays protected.

        start, end (int): characters of the stretch.
        use (MedicalUse): why it would be let go.
        RETURNS (bool): True if it stays.
        """
        if use.weak and _HOUSED.search(self._text, max(0, start - _REACH), start):  # "Room L4" is no vertebra
            return True
        near = self._records(start, end)
        if any(self._forbids(item, use) or (item.label == "AGE" and _AGED.match(self._text, end)) for item in near):
            return True
        return self._names.holds(self._text[start:end], headed=use.headed)

    def _remember(self, start: int, end: int, label: str) -> None:
        """Remember a person whose neighbours, whose rule or whose full name is strong evidence."""
        name = self._text[start:end]
        words = [word for word in _WORD.findall(name) if word[0].isupper()]
        ruled = any(
            "/" in item.rule and item.label in PERSONS and not item.listed for item in self._records(start, end)
        )
        if ruled or len(words) > 1 or self._context.person(self._text, start, end) in _STRONG:
            self._names.add(name, clinician=label == "CLINICIAN" or self._context.clinician(self._text, start))

    def _forbids(self, item: Detected, use: MedicalUse) -> bool:
        """Whether a detection keeps a stretch protected."""
        if item.own or item.rule in self._checked or item.label not in self._labels:
            return True
        if use.is_variant:
            return item.listed or ("/" in item.rule and item.label in IDENTIFIERS)
        if item.label in IDENTIFIERS or (item.label == "ROOM" and use.form == "symbol"):
            return True
        if use.weak or (not use.named and item.label not in PERSONS):
            return item.listed or "/" in item.rule or item.score >= _SURE
        return item.listed and item.label in _ROLES and not use.headed
