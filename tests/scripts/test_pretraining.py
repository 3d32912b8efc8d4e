"""Pre-training: what is masked, and that a training that was stopped goes on as it would have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.lm_data import (
    SPECIAL,
    batch_of_step,
    encode_texts,
    load_vocabulary,
    mask_words,
    save_vocabulary,
    train_vocabulary,
)
from spacy_deid.errors import ConfigError, InputError

TEXTS = [f"Paciente: Ana Pérez {n}\nvarón de 54años, acude por dolor abdominal. Ana vuelve.\n" for n in range(60)]


@pytest.fixture(scope="module")
def tokenizer():
    return train_vocabulary(TEXTS, 500)


@pytest.fixture(scope="module")
def special(tokenizer):
    return {role: tokenizer.token_to_id(piece) for role, piece in SPECIAL.items()}


def test_line_breaks_numbers_and_marks_are_pieces_of_their_own(tokenizer):
    pieces = tokenizer.encode("varón de 54años,\nAna", add_special_tokens=False).tokens
    assert pieces.index("\n") == pieces.index(",") + 1
    assert "54" in "".join(pieces).replace("##", "")
    assert not any("54a" in piece for piece in pieces)


def test_offsets_are_those_of_the_text_when_accents_are_decomposed(tokenizer):
    text = "Pe\u0301rez acude"
    encoding = tokenizer.encode(text, add_special_tokens=False)
    assert encoding.offsets[0][0] == 0
    assert max(end for _, end in encoding.offsets) == len(text)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        load_vocabulary(tmp_path)


def test_the_batch_of_a_step_is_always_the_same(tokenizer, special):
    pieces = encode_texts(tokenizer, TEXTS)
    one, other = (batch_of_step(pieces, 7, size=4, length=32, seed=1, special=special) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (one.ids.reshape(-1)[one.places] == special["mask"]).all()
    assert (one.ids == special["mask"]).sum() == len(one.places)


WORDS = st.lists(st.tuples(st.integers(10, 14), st.integers(1, 4)), min_size=1, max_size=40)


@given(WORDS, st.integers(0, 2**31))
def test_masks_cover_words_from_a_piece_to_their_end(words, seed):
    ids = np.array([word * 10 + piece for word, size in words for piece in range(size)], dtype=np.int32)
    owner = np.array([number for number, (_, size) in enumerate(words) for _ in range(size)], dtype=np.int32)
    masked, asked = mask_words(ids, owner, 4, np.random.default_rng(seed))
    assert len(asked) > 0
    hidden = np.zeros(len(ids), dtype=bool)
    hidden[asked] = True
    assert ((masked == 4) == hidden).all()
    assert (masked[~hidden] == ids[~hidden]).all()
    for number in range(len(words)):
        inside = hidden[owner == number]
        assert (np.diff(inside.astype(int)) >= 0).all()  # once a piece is masked, so are those behind it


@pytest.mark.transformer
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_a_training_that_was_stopped_goes_on_as_it_would_have(tokenizer, special, tmp_path):
    pytest.importorskip("transformers")
    from scripts.pretrain import Plan, train_model

    pieces = encode_texts(tokenizer, TEXTS)
    plan = Plan(hidden=32, layers=2, heads=2, length=32, batch=4, steps=12)
    size = tokenizer.get_vocab_size()
    whole = train_model(pieces, special, size, plan, tmp_path / "whole", every=6)

    def stop(step, loss):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_model(pieces, special, size, plan, tmp_path / "stopped", every=6, report=stop)
    resumed = train_model(pieces, special, size, plan, tmp_path / "stopped", every=6)
    for one, other in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert (one == other).all()
    with pytest.raises(ConfigError, match="other settings"):
        train_model(pieces, special, size, Plan(hidden=32, layers=1, heads=2), tmp_path / "stopped")


@pytest.mark.transformer
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_an_exported_model_says_what_the_trained_one_says(tokenizer, special, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")

    from scripts.pretrain import Plan, asked_scores, build_model
    from scripts.ship_lm import export_model
    from spacy_deid.masked_lm.model import load_masked_lm

    model = build_model(tokenizer.get_vocab_size(), special, Plan(hidden=128, layers=2, heads=2, length=48)).eval()
    save_vocabulary(tokenizer, tmp_path / "trained", 48)
    export_model(model, tmp_path / "trained" / "tokenizer.json", tmp_path / "exported", "tiny")
    ids = np.random.default_rng(0).integers(5, tokenizer.get_vocab_size(), (3, 40))
    attention = np.ones_like(ids)
    attention[1, 20:] = 0
    places = np.array([3, 45, 99])
    with torch.no_grad():
        given = (torch.from_numpy(part) for part in (ids, attention, places))
        wanted = asked_scores(model, *given).log_softmax(-1).numpy()
    for precision in ("float", "int8"):
        exported = load_masked_lm(tmp_path / "exported", precision=precision)
        found = exported.log_probs(ids, attention, places)
        assert exported.length == 48
        assert np.abs(found - wanted).max() < 0.05  # weights are rounded to 8 bits
