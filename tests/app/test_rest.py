"""What programs rely on: problems, declared statuses, monitoring, batches, paging and idempotency."""

import json

import pytest

from .conftest import CANARY, NOTE, TOKEN


def check_problem(answer, status, code):
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, "about:blank")
    assert problem["title"]
    assert problem["detail"]
    assert CANARY not in answer.text
    return problem


def test_problems_have_a_code_and_no_content(service):
    client = service.client
    check_problem(client.get("/v1/jobs/nothing"), 404, "not_found")
    check_problem(client.get("/v1/nothing"), 404, "not_found")
    check_problem(client.put("/v1/jobs"), 405, "method")
    check_problem(client.post("/v1/deidentify", json={"text": NOTE, "pipeline": "xq"}), 400, "setting")
    check_problem(client.post("/v1/deidentify", content="x" * 100), 422, "invalid_request")
    check_problem(client.get("/v1/jobs", headers={"host": "attacker.example"}), 421, "host")
    check_problem(client.post("/v1/jobs", headers={"origin": "http://attacker.example"}), 403, "origin")
    check_problem(client.get("/v1/jobs?cursor=nothing"), 400, "input")
    check_problem(client.get("/v1/jobs?limit=0"), 422, "invalid_request")


def test_problem_names_invalid_fields_but_no_name_that_was_sent(service):
    answer = service.client.post("/v1/deidentify", json={"text": NOTE, "style": CANARY, CANARY: CANARY})
    errors = check_problem(answer, 422, "invalid_request")["errors"]
    assert [field["loc"] for field in errors] == [["body", "style"], ["body", "*"]]


def test_problem_without_a_token(guarded):
    answer = guarded.client.get("/v1/jobs", headers={"authorization": ""})
    check_problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_openapi_declares_roles_security_and_statuses(service):
    document = service.client.get("/v1/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"token", "session"}
    operations = [(path, operation) for path, found in document["paths"].items() for operation in found.values()]
    assert len(operations) > 20
    public = {path for path, operation in operations if not operation["security"]}
    assert public == {"/health", "/ready"}
    for path, operation in operations:
        if path not in public:
            assert operation["x-roles"]
            assert {"401", "403", "429", "500"} <= set(operation["responses"])
        for status, response in operation["responses"].items():
            assert response["description"]
            if path in public or status in ("200", "201", "204") or path.startswith("/v1/fhir/"):
                continue
            assert response["content"] == {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            }
    assert "HTTPValidationError" not in json.dumps(document)
    assert len({operation["operationId"] for _, operation in operations}) == len(operations)


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_health_and_readiness_need_no_token(guarded, prefix):
    headers = {"authorization": ""}
    assert guarded.client.get(f"{prefix}/health", headers=headers).json()["status"] == "ok"
    ready = guarded.client.get(f"{prefix}/ready", headers=headers)
    assert ready.status_code == 200
    assert ready.json()["pipelines"] == dict.fromkeys(("es", "en", "fi"), "on demand")


def test_service_is_ready_when_its_pipelines_are_loaded(start_service):
    service = start_service("--preload", "--pipeline", "fi")
    states = []
    while not states or states[-1] == {"fi": "loading"}:
        answer = service.client.get("/ready")
        states.append(answer.json()["pipelines"])
        assert answer.status_code == (200 if states[-1] == {"fi": "loaded"} else 503)
    assert states[-1] == {"fi": "loaded"}


def test_metrics_count_requests_without_content(guarded):
    client = guarded.client
    client.get(f"/v1/jobs/{CANARY}")
    client.get(f"/{CANARY}")
    client.post("/v1/deidentify", json={"text": NOTE, CANARY: 1})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert CANARY not in answer.text
    assert TOKEN not in answer.text
    for line in (
        'spacy_deid_requests_total{method="GET",route="/v1/jobs/{job}",status="404"} ',
        'spacy_deid_requests_total{method="GET",route="other",status="404"} ',
        'spacy_deid_problems_total{code="invalid_request"} ',
        "spacy_deid_request_seconds_bucket{",
        "spacy_deid_workers 1.0",
        "spacy_deid_ready 1.0",
        "process_resident_memory_bytes ",
    ):
        assert line in answer.text
    assert client.get("/metrics", headers={"authorization": ""}).status_code == 401


def test_batch_has_a_result_for_every_text(service):
    items = [
        {"text": NOTE},
        {"text": 5, CANARY: "a"},
        {"text": "Sin datos.", "note_date": CANARY},
        {"text": "Sin datos.", "note_date": "2024-11-04", "patient_id": "p1"},
    ]
    answer = service.client.post("/v1/deidentify/batch", json={"items": items, "settings": {"style": "numbered"}})
    assert CANARY not in answer.text
    given = answer.json()
    assert (given["released"], given["failed"]) == (2, 2)
    assert [result["index"] for result in given["results"]] == [0, 1, 2, 3]
    first, second, third, last = given["results"]
    assert "[PATIENT_1]" in first["answer"]["text"]
    assert first["problem"] is None
    assert (second["problem"]["code"], second["answer"]) == ("invalid_request", None)
    assert third["problem"]["code"] == "setting"
    assert last["answer"]["text"] == "Sin datos."


@pytest.mark.parametrize("items", [[], [{"text": "a"}] * 201])
def test_batch_has_a_limited_number_of_texts(service, items):
    answer = service.client.post("/v1/deidentify/batch", json={"items": items})
    check_problem(answer, 422, "invalid_request")


def test_pages_of_jobs_are_complete_while_jobs_are_added(service):
    added = [service.add((f"{i}.txt", b"a"), start=False) for i in range(5)]
    found, cursor = [], ""
    while cursor is not None:
        page = service.client.get("/v1/jobs", params={"limit": 2, "cursor": cursor}).json()
        assert len(page["items"]) <= 2
        found += [job["id"] for job in page["items"]]
        cursor = page["next"]
        service.add(("later.txt", b"a"), start=False)
    assert [job for job in found if job in added] == added[::-1]
    assert len(set(found)) == len(found)


def test_pages_of_decisions_are_in_order(service):
    job = service.wait(service.add(("a.txt", NOTE.encode())))
    file = job["files"][0]["id"]
    for word in ("disnea", "Ingresa"):
        start = NOTE.index(word)
        decision = {"action": "add", "start": start, "end": start + len(word), "label": "PROFESSION"}
        assert service.client.post(f"/v1/files/{file}/decisions", json=decision).status_code == 200
    path = f"/v1/jobs/{job['id']}/decisions"
    page = service.client.get(path, params={"limit": 1}).json()
    rest = service.client.get(path, params={"limit": 1, "cursor": page["next"]}).json()
    assert [row["start"] for row in page["items"] + rest["items"]] == [NOTE.index("disnea"), NOTE.index("Ingresa")]
    assert rest["next"] is None
    check_problem(service.client.get(path, params={"cursor": "x"}), 400, "input")
