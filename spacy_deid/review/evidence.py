"""Evidence about the words that no detector found, from which `ranking` computes the probability of a miss."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..dictionaries.conditions import is_inside_sentence
from ..dictionaries.damaged import read_scan
from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import name_words
from ..errors import Errors, NotDeidentified
from ..labels import LABELS
from ..medical.known_words import known_words, ordinary_words
from ..spans import PROBABILITIES

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Columns = dict[str, Numbers]

_KINDS = {"person": "PER", "place": "LOC", "organization": "ORG"}  # of CoNLL-2003
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
    *(f"{place} {kind}" for place in ("like", "after", "before") for kind in _KINDS),
)
_LEAST = 1e-6
_NONE = -8.0  # log-odds where there is no token
_LONG_NUMBER = 4
_BESIDE = 2  # tokens
_REACH, _FAR = 3, 9  # tokens in which an entity is looked for, and its distance if there is none
_NUMBER_BEFORE, _NUMBER_AFTER = re.compile(r"\d\s*[./:-]\s*$"), re.compile(r"\s*[./:-]\s*\d")
_AROUND = 12  # characters that these expressions read


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """What is known about the n tokens of a note that are not part of an entity.

    starts, ends (NDArray): character offsets. Shape (n,).
    values (NDArray): the features of `FEATURES`. Shape (n, features).
    """

    starts: Indices
    ends: Indices
    values: Numbers


@dataclass(frozen=True, slots=True)
class _Note:
    """All tokens of a note, as arrays of the same length.

    words (list[str]): the tokens.
    starts, ends (NDArray): character offsets.
    odds, first (NDArray): log-odds that each token is PHI, by both readings and by the first one.
    labels (list[str]): the label that each token would have if it were PHI.
    kinds (list[str]): "PER", "LOC", … of the entity that each token is part of, or "".
    taken (NDArray): whether each token is part of an entity.
    free (NDArray): indices of the other tokens with a letter or digit.
    lines, line_first, line_last (NDArray): number of the line of each token, and its first and last token.
    """

    text: str
    words: list[str]
    starts: Indices
    ends: Indices
    odds: Numbers
    first: Numbers
    labels: list[str]
    kinds: list[str]
    taken: Mask
    free: Indices
    lines: Indices
    line_first: Indices
    line_last: Indices


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
    note = _read_note(doc)
    if not len(note.free):
        return WordEvidence(note.starts[:0], note.ends[:0], np.zeros((0, len(FEATURES))))
    columns = (
        _describe_odds(note)
        | _describe_forms(note, doc.lang_)
        | _describe_repeats(note)
        | _describe_entities(note)
        | _describe_numbers(note)
    )
    values = np.stack([np.asarray(columns[name], dtype=float) for name in FEATURES], axis=1)
    return WordEvidence(note.starts[note.free], note.ends[note.free], values)


def _read_note(doc: Doc) -> _Note:
    """Read the tokens, entities and lines of a Doc."""
    record, text = doc.user_data[PROBABILITIES], doc.text
    starts, ends = (np.asarray(record[name], dtype=np.int64) for name in ("starts", "ends"))
    if len({len(column) for column in record.values()}) != 1 or (len(ends) and ends[-1] > len(text)):
        raise NotDeidentified(Errors.D841.format(name="deid_review"))
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    held = np.zeros(len(text) + 1, dtype=np.int64)
    for number, ent in enumerate(doc.ents, start=1):
        held[ent.start_char : ent.end_char] = number * (ent.label_ in LABELS)
    sums = np.concatenate([[0], np.cumsum(held > 0)])
    taken = sums[ends] > sums[starts]
    of_ent = ["", *(LABELS[ent.label_].conll if ent.label_ in LABELS else "" for ent in doc.ents)]
    kinds = [""] * len(words)
    for i in np.flatnonzero(taken).tolist():
        kinds[i] = of_ent[held[starts[i] : ends[i]].max()]
    free = np.flatnonzero(~taken & np.array([any(map(str.isalnum, word)) for word in words], dtype=bool))
    lines = np.searchsorted([match.start() for match in re.finditer("\n", text)], starts)
    line_first, after = np.searchsorted(lines, lines, "left"), np.searchsorted(lines, lines, "right")
    odds, first = _log_odds(record["united"]), _log_odds(record["first"])
    labels = record["labels"]
    return _Note(text, words, starts, ends, odds, first, labels, kinds, taken, free, lines, line_first, after - 1)


def _log_odds(probabilities: list[float]) -> Numbers:
    """Return the logarithms of the odds of probabilities, in nats."""
    safe = np.clip(np.asarray(probabilities, dtype=float), _LEAST, 1 - _LEAST)
    return np.asarray(np.log(safe / (1 - safe)))


def _describe_odds(note: _Note) -> Columns:
    """Describe what the classifier says about a token and those around it."""
    free, odds = note.free, note.odds
    edge = np.full(_BESIDE, -np.inf)
    around = np.concatenate([edge, np.where(note.taken, -np.inf, odds), edge])
    at = free + _BESIDE
    near = np.max([around[at + step] for step in range(-_BESIDE, _BESIDE + 1) if step], axis=0)
    labels = [LABELS[note.labels[i]].conll for i in free.tolist()]
    return {
        "probability": odds[free],
        "second reading": odds[free] - note.first[free],
        "neighbour": np.where(np.isfinite(near), near, odds[free]),
        "previous": np.where(np.isfinite(around[at - 1]), around[at - 1], _NONE),
        "next": np.where(np.isfinite(around[at + 1]), around[at + 1], _NONE),
        **{f"like {name}": _equal(labels, kind) for name, kind in _KINDS.items()},
    }


def _describe_forms(note: _Note, lang: str) -> Columns:
    """Describe how a token is written, and in which lists it is."""
    is_known, is_ordinary, listed = known_words(lang), ordinary_words(lang), name_words(lang)

    def form_of(word: str) -> dict[str, bool]:
        form, capital, digit = normal_form(word), word[0].isupper(), any(map(str.isdigit, word))
        known, name = is_known(word), form in listed
        return {
            "capital": capital,
            "capitals": len(word) > 1 and word.isupper(),
            "digit": digit,
            "long number": digit and len(word) >= _LONG_NUMBER,
            "known word": known,
            "listed name": name,
            "unknown capital": capital and not known and not name,
            "scanned name": digit and not word.isdigit() and not name and read_scan(form) in listed,
            "short": len(word) <= _BESIDE,
            "ordinary word": is_ordinary(form),
        }

    words = [note.words[i] for i in note.free.tolist()]
    forms = {word: form_of(word) for word in set(words)}
    columns = {name: np.array([forms[word][name] for word in words], dtype=float) for name in forms[words[0]]}
    starts = note.starts[note.free].tolist()
    inside = [word[0].isupper() and is_inside_sentence(note.text, at) for word, at in zip(words, starts, strict=True)]
    return columns | {"capital inside a sentence": np.array(inside, dtype=float)}


def _equal(values: list[str], wanted: str) -> Numbers:
    """Return 1 where a value is the wanted one, and 0 elsewhere."""
    return np.array([value == wanted for value in values], dtype=float)


def _describe_repeats(note: _Note) -> Columns:
    """Describe whether a token is also in lower case, and whether it is part of an entity elsewhere in the note."""
    lower = {word for word in note.words if word.islower()}
    found = {note.words[i].lower() for i in np.flatnonzero(note.taken).tolist()}
    words = [note.words[i] for i in note.free.tolist()]
    return {
        "lower case elsewhere": np.array([word[0].isupper() and word.lower() in lower for word in words], dtype=float),
        "found elsewhere": np.array([word.lower() in found for word in words], dtype=float),
    }


def _describe_entities(note: _Note) -> Columns:
    """Describe the entities in the line of a token."""
    free, index = note.free, np.arange(len(note.words))
    last = np.maximum.accumulate(np.where(note.taken, index, -1))[free]
    following = np.minimum.accumulate(np.where(note.taken, index, len(index))[::-1])[::-1][free]
    before = np.where(last >= note.line_first[free], free - last, _FAR)
    after = np.where(following <= note.line_last[free], following - free, _FAR)
    columns: Columns = {"beside an entity": np.asarray(np.minimum(before, after) <= _BESIDE, dtype=float)}
    for place, distance, at in (("before", before, last), ("after", after, following)):
        near = distance <= _REACH
        columns[f"distance of the entity {place}"] = np.where(near, distance, _FAR)
        kinds = [note.kinds[k] if one else "" for k, one in zip(at.tolist(), near.tolist(), strict=True)]
        side = "after" if place == "before" else "before"
        columns |= {f"{side} {name}": _equal(kinds, kind) for name, kind in _KINDS.items()}
    return columns


def _describe_numbers(note: _Note) -> Columns:
    """Describe whether a number is directly before or after a token, as in dates and times."""
    text, free = note.text, note.free
    starts, ends = note.starts[free].tolist(), note.ends[free].tolist()
    before = [_NUMBER_BEFORE.search(text[max(0, start - _AROUND) : start]) is not None for start in starts]
    after = [_NUMBER_AFTER.match(text[end : end + _AROUND]) is not None for end in ends]
    return {"number before": np.array(before, dtype=float), "number after": np.array(after, dtype=float)}
