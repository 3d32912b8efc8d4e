"""The style "surrogate": realistic values in place of the real ones, by a strategy for each label."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from dataclasses import replace as change
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from .calendar import DateRules
from .keys import IdentityKey
from .mention import Mention
from .note import replace_mentions
from .strategies import RELEASING, Replacement, Strategy, consistent

__all__ = ["SurrogateStyle"]


@dataclass(frozen=True, slots=True)
class SurrogateStyle:
    """What is done with each label, as long as the policy has it replaced.

    default (Strategy): strategy of the labels that are not listed.
    labels (Mapping[str, Strategy]): canonical label → strategy.
    dates (Optional[DateRules]): what is done with dates and ages; None for a shift.
    RAISES: ConfigError (D692) for an unknown label.
    """

    default: Strategy = consistent
    labels: Mapping[str, Strategy] = field(default_factory=dict)
    dates: DateRules | None = None

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.labels) - set(LABELS)):
            raise ConfigError(Errors.D692.format(label=unknown[0], known=", ".join(LABELS)))

    @property
    def strategies(self) -> dict[str, Strategy]:
        """The strategy of each canonical label."""
        return {label: self.labels.get(label, self.default) for label in LABELS}

    def releases(self, label: str) -> bool:
        """Whether values of a label, or something of them, may stay."""
        return self.labels.get(label, self.default) in RELEASING

    def replace(
        self,
        mentions: Sequence[Mention],
        key: IdentityKey,
        lang: str,
        forbidden: Callable[[str], bool],
        *,
        ehr: Mapping[str, Any] = MappingProxyType({}),
        year: int = 0,
        firm: AbstractSet[int] = frozenset(),
    ) -> list[Replacement]:
        """Replace the mentions of a note; see `note.replace_mentions`.

        ehr (Mapping[str, Any]): what is known beside the note: "note_date", and of the patient "name" and "sex".
        RETURNS (list[Replacement]): one for each mention.
        """
        rules = self.rules_of(ehr.get("note_date"))
        facts = {name: str(ehr[name]) for name in ("name", "sex") if ehr.get(name)}
        return replace_mentions(
            mentions, key, lang, self.strategies, forbidden, rules, facts=facts, year=year, firm=firm
        )

    def rules_of(self, note_date: Any) -> DateRules | None:
        """The rules of dates of one note.

        note_date (Any): the date of the note, if it is known: a date, or a text that begins with one in ISO 8601.
        RETURNS (Optional[DateRules]): the rules, with the date as their reference.
        """
        if isinstance(note_date, datetime):
            note_date = note_date.date()
        if isinstance(note_date, str):
            try:
                note_date = date.fromisoformat(note_date[:10])
            except ValueError:
                return self.dates
        return change(self.dates or DateRules(), reference=note_date) if isinstance(note_date, date) else self.dates
