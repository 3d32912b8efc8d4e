"""What ``redact`` writes for a person to look at: spans that nobody found and a language model did not expect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from spacy.language import Language
from spacy.tokens import Doc

from ..io import whole_file
from ..loading import use_surprisal
from .batches import find_component

__all__ = ["ReviewFile", "add_surprisal", "open_review", "take_review"]

_BUDGET = 5.0  # spans for 1,000 words, if neither the pipeline nor an option says how many


def add_surprisal(
    nlp: Language, threshold: float | None, model: str | None, budget: float | None, *, wanted: bool
) -> None:
    """Let a pipeline score words and propose spans, as the options say; see `loading.use_surprisal`.

    nlp (Language): the pipeline.
    threshold (Optional[float]): from what score on a word is an identifier.
    model (Optional[str]): folder of a masked language model.
    budget (Optional[float]): spans to look at for 1,000 words.
    wanted (bool): whether spans are wanted; if the pipeline proposes none, it is made to.
    RAISES: ConfigError if the model cannot be loaded. It is loaded now, so that not every note fails.
    """
    if threshold is None and model is None and budget is None and not wanted:
        return
    proposes = any(nlp.get_pipe_meta(part).factory == "deid_review" for part in nlp.pipe_names)
    if wanted and budget is None and not proposes:
        budget = _BUDGET
    use_surprisal(nlp, threshold, budget, **({"model": model} if model else {}))
    _ = find_component(nlp, "deid_surprisal", f"{nlp.lang}_{nlp.meta['name']}").model


def take_review(doc: Doc) -> list[dict[str, Any]]:
    """What is to be looked at in a note, where it stands in the note and where in its released text.

    doc (Doc): a note that was redacted.
    RETURNS (list[dict]): rows of ``doc._.deid_review``; offsets and numbers, no text.
    RAISES: NotDeidentified if nothing was chosen.
    """
    return [
        {**row, "released": [doc._.deid_map(row["start"]), doc._.deid_map(row["end"])]} for row in doc._.deid_review
    ]


class ReviewFile:
    """A JSONL file of spans, one a line."""

    def __init__(self, file: TextIO) -> None:
        """Set up.

        file (TextIO): an open file.
        """
        self._file, self.spans = file, 0

    def add(self, name: Path, notes: Sequence[tuple[Mapping[str, int], Sequence[Mapping[str, Any]]]]) -> None:
        """Write the spans of a file that was redacted.

        name (Path): the file, as it was found in the folder that was given.
        notes (Sequence[tuple]): for each note what tells it from the others of its file, {"row": 3}, and its spans.
        """
        for place, rows in notes:
            for row in rows:
                self._file.write(json.dumps({"note": name.as_posix(), **place, **row}, ensure_ascii=False) + "\n")
                self.spans += 1


@contextmanager
def open_review(path: Path | None) -> Iterator[ReviewFile | None]:
    """Write a file of spans whole or not at all.

    path (Optional[Path]): the file; None for none.
    YIELDS (Optional[ReviewFile]): takes the spans.
    """
    if path is None:
        yield None
        return
    with whole_file(path) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        yield ReviewFile(file)
