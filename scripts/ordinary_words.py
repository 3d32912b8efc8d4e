"""Collect ordinary words that clinical notes use and open text lacks, so that they are not taken for misspelt names.

    python -m scripts.ordinary_words corpus/authored

Writes ``ordinary_words.txt`` of each language: words in lower case of the authored training notes, outside of the
marked identifiers. A word that is also a listed name must be in two notes.
"""

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.medical.known_words import is_frequent
from spacy_deid.synth.authored import AuthoredNote, read_authored

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LANGUAGES = Path(str(find_spec("spacy_deid").origin)).parent / "lang"  # type: ignore[union-attr]
WORD = re.compile(r"[^\W\d_]{3,}")
HEADER = "# Words of clinical notes that are rare in open text, in normal form; written by scripts/ordinary_words.py."


def words_of(note: AuthoredNote) -> set[str]:
    """Collect the words in lower case that are outside of the marked identifiers of a note."""
    held = bytearray(len(note.text) + 1)
    for mark in note.marks:
        held[mark.start : mark.end] = b"\1" * (mark.end - mark.start)
    found = (match for match in WORD.finditer(note.text) if match[0].islower() and not held[match.start()])
    return {normal_form(match[0]) for match in found}


@app.command()
def main(corpus: Annotated[Path, typer.Argument(help="Folder of the authored notes.")]) -> None:
    """Write the words of each language."""
    for folder in sorted(path for path in corpus.iterdir() if (path / "train").is_dir()):
        counts = Counter(word for note in read_authored(folder / "train") for word in words_of(note))
        kept = (word for word, count in counts.items() if count > 1 or word not in name_words())
        words = sorted(word for word in kept if word.isalpha() and not is_frequent(folder.name)(word))
        lines = [HEADER, *(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))]
        (LANGUAGES / folder.name / "ordinary_words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{folder.name}: {len(words)} words")


if __name__ == "__main__":
    app()
