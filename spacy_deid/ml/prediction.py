"""Compute tag scores fast on the CPU, for the networks of `tagger.build_note_tok2vec` and committees of them.

The first layer of a network is linear in the embeddings of the features: its output for a token is the sum of one
vector per feature. Most features depend only on the word form or the field, and the others have few values.
`Predictor` computes these vectors once per value, caches them, and adds a few of them for each token. The encoder then
runs on blocks of tokens that fit into the cache of the processor. The scores equal those of the thinc model up to
rounding.

Long notes are processed in stretches. The features depend on the whole note and are computed once; the network runs on
a stretch together with the neighbours on both sides that influence it. The memory of the network therefore does not
grow with the length of a note.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps

from .features import CASE_HASHES, FEATURES, LINE_HASHES, PLACE_HASHES, NoteFeatures, NoteView
from .lexicon import Lexicon
from .tagger import feature_names
from .word_forms import CACHE_SIZE, OF_WORD

STRETCH = 4096  # dense tokens that are embedded at once
_BLOCK = 512  # rows that go through the encoder at once
KEY_CACHE_SIZE = 4096  # keys of fields
_KEYS = {"key": 0, "long_key": 1, "memory": 0}  # features of fields → column of `NoteView.keys`


def can_predict(model: Model[Any, Any]) -> bool:
    """Check whether `Predictor` supports a model.

    model (Model): a tag scorer, or a committee of tag scorers.
    RETURNS (bool): True if each network is based on a `tagger.build_note_tok2vec` and runs on the CPU.
    """
    members = model.layers if model.name == "committee" else [model]
    extracts = [[node for node in member.walk() if node.name == "note_features"] for member in members]
    return all(len(found) == 1 and isinstance(found[0].ops, NumpyOps) for found in extracts)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a note that is scored at once.

    note (int): index of the note.
    start, stop (int): range of the note's dense tokens (all except spaces and tabs, see `features.dense_tokens`), end
        exclusive.
    """

    note: int
    start: int
    stop: int


class Predictor:
    """Computes the tag scores of notes, averaged over the networks of a committee.

    The parameters are copied, so a new predictor is needed after the model has been trained or loaded. Several threads
    can use one predictor.

    model (Model): an initialized model made by `build_tag_scorer` from a `build_note_tok2vec`, or by `build_committee`
        from several of them.
    size (int): number of tokens that are embedded at once. It bounds the memory and does not change the scores.
    """

    def __init__(self, model: Model[Any, Any], size: int = STRETCH) -> None:
        networks = [_Network(member) for member in (model.layers if model.name == "committee" else [model])]
        lexicons = dict.fromkeys(network.lexicon for network in networks)
        self._groups = [_Group(key, [network for network in networks if network.lexicon == key]) for key in lexicons]
        self._number, self._size = len(networks), size
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def __call__(self, docs: Sequence[Doc]) -> Iterator[tuple[int, np.ndarray]]:
        """Compute the tag scores of the dense tokens of notes, which are all tokens except spaces and tabs.

        docs (Sequence[Doc]): the notes; an empty note has no scores.
        YIELDS (tuple[int, ndarray]): index of a note, and the unnormalized scores of its next dense tokens, float32 of
            shape (tokens, tags). The stretches of a note follow each other.
        """
        batches = self.read_batches(docs)
        while True:
            with self._lock:  # the tables of vectors grow
                batch, views = next(batches, ([], []))
                if not batch:
                    return
                start = batch[0].start
                stop = start + sum(stretch.stop - stretch.start for stretch in batch)
                parts = [group.score(view, start, stop) for group, view in zip(self._groups, views, strict=True)]
            scores = np.sum(parts, axis=0) / np.float32(self._number)
            for stretch in batch:
                length = stretch.stop - stretch.start
                yield stretch.note, scores[:length]
                scores = scores[length:]

    def read_batches(self, docs: Sequence[Doc]) -> Iterator[tuple[list[Stretch], list[NoteView]]]:
        """Divide notes into batches of at most `size` dense tokens: several whole notes, or a part of a long one.

        docs (Sequence[Doc]): the notes.
        YIELDS (tuple[list, list]): the parts of notes in a batch, and their features: one `NoteView` for each lexicon
            that the networks use. A view contains the notes of the batch one after another, or all of a long note.
        """
        whole: list[int] = []
        for i, doc in enumerate(docs):
            if whole and sum(len(docs[k]) for k in whole) + len(doc) > self._size:
                yield from self._read_whole(docs, whole)
                whole = []
            if len(doc) <= self._size:
                whole.append(i)
                continue
            views = [group.features.read([doc]) for group in self._groups]
            for start in range(0, len(views[0]), self._size):
                yield [Stretch(i, start, min(len(views[0]), start + self._size))], views
        yield from self._read_whole(docs, whole)

    def _read_whole(self, docs: Sequence[Doc], chosen: list[int]) -> Iterator[tuple[list[Stretch], list[NoteView]]]:
        """Yield one batch of whole notes, or nothing if they have no dense tokens."""
        views = [group.features.read([docs[i] for i in chosen]) for group in self._groups if chosen]
        if views and len(views[0]):
            lengths = np.bincount(views[0].note, minlength=len(chosen)).tolist()
            yield [Stretch(i, 0, length) for i, length in zip(chosen, lengths, strict=True) if length], views


class _Group:
    """Networks with the same lexicon, whose first layers are computed together from the same features.

    *Sums* are the inputs of the maxout units of all networks, side by side. Those of a token are added up from vectors
    of its word form, of its field, and of features with few values; each vector is computed once and kept in a table.
    """

    def __init__(self, lexicon: bytes, networks: list["_Network"]) -> None:
        self.features = NoteFeatures(Lexicon.from_bytes(lexicon) if lexicon else None)
        self.networks = networks
        self.edges = np.cumsum([0, *(len(network.mix.bias) for network in networks)]).tolist()
        self.reach = max(network.reach for network in networks)
        self._bias = np.concatenate([network.mix.bias for network in networks])
        blank = self._project(FEATURES, np.zeros((1, len(FEATURES)), dtype=np.uint64)) + self._bias
        self._blanks = [network.mix.activate(blank[:, low:high]) for network, low, high in self._parts()]
        self._clear()

    def _clear(self) -> None:
        """Empty the tables of vectors."""
        self._by_form, self._forms = _Vectors(len(self._bias)), self.features.forms
        self._by_case, self._by_line, self._by_place = (_Vectors(len(self._bias)) for _ in range(3))
        self._by_key, self._key_numbers = {name: _Vectors(len(self._bias)) for name in _KEYS}, dict[int, int]()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables out of pickles."""
        kept = ("features", "networks", "edges", "reach", "_bias", "_blanks")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear()

    def _parts(self) -> Iterator[tuple["_Network", int, int]]:
        """Yield each network with the range of its columns in the sums: (network, first, end)."""
        return zip(self.networks, self.edges, self.edges[1:], strict=False)

    def score(self, view: NoteView, start: int, stop: int) -> np.ndarray:
        """Return the scores of a range of tokens, summed over the networks; shape (stop - start, tags).

        As in training, notes are separated by blank rows, so that no token is influenced by another note.
        """
        low, high = max(0, start - self.reach), min(len(view), stop + self.reach)
        note = view.note[low:high]
        rows = np.arange(high - low) + self.reach * (1 + note - note[0])
        size = rows[-1] + 1 + self.reach
        hidden = [np.repeat(blank, size, axis=0) for blank in self._blanks]
        for first in range(low, high, _BLOCK):
            last = min(high, first + _BLOCK)
            sums = self._embed(view, first, last)
            for (network, left, right), out in zip(self._parts(), hidden, strict=True):
                out[rows[first - low : last - low]] = network.mix.activate(sums[:, left:right])
        scores = np.sum([network.score(part) for network, part in zip(self.networks, hidden, strict=True)], axis=0)
        return np.asarray(scores[rows[start - low : stop - low]])

    def _embed(self, view: NoteView, start: int, stop: int) -> np.ndarray:
        """Return the sums, the inputs of the first maxout units, for a range of tokens; shape (stop - start, sums)."""
        if view.forms is not self._forms:  # the table of forms was replaced
            self._by_form.clear()
            self._forms = view.forms
        part = slice(start, stop)
        word, line = view.word[part], view.line[part]
        hashes, repeats = view.forms.hashes, view.repeats[word].astype(np.int64)
        out = self._by_form.rows(view.form[part], lambda new: self._project(OF_WORD, hashes[new]) + self._bias)
        out += self._by_case.rows(view.cases[part], lambda new: self._project(["case"], CASE_HASHES[new, None]))
        line_place = view.line_places[line]
        out += self._by_line.rows(line_place, lambda new: self._project(["note_place"], LINE_HASHES[new, None]))
        place = 4 * view.places[part] + repeats - 1
        out += self._by_place.rows(place, self._project_place)
        out += self._embed_keys(view, ("key", "long_key"), view.field[part])
        out += self._embed_keys(view, ("memory",), view.first_fields[word])
        return out

    def _project_place(self, numbers: np.ndarray) -> np.ndarray:
        """Compute what place in the field and repetitions add to the sums, numbered 4 * place + repetitions - 1."""
        hashes = np.stack([PLACE_HASHES[numbers // 4], (numbers % 4 + 1).astype(np.uint64)], axis=1)
        return self._project(["field_place", "repeats"], hashes)

    def _embed_keys(self, view: NoteView, names: tuple[str, ...], field: np.ndarray) -> np.ndarray:
        """Return what the keys of tokens' fields ("Name" in "Name: Ana") add to the sums; shape (tokens, sums)."""
        used, where = np.unique(field, return_inverse=True)
        numbers = self._key_numbers
        if len(numbers) > KEY_CACHE_SIZE:
            numbers.clear()
            for table in self._by_key.values():
                table.clear()
        sums = np.zeros((len(used), len(self._bias)), dtype=np.float32)
        for name in names:
            keys = view.keys[used, _KEYS[name]]
            number = np.asarray([numbers.setdefault(key, len(numbers)) for key in keys.tolist()])
            of_number = dict(zip(number.tolist(), keys.tolist(), strict=True))
            sums += self._by_key[name].rows(number, partial(self._project_keys, name, of_number))
        return sums[where]

    def _project_keys(self, name: str, keys: dict[int, int], numbers: np.ndarray) -> np.ndarray:
        """Compute what field keys, given by number, add to the sums."""
        hashes = np.asarray([keys[number] for number in numbers.tolist()], dtype=np.uint64)
        return self._project([name], hashes[:, None])

    def _project(self, names: Sequence[str], values: np.ndarray) -> np.ndarray:
        """Compute what hashed features add to the sums of all networks: shape (n, features) → (n, sums)."""
        return np.concatenate([network.project(names, values) for network in self.networks], axis=1)


class _Vectors:
    """A bounded table of vectors for small whole numbers; each is computed when it is first used.

    The arrays stay when the table is emptied: large arrays that are made again and again would fragment the memory.

    width (int): length of a vector.
    """

    def __init__(self, width: int) -> None:
        self._slots = np.full(64, -1, dtype=np.int32)  # number → row of its vector
        self._vectors = np.empty((64, width), dtype=np.float32)
        self._used = 0

    def clear(self) -> None:
        """Empty the table."""
        self._slots[:], self._used = -1, 0

    def rows(self, numbers: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the vectors of numbers, shape (numbers, width).

        numbers (ndarray): numbers from 0, of any integer type; at least one.
        compute (Callable): computes the vectors of distinct numbers that are not in the table yet.
        """
        top = int(numbers.max()) + 1
        if top > len(self._slots):
            self._slots = np.append(self._slots, np.full(max(top, len(self._slots)), -1, dtype=np.int32))
        slots = self._slots[numbers]
        if slots.min() < 0:
            new = np.unique(numbers[slots < 0])
            if self._used + len(new) > CACHE_SIZE:
                self.clear()
                new = np.unique(numbers)
            needed = self._used + len(new)
            if needed > len(self._vectors):
                size = max(needed, min(2 * len(self._vectors), CACHE_SIZE))
                grown = np.empty((size, self._vectors.shape[1]), dtype=np.float32)
                grown[: self._used] = self._vectors[: self._used]
                self._vectors = grown
            self._vectors[self._used : needed] = compute(new)
            self._slots[new] = np.arange(self._used, needed)
            self._used = needed
            slots = self._slots[numbers]
        return np.asarray(self._vectors.take(slots, axis=0))


class _Layer:
    """The parameters of a maxout layer with layer normalization, arranged for fast prediction.

    weights (ndarray): shape (inputs, pieces * width); the first pieces of all units come first.
    bias (ndarray): shape (pieces * width,).
    """

    def __init__(self, maxout: Model[Any, Any], norm: Model[Any, Any]) -> None:
        weights = _copy(maxout, "W").transpose(1, 0, 2)  # (width, pieces, inputs) → (pieces, width, inputs)
        self.weights = np.ascontiguousarray(weights.reshape(-1, weights.shape[2]).T)
        self.bias = _copy(maxout, "b").T.ravel()
        self.scale, self.shift = _copy(norm, "G"), _copy(norm, "b")
        self._mean = np.full((len(self.scale), 1), 1 / len(self.scale), dtype=np.float32)

    def activate(self, sums: np.ndarray) -> np.ndarray:
        """Take the largest piece of each unit and normalize the row; shape (rows, pieces * width) → (rows, width)."""
        width = len(self.scale)
        pieces = [sums[:, first : first + width] for first in range(0, sums.shape[1], width)]
        out: np.ndarray = np.maximum(pieces[0], pieces[-1])
        for piece in pieces[1:-1]:
            np.maximum(out, piece, out=out)
        out -= out @ self._mean  # several times faster than the method `mean`
        variance = np.einsum("ij,ij->i", out, out) / np.float32(width)
        out *= (1 / np.sqrt(variance + np.float32(1e-8)))[:, None]
        out *= self.scale
        out += self.shift
        return out


class _Network:
    """One network: its parameters, copied from a thinc model, and the computation of its scores.

    reach (int): number of neighbours on each side that influence the scores of a token.
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

        names (Sequence[str]): names of the features.
        values (ndarray): their hashes, uint64, shape (n, features).
        RETURNS (ndarray): float32, shape (n, pieces * width).
        """
        sums = np.zeros((len(values), len(self.mix.bias)), dtype=np.float32)
        for name, column in zip(names, values.T, strict=True):
            if name in self._embeds:
                table, seed, weights = self._embeds[name]
                rows = self._ops.hash(np.ascontiguousarray(column), seed) % len(table)
                sums += np.asarray(self._ops.gather_add(table, rows)) @ weights
        return sums

    def score(self, hidden: np.ndarray) -> np.ndarray:
        """Compute the tag scores from the outputs of the first layer; shape (rows, width) → (rows, tags)."""
        window, width, most = self.window, self.width, min(len(hidden), _BLOCK + 2 * self.reach)
        scores = np.empty((len(hidden), len(self.bias)), dtype=np.float32)
        padded = np.empty((most + 2 * window, width), dtype=np.float32)
        sums, more = (np.empty((most, len(self.layers[0].bias)), dtype=np.float32) for _ in range(2))
        for start in range(0, len(hidden), _BLOCK):
            low, high = max(0, start - self.reach), min(len(hidden), start + _BLOCK + self.reach)
            size = high - low
            block, after, part = padded[window : window + size], sums[:size], more[:size]
            padded[:window], padded[window + size :] = 0.0, 0.0
            block[:] = hidden[low:high]
            for layer in self.layers:
                np.matmul(padded[:size], layer.weights[:width], out=after)
                for shift in range(1, 2 * window + 1):
                    weights = layer.weights[shift * width : (shift + 1) * width]
                    np.matmul(padded[shift : shift + size], weights, out=part)
                    after += part
                after += layer.bias
                block += layer.activate(after)
            np.matmul(block[start - low :][:_BLOCK], self.output, out=scores[start : start + _BLOCK])
        scores += self.bias
        return scores


def _copy(node: Model[Any, Any], name: str) -> np.ndarray:
    """Return a copy of a named parameter of a thinc model."""
    return np.array(node.get_param(name))
