"""CAS JSON and XMI of INCEpTION: identifiers in, all else kept, and what is wrong named without its text."""

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder
from spacy_deid.evaluation.cas import (
    Layer,
    is_cas_json,
    load_cas,
    make_cas,
    parse_layer,
    read_cas,
    write_back,
    write_cas_json,
    write_xmi,
)

DATA = Path(__file__).parents[1] / "data" / "evaluation" / "cas"
JSON, XMI = DATA / "json" / "tannbach.json", DATA / "xmi" / "tannbach.xmi"
FINDING = "webanno.custom.Finding"
CANARY = "Wenzeslaus"


def quotes(document: AnnotatedText) -> list[tuple[str, str]]:
    return [(document.text[e.start : e.end], e.label) for e in document.entities]


def structures(path: Path) -> dict:
    """A CAS without the order of its structures, which says nothing: they refer to each other by id."""
    cas = json.loads(path.read_text(encoding="utf-8"))
    return cas | {"%FEATURE_STRUCTURES": {fs["%ID"]: fs for fs in cas["%FEATURE_STRUCTURES"]}}


def changed(tmp_path: Path, change) -> Path:
    """The example with a change to its JSON."""
    cas = json.loads(JSON.read_text(encoding="utf-8"))
    change(cas)
    path = tmp_path / "tannbach.json"
    path.write_text(json.dumps(cas), encoding="utf-8")
    return path


def phi(cas: dict) -> list[dict]:
    return [fs for fs in cas["%FEATURE_STRUCTURES"] if fs["%TYPE"] == "webanno.custom.PHI"]


@pytest.mark.parametrize("path", [JSON, XMI], ids=["json", "xmi"])
def test_identifiers_are_read_by_characters_though_the_file_counts_utf_16(path):
    document = read_cas(path, scheme="grascco")
    assert "🏥" in document.text[:20]
    assert document.name == "tannbach"
    assert quotes(document) == [
        ("Klinik Tannbach", "HOSPITAL"),
        ("Dr.", "PERSON"),
        ("Mira Kolb", "PATIENT"),
        ("04.05.1961", "DATE"),
        ("Jost Arens", "OTHER"),  # has no label in the file
    ]


def test_json_and_xmi_say_the_same():
    assert read_cas(JSON, scheme="grascco") == read_cas(XMI, scheme="grascco")


def test_a_cas_written_back_unchanged_is_the_same_in_all_it_holds(tmp_path):
    document = read_cas(JSON, scheme="grascco")
    written = write_back(document, JSON, tmp_path, scheme="grascco")
    assert structures(written) == structures(JSON)
    assert len(structures(JSON)["%FEATURE_STRUCTURES"]) > 30


def test_an_xmi_written_back_unchanged_reads_as_the_same_structures(tmp_path):
    written = write_back(read_cas(XMI, scheme="grascco"), XMI, tmp_path, scheme="grascco")
    assert load_cas(written).to_json() == load_cas(XMI).to_json()


def test_corrected_identifiers_replace_those_of_the_cas_and_nothing_else(tmp_path):
    document = read_cas(JSON, scheme="grascco")
    gone, *kept = document.entities
    puls = document.text.index("72")
    new = Entity(puls, puls + 2, "AGE")
    corrected = AnnotatedText(document.name, document.text, (*kept, new))
    written = write_back(corrected, JSON, tmp_path, scheme="grascco")
    assert read_cas(written, scheme="grascco") == corrected
    before, after = structures(JSON), structures(written)
    lost = before["%FEATURE_STRUCTURES"].keys() - after["%FEATURE_STRUCTURES"].keys()
    (added,) = after["%FEATURE_STRUCTURES"].keys() - before["%FEATURE_STRUCTURES"].keys()
    assert [before["%FEATURE_STRUCTURES"][i]["kind"] for i in lost] == ["LOCATION_HOSPITAL"]
    assert after["%FEATURE_STRUCTURES"][added]["kind"] == "AGE"
    assert added in after["%VIEWS"]["_InitialView"]["%MEMBERS"]
    left = {i: fs for i, fs in before["%FEATURE_STRUCTURES"].items() if i not in lost}
    assert {i: fs for i, fs in after["%FEATURE_STRUCTURES"].items() if i != added} == left
    assert gone.label == "HOSPITAL"


def test_a_label_that_reads_as_another_is_kept_as_the_file_has_it(tmp_path):
    written = write_back(read_cas(JSON, scheme="grascco"), JSON, tmp_path, scheme="grascco")
    kinds = [fs.get("kind") for fs in phi(json.loads(written.read_text(encoding="utf-8")))]
    assert "NAME_TITLE" in kinds
    assert None in kinds


def test_identifiers_of_another_text_are_not_written(tmp_path):
    with pytest.raises(InputError, match="different texts"):
        write_back(AnnotatedText("tannbach", "Anderes"), JSON, tmp_path, scheme="grascco")
    assert list(tmp_path.iterdir()) == []


@given(text=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1), data=st.data())
def test_any_text_reads_back_from_json_as_it_was_written(tmp_path_factory, text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    document = AnnotatedText("a", text, (Entity(start, end, "PATIENT"),))
    assert read_cas(write_cas_json(document, tmp_path_factory.mktemp("cas"))) == document


@pytest.mark.parametrize("scheme", ["canonical", "grascco"])
def test_xmi_keeps_line_ends_tabs_and_characters_of_two_units(tmp_path, scheme):
    text = '🙂 Mira\r\n\tKolb & <b> "x"\n🙂'
    document = AnnotatedText("a", text, (Entity(2, 6, "PATIENT"), Entity(9, 13, "PATIENT"), Entity(24, 25, "DATE")))
    assert read_cas(write_xmi(document, tmp_path, scheme=scheme), scheme=scheme) == document


def test_notes_of_two_schemes_share_the_type_system_of_a_folder(tmp_path):
    one = write_xmi(AnnotatedText("a", "Mira", (Entity(0, 4, "PATIENT"),)), tmp_path)
    other = write_xmi(AnnotatedText("b", "Mira", (Entity(0, 4, "PATIENT"),)), tmp_path, scheme="grascco")
    assert quotes(read_cas(one)) == quotes(read_cas(other, scheme="grascco")) == [("Mira", "PATIENT")]


def test_a_character_that_xml_has_no_place_for_is_named_by_its_offset(tmp_path):
    with pytest.raises(InputError, match=r"U\+000C at 4 is not allowed in XML"):
        write_xmi(AnnotatedText("a", "Mira\fKolb"), tmp_path)


def test_grascco_labels_are_written_into_its_own_layer():
    (found,) = phi(make_cas(AnnotatedText("a", "Mira", (Entity(0, 4, "PATIENT"),)), "grascco"))
    assert found["kind"] == "NAME_PATIENT"


def test_the_type_system_is_found_in_the_folder_above(tmp_path):
    (tmp_path / "xmi").mkdir()
    shutil.copy(XMI, tmp_path / "xmi")
    with pytest.raises(InputError, match=r"no TypeSystem\.xml"):
        read_cas(tmp_path / "xmi" / XMI.name, scheme="grascco")
    shutil.copy(XMI.parent / "TypeSystem.xml", tmp_path)
    assert read_cas(tmp_path / "xmi" / XMI.name, scheme="grascco") == read_cas(XMI, scheme="grascco")


def test_a_named_layer_is_read(tmp_path):
    def label(cas):
        next(fs for fs in cas["%FEATURE_STRUCTURES"] if fs["%TYPE"] == FINDING)["grade"] = "AGE"
        cas["%TYPES"][FINDING]["grade"] = {"%NAME": "grade", "%RANGE": "uima.cas.String"}

    path = changed(tmp_path, label)
    assert [(e.label) for e in read_folder(path, layer=f"{FINDING}:grade")[0].entities] == ["AGE"]
    with pytest.raises(InputError, match=f"declares no such layer.*{FINDING}"):
        read_cas(path, layer=Layer("webanno.custom.Nope", "kind"))


def test_annotations_of_a_layer_that_is_not_known_are_never_left_out_silently(tmp_path):
    def rename(cas):
        cas["%FEATURE_STRUCTURES"] = [fs for fs in cas["%FEATURE_STRUCTURES"] if fs["%TYPE"] != "webanno.custom.PHI"]
        cas["%VIEWS"]["_InitialView"]["%MEMBERS"] = [fs["%ID"] for fs in cas["%FEATURE_STRUCTURES"] if "begin" in fs]
        next(fs for fs in cas["%FEATURE_STRUCTURES"] if fs["%TYPE"] == FINDING).pop("@about")

    with pytest.raises(InputError, match=f"no layer that is known to hold identifiers.*{FINDING}"):
        read_cas(changed(tmp_path, rename), scheme="grascco")


def test_two_layers_with_annotations_have_to_be_told_apart(tmp_path):
    def second(cas):
        fs = phi(cas)[0]
        named = {"%ID": 999, "%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity", "@sofa": fs["@sofa"]}
        cas["%FEATURE_STRUCTURES"].append(named | {"begin": 0, "end": 6, "value": "PER"})
        cas["%VIEWS"]["_InitialView"]["%MEMBERS"].append(999)

    path = changed(tmp_path, second)
    with pytest.raises(InputError, match="several layers"):
        read_cas(path, scheme="grascco")
    assert len(read_cas(path, scheme="grascco", layer=Layer("webanno.custom.PHI", "kind")).entities) == 5


def test_a_label_of_another_scheme_is_named_by_the_annotation_alone(tmp_path):
    path = changed(tmp_path, lambda cas: phi(cas)[0].update(kind=CANARY))
    with pytest.raises(InputError, match=r"tannbach\.json, annotation \d+: the label is not in scheme") as caught:
        read_cas(path, scheme="grascco")
    assert CANARY not in str(caught.value)


def test_identifiers_that_no_view_has_are_an_error_and_not_none(tmp_path):
    def forget(cas):
        cas["%VIEWS"]["_InitialView"]["%MEMBERS"].remove(phi(cas)[0]["%ID"])

    with pytest.raises(InputError, match=r"tannbach\.json, annotation \d+: it is in no view"):
        read_cas(changed(tmp_path, forget), scheme="grascco")
    shutil.copy(XMI.parent / "TypeSystem.xml", tmp_path)
    number = read_xmi_id(XMI)
    (tmp_path / "a.xmi").write_text(
        re.sub(rf"(members=\"[^\"]*?)\b{number}\b", r"\1", XMI.read_text(encoding="utf-8")), "utf-8"
    )
    with pytest.raises(InputError, match=rf"a\.xmi, annotation {number}: it is in no view"):
        read_cas(tmp_path / "a.xmi", scheme="grascco")


def read_xmi_id(path: Path) -> str:
    """The id of the first identifier."""
    return re.search(r'<custom:PHI xmi:id="(\d+)"', path.read_text(encoding="utf-8"))[1]


def test_what_the_library_does_not_know_of_a_file_stays_in_it(tmp_path):
    path = changed(tmp_path, lambda cas: cas.update({"%HEADER": {"%VERSION": "0.4.0"}}))
    (tmp_path / "out").mkdir()
    written = write_back(read_cas(path, scheme="grascco"), path, tmp_path / "out", scheme="grascco")
    assert structures(written) == structures(path)
    assert structures(path)["%HEADER"] == {"%VERSION": "0.4.0"}


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (5, 3), (0, 9999), (-2, 3)])
def test_offsets_that_are_none_are_an_error(tmp_path, begin, end):
    path = changed(tmp_path, lambda cas: phi(cas)[0].update(begin=begin, end=end))
    with pytest.raises(InputError, match=r"tannbach\.json"):
        read_cas(path, scheme="grascco")


def test_an_offset_within_a_character_is_an_error(tmp_path):
    units = len("Klinik Tannbach ") + 1
    path = changed(tmp_path, lambda cas: phi(cas)[0].update(begin=0, end=units))
    with pytest.raises(InputError, match="not a valid UIMA CAS"):
        read_cas(path, scheme="grascco")


@pytest.mark.parametrize(
    "content",
    [
        '{"%TYPES": {}, "%FEATURE_STRUCTURES": [',
        '{"%TYPES": {}}',
        '{"%TYPES": {}, "%FEATURE_STRUCTURES": [], "%VIEWS": {}}',
        f'{{"%TYPES": {{}}, "%FEATURE_STRUCTURES": [{{"%ID": 1, "%TYPE": "{CANARY}"}}], "%VIEWS": {{}}}}',
        '{"%TYPES": ' + "[" * 100_000,
    ],
    ids=["cut off", "no structures", "no text", "unknown type", "nested"],
)
def test_what_is_no_whole_cas_is_an_error_that_names_the_file_alone(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"a\.json: not a valid UIMA CAS") as caught:
        read_cas(path)
    assert CANARY not in str(caught.value)


def test_xml_entities_are_refused(tmp_path):
    shutil.copy(XMI.parent / "TypeSystem.xml", tmp_path)
    head, _, rest = XMI.read_text(encoding="utf-8").partition("?>")
    bomb = f'{head}?><!DOCTYPE x [<!ENTITY a "b">]>{rest}'
    (tmp_path / "a.xmi").write_text(bomb, encoding="utf-8")
    with pytest.raises(InputError, match="not a valid UIMA CAS"):
        read_cas(tmp_path / "a.xmi", scheme="grascco")


def test_json_of_other_kinds_is_not_taken_for_a_cas(tmp_path):
    shutil.copy(JSON, tmp_path)
    (tmp_path / "figures.json").write_text('{"documents": 3}')
    assert is_cas_json(JSON)
    assert not is_cas_json(tmp_path / "figures.json")
    assert [document.name for document in read_folder(tmp_path, scheme="grascco")] == ["tannbach"]


@pytest.mark.parametrize("layer", ["PHI", ":kind", "a:b:c", "a:"])
def test_a_layer_needs_type_and_feature(layer):
    with pytest.raises(ConfigError, match="must have the form TYPE:FEATURE"):
        parse_layer(layer)
