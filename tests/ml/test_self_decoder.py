"""The self-decoding model, around an encoder that is made here with random weights. Needs the extra."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import spacy

from scripts.self_decoder import CHECKPOINT, losses_of, make_batches, train_model
from spacy_deid.errors import ConfigError
from spacy_deid.ml.self_decoder import Plan, SelfDecoder, build_model, load_encoder
from spacy_deid.surrogates.keys import ProjectKey

pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.transformer,
    # warnings of the libraries under test's feet, not of ours
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

GIVEN, FAMILY = ("Ana", "Luis", "Marta", "Iker"), ("Zumalabe", "Ruiz", "Toledo")
NAMES = [f"{given} {family}" for given in GIVEN for family in FAMILY]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with a random encoder and a tokenizer of letters and a few syllables."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    letters = sorted({letter for name in NAMES for letter in name if letter != " "})
    syllables = ["An", "Lu", "Mar", "Zu", "Ru", "Tole", "##na", "##is", "##ta", "##ma", "##iz", "##do", "Nerea", "Gil"]
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *syllables, "-"]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **named).save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    import torch

    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=32, **size)).save_pretrained(folder)
    return folder


def plan_of(encoder, **changes):
    return Plan(
        **{"encoder": str(encoder), "inner": 32, "epochs": 50, "batch": 6, "rate": 5e-3, "dropout": 0.0, **changes}
    )


@pytest.fixture(scope="module")
def trained(encoder, tmp_path_factory):
    """A model that has learned a dozen names."""
    plan, seen = plan_of(encoder), []
    model, tokenizer = train_model(
        NAMES, plan, tmp_path_factory.mktemp("training"), every=10, report=lambda *row: seen.append(row)
    )
    return SelfDecoder(model, tokenizer, plan), seen


def test_the_decoder_has_the_layers_and_heads_of_the_paper(encoder):
    from torch import nn

    model = build_model(load_encoder(str(encoder))[0], Plan(str(encoder)))
    layers = model["decoder"].layers
    assert (len(layers), layers[0].self_attn.num_heads) == (6, 8)
    assert not any(isinstance(part, nn.TransformerDecoderLayer) for part in model.modules())
    assert tuple(model["matrix"].weight.shape) == (32, 32)
    assert model["head"].out_features == model["encoder"].config.vocab_size


def test_training_says_the_names_again_and_holds_the_cosine(trained):
    decoder, seen = trained
    assert decoder.decode(NAMES, bypass=True) == NAMES
    assert seen[-1][2] < seen[0][2]
    assert seen[-1][3] == pytest.approx(decoder.plan.similarity, abs=0.05)


def test_each_loss_moves_what_the_paper_says(encoder):
    plan = plan_of(encoder)
    encoded, tokenizer = load_encoder(plan.encoder)
    model = build_model(encoded, plan)
    batch = tokenizer(NAMES, padding=True, return_tensors="pt")
    losses_of(model, batch, plan).cross_entropy.backward()
    assert model["matrix"].weight.grad is None  # self-decoding leaves the matrix out
    assert model["head"].weight.grad.abs().sum() > 0
    model.zero_grad()
    losses_of(model, batch, plan).cosine_loss.backward()
    assert model["matrix"].weight.grad.abs().sum() > 0
    assert model["head"].weight.grad is None
    assert all(p.grad is None for p in model["encoder"].parameters())


def test_the_encoder_learns_if_it_is_asked_to(encoder, tmp_path):
    before = load_encoder(str(encoder))[0].state_dict()
    for learns in (False, True):
        plan = plan_of(encoder, epochs=1, train_encoder=learns)
        model, _ = train_model(NAMES, plan, tmp_path / str(learns))
        after = model["encoder"].state_dict()
        assert any(not np.array_equal(before[name], after[name]) for name in before) is learns


def test_a_stopped_training_goes_on_as_it_would_have(encoder, tmp_path):
    plan = plan_of(encoder, epochs=3, dropout=0.1)

    class Stop(Exception):
        pass

    def stop(step, *rest):
        if step == 3:
            raise Stop

    whole, _ = train_model(NAMES, plan, tmp_path / "whole")
    with pytest.raises(Stop):
        train_model(NAMES, plan, tmp_path / "stopped", every=3, report=stop)
    resumed, _ = train_model(NAMES, plan, tmp_path / "stopped")
    for name, values in whole.state_dict().items():
        assert np.allclose(values, resumed.state_dict()[name], atol=1e-6), name


def test_a_checkpoint_of_another_plan_is_refused(encoder, tmp_path):
    train_model(NAMES, plan_of(encoder, epochs=1), tmp_path)
    assert (tmp_path / CHECKPOINT).is_file()
    with pytest.raises(ConfigError, match="other settings"):
        train_model(NAMES, plan_of(encoder, epochs=2), tmp_path)


def test_no_names_and_heads_that_do_not_fit_are_refused(encoder, tmp_path):
    with pytest.raises(ConfigError, match="no names"):
        train_model([], plan_of(encoder), tmp_path)
    with pytest.raises(ConfigError, match="7 heads"):
        train_model(NAMES, plan_of(encoder, heads=7), tmp_path)


def test_batches_have_every_name_once_and_the_same_ones_again():
    plan = Plan("any", batch=4)
    lengths = [3, 9, 4, 4, 8, 3, 5, 9, 7]
    batches = make_batches(lengths, plan, 0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(np.array_equal(a, b) for a, b in zip(batches, make_batches(lengths, plan, 0), strict=True))
    assert max(map(len, batches)) == 4


def test_a_saved_model_says_the_same(trained, tmp_path):
    decoder, _ = trained
    decoder.to_disk(tmp_path)
    for again in (SelfDecoder.from_disk(tmp_path), pickle.loads(pickle.dumps(decoder))):
        assert again.decode(NAMES) == decoder.decode(NAMES)
        assert again.propose(NAMES) == decoder.propose(NAMES)
    saved = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert saved
    assert b"Zumalabe" not in saved
    assert str(tmp_path.parent).encode() not in saved


def test_proposals_are_pieces_of_the_same_kind_and_never_the_original(trained):
    decoder, _ = trained
    words = decoder.propose(["Mar Gil-Ruiz"], count=4)[0]
    assert [(start, end) for start, end, _ in words] == [(0, 3), (4, 7), (8, 12)]
    for (first, *rest), original in zip((places for *_, places in words), ("Mar", "Gil", "Ru"), strict=True):
        assert 0 < len(first) <= 4
        assert all(piece.isalpha() and piece[0].isupper() and piece != original for piece, _ in first)
        assert all(piece.isalpha() for place in rest for piece, _ in place)
        assert sum(p for _, p in first) == pytest.approx(1, abs=0.01)


def test_unknown_pieces_and_what_is_beyond_the_length_are_not_proposed(trained):
    decoder, _ = trained
    assert decoder.propose(["Ωmega", "", "7"]) == [[], [], []]
    long = " ".join(["Ruiz"] * 12)
    assert 0 < len(decoder.propose([long])[0]) < 12
    assert decoder.decode([""]) == [""]


def test_embeddings_have_a_row_for_each_piece(trained):
    decoder, _ = trained
    assert decoder.embed("Ana Ruiz").shape == (4, 32)  # An ##a Ru ##iz


def test_the_strategy_replaces_names_in_a_pipeline(trained, tmp_path):
    trained[0].to_disk(tmp_path)
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_ruler").add_terms(["Ana Zumalabe", "Zumalabe"], "PATIENT")
    nlp.add_pipe("deid_merge")
    chosen = {"@deid_strategies": "spacy_deid.self_decoded_strategy.v1", "model": str(tmp_path), "lang": "es"}
    style = {"@deid_styles": "spacy_deid.surrogate_style.v1", "labels": {"PATIENT": chosen}}
    nlp.add_pipe("deid_surrogate", config={"style": style}).set_key(ProjectKey(bytes(range(32))))
    doc = nlp("Ana Zumalabe acude. Zumalabe refiere dolor.")
    text = doc._.deid_text
    assert "Zumalabe" not in text
    assert "Ana" not in text
    assert "acude" in text
    assert text == nlp("Ana Zumalabe acude. Zumalabe refiere dolor.")._.deid_text


def test_a_folder_without_a_model_is_refused(tmp_path, trained):
    with pytest.raises(ConfigError, match="contains no self-decoding model"):
        SelfDecoder.from_disk(tmp_path)
    trained[0].to_disk(tmp_path)
    (tmp_path / "model.pt").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match="damaged"):
        SelfDecoder.from_disk(tmp_path)


def test_nothing_is_fetched_unless_it_is_allowed():
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder("bert-base-cased")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("layer = 6", "unknown setting 'layer'"),
        ("layers = 0", "out of range"),
        ("similarity = 2.0", "out of range"),
        ('epochs = "3"', "'epochs'"),
        ("batch = true", "'batch'"),
    ],
)
def test_a_config_that_makes_no_model_is_refused(tmp_path, line, message):
    path = tmp_path / "model.cfg"
    path.write_text(f'[self_decoder]\nencoder = "any"\n{line}\n')
    with pytest.raises(ConfigError, match=message):
        Plan.from_config(path)


def test_a_config_may_be_overridden_and_a_missing_one_is_refused(tmp_path):
    path = tmp_path / "model.cfg"
    path.write_text('[self_decoder]\nencoder = "any"\nrate = 1\n')
    assert Plan.from_config(path, epochs=7) == replace(Plan("any", epochs=7), rate=1)
    assert json.dumps(Plan.from_config(path).to_dict())
    for wrong in (tmp_path / "none.cfg", tmp_path):
        with pytest.raises(ConfigError, match="cannot be trained"):
            Plan.from_config(wrong)
