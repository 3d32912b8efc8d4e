"""Messages of HL7 v2 and documents of CDA over HTTP, to a service that runs."""

import pytest

from .conftest import CANARY, TOKEN

HL7, CDA = "/v1/hl7/$de-identify", "/v1/cda/$de-identify"
CONTENT = {HL7: "application/hl7-v2", CDA: "application/xml"}
PID = f"PID|1||4471906^^^HOSP^MR||{CANARY}^Aurelio||19500302|M"


def message(*segments, number=1, kind="ORU^R01", end="\r"):
    head = rf"MSH|^~\&|LAB||EHR||20241130101500||{kind}|{number}|P|2.5.1"
    return end.join([head, *segments, ""])


def note(text):
    return f"OBX|1|TX|11506-3^Nota^LN||{text}||||||F"


def document(paragraph, name=CANARY, root="ClinicalDocument"):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<{root} xmlns="urn:hl7-org:v3">
<typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/><id root="1.2.36.4" extension="S-1"/>
<code code="34133-9" codeSystem="2.16.840.1.113883.6.1"/><title>Informe</title>
<effectiveTime value="20241130101500"/><confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/>
<recordTarget><patientRole><id root="1.2.36.1" extension="4471906"/>
<patient><name><given>Aurelio</given><family>{name}</family></name></patient></patientRole></recordTarget>
<author><time value="20241130"/><assignedAuthor><id root="1.2.36.2" extension="991"/></assignedAuthor></author>
<custodian><assignedCustodian><representedCustodianOrganization><id root="1.2.36.3"/>
</representedCustodianOrganization></assignedCustodian></custodian>
<component><structuredBody><component><section><text><paragraph>{paragraph}</paragraph></text></section></component>
</structuredBody></component></{root}>"""


def send(service, route, content, **settings):
    """Send records. Whatever the answer is, the name of the patient is not in it."""
    if route == CDA:
        pytest.importorskip("lxml", reason="documents of CDA need lxml: pip install 'spacy-deid[documents]'")
    data = content if isinstance(content, bytes) else content.encode()
    answer = service.client.post(route, content=data, params=settings, headers={"content-type": CONTENT[route]})
    assert CANARY.lower() not in answer.text.lower()
    kind = CONTENT[route] if answer.status_code == 200 else "application/problem+json"
    assert answer.headers["content-type"] == kind
    return answer


def test_a_message_is_released_with_the_names_of_its_patient(service):
    lines = send(service, HL7, message(PID, note(f"dice {CANARY.lower()}"), end="\r\n")).text.split("\r\n")
    assert lines[0].startswith(r"MSH|^~\&|")
    assert lines[1].split("|")[8] == "M"
    assert lines[2] == note("dice [PATIENT]")
    assert lines[3] == ""


def test_messages_of_one_request_are_one_export(service):
    data = message(PID) + message(f"PID|1||4471906^^^HOSP^MR||{CANARY}", note(f"dice {CANARY.lower()}"), number=2)
    released = send(service, HL7, data).text
    assert released.count("MSH|") == 2
    assert "dice [PATIENT]" in released
    framed = f"\x0b{message(PID)}\x1c\r"
    assert send(service, HL7, framed).text.startswith("\x0bMSH|")


def test_a_message_in_another_encoding_keeps_it(service):
    data = message(PID, note("tensión")).encode("iso8859-1")
    assert send(service, HL7, data, encoding="iso8859-1").content.count("tensión".encode("iso8859-1")) == 1
    problem = send(service, HL7, data).json()
    assert (problem["status"], problem["code"]) == (400, "input")


def test_a_document_is_released_with_the_names_of_its_patient(service):
    released = send(service, CDA, document(f"dice {CANARY.lower()}, pulso 72")).text
    assert "<paragraph>dice [PATIENT], pulso 72</paragraph>" in released


@pytest.mark.parametrize(
    ("route", "content", "settings", "code", "reason"),
    [
        (HL7, CANARY, {}, "input", "does not begin with the segment MSH"),
        (HL7, "", {}, "input", "empty"),
        (HL7, message(PID) + CANARY, {}, "input", "line 3 is no segment"),
        (HL7, message(PID), {"encoding": "klingon"}, "setting", "'encoding'"),
        (HL7, message(PID), {"style": "surrogate"}, "setting", "project key"),
        (CDA, CANARY, {}, "input", "document"),
        (CDA, document("x", root="Letter"), {}, "input", "its root is not ClinicalDocument"),
        (CDA, f"<!DOCTYPE a [<!ENTITY b '{CANARY}'>]>" + document("&b;"), {}, "input", "document"),
        (CDA, document("x"), {"pipeline": "nothing"}, "setting", "pipeline"),
    ],
)
def test_what_cannot_be_read_is_a_problem_without_content(service, route, content, settings, code, reason):
    answer = send(service, route, content, **settings)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize(
    ("route", "content", "kind", "reason"),
    [
        (HL7, message(PID, note(rf"pulso \Q{CANARY}\ ")), "failed", "OBX-5"),
        (HL7, message(note(CANARY)), "failed", "PID"),
        (HL7, message(PID, kind="ORM^O01"), "removed", "does not name the type"),
        (
            CDA,
            document("x").replace(' extension="4471906"', "").replace('root="1.2.36.1"', 'root=" "'),
            "failed",
            "id",
        ),
    ],
)
def test_what_cannot_be_released_is_a_problem_without_content(service, route, content, kind, reason):
    answer = send(service, route, content)
    assert (answer.status_code, answer.json()["code"]) == (422, "withheld")
    (issue,) = answer.json()["errors"]
    assert issue["type"] == kind
    assert reason in issue["msg"]


def test_other_messages_are_returned_without_a_bad_one_only_on_request(service):
    data = message(PID) + message(PID, note(r"\Q\ "), number=2) + message(PID, kind="ORM^O01", number=3)
    issues = send(service, HL7, data).json()["errors"]
    assert [(issue["loc"], issue["type"]) for issue in issues] == [
        (["message 2"], "failed"),
        (["message 3"], "removed"),
    ]
    answer = send(service, HL7, data, accept_partial=True)
    assert (answer.status_code, answer.text.count("MSH|")) == (200, 1)


@pytest.mark.parametrize(
    ("route", "content"),
    [
        (HL7, message("PID|1||7^^^HOSP^MR||Rojo", note("color rojo"))),
        (CDA, document("color rojo", name="Rojo")),
    ],
)
def test_a_warning_must_be_accepted(service, route, content):
    answer = send(service, route, content)
    assert (answer.status_code, answer.json()["errors"][0]["type"]) == (422, "warning")
    assert send(service, route, content, accept_partial=True).status_code == 422
    assert send(service, route, content, accept_warnings=True).status_code == 200


@pytest.mark.parametrize("route", [HL7, CDA])
def test_token_size_and_description_are_those_of_texts(service, guarded, route):
    content = message(PID) if route == HL7 else document("x")
    headers = {"authorization": "Bearer wrong-wrong-wrong"}
    assert guarded.client.post(route, content=content, headers=headers).status_code == 401
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.client.post(route, content=content, headers=headers).status_code == 200
    logged = guarded.client.get("/v1/audit").json()["items"][-1]
    assert (logged["action"], len(logged["digest"])) == (route.split("/")[2], 64)
    assert service.client.post(route, content=b" " * 63_000_000).status_code == 413
    described = service.client.get("/v1/openapi.json").json()["paths"][route]["post"]
    assert list(described["requestBody"]["content"]) == [CONTENT[route]]
    assert described["x-roles"] == ["release"]
    assert {"200", "400", "401", "413", "422", "503", "507"} <= set(described["responses"])
