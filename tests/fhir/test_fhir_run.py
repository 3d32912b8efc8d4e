"""Bundles, bulk files and the command."""

import base64
import json

import pytest
from fhir_resources import CANARIES, FAMILY, GIVEN, PATIENT, PRACTITIONER, parse

from spacy_deid import Deidentifier
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError
from spacy_deid.fhir.run import FhirDeidentifier, Unit
from spacy_deid.surrogates.keys import ProjectKey

BASE = "http://hospital.example/fhir"


def observation(number, text=f"{GIVEN} {FAMILY}"):
    return {
        "resourceType": "Observation",
        "id": f"o{number}",
        "status": "final",
        "code": {"text": "x"},
        "subject": {"reference": "Patient/p1"},
        "note": [{"text": text}],
    }


def bundle(*resources, kind="collection", **entry):
    urls = [f"{BASE}/{item['resourceType']}/{item.get('id', 'x')}" for item in resources]
    entries = [{"fullUrl": url, "resource": item, **entry} for url, item in zip(urls, resources, strict=True)]
    return {"resourceType": "Bundle", "type": kind, "entry": entries}


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "keys" / "project.key"
    ProjectKey(bytes(range(32))).to_file(path)
    return path


@pytest.fixture
def run(cli, pipeline_folder, tmp_path, key):
    def run(*args):
        options = ("--pipeline", pipeline_folder, "--style", "surrogate", "--key", key)
        return cli("fhir", *args, *options, "-o", tmp_path / "out")

    return run


def write(folder, name, *resources):
    folder.mkdir(exist_ok=True)
    texts = [item if isinstance(item, str) else json.dumps(item) for item in resources]
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    return folder


def release_bundle(nlp, data):
    data = parse(data)
    key = ProjectKey(bytes(range(32)))
    with FhirDeidentifier(Deidentifier(nlp, style="surrogate", key=key), key=key) as fhir:
        fhir.read([data])
        return fhir.release_bundle(data)


def test_a_bad_entry_does_not_affect_the_others(nlp):
    data = bundle(PATIENT, {"resourceType": "Foo"}, {**observation(1), "status": FAMILY}, observation(2))
    made, outcomes = release_bundle(nlp, data)
    assert [outcome.status for outcome in outcomes] == ["released", "failed", "failed", "released"]
    assert [outcome.path for outcome in outcomes][2] == "Bundle.entry[2].resource"
    patient, note = (entry["resource"] for entry in made["entry"])
    assert note["subject"]["reference"] == f"Patient/{patient['id']}"
    assert made["entry"][1]["fullUrl"].endswith(f".invalid/fhir/Observation/{note['id']}")
    assert not [canary for canary in (*CANARIES, "hospital.example") if canary in json.dumps(made)]


def test_entries_with_a_urn_lead_to_each_other(nlp):
    urn = "urn:uuid:c757873d-ec9a-4326-a141-556f43239520"
    patient = {key: value for key, value in PATIENT.items() if key != "id"}
    data = bundle(patient, {**observation(1), "subject": {"reference": urn}})
    data["entry"][0]["fullUrl"] = urn
    made, _ = release_bundle(nlp, data)
    name = made["entry"][0]["resource"]["name"][0]
    assert made["entry"][0]["fullUrl"] == made["entry"][1]["resource"]["subject"]["reference"] != urn
    assert made["entry"][1]["resource"]["note"][0]["text"] == f"{name['given'][0]} {name['family']}"


def test_requests_of_a_transaction_are_rewritten(nlp):
    data = bundle(PATIENT, observation(1), kind="transaction")
    data["entry"][0]["request"] = {"method": "PUT", "url": "Patient/p1", "ifNoneExist": f"name={FAMILY}"}
    data["entry"][1]["request"] = {"method": "POST", "url": "Observation"}
    made, _ = release_bundle(nlp, data)
    first, second = made["entry"]
    assert first["request"] == {"method": "PUT", "url": f"Patient/{first['resource']['id']}"}
    assert second["request"] == {"method": "POST", "url": "Observation"}


@pytest.mark.parametrize("entry", [None, {}, "x", [None], [{"request": "x"}], [{"resource": []}]])
def test_a_damaged_bundle_is_an_error_and_not_a_crash(run, tmp_path, entry):
    source = write(tmp_path / "in", "all.ndjson", {"resourceType": "Bundle", "type": "batch", "entry": entry}, PATIENT)
    result = run(source)
    assert result.exit_code == 1
    assert "line 1" in result.stderr
    assert "unexpected" not in result.stderr
    assert "Patient" in (tmp_path / "out" / "all.ndjson").read_text()


def test_nothing_is_released_before_the_export_is_read(nlp):
    with (
        FhirDeidentifier(Deidentifier(nlp, style="tag")) as fhir,
        pytest.raises(ConfigError, match="call `read` first"),
    ):
        list(fhir.release([Unit(parse(PATIENT))]))


def test_the_deidentifier_has_its_own_dictionaries_again_after_an_export(nlp, tmp_path):
    entries = [LocalEntry("thistlewood", "CLINICIAN", "s.name")]
    with StoreWriter(tmp_path / "d") as writer:
        writer.add_institution(entries)
        writer.commit({})
    deid = Deidentifier(nlp, style="tag", dictionaries=tmp_path / "d")
    text = f"{FAMILY.lower()} and thistlewood"
    with FhirDeidentifier(deid) as fhir:
        fhir.read([parse(PATIENT)])
        assert deid(text, {"patient_id": "p1"}).text.startswith("[PATIENT]")
    assert deid(text, {"patient_id": "p1"}).text == f"{FAMILY.lower()} and [CLINICIAN]"


def test_a_bundle_in_a_bundle_is_refused(nlp):
    made, (outcome, _) = release_bundle(nlp, bundle(bundle(PATIENT), PATIENT))
    assert outcome.reason.endswith("it is in another Bundle")
    assert len(made["entry"]) == 1


def test_a_line_that_is_not_utf8_does_not_affect_the_others(run, tmp_path):
    source = write(tmp_path / "in", "all.ndjson", PATIENT)
    path = source / "all.ndjson"
    path.write_bytes(b'{"resourceType": "Pati\xe9nt"}\n' + path.read_bytes())
    result = run(source)
    assert result.exit_code == 1
    assert "line 1" in result.stderr
    assert len((tmp_path / "out" / "all.ndjson").read_text().splitlines()) == 1


def test_a_document_without_its_first_entry_is_refused(nlp):
    made, outcomes = release_bundle(nlp, bundle({"resourceType": "Composition"}, PATIENT, kind="document"))
    assert made is None
    assert outcomes[-1].reason == "Bundle: no first entry"


def test_the_command_writes_the_tree_of_an_export(run, tmp_path):
    source = write(tmp_path / "in", "Patient.ndjson", PATIENT, PATIENT | {"id": "p2"})
    write(source, "Practitioner.ndjson", PRACTITIONER)
    write(source, "Observation.ndjson", observation(1), "", observation(2))
    write(source, "one.json", bundle(observation(3)))
    result = run(source, "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("4 file(s) with 6 resource(s) written to ")
    lines = (tmp_path / "out" / "Observation.ndjson").read_text().splitlines()
    assert [json.loads(line)["resourceType"] for line in lines] == ["Observation", "Observation"]
    released = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert not [canary for canary in CANARIES if canary in released]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["resources"]["Observation"] == {"released": 3}
    assert report["profile"] == "default"
    assert FAMILY not in json.dumps(report)


def test_the_same_export_gives_the_same_files_again(run, tmp_path):
    source = write(tmp_path / "in", "all.ndjson", PATIENT, observation(1))
    assert run(source).exit_code == 0
    before = (tmp_path / "out" / "all.ndjson").read_bytes()
    assert run(source, "--overwrite").exit_code == 0
    assert (tmp_path / "out" / "all.ndjson").read_bytes() == before


def test_errors_name_lines_and_no_content(run, tmp_path):
    other = {"resourceType": "Contract", "status": "executed"}
    source = write(tmp_path / "in", "all.ndjson", "{" + FAMILY, {**PATIENT, FAMILY: 1}, observation(1), other)
    result = run(source)
    assert result.exit_code == 1
    assert "all.ndjson: line 1: not a JSON object" in result.stderr
    assert "all.ndjson: line 2.Patient: it has an element that FHIR R4 does not define" in result.stderr
    assert "1 resource(s) were removed, because the profile does not name their type: Contract" in result.stderr
    assert FAMILY not in result.output
    assert len((tmp_path / "out" / "all.ndjson").read_text().splitlines()) == 1


def test_a_file_of_which_nothing_is_released_is_not_written(run, tmp_path):
    source = write(tmp_path / "in", "bad.json", {"resourceType": "Foo"})
    write(source, "latin.json", observation(1))
    (source / "latin.json").write_bytes(b'{"resourceType": "Pati\xe9nt"}')
    write(source, "good.json", observation(1))
    result = run(source)
    assert result.exit_code == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.json"]
    assert "none of its 1 resource(s)" in result.stderr
    assert "latin.json" in result.stderr


def test_surrogates_need_a_key(cli, pipeline_folder, tmp_path):
    source = write(tmp_path / "in", "one.json", PATIENT)
    result = cli("fhir", source, "--pipeline", pipeline_folder, "--style", "surrogate", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "--key" in result.stderr


def test_an_own_profile_removes_what_it_does_not_name(run, tmp_path):
    profile = tmp_path / "own.toml"
    profile.write_text('fhir = "4.0.1"\n[resources.Patient]\nkeep = "gender"\n')
    source = write(tmp_path / "in", "one.json", PATIENT)
    assert run(source, "--profile", profile).exit_code == 0
    released = json.loads((tmp_path / "out" / "one.json").read_text())
    assert sorted(released) == ["gender", "id", "resourceType"]


def test_attachments_are_read_in_a_worker_process(run, tmp_path):
    data = base64.b64encode(f"Seen: {GIVEN} {FAMILY}".encode()).decode()
    content = [{"attachment": {"contentType": "text/plain", "data": data}}]
    about = {"status": "current", "subject": {"reference": "Patient/p1"}}
    source = write(
        tmp_path / "in", "all.ndjson", PATIENT, {"resourceType": "DocumentReference", **about, "content": content}
    )
    assert run(source).exit_code == 0
    patient, document = map(json.loads, (tmp_path / "out" / "all.ndjson").read_text().splitlines())
    name = patient["name"][0]
    text = base64.b64decode(document["content"][0]["attachment"]["data"]).decode()
    assert text == f"Seen: {name['given'][0]} {name['family']}"


def test_worker_processes_give_the_same(run, tmp_path):
    source = write(tmp_path / "in", "all.ndjson", PATIENT, *map(observation, range(4)))
    assert run(source).exit_code == 0
    before = (tmp_path / "out" / "all.ndjson").read_bytes()
    assert run(source, "--overwrite", "--n-process", 2).exit_code == 0
    assert (tmp_path / "out" / "all.ndjson").read_bytes() == before


def test_a_message_is_released_with_its_header(nlp):
    about = {"eventUri": f"http://example.org/{FAMILY}", "focus": [{"reference": "Patient/p1"}]}
    header = {
        "resourceType": "MessageHeader",
        **about,
        "source": {"name": f"ward of {GIVEN} {FAMILY}", "endpoint": f"http://example.org/{FAMILY}"},
        "response": {"identifier": FAMILY, "code": "ok"},
    }
    made, outcomes = release_bundle(nlp, bundle(header, PATIENT, kind="message"))
    assert [outcome.status for outcome in outcomes] == ["released", "released"], outcomes
    header, patient = (entry["resource"] for entry in made["entry"])
    assert header["focus"][0]["reference"] == f"Patient/{patient['id']}"
    assert header["response"]["code"] == "ok"
    assert not [canary for canary in CANARIES if canary in json.dumps(made)]


def test_surrogates_are_no_names_of_other_persons_in_the_records_of_the_patient(nlp):
    first = release_bundle(nlp, bundle(PATIENT, observation(1)))[0]["entry"][0]["resource"]["name"][0]
    doctor = {
        **observation(2, "Sin cambios."),
        "performer": [{"display": f"Dr {first['given'][0]} {first['family']}"}],
    }
    made, _ = release_bundle(nlp, bundle(PATIENT, observation(1), doctor))
    patient, note, _ = (entry["resource"] for entry in made["entry"])
    (name,) = patient["name"]
    assert {*name["given"], name["family"]}.isdisjoint({*first["given"], first["family"]})
    assert note["note"][0]["text"] == f"{name['given'][0]} {name['family']}"  # a note that does not name the clinician
