"""Whatever element a name is in, it is not in the released resource; codes, numbers and references stay."""

import base64
import json
from datetime import date

import pytest
from conftest import slow
from fhir_resources import CANARIES, CLINICIAN, FAMILY, GIVEN, PATIENT, PRACTITIONER, RELATIVE, SENTENCE, make_resource

from spacy_deid.fhir.definitions import check_resource
from spacy_deid.fhir.json_values import Number, read_json, write_json
from spacy_deid.fhir.profile import default_profile

pytestmark = pytest.mark.filterwarnings("ignore:.*swig.*")
TYPES = sorted(set(default_profile().resources) - {"Bundle", "Binary"})
QUICK = {"Location", "Patient", "Observation", "Composition", "DocumentReference", "Appointment"}


def found_in(resource):
    """The canaries in a resource, also in its attachments."""
    text = write_json(resource)
    for item in walk(resource):
        if isinstance(item, dict) and isinstance(item.get("data"), str) and "contentType" in item:
            text += base64.b64decode(item["data"]).decode("utf-8", "replace")
    return [canary for canary in CANARIES if canary.lower() in text.lower()]


def walk(value):
    yield value
    if isinstance(value, dict | list) and not isinstance(value, Number):
        for item in value.values() if isinstance(value, dict) else value:
            yield from walk(item)


@pytest.mark.parametrize("kind", [kind if kind in QUICK else slow(kind) for kind in TYPES])
@pytest.mark.parametrize("turn", [0, slow(1), slow(2), slow(3)])
def test_no_element_of_a_resource_releases_a_name(release, kind, turn):
    resource = make_resource(kind, turn)
    check_resource(read_json(resource))
    assert found_in(read_json(resource))
    (outcome,) = release(resource, people=(PATIENT, PRACTITIONER))
    assert outcome.resource, outcome.reason
    assert found_in(outcome.resource) == []


def test_numbers_keep_their_characters(release):
    resource = """{"resourceType": "Observation", "status": "final", "code": {"text": "x"},
        "subject": {"reference": "Patient/p1"}, "valueQuantity": {"value": 1.00, "code": "mg"},
        "component": [{"code": {"text": "y"}, "valueQuantity": {"value": -0.10E-3, "comparator": "<"}}]}"""
    (outcome,) = release(resource)
    released = write_json(outcome.resource)
    assert '"value":1.00' in released
    assert '"value":-0.10E-3' in released


def test_codes_and_values_stay_and_text_does_not(release):
    resource = {
        "resourceType": "Observation",
        "status": "final",
        "code": {
            "coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}],
            "text": f"pulse of {GIVEN} {FAMILY}",
        },
        "subject": {"reference": "Patient/p1"},
        "effectiveDateTime": "2024-11-30T10:00:00Z",
        "valueQuantity": {"value": 72, "unit": "/min", "system": "http://unitsofmeasure.org", "code": "/min"},
    }
    (outcome,) = release(resource)
    released = outcome.resource
    assert released["code"]["coding"] == resource["code"]["coding"]
    assert released["valueQuantity"] == {**resource["valueQuantity"], "value": Number("72")}
    assert FAMILY not in released["code"]["text"]
    assert released["code"]["text"].startswith("pulse of ")


def test_structured_values_and_notes_of_a_patient_have_the_same_surrogates(release):
    note = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": "Patient/p1"},
        "effectiveDateTime": "2024-11-30",
        "note": [{"text": f"{GIVEN} {FAMILY}; Bob {RELATIVE}; QF-771903; +34 600 111 222"}],
    }
    patient, observation = release(PATIENT, note, people=())
    name = patient.resource["name"][0]
    contact = patient.resource["contact"][0]["name"]
    text = observation.resource["note"][0]["text"].split("; ")
    assert text[0] == f"{name['given'][0]} {name['family']}"
    assert text[1] == f"{contact['given'][0]} {contact['family']}"
    assert text[2] == patient.resource["identifier"][0]["value"]
    assert text[3] == patient.resource["telecom"][0]["value"]


def test_dates_of_a_patient_move_by_the_same_number_of_days(release):
    def observation(day):
        about = {"status": "final", "code": {"text": "x"}, "subject": {"reference": "Patient/p1"}}
        return {"resourceType": "Observation", **about, "effectiveDateTime": day}

    days = ("2024-11-30T10:00:00.5+01:00", "2024-12-10", "2024-12")
    first, second, month = (item.resource["effectiveDateTime"] for item in release(*map(observation, days)))
    assert first[10:] == "T10:00:00.5+01:00"
    assert not first.startswith("2024-11-30")
    assert (as_day(second) - as_day(first)).days == 10
    assert len(month) == len("2024-12")


def as_day(text):
    return date.fromisoformat(text[:10])


def test_without_surrogates_a_date_is_removed_and_a_required_one_is_masked(release):
    provenance = {
        "resourceType": "Provenance",
        "target": [{"reference": "Patient/p1"}],
        "recorded": "2024-11-30T10:00:00Z",
        "occurredDateTime": "2024-11-30",
        "agent": [{"who": {"reference": "Practitioner/d1"}}],
    }
    (outcome,) = release(provenance, style="tag")
    assert "recorded" not in outcome.resource
    assert outcome.resource["_recorded"]["extension"][0]["valueCode"] == "masked"
    assert "occurredDateTime" not in outcome.resource


def test_a_policy_for_years_reduces_dates(release):
    (outcome,) = release(PATIENT, policy="safe_harbor", people=())
    assert outcome.resource["birthDate"] == "1950"


def test_an_age_over_89_becomes_90_or_more(release):
    condition = {
        "resourceType": "Condition",
        "subject": {"reference": "Patient/p1"},
        "onsetAge": {"value": 93, "unit": "years", "system": "http://unitsofmeasure.org", "code": "a"},
        "abatementAge": {"value": 94, "unit": "mo", "system": "http://unitsofmeasure.org", "code": "mo"},
    }
    (outcome,) = release(condition)
    assert outcome.resource["onsetAge"]["value"] == Number("90")
    assert outcome.resource["onsetAge"]["comparator"] == ">="
    assert outcome.resource["abatementAge"]["value"] == Number("94")


def test_extensions_that_the_profile_does_not_name_are_removed(release):
    birth_time = "http://hl7.org/fhir/StructureDefinition/patient-birthTime"
    patient = {
        **PATIENT,
        "extension": [{"url": "http://example.org/x", "valueString": SENTENCE}],
        "_birthDate": {"extension": [{"url": birth_time, "valueDateTime": "1950-03-02T04:05:06Z"}]},
        "_gender": {"extension": [{"url": "http://example.org/x", "valueString": SENTENCE}]},
    }
    (outcome,) = release(patient, people=())
    assert "extension" not in outcome.resource
    assert "_gender" not in outcome.resource
    (kept,) = outcome.resource["_birthDate"]["extension"]
    assert kept["valueDateTime"] == outcome.resource["birthDate"] + "T04:05:06Z"
    assert outcome.removed["Patient.extension"] == 1


def test_a_resource_with_an_unknown_modifier_extension_is_refused(release):
    extension = {"url": f"http://example.org/{FAMILY}", "valueBoolean": True}
    (outcome,) = release({**PATIENT, "modifierExtension": [extension]}, people=())
    assert outcome.status == "failed"
    assert "Patient.modifierExtension" in outcome.reason
    assert FAMILY not in outcome.reason


def test_contained_resources_are_released_with_their_references(release):
    observation = {
        "resourceType": "Observation",
        "contained": [
            {"resourceType": "Practitioner", "id": "doc", "name": [{"family": "Thistlewood"}]},
            {"resourceType": "Basic", "id": "unnamed", "code": {"text": SENTENCE}},
        ],
        "status": "final",
        "code": {"text": "seen by Thistlewood"},
        "subject": {"reference": "Patient/p1"},
        "performer": [{"reference": "#doc"}, {"reference": "#unnamed", "display": "x"}],
    }
    (outcome,) = release(observation)
    released = outcome.resource
    (practitioner,) = released["contained"]
    assert released["performer"][0]["reference"] == "#" + practitioner["id"]
    assert "reference" not in released["performer"][1]
    assert "Thistlewood" not in write_json(released)


def test_references_lead_to_the_new_ids(release):
    people = [PATIENT, PRACTITIONER]
    observation = {
        "resourceType": "Observation",
        "id": "o1",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": "http://hospital.example/fhir/Patient/p1/_history/3", "display": f"{GIVEN} {FAMILY}"},
        "performer": [{"reference": "Practitioner/d1", "display": f"Dr {CLINICIAN}"}],
        "derivedFrom": [{"reference": "Observation/o1"}],  # a circle
        "hasMember": [{"reference": "Observation?name=Quillfeather"}],
    }
    patient, practitioner, made = (item.resource for item in release(*people, observation, people=()))
    assert made["subject"]["reference"].endswith("/Patient/" + patient["id"])
    assert "hospital.example" not in made["subject"]["reference"]
    assert made["performer"][0]["reference"] == "Practitioner/" + practitioner["id"]
    assert made["derivedFrom"][0]["reference"] == "Observation/" + made["id"]
    assert "hasMember" not in made
    assert {"p1", "d1", "o1"}.isdisjoint({patient["id"], practitioner["id"], made["id"]})


def test_attachments_are_deidentified_and_addresses_are_removed(release):
    page = f"<html><body><p>{GIVEN} <i>{FAMILY}</i></p></body></html>"
    rtf = "{\\rtf1\\ansi Seen: " + FAMILY + ".}"
    texts = [("text/plain; charset=utf-8", SENTENCE), ("text/html", page), ("application/rtf", rtf)]
    attachments = [
        *(
            {"contentType": kind, "data": base64.b64encode(text.encode()).decode(), "title": FAMILY}
            for kind, text in texts
        ),
        {"contentType": "application/pdf", "url": f"http://example.org/{FAMILY}.pdf"},
        {"contentType": "video/mp4", "data": base64.b64encode(SENTENCE.encode()).decode()},
        {"contentType": "application/pdf", "url": "Binary/b1"},
    ]
    document = {
        "resourceType": "DocumentReference",
        "status": "current",
        "subject": {"reference": "Patient/p1"},
        "content": [{"attachment": item} for item in attachments],
    }
    binary = {"resourceType": "Binary", "id": "b1", "contentType": "text/plain", "data": attachments[0]["data"]}
    outcome, other = release(document, binary)
    assert found_in(other.resource) == []
    made = [item["attachment"] for item in outcome.resource["content"]]
    assert found_in(outcome.resource) == []
    assert [base64.b64decode(item["data"]) != b"" for item in made[:3]] == [True] * 3
    assert int(made[0]["size"].text) == len(base64.b64decode(made[0]["data"]))
    assert [sorted(item) for item in made[3:]] == [["contentType"], ["contentType"], ["contentType", "url"]]
    assert made[5]["url"] == f"Binary/{other.resource['id']}"


def test_a_binary_of_unknown_patient_is_refused(release):
    data = base64.b64encode(SENTENCE.encode()).decode()
    (outcome,) = release({"resourceType": "Binary", "contentType": "text/plain", "data": data})
    assert outcome.status == "failed"
    assert outcome.reason == "Binary: no attachment of the export refers to it"


def test_a_binary_is_that_of_the_patient_in_its_security_context(release):
    data = base64.b64encode(SENTENCE.encode()).decode()
    content = [{"attachment": {"contentType": "text/plain", "title": "x"}}]
    document = {"resourceType": "DocumentReference", "id": "t1", "status": "current", "content": content}
    for reference in ("Patient/p1", "DocumentReference/t1"):
        binary = {"resourceType": "Binary", "contentType": "text/plain", "securityContext": {"reference": reference}}
        _, outcome = release({**document, "subject": {"reference": "Patient/p1"}}, {**binary, "data": data})
        assert outcome.status == "released", outcome.reason
        assert found_in(outcome.resource) == []


def test_an_attachment_that_cannot_be_read_is_removed_with_a_warning(release):
    data = base64.b64encode(FAMILY.encode()).decode()
    document = {
        "resourceType": "DocumentReference",
        "status": "current",
        "subject": {"reference": "Patient/p1"},
        "content": [{"attachment": {"contentType": "application/pdf", "data": data, "title": FAMILY}}],
    }
    (outcome,) = release(document)
    assert outcome.status == "review"
    (warning,) = outcome.warnings
    assert warning.startswith("DocumentReference.content.attachment.data: removed")
    assert FAMILY not in warning
    assert found_in(outcome.resource) == []
    assert sorted(outcome.resource["content"][0]["attachment"]) == ["contentType"]
    binary = {"resourceType": "Binary", "contentType": "application/pdf", "data": data}
    (outcome,) = release({**binary, "securityContext": {"reference": "Patient/p1"}})
    assert outcome.status == "failed"


def test_published_codes_are_kept_although_a_clinician_is_called_so(release):
    doctor = {"resourceType": "Practitioner", "id": "d2", "name": [{"family": "Admitson"}]}
    system = "http://terminology.hl7.org/CodeSystem/message-reasons-encounter"
    reason = {"coding": [{"system": system, "code": "admitson"}, {"system": "http://own.example", "code": "admitson"}]}
    (outcome,) = release(observe("x", code=reason), people=[PATIENT, doctor])
    assert [item.get("code") for item in outcome.resource["code"]["coding"]] == ["admitson", None]
    other = {"coding": [{"system": system, "code": FAMILY.lower()}]}
    (outcome,) = release(observe("x", code=other))
    assert FAMILY.lower() not in write_json(outcome.resource)


def test_a_pdf_attachment_is_deidentified(release):
    pytest.importorskip("pypdfium2")
    from pdf_letters import letter

    data = base64.b64encode(letter(f"Seen: {GIVEN} {FAMILY}\nPulse 72")).decode()
    report = {
        "resourceType": "DiagnosticReport",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": "Patient/p1"},
        "presentedForm": [{"contentType": "application/pdf", "data": data}],
    }
    (outcome,) = release(report)
    assert outcome.resource, outcome.reason
    assert base64.b64decode(outcome.resource["presentedForm"][0]["data"]).startswith(b"%PDF")


def test_a_damaged_attachment_is_an_error_without_content(release):
    document = {
        "resourceType": "DocumentReference",
        "status": "current",
        "content": [{"attachment": {"contentType": "text/plain", "data": f"{FAMILY}!"}}],
    }
    (outcome,) = release(document)
    assert outcome.status == "failed"
    assert outcome.reason == "DocumentReference.content[0].attachment.data: it is not a valid base64Binary"


def observe(text, **more):
    about = {"status": "final", "subject": {"reference": "Patient/p1"}}
    return {"resourceType": "Observation", **about, "code": {"text": text}, **more}


def test_a_common_word_that_is_a_name_of_the_patient_is_removed_where_it_is_capitalised(release):
    patient = {**PATIENT, "name": [{"family": "Blanco", "given": ["Wilhelmina"]}]}
    texts = ("Blanco queda estable", "BLANCO ESTABLE", "La muestra era de color blanco", "color blanco", "nada")
    *named, color, small, other = release(*map(observe, texts), people=[patient])
    for outcome in named:
        assert outcome.status == "released"
        assert "blanco" not in outcome.resource["code"]["text"].lower()
    assert color.resource["code"]["text"] == texts[2]
    assert small.warnings == ["Observation.code.text: it has a common word that is also a name of the patient"]
    assert (color.status, small.status, other.status) == ("released", "review", "released")


def test_a_given_name_that_is_a_title_is_replaced_with_the_full_name(release):
    patient = {**PATIENT, "name": [{"family": FAMILY, "given": ["Doctor"]}]}
    display = {"reference": "Patient/p1", "display": f"Doctor {FAMILY}"}
    (outcome,) = release(observe(f"Doctor {FAMILY} rested", subject=display), people=[patient])
    assert "Doctor" not in write_json(outcome.resource)


@pytest.mark.parametrize(
    "stated",
    [
        {"performer": [{"reference": "Practitioner/unknown", "display": "Dr Zebedee Thistlewood"}]},
        {"performer": [{"display": "Zebedee Thistlewood"}]},
        {"note": [{"authorString": "Zebedee Thistlewood", "text": "x"}]},
        {
            "contained": [{"resourceType": "Patient", "id": "other", "name": [{"family": "Thistlewood"}]}],
            "focus": [{"reference": "#other"}],
        },
    ],
    ids=["display", "display without a reference", "author", "contained"],
)
def test_a_name_that_a_resource_states_is_removed_from_all_texts_of_the_patient(release, stated):
    text = "Rested, says thistlewood."
    other, shared = observe(text), {"resourceType": "Medication", "code": {"text": text}}
    for outcome in release(observe(text, **stated), other, shared)[:2]:
        assert "thistlewood" not in write_json(outcome.resource).lower()


def test_a_text_about_no_patient_with_a_name_of_any_patient_is_removed(release):
    texts = (f"for {FAMILY.lower()}", "paracetamol")
    named, other = release(*({"resourceType": "Medication", "code": {"text": text}} for text in texts))
    assert "code" not in named.resource
    assert other.resource["code"] == {"text": "paracetamol"}


def test_a_resource_about_two_patients_is_refused(release):
    actors = [{"actor": {"reference": f"Patient/{number}"}, "status": "accepted"} for number in ("p1", "p2")]
    (outcome,) = release({"resourceType": "Appointment", "status": "booked", "participant": actors})
    assert outcome.status == "failed"
    assert "several patients" in outcome.reason


def test_the_id_of_another_system_can_be_the_patient(release):
    def surrogates(**settings):
        return release(PATIENT, people=(), **settings)[0].resource["name"]

    renamed = {**PATIENT, "id": "other"}
    first = release(PATIENT, people=(), patient_system="urn:oid:1.2.36")[0].resource
    second = release(renamed, people=(), patient_system="urn:oid:1.2.36")[0].resource
    assert first["name"] == second["name"]
    assert first["id"] != second["id"]
    assert surrogates() != first["name"]


def test_released_resources_say_so(release):
    (outcome,) = release({**PATIENT, "meta": {"lastUpdated": "2024-01-01T00:00:00Z"}}, people=())
    assert [item["code"] for item in outcome.resource["meta"]["security"]] == ["PSEUDED"]
    check_resource(outcome.resource)


def test_a_released_resource_is_valid_for_another_library(release):
    models = pytest.importorskip("fhir.resources.R4B")
    kinds = ("Patient", "Composition", "DocumentReference")
    for kind in kinds:
        (outcome,) = release(make_resource(kind))
        models.get_fhir_model_class(kind).model_validate(json.loads(write_json(outcome.resource)))
