"""deid_review: proposes spans for manual review: words that no detector found, but that may be identifiers.

Words are ranked by the probability that they are missed identifiers (`describe_words` and `Ranking`): a logistic
regression on the probabilities of ``deid_ner`` below its threshold, the difference of its two readings, the form and
the place of the word, the entities beside it, and lists. Without ``deid_ner``, or if a column is named, the scores of
``deid_surprisal`` rank the words. A budget limits the number of proposals by the length of the note.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..dictionaries.conditions import is_inside_sentence
from ..dictionaries.damaged import read_scan
from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import name_words
from ..errors import ConfigError, Errors, NotDeidentified
from ..labels import LABELS
from ..medical.dictionary import MedicalDictionary
from ..medical.known_words import known_words, ordinary_words
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


FEATURES = (
    "probability",
    "second reading",
    "neighbour",
    "capital",
    "capital inside a sentence",
    "capitals",
    "digit",
    "long number",
    "known word",
    "listed name",
    "unknown capital",
    "scanned name",
    "lower case elsewhere",
    "found elsewhere",
    "beside an entity",
    "short",
    "ordinary word",
    "previous",
    "next",
    "distance of the entity before",
    "distance of the entity after",
    "number before",
    "number after",
    *(f"{place} {kind}" for place in ("like", "after", "before") for kind in ("person", "place", "organization")),
)
_LEAST = 1e-6
_NONE = -8.0  # log-odds where there is no token
_LONG_NUMBER = 4
_BESIDE = 2  # tokens
_REACH, _FAR = 3, 9  # tokens in which an entity is looked for, and its distance if there is none
_KINDS = ("PER", "LOC", "ORG")  # of CoNLL-2003, in the order of the last features
_NUMBER_BEFORE, _NUMBER_AFTER = re.compile(r"\d\s*[./:-]\s*$"), re.compile(r"\s*[./:-]\s*\d")
_AROUND = 12  # characters that these expressions read


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """What is known about the n tokens of a note that are not part of an entity.

    starts, ends (NDArray): character offsets. Shape (n,).
    values (NDArray): the features of `FEATURES`. Shape (n, features).
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: NDArray[np.float64]


def describe_words(doc: Doc) -> WordEvidence:
    """Collect evidence about the tokens that are not part of an entity, from which `Ranking` computes a probability.

    The first two features are log-odds: the calibrated probability that a token is PHI, and its difference to that of
    the first reading alone; "neighbour" is the highest log-odds of two tokens on each side, "previous" and "next" are
    those of the adjacent tokens. Distances of entities in the line are in tokens. All others are 0 or 1; "like person"
    says that the classifier would take the token for a person, "after person" that the entity before it is one.

    doc (Doc): a Doc that ``deid_ner``, with `keep_probabilities`, and ``deid_merge`` ran on.
    RETURNS (WordEvidence): one row per token with a letter or digit.
    RAISES: NotDeidentified (D841) if the probabilities were computed for another text.
    """
    record, text = doc.user_data[PROBABILITIES], doc.text
    starts, ends = (np.asarray(record[name], dtype=np.int64) for name in ("starts", "ends"))
    if len({len(column) for column in record.values()}) != 1 or (len(ends) and ends[-1] > len(text)):
        raise NotDeidentified(Errors.D841.format(name="deid_review"))
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    odds, first = _log_odds(record["united"]), _log_odds(record["first"])
    held = np.zeros(len(text) + 1, dtype=np.int64)
    for number, ent in enumerate(doc.ents, start=1):
        held[ent.start_char : ent.end_char] = number * (ent.label_ in LABELS)
    sums = np.concatenate([[0], np.cumsum(held > 0)])
    taken = sums[ends] > sums[starts]
    free = np.flatnonzero(~taken & np.array([any(map(str.isalnum, word)) for word in words], dtype=bool))
    lines = np.cumsum([0, *(char == "\n" for char in text)])[starts] if len(starts) else starts
    lower = {word for word in words if word.islower()}
    found = {word.lower() for word, held_word in zip(words, taken.tolist(), strict=True) if held_word}
    is_known, is_ordinary, listed = known_words(doc.lang_), ordinary_words(doc.lang_), name_words(doc.lang_)
    likely = [LABELS[label].conll for label in record["labels"]]
    kinds = ["", *(LABELS[ent.label_].conll if ent.label_ in LABELS else "" for ent in doc.ents)]
    entities = [kinds[held[start:end].max(initial=0)] for start, end in zip(starts, ends, strict=True)]

    def entity(i: int, step: int) -> tuple[int, str]:
        """Return the distance and the kind of the next entity in the same line."""
        for k in range(i + step, i + step * (_REACH + 1), step):
            if not 0 <= k < len(words) or lines[k] != lines[i]:
                break
            if taken[k]:
                return abs(k - i), entities[k]
        return _FAR, ""

    def odds_at(i: int) -> float:
        """Return the log-odds of a token that is not part of an entity."""
        return float(odds[i]) if 0 <= i < len(words) and not taken[i] else _NONE

    rows = []
    for i in free.tolist():
        word, start, end = words[i], int(starts[i]), int(ends[i])
        near = [k for k in range(max(0, i - _BESIDE), min(len(words), i + _BESIDE + 1)) if k != i]
        form, capital, digit = normal_form(word), word[0].isupper(), any(map(str.isdigit, word))
        known, name = is_known(word), form in listed
        (before, kind_before), (after, kind_after) = entity(i, -1), entity(i, 1)
        rows.append(
            (
                odds[i],
                odds[i] - first[i],
                max((odds[k] for k in near if not taken[k]), default=odds[i]),
                capital,
                capital and is_inside_sentence(text, start),
                len(word) > 1 and word.isupper(),
                digit,
                digit and len(word) >= _LONG_NUMBER,
                known,
                name,
                capital and not known and not name,
                digit and not word.isdigit() and not name and read_scan(form) in listed,
                capital and word.lower() in lower,
                word.lower() in found,
                any(taken[k] and lines[k] == lines[i] for k in near),
                len(word) <= _BESIDE,
                is_ordinary(form),
                odds_at(i - 1),
                odds_at(i + 1),
                before,
                after,
                bool(_NUMBER_BEFORE.search(text[max(0, start - _AROUND) : start])),
                bool(_NUMBER_AFTER.match(text[end : end + _AROUND])),
                *(kind == one for one in (likely[i], kind_before, kind_after) for kind in _KINDS),
            )
        )
    values = np.asarray(rows, dtype=float).reshape(len(rows), len(FEATURES))
    return WordEvidence(starts[free], ends[free], values)


def _log_odds(probabilities: Sequence[float]) -> NDArray[np.float64]:
    """Return the logarithms of the odds of probabilities, in nats."""
    safe = np.clip(np.asarray(probabilities, dtype=float), _LEAST, 1 - _LEAST)
    return np.asarray(np.log(safe / (1 - safe)))


class Ranking:
    """A logistic regression: the probability that a token is a part of a missed identifier.

    weights (Mapping[str, float]): weight of each feature of `FEATURES`, and "bias".
    version (str): name of the weights.
    RAISES: ConfigError (D836) if a weight is missing.
    """

    def __init__(self, weights: Mapping[str, float], version: str) -> None:
        if missing := [name for name in (*FEATURES, "bias") if name not in weights]:
            raise ConfigError(Errors.D836.format(path="review_ranking.json", reason=f"no weight '{missing[0]}'"))
        self.weights = np.array([weights[name] for name in FEATURES], dtype=float)
        self.bias, self.version = float(weights["bias"]), version

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute probabilities. values (NDArray): shape (n, features). RETURNS (NDArray): shape (n,)."""
        return np.asarray(1 / (1 + np.exp(-np.clip(values @ self.weights + self.bias, -30, 30))))


@cache
def load_ranking() -> Ranking:
    """Load the weights that were fitted by ``python -m benchmarks.review fit``."""
    text = (files("spacy_deid") / "resources" / "review_ranking.json").read_text(encoding="utf8")
    data = json.loads(text)
    return Ranking(data["weights"], data["version"])


def rank_words(doc: Doc, ranking: Ranking | None = None) -> dict[str, Any]:
    """Compute for each token that is not part of an entity the probability that it is a missed identifier.

    doc (Doc): as for `describe_words`.
    ranking (Optional[Ranking]): the weights; None for those of the package.
    RETURNS (dict): a record with the keys of the scores of ``deid_surprisal``, and "leak": the probability that an
        identifier was missed in the note, if its words were independent.
    """
    ranking, words = ranking or load_ranking(), describe_words(doc)
    columns = {name.replace(" ", "_"): words.values[:, i].tolist() for i, name in enumerate(FEATURES)}
    values = ranking(words.values)
    return {
        "starts": words.starts.tolist(),
        "ends": words.ends.tolist(),
        "values": values.tolist(),
        "leak": float(1 - np.prod(1 - values)),
        "features": columns,
        "model": ranking.version,
        "score": "evidence",
        "probability": True,
    }


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
