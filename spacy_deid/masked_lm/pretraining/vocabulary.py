"""The vocabulary of a masked language model: WordPiece over words, marks and line breaks.

Case and accents stay, they tell names. The line break is a piece of its own: in a clinical note the line says more of
a word than the sentence does.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import Errors, InputError

__all__ = ["SPECIAL", "load_vocabulary", "save_vocabulary", "train_vocabulary"]

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_LETTERS = "".join(chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0x180)))  # always known, whatever is read


def train_vocabulary(texts: Iterable[str], size: int) -> Any:
    """Learn word pieces from texts.

    texts (Iterable[str]): texts, with their line breaks.
    size (int): number of pieces, those for single characters and the special ones counted in.
    RETURNS (tokenizers.Tokenizer): the tokenizer; a text is put between ``[CLS]`` and ``[SEP]``.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"], max_input_chars_per_word=60))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"[^\S\n]+"), "removed"),
            pre_tokenizers.Split(Regex(r"\n"), "isolated"),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.Split(Regex(r"\d+"), "isolated"),  # 53años: a number, then a word
        ]
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=[*_LETTERS, "\n"],
        limit_alphabet=len(_LETTERS) + 100,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    edges = [(name, tokenizer.token_to_id(name)) for name in (SPECIAL["cls"], SPECIAL["sep"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{SPECIAL['cls']} $A {SPECIAL['sep']}", special_tokens=edges
    )
    return tokenizer


def save_vocabulary(tokenizer: Any, folder: Path, max_length: int) -> None:
    """Write a tokenizer as transformers' AutoTokenizer and `MaskedLM` loaders read it.

    tokenizer (tokenizers.Tokenizer): the tokenizer.
    folder (Path): folder of the model.
    max_length (int): pieces that the model reads at once, the special ones counted in.
    """
    import srsly

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{role}_token": piece for role, piece in SPECIAL.items()}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **named}
    srsly.write_json(folder / "tokenizer_config.json", settings)


def load_vocabulary(folder: Path) -> Any:
    """Read the tokenizer of a folder.

    folder (Path): folder with a ``tokenizer.json``.
    RETURNS (tokenizers.Tokenizer): the tokenizer.
    RAISES: InputError if there is none (D800).
    """
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise InputError(Errors.D800.format(path=folder, file=path.name))
    return Tokenizer.from_file(str(path))
