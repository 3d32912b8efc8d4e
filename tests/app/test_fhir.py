"""Resources of FHIR R4 over HTTP, to a service that runs."""

import json

import pytest

from spacy_deid.fhir.definitions import check_resource
from spacy_deid.fhir.json_values import read_json

from .conftest import CANARY, TOKEN

pytest.importorskip("lxml")
ROUTE = "/v1/fhir/$de-identify"
FHIR = "application/fhir+json"
PATIENT = {"resourceType": "Patient", "id": "p1", "name": [{"family": CANARY, "given": ["Aurelio"]}]}


def observation(**more):
    about = {"status": "final", "code": {"text": "pulso"}, "subject": {"reference": "Patient/p1"}}
    return {"resourceType": "Observation", **about, "note": [{"text": f"dice {CANARY.lower()}"}], **more}


def bundle(*resources):
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": item} for item in resources]}


def send(service, resource, **settings):
    content = resource if isinstance(resource, str) else json.dumps(resource)
    answer = service.client.post(ROUTE, content=content, params=settings, headers={"content-type": FHIR})
    assert answer.headers["content-type"] == FHIR
    assert CANARY.lower() not in answer.text.lower()
    check_resource(read_json(answer.text))
    return answer.status_code, answer.json()


def test_a_bundle_is_released_with_the_names_of_its_patient(service):
    number = {"value": 1.50, "code": "mg"}
    code, released = send(service, bundle(PATIENT, observation(valueQuantity=number)))
    assert code == 200
    patient, made = (entry["resource"] for entry in released["entry"])
    assert made["subject"]["reference"] == f"Patient/{patient['id']}"
    assert made["note"][0]["text"] == "dice [PATIENT]"
    assert made["valueQuantity"] == number


def test_a_single_resource_with_an_attachment_is_released(service):
    note = {"contentType": "text/plain", "data": "UHVsc28gNzI="}  # Pulso 72
    code, released = send(service, PATIENT | {"gender": "male"})
    assert (code, released["gender"]) == (200, "male")
    document = {"resourceType": "DocumentReference", "status": "current", "content": [{"attachment": note}]}
    code, released = send(service, document)
    assert code == 200
    assert released["content"][0]["attachment"]["data"] == note["data"]


@pytest.mark.parametrize(
    ("resource", "settings", "code", "reason"),
    [
        ("{" + CANARY, {}, 400, "not a JSON object"),
        ({"resourceType": "Observation", "status": CANARY}, {}, 422, "not a valid code"),
        ({"resourceType": "Basic", "code": {"text": CANARY}}, {}, 422, "does not name the type 'Basic'"),
        (PATIENT, {"style": "surrogate"}, 400, "project key"),
        (PATIENT, {"style": CANARY}, 422, "style"),
        (PATIENT, {"pipeline": "nothing"}, 400, "pipeline"),
    ],
)
def test_an_error_is_an_operation_outcome_without_content(service, resource, settings, code, reason):
    given, outcome = send(service, resource, **settings)
    assert (given, outcome["resourceType"]) == (code, "OperationOutcome")
    assert reason in outcome["issue"][0]["diagnostics"]


def test_a_bundle_with_a_bad_entry_is_returned_without_it_only_on_request(service):
    data = bundle(PATIENT, {**observation(), "status": "unheard"}, observation())
    code, outcome = send(service, data)
    assert code == 422
    assert [issue["expression"] for issue in outcome["issue"]] == [["Bundle.entry[1].resource"]]
    code, released = send(service, data, accept_partial=True)
    assert code == 200
    assert [entry["resource"]["resourceType"] for entry in released["entry"]] == ["Patient", "Observation"]


def test_a_warning_must_be_accepted(service):
    common = observation(note=[{"text": "color rojo"}])
    data = bundle({**PATIENT, "name": [{"family": "Rojo"}]}, common)
    code, outcome = send(service, data)
    assert (code, outcome["issue"][0]["severity"]) == (422, "warning")
    assert send(service, data, accept_warnings=True)[0] == 200


def test_one_request_does_not_know_the_names_of_another(service):
    text = "Plaquetas 771903/mm3."
    code, released = send(
        service, bundle({**PATIENT, "identifier": [{"value": "771903"}]}, observation(note=[{"text": text}]))
    )
    assert code == 200
    assert "771903" not in json.dumps(released)
    answer = service.client.post("/v1/deidentify", json={"text": text, "patient_id": "p1"})
    assert answer.json()["text"] == text


def test_token_and_size_are_checked_as_for_texts(service, guarded):
    headers = {"authorization": "Bearer wrong-wrong-wrong"}
    assert guarded.client.post(ROUTE, json=PATIENT, headers=headers).status_code == 401
    assert guarded.client.post(ROUTE, json=PATIENT, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert service.client.post(ROUTE, content=b" " * 63_000_000).status_code == 413


def test_the_route_is_described(service):
    route = service.client.get("/v1/openapi.json").json()["paths"][ROUTE]["post"]
    assert list(route["requestBody"]["content"]) == [FHIR]
    assert {"200", "400", "422"} <= set(route["responses"])
