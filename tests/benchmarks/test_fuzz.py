"""Some inputs of each target of `benchmarks.fuzz`: errors have a code, and nothing quotes the canary."""

import os

import pytest

pytest.importorskip("reportlab")

from benchmarks import fuzz
from benchmarks.fuzz import CANARY, Broken, Target, make_targets, require_code, require_quiet, try_target
from spacy_deid.documents import read_document
from spacy_deid.errors import InputError

TARGETS = make_targets()
EXAMPLES = {"texts": 25, "REST bodies": 25, "files .pdf": 15, "files .xlsx": 15}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused_with_a_code(name: str):
    number = 0 if os.environ.get("CI") else int.from_bytes(os.urandom(4), "big")
    tried, broken = try_target(TARGETS[name], EXAMPLES.get(name, 40), number)
    assert tried > 1
    assert broken == "", f"seed {number}"


def test_what_breaks_a_promise_is_noticed():
    inputs = TARGETS["texts"].inputs

    def crash(value: str) -> None:
        require_code(lambda: {}[value])

    assert try_target(Target(inputs, crash), 5, 0)[1] == "KeyError instead of an error with a code"
    with pytest.raises(Broken, match="quotes"):
        require_quiet(f"cannot read {CANARY.upper()}")

    def refuse() -> None:
        raise InputError("not valid")

    require_code(refuse)


@pytest.mark.parametrize("suffix", fuzz.files())
def test_the_files_that_are_damaged_are_valid(suffix: str):
    assert CANARY in read_document(fuzz.files()[suffix], f"note{suffix}").text


def test_the_other_inputs_that_are_changed_are_valid():
    assert fuzz.parse_message(fuzz.HL7.encode(), "m")
    assert fuzz.read_json(fuzz.FHIR)["resourceType"] == "Patient"
    assert fuzz.parse_rules(fuzz.RULES, "r.toml")
    fuzz.parse_document(fuzz.CDA.encode(), "a.xml")
    fuzz.parse_profile(fuzz.PROFILE.decode(), "p.toml")


def test_the_policy_that_is_changed_is_valid(tmp_path):
    (tmp_path / "own.toml").write_text(fuzz.POLICY)
    assert fuzz.load_policy(str(tmp_path / "own.toml")).action("AGE") == "keep"
