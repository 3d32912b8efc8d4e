"""Windows of word pieces: every character of every note is seen, or the note is refused. Needs the extra."""

import base64
import io
import logging
import random
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.util import fix_random_seed, load_config, load_model_from_config

import spacy_deid
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.evaluation import read_folder, write_docbin
from spacy_deid.ml.transformer import align_pieces
from spacy_deid.saving import fingerprint, save
from spacy_deid.workers import choose_start

pytest.importorskip("spacy_transformers")
pytestmark = [
    pytest.mark.transformer,
    # warnings of the libraries under test's feet, not of ours
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

ROOT = Path(__file__).parents[2]
TEXT = "Nombre: Ana. Acude por dolor. "
_RANDOM = random.Random(0)
BLOB = base64.b64encode(_RANDOM.randbytes(3750)).decode()
DENSE = " ".join(f"{_RANDOM.getrandbits(100)}" for _ in range(120))
HOSTILE = {
    "base64 of 5,000 characters": BLOB,
    "1,000 digits": "".join(_RANDOM.choices("0123456789", k=1000)),
    "120 numbers of thirty digits": DENSE,
    "one letter 3,000 times": "a" * 3000,
    "marks": "-+/" * 700,
    "emoji": "👩‍⚕️😀🇪🇸" * 150,
    "Chinese": "患者姓名" * 300,
    "letters with many marks": "e\u0301\u0302\u0303" * 300,
    "zero width and controls": "a\u200b\u00ad\u0007 " * 300,
    "a long note": TEXT * 120,
}
ENCODERS = ("bert", "roberta", "xlm-roberta")


def make_bert(folder):
    """A BERT of random weights; its words are cut to letters, so that a window fills up quickly."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789:.,-+/="
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{char}" for char in letters)]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf8")
    # of no length that it knows, as many on the hub
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)


def make_xlm_roberta(folder):
    """An XLM-R of random weights: pieces of a unigram model that carry the blank before a word."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    characters = sorted(set("abcdefghijklmnopqrstuvwxyzADNV0123456789:.,-+/="))
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [(piece, 0.0) for piece in special] + [("▁", -2.0), ("▁por", -3.0), *((c, -4.0) for c in characters)]
    inner = Tokenizer(models.Unigram(pieces, unk_id=3))
    inner.normalizer = normalizers.NFKC()
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    inner.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    )
    inner.save(str(folder / "tokenizer.json"))
    (folder / "sentencepiece.bpe.model").write_bytes(b"of the slow tokenizer; carried along, not read")
    XLMRobertaTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), vocab_file=str(folder / "sentencepiece.bpe.model")
    ).save_pretrained(folder)
    config = XLMRobertaConfig(
        vocab_size=len(pieces) + 1,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=66,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)


def make_roberta(folder):
    """A RoBERTa of random weights, trained on no text: a word piece a byte."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    bpe = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator([TEXT], vocab_size=300, special_tokens=special, show_progress=False)
    bpe.save_model(str(folder))
    RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=bpe.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=66,
        pad_token_id=1,
    )
    RobertaModel(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """name → folder."""
    folders = {}
    for name, make in zip(ENCODERS, (make_bert, make_roberta, make_xlm_roberta), strict=True):
        fix_random_seed(0)
        folders[name] = tmp_path_factory.mktemp(name)
        make(folders[name])
    return folders


def build(encoder, window=64, stride=40, model=None, **settings):
    """A pipeline over an encoder, with our windows unless another model is given."""
    windowed = {
        "@architectures": "spacy_deid.WindowedTransformer.v1",
        "name": str(encoder),
        "window": window,
        "stride": stride,
        "batch_pieces": 500,
        **settings,
    }
    listener = {"@architectures": "spacy_deid.CheckedListener.v1", "pooling": {"@layers": "reduce_mean.v1"}}
    scorer = {"@architectures": "spacy_deid.TagScorer.v1", "dropout": 0.0, "tok2vec": listener}
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("transformer", config={"model": model or windowed})
    nlp.add_pipe("deid_ner", config={"model": scorer})
    return nlp


def gold(nlp):
    reference = nlp.make_doc(TEXT)
    reference.ents = [reference.char_span(8, 11, label="PATIENT")]
    return Example(nlp.make_doc(TEXT), reference)


def train(nlp, steps=30):
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: [gold(nlp)])
    optimizer.learn_rate = 0.005
    for _ in range(steps):
        nlp.update([gold(nlp)], sgd=optimizer)
    return nlp


@pytest.fixture(scope="module")
def trained(encoders):
    """encoder → a pipeline that has learned one sentence."""
    return {name: train(build(folder)) for name, folder in encoders.items()}


@pytest.fixture(scope="module")
def token_windows(encoders):
    """The windows of spacy-transformers: 128 tokens, whatever they hold."""
    model = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": str(encoders["bert"]),
        "tokenizer_config": {"use_fast": True, "model_max_length": 64},
        "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 128, "stride": 96},
    }
    return train(build(encoders["bert"], model=model))


def found(doc):
    return [(span.text, span.label_) for span in doc.spans["deid/ner"]]


def unseen(doc):
    """Characters, blanks apart, that no word piece of the encoder stands for."""
    seen = np.zeros(len(doc.text), dtype=bool)
    lengths = doc._.trf_data.align.lengths
    for token in doc:
        if lengths[token.i]:
            seen[token.idx : token.idx + len(token)] = True
    return {char for char, hit in zip(doc.text, seen, strict=True) if not hit and not char.isspace()}


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_every_token_of_a_hostile_note_is_seen(trained, encoder, text):
    doc = trained[encoder](f"{text} {TEXT}")
    assert len(doc) > 5
    assert unseen(doc) <= set("\u200b\u00ad\u0007\ufe0f\u200d\u0301\u0302\u0303")
    assert max(doc._.trf_data.wordpieces.lengths) <= 64


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("text", [BLOB, DENSE, "-" * 900], ids=["base64", "numbers", "line"])
def test_the_windows_hold_each_piece_of_a_note(trained, encoder, text):
    nlp = trained[encoder]
    tokenizer = nlp.get_pipe("transformer").model.tokenizer
    special = tokenizer.num_special_tokens_to_add()
    whole = tokenizer(text, add_special_tokens=False)["input_ids"]
    rows = nlp(text)._.trf_data.wordpieces
    windows = [ids[1 : length - 1].tolist() for ids, length in zip(rows.input_ids, rows.lengths, strict=True)]
    assert len(windows) > 1 or len(whole) <= 62
    overlap = 64 - special - 40
    assert windows[0] + [piece for window in windows[1:] for piece in window[overlap:]] == whole


@pytest.mark.parametrize("text", [DENSE, HOSTILE["marks"], TEXT * 200], ids=["numbers", "marks", "long"])
def test_a_name_behind_anything_is_still_found(trained, text):
    assert found(trained["bert"](TEXT)) == [("Ana", "PATIENT")]
    assert ("Ana", "PATIENT") in found(trained["bert"](f"{text}\n\n{TEXT}"))


def test_the_stock_windows_drop_pieces_and_the_listener_refuses(token_windows):
    assert found(token_windows(TEXT)) == [("Ana", "PATIENT")]
    with pytest.raises(NotDeidentified, match="no word pieces") as refusal:
        token_windows(f"{DENSE} {TEXT}")
    assert DENSE[:10] not in str(refusal.value)
    assert "Ana" not in str(refusal.value)


def test_a_transformer_that_did_not_run_is_refused(trained):
    nlp = trained["bert"]
    with nlp.select_pipes(disable="transformer"), pytest.raises(NotDeidentified, match="no transformer ran"):
        nlp(TEXT)
    assert found(nlp(TEXT)) == [("Ana", "PATIENT")]


def test_it_is_refused_after_the_disk_too(trained, tmp_path):
    save(trained["bert"], tmp_path / "saved")
    nlp = spacy_deid.load(tmp_path / "saved", exclude=["transformer"])
    with pytest.raises(NotDeidentified, match="no transformer ran"):
        nlp(TEXT)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b"], ids=["empty", "blank", "lines", "zero width"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_note_of_nothing_has_an_empty_group(trained, encoder, text):
    assert found(trained[encoder](text)) == []


@pytest.mark.slow
def test_a_note_of_a_megabyte_is_read_to_its_end(trained):
    note = TEXT * (999_000 // len(TEXT)) + "\n\n" + TEXT
    doc = trained["bert"](note)
    assert unseen(doc) == set()
    assert doc.spans["deid/ner"][-1].start_char > 990_000


def test_empty_notes_in_a_batch_keep_their_place(trained):
    texts = ["", TEXT, "\n", DENSE, "", TEXT * 3]
    docs = list(trained["bert"].pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert [len(found(doc)) for doc in docs][:3] == [0, 1, 0]


def test_notes_are_read_alike_alone_and_in_a_batch(trained):
    texts = [TEXT, DENSE, TEXT * 30, HOSTILE["emoji"]]
    for encoder in ENCODERS:
        nlp = trained[encoder]
        for doc, text in zip(nlp.pipe(texts), texts, strict=True):
            assert found(doc) == found(nlp(text))


def test_the_vectors_do_not_depend_on_how_many_windows_go_at_once(encoders):
    wide, narrow = (train(build(encoders["bert"])) for _ in range(2))
    narrow.get_pipe("transformer").model._func = wide.get_pipe("transformer").model._func
    one = wide(TEXT * 30)._.trf_data.model_output.last_hidden_state
    two = narrow(TEXT * 30)._.trf_data.model_output.last_hidden_state
    assert len(one) > 7
    np.testing.assert_allclose(one, two, atol=1e-5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(
        st.one_of(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Z", "M"]), st.sampled_from("a1 \n")),
        min_size=1,
        max_size=200,
    )
)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_piece_belongs_to_the_tokens_that_it_shares_characters_with(trained, encoder, text):
    nlp = trained[encoder]
    tokenizer = nlp.get_pipe("transformer").model.tokenizer
    doc = nlp.make_doc(text)
    offsets = np.asarray(tokenizer(text, return_offsets_mapping=True)["offset_mapping"])[None]
    pieces, lengths = align_pieces(doc, offsets)
    ends = np.cumsum(lengths)
    for token in doc:
        own = pieces[ends[token.i] - lengths[token.i] : ends[token.i]].tolist()
        shared = [
            number
            for number, (start, end) in enumerate(offsets[0].tolist())
            if start < end and start < token.idx + len(token) and token.idx < end
        ]
        assert own == shared


def test_a_saved_pipeline_holds_its_encoder_and_no_note(trained, tmp_path, monkeypatch):
    nlp = trained["roberta"]
    before = fingerprint(nlp)
    assert found(nlp("Nombre: Zoraida. " + TEXT))
    assert fingerprint(nlp) == before
    save(nlp, tmp_path / "saved")
    for path in (tmp_path / "saved").rglob("*"):
        assert path.is_dir() or b"Zoraida" not in path.read_bytes()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(socket, "socket", None)  # no network at all
    again = spacy_deid.load(tmp_path / "saved")
    assert again.get_pipe("transformer").model.tokenizer.model_max_length == 64
    for text in (TEXT, DENSE + TEXT):
        assert found(again(text)) == found(nlp(text))


def test_two_loads_of_a_pipeline_are_told_to_be_the_same(trained, tmp_path):
    save(trained["roberta"], tmp_path / "saved")
    one, two = (fingerprint(spacy_deid.load(tmp_path / "saved")) for _ in range(2))
    assert one == two


def test_vectors_that_are_no_numbers_are_refused(encoders):
    import torch

    nlp = train(build(encoders["bert"]), steps=1)
    with torch.no_grad():
        next(nlp.get_pipe("transformer").model.transformer.parameters()).fill_(float("nan"))
    with pytest.raises(NotDeidentified, match="NaN or infinite"):
        nlp(TEXT)


@pytest.fixture
def two_threads():
    """Torch with a pool of threads that has run, which a forked process does not have."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.ones(1000, 1000).exp().sum()
    yield
    torch.set_num_threads(before)


def test_other_processes_find_the_same(trained, two_threads):
    texts = [TEXT, DENSE + TEXT, "", TEXT * 9]
    nlp = trained["bert"]
    alone = [found(doc) for doc in nlp.pipe(texts)]
    assert [found(doc) for doc in nlp.pipe(texts, n_process=2)] == alone


def test_spawned_workers_release_the_same(encoders, two_threads):
    nlp = train(build(encoders["bert"]))
    nlp.add_pipe("deid_merge", config={"sources": ["deid/ner"]})
    nlp.add_pipe("deid_surrogate")
    texts = [TEXT, DENSE + TEXT, "", TEXT * 9]
    assert choose_start(nlp) == "spawn"
    released = [result.text for result in spacy_deid.Deidentifier(nlp).pipe(texts, n_process=2)]
    assert released == [doc._.deid_text for doc in nlp.pipe(texts)]
    assert "Ana" not in released[0]


def test_the_encoder_itself_need_not_be_there_any_more(encoders, tmp_path):
    make_bert(tmp_path)
    nlp = train(build(tmp_path), steps=2)
    data = nlp.to_bytes()
    for path in tmp_path.iterdir():
        path.unlink()
    again = build(tmp_path).from_bytes(data)
    assert len(again(DENSE)._.trf_data.wordpieces) > 5


def test_a_config_overrules_the_windows_that_were_saved(trained, tmp_path):
    save(trained["bert"], tmp_path / "saved")
    few = len(spacy_deid.load(tmp_path / "saved")(DENSE)._.trf_data.wordpieces)
    changed = {"components.transformer.model.stride": 20}
    assert len(spacy_deid.load(tmp_path / "saved", config=changed)(DENSE)._.trf_data.wordpieces) > few


def test_the_length_that_an_encoder_takes_is_found(trained):
    # RoBERTa keeps two of its 66 positions for padding
    lengths = {name: nlp.get_pipe("transformer").model.tokenizer.model_max_length for name, nlp in trained.items()}
    assert lengths == dict.fromkeys(ENCODERS, 64)


@pytest.mark.parametrize(
    ("window", "stride", "message"),
    [(65, 40, "at most 64"), (64, 0, "stride"), (64, 63, "stride"), (2, 1, "stride")],
)
def test_windows_that_would_lose_pieces_are_refused(encoders, window, stride, message):
    nlp = build(encoders["bert"], window, stride)
    with pytest.raises(ConfigError, match=message):
        nlp.initialize(lambda: [gold(nlp)])


def test_a_cased_encoder_that_does_not_say_so_is_told(encoders, tmp_path):
    folder = shutil.copytree(encoders["bert"], tmp_path / "cased")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    pieces = []
    for told in ({}, {"do_lower_case": False}):
        nlp = train(build(folder, tokenizer_config=told), steps=1)
        save(nlp, tmp_path / "saved")
        pieces.append(spacy_deid.load(tmp_path / "saved")("Ana.")._.trf_data.wordpieces.strings[0])
    assert pieces == [["[CLS]", "a", "##n", "##a", ".", "[SEP]"], ["[CLS]", "[UNK]", ".", "[SEP]"]]


def test_an_encoder_of_a_tokenizer_json_alone_is_saved_whole(encoders, tmp_path):
    folder = shutil.copytree(encoders["bert"], tmp_path / "no_vocabulary")
    (folder / "vocab.txt").unlink()
    nlp = train(build(folder), steps=1)
    save(nlp, tmp_path / "saved")
    again = spacy_deid.load(tmp_path / "saved")
    assert again(TEXT)._.trf_data.wordpieces.strings == nlp(TEXT)._.trf_data.wordpieces.strings


def test_a_name_that_is_no_encoder_is_named(tmp_path):
    nlp = build(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="nothing"):
        nlp.initialize(lambda: [gold(nlp)])


@pytest.mark.parametrize(("lang", "parts"), [("es", 7), ("en", 6)])
def test_the_configs_make_a_whole_pipeline(encoders, tmp_path, monkeypatch, lang, parts):
    monkeypatch.chdir(ROOT)
    corpus = tmp_path / "sample.spacy"
    write_docbin(
        read_folder(Path("corpus/sample/dev"), scheme="meddocan")[:2], corpus, build(encoders["bert"]).make_doc
    )
    small = {"encoder": str(encoders["bert"]), "window": 64, "stride": 40, "max_steps": 2, "warmup_steps": 1}
    overrides = {f"vars.{name}": value for name, value in {**small, "eval_frequency": 2, "batch_words": 200}.items()}
    overrides |= {"paths.train": str(corpus), "paths.dev": str(corpus), "nlp.lang": lang}
    nlp = init_nlp(load_config("configs/ner_trf.cfg", overrides=overrides))
    (tmp_path / "ner").mkdir()
    train_nlp(nlp, tmp_path / "ner", stdout=io.StringIO(), stderr=io.StringIO())
    assembled = load_config(f"configs/{lang}_trf.cfg", overrides={"paths.ner": str(tmp_path / "ner" / "model-best")})
    save(load_model_from_config(assembled, auto_fill=True), tmp_path / "whole")
    again = spacy_deid.load(tmp_path / "whole")
    doc = again(DENSE)
    assert len(again.pipe_names) == parts
    assert doc._.trf_data is None
    assert doc._.deid_text is not None


def test_no_word_of_a_note_is_logged(trained, caplog):
    with caplog.at_level(logging.DEBUG):
        trained["bert"](f"{BLOB} Zoraida {DENSE}")
    assert "Zoraida" not in caplog.text
    assert BLOB[:8] not in caplog.text
