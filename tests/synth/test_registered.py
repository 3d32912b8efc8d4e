"""The reader and the augmenters, as a training config names them."""

from itertools import islice

import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.util import registry
from thinc.api import Config

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.synth import load_language, make_corpus
from spacy_deid.synth.language import split_of_carrier

CARRIER = (
    "The patient presents with lumbar pain since Monday. No fever was reported. An MRI is done. Review by Canario."
)

CONFIG = """
[corpora]

[corpora.train]
@readers = "spacy_deid.synth_corpus.v1"
lang = "en"
n = 6
seed = 3
noise = 0.0

[corpora.dev]
@readers = "spacy_deid.synth_corpus.v1"
lang = "en"
n = 2
split = "dev"
"""


def corpora(text):
    return registry.resolve(Config().from_str(text))["corpora"]


def values(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def test_the_reader_yields_the_notes_of_make_corpus():
    nlp = spacy.blank("en")
    read = corpora(CONFIG)["train"]
    examples = list(read(nlp))
    assert [e.reference.text for e in examples] == [n.text for n in make_corpus("en", 6, 3, noise=0.0)]
    assert any(e.reference.ents for e in examples)
    assert not any(e.predicted.ents for e in examples)
    assert [e.reference.text for e in read(nlp)] == [e.reference.text for e in examples]


def test_spacy_trains_from_a_config_with_the_reader():
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    config = nlp.config.merge(Config().from_str(CONFIG))
    nlp = init_nlp(config)
    assert "PATIENT" in nlp.get_pipe("ner").labels


def test_the_reader_puts_identifiers_into_a_folder_of_carriers(tmp_path):
    for i in range(8):
        (tmp_path / f"{i}.txt").write_text(CARRIER, encoding="utf8")
    more = f'carriers = "{tmp_path}"\ncarrier_share = 1.0\n'
    read = corpora(CONFIG.replace("noise = 0.0\n", f"noise = 0.0\n{more}"))["train"]
    examples = list(read(spacy.blank("en")))
    assert examples
    assert all("lumbar pain" in e.reference.text and e.reference.ents for e in examples)


def test_the_reader_writes_the_labels_of_a_scheme_and_hands_examples_to_an_augmenter():
    more = (
        'scheme = "meddocan"\n\n[corpora.train.augmenter]\n@augmenters = "spacy_deid.noise.v1"\n'
        'share = 1.0\nhands = ["capitals"]\n'
    )
    text = CONFIG.replace("noise = 0.0\n", f"noise = 0.0\n{more}").replace('lang = "en"\nn = 6', 'lang = "es"\nn = 6')
    examples = list(corpora(text)["train"](spacy.blank("es")))
    assert len(examples) == 12
    assert {"FECHAS", "NOMBRE_SUJETO_ASISTENCIA"} & {ent.label_ for e in examples for ent in e.reference.ents}
    for note, copy in zip(examples[::2], examples[1::2], strict=True):
        assert copy.reference.text == note.reference.text.upper()


def test_a_folder_without_carriers_of_the_split_is_refused(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "0.txt").write_text(CARRIER, encoding="utf8")
    split = next(split for split in ("dev", "test") if split != split_of_carrier("notes/0.txt", load_language("en")))
    read = registry.readers.get("spacy_deid.synth_corpus.v1")("en", 2, split=split, carriers=folder)
    with pytest.raises(InputError, match="none of the 1 carrier"):
        list(read(spacy.blank("en")))


def gold(nlp):
    """An example, with a label of another scheme than ours too."""
    doc = nlp.make_doc(CARRIER)
    start = CARRIER.index("Canario")
    doc.set_ents(
        [
            doc.char_span(start, start + 7, label="CLINICIAN"),
            doc.char_span(CARRIER.index("MRI"), CARRIER.index("MRI") + 3, label="MINE"),
        ]
    )
    return spacy.training.Example(nlp.make_doc(CARRIER), doc)


def test_the_noise_augmenter_gives_the_note_and_a_copy_whose_entities_follow():
    nlp = spacy.blank("en")
    augment = registry.augmenters.get("spacy_deid.noise.v1")(share=1.0, hands=["spaced", "lower"], seed=1)
    note, *copies = [example for _ in range(5) for example in augment(nlp, gold(nlp))]
    assert values(note.reference) == [("MRI", "MINE"), ("Canario", "CLINICIAN")]
    assert len(copies) == 9
    assert ["mri", "canario"] in [[ent.text for ent in copy.reference.ents] for copy in copies]


def test_the_augmenters_are_seeded():
    nlp = spacy.blank("en")
    for name, settings in (("noise", {}), ("inject", {"lang": "en"})):
        make = registry.augmenters.get(f"spacy_deid.{name}.v1")
        first, second = (
            [e.reference.text for _ in range(5) for e in augment(nlp, gold(nlp))]
            for augment in (make(share=0.5, seed=4, **settings) for _ in range(2))
        )
        assert first == second
        assert 5 < len(first) < 10


@pytest.mark.parametrize("hands", [["shaky"], []])
def test_an_unknown_hand_is_refused_with_the_known_ones(hands):
    with pytest.raises(ConfigError, match="capitals, careless"):
        registry.augmenters.get("spacy_deid.noise.v1")(hands=hands)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_injecting_augmenter_keeps_what_the_note_held(split):
    nlp = spacy.blank("en")
    augment = registry.augmenters.get("spacy_deid.inject.v1")(lang="en", share=1.0, split=split)
    examples = list(islice((e for _ in range(6) for e in augment(nlp, gold(nlp))), 1, None, 2))
    assert len(examples) == 6
    for example in examples:
        assert {("MRI", "MINE"), ("Canario", "CLINICIAN")} < set(values(example.reference))
        assert len(example.reference.ents) > 2


def test_the_injecting_augmenter_knows_its_languages():
    with pytest.raises(ConfigError, match="no templates for language 'qq'"):
        registry.augmenters.get("spacy_deid.inject.v1")(lang="qq")


def reader_of(*texts):
    """A corpus reader that records how often it was read."""

    def read(nlp):
        read.passes += 1
        for text in texts:
            yield spacy.training.Example(nlp.make_doc(text), nlp.make_doc(text))

    read.passes = 0
    return read


def mix(corpora, weights, n=1000, **settings):
    return registry.readers.get("spacy_deid.mixed_corpus.v1")(corpora, weights, n, **settings)


def test_a_mixture_has_the_corpora_by_weight_and_all_of_their_notes():
    corpora = {"large": reader_of(*(f"large {i}" for i in range(400))), "small": reader_of("small 0", "small 1")}
    read = mix(corpora, {"large": 1.0, "small": 3.0})
    nlp = spacy.blank("en")
    first = [example.reference.text for example in read(nlp)]
    assert len(first) == 1000
    assert 0.7 < sum(text.startswith("small") for text in first) / 1000 < 0.8
    second = [example.reference.text for example in read(nlp)]
    assert len({text for text in first + second if text.startswith("large")}) == 400
    assert corpora["large"].passes == 2
    again = mix(
        {"large": reader_of(*(f"large {i}" for i in range(400))), "small": reader_of("small 0", "small 1")},
        {"large": 1.0, "small": 3.0},
    )
    assert [example.reference.text for example in again(nlp)] == first


def test_a_mixture_with_one_weight_is_that_corpus():
    corpora = {"notes": reader_of("a", "b"), "authored": reader_of("c")}
    read = mix(corpora, {"notes": 1.0, "authored": 0.0})
    assert [example.reference.text for example in read(spacy.blank("en"))] == ["a", "b"]
    assert corpora["authored"].passes == 0


def test_a_mixture_hands_its_notes_to_an_augmenter():
    noise = registry.augmenters.get("spacy_deid.noise.v1")(share=1.0, hands=["capitals"])
    read = mix({"a": reader_of("one"), "b": reader_of("two")}, {"a": 1, "b": 1}, 10, augmenter=noise)
    texts = [example.reference.text for example in read(spacy.blank("en"))]
    assert texts[1::2] == [text.upper() for text in texts[::2]]


@pytest.mark.parametrize("weights", [{"a": 1.0}, {"a": 0.0, "b": 0.0}, {"a": 1.0, "c": 1.0}])
def test_weights_that_do_not_fit_the_corpora_are_refused(weights):
    with pytest.raises(ConfigError, match="positive weight"):
        mix({"a": reader_of("one"), "b": reader_of("two")}, weights)


def test_an_empty_corpus_of_a_mixture_is_refused():
    with pytest.raises(InputError, match="'b'"):
        list(mix({"a": reader_of("one"), "b": reader_of()}, {"a": 1, "b": 1})(spacy.blank("en")))
