"""The dossier: what it says is true, it is signed, and it has no text of a note."""

import json
import re

import numpy as np
import pytest

import spacy_deid
from spacy_deid.audit.estimate import Rate
from spacy_deid.dossier import make_dossier, render, sign, verify
from spacy_deid.dossier.figures import Attachments
from spacy_deid.dossier.legal import KINDS, effective_policy, judge_hipaa, list_kept, map_gdpr, map_hipaa
from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, write_folder
from spacy_deid.evaluation.fairness import compare
from spacy_deid.labels import HIPAA, LABELS
from spacy_deid.policies import Policy, load_policy, shipped_policies
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.strategies import keep
from spacy_deid.surrogates.style import SurrogateStyle

CANARY = "Zebulonia"
TEXT = f"Nombre: {CANARY} Quintamar. NHC: 4471906. Ocupación: espeleólogo zurdo."
MISSED = "espeleólogo zurdo"


def annotated(name, text, *spans):
    return AnnotatedText(
        name, text, tuple(Entity(text.index(value), text.index(value) + len(value), label) for value, label in spans)
    )


@pytest.fixture(scope="module")
def gold():
    spans = (f"{CANARY} Quintamar", "PATIENT"), ("4471906", "MRN"), ("Ocupación", "OTHER")
    other = "NHC: 4471907. Sin cambios."
    return [annotated(f"{CANARY}-1", TEXT, *spans), annotated("b", other, ("4471907", "MRN"))]


@pytest.fixture(scope="module")
def key():
    return ProjectKey(bytes(range(32)))


@pytest.fixture(scope="module")
def nlp():
    return spacy_deid.load("es")


@pytest.fixture(scope="module")
def content(nlp, gold, key):
    review = {"leaking": 1, "reviewed": 9, "notes": 80, "upper": 0.05, "level": 0.95}
    log = [{"user": CANARY, "action": "release", "seal": "ab" * 32}, {"user": "b", "action": "release", "seal": "c"}]
    return make_dossier(
        nlp,
        gold,
        policy=load_policy("safe_harbor"),
        style="surrogate",
        key=key,
        data="board",
        types={"b": "discharge", f"{CANARY}-1": "emergency"},
        attachments=Attachments(review=review, log=log),
        bootstrap=20,
    )


def test_figures_are_those_of_the_gold_notes(content):
    assert content["gold"]["notes"] == 2
    assert content["gold"]["identifiers"] == 4
    assert content["labels"]["MRN"]["entities"] == 2
    assert content["labels"]["MRN"]["missed"] == 0
    assert 0 < content["labels"]["MRN"]["upper"] < 1
    assert content["labels"]["OTHER"]["missed"] == 1
    assert content["misses"]["levels"]["all"]["missed_entities"] == 1
    assert content["scores"]["clean"]["clean"] == 1
    assert content["types"]["emergency"]["missed"] == 1
    assert content["types"]["discharge"]["missed"] == 0


def test_it_says_what_was_run(content, nlp, key):
    run = content["run"]
    assert run["spacy_deid"] == spacy_deid.__version__
    assert run["key"] == key.fingerprint
    assert run["components"] == list(nlp.pipe_names)
    assert all(re.fullmatch("[0-9a-f]{64}", run[name]) for name in ("package", "policy_hash"))


def test_residual_risk_has_the_numbers_in_words(content):
    said = " ".join(content["residual"])
    assert "2 notes with 4 identifiers. In 1 of these" in said
    assert "2 notes are few" in said
    assert "EMAIL" in said.partition("Nothing is known")[2]


def test_neither_the_page_nor_the_pdf_has_text_names_or_users(content, key):
    reportlab = pytest.importorskip("reportlab")
    assert reportlab
    pdfium = pytest.importorskip("pypdfium2")
    from spacy_deid.dossier.pages import write_pdf

    page = sign(render(content), key).decode()
    document = pdfium.PdfDocument(write_pdf(content, "Dossier"))
    printed = " ".join(document[i].get_textpage().get_text_range() for i in range(len(document)))
    assert "Residual risk" in printed
    for text in (page, printed, json.dumps(content)):
        for word in (CANARY, "Quintamar", "4471906", "espele", "Sin cambios"):
            assert word not in text


def test_the_page_loads_nothing_and_contains_its_data(content):
    page = render(content)
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)
    data = re.search(r'<script type="application/json" id="dossier">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["gold"] == content["gold"]


@pytest.mark.parametrize("policy", shipped_policies())
def test_every_identifier_of_safe_harbor_has_a_row(policy):
    rows = map_hipaa(load_policy(policy), {})
    assert [row["letter"] for row in rows] == list(HIPAA)
    stays = [row["letter"] for row in rows if row["status"] == "stays"]
    assert stays == {"limited_data_set": ["B", "C"]}.get(policy, [])
    assert [row["letter"] for row in rows if row["status"] == "not text"] == ["Q"]
    assert ("data use agreement" in judge_hipaa(load_policy(policy))) == (policy == "limited_data_set")


def test_a_policy_that_keeps_a_number_needs_an_expert():
    policy = Policy("ours", labels={"MRN": "keep"})
    row = next(row for row in map_hipaa(policy, {}) if row["letter"] == "H")
    assert row["status"] == "stays"
    assert "MRN" in row["remark"]
    assert "expert determination" in judge_hipaa(policy)
    assert [kept["label"] for kept in list_kept(policy)] == ["MRN"]


def test_a_policy_named_like_a_limited_data_set_is_judged_by_its_labels():
    policy = Policy("limited_data_set", labels={"DATE": "keep", "MRN": "keep"})
    assert "expert determination" in judge_hipaa(policy)
    assert "data use agreement" in judge_hipaa(Policy("ours", labels={"DATE": "keep"}))


def test_labels_that_the_style_releases_are_kept():
    style = SurrogateStyle(labels={"CITY": keep})
    policy = effective_policy(load_policy("strict"), style.releases)
    assert policy.action("CITY") == "keep"
    assert policy.action("MRN") == "replace"
    assert next(row for row in map_hipaa(policy, {}) if row["letter"] == "B")["status"] == "stays"


def test_every_label_is_a_kind_of_personal_data_of_the_gdpr():
    named = [label for kind in KINDS for label in kind.labels]
    assert sorted(named) == sorted(LABELS)
    rows = map_gdpr(load_policy("strict"), {"SEX": {"entities": 3, "missed": 1}})
    assert next(row for row in rows if "SEX" in row["kept"])["missed"] == 1


def test_a_signature_is_valid_for_its_key_and_its_content_only(content, key, tmp_path):
    path = tmp_path / "dossier.html"
    path.write_bytes(sign(render(content), key))
    verify(path, key)
    with pytest.raises(InputError, match="it was signed with key"):
        verify(path, ProjectKey(bytes(range(1, 33))))
    whole = path.read_bytes()
    for changed in (whole.replace(b"4 identifiers", b"9 identifiers", 1), b" " + whole, whole[:-1], whole + b"x"):
        assert changed != whole
        path.write_bytes(changed)
        with pytest.raises(InputError):
            verify(path, key)


def test_the_commands_make_and_verify_a_dossier(cli, gold, tmp_path):
    write_folder(gold, tmp_path / "gold", "brat")
    (tmp_path / "types.csv").write_text(f"note,type\nb,discharge\n{CANARY}-1,emergency\n", encoding="utf8")
    assert cli("key", "new", tmp_path / "project.key").exit_code == 0
    page, pdf, key = tmp_path / "d.html", tmp_path / "d.pdf", ("--key", tmp_path / "project.key")
    made = cli("dossier", "make", "es", tmp_path / "gold", "--output", page, "--pdf", pdf, *key,
               "--policy", "strict", "--types", tmp_path / "types.csv", "--bootstrap", "10")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "1 of 4 identifiers missed" in made.output
    assert cli("dossier", "verify", page, *key, "--pdf", pdf).exit_code == 0
    pdf.write_bytes(pdf.read_bytes() + b" ")
    other = cli("dossier", "verify", page, *key, "--pdf", pdf)
    assert other.exit_code == 1
    assert "not the PDF" in other.stderr
    again = cli("dossier", "make", "es", tmp_path / "gold", "--output", page, *key)
    assert again.exit_code == 1
    assert "already exist" in again.stderr


def test_attached_results_are_shown(content, gold):
    rate = Rate(80, 4, 40, 0.05, 0.01, None, 0.0404, 1.1, [0.02, 0.09]).as_dict()
    audit = {"audited": 80, "patients": 40, "leaks": {"all": {"all": rate}}}
    groups = {"Basque": np.array([[9, 10], [8, 10]]), "Mapuche": np.array([[7, 10], [8, 10]])}
    page = render({**content, "audit": audit, "fairness": {"origin": compare(groups, 10, 0)}})
    for shown in ("0.0404", "0.0200 – 0.0900", "Mapuche", "0.7500", "at most 5.0 %", "release", "2 users"):
        assert shown in page
    assert "No audit was attached" in render(content)


@pytest.mark.parametrize("option", ["--audit", "--fairness", "--review", "--log"])
def test_an_attachment_of_another_kind_is_refused(cli, gold, tmp_path, option):
    write_folder(gold, tmp_path / "gold", "brat")
    cli("key", "new", tmp_path / "project.key")
    (tmp_path / "x.json").write_text('{"a": 1}\n', encoding="utf8")
    found = cli("dossier", "make", "es", tmp_path / "gold", "--output", tmp_path / "d.html", "--key",
                tmp_path / "project.key", option, tmp_path / "x.json", "--bootstrap", "0")  # fmt: skip
    assert found.exit_code == 1
    assert "is not the output of" in found.stderr
    assert not (tmp_path / "d.html").exists()
