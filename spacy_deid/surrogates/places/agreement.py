"""Find the places of a note that belong to one address, so that town, region, postal code and country agree.

In "45300 Ocaña (Toledo)" the code and the region tell which Ocaña is meant; in "Perpiñán, Francia" the country tells
that a town that is on no list is abroad. A *chain* is a sequence of such places with nothing but punctuation and words
of addresses ("provincia de", "CP:") between them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ...lang import all_languages
from ...lang.places import word_set
from ...lang.text import fold
from ..mention import Mention

CHAINED = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER", "ZIP", "STREET"})
"""Labels of the mentions that an address consists of."""

_SPLIT = re.compile(r"\s*[,;/()\n]+\s*|\s+-\s+|(?<=\d{3})\s+(?=[^\W\d_]{3})|(?<=[^\W\d_]{3})\s+(?=\d{4})")
_LETTER_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"[.!?]\s+")
_MOST_BETWEEN = 34  # characters between two places of a chain
_RECOGNIZED = 20  # first characters of a mention by which it is found behind another one

# Digits of the postal codes of countries (Universal Postal Union, addressing systems); others are not compared.
_CODE_DIGITS = {
    4: "AT AU BE BG CH CY DK GE HU LU LV MD MK NL NO NZ PH PY SI TN VE ZA AF AL AM AR BD",
    5: "BA CU DE DO DZ EE EG ES FI FR GR GT HN HR ID IQ IR IT KR LT MA ME MX MY NI NP PE PK RS SE SN TH TR UA US UY",
    6: "BY CN CO EC IN KZ RO RU SG VN",
    7: "CL IL JP PT",
    8: "BR",
}


class Piece(NamedTuple):
    """A part of a chain: a town, region, country or postal code, as written, and the label of its mention."""

    text: str
    label: str

    def __repr__(self) -> str:
        """Show only label and length, because the text is part of a note."""
        return f"Piece(label={self.label!r}, length={len(self.text)})"


def find_chains(mentions: Sequence[Mention]) -> Iterator[list[Piece]]:
    """Find the chains of a note.

    mentions (Sequence[Mention]): mentions with their context, in the order of the text.
    RETURNS (Iterator[list[Piece]]): the pieces of each chain in order, also of chains with one mention. Streets are
        left out.
    """
    chain: list[Piece] = []
    for mention, following in zip(mentions, [*mentions, None][1:], strict=True):
        if mention.label in CHAINED:
            if mention.label != "STREET":
                chain += [Piece(text, mention.label) for text in _SPLIT.split(mention.text) if text.strip()]
            if following is not None and following.label in CHAINED and _continues(mention, following):
                continue
        if chain:
            yield chain
        chain = []


def _continues(mention: Mention, following: Mention) -> bool:
    """Whether the next mention belongs to the address of a mention, judged by the text between them."""
    at = mention.after.find(following.text[:_RECOGNIZED])
    between = mention.after[: max(0, at)]
    if at < 0 or len(between) > _MOST_BETWEEN:
        return False
    words = _LETTER_WORD.findall(fold(between))
    if not _address_words().issuperset(words) or ";" in between:
        return False
    if mention.label == "COUNTRY" and following.label != "ZIP":
        return False  # a country is the end of an address
    return bool(words) or following.label == "ZIP" or not _SENTENCE_END.search(between)


@cache
def _address_words() -> frozenset[str]:
    """Return the words that can stand between the parts of an address, in all languages."""
    tables = (language.read_toml("places.toml") for language in all_languages("places.toml"))
    return frozenset().union(*(word_set(table, "address_words") for table in tables))


@cache
def code_digits() -> Mapping[str, int]:
    """Return a dict: ISO 3166-1 code of a country → number of digits of its postal codes."""
    return {country: digits for digits, countries in _CODE_DIGITS.items() for country in countries.split()}
