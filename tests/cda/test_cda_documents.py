"""Documents of CDA: what is kept, what is replaced, and what is refused."""

import base64
import re

import pytest
from cda_documents import (
    AUTHOR,
    CANARIES,
    CUSTODIAN,
    FAMILY,
    GIVEN,
    LOINC,
    NUMBER,
    PATIENT,
    SENTENCE,
    document,
    file_body,
    observation,
    planted,
    section,
)

from spacy_deid.cda.profile import parse_profile
from spacy_deid.errors import ConfigError

etree = pytest.importorskip("lxml.etree", reason="documents of CDA need lxml: pip install 'spacy-deid[documents]'")
V3 = "{urn:hl7-org:v3}"
SNOMED = 'codeSystem="2.16.840.1.113883.6.96"'


def tree(outcome):
    """The root of a released document."""
    assert outcome.data is not None, outcome.reason
    return etree.fromstring(outcome.data)


def only(outcome, name):
    """The only element with a name."""
    [found] = tree(outcome).iter(V3 + name)
    return found


def names_left(data):
    """The names in a document, also those that elements divide and those in its files."""
    whole = data.decode()
    files = [base64.b64decode(text).decode("utf-8", "replace") for text in re.findall(r'"B64"[^>]*>([^<]+)', whole)]
    plain = "".join(etree.fromstring(data).itertext())
    return [canary for canary in CANARIES if canary in "\n".join([whole, plain, *files])]


@pytest.mark.parametrize("style", ["tag", "surrogate"])
def test_no_name_is_left_in_any_element_or_attribute(release, style):
    data = planted()
    assert data.count(b"<") > 1000
    _, outcome = release(document(section()), data, style=style)
    assert outcome.data is not None, outcome.reason
    assert names_left(outcome.data) == []
    assert b"alien" not in outcome.data


def test_codes_units_numbers_and_structure_are_kept(release):
    value = '<value xsi:type="PQ" value="072.0" unit="/min"/>'
    coded = f'<value xsi:type="CD" code="38341003" {SNOMED} displayName="Hypertension"/>'
    span = '<value xsi:type="IVL_PQ"><low value="60"/><high value="100"/></value>'
    before = document(section("<paragraph>stable</paragraph>", *map(observation, (value, coded, span))))
    [outcome] = release(before, style="surrogate")
    for name in ("code", "value", "low", "high", "templateId", "statusCode", "typeId", "languageCode"):
        old, new = (
            [dict(one.attrib) for one in root.iter(V3 + name)] for root in (etree.fromstring(before), tree(outcome))
        )
        assert old == new
        assert old
    tags = [
        [one.tag for one in root.iter() if isinstance(one.tag, str)]
        for root in (etree.fromstring(before), tree(outcome))
    ]
    assert tags[0] == tags[1]


def test_references_lead_to_the_same_elements(release):
    narrative = (
        f'<table><tbody><tr ID="r1"><td>{FAMILY}</td></tr><tr ID="pat-{NUMBER}"><td>x</td></tr></tbody></table>'
    )
    refers = [f'<text>see <reference value="#{name}"/></text>' for name in ("r1", f"pat-{NUMBER}", "none")]
    away = f'<text><reference value="https://x.org/{FAMILY}"/></text>'
    data = document(section(narrative, *(observation(more=one) for one in [*refers, away])))
    [outcome] = release(data)
    rows = [row.get("ID") for row in tree(outcome).iter(V3 + "tr")]
    found = [item.get("value") for item in tree(outcome).iter(V3 + "reference")]
    assert found == ["#r1", f"#{rows[1]}", "#none", None]
    assert rows[0] == "r1"
    assert NUMBER not in rows[1]
    assert names_left(outcome.data) == []


def test_ids_that_are_equal_have_equal_surrogates_in_all_documents(release):
    refers = '<reference><externalDocument><id root="1.2.36.4" extension="DOC-1"/></externalDocument></reference>'
    for style in ("tag", "surrogate"):
        one, two = release(document(section()), document(section("x", observation(more=refers))), style=style)
        ids = [(item.get("root"), item.get("extension")) for item in tree(two).iter(V3 + "id")]
        assert ids[0] == ids[-1] == tuple(tree(one).find(f"{V3}id").attrib.values()) != ("1.2.36.4", "DOC-1")


def test_a_narrative_keeps_tables_lists_and_what_is_no_name(release):
    narrative = (
        f'<table border="1" ID="t"><thead><tr><th>Name</th></tr></thead><tbody><tr><td colspan="2">{GIVEN}\n   '
        f'{FAMILY}</td></tr></tbody></table><list><item>a <content styleCode="Bold">b</content> c</item></list>'
        f"<paragraph>Quill<content>feather</content> rests<br/>Wil<blink>hel</blink>mina eats</paragraph>"
    )
    [outcome] = release(document(section(narrative)))
    made = etree.tostring(only(outcome, "text"), encoding="unicode")
    assert 'colspan="2">[PATIENT]<' in made
    assert '<item>a <content styleCode="Bold">b</content> c</item>' in made
    assert "[PATIENT]<content/> rests<br/>[PATIENT] eats" in made.replace("<content></content>", "<content/>")
    assert outcome.removed["…"] == 1


@pytest.mark.parametrize(("media", "data"), [("text/plain", SENTENCE), ("text/html", f"<p>{SENTENCE}</p>")])
def test_a_body_that_is_a_file_is_de_identified(release, media, data):
    [outcome] = release(document(body=file_body(data.encode(), media)))
    assert "[PATIENT]" in base64.b64decode(only(outcome, "text").text).decode()
    assert names_left(outcome.data) == []
    [plain] = release(document(body=file_body(media="text/plain", representation="")))
    assert only(plain, "text").text.startswith("Seen with [PATIENT]")


def test_a_file_of_an_unknown_type_is_removed(release):
    [outcome] = release(document(body=file_body(media="application/x-unknown")))
    assert dict(only(outcome, "text").attrib) == {
        "mediaType": "application/x-unknown", "representation": "B64", "nullFlavor": "MSK",
    }  # fmt: skip
    assert not only(outcome, "text").text


def test_dates_of_a_patient_move_by_the_same_offset(release):
    from datetime import datetime

    later = document(section("x", observation())).replace(b'"20241130101500', b'"20241120101500')
    one, two = release(document(section("x", observation())), later, style="surrogate")
    days = [tree(item).find(f"{V3}effectiveTime").get("value") for item in (one, two)]
    assert all(day.endswith("101500+0100") for day in days)
    first, second = (datetime.strptime(day[:8], "%Y%m%d") for day in days)
    assert (first - second).days == 10
    assert first != datetime(2024, 11, 30)
    tagged = release(document(section()))[0]
    assert dict(tree(tagged).find(f"{V3}effectiveTime").attrib) == {"nullFlavor": "MSK"}


def test_the_same_person_has_the_same_surrogates_in_cda_fhir_and_hl7(release, nlp):
    from spacy_deid import Deidentifier
    from spacy_deid.fhir.run import FhirDeidentifier, Unit
    from spacy_deid.hl7.run import Hl7Deidentifier
    from spacy_deid.surrogates.keys import ProjectKey

    key = ProjectKey(bytes(range(32)))
    [cda] = release(document(section(f"<paragraph>{FAMILY}</paragraph>")), style="surrogate")
    patient = {"resourceType": "Patient", "id": NUMBER, "name": [{"family": FAMILY, "given": [GIVEN]}]}
    patient |= {"identifier": [{"value": NUMBER}]}
    message = f"MSH|^~\\&|||||20241130||ADT^A01|1|P|2.5\rPID|1||{NUMBER}^^^H^MR||{FAMILY}^{GIVEN}\r".encode()
    with FhirDeidentifier(Deidentifier(nlp, style="surrogate", key=key), key=key) as run:
        run.read([patient])
        [fhir] = run.release([Unit(patient)])
    with Hl7Deidentifier(Deidentifier(nlp, style="surrogate", key=key), key=key) as run:
        run.read([message])
        [hl7] = run.release([message])
    name = tree(cda).find(f".//{V3}patient/{V3}name")
    number = tree(cda).find(f".//{V3}patientRole/{V3}id").get("extension")
    assert fhir.resource["name"] == [{"family": name[1].text, "given": [name[0].text]}]
    assert fhir.resource["identifier"][0]["value"] == number
    assert hl7.data.decode().split("\r")[1] == f"PID|1||{number}^^^^MR||{name[1].text}^{name[0].text}"
    assert only(cda, "paragraph").text == name[1].text != FAMILY


@pytest.mark.parametrize(("value", "made"), [("93", "90"), ("89", "89")])
def test_an_age_over_89_years_becomes_90_unless_the_policy_keeps_ages(release, value, made):
    data = document(section("x", observation(f'<value xsi:type="PQ" value="{value}" unit="a"/>', 'code="30525-0"')))
    assert only(release(data)[0], "value").get("value") == made
    assert only(release(data, policy="limited_data_set")[0], "value").get("value") == value


NOBODY = PATIENT.replace(NUMBER, "").replace("1.2.36.1", "")
BOMB = '<!DOCTYPE a [<!ENTITY b "{0}"><!ENTITY c "&b;&b;&b;&b;">]>'


def test_a_bad_document_does_not_affect_the_others(release):
    good = document(section(f"<paragraph>{FAMILY}</paragraph>"))
    head = good.index(b"<ClinicalDocument")
    outside = f'<!DOCTYPE a SYSTEM "file:///etc/{FAMILY}">'.encode()
    bad = {
        b"": "malformed XML",
        FAMILY.encode(): "malformed XML",
        good[:-30]: "malformed XML",
        good[:head] + BOMB.format(FAMILY).encode() + good[head:].replace(b"stable", b"&c;"): "document type",
        good[:head] + outside + good[head:]: "document type",
        b"<a>" * 300 + b"</a>" * 300: "malformed XML",
        f"<{FAMILY}/>".encode(): "its root is not ClinicalDocument",
        good.replace(b"urn:hl7-org:v3", b"urn:other"): "its root is not ClinicalDocument",
        good.replace(b"POCD_HD000040", b"POCD_HD000050"): "ClinicalDocument/typeId",
        document(section(), people=PATIENT + CUSTODIAN): "the element author is missing",
        document(section(), people=AUTHOR + CUSTODIAN): "the element recordTarget is missing",
        document(section(), people=PATIENT + PATIENT.replace(NUMBER, "8") + AUTHOR + CUSTODIAN): "several patients",
        document(section(), people=NOBODY + AUTHOR + CUSTODIAN): "no identifier",
        document(body="<structuredBody/>"): "structuredBody: the element component is missing",
        document(section("x", f"<observation><{FAMILY}/></observation>")): "entry/observation: the element",
        document(body=file_body(representation="").replace("text/plain", "application/pdf")): "must be in base64",
        document(body=file_body().replace(">U2", ">**")): "ClinicalDocument/component/nonXMLBody/text: it is",
        document(body=file_body(b"no pdf", "application/pdf")): "nonXMLBody/text",
    }  # fmt: skip
    outcomes = release(*(data for item in bad for data in (item, good)))
    assert [outcome.status for outcome in outcomes] == ["failed", "released"] * len(bad)
    for outcome, reason in zip(outcomes[::2], bad.values(), strict=True):
        assert reason in outcome.reason
        assert outcome.data is None
        assert not [canary for canary in CANARIES if canary in outcome.reason + repr(outcome)]


def test_a_document_in_another_encoding_is_read(release):
    text = document(section(f"<paragraph>{FAMILY} café</paragraph>")).decode()
    for name in ("UTF-16", "ISO-8859-1"):
        [outcome] = release(text.replace('"UTF-8"', f'"{name}"').encode(name))
        assert only(outcome, "paragraph").text == "[PATIENT] café"


def test_the_root_of_the_patients_id_can_be_chosen(release):
    other = PATIENT.replace("<addr", '<id root="1.2.36.8" extension="555001"/><addr', 1)
    one = document(section(), people=other + AUTHOR + CUSTODIAN)
    two = document(section(), people=PATIENT.replace(NUMBER, "555001") + AUTHOR + CUSTODIAN)
    made = release(one, style="surrogate", patient_system="1.2.36.8") + release(two, style="surrogate")
    families = [tree(outcome).find(f".//{V3}patient/{V3}name/{V3}family").text for outcome in made]
    assert families[0] == families[1] != FAMILY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense = 1", "unknown key 'nonsense'"),
        ('[types.ClinicalDocument]\nelements = "x"', "unknown type 'x'"),
        ('[types.ClinicalDocument]\nkeep = "id"\ndate = "id"', "'id' in the table of ClinicalDocument has two rules"),
        ('[types.ClinicalDocument]\nroot = "id"', "must be an attribute"),
        ('[types.ClinicalDocument]\nlabels = { ABC = "id" }', "unknown label 'ABC'"),
        ("[types.ClinicalDocument]\nkeep = 1", "wrong type"),
        ('[types.x]\nkeep = "@a"', "unknown type 'ClinicalDocument'"),
        ("[", "not TOML"),
    ],
)
def test_a_wrong_profile_is_refused(text, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_profile(text, "own.toml")


def test_a_profile_that_removes_a_required_element_releases_nothing(release):
    small = '[types.ClinicalDocument]\ntypes = { TEMPLATE = "typeId" }\n[types.TEMPLATE]\nkeep = "@root @extension"'
    [outcome] = release(document(section()), profile=parse_profile(small, "own.toml"))
    assert outcome.status == "failed"
    assert "ClinicalDocument: the element id is missing" in outcome.reason


# --- the command ---


def test_the_command_writes_the_documents_that_succeed(cli, pipeline_folder, tmp_path):
    import json

    from spacy_deid.surrogates.keys import ProjectKey

    key, folder, out = tmp_path / "keys" / "p.key", tmp_path / "in", tmp_path / "out"
    ProjectKey(bytes(range(32))).to_file(key)
    folder.mkdir()
    (folder / "good.xml").write_bytes(document(section(f"<paragraph>{SENTENCE}</paragraph>")))
    (folder / "bad.xml").write_bytes(document(section())[:-9])
    (folder / "other.cda").write_bytes(document(section(), people=PATIENT))
    options = (
        "--pipeline",
        pipeline_folder,
        "--style",
        "surrogate",
        "--key",
        key,
        "--report",
        tmp_path / "report.json",
    )
    result = cli("cda", folder, "-o", out, *options)
    assert result.exit_code == 1
    assert [path.name for path in out.iterdir() if path.suffix] == ["good.xml"]
    assert names_left((out / "good.xml").read_bytes()) == []
    assert "bad.xml: damaged: it contains malformed XML" in result.output
    assert "other.cda: ClinicalDocument: the element author is missing" in result.output
    assert "1 document(s) written" in result.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["documents"] == {"ClinicalDocument": {"failed": 2, "released": 1}}
    assert not [canary for canary in CANARIES if canary in result.output + json.dumps(report)]
    assert LOINC in (out / "good.xml").read_text()
