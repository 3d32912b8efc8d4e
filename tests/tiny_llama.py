"""A language model of the architecture of Llama, made in no time: random weights, a real GGUF file.

It knows one token a byte, so it can write any text. It understands nothing; what the tests need of it is that
llama.cpp loads it, applies its chat template, samples under a grammar and ends.
"""

from pathlib import Path

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT = 64, 2, 4, 128, 8192
FIRST_BYTE = 3  # after <unk>, <s> and </s>
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<' + message['role'] + '>' + message['content'] + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def vocabulary() -> tuple[list[bytes], list[float], list[int]]:
    """Tokens, scores and types. llama.cpp reads scores that are whole numbers as damage: all are floats."""
    kinds = gguf.TokenType
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256)), "▁".encode()]
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256, kinds.NORMAL]
    return tokens, [0.0] * len(tokens), [int(kind) for kind in types]


def write_tiny_llama(path: Path, *, seed: int = 0) -> Path:
    """Write a model.

    path (Path): the file.
    seed (int): of its weights.
    RETURNS (Path): the file.
    """
    writer = gguf.GGUFWriter(str(path), "llama")
    tokens, scores, types = vocabulary()
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    for name, shape in shapes(len(tokens)).items():
        writer.add_tensor(name, weights(name, shape, np.random.default_rng([seed, len(name), *name.encode()])))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def shapes(size: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a Llama."""
    layer = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, WIDTH),
        "attn_v": (WIDTH, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (HIDDEN, WIDTH),
        "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN),
    }
    blocks = {f"blk.{i}.{name}.weight": shape for i in range(LAYERS) for name, shape in layer.items()}
    ends = {"token_embd.weight": (size, WIDTH), "output_norm.weight": (WIDTH,), "output.weight": (size, WIDTH)}
    return ends | blocks


def weights(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Ones for norms, noise for the rest. The first number of a state is always high, which makes what closes a string
    or a list likelier: random answers would go on for ever.
    """
    if len(shape) == 1:
        return np.ones(shape, dtype=np.float32)
    values = random.normal(0, 0.3, shape).astype(np.float32)
    if name.startswith("token_embd"):
        values[:, 0] = 3.0
    if name.startswith("output"):
        values[:, 0] = 0.0
        values[[FIRST_BYTE + byte for byte in b'"]}'], 0] = 2.0
    return values
