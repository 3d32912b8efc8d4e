"""Train a very small Llama that copies names and dates from the notes of corpus/sample/make.py, and save it as GGUF.

    python -m benchmarks.copying_llama --output model.gguf --minutes 20

It only learns the twelve templates of these notes and the names on their lists. It shows that a trained model works
with llama.cpp, its grammar, and grounding, and says nothing about the quality of language models. Needs torch,
sentencepiece and gguf. The prompt is benchmarks/copying_llama.toml; parts of notes have at most 120 characters.
"""

import io
import json
import time
from pathlib import Path
from random import Random
from typing import Annotated, Any

import gguf
import numpy as np
import sentencepiece
import torch
import typer
from torch import nn
from torch.nn import functional

from corpus.sample import make
from spacy_deid.labels import from_scheme
from spacy_deid.llm.extraction import split_text
from spacy_deid.llm.prompts import load_prompt

PROMPT = load_prompt(str(Path(__file__).with_suffix(".toml")), "es")
LABELS = list(PROMPT.labels)
TEMPLATE = "{{ bos_token }}{{ messages[-1]['content'] }}\n>"
CHUNK, OVERLAP = 120, 30
WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT, VOCABULARY = 96, 2, 4, 192, 1024, 1200
EPSILON, BASE = 1e-5, 10000.0


def main(
    output: Annotated[Path, typer.Option(help="GGUF file of the model.")],
    minutes: Annotated[float, typer.Option(help="Duration of the training in minutes.")] = 20,
    notes: Annotated[int, typer.Option(help="Number of notes to train on.")] = 3000,
    batch: Annotated[int, typer.Option(help="Parts per batch.")] = 16,
    seed: Annotated[int, typer.Option(help="Seed; must differ from that of the sample corpus.")] = 7,
) -> None:
    """Generate notes, train, and write the model."""
    torch.manual_seed(seed)
    pairs = examples(Random(seed), notes)
    pieces = vocabulary(pairs)
    rows = [encode(pieces, question, answer) for question, answer in pairs]
    typer.echo(f"{len(rows)} parts, longest {max(len(ids) for ids, _ in rows)} pieces")
    model = Llama(pieces.vocab_size())
    train(model, rows, minutes, batch, seed)
    write(output, model, pieces)


def examples(random: Random, notes: int) -> list[tuple[str, str]]:
    """Yield questions and answers about parts of new notes."""
    pairs = []
    for i in range(notes):
        text, spans = make.fill(make.TEMPLATES[i % len(make.TEMPLATES)], make.values(random))
        named = [(start, end, from_scheme(label, "meddocan")) for start, end, label in spans]
        for first, last in split_text(text, CHUNK, OVERLAP):
            inside = [(text[a:b], label) for a, b, label in named if first <= a and b <= last]
            answer = {label: list(dict.fromkeys(s for s, each in inside if each == label)) for label in LABELS}
            question = PROMPT.messages(text[first:last], LABELS)[-1]["content"] + "\n>"
            pairs.append((question, json.dumps(answer, ensure_ascii=False)))
    return pairs


def vocabulary(pairs: list[tuple[str, str]]) -> sentencepiece.SentencePieceProcessor:
    """Train the vocabulary, with byte pieces."""
    file = io.BytesIO()
    lines = (line for pair in pairs[:4000] for part in pair for line in part.splitlines() if line.strip(" >"))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_writer=file,
        model_type="bpe",
        vocab_size=VOCABULARY,
        byte_fallback=True,
        split_digits=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())


def encode(pieces: Any, question: str, answer: str) -> tuple[list[int], int]:
    """Return the piece ids of question and answer, and the number of those of the question."""
    asked, both = pieces.encode(question), pieces.encode(question + answer)
    assert both[: len(asked)] == asked
    return [pieces.bos_id(), *both, pieces.eos_id()], len(asked) + 1


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Apply rotary position embeddings to adjacent pairs, as llama.cpp does for this architecture."""
    length, size = x.shape[-2:]
    angles = torch.outer(torch.arange(length), BASE ** (-torch.arange(0, size, 2) / size))
    turned = torch.view_as_complex(x.reshape(*x.shape[:-1], size // 2, 2)) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).flatten(-2)


class Block(nn.Module):
    """Attention and a gated feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attn_norm, self.ffn_norm = nn.RMSNorm(WIDTH, EPSILON), nn.RMSNorm(WIDTH, EPSILON)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))
        self.ffn_gate, self.ffn_up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.ffn_down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer."""
        h = self.attn_norm(x)
        q, k, v = (
            part(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (self.attn_q, self.attn_k, self.attn_v)
        )
        mixed = functional.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        x = x + self.attn_output(mixed.transpose(1, 2).flatten(-2))
        h = self.ffn_norm(x)
        return x + self.ffn_down(functional.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Llama(nn.Module):
    """The architecture, with parameter names of GGUF."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.token_embd = nn.Embedding(size, WIDTH)
        self.blk = nn.ModuleList(Block() for _ in range(LAYERS))
        self.output_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.output = nn.Linear(WIDTH, size, bias=False)
        nn.init.normal_(self.token_embd.weight, std=0.5)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Compute the scores of the next piece."""
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x)
        return self.output(self.output_norm(x))


def train(model: Llama, rows: list[tuple[list[int], int]], minutes: float, batch: int, seed: int) -> None:
    """Train on answers for a limited time."""
    random, start, step = Random(seed), time.monotonic(), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    while (spent := (time.monotonic() - start) / 60 / minutes) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, (step + 1) / 100, 1.02 - spent)
        chosen = random.sample(rows, batch)
        longest = max(len(ids) for ids, _ in chosen)
        ids = torch.zeros(batch, longest, dtype=torch.long)
        wanted = torch.full((batch, longest), -100)
        for i, (row, asked) in enumerate(chosen):
            ids[i, : len(row)] = torch.tensor(row)
            wanted[i, asked : len(row)] = ids[i, asked : len(row)]
        loss = functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), wanted[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            typer.echo(f"{step} steps, {spent:.0%} of the time, loss {loss.item():.3f}")
        step += 1


def write(path: Path, model: Llama, pieces: Any) -> None:
    """Write the GGUF file."""
    size, kinds = pieces.vocab_size(), gguf.TokenType
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("copying-llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([pieces.id_to_piece(i).encode() for i in range(size)])
    writer.add_token_scores([float(pieces.get_score(i)) for i in range(size)])
    special = {pieces.unk_id(): kinds.UNKNOWN, pieces.bos_id(): kinds.CONTROL, pieces.eos_id(): kinds.CONTROL}
    writer.add_token_types(
        [int(special.get(i, kinds.BYTE if pieces.is_byte(i) else kinds.NORMAL)) for i in range(size)]
    )
    writer.add_unk_token_id(pieces.unk_id())
    writer.add_bos_token_id(pieces.bos_id())
    writer.add_eos_token_id(pieces.eos_id())
    writer.add_chat_template(TEMPLATE)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(name, tensor.numpy().astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    typer.run(main)
