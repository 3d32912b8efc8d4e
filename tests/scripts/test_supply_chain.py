"""The supply chain: locked versions, the bill of materials, licences and hashes of what ships, reproducible wheels."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import licences, lock, sbom
from spacy_deid import shipped_pipelines

ROOT = Path(__file__).parent.parent.parent
BINARY = {".bin", ".onnx", ".ttf", ".npz", ".safetensors", ".pt", ""}


@pytest.fixture(scope="module")
def table():
    return licences.read_table()


needs_source = pytest.mark.skipif(
    not licences.PACKAGE.exists(), reason="needs the source of the package, which is out of the way"
)


@needs_source
def test_every_shipped_file_has_an_entry_and_every_entry_has_files(table):
    files = licences.list_files()
    assert len(files) > 500
    entries = [licences.describe(table, path) for path in files]
    assert [entry.what for entry in table if entry not in entries] == []


@needs_source
def test_no_binary_file_is_covered_by_a_general_entry(table):
    ours = {"resources/documents/glyphless.ttf", "py.typed"}
    paths = [path for path in licences.list_files() if Path(path).suffix in BINARY and path not in ours]
    weights = [path for path in paths if not path.startswith("pipelines/") or path.endswith("/model")]
    assert len(weights) >= 10
    assert [path for path in weights if not licences.describe(table, path).derives] == []


@needs_source
def test_the_report_and_the_pinned_hashes_are_up_to_date():
    late = [path.name for path, text in licences.outputs() if path.read_text(encoding="utf8") != text]
    assert late == [], "run: python -m scripts.licences"


@needs_source
def test_a_changed_file_does_not_have_the_pinned_hash(tmp_path, table):
    package = tmp_path / "spacy_deid"
    (package / "lang" / "es").mkdir(parents=True)
    (package / "lang" / "es" / "counts.bin").write_bytes(b"other")
    pinned = dict(reversed(line.split()) for line in licences.HASHES.read_text(encoding="utf8").splitlines())
    path = "spacy_deid/lang/es/counts.bin"
    assert licences.pin(table, package).split()[1] == path
    assert licences.pin(table, package).split()[0] == hashlib.sha256(b"other").hexdigest() != pinned[path]


def test_a_file_without_an_entry_is_an_error(table):
    with pytest.raises(LookupError, match=r"weights/new\.bin"):
        licences.describe(table, "weights/new.bin")


def test_share_alike_sources_reach_the_licence_of_what_is_computed_from_them(table):
    assert licences.describe(table, "pipelines/fi/deid_ner/model").if_adapted == "CC-BY-SA-4.0"
    words = licences.describe(table, "resources/documents/ooxml_words.txt")
    assert (words.licence, words.if_adapted) == ("MIT and MPL-2.0", "")


@pytest.mark.parametrize("lang", shipped_pipelines())
def test_the_sources_of_a_pipeline_are_those_that_its_metadata_name(lang, table):
    import spacy_deid

    named = {source["name"] for source in spacy_deid.load(lang).meta["sources"]} - {"authored corpus"}
    assert len(named) == len(licences.describe(table, f"pipelines/{lang}/deid_ner/model").derives)


@pytest.mark.skipif(not lock.CONSTRAINTS.exists(), reason="needs the folder .ci of the repository")
def test_the_constraints_name_a_version_for_every_requirement():
    lines = [line for line in lock.CONSTRAINTS.read_text(encoding="utf8").splitlines() if line[0] != "#"]
    locked = dict(line.split("==") for line in lines)
    requirements = lock.read_requirements(lock.EXTRAS)
    assert len(requirements) > 40
    wrong = [
        str(one)
        for one in requirements
        if not one.specifier.contains(locked.get(lock.canonicalize_name(one.name), "0"), prereleases=True)
    ]
    assert wrong == [], "run: python -m scripts.lock"


@needs_source
def test_the_bill_of_materials_is_valid_and_complete():
    bill = sbom.make_sbom([])
    names = {component["name"].lower() for component in bill["components"]}
    assert {"spacy", "thinc", "numpy", "typer"} <= names
    models = [one for one in bill["metadata"]["component"]["components"] if one["type"] == "machine-learning-model"]
    assert len(models) == 12
    assert all(component.get("licenses") for component in bill["components"])
    validation = pytest.importorskip("cyclonedx.validation.json", reason="validates with cyclonedx-python-lib")
    from cyclonedx.schema import SchemaVersion

    validator = validation.JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(sbom.json.dumps(bill)) is None


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="builds from a clone of the repository")
def test_two_builds_give_the_same_wheel(tmp_path):
    hashes = []
    for name in ("first", "second"):
        clone = tmp_path / name / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        os.utime(clone / "README.md", (1_500_000_000 + len(hashes), 1_500_000_000))
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / name), "."]
        variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run(command, cwd=clone, check=True, capture_output=True, env=variables)
        (wheel,) = (tmp_path / name).glob("*.whl")
        hashes.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert hashes[0] == hashes[1]
