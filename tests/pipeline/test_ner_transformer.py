"""deid_ner over a transformer listener: a small real BERT, made here, trained and reloaded. Needs the extra."""

import pytest
import spacy
from spacy.training import Example
from spacy.util import fix_random_seed

pytest.importorskip("spacy_transformers")
pytestmark = [
    pytest.mark.transformer,
    # warnings of the libraries under test's feet, not of ours
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

TEXT = "Nombre : Ana . Acude por dolor ."


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A BERT of two layers with random weights and a vocabulary of the words of the test."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(TEXT.lower().split())), "luis"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def nlp(bert):
    fix_random_seed(0)
    nlp = spacy.blank("es")
    nlp.add_pipe(
        "transformer",
        config={
            "model": {
                "@architectures": "spacy-transformers.TransformerModel.v3",
                "name": str(bert),
                "tokenizer_config": {"use_fast": True},
                "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 32, "stride": 24},
            }
        },
    )
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    nlp.add_pipe(
        "deid_ner",
        config={"model": {"@architectures": "spacy_deid.TagScorer.v1", "dropout": 0.0, "tok2vec": listener}},
    )
    optimizer = nlp.initialize(lambda: [gold(nlp)])
    optimizer.learn_rate = 0.005
    for _ in range(60):
        nlp.update([gold(nlp)], sgd=optimizer)
    return nlp


def gold(nlp):
    reference = nlp.make_doc(TEXT)
    reference.ents = [reference.char_span(9, 12, label="PATIENT")]
    return Example(nlp.make_doc(TEXT), reference)


def found(doc):
    return [(span.text, span.label_) for span in doc.spans["deid/ner"]]


def test_learns_over_a_transformer_and_survives_the_disk(nlp, tmp_path):
    assert found(nlp(TEXT)) == [("Ana", "PATIENT")]
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert found(again(TEXT)) == [("Ana", "PATIENT")]
    assert "deid/ner" in again("").spans
