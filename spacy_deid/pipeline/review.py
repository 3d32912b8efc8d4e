"""deid_review: what nobody found and a language model did not expect, for a person to look at, within a budget."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import LABELS
from ..medical.dictionary import MedicalDictionary
from ..medical.dictionary import languages as medical_languages
from ..spans import MERGED, RECOVERED, REVIEW, SCORES, Evidence, write_evidence

__all__ = ["Review", "ReviewSpan", "choose_runs", "make_review"]

_SHARE = 0.5  # of the highest score of a span that a word must have to go into it
_GAP = 3  # characters between two words that are looked at together
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReviewSpan:
    """What is proposed. Holds offsets, never text.

    start, end (int): characters.
    value (float): the highest score of its words.
    columns (Mapping[str, float]): what else is known of the word with that score.
    """

    start: int
    end: int
    value: float
    columns: Mapping[str, float]


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
    """Make the component. It stands behind ``deid_merge`` and ``deid_recovery``.

    per_1000_words (float): spans that may be proposed for 1,000 words of a note.
    at_least (int): spans that may be proposed in any note, however short.
    floor (float): score that a word must be above; what that is depends on the score of ``deid_surprisal``.
    longest (int): words that one span holds at most, so that a strange paragraph is no single span.
    column (Optional[str]): column of ``deid_surprisal`` that words are ranked by, such as "surprisal" or "per_piece";
        None for its score.
    medical (bool): whether terms of the medical dictionary are left out.
    recovered (bool): whether what ``deid_recovery`` let go as medical is looked at all the same.
    language (Optional[str]): language of the notes; None for that of the pipeline.
    dictionary (Optional[str]): file of a medical dictionary; None for the one that ships.
    """
    lang = language or str(nlp.lang)
    terms = None
    if medical and dictionary:
        terms = MedicalDictionary.from_file(dictionary)
    elif medical and lang in medical_languages():
        terms = MedicalDictionary.load(lang)
    return Review(
        name,
        per_1000_words=per_1000_words,
        at_least=at_least,
        floor=floor,
        longest=longest,
        column=column,
        terms=terms,
        recovered=recovered,
    )


class Review:
    """Writes ``doc.spans["deid/review"]``. Changes neither ``doc.ents`` nor the edits."""

    def __init__(
        self,
        name: str,
        *,
        per_1000_words: float = 5.0,
        at_least: int = 1,
        floor: float = 0.0,
        longest: int = 10,
        column: str | None = None,
        terms: MedicalDictionary | None = None,
        recovered: bool = True,
    ) -> None:
        """Set up; see `make_review`.

        terms (Optional[MedicalDictionary]): terms that are left out.
        RAISES: ConfigError (D812) for a budget below 0, or spans of no word.
        """
        for setting, value, least in (
            ("per_1000_words", per_1000_words, 0),
            ("at_least", at_least, 0),
            ("longest", longest, 1),
        ):
            if not value >= least:
                raise ConfigError(Errors.D812.format(name=name, setting=setting, wanted=f"at least {least}"))
        self.name, self.per_1000_words, self.at_least, self.floor = name, per_1000_words, at_least, floor
        self.longest, self.column, self.terms, self.recovered = longest, column, terms, recovered

    def __call__(self, doc: Doc) -> Doc:
        """Propose spans of a Doc.

        RAISES: NotDeidentified if nothing was merged (D502), or there are no scores (D840) or not of this text (D841);
            ConfigError if they have no such column (D842).
        """
        self.set_annotations(doc, self.match(doc))
        return doc

    def match(self, doc: Doc) -> list[ReviewSpan]:
        """Choose what is to be looked at; changes nothing.

        doc (Doc): a Doc that was scored and merged.
        RETURNS (list[ReviewSpan]): disjoint, in the order of the text; none of it is in ``doc.ents``.
        """
        record = self._scores(doc)
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        starts, ends, values = record["starts"], record["ends"], self._values(record)
        left_out = self._left_out(doc)
        wanted = [i for i in np.flatnonzero(values > self.floor).tolist() if not left_out[starts[i] : ends[i]].all()]
        text = doc.text
        joined = [_near(text, end, start) for end, start in zip(ends, starts[1:], strict=False)]
        runs = choose_runs(values.tolist(), wanted, joined, self._budget(text), self.longest)
        return [_span(record, values, run) for run in runs]

    def set_annotations(self, doc: Doc, found: Sequence[ReviewSpan]) -> None:
        """Write the group. What its spans are proposed for stands in its ``attrs["scores"]``, in the same order."""
        record = doc.user_data[SCORES]
        known, by = bool(record.get("probability")) and self.column is None, self.column or record["score"]
        evidence = [
            Evidence(item.start, item.end, "OTHER", self.name, item.value if known else 1.0, by) for item in found
        ]
        scores = [{"value": item.value, "columns": dict(item.columns)} for item in found]
        write_evidence(doc, REVIEW, evidence, version=record["model"], probability=known, scores=scores)

    def _scores(self, doc: Doc) -> Mapping[str, Any]:
        """What ``deid_surprisal`` wrote."""
        record: Mapping[str, Any] | None = doc.user_data.get(SCORES)
        if record is None:
            raise NotDeidentified(Errors.D840.format(name=self.name))
        starts, ends = record["starts"], record["ends"]
        lengths = {len(column) for column in (starts, ends, record["values"], *record["features"].values())}
        inside = all(start < end for start, end in zip(starts, ends, strict=False))
        apart = all(end <= start for end, start in zip(ends, starts[1:], strict=False))
        length = doc[-1].idx + len(doc[-1]) if len(doc) else 0
        if len(lengths) != 1 or not (inside and apart) or (ends and ends[-1] > length):
            raise NotDeidentified(Errors.D841.format(name=self.name))
        return record

    def _values(self, record: Mapping[str, Any]) -> NDArray[np.float64]:
        """What words are ranked by."""
        if self.column is None:
            return np.asarray(record["values"], dtype=float)
        if self.column not in record["features"]:
            known = ", ".join(record["features"])
            raise ConfigError(Errors.D842.format(name=self.name, column=self.column, known=known))
        return np.asarray(record["features"][self.column], dtype=float)

    def _left_out(self, doc: Doc) -> Mask:
        """The characters that are not proposed: those that are held, and medical terms."""
        text = doc.text
        mask = np.zeros(len(text), dtype=np.bool_)
        for match in self.terms.find(text) if self.terms else ():
            if not match.person_named:  # "Crohn" may be a doctor
                mask[match.start : match.end] = True
        for span in doc.spans.get(RECOVERED, ()):
            mask[span.start_char : span.end_char] = not self.recovered
        for ent in doc.ents:
            if ent.label_ in LABELS:
                mask[ent.start_char : ent.end_char] = True
        return mask

    def _budget(self, text: str) -> int:
        """How many spans may be proposed."""
        return max(self.at_least, int(len(text.split()) * self.per_1000_words / 1000))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Nothing but the config belongs to this component."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Review":
        """Nothing but the config belongs to this component."""
        return self


def _span(record: Mapping[str, Any], values: NDArray[np.float64], run: Sequence[int]) -> ReviewSpan:
    """The span of some words."""
    best = max(run, key=lambda i: (values[i], -i))
    columns = {name: float(column[best]) for name, column in record["features"].items()}
    return ReviewSpan(int(record["starts"][run[0]]), int(record["ends"][run[-1]]), float(values[best]), columns)


def choose_runs(
    values: Sequence[float], wanted: Iterable[int], joined: Sequence[bool], budget: int, longest: int
) -> list[list[int]]:
    """Take words from the best on, each with the neighbours that are at least half as surprising.

    A name of three words so costs as much as one of one.

    values (Sequence[float]): the score of every word.
    wanted (Iterable[int]): words that may be taken.
    joined (Sequence[bool]): whether a word and the next one are looked at together.
    budget (int): runs at most.
    longest (int): words of a run at most.
    RETURNS (list[list[int]]): runs of words, in order.
    """
    free = set(wanted)
    runs: list[list[int]] = []
    for word in sorted(free, key=lambda i: (-values[i], i)):
        if len(runs) >= budget:
            break
        if word not in free:
            continue
        first = last = word
        least = values[word] * _SHARE
        while last - first + 1 < longest:
            beside = [i for i in (first - 1, last + 1) if i in free and values[i] >= least and joined[min(i, last)]]
            if not beside:
                break
            best = max(beside, key=lambda i: values[i])
            first, last = min(first, best), max(last, best)
        runs.append(list(range(first, last + 1)))
        free.difference_update(runs[-1])
    return sorted(runs)


def _near(text: str, end: int, start: int) -> bool:
    """Whether two neighbouring words are looked at together: on one line, with no more than a mark between them."""
    return start - end <= _GAP and "\n" not in text[end:start]
