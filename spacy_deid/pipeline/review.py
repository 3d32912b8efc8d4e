"""deid_review: proposes spans for manual review: words that no detector found, but that may be identifiers.

Words are ranked by the probability that they are missed identifiers (`review.evidence` and `review.ranking`). Without
``deid_ner``, or if a column is named, the scores of ``deid_surprisal`` rank the words. A budget limits the number of
proposals by the length of the note.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import LABELS
from ..medical.dictionary import MedicalDictionary
from ..review.ranking import Ranking, rank_words
from ..spans import MERGED, PROBABILITIES, RECOVERED, REVIEW, SCORES, Evidence, write_evidence

# Share of the highest score of a span that a word must have to go into it. Of an identifier of several words, the
# evidence is often strong for one of them only.
_SHARE, _EVIDENCE_SHARE = 0.5, 0.1
_GAP = 3  # characters between two words that are looked at together
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReviewSpan:
    """A span that is proposed for manual review. It contains offsets, never text.

    start, end (int): character offsets.
    value (float): score of its highest-scored word.
    columns (Mapping[str, float]): all numbers about that word, such as its surprisal; see `masked_lm.columns`.
    """

    start: int
    end: int
    value: float
    columns: Mapping[str, float]


class Review:
    """Writes proposals for manual review to ``doc.spans["deid/review"]``. It changes neither entities nor edits.

    ranking (Optional[Ranking]): the weights of the ranking by all evidence; None for those of the package.
    """

    def __init__(
        self,
        name: str,
        *,
        per_1000_words: float,
        at_least: int,
        floor: float,
        longest: int,
        column: str | None,
        terms: MedicalDictionary | None,
        recovered: bool,
    ) -> None:
        """Initialize the component; see `factories.make_review`.

        terms (Optional[MedicalDictionary]): medical terms, which are never proposed; None to exclude none.
        RAISES: ConfigError (D812) for a negative budget, or a maximum length below 1.
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
        self.ranking: Ranking | None = None

    def __call__(self, doc: Doc) -> Doc:
        """Choose the spans of a Doc to review and write them to the span group.

        doc (Doc): a Doc that ``deid_ner`` or ``deid_surprisal``, and ``deid_merge`` ran on.
        RETURNS (Doc): the same Doc.
        RAISES: NotDeidentified if ``deid_merge`` did not run (D502), or the scores are missing (D840) or belong to
            another text (D841); ConfigError (D842) if the column to rank by does not exist.
        """
        self.set_annotations(doc, self.match(doc))
        return doc

    def match(self, doc: Doc) -> list[ReviewSpan]:
        """Choose the spans to propose, without changing the Doc.

        doc (Doc): a Doc that ``deid_ner`` or ``deid_surprisal``, and ``deid_merge`` ran on.
        RETURNS (list[ReviewSpan]): disjoint, in the order of the text, outside ``doc.ents``.
        """
        record = self._scores(doc)
        if MERGED not in doc.spans:
            raise NotDeidentified(Errors.D502.format(step="deid_merge"))
        starts, ends, values = record["starts"], record["ends"], self._values(record)
        left_out = self._left_out(doc)
        wanted = [i for i in np.flatnonzero(values > self.floor).tolist() if not left_out[starts[i] : ends[i]].all()]
        text = doc.text
        joined = [_near(text, end, start) for end, start in zip(ends, starts[1:], strict=False)]
        share = _EVIDENCE_SHARE if record.get("score") == "evidence" else _SHARE
        runs = choose_runs(values.tolist(), wanted, joined, self._budget(text), self.longest, share)
        return [_span(record, values, run) for run in runs]

    def set_annotations(self, doc: Doc, found: Sequence[ReviewSpan]) -> None:
        """Write spans to the span group, and their scores to its ``attrs["scores"]`` in the same order."""
        record = self._scores(doc)
        own = self.column in (None, "score")
        known, by = bool(record.get("probability")) and own, str(record["score"] if own else self.column)
        evidence = [
            Evidence(item.start, item.end, "OTHER", self.name, item.value if known else 1.0, by) for item in found
        ]
        scores = [{"value": item.value, "columns": dict(item.columns)} for item in found]
        leak = {"leak": record["leak"]} if "leak" in record else {}
        write_evidence(doc, REVIEW, evidence, version=record["model"], probability=known, scores=scores, **leak)

    def _scores(self, doc: Doc) -> Mapping[str, Any]:
        """Return the evidence about each word, or the scores of ``deid_surprisal``, after checking that they fit."""
        if self.column is None and PROBABILITIES in doc.user_data and MERGED in doc.spans:
            return rank_words(doc, self.ranking)
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
        """Return the values that words are ranked by: the score, or the column that is configured instead."""
        if self.column in (None, "score"):
            return np.asarray(record["values"], dtype=float)
        if self.column not in record["features"]:
            known = ", ".join(record["features"])
            raise ConfigError(Errors.D842.format(name=self.name, column=self.column, known=known))
        return np.asarray(record["features"][self.column], dtype=float)

    def _left_out(self, doc: Doc) -> Mask:
        """Return a mask of the characters that are never proposed: those of entities and of medical terms."""
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
        """Return the number of spans that may be proposed for a text, which depends on its number of words."""
        return max(self.at_least, int(len(text.split()) * self.per_1000_words / 1000))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return no data: the component is defined by its config."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Review":
        """Do nothing: the component is defined by its config."""
        return self


def _span(record: Mapping[str, Any], values: NDArray[np.float64], run: Sequence[int]) -> ReviewSpan:
    """Make the proposed span of a run of adjacent words."""
    best = max(run, key=lambda i: (values[i], -i))
    columns = {name: float(column[best]) for name, column in record["features"].items()}
    return ReviewSpan(int(record["starts"][run[0]]), int(record["ends"][run[-1]]), float(values[best]), columns)


def choose_runs(
    values: Sequence[float],
    wanted: Iterable[int],
    joined: Sequence[bool],
    budget: int,
    longest: int,
    share: float = _SHARE,
) -> list[list[int]]:
    """Choose the words with the highest scores, each with the adjacent words that have a share of its score.

    A run of such words uses the budget once, so a name of three words costs as much as a single word.

    values (Sequence[float]): score of every word.
    wanted (Iterable[int]): indices of the words that may be chosen.
    joined (Sequence[bool]): for each word but the last, whether it may be joined with the next one.
    budget (int): maximum number of runs.
    longest (int): maximum number of words per run.
    share (float): share of the highest score of a run that each of its words must have.
    RETURNS (list[list[int]]): the runs as lists of word indices, in the order of the text.
    """
    free = set(wanted)
    runs: list[list[int]] = []
    for word in sorted(free, key=lambda i: (-values[i], i)):
        if len(runs) >= budget:
            break
        if word not in free:
            continue
        first = last = word
        least = values[word] * share
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
    """Return whether two neighbouring words may be joined: on the same line, with at most one punctuation mark between
    them.
    """
    return start - end <= _GAP and "\n" not in text[end:start]
