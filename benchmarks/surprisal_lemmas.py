"""Measure what masking all forms of a name can gain, on made Finnish notes in which a name recurs in several cases.

    python -m benchmarks.surprisal_lemmas --notes 40

Each note names one patient four times: in four cases (Korhonen, Korhosen, Korhoselle, …), or four times in the
nominative. The pieces of a note fit into one window, and the surname is drawn from the list of Finnish surnames. If a
model reads a name off its other forms, masking these forms makes the name more surprising. Two models are measured:

- *shipped*: the model of the package.
- *copying by rule*: a mixture of the shipped model and a rule that repeats what is visible in the window: half of its
  weight is on the pieces that follow the previous piece elsewhere, half on all visible pieces. It shows what masking
  would gain with a model that copies.

The mode is "exact". Each masking is measured with the lemmatizer of the package; "every form" groups the forms that
the notes were made with, as a perfect lemmatizer would. The other words are scored once, because masking a name with
its forms does not change them. Writes metrics/surprisal_lemmas.json.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer

from spacy_deid.evaluation.ranking import average_precision
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.lang import get_language
from spacy_deid.lemmatizers import choose_lemmatizer
from spacy_deid.masked_lm.columns import read_names
from spacy_deid.masked_lm.masking import Masking, make_no_masking, make_same_lemma_masking, make_same_word_masking
from spacy_deid.masked_lm.model import MaskedLM, load_masked_lm
from spacy_deid.masked_lm.scoring import NoteWords, align_words, make_exact_mode, score_words

from .surprisal_speed import blank

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LANG = "fi"
METRICS = Path("metrics/surprisal_lemmas.json")
FRAMES = {  # case → sentences with the surname in this case
    "nom": ("Potilas {} tuli vastaanotolle.", "Aamulla {} oli kuumeeton.", "Kotona {} pärjää hyvin."),
    "gen": ("Puhelu {} vaimolle.", "Tänään {} vointi on parempi.", "Haava {} jalassa on siisti."),
    "all": ("Reseptit annettiin {} mukaan.", "Lääkitys kerrottiin {} suullisesti.", "Soitettu {} iltapäivällä."),
    "ade": ("Kipua {} on edelleen.", "Yskää {} on ollut viikon.", "Allergioita {} ei ole."),
    "par": ("Lääkäri tapasi {} osastolla.", "Hoitaja auttoi {} suihkussa.", "Kuntoutus auttaa {} liikkumaan."),
    "ela": ("Tieto {} lähetettiin kotihoitoon.", "Lausunto {} on sanelussa.", "Yhteenveto {} on valmis."),
}
RECURS = 4  # times that a name occurs in a note
COPIED = 0.5  # weight of the copying rule


@dataclass(frozen=True)
class Made:
    """A made note: its text, and the character offsets of the forms of the name."""

    text: str
    names: tuple[tuple[int, int], ...]


@app.command()
def main(
    context: typer.Context,
    notes: Annotated[int, typer.Option(help="Number of notes of each kind.")] = 40,
) -> None:
    """Measure the maskings."""
    about = {"command": command_line("benchmarks.surprisal_lemmas", context), "date": date.today().isoformat()}
    surnames = sorted(read_names(LANG, "names/surname.csv"))
    Random(0).shuffle(surnames)
    models: dict[str, MaskedLM] = {"shipped": load_masked_lm(LANG)}
    models["copying by rule"] = CopyingLM(models["shipped"])
    rows = []
    for kind, inflected in (("one case", False), ("several cases", True)):
        corpus = [make_note(name, Random(name), inflected) for name in surnames[:notes]]
        named = {"data": f"made notes, a name in {kind}", "split": "made", **about}
        for title, model in models.items():
            others = surprisal_of(model, corpus, make_no_masking(), of_names=False)
            for masking, groups in maskings():
                names = surprisal_of(model, corpus, groups, of_names=True)
                gold = np.repeat([True, False], [len(names), len(others)])
                area = average_precision(gold, np.concatenate([names, others])) or 0.0
                name = f"{title}, {masking}"
                rows.append(MetricRow(f"{name}: nats per name", round(names.mean(), 4), None, "higher", **named))
                rows.append(MetricRow(f"{name}: PR-AUC", round(area, 4), None, "higher", **named))
                typer.echo(f"{kind}, {name}: {names.mean():.3f} nats, PR-AUC {area:.4f}")
    replace_rows(METRICS, rows)


def maskings() -> Iterator[tuple[str, Masking | None]]:
    """Yield the name of each masking and the masking; None for the forms that the notes were made with."""
    yield "no", make_no_masking()
    yield "same word", make_same_word_masking()
    yield "same lemma", make_same_lemma_masking(choose_lemmatizer(None, LANG))
    yield "every form", None


def make_note(name: str, rng: Random, inflected: bool) -> Made:
    """Compose a note in which a surname occurs in different cases, or always in the nominative."""
    inflector = get_language(LANG).inflector
    assert inflector is not None
    cases = rng.sample(sorted(FRAMES), RECURS) if inflected else ["nom"] * RECURS
    text, names = "", []
    for case in cases:
        before, _, after = rng.choice(FRAMES[case]).partition("{}")
        form = inflector.inflect(name, case, kind="surname")
        names.append((len(text) + len(before), len(text) + len(before) + len(form)))
        text += f"{before}{form}{after} "
    return Made(text, tuple(names))


def surprisal_of(model: MaskedLM, corpus: Sequence[Made], masking: Masking | None, *, of_names: bool) -> Any:
    """Compute the surprisal of the names, or of all other words, in nats.

    model (MaskedLM): the model.
    corpus (Sequence[Made]): the notes.
    masking (Optional[Masking]): the masking; None to mask all forms of the name together.
    of_names (bool): whether to score the names or the other words.
    RETURNS (NDArray): shape (words,).
    """
    nlp, prepared = blank(LANG), []
    for note in corpus:
        doc = nlp.make_doc(note.text)
        words = [token.i for token in doc if any(map(str.isalnum, token.text))]
        named = np.array([any(start <= doc[word].idx < end for start, end in note.names) for word in words])
        forms = np.flatnonzero(named).tolist()
        same = masking.find(doc, words) if masking else [forms if name else [i] for i, name in enumerate(named)]
        prepared.append(prepare(model, doc, words, same, named == of_names))
    scores = score_words(model, prepared, make_exact_mode())
    return np.concatenate([-score.log_prob[note.wanted] for score, note in zip(scores, prepared, strict=True)])


def prepare(model: MaskedLM, doc: Any, words: Sequence[int], same: Sequence[Sequence[int]], wanted: Any) -> NoteWords:
    """Convert a note to the input of the scorer."""
    encoded = model.pieces.encode(doc.text)
    starts = np.array([doc[word].idx for word in words])
    ends = starts + np.array([len(doc[word]) for word in words])
    parts = align_words(encoded, starts, ends, model.pieces.unknown, model.length)
    assert parts[2].all()  # every name is read
    assert len(encoded.ids) <= model.length - 2  # in one window
    return NoteWords(encoded.ids, *parts, same, wanted)


class CopyingLM:
    """A mixture of a masked language model and a rule that repeats visible pieces; implements `MaskedLM`."""

    def __init__(self, model: MaskedLM) -> None:
        self._model = model
        self.name, self.pieces, self.length = f"{model.name}-copying", model.pieces, model.length
        self.states = model.states

    def log_probs(self, ids: Any, attention: Any, places: Any) -> Any:
        """Compute the distributions of the mixture; see `MaskedLM.log_probs`."""
        found = np.exp(self._model.log_probs(ids, attention, places)) * (1 - COPIED)
        hidden = {self.pieces.mask, *self.pieces.before, *self.pieces.after}
        for index, place in enumerate(places.tolist()):
            row, column = divmod(place, ids.shape[1])
            text = ids[row][attention[row] == 1].tolist()
            visible = [piece for piece in text if piece not in hidden]
            follow = [
                piece
                for at, piece in enumerate(text[1:], 1)
                if at != column and text[at - 1] == text[column - 1] and piece not in hidden
            ]
            for pieces, weight in ((follow or visible, COPIED / 2), (visible, COPIED / 2)):
                np.add.at(found[index], pieces, weight / max(1, len(pieces)))
        return np.log(np.maximum(found, 1e-30)).astype(np.float32)


if __name__ == "__main__":
    app()
