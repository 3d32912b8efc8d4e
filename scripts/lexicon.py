"""Build the lexicon of a language: lists of names, places and professions, word frequencies, and word clusters.

    python -m scripts.lexicon es --output corpus/es/lexicon.bin --text corpus/e3c/e3c_es_ccby_clean.jsonl

The lists are those of the package. Frequencies and clusters are computed from open text: words with similar contexts
(positive pointwise mutual information, reduced by truncated SVD) are grouped by k-means. The result contains hashes
and numbers, no words.
"""

import bz2
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import srsly
import typer

from spacy_deid.ml.lexicon import build_lexicon, fold_word
from spacy_deid.synth.language import read_origins

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LANGUAGES = Path(find_spec("spacy_deid").origin).parent / "lang"
COMMON_NAMES = 1000  # so many of the commonest names of a list are told apart from the rest
WORDS_PER_CLUSTER = 25
GROUPS = 400
READ = frozenset({".txt", ".jsonl", ".bz2"})
WORD = re.compile(r"[^\W\d_]+|\d+")


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language: es, en or fi.")],
    output: Annotated[Path, typer.Option(help="File of the lexicon.")],
    text: Annotated[
        list[Path],
        typer.Option(
            help="Open text: .txt, .jsonl with the key 'text', .csv.bz2 with 'sentence', or a folder; repeatable."
        ),
    ],
    forms: Annotated[bool, typer.Option(help="Add the case forms of names and places.")] = False,
    words: Annotated[int, typer.Option(help="Number of most frequent words to cluster.")] = 20_000,
    least: Annotated[int, typer.Option(help="Minimum count of a word; rarer words count as unseen.")] = 1,
) -> None:
    """Build a lexicon."""
    sentences = [WORD.findall(line) for path in text for line in read_lines(path)]
    small = Counter(word for words in sentences for word in words if word.islower())
    lists = read_lists(lang, forms)
    common = {word: count for word, count in small.items() if count >= least}
    lexicon = build_lexicon(lists, common, *cluster_words(sentences, words))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(lexicon.to_bytes())
    sizes = ", ".join(f"{name} {len(words):,}" for name, words in lists.items())
    typer.echo(f"{output}: {len(lexicon):,} words ({sizes}), {output.stat().st_size / 1e6:.1f} MB")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, or of the files of a folder."""
    if path.is_dir():
        yield from (line for file in sorted(path.rglob("*")) if file.suffix in READ for line in read_lines(file))
    elif path.suffix == ".jsonl":
        yield from (line for row in srsly.read_jsonl(path) for line in row["text"].splitlines())
    elif path.suffix == ".bz2":
        with bz2.open(path, "rt", encoding="utf8", newline="") as file:
            yield from (row["sentence"] for row in csv.DictReader(file))
    else:
        yield from path.read_text(encoding="utf8").splitlines()


def read_lists(lang: str, forms: bool) -> dict[str, list[str]]:
    """Read the lists of the package: names, with frequent ones apart, words of places and professions, and medical
    words."""
    names, lists = LANGUAGES / lang / "names", LANGUAGES / lang / "synth" / "lists"
    given = [read_column(names / f"{sex}.csv") for sex in ("female", "male")]
    surnames = read_column(names / "surname.csv")
    groups = read_origins(lang).values()
    found = {
        "common given": [name for column in given for name in column[:COMMON_NAMES]],
        "given": [name for column in given for name in column[COMMON_NAMES:]]
        + [name for group in groups for sex in ("female", "male") for name in group[sex]],
        "common surname": surnames[:COMMON_NAMES],
        "surname": surnames[COMMON_NAMES:] + [name for group in groups for name in group["surname"]],
    }
    for kind in ("places", "professions", "hospitals", "organizations", "countries"):
        found[kind] = [word for path in sorted(lists.glob(f"{kind}*")) for word in read_column(path)]
    for kind in ("drugs", "terms"):
        found[kind] = read_column(LANGUAGES / lang / "medical" / f"{kind}.csv")
    split = {kind: sorted({part for term in terms for part in WORD.findall(term)}) for kind, terms in found.items()}
    return {
        kind: [w for w in words if len(w) > 2] for kind, words in (with_forms(split, lang) if forms else split).items()
    }


def with_forms(lists: dict[str, list[str]], lang: str) -> dict[str, list[str]]:
    """Add all case forms to the words of lists."""
    from spacy_deid.lang.inflection import case_forms

    kinds = {"common given": "given", "given": "given", "common surname": "surname", "surname": "surname"}
    return {
        name: sorted(
            {form for word in words for form in (word, *case_forms(word, lang, kind=kinds.get(name, "place")))}
        )
        for name, words in lists.items()
    }


def read_column(path: Path) -> list[str]:
    """Read the first column of a list; a .csv file has a header."""
    if not path.is_file():
        return []
    lines = [line.split(",")[0].strip() for line in path.read_text(encoding="utf8").splitlines()]
    return [line for line in lines[path.suffix == ".csv" :] if line and not line.startswith("#")]


def cluster_words(sentences: Iterable[list[str]], most: int) -> tuple[dict[str, int], list[int]]:
    """Cluster the most frequent words by their neighbours within two words on each side.

    sentences (Iterable[list[str]]): words of each line.
    most (int): number of words.
    RETURNS (tuple[dict[str, int], list[int]]): case-folded word → number of its cluster, and the group of each
        cluster, both from 1. Deterministic.
    """
    vectors, known = word_vectors(sentences, most)
    clusters = group(vectors, len(known) // WORDS_PER_CLUSTER)
    groups = group(clusters.cluster_centers_, GROUPS)
    return (
        {word: int(number) + 1 for word, number in zip(known, clusters.labels_, strict=True)},
        [int(number) + 1 for number in groups.labels_],
    )


def group(vectors: np.ndarray, count: int) -> Any:
    """Fit k-means.

    vectors (ndarray): shape (items, width).
    count (int): number of groups.
    RETURNS (MiniBatchKMeans): the fitted model.
    """
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(count, random_state=0, n_init=3, batch_size=4096).fit(vectors)


def word_vectors(sentences: Iterable[list[str]], most: int) -> tuple[np.ndarray, list[str]]:
    """Compute word vectors, shape (words, 100): positive pointwise mutual information, reduced by SVD."""
    from scipy.sparse import coo_matrix
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    folded = [["0" if word.isdigit() else fold_word(word) for word in words] for words in sentences]
    counts = Counter(word for words in folded for word in words)
    known = {word: i for i, (word, _) in enumerate(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:most])}
    ids = np.asarray([known.get(word, -1) for words in folded for word in [*words, "\n", "\n"]])
    n, cells = len(known), []
    for offset in (-2, -1, 1, 2):
        left, right = (ids[:-offset], ids[offset:]) if offset > 0 else (ids[-offset:], ids[:offset])
        kept = (left >= 0) & (right >= 0)
        cells.append((left[kept], right[kept] + n * (offset > 0)))
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    table = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, 2 * n)).tocsr().tocoo()
    by_row, by_column = np.asarray(table.sum(axis=1)).ravel(), np.asarray(table.sum(axis=0)).ravel()
    smooth = by_column**0.75  # context distribution smoothing (Levy, Goldberg and Dagan 2015)
    information = np.log(table.data * smooth.sum() / (by_row[table.row] * smooth[table.col]))
    table.data = np.maximum(information, 0)
    return normalize(TruncatedSVD(100, random_state=0).fit_transform(table.tocsr())), list(known)


if __name__ == "__main__":
    app()
