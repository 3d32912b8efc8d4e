"""The parrot attack: what the attacker's tagger learns, what is planted, what is counted. All persons are invented."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from benchmarks import parrot, parrot_tagger
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.surrogates.strategies import consistent, markov

NAMES = ["Ana Mora", "Luis Soto", "Pilar Vega", "Jaime Ruiz", "Elena Gil", "Pablo Sanz", "Rosa Pardo", "Iker Luna"]


def note(i):
    name, town = NAMES[i % len(NAMES)], ["Toledo", "Soria", "Huelva"][i % 3]
    text = f"Paciente: {name}. Vive en {town}. {name} refiere dolor en la rodilla. Se cita a {name} en un mes."
    at = [n for n in range(len(text)) if text.startswith(name, n)]
    found = [Entity(n, n + len(name), "PATIENT") for n in at]
    place = text.index(town)
    return AnnotatedText(f"n{i}", text, tuple(sorted([*found, Entity(place, place + len(town), "CITY")])))


NOTES = [note(i) for i in range(16)]


def originals(outputs):
    return {(o.name, item.start) for o in outputs for item in o.items if item.leak}


def test_a_tagger_finds_what_stands_where_it_was_taught():
    texts = [parrot_tagger.Text(n.text, [(e.start, e.end) for e in n.entities]) for n in NOTES]
    tagger = parrot_tagger.train_tagger(texts)
    text = "Paciente: Nerea Campo. Vive en Burgos. Refiere dolor en la rodilla."
    name, pain = tagger.logits(text, [(10, 21), (text.index("dolor"), text.index("dolor") + 5)])
    assert name.max() > 0 > pain.max()


def test_every_token_has_as_many_features():
    tokens = list(parrot_tagger.TOKEN.finditer("Ana.\n\nSoto 12"))
    assert len({len(row) for row in parrot_tagger.features("Ana.\n\nSoto 12", tokens)}) == 1
    assert parrot_tagger.features("", []) == []
    assert parrot_tagger.shape("Ana12-B") == "Xxd-X"


def test_a_logistic_regression_separates_what_can_be_separated():
    columns = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 1.0], [1.1, 1.0]])
    logits = parrot_tagger.fit_logistic(columns, np.array([False, False, True, True]), 0.01).logits(columns)
    assert (logits > 0).tolist() == [False, False, True, True]


def test_nothing_missed_leaves_nothing():
    outputs = parrot.plant(NOTES, "es", consistent, 0.0, "a")
    assert not originals(outputs)
    assert sum(len(o.items) for o in outputs) > 50


@pytest.mark.parametrize("strategy", [consistent, partial(markov, p=0.5)])
def test_what_is_planted_is_the_original_and_marked(strategy):
    outputs = parrot.plant(NOTES, "es", strategy, 0.4, "a")
    written = {e for n in NOTES for e in (n.text[e.start : e.end] for e in n.entities)}
    leaks = [o.text[i.start : i.end] for o in outputs for i in o.items if i.leak]
    assert leaks
    assert set(leaks) <= written
    for output, gold in zip(outputs, NOTES, strict=True):
        own = {gold.text[e.start : e.end] for e in gold.entities}
        assert not [i for i in output.items if not i.leak and output.text[i.start : i.end] in own]


def test_what_is_missed_at_a_rate_is_missed_at_a_higher_one():
    few, many = (parrot.plant(NOTES, "es", consistent, rate, "a") for rate in (0.1, 0.5))
    position = {(o.name, i) for o in few for i, item in enumerate(o.items) if item.leak}
    assert position
    assert position < {(o.name, i) for o in many for i, item in enumerate(o.items) if item.leak}


def test_persons_named_more_than_once_are_marked():
    items = parrot.plant(NOTES[:1], "es", consistent, 0.0, "a")[0].items
    assert [item.repeated for item in items] == [item.label == "PATIENT" for item in items]


def test_counts_by_hand():
    items = [parrot.Item(0, 1, "CITY", leak, leak) for leak in (True, True, False, False)]
    scores = [np.array(row) for row in ([-1.0, -2.0], [-1.0, 3.0], [-0.5], [2.0])]
    counts = parrot.count(items, scores, np.array([4.0, 1.0, 3.0, 0.0]))
    assert parrot.shares(counts) == {
        "leaks": 2,
        "chance": 0.5,
        "tagger, identifiers found": 0.5,
        "untagged, recall": 0.5,
        "untagged, precision": 0.5,
        "ranked, leaks found": 0.5,
        "ranked, repeated values": 0.5,
    }


def test_no_leaks_give_no_shares_of_leaks():
    assert parrot.shares(Counter(items=3)) == {"leaks": 0, "chance": 0.0, "tagger, identifiers found": 1.0}


def test_the_spread_is_that_of_the_shares_of_single_seeds():
    counts = [Counter(items=9, leaks=4, **{"first leaks": found}) for found in (1, 2, 3)]
    spread = parrot.spread(counts)
    assert spread["ranked, leaks found, deviation over seeds"] == pytest.approx(0.25)
    assert spread["untagged, recall, deviation over seeds"] == 0
    assert parrot.spread(counts[:1]) == {}


def test_an_attack_counts_all_identifiers_of_one_half():
    counts = parrot.attack(NOTES, "es", consistent, 0.2, 0)
    assert 0 < counts["leaks"] < counts["items"]
    assert counts["items"] == sum(len(o.items) for o in parrot.plant(NOTES, "es", consistent, 0, "x")) // 2
    assert counts == parrot.attack(NOTES, "es", consistent, 0.2, 0)


def test_outputs_show_no_text():
    assert "Ana" not in repr(parrot.Output("n0", "Ana Mora", [])) + repr(parrot_tagger.Text("Ana Mora", []))
