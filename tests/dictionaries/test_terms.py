import json

import pytest

from spacy_deid.dictionaries.terms import check_terms, function_words, is_too_general, read_list
from spacy_deid.errors import ConfigError
from spacy_deid.labels import LABELS

CANARY = "Zósimo Quebrantado"


def write(tmp_path, content, name="staff.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_error(path, label=None):
    with pytest.raises(ConfigError) as caught:
        list(read_list(path, label))
    message = str(caught.value)
    assert str(path) in message
    assert "Quebrantado" not in message
    assert caught.value.__cause__ is None
    return message


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_is_read_with_any_newline_and_byte_order_mark(tmp_path, newline, mark):
    path = write(tmp_path, mark + newline.join(["term,label", "Ana Ruíz,CLINICIAN", "", '"Gil, Eva",PATIENT', ""]))
    assert list(read_list(path)) == [("ana ruiz", "CLINICIAN", "staff"), ("gil, eva", "PATIENT", "staff")]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_jsonl_is_read_with_byte_order_mark(tmp_path, mark):
    rows = [{"term": "Ana Ruíz", "label": "CLINICIAN"}, {"term": "Eva\u2028Gil", "rule": "kin"}]
    text = mark + "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path = write(tmp_path, text, "staff.jsonl")
    assert list(read_list(path, "PERSON")) == [("ana ruiz", "CLINICIAN", "staff"), ("eva gil", "PERSON", "kin")]


def test_rows_may_name_their_rule_and_leave_their_label_to_the_setting(tmp_path):
    path = write(tmp_path, "rule,term,label\nkin,Eva Gil,\n,Ana Ruiz,CLINICIAN\n")
    assert list(read_list(path, "PERSON")) == [("eva gil", "PERSON", "kin"), ("ana ruiz", "CLINICIAN", "staff")]


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (f"{CANARY},PERSON\n", 1),
        ("", 1),
        ("term,label\n", 1),
        ("term,label,note\nAna Ruiz,PERSON,x\n", 1),
        ("term,term\nAna Ruiz,PERSON\n", 1),
        (f"term,label\nAna Ruiz,PERSON\n{CANARY}\n", 3),
        (f"term,label\nAna Ruiz,PERSON\n{CANARY}, Eva,PERSON\n", 3),
        (f'term,label\nAna Ruiz,PERSON\n"{CANARY},PERSON\n', 3),
        (b"term,label\nAna Ruiz,PERSON\nZ\xf3simo Quebrantado,PERSON\n", 3),
        (f"term,label\n{'Quebrantado' * 50},PERSON\n", 2),
        (f"term,label,rule\n{CANARY},PERSON,{CANARY}\n", 2),
    ],
)
def test_a_broken_csv_row_is_named_by_file_and_row(tmp_path, content, row):
    assert f"row {row}:" in read_error(write(tmp_path, content))


@pytest.mark.parametrize(
    "line",
    [
        b'{"term": "Quebrantado"',
        b'["Quebrantado"]',
        b'{"label": "PERSON"}',
        b'{"term": 1}',
        b'{"term": null}',
        b'{"term": "Quebrantado", "label": 3}',
        b'{"term": "Quebrantado", "lable": "PERSON"}',
        b'{"term": "Quebrantado \\ud800", "label": "PERSON"}',
        b'{"term": "Quebrantado \xff"}',
    ],
)
def test_a_broken_jsonl_row_is_named_by_file_and_row(tmp_path, line):
    content = b'{"term": "Ana Ruiz", "label": "PERSON"}\n\n' + line
    assert "row 3:" in read_error(write(tmp_path, content, "staff.jsonl"), "PERSON")


@pytest.mark.parametrize("label", ["NAME", "person", "Quebrantado"])
def test_an_unknown_label_lists_those_that_exist_and_is_not_quoted(tmp_path, label):
    message = read_error(write(tmp_path, f"term,label\nAna Ruiz,{label}\n"))
    assert "row 2: unknown label" in message
    assert all(name in message for name in LABELS)


def test_a_row_without_any_label_says_where_to_give_one(tmp_path):
    assert "row 2: no label" in read_error(write(tmp_path, f"term\n{CANARY}\n"))


@pytest.mark.parametrize("name", ["staff.txt", "staff"])
def test_a_list_of_another_kind_is_refused(tmp_path, name):
    assert ".csv or .jsonl" in read_error(write(tmp_path, "term,label\n", name))


def test_a_missing_list_is_refused(tmp_path):
    assert "file not found" in read_error(tmp_path / "staff.csv")


@pytest.mark.parametrize(
    "term",
    [
        "",
        " ",
        "…",
        "-",
        "a",
        "Ñ",
        "7",
        "A.",
        "J. M.",
        "de",
        "DE",
        "de la",
        "la-de",
        "the",
        "and",
        "ja",
        "él",
        "ei",
        "\u0301",
    ],
)
def test_a_term_that_would_match_everywhere_is_refused_with_its_row(tmp_path, term):
    message = read_error(write(tmp_path, f'term,label\nAna Ruiz,PERSON\n"{term}",PERSON\n'))
    assert "row(s) 3 " in message


@pytest.mark.parametrize("term", ["Ana", "De la Fuente", "O'Brien", "12", "H12", "Ñu", "El Sol", "Li"])
def test_a_term_with_a_word_of_its_own_is_taken(term):
    assert [entry.term for entry in check_terms([term], "PERSON", "x")]


def test_all_general_terms_are_named_at_once(tmp_path):
    rows = "\n".join(["Ana Ruiz,PERSON", "de,PERSON"] * 30)
    message = read_error(write(tmp_path, f"term,label\n{rows}\n"))
    assert "row(s) 3, 5, 7," in message
    assert "and 10 more" in message


def test_terms_with_two_labels_are_refused_with_all_their_rows(tmp_path):
    rows = [
        f"{CANARY},PATIENT",
        "Ana Ruiz,CLINICIAN",
        "zosimo  quebrantado,CLINICIAN",
        f"{CANARY},PATIENT",
        "ana ruíz,",
    ]
    message = read_error(write(tmp_path, "\n".join(["term,label", *rows])), label="CITY")
    assert "the terms of row(s) 4, 6 have a different label in an earlier row" in message


def test_a_term_may_stand_twice_with_one_label(tmp_path):
    path = write(tmp_path, "term,label,rule\nEva Gil,PATIENT,kin\nEVA GIL,PATIENT,staff\n")
    assert [entry.rule for entry in read_list(path)] == ["kin", "staff"]


def test_a_list_may_have_the_name_of_one_of_its_terms(tmp_path):
    assert [entry.term for entry in read_list(write(tmp_path, "term,label\nStaff,OTHER\n"))] == ["staff"]


def test_terms_from_memory_are_named_by_place():
    with pytest.raises(ConfigError, match=r"term list kin: the terms of row\(s\) 2 "):
        list(check_terms(["Ana Ruiz", "de"], "PERSON", "kin"))


def test_function_words_of_three_languages_ship():
    assert {"de", "la", "el", "the", "and", "ja", "mas", "etta"} - function_words() == {"etta"} - function_words()
    assert not is_too_general("ella")
