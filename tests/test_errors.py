"""The catalogue of messages."""

import re
from collections import Counter
from importlib.resources import files

from spacy_deid.errors import Errors, Warnings


def test_no_message_has_the_number_of_another():
    source = (files("spacy_deid") / "errors.py").read_text(encoding="utf8")
    numbers = Counter(re.findall(r"^    (DW?\d+) =", source, re.MULTILINE))
    assert [number for number, times in numbers.items() if times > 1] == []
    assert len(numbers) == sum(name.startswith("D") for name in (*vars(Errors), *vars(Warnings)))
