"""Thinc models for the token classifier: an embedding of hashed note features, and the layer that scores tags.

The embedding takes the place of spaCy's MultiHashEmbed and is followed by spaCy's own encoders; the scorer sits on any
tok2vec or transformer listener.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import (
    Dropout,
    HashEmbed,
    Linear,
    Maxout,
    Model,
    NumpyOps,
    chain,
    clone,
    concatenate,
    expand_window,
    residual,
    with_array,
)
from thinc.types import Floats2d, Ints2d

from .layout import FEATURES, note_features

__all__ = ["build_note_tok2vec", "build_tag_scorer"]


def build_note_tok2vec(
    width: int, depth: int, window_size: int, maxout_pieces: int, embed_size: int, rows: dict[str, int], dropout: float
) -> Model[list[Doc], list[Floats2d]]:
    extract = note_features()

    def forward(model, docs, is_train):
        arrays = [extract(doc)[:, columns] for doc in docs]
        return arrays, lambda d: []
    columns = [FEATURES.index(name) for name in rows]
    extractor = Model("note_features", forward)
    embeds = [HashEmbed(embed_size, n, column=i, seed=i + 8, dropout=dropout) for i, n in enumerate(rows.values())]
    embed = chain(
        concatenate(*embeds),
        Maxout(width, embed_size * len(embeds), nP=maxout_pieces, normalize=True, dropout=0.0),
    )
    layer = residual(chain(expand_window(window_size), Maxout(width, width * (2 * window_size + 1), nP=maxout_pieces, normalize=True, dropout=dropout)))
    model = chain(extractor, with_array(chain(embed, clone(layer, depth)), pad=depth * window_size))
    model.set_dim("nO", width)
    return model


def build_tag_scorer(tok2vec, dropout: float, nO=None):
    out = Linear(nO, tok2vec.get_dim("nO"), init_W=lambda ops, shape: ops.alloc(shape))
    return chain(tok2vec, with_array(chain(Dropout(dropout), out)))
