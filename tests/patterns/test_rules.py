"""Rules files: what they may hold, and the error that names file and rule when they are wrong."""

from pathlib import Path

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.patterns import Context, Rule, check_examples, parse_example, read_rules, resource_rules
from spacy_deid.patterns.rules import parse_rules

GOOD = """
name = "ward"
[define]
bed = '[A-D]{gap}\\d{1,2}'
[[rules]]
id = "bed"
label = "ROOM"
after = ["bed place"]
pattern = '{colon}(?P<phi>{bed})'
not_context = { after = ["cm"], within = 5 }
examples = ["Bed place: [[B 12]]."]
counter_examples = ["bed place empty", "bed place: B 12 cm"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "ward.toml"
    path.write_text(text, encoding="utf8")
    return path


def test_a_file_becomes_rules(tmp_path: Path) -> None:
    (rule,) = read_rules(write(tmp_path, GOOD))
    assert (rule.id, rule.label, rule.after, rule.score) == ("ward/bed", "ROOM", ["bed place"], 1.0)
    assert rule.not_context == Context(after=["cm"], within=5)
    check_examples([rule], "ward.toml")


def test_rules_survive_plain_values(tmp_path: Path) -> None:
    (rule,) = read_rules(write(tmp_path, GOOD))
    assert Rule.from_dict(rule.to_dict()) == rule


def test_examples_mark_what_must_be_found() -> None:
    assert parse_example("a [[bc]] d [[e]]") == ("a bc d e", [(2, 4), (7, 8)])


def rule(body: str) -> str:
    return f'name = "ward"\n[[rules]]\nid = "bed"\n{body}\n'


BROKEN = [
    ("D101", 'name = "ward'),
    ("D109", "name = 3\nrules = []"),
    ("D109", 'name = "ward"'),
    ("D109", 'name = "ward"\nrules = []\nrule = []'),
    ("D109", 'name = "ward"\nrules = []\n[define]\nx = 3'),
    ("D102", rule('pattern = "a"')),
    ("D102", rule('label = "ROOM"')),
    ("D102", rule('label = "ROOM"\npattern = 3')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nregex = "b"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nafter = "bed"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nafter = [""]')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nafter = ["b"]\nstarts_with = ["c"]')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nflags = "x"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nedges = "line"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nbegins = "letter"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\ncapital = "yes"')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nscore = 2')),
    ("D102", rule('label = "ROOM"\npattern = "a"\nscore = true')),
    ("D102", rule('label = "ROOM"\npattern = "a"\ncontext = ["b"]')),
    ("D102", rule('label = "ROOM"\npattern = "a"\ncontext = { before = "b" }')),
    ("D102", rule('label = "ROOM"\npattern = "a"\ncontext = { before = ["b"], within = 0 }')),
    ("D102", rule('label = "ROOM"\npattern = "{nonesuch}"')),
    ("D102", rule('label = "ROOM"\npattern = "(?P<part>a)"')),
    ("D103", rule('label = "ROOM"\npattern = "a("')),
    ("D104", rule('label = "BED"\npattern = "a"')),
    ("D105", rule('label = "ROOM"\npattern = "a"\nvalidator = "mod12"')),
    ("D106", rule('label = "ROOM"\npattern = "a*"')),
    ("D106", rule('label = "ROOM"\npattern = "|a"')),
]
TEXTS = {
    "D101": "invalid TOML",
    "D102": "rule 'bed'",
    "D103": "rule 'bed': invalid regular expression",
    "D104": "rule 'bed': unknown label 'BED'",
    "D105": "rule 'bed': unknown validator 'mod12'",
    "D106": "rule 'bed': the pattern matches the empty string",
    "D109": "ward.toml",
}


@pytest.mark.parametrize(("code", "text"), BROKEN)
def test_a_broken_file_is_refused_by_file_and_rule(tmp_path: Path, code: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_rules(write(tmp_path, text))
    assert "ward.toml" in str(error.value)
    assert TEXTS[code] in str(error.value)


def test_a_rule_that_stands_twice_is_refused(tmp_path: Path) -> None:
    twice = GOOD + GOOD[GOOD.index("[[rules]]") :]
    with pytest.raises(ConfigError, match=r"ward\.toml: rule 'ward/bed' is defined twice"):
        read_rules(write(tmp_path, twice))


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "gone.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read"):
        read_rules(path)


def test_an_unknown_language_names_those_known() -> None:
    with pytest.raises(ConfigError, match=r"'xx'.*en.*es.*fi"):
        resource_rules("xx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[[B 12]].", "[[B]] 12."), r"rule 'ward/bed': example 1 failed"),
        (('"Bed place: [[B 12]]."', '"no brackets"'), r"rule 'ward/bed': example 1 failed"),
        (("bed place empty", "bed place: B 12"), r"rule 'ward/bed': counter-example 1 failed"),
    ],
)
def test_an_example_that_does_not_hold_is_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ConfigError, match=message) as error:
        check_examples(read_rules(path), str(path))
    assert "place" not in str(error.value)


def test_a_fragment_may_be_a_list_that_ships():
    text = """name = "ward"
[define]
job = { list = "professions-es" }
[[rules]]
id = "job"
label = "PROFESSION"
pattern = '{job}'
examples = ["de [[minero]]"]
counter_examples = ["mineral"]
"""
    rules = parse_rules(text, "ward.toml")
    check_examples(rules, "ward.toml")
    with pytest.raises(ConfigError, match="professions-es"):
        parse_rules(text.replace("professions-es", "../../secret"), "ward.toml")
