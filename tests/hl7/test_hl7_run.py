"""Messages, files and the command."""

import base64
import json

import pytest
from hl7_messages import (
    CANARIES,
    CLINICIAN,
    FAMILY,
    GIVEN,
    HEAD,
    NK1,
    NUMBER,
    PID,
    SENTENCE,
    ed,
    message,
    obx,
    planted,
)

from spacy_deid import Deidentifier
from spacy_deid.errors import ConfigError
from spacy_deid.hl7.profile import default_profile, parse_profile
from spacy_deid.hl7.run import Hl7Deidentifier
from spacy_deid.surrogates.keys import ProjectKey

TYPES = sorted(default_profile().values)


def fields(outcome, name, number, nth=0):
    """A field of the segment with a name in a released message."""
    assert outcome.data is not None, outcome.reason
    lines = [line for line in outcome.data.decode().split("\r") if line.startswith(name)]
    return lines[nth].split("|")[number - (name == "MSH")]


@pytest.mark.parametrize("segment", planted(), ids=lambda segment: segment[:3])
@pytest.mark.parametrize("style", ["tag", "surrogate"])
def test_no_name_is_left_in_any_field(release, segment, style):
    [outcome] = release(message(segment), style=style)
    assert outcome.data is not None, outcome.reason
    text = outcome.data.decode()
    assert not [canary for canary in CANARIES if canary in text]
    assert text.startswith("MSH|^~\\&|")
    assert len(text.split("\r")) >= 5


@pytest.mark.parametrize("kind", [*TYPES, "RP", "ZZ", ""])
def test_no_name_is_left_in_an_observation_of_any_type(release, kind):
    value = ed() if kind == "ED" else f"{SENTENCE}^{FAMILY}^{GIVEN}&{CLINICIAN}^{NUMBER}~{FAMILY}"
    [outcome] = release(message(obx(value, kind)))
    assert outcome.data is not None, outcome.reason
    text = outcome.data.decode()
    decoded = base64.b64decode(fields(outcome, "OBX", 5).split("^")[4]).decode() if kind == "ED" else ""
    assert not [canary for canary in CANARIES if canary in text + decoded]
    assert kind != "ED" or "[PATIENT]" in decoded


def test_codes_units_numbers_and_structure_are_kept(release):
    lines = [
        "OBR|1|A1|B2|8867-4^Heart rate^LN|||20241130",
        "OBX|1|NM|8867-4^Heart rate^LN||072.0|/min^per minute^UCUM|60-100|N|||F|||20241130",
        "OBX|2|SN|1^x^L||>^100^-^200|mg/dl",
        'OBX|3|CWE|2^y^L||38341003^Hypertension^SCT|""||A~B',
    ]
    [outcome] = release(message(*lines))
    rows = outcome.data.decode().split("\r")
    assert rows[0].startswith("MSH|^~\\&|")
    assert "|ORU^R01|" in rows[0]
    assert rows[0].endswith("|P|2.5.1")
    assert fields(outcome, "OBX", 5) == "072.0"
    assert fields(outcome, "OBX", 6) == "/min^per minute^UCUM"
    assert fields(outcome, "OBX", 7) == "60-100"
    assert fields(outcome, "OBX", 3) == "8867-4^Heart rate^LN"
    assert fields(outcome, "OBX", 5, 1) == ">^100^-^200"
    assert fields(outcome, "OBX", 5, 2) == "38341003^Hypertension^SCT"
    assert fields(outcome, "OBX", 6, 2) == '""'
    assert fields(outcome, "OBX", 8, 2) == "A~B"
    assert [row.count("|") for row in rows[:4]] == [row.count("|") for row in message().decode().split("\r")[:4]]


def test_dates_of_a_patient_move_by_the_same_offset(release):
    from datetime import datetime

    first = message("OBR|1||||||20241130", "OBX|1|TS|1^x^L||20241129101112.5+0100||||||F")
    second = message("OBR|1||||||20241120")
    one, two = release(first, second, style="surrogate")
    days = [datetime.strptime(fields(item, "OBR", 7), "%Y%m%d") for item in (one, two)]
    assert days[0] != datetime(2024, 11, 30)
    assert (days[0] - days[1]).days == 10
    moved = fields(one, "OBX", 5)
    assert moved.endswith("101112.5+0100")
    assert (days[0] - datetime.strptime(moved[:8], "%Y%m%d")).days == 1


def test_the_same_patient_has_the_same_surrogates_in_fields_and_text(release):
    one, two = release(message(obx(f"{GIVEN} {FAMILY}")), message(obx(FAMILY)), style="surrogate")
    family, given = fields(one, "PID", 5).split("^")[:2]
    assert fields(one, "OBX", 5) == f"{given} {family}"
    assert fields(two, "OBX", 5) == family == fields(two, "PID", 5).split("^")[0]
    assert fields(one, "PID", 3).split("^")[0] == fields(two, "PID", 3).split("^")[0] != NUMBER
    assert fields(one, "MSH", 10) == fields(two, "MSH", 10) != "7"


def test_names_are_found_across_escapes_lines_and_segments(release):
    texts = [f"a {GIVEN}\\.br\\{FAMILY}", f"Quill\\H\\feather\\N\\ b\\T\\c {GIVEN}", f"{FAMILY} d"]
    [outcome] = release(message(*(obx(text, number=i) for i, text in enumerate(texts, 1))))
    found = [fields(outcome, "OBX", 5, i) for i in range(3)]
    assert not [canary for canary in CANARIES if canary in outcome.data.decode()]
    assert found[0].startswith("a [PATIENT]")
    assert " b\\T\\c [PATIENT]" in found[1]
    assert found[2].endswith(" d")


def test_a_bad_message_does_not_affect_the_others(release):
    bad = [
        message(obx(f"{FAMILY} \\Q\\")),
        FAMILY.encode(),
        message(obx("^TEXT^plain^Base64^***" + FAMILY, "ED")),
        message(people=()),
        message(people=(PID, PID.replace(NUMBER, "8"))),
        message(people=(PID.replace(NUMBER, ""),)),
        message(obx(FAMILY)).replace(b"Quill", b"\xff"),
        message(obx("x", "ED").replace("||x|", f"||{ed(b'no pdf', 'pdf')}|")),
    ]
    good = message(obx(FAMILY))
    outcomes = release(*(part for item in bad for part in (item, good)))
    assert [outcome.status for outcome in outcomes] == ["failed", "released"] * len(bad)
    for outcome in outcomes[::2]:
        assert outcome.reason
        assert outcome.data is None
        assert not [canary for canary in CANARIES if canary in outcome.reason + repr(outcome)]


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("NM|30525-0^x^LN||93|a", "90"),
        ("NM|1^Patient age^L||93", "90"),
        ("NM|1^EDAD^L||89|a", "89"),
        ("NM|1^x^L~30525-0^y^LN||91.5|mo", "91.5"),
        ("NM|30525-0^x^LN||1100|mo", "1080"),
        ("SN|30525-0^x^LN||>^93|a", ">^90"),
        ("NM|1^Average^L||93|mg", "93"),
    ],
)
def test_an_age_over_89_years_becomes_90_unless_the_policy_keeps_ages(release, line, made):
    [outcome] = release(message(f"OBX|1|{line}"))
    assert fields(outcome, "OBX", 5) == made
    [kept] = release(message(f"OBX|1|{line}"), policy="limited_data_set")
    assert fields(kept, "OBX", 5) == line.split("|")[3]


def test_other_types_of_messages_are_removed(release):
    ack = message(head=HEAD.replace("ORU^R01", "ORM^O01"))
    assert [outcome.status for outcome in release(ack, b"FHS|^~\\&|Quillfeather\r")] == ["removed", "removed"]


def test_the_identifier_of_an_authority_is_the_id_of_the_patient(release):
    pid = PID.replace(f"{NUMBER}^^^HOSP^MR", f"{NUMBER}^^^HOSP^MR~5550001^^^CITY^PI")
    one, other = message(people=(pid,)), message(people=(PID.replace(NUMBER, "5550001"),))
    made = release(one, style="surrogate", patient_system="CITY") + release(other, style="surrogate")
    assert fields(made[0], "PID", 5) == fields(made[1], "PID", 5)


def test_a_run_must_read_before_it_releases(nlp):
    with Hl7Deidentifier(Deidentifier(nlp)) as hl7, pytest.raises(ConfigError, match="call `read` first"):
        list(hl7.release([message()]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense = 1", "unknown key 'nonsense'"),
        ('[segments.PID]\nkeep = "x"', "'x'"),
        ('[segments.PID]\nkeep = "1"\ndate = "1"', "PID-1 has two rules"),
        ('[segments.PID]\ntypes = { ABC = "1" }', "unknown type 'ABC'"),
        ('[segments.PID]\nlabels = { ABC = "1" }', "unknown label 'ABC'"),
        ("[segments.PID]\nkeep = 1", "wrong type"),
        ('dated = ["PID"]', "is no field"),
        ("[", "not TOML"),
    ],
)
def test_a_wrong_profile_is_refused(text, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_profile(text, "own.toml")


def test_the_result_is_read_by_another_parser(release):
    hl7 = pytest.importorskip("hl7")
    [outcome] = release(message(obx(f"{GIVEN} {FAMILY} \\T\\ b")))
    parsed = hl7.parse(outcome.data.decode())
    assert str(parsed.segment("OBX")[5]) == "[PATIENT] \\T\\ b"


@pytest.fixture
def run(cli, pipeline_folder, tmp_path):
    key = tmp_path / "keys" / "project.key"
    ProjectKey(bytes(range(32))).to_file(key)

    def run(*args):
        options = ("--pipeline", pipeline_folder, "--style", "surrogate", "--key", key)
        return cli("hl7", *args, *options, "-o", tmp_path / "out")

    return run


def test_the_command_writes_the_messages_that_succeed(run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    frames = [message(obx(FAMILY)), message(obx("\\Q\\")), message(people=(PID, NK1))]
    (folder / "feed.hl7").write_bytes(b"".join(b"\x0b" + data + b"\x1c\r" for data in frames))
    (folder / "bad.hl7").write_bytes(FAMILY.encode())
    result = run(folder, "--report", tmp_path / "report.json")
    assert result.exit_code == 1
    made = (tmp_path / "out" / "feed.hl7").read_bytes()
    assert made.count(b"\x0bMSH|^~\\&|") == 2 == made.count(b"\x1c\r")
    assert [path.name for path in (tmp_path / "out").iterdir() if path.suffix] == ["feed.hl7"]
    assert "feed.hl7: message 2: OBX-5" in result.output
    assert "2 message(s) written" in result.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["messages"] == {"ORU": {"failed": 1, "released": 2}, "unknown": {"failed": 1}}
    assert not [canary for canary in CANARIES if canary in made.decode() + result.output + json.dumps(report)]
