"""The matcher: keywords, edges, context, and what it costs on a text made to be slow."""

import pickle
from itertools import pairwise

import pytest
from conftest import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.patterns import Context, Rule, RuleMatcher, resource_rules
from spacy_deid.patterns.normalization import normalize_text

ALL = [rule for lang in ("common", "es", "en", "fi") for rule in resource_rules(lang)]
MATCHER = RuleMatcher(ALL)


def found(text: str, **rule: object) -> list[str]:
    """What a rule for digits, changed by the arguments, finds."""
    matcher = RuleMatcher([Rule(**{"id": "t/t", "label": "MRN", "pattern": r"\d+", **rule})])
    return [text[match.start : match.end] for match in matcher.find(text)]


def test_a_matcher_goes_to_another_process() -> None:
    text = "puh. 040 123 4567"
    assert MATCHER.find(text)
    assert pickle.loads(pickle.dumps(MATCHER)).find(text) == MATCHER.find(text)


def test_no_rules_find_nothing() -> None:
    assert RuleMatcher([]).find("NHC: 12345") == []


def test_word_edges_keep_out_of_words_and_numbers() -> None:
    assert found("a12 12b 12 1_2") == ["12"]


def test_digit_edges_cut_words_but_not_numbers() -> None:
    assert found("a12b", edges="digit") == ["12"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nhc 12", ["12"]),
        ("NHC 12", ["12"]),
        ("PratNhc 12", ["12"]),
        ("xnhc 12", []),
        ("nhcx 12", []),
        ("(nhc 12", ["12"]),
        ("ñhc 12", []),
    ],
)
def test_keywords_stand_free(text: str, expected: list[str]) -> None:
    assert found(text, after=["NHC"], pattern=r" (?P<phi>\d+)") == expected


def test_keywords_are_found_without_their_accents() -> None:
    assert found("HISTORIA CLINICA 12", after=["historia clínica"], pattern=r" (?P<phi>\d+)") == ["12"]


def test_starts_with_takes_the_keyword_in() -> None:
    assert found("el mayo 2004", starts_with=["mayo"], pattern=r" \d+") == ["mayo 2004"]


def test_stems_may_go_on() -> None:
    rule = {"starts_with": ["maanantai"], "stem": True, "pattern": "(?:na)?"}
    assert found("maanantaina maanantaitaulu", **rule) == ["maanantaina"]


def test_compounds_have_letters_before_the_keyword() -> None:
    rule = {"starts_with": ["asentaja"], "compound": True, "stem": True, "pattern": r"(?:na|lle)?(?!\w)"}
    text = "Sähköasentaja, kone-asentajana, asentajalle, 3asentaja, asentajakoulu"
    assert found(text, **rule) == ["Sähköasentaja", "kone-asentajana", "asentajalle", "asentaja"]


def test_a_keyword_of_a_compound_may_precede_the_identifier() -> None:
    rule = {"after": ["nro"], "compound": True, "pattern": r"[ ](?P<phi>\d+)"}
    assert found("näytenro 12, nro 13, nrot 14", **rule) == ["12", "13"]


def test_a_keyword_within_a_word_counts_only_for_compounds() -> None:
    assert found("sähköasentaja", starts_with=["asentaja"], stem=True, pattern="") == []


def test_capital_keywords_need_their_capital() -> None:
    assert found("granada Granada", starts_with=["Granada"], capital=True, pattern="") == ["Granada"]


def test_begins_tries_numbers_and_capitals_only() -> None:
    assert found("a1 B2 3c", begins="capital", pattern=r"\w+") == ["B2"]
    assert found("a1 B2 3c", begins="code", pattern=r"\w+") == ["B2", "3c"]


def test_rules_that_are_tried_together_match_as_they_do_alone() -> None:
    plain = {"label": "MRN", "begins": "code"}
    rules = [
        Rule(id="t/named", pattern=r"(?P<phi>[A-Z]{2}\d{2})x", **plain),
        Rule(id="t/case", pattern=r"[a-z]{3}9", flags="i", **plain),
        Rule(id="t/same", pattern=r"(\d)\1-\1", **plain),
        Rule(id="t/needs", pattern=r"\d{5}", needs=["zip"], **plain),
    ]
    text = "AB12x Abc9 77-7 78-7 12345 ab12x abc9 Zeta"
    assert [found(text, **{**rule.to_dict(), "id": "t/t"}) for rule in rules] == [["AB12"], ["Abc9"], ["77-7"], []]
    assert [match.rule for match in RuleMatcher(rules).find(text)] == ["t/named", "t/case", "t/same"]
    assert [match.rule for match in RuleMatcher(rules).find(f"{text} zip")][3:] == ["t/needs"]


def test_context_must_stand_near() -> None:
    context = Context(before=["plate"], after=["plate"], within=8)
    assert found("plate 1 and then quite far 2 plate 3", context=context) == ["1", "2", "3"]
    assert found("plate is what comes long before 1", context=context) == []


def test_not_context_must_not_stand_near() -> None:
    assert found("dose 1 then much later on 2", not_context=Context(before=["dose"], within=6)) == ["2"]


def test_needs_spare_the_scan() -> None:
    assert found("12", needs=["@"]) == []
    assert found("12 @", needs=["@"]) == ["12"]


def test_a_group_named_like_a_label_gives_that_label() -> None:
    rule = Rule("t/t", "ZIP", pattern=r"(?P<zip>\d{5}) (?P<city>\w+)")
    assert [match.label for match in RuleMatcher([rule]).find("28046 Madrid")] == ["ZIP", "CITY"]


def test_the_longer_match_stands_for_the_one_inside_it() -> None:
    rules = [Rule("t/year", "DATE", pattern=r"\d{4}"), Rule("t/full", "MRN", pattern=r"\d+ \d+")]
    assert [match.rule for match in RuleMatcher(rules).find("12 2004")] == ["t/full"]


def test_a_keyword_goes_before_a_bare_form() -> None:
    rules = [Rule("t/bare", "PHONE", pattern=r"\d+"), Rule("t/key", "FAX", pattern=r" (?P<phi>\d+)", after=["fax"])]
    assert [match.rule for match in RuleMatcher(rules).find("fax 12345")] == ["t/key"]


@pytest.mark.parametrize(
    ("text", "validated"),
    [("NIF 20481736Y", ["20481736Y"]), ("DNI es 20481736Y", ["20481736Y"]), ("NIF 20481736A", [])],
    ids=["the same characters as a keyword's", "inside a keyword's", "a wrong letter"],
)
def test_a_right_check_digit_is_said_whichever_rule_stays(text: str, validated: list[str]) -> None:
    matches = MATCHER.find(text)
    assert [text[match.start : match.end] for match in matches if match.validated] == validated
    assert {match.label for match in matches} == {"NATIONAL_ID"}


@pytest.mark.parametrize("text", ["", " ", "\n\r\n\t", "\u0301", "\ufeff"])
def test_texts_without_a_word_hold_nothing(text: str) -> None:
    assert MATCHER.find(text) == []


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"aZ0 9./-:@\n\r\u0301\ufeff\u00a0", "Dr. Ana", "NHC: 12", "calle", "3 de mayo", "DNI es 20481736Y"]
        )
    )
)
def test_matches_lie_in_the_text_and_hold_one_another_only_for_a_check_digit(pieces: list[str]) -> None:
    text = "".join(pieces)
    matches = MATCHER.find(text)
    spans = [(match.start, match.end) for match in matches]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    for sure in (True, False):
        ends = [match.end for match in matches if match.validated == sure]
        assert all(a < b for a, b in pairwise(ends))
    assert all(normalize_text(text[start:end]).text for start, end in spans)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("length", [50_000, slow(200_000)])
@pytest.mark.parametrize("piece", ["1", " ", "a", "A", "1 ", "1.", "12-", "Aa ", "Dr ", "a.", "e\u0301", "\n"])
def test_a_long_monotonous_text_does_not_take_quadratic_time(piece: str, length: int) -> None:
    MATCHER.find(piece * (length // len(piece)))  # seconds if time is linear, many minutes if it is quadratic


def test_a_rule_that_refers_to_its_groups_is_tried_with_others() -> None:
    """Two rules whose groups have one name, and references to them, find what each finds alone."""
    rules = [
        Rule("x/dashed", "MRN", r"\d{2}(?P<gap>[ -])\d{2}(?P=gap)\d{2}", begins="digit"),
        Rule("x/dotted", "ACCOUNT", r"\d{3}(?P<gap>[./])?\d{3}(?(gap)(?P=gap)|-)\d{3}", begins="digit"),
    ]
    text = "12-34-56, 12-34 56, 123.456.789, 123.456/789, 123456-789."
    found = [(text[m.start : m.end], m.label) for m in RuleMatcher(rules).find(text)]
    assert found == [("12-34-56", "MRN"), ("123.456.789", "ACCOUNT"), ("123456-789", "ACCOUNT")]
