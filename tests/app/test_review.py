"""Decisions of reviewers: for all occurrences, taken back, and the state of a file's review."""

import io
import re

import pytest
from pdf_letters import letter
from PIL import Image

from spacy_deid.app.processing import find_nearly, is_unsure, rate_risk
from spacy_deid.app.review import decide_spans, link_spans, other_occurrences, undo_spans

from .conftest import CANARY, NOTE

TEXT = "Ana Ruiz Soto acude. Ana Ruiz refiere tos. Vive en Lugo. La Sra. Ruiz mejora."


def spans_of(text, *values):
    found = []
    for label, value, at in values:
        start = [match.start() for match in re.finditer(value, text)][at]
        found.append({"start": start, "end": start + len(value), "label": label, "action": "replace", "evidence": []})
    return sorted(found, key=lambda span: span["start"])


SPANS = spans_of(TEXT, ("PATIENT", "Ana Ruiz Soto", 0), ("PATIENT", "Ana Ruiz", 1), ("CITY", "Lugo", 0))


def test_occurrences_of_a_person_have_the_same_number():
    first, second, town = link_spans(TEXT, SPANS)
    assert first == second != town


def test_words_that_occur_elsewhere_are_found_outside_of_spans():
    found = other_occurrences(TEXT, SPANS, *(TEXT.rindex("Ruiz") + i for i in (0, 4)))
    assert found == []
    assert [TEXT[s:e] for s, e in other_occurrences(TEXT, [], 0, 8)] == ["Ana Ruiz"]


@pytest.mark.parametrize(("action", "label"), [("release", ""), ("relabel", "CLINICIAN"), ("agree", "")])
def test_undo_restores_the_spans(action, label):
    places = [(span["start"], span["end"]) for span in SPANS[:2]]
    changed = decide_spans(SPANS, action, places, label, len(TEXT))
    assert changed != SPANS
    assert all(span["seen"] for span in changed[:2])
    assert undo_spans(changed, SPANS[:2], changed[:2]) == SPANS


def test_undo_is_refused_if_spans_were_changed_since():
    places = [(span["start"], span["end"]) for span in SPANS[:1]]
    changed = decide_spans(SPANS, "release", places, "", len(TEXT))
    later = decide_spans(changed, "relabel", places, "CLINICIAN", len(TEXT))
    with pytest.raises(ValueError, match="no decision to undo"):
        undo_spans(later, SPANS[:1], changed[:1])


def test_risk_counts_what_a_person_should_check():
    item = {"source": "deid_ner", "score": 0.5}
    unsure = {**SPANS[0], "evidence": [item]}
    assert is_unsure(unsure)
    assert not is_unsure({**unsure, "seen": True})
    assert not is_unsure({**unsure, "evidence": [item, {**item, "source": "deid_patterns"}]})
    assert rate_risk({"ocr": [1], "warnings": ["a"]}, [unsure], 2) == {"unsure": 1, "nearly": 2, "risk": 13}


def test_spans_nearly_found_do_not_overlap_those_found():
    from spacy_deid import Deidentifier

    deid = Deidentifier("es")
    text = NOTE + "Habitación 4, sala Galeno, junto a la plaza."
    spans = deid(text).trace
    for place in find_nearly(deid, text, spans):
        assert all(span["end"] <= place["start"] or place["end"] <= span["start"] for span in spans)
    assert find_nearly(deid, "", []) == []


def change(service, file, action, status=200, **more):
    answer = service.client.post(f"/files/{file}/review", json={"action": action, **more})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_file_is_reviewed_and_the_riskiest_file_is_next(service):
    warned = ("b.html", f"<p>{NOTE}</p><img src='a.png'>".encode())
    job = service.wait(service.add(("a.txt", f"{NOTE}Firma: {CANARY}.".encode()), warned, ("c.txt", NOTE.encode())))
    first, second, third = (file["id"] for file in job["files"])
    spans = service.client.get(f"/v1/files/{first}/findings").json()["spans"]
    place = {name: spans[0][name] for name in ("start", "end")}
    assert change(service, first, "release", everywhere=True, **place)["open"] == 1
    assert change(service, first, "undo")["open"] == 0
    assert service.client.get(f"/v1/files/{first}/findings").json()["spans"] == spans
    assert "nothing" not in change(service, first, "undo", 400)["detail"]
    assert change(service, first, "finish", 400)["again"]
    for span in spans:
        change(service, first, "agree", start=span["start"], end=span["end"])
    assert change(service, first, "finish")["next"] == f"/files/{second}"
    detail = change(service, second, "finish", 400, sure=True)
    assert "warning" in detail["detail"]
    assert not detail["again"]
    change(service, second, "warnings")
    assert change(service, second, "finish", sure=True)["next"] == f"/files/{third}"
    assert change(service, third, "finish", sure=True)["next"] == f"/jobs/{job['id']}"
    shown = service.client.get(f"/v1/jobs/{job['id']}").json()
    assert [file["reviewed"] for file in shown["files"]] == [True] * 3
    log = service.client.get(f"/v1/jobs/{job['id']}/decisions").text
    assert CANARY not in log


def test_the_second_reviewer_does_not_change_what_is_released(service):
    job = service.wait(service.add(("a.txt", NOTE.encode())))
    file = job["files"][0]["id"]
    span = service.client.get(f"/v1/files/{file}/findings").json()["spans"][0]
    change(service, file, "release", start=span["start"], end=span["end"], reviewer=2)
    assert service.client.get(f"/v1/files/{file}/findings").json()["spans"][0] == span
    assert service.client.get(f"/v1/files/{file}").json()["open"] == 0


def test_a_page_is_drawn_with_its_areas_and_redrawn_with_decisions(service):
    job = service.wait(service.add(("a.pdf", letter(NOTE.replace("😀 ", "")))))
    file = job["files"][0]["id"]
    page = service.client.get(f"/files/{file}/pages/1").json()
    spans = service.client.get(f"/v1/files/{file}/findings").json()["spans"]
    assert {area["start"] for area in page["areas"]} == {span["start"] for span in spans}
    for area in page["areas"]:
        for quad in area["areas"]:
            assert all(0 <= x <= page["width"] and 0 <= y <= page["height"] for x, y in quad)

    def picture(**query):
        answer = service.client.get(f"/files/{file}/pages/1/picture", params=query)
        assert answer.headers["content-type"] == "image/jpeg", answer.text
        return Image.open(io.BytesIO(answer.content)).convert("L").tobytes()

    before, released = picture(), picture(released=True)
    assert before != released
    place = {name: spans[0][name] for name in ("start", "end")}
    change(service, file, "release", **place)
    assert picture(released=True) != released
    assert service.client.get(f"/files/{file}/pages/2").status_code == 404
