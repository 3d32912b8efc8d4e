"""What ``redact`` writes for a person to look at: spans that nobody found and a language model did not expect."""

import json
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from spacy.language import Language
from spacy.tokens import Doc

from ..audit.leak_order import assess_leak
from ..io import whole_file
from ..loading import use_surprisal
from ..offsets import map_offsets
from .batches import find_component

__all__ = ["Proposed", "ReviewFile", "add_surprisal", "open_review", "take_review"]

_SHARE = 10  # how many times its share of the budget of a run one note may have at most


def add_surprisal(
    nlp: Language, threshold: float | None, model: str | None, budget: float | None, *, wanted: bool
) -> None:
    """Let a pipeline score words and propose spans, as the options say; see `loading.use_surprisal`.

    nlp (Language): the pipeline.
    threshold (Optional[float]): from what score on a word is an identifier.
    model (Optional[str]): folder of a masked language model.
    budget (Optional[float]): spans to look at for 1,000 words of all notes together; a note may have ten times that.
    wanted (bool): whether spans are wanted; if the pipeline proposes none, it is made to.
    RAISES: ConfigError if the model cannot be loaded. It is loaded now, so that not every note fails.
    """
    if threshold is None and model is None and budget is None and not wanted:
        return
    use_surprisal(nlp, threshold, None if budget is None else budget * _SHARE, **({"model": model} if model else {}))
    if wanted and not any(nlp.get_pipe_meta(part).factory == "deid_review" for part in nlp.pipe_names):
        nlp.add_pipe("deid_review")
    _ = find_component(nlp, "deid_surprisal", f"{nlp.lang}_{nlp.meta['name']}").language_model


@dataclass(frozen=True, slots=True)
class Proposed:
    """What is to be looked at in a note.

    words (int): words of the note.
    rows (list[dict]): rows of ``doc._.deid_review``, with the place in the released text as "released" and how the
        note stands among others as "expected_leak". Offsets and numbers, no text.
    """

    words: int
    rows: list[dict[str, Any]]


def take_review(doc: Doc) -> Proposed:
    """Copy out of a Doc what is to be looked at.

    doc (Doc): a note that was redacted.
    RETURNS (Proposed): plain values.
    RAISES: NotDeidentified if nothing was chosen.
    """
    leak = round(assess_leak(doc).expected, 6)
    found = doc._.deid_review
    places = map_offsets(doc._.deid_edits, [row[side] for row in found for side in ("start", "end")], len(doc.text))
    rows = [{**row, "released": places[2 * i : 2 * i + 2], "expected_leak": leak} for i, row in enumerate(found)]
    return Proposed(len(doc.text.split()), rows)


class ReviewFile:
    """A JSONL file of spans, one a line.

    Of a run with a budget only the best of all notes stay. Lines go to a file as they come, and their scores alone are
    kept in memory until it is known what the budget is.
    """

    def __init__(self, file: TextIO, budget: float | None) -> None:
        """Set up.

        file (TextIO): a file that is open for writing.
        budget (Optional[float]): spans for 1,000 words; None to keep all.
        """
        self._file, self._budget, self._words = file, budget, 0
        self._scores = array("d")

    def add(self, name: Path, notes: Sequence[tuple[Mapping[str, int], Proposed]]) -> None:
        """Write the spans of a file that was redacted.

        name (Path): the file, as it was found in the folder that was given.
        notes (Sequence[tuple]): for each note what tells it from the others of its file, {"row": 3}, and its spans.
        """
        for place, proposed in notes:
            self._words += proposed.words
            for row in proposed.rows:
                self._file.write(json.dumps({"note": name.as_posix(), **place, **row}, ensure_ascii=False) + "\n")
                self._scores.append(row["score"])

    def choose(self) -> list[int]:
        """The lines that stay.

        RETURNS (list[int]): their numbers, in order.
        """
        numbers = range(len(self._scores))
        if self._budget is None:
            return list(numbers)
        best = sorted(numbers, key=lambda i: (-self._scores[i], i))
        return sorted(best[: round(self._budget * self._words / 1000)])

    @property
    def spans(self) -> int:
        """How many lines stay."""
        return len(self.choose())


@contextmanager
def open_review(path: Path | None, budget: float | None) -> Iterator[ReviewFile | None]:
    """Write a file of spans whole or not at all.

    path (Optional[Path]): the file; None for none.
    budget (Optional[float]): spans for 1,000 words of all notes together; None to keep all.
    YIELDS (Optional[ReviewFile]): takes the spans.
    """
    if path is None:
        yield None
        return
    with (
        whole_file(path) as part,
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n", dir=part.parent) as lines,
    ):
        review = ReviewFile(lines, budget)
        yield review
        kept = set(review.choose())
        lines.seek(0)
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line for number, line in enumerate(lines) if number in kept)
