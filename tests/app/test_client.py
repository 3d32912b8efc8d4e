"""A client that is generated from the OpenAPI document works with a running service."""

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from .conftest import CANARY, NOTE

if find_spec("openapi_python_client") is None:
    pytest.skip("no generator of clients: pip install openapi-python-client", allow_module_level=True)

BINARY = ("application/zip", "application/hl7-v2", "application/xml")


@pytest.fixture(scope="module")
def generated(service, tmp_path_factory):
    """The generated package."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(service.client.get("/v1/openapi.json").text)
    (folder / "config.json").write_text(
        json.dumps({"post_hooks": [], "content_type_overrides": dict.fromkeys(BINARY, "application/octet-stream")})
    )
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"]
    command += ["--output-path", "deid_client", "--config", "config.json"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stderr + made.stdout
    assert "WARNING" not in made.stderr + made.stdout
    sys.path.insert(0, str(folder))
    yield importlib.import_module("deid_client")
    sys.path.remove(str(folder))


def part(name):
    return importlib.import_module(f"deid_client.{name}")


def test_generated_client_deidentifies_texts(generated, service):
    models, client = part("models"), generated.AuthenticatedClient(service.url, token="any", timeout=120)
    with client:
        assert part("api.service.health").sync(client=client).status == "ok"
        answer = part("api.text.deidentify").sync(client=client, body=models.TextRequest(text=NOTE))
        assert CANARY not in answer.text
        assert answer.spans[0].label
        items = [models.BatchItem(text=NOTE), models.BatchItem(text="Sin datos.")]
        batch = part("api.text.deidentify_batch").sync(client=client, body=models.BatchRequest(items=items))
        assert (batch.released, batch.failed) == (2, 0)
        problem = part("api.text.deidentify").sync(
            client=client, body=models.TextRequest(text=NOTE, pipeline="nothing")
        )
        assert (problem.status, problem.code) == (400, "setting")


def test_generated_client_runs_a_job(generated, service):
    models, types = part("models"), part("types")
    with generated.AuthenticatedClient(service.url, token="any", timeout=120) as client:
        file = types.File(payload=NOTE.encode(), file_name="carta.txt")
        job = part("api.jobs.add_job").sync(client=client, body=models.BodyAddJob(files=[file], start=True))
        service.wait(job.id)
        shown = part("api.jobs.get_job").sync(job.id, client=client)
        assert [one.state for one in shown.files] == ["done"]
        archive = part("api.jobs.download_job").sync_detailed(job.id, client=client)
        assert archive.content[:2] == b"PK"
        assert part("api.jobs.list_jobs").sync(client=client, limit=1).items[0].id == job.id
        assert part("api.jobs.delete_job").sync_detailed(job.id, client=client).status_code == 204
        assert part("api.jobs.get_job").sync(job.id, client=client).code == "not_found"
