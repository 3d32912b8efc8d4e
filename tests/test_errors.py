"""The catalogue of messages."""

import re
from collections import Counter
from importlib.resources import files

import pytest

from spacy_deid.errors import ConfigError, Errors, Warnings, classify_error


def test_no_message_has_the_number_of_another():
    source = (files("spacy_deid") / "errors.py").read_text(encoding="utf8")
    numbers = Counter(re.findall(r"^    (DW?\d+) =", source, re.MULTILINE))
    assert [number for number, times in numbers.items() if times > 1] == []
    assert len(numbers) == sum(name.startswith("D") for name in (*vars(Errors), *vars(Warnings)))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConfigError("a"), "known"),
        (OSError(2, "no such file"), "known"),
        (OSError("a"), "unexpected"),
        (KeyError("a"), "unexpected"),
        (MemoryError(), "memory"),
    ],
    ids=repr,
)
def test_errors_are_classified_without_their_message(error, kind):
    assert classify_error(error) == kind
