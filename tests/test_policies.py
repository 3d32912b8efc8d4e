"""Release policies: what ships, what a hospital writes itself, and what is refused."""

from datetime import date

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.labels import LABELS
from spacy_deid.policies import Policy, load_policy, shipped_policies

OWN = 'name = "our_board"\ndefault = "tag"\n[labels]\nSEX = "keep"\nAGE = "generalize"\n'


@pytest.fixture
def write(tmp_path):
    def write_policy(text):
        path = tmp_path / "board.toml"
        path.write_text(text, encoding="utf8")
        return str(path)

    return write_policy


def test_three_policies_ship():
    assert shipped_policies() == ["limited_data_set", "safe_harbor", "strict"]


@pytest.mark.parametrize("name", ["limited_data_set", "safe_harbor", "strict"])
def test_a_shipped_policy_bears_its_name(name):
    assert load_policy(name).name == name


@pytest.mark.parametrize("label", LABELS)
def test_strict_replaces_everything_except_words_of_sex_and_kinship(label):
    assert load_policy("strict").action(label) == ("keep" if label in {"SEX", "KINSHIP"} else "replace")


@pytest.mark.parametrize("label", [label for label in LABELS.values() if label.hipaa], ids=lambda label: label.name)
def test_safe_harbor_keeps_no_identifier_that_hipaa_lists(label):
    expected = "generalize" if label.hipaa == "C" else "replace"
    assert load_policy("safe_harbor").action(label.name) == expected


def test_a_limited_data_set_keeps_dates_and_places_without_the_street():
    policy = load_policy("limited_data_set")
    kept = {label for label in LABELS if policy.action(label) == "keep"}
    assert {"DATE", "AGE", "CITY", "STATE", "ZIP"} <= kept
    assert not {"STREET", "PATIENT", "PHONE", "MRN", "LOCATION_OTHER"} & kept


def test_a_hospital_writes_its_own(write):
    policy = load_policy(write(OWN))
    assert policy.name == "our_board"
    assert [policy.action(label) for label in ("SEX", "AGE", "PATIENT")] == ["keep", "generalize", "tag"]


def test_a_policy_without_a_name_bears_that_of_its_file(write):
    assert load_policy(write('default = "replace"\n')).name == "board"


def test_ages_are_counted_from_the_year_of_the_run_unless_the_policy_names_one(write):
    assert Policy("code").year == date.today().year
    assert load_policy("safe_harbor").year == date.today().year
    assert load_policy(write('default = "replace"\nreference_year = 2012\n')).year == 2012


def test_a_policy_says_how_sure_a_name_that_is_kept_must_be(write):
    assert Policy("code").sure == load_policy("strict").sure == 0.9
    assert load_policy(write('default = "replace"\nsure = 1\n')).sure == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[labels]\nSEX = "keep"', "'default' must be one of replace, tag, generalize, keep"),
        ('default = "drop"', "'default' must be one of"),
        ('default = "replace"\n[labels]\nSEX = "hide"', "'SEX' must be one of"),
        ('default = "replace"\n[labels]\nSEX = ["keep"]', "'SEX' must be one of"),
        ('default = "replace"\n[labels]\nNAME = "keep"', "unknown label 'NAME' .known: PATIENT"),
        ('default = "replace"\nlabels = "keep"', "'labels' must be a table"),
        ('default = "replace"\nlabel = "x"', "unknown key 'label' .known: .*'labels'"),
        ('default = "replace"\nreference_year = "2012"', "'reference_year' must be a whole number"),
        ('default = "replace"\nreference_year = true', "'reference_year' must be a whole number"),
        ('default = "replace"\nreference_year = -1', "'reference_year' must be a whole number"),
        ('default = "replace"\nsure = 0', "'sure' must be a number above 0 and at most 1"),
        ('default = "replace"\nsure = 1.5', "'sure' must be a number above 0 and at most 1"),
        ('default = "replace"\nsure = "much"', "'sure' must be a number above 0 and at most 1"),
        ("default", "not TOML"),
    ],
)
def test_a_wrong_policy_is_refused_by_file_and_key(write, text, message):
    path = write(text)
    with pytest.raises(ConfigError, match=message) as refused:
        load_policy(path)
    assert path in str(refused.value)


def test_a_policy_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "board.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="unreadable"):
        load_policy(str(path))


def test_a_policy_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "board.toml"
    path.write_text(OWN, encoding="utf-8-sig")
    assert load_policy(str(path)).name == "our_board"


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(
        ConfigError, match="unknown policy 'lenient': it is neither a file nor one of limited_data_set, safe"
    ):
        load_policy("lenient")


def test_a_policy_replaces_what_it_replaces_or_tags():
    policy = Policy("own", "replace", {"DATE": "generalize", "SEX": "keep", "CITY": "tag"})
    assert [policy.replaces(label) for label in ("PATIENT", "CITY", "DATE", "SEX")] == [True, True, False, False]
