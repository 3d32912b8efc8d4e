"""Ship a masked language model: export it, and fit the combinations of its scores.

    python -m scripts.ship_lm es training/lm_es --target spacy_deid/lang/es/masked_lm

The combinations are fitted on notes that neither the model has read nor anything is measured on: Spanish, the cases of
MEDDOCAN's training part that were held out; English and Finnish, the made development notes. Needs the extra
"transformers" and onnx.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import spacy
import typer
from spacy.tokens import DocBin

from spacy_deid.evaluation.documents import AnnotatedText, Entity
from spacy_deid.evaluation.scored_tokens import find_scorable, score_tokens
from spacy_deid.evaluation.standoff import read_brat
from spacy_deid.masked_lm.columns import FORM_COLUMNS, MODEL_COLUMNS, Columns, form_columns
from spacy_deid.masked_lm.combination import fit_combination
from spacy_deid.masked_lm.pretraining.export import export_model
from spacy_deid.synth.names import stable_hash

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

HELD_OUT = 5  # as scripts/lm_corpus.py holds cases out
KINDS = {
    "model": MODEL_COLUMNS,
    "form": (*FORM_COLUMNS, "rarity"),
    "all": (*MODEL_COLUMNS, *FORM_COLUMNS, "rarity"),
}


@app.command()
def main(
    lang: Annotated[str, typer.Argument(help="Language")],
    trained: Annotated[Path, typer.Argument(help="Folder of the trained model")],
    target: Annotated[Path, typer.Option(help="Folder to write")],
    corpus: Annotated[Path, typer.Option(help="Folder of the unpacked corpora")] = Path("corpus"),
) -> None:
    """Ship a model."""
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(trained, local_files_only=True)
    size = export_model(model, trained / "tokenizer.json", target, lang)
    typer.echo(f"{target}: {size / 1e6:.2f} MB")
    notes = list(held_out(corpus) if lang == "es" else made(corpus, lang))
    rows = list(describe(notes, lang, target))
    for kind, columns in KINDS.items():
        fitted = fit_combination([known for known, _ in rows], [gold for _, gold in rows], columns)
        fitted.to_file(target / f"combined_{kind}.json")
    typer.echo(f"combinations fitted on {len(notes)} notes, {sum(len(gold) for _, gold in rows):,} words")


def held_out(corpus: Path) -> Iterator[AnnotatedText]:
    """Cases of MEDDOCAN's training part that the model has not read."""
    for path in sorted((corpus / "meddocan" / "train" / "brat").glob("*.txt")):
        if stable_hash(path.stem) % HELD_OUT == 0:
            yield read_brat(path, scheme="meddocan")


def made(corpus: Path, lang: str) -> Iterator[AnnotatedText]:
    """The development notes of a language."""
    docs = DocBin().from_disk(corpus / lang / "dev.spacy").get_docs(spacy.blank(lang).vocab)
    for number, doc in enumerate(docs):
        yield AnnotatedText(
            f"dev/{number}", doc.text, tuple(Entity(e.start_char, e.end_char, e.label_) for e in doc.ents)
        )


def describe(notes: list[AnnotatedText], lang: str, model: Path) -> Iterator[tuple[Columns, "np.ndarray"]]:
    """The columns of notes, and which of their words are part of an identifier."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_surprisal", config={"model": str(model)})
    for note, doc in zip(notes, nlp.pipe(note.text for note in notes), strict=True):
        record = doc.user_data["deid/surprisal"]
        known = {name: np.array(values) for name, values in record["features"].items()}
        yield known | form_columns(doc, find_scorable(doc)), score_tokens(note, doc, record).gold


if __name__ == "__main__":
    app()
