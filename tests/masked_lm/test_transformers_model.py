"""Masked language models of transformers, one for each kind of tokenizer, made here with random weights."""

import numpy as np
import pytest
import spacy

from spacy_deid.errors import ConfigError
from spacy_deid.masked_lm.model import load_masked_lm

pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.transformer,
    # warnings of the libraries under test's feet, not of ours
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

TEXTS = ["Juan Pérez García, varón de 54 años, acude por dolor.", "Potilas Juha Heikkilä.\nJuhan vaimo soitti."] * 20
NOTE = "Juan Pérez (54 años)\nDNI: 12345678Z  Jose\u0301 😀 ulkomaalainen"


def word_piece(trainers, models, pre_tokenizers):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return tokenizer, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special), special


def byte_level(trainers, models, pre_tokenizers):
    from tokenizers import Tokenizer, decoders

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    return tokenizer, trainer, special


def sentence_piece(trainers, models, pre_tokenizers):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    return tokenizer, trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>"), special


def save_model(folder, kind, *, mask=True):
    """A random model with a trained tokenizer."""
    from tokenizers import models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    tokenizer, trainer, (pad, unknown, begin, end, masked) = kind(trainers, models, pre_tokenizers)
    trainer.show_progress = False
    tokenizer.train_from_iterator(TEXTS, trainer)
    edges = [(piece, tokenizer.token_to_id(piece)) for piece in (begin, end)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}", special_tokens=edges)
    named = {"pad_token": pad, "unk_token": unknown, "cls_token": begin, "sep_token": end}
    named |= {"mask_token": masked} if mask else {}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **named).save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    size |= {"vocab_size": tokenizer.get_vocab_size(), "pad_token_id": 0}
    if kind is word_piece:
        BertForMaskedLM(BertConfig(max_position_embeddings=32, **size)).save_pretrained(folder)
    else:
        RobertaForMaskedLM(RobertaConfig(max_position_embeddings=34, type_vocab_size=1, **size)).save_pretrained(
            folder
        )
    return folder


@pytest.fixture(params=[word_piece, byte_level, sentence_piece], ids=lambda kind: kind.__name__)
def folder(request, tmp_path):
    return save_model(tmp_path / "model", request.param)


def test_every_kind_of_tokenizer_scores_every_word(folder):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    settings = {"model": str(folder), "mode": "exact"}
    nlp.add_pipe("deid_surprisal", config=settings)
    found = nlp(NOTE).user_data["deid/surprisal"]
    words = [NOTE[start:end] for start, end in zip(found["starts"], found["ends"], strict=True)]
    assert {"Juan", "Pérez", "54", "años", "12345678", "Jose\u0301", "ulkomaalainen"} <= set(words)
    assert all(value > 0 for value in found["values"])
    assert found["unaligned"] == found["features"]["aligned"].count(0.0)
    again = nlp("\n".join([NOTE] * 12)).user_data["deid/surprisal"]  # longer than a window
    assert len(again["values"]) == 12 * len(words)


def test_log_probs_are_those_of_the_whole_model(folder):
    import torch
    from transformers import AutoModelForMaskedLM

    model = load_masked_lm(folder)
    ids = np.array([[2, 7, 8, 4, 3], [2, 4, 9, 3, 0]])
    attention, places = (ids != 0).astype(np.int64), np.array([3, 6])
    with torch.no_grad():
        whole = AutoModelForMaskedLM.from_pretrained(folder)(
            input_ids=torch.tensor(ids), attention_mask=torch.tensor(attention)
        ).logits.log_softmax(-1)
    found = model.log_probs(ids, attention, places)
    assert found == pytest.approx(whole.flatten(0, 1)[places].numpy(), abs=1e-5)
    assert np.exp(found).sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    assert model.length == 32


def test_a_model_without_a_mask_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no mask"):
        load_masked_lm(save_model(tmp_path / "model", word_piece, mask=False))


def test_a_slow_tokenizer_is_refused(tmp_path):
    import json

    folder = save_model(tmp_path / "model", word_piece)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CanineTokenizer"}))
    (folder / "special_tokens_map.json").unlink()
    with pytest.raises(ConfigError, match=r"offsets|damaged, or not a masked"):
        load_masked_lm(folder)


def test_nothing_is_fetched_unless_it_is_allowed(monkeypatch):
    import socket

    def no_network(*args, **kwargs):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "socket", no_network)
    with pytest.raises(ConfigError, match="folder not found"):
        load_masked_lm("bert-base-cased")


def test_a_folder_that_holds_no_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="damaged, or not a masked language model"):
        load_masked_lm(tmp_path)


def test_int8_orders_words_as_float_does(folder):
    ids = np.array([[2, 7, 8, 4, 3]])
    attention, places = np.ones_like(ids), np.array([3])
    exact, fast = (
        load_masked_lm(folder, precision=kind).log_probs(ids, attention, places) for kind in ("float", "int8")
    )
    assert np.abs(exact - fast).max() < 0.2
