"""JSON, the definitions of R4, and the profile."""

import json

import pytest
from fhir_resources import FAMILY, PATIENT, parse

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.fhir.definitions import check_resource, load_definitions
from spacy_deid.fhir.json_values import read_json, write_json
from spacy_deid.fhir.profile import Rule, default_profile, parse_profile
from spacy_deid.fhir.references import References, read_reference

OBSERVATION = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}}


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_written_as_it_was_read(indent):
    text = '{"a": [1.00, -1E+3, {"b": null, "c": true}, []], "d": {}, "é\\n": "\\u2028x"}'
    written = write_json(read_json(text), indent)
    assert json.loads(written) == json.loads(text)
    assert "1.00" in written
    assert "-1E+3" in written
    assert ("\n" in written) == (indent is not None)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a":' * 101 + "{}" + "}" * 101,
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=["list", "cut", "constant", "repeated", "deep", "deeper than Python"],
)
def test_other_json_is_refused(text):
    with pytest.raises(InputError, match="not a JSON object"):
        read_json(text)


def test_the_definitions_are_those_of_r4():
    definitions = load_definitions()
    assert definitions.version == "4.0.1"
    assert len(definitions.resources) == 146
    status = definitions.elements("Observation")["status"]
    assert (status.type, status.least, status.many, "final" in status.codes) == ("code", 1, False, True)
    assert definitions.elements("Observation.component")["valueQuantity"].choice == "value[x]"
    assert "Patient" in definitions.elements("Observation")["subject"].targets


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"resourceType": "Foo"}, "resource", "FHIR R4 has no resource of this type"),
        ({"resourceType": None}, "resource", "it has no resourceType"),
        ({"triggeredBy": [{}]}, "Observation", "does not define"),  # of R5
        ({FAMILY: "x"}, "Observation", "does not define"),
        ({"status": FAMILY}, "Observation.status", "not a valid code of its value set"),
        ({"status": None}, "Observation.status", "not a valid code"),
        ({"category": {}}, "Observation.category", "must be a list"),
        ({"code": [{"text": "x"}]}, "Observation.code", "must be a single value"),
        ({"code": {}}, "Observation.code", "not empty"),
        ({"issued": "2020-01-01"}, "Observation.issued", "not a valid instant"),
        ({"valueInteger": "7"}, "Observation.valueInteger", "not a valid integer"),
        ({"valueString": "x", "valueBoolean": True}, "Observation", "several values for value\\[x\\]"),
        ({"valueBoolean": "true"}, "Observation.valueBoolean", "not a valid boolean"),
        ({"_code": {"id": "x"}}, "Observation", "does not define"),
        ({"component": [{"valueString": "x"}]}, "Observation.component\\[0\\]", "code is missing"),
        ({"contained": [{**OBSERVATION, "contained": []}]}, "contained", "must not contain others"),
    ],
)
def test_a_resource_that_is_not_r4_is_refused_without_its_content(change, path, reason):
    with pytest.raises(InputError, match=f"{path}.*{reason}") as error:
        check_resource(parse(OBSERVATION | change))
    assert FAMILY not in str(error.value)


def test_a_missing_element_may_have_an_extension():
    absent = {
        "extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "masked"}]
    }
    check_resource(parse({"resourceType": "Observation", "_status": absent, "code": {"text": "x"}}))
    with pytest.raises(InputError, match="status is missing"):
        check_resource(parse({"resourceType": "Observation", "code": {"text": "x"}}))


def test_lists_of_values_and_of_their_extensions_may_have_gaps():
    name = {"given": ["Ana", None], "_given": [None, {"id": "x"}]}
    check_resource(parse({**PATIENT, "name": [name]}))


def test_the_profile_names_elements_of_r4_and_no_photographs():
    profile = default_profile()
    assert {"Patient", "Observation", "DocumentReference", "Composition"} <= set(profile.resources)
    assert "photo" not in profile.rules["Patient"]
    assert "position" not in profile.rules["Location"]
    assert profile.rules["Observation.component"]["valueString"] == Rule("text")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('[resources.Patient]\nelements = "nmae"', "no element 'Patient.nmae'"),
        ('[resources.Patient]\nkeep = "birthDate contact.nmae"', "no element 'Patient.contact.nmae'"),
        ('[resources.Foo]\nelements = ""', "no type 'Foo'"),
        ('[resources.Patient]\nelements = "name"', "'Patient.name' needs an action"),
        ('[resources.Patient]\ndate = "gender"', "'date' is not possible for 'Patient.gender'"),
        ('[resources.Patient]\nremove = "gender"', "unknown key in the table of Patient: 'remove'"),
        ('[resources.Patient]\nrole = "NOBODY"', "unknown label 'NOBODY'"),
        ('[resources.Patient]\nelements = ["gender"]', "wrong type"),
        ("[resources", "not TOML"),
        ("other = 1", "unknown key 'other'"),
    ],
)
def test_a_wrong_profile_is_refused(line, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_profile(f'fhir = "4.0.1"\n{line}', "own.toml")


def test_a_profile_for_another_version_is_refused():
    with pytest.raises(ConfigError, match=r"must be .4\.0\.1."):
        parse_profile('fhir = "5.0.0"', "own.toml")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Patient/1", "Patient/1"),
        ("Patient/1/_history/2", "Patient/1"),
        ("https://a.example/fhir/Patient/1", "Patient/1"),
        ("urn:uuid:C757873D-EC9A-4326-A141-556F43239520", "urn:uuid:c757873d-ec9a-4326-a141-556f43239520"),
        ("Patient?name=Ana", None),
        ("Foo/1", None),
        ("", None),
    ],
)
def test_references_to_a_resource_have_one_key(text, key):
    place = read_reference(text)
    assert (place and place.key) == key


def test_surrogate_references_depend_on_the_key_and_fit_together():
    one, other = References(b"1" * 32), References(b"2" * 32)
    assert one.rewrite("Patient/1") == f"Patient/{one.new_id('Patient', '1')}"
    assert one.rewrite("https://a.example/fhir/Patient/1").endswith(f".invalid/fhir/{one.rewrite('Patient/1')}")
    assert one.rewrite("#x") == "#" + one.new_id("#", "x")
    assert one.rewrite("urn:uuid:1").startswith("urn:uuid:")
    assert one.rewrite("Patient/1") != other.rewrite("Patient/1")
    assert one.rewrite("Patient?name=Ana") is None
    assert "1" * 8 not in repr(one)
