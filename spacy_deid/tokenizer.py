"""Makes a tokenizer for clinical notes: every punctuation mark is a token, and digits are separated from letters.

Notes join words ("Madrid.CP:28035", "53años", "GarcíaNºCol:28"), and a span can only start and end at token
boundaries. Finer tokens give exact offsets at the cost of speed. The tokenizer is spaCy's `Tokenizer` with other
expressions, so its cache, its serialization and the guarantee that the tokens add up to the text are unchanged.
"""

from collections.abc import Callable

from spacy.lang.char_classes import ALPHA_LOWER, ALPHA_UPPER
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex, registry

_COMBINING = "\u0300-\u036f"
_MARK = rf"(?:[^\w\s{_COMBINING}]|_)"
_LETTER = rf"[^\W\d_]|[{_COMBINING}]"
# The position after a mark is an infix too, because spaCy ignores an infix at the start of a token. Prefixes and
# suffixes would work as well, but are split off one by one: the time for a line of dots would grow quadratically.
_INFIXES = [
    _MARK,
    rf"(?<={_MARK})(?!\s)",
    r"\s",
    rf"(?<={_LETTER})(?=\d)",
    r"(?<=\d)(?=[^\W\d_])",
    rf"(?<=[{ALPHA_LOWER}{_COMBINING}])(?=[{ALPHA_UPPER}])",
]


@registry.tokenizers("spacy_deid.ClinicalTokenizer.v1")
def make_clinical_tokenizer() -> Callable[[Language], Tokenizer]:
    """Make a tokenizer that splits at every punctuation mark and between letters and digits, in any language.

    RETURNS (Callable[[Language], Tokenizer]): makes the tokenizer for the vocab of a pipeline.
    """

    def create(nlp: Language) -> Tokenizer:
        return Tokenizer(
            nlp.vocab,
            infix_finditer=compile_infix_regex(_INFIXES).finditer,
        )

    return create
