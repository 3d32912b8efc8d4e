"""Scores of a trained committee on the CPU, with the first layer computed once per word form.

The first layer of a network is linear in the embeddings of the features: its output for a token is the sum of one
vector per feature. Most features depend only on the word form or the field, and the others have few values.
`Predictor` computes these vectors once per value, keeps them, and adds five of them per token. The encoder then runs
on blocks of tokens that fit into the cache of the processor. The scores equal those of the thinc model up to rounding.

Long notes are processed in stretches. The features depend on the whole note and are read once; the network reads a
stretch with the neighbours that it can see on both sides. Memory therefore does not grow with the length of a note.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps

from .features import FEATURES, NoteFeatures, NoteView
from .lexicon import Lexicon
from .tagger import feature_names

STRETCH = 4096  # dense tokens that are embedded at once
_BLOCK = 512  # rows that go through the encoder at once
_CACHE_SIZE = 20_000  # values per table; 1.8 kB each for a committee of the default sizes


def can_predict(model: Model[Any, Any]) -> bool:
    """Return whether `Predictor` supports a model: all members use a `build_note_tok2vec`, on the CPU."""
    members = model.layers if model.name == "committee" else [model]
    extracts = [[node for node in member.walk() if node.name == "note_features"] for member in members]
    return all(len(found) == 1 and isinstance(found[0].ops, NumpyOps) for found in extracts)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a note: its index in the batch, and a range of its dense tokens."""

    note: int
    start: int
    stop: int


class Predictor:
    """Computes the tag scores of notes, averaged over the networks of a committee.

    The parameters are copied: make a new predictor after the model has been trained or loaded.

    model (Model): a `build_tag_scorer` of a `build_note_tok2vec`, or a `build_committee` of them; initialized.
    size (int): number of dense tokens that are embedded at once. It bounds the memory and changes no score.
    """

    def __init__(self, model: Model[Any, Any], size: int = STRETCH) -> None:
        networks = [_Network(member) for member in (model.layers if model.name == "committee" else [model])]
        lexicons = dict.fromkeys(network.lexicon for network in networks)
        self._groups = [_Group(key, [network for network in networks if network.lexicon == key]) for key in lexicons]
        self._number, self._size = len(networks), size

    def __call__(self, docs: Sequence[Doc]) -> Iterator[tuple[int, np.ndarray]]:
        """Score the dense tokens of notes; see `features.dense_tokens`.

        docs (Sequence[Doc]): the notes; an empty note has no scores.
        YIELDS (tuple[int, ndarray]): index of a note, and the unnormalized scores of its next dense tokens, float32 of
            shape (tokens, tags). The stretches of a note follow each other.
        """
        for batch, views in self.read_batches(docs):
            scores = [group.score(batch, [read[i] for read in views]) for i, group in enumerate(self._groups)]
            for i, stretch in enumerate(batch):
                yield stretch.note, np.sum([part[i] for part in scores], axis=0) / np.float32(self._number)

    def read_batches(self, docs: Sequence[Doc]) -> Iterator[tuple[list[Stretch], list[list[NoteView]]]]:
        """Divide notes into batches of at most `size` dense tokens.

        docs (Sequence[Doc]): the notes.
        YIELDS (tuple[list, list]): stretches, and for each the features of its note, one `NoteView` per lexicon.
        """
        batch: list[Stretch] = []
        views: list[list[NoteView]] = []
        room = self._size
        for i, doc in enumerate(docs):
            read = [group.features.read(doc) for group in self._groups]
            for start in range(0, len(read[0]), self._size):
                stop = min(len(read[0]), start + self._size)
                if stop - start > room and batch:
                    yield batch, views
                    batch, views, room = [], [], self._size
                batch.append(Stretch(i, start, stop))
                views.append(read)
                room -= stop - start
        if batch:
            yield batch, views


class _Group:
    """Networks with the same lexicon, whose first layers are computed together: *sums* are the inputs of their maxout
    units, side by side.
    """

    def __init__(self, lexicon: bytes, networks: list["_Network"]) -> None:
        self.features = NoteFeatures(Lexicon.from_bytes(lexicon) if lexicon else None)
        self.networks = networks
        self.edges = np.cumsum([0, *(len(network.mix.bias) for network in networks)]).tolist()
        self.reach = max(network.reach for network in networks)
        self._tables: dict[tuple[str, ...], _Table] = {}
        self._bias = np.concatenate([network.mix.bias for network in networks])
        self._blank = self._project(FEATURES, np.zeros((1, len(FEATURES)), dtype=np.uint64))[0] + self._bias

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables out of pickles."""
        return self.__dict__ | {"_tables": {}}

    def score(self, batch: list[Stretch], views: list[NoteView]) -> list[np.ndarray]:
        """Return the scores of stretches, summed over the networks; shape (tokens, tags) each.

        Notes are separated by as many blanks as the networks see, which is how they are separated in training.
        """
        wide = [
            (max(0, stretch.start - self.reach), min(len(view), stretch.stop + self.reach))
            for stretch, view in zip(batch, views, strict=True)
        ]
        ends = np.cumsum([self.reach + stop - start for start, stop in wide]).tolist()
        sums = np.empty((ends[-1] + self.reach, len(self._bias)), dtype=np.float32)
        for end, view, (start, stop) in zip(ends, views, wide, strict=True):
            first = end - (stop - start)
            sums[first - self.reach : first] = self._blank
            self._embed(view, start, stop, sums[first:end])
        sums[ends[-1] :] = self._blank
        parts = zip(self.networks, self.edges, self.edges[1:], strict=False)
        scores = np.sum([network.score(sums[:, low:high]) for network, low, high in parts], axis=0)
        rows = [end - (stop - s.stop) for end, (_, stop), s in zip(ends, wide, batch, strict=True)]
        return [scores[row - (s.stop - s.start) : row] for row, s in zip(rows, batch, strict=True)]

    def _embed(self, view: NoteView, start: int, stop: int, out: np.ndarray) -> None:
        """Write the sums of the first layers for a range of dense tokens."""
        used, form = np.unique(view.form[start:stop], return_inverse=True)
        by_form = np.sum([self._look_up(names, values[used]) for names, values in view.by_form()], axis=0)
        by_field = np.sum([self._look_up(names, values) for names, values in view.by_field()], axis=0) + self._bias
        np.take(by_form, form, axis=0, out=out)
        out += by_field[view.field[start:stop]]
        for name, values in view.by_token(start, stop):
            few, where = np.unique(values, return_inverse=True)
            out += self._look_up((name,), few[:, None])[where]

    def _look_up(self, names: tuple[str, ...], values: np.ndarray) -> np.ndarray:
        """Return the sums for values of some features, computing those that are new; (n, features) → (n, sums)."""
        table = self._tables.setdefault(names, _Table(len(self._bias)))
        keys = np.ascontiguousarray(values).view(f"V{values.shape[1] * 8}").ravel().tolist()
        return table.rows(keys, lambda new: self._project(names, values[new]))

    def _project(self, names: Sequence[str], values: np.ndarray) -> np.ndarray:
        """Compute what features add to the first layers: (n, features) → (n, sums)."""
        return np.concatenate([network.project(names, values) for network in self.networks], axis=1)


class _Table:
    """A bounded table of vectors that are computed when they are first used."""

    def __init__(self, width: int) -> None:
        self._index: dict[bytes, int] = {}
        self._vectors = np.empty((64, width), dtype=np.float32)

    def rows(self, keys: list[bytes], compute: Callable[[list[int]], np.ndarray]) -> np.ndarray:
        """Return the vectors of keys, shape (keys, width); `compute` gets the positions of the keys that are new."""
        new = {key: i for i, key in enumerate(keys) if key not in self._index}
        if len(self._index) + len(new) > _CACHE_SIZE:
            self._index, new = {}, {key: i for i, key in enumerate(keys)}
        if new:
            known, needed = len(self._index), len(self._index) + len(new)
            if needed > len(self._vectors):
                grown = np.empty((max(needed, 2 * len(self._vectors)), self._vectors.shape[1]), dtype=np.float32)
                grown[:known] = self._vectors[:known]
                self._vectors = grown
            self._vectors[known:needed] = compute(list(new.values()))
            self._index.update(zip(new, range(known, needed), strict=True))
        return cast(np.ndarray, self._vectors[[self._index[key] for key in keys]])


class _Layer:
    """A maxout layer with layer normalization, with the weights of the first pieces of all units first.

    weights (ndarray): shape (inputs, pieces * width). bias (ndarray): shape (pieces * width,).
    """

    def __init__(self, maxout: Model[Any, Any], norm: Model[Any, Any]) -> None:
        weights = _copy(maxout, "W").transpose(1, 0, 2)  # (width, pieces, inputs) → (pieces, width, inputs)
        self.weights = np.ascontiguousarray(weights.reshape(-1, weights.shape[2]).T)
        self.bias = _copy(maxout, "b").T.ravel()
        self.scale, self.shift = _copy(norm, "G"), _copy(norm, "b")

    def activate(self, sums: np.ndarray) -> np.ndarray:
        """Return the normalized largest piece of each unit; shape (rows, pieces * width) → (rows, width)."""
        width = len(self.scale)
        pieces = [sums[:, first : first + width] for first in range(0, sums.shape[1], width)]
        out: np.ndarray = np.maximum(pieces[0], pieces[-1])
        for piece in pieces[1:-1]:
            np.maximum(out, piece, out=out)
        out -= out.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", out, out) / np.float32(width)
        out *= (1 / np.sqrt(variance + np.float32(1e-8)))[:, None]
        out *= self.scale
        out += self.shift
        return out


class _Network:
    """The parameters of one network.

    reach (int): number of neighbours on each side that change the scores of a token.
    """

    def __init__(self, scorer: Model[Any, Any]) -> None:
        nodes: dict[str, list[Model[Any, Any]]] = {}
        for node in scorer.walk():  # breadth first, so layers are in their order
            nodes.setdefault(node.name, []).append(node)
        extract, output = nodes["note_features"][0], nodes["linear"][0]
        names = feature_names(extract)
        self.lexicon: bytes = extract.attrs["lexicon"]
        self.mix, *self.layers = map(_Layer, nodes["maxout"], nodes["layernorm"])
        self.output, self.bias = np.ascontiguousarray(_copy(output, "W").T), _copy(output, "b")
        self.width = len(self.mix.scale)
        self.window: int = nodes["expand_window"][0].attrs["window_size"]
        self.reach = self.window * len(self.layers)
        self._ops = NumpyOps(use_blis=False)
        embeds = [(_copy(node, "E"), node.attrs["seed"]) for node in nodes["hashembed"]]
        edges = np.cumsum([0, *(table.shape[1] for table, _ in embeds)]).tolist()
        self._embeds = {
            name: (table, seed, self.mix.weights[low:high])
            for name, (table, seed), low, high in zip(names, embeds, edges, edges[1:], strict=False)
        }

    def project(self, names: Sequence[str], values: np.ndarray) -> np.ndarray:
        """Compute what features add to the sums of the first layer; features without a table add nothing.

        names (Sequence[str]): the features. values (ndarray): their hashes, uint64, shape (n, features).
        RETURNS (ndarray): shape (n, pieces * width).
        """
        sums = np.zeros((len(values), len(self.mix.bias)), dtype=np.float32)
        for name, column in zip(names, values.T, strict=True):
            if name in self._embeds:
                table, seed, weights = self._embeds[name]
                rows = self._ops.hash(np.ascontiguousarray(column), seed) % len(table)
                sums += np.asarray(self._ops.gather_add(table, rows)) @ weights
        return sums

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Compute the scores from the sums of the first layer; shape (rows, pieces * width) → (rows, tags)."""
        hidden, window, width = self.mix.activate(sums), self.window, self.width
        scores = np.empty((len(sums), len(self.bias)), dtype=np.float32)
        for start in range(0, len(sums), _BLOCK):
            low, high = max(0, start - self.reach), min(len(sums), start + _BLOCK + self.reach)
            padded = np.zeros((high - low + 2 * window, width), dtype=np.float32)
            block = padded[window : window + high - low]
            block[:] = hidden[low:high]
            for layer in self.layers:
                after = padded[: high - low] @ layer.weights[:width]
                for shift in range(1, 2 * window + 1):
                    after += padded[shift : shift + high - low] @ layer.weights[shift * width : (shift + 1) * width]
                after += layer.bias
                block += layer.activate(after)
            np.matmul(block[start - low :][:_BLOCK], self.output, out=scores[start : start + _BLOCK])
        scores += self.bias
        return scores


def _copy(node: Model[Any, Any], name: str) -> np.ndarray:
    """Return a copy of a parameter."""
    return np.array(node.get_param(name))
