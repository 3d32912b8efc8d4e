"""A pipeline of spacy_deid, through the same channel as its peers."""

import sys

from channel import WARM_UP, serve

import spacy_deid
from spacy_deid.labels import LABELS


def load():
    nlp = spacy_deid.load(sys.argv[1])
    nlp(WARM_UP)

    def find(notes):
        for doc, name in nlp.pipe(((text, name) for name, text in notes), as_tuples=True):
            yield name, [(ent.start_char, ent.end_char) for ent in doc.ents if ent.label_ in LABELS]

    return find


if __name__ == "__main__":
    serve(load)
