"""deid_surrogate in the style "surrogate" on what notes have and nobody wants: nothing raises, no original is left."""

import os
import subprocess
import sys

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.text import fold
from spacy_deid.spans import Evidence, write_evidence
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.strategies import FALLBACK

KEY = ProjectKey(bytes(range(32)))
LANGUAGES = ("es", "en", "fi")


def make(lang):
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_merge", config={"sources": ["deid/ner", "deid/ruler"]})
    nlp.add_pipe("deid_surrogate", config={"style": "surrogate"}).set_key(KEY)
    return nlp


PIPELINES = {lang: make(lang) for lang in LANGUAGES}


def release(text, *found, lang="es", ruled=()):
    """Release a note in which values were found: (value, label), each the first time that it stands there."""
    nlp = PIPELINES[lang]
    doc = nlp.make_doc(text)
    for source, values in (("deid/ner", found), ("deid/ruler", ruled)):
        spans = [(text.index(value), value, label) for value, label in values]
        write_evidence(doc, source, [Evidence(at, at + len(value), label, "test") for at, value, label in spans])
    for _, part in nlp.pipeline:
        doc = part(doc)
    return doc


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("date", ["31/02/2014", "45/13/2014", "00/00/0000", "30.2.2021", "99/99/99"])
def test_a_day_that_no_calendar_has_is_not_released(lang, date):
    doc = release(f"x {date} y", (date, "DATE"), lang=lang)
    assert date not in doc._.deid_text
    assert doc._.deid_text[:2] + doc._.deid_text[-2:] == "x  y"


@pytest.mark.parametrize(
    ("lang", "age", "expected"),
    [("es", "250 años", "90+ años"), ("en", "250 years", "90+ years"), ("fi", "250 vuotta", "90+ vuotta")],
)
def test_an_age_that_nobody_reaches_becomes_the_oldest(lang, age, expected):
    assert release(f"x {age} y", (age, "AGE"), lang=lang)._.deid_text == f"x {expected} y"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", ["Q", "Q.", "q", "Å", "王"])
def test_a_name_of_one_letter_is_not_released(lang, name):
    doc = release(f"0 {name} 1", (name, "PATIENT"), lang=lang)
    assert doc._.deid_text[:2] + doc._.deid_text[-2:] == "0  1"
    assert fold(name)[0] not in fold(doc._.deid_text.replace("[PATIENT]", ""))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("gap", ["\n", "\r\n", " \n ", "-\n"])
def test_a_value_over_a_line_break_is_replaced_and_lines_stay(lang, gap):
    text = f"Dr. Xavier{gap}Thornquist 600 123{gap}456"
    doc = release(text, (f"Xavier{gap}Thornquist", "CLINICIAN"), (f"600 123{gap}456", "PHONE"), lang=lang)
    assert not [word for word in ("xavier", "thornquist", "123", "456") if word in fold(doc._.deid_text)]
    name = next(edit for edit in doc._.deid_edits if edit.label == "CLINICIAN")
    assert name.replacement.count("\n") == 1


@pytest.mark.parametrize("lang", LANGUAGES)
def test_where_detectors_overlap_nothing_of_either_is_released(lang):
    text = "Ana Zumalabe Ruiz Soria 28035 Olmo"
    found = (("Ana Zumalabe", "PATIENT"), ("Soria 28035", "ZIP"))
    ruled = (("Zumalabe Ruiz Soria", "CLINICIAN"), ("28035 Olmo", "STREET"))
    released = fold(release(text, *found, ruled=ruled, lang=lang)._.deid_text).split()
    assert not set(fold(text).split()) & set(released)  # a surrogate may be "Juana"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("value", ["Soria 28035", "28035-SORIA", "SORIA 28035", "Zumalabe 28035", "28035 Zumalabe"])
def test_a_town_in_a_postal_code_is_not_released(lang, value):
    released = fold(release(f"x {value} y", (value, "ZIP"), lang=lang)._.deid_text)
    assert not [word for word in ("soria", "zumalabe", "28035") if word in released]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_two_people_of_one_name_get_a_surrogate_and_no_tag(lang):
    text = "Xavier Thornquist. Dr. Thornquist. Dr. XAVIER THORNQUIST. Olga Thornquist."
    found = (
        ("Xavier Thornquist", "PATIENT"),
        ("XAVIER THORNQUIST", "CLINICIAN"),
        ("Olga Thornquist", "RELATIVE"),
    )
    doc = release(text.replace("Dr. Thornquist. ", ""), *found, lang=lang)
    assert {row["action"] for row in doc._.deid_trace} == {"replace"}
    first, second, relative = [edit.replacement for edit in doc._.deid_edits if edit.label]
    assert first.upper() == second
    assert relative.split()[-1] == first.split()[-1]
    assert relative.split()[0] != first.split()[0]
    assert "thornquist" not in fold(doc._.deid_text)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(LANGUAGES),
    st.lists(
        st.tuples(
            st.text("aZñÅ王9 .,-/@:\n'", min_size=1, max_size=12).filter(str.strip),
            st.sampled_from(
                ["PATIENT", "CLINICIAN", "EMAIL", "DATE", "AGE", "PHONE", "CITY", "STREET", "SEX", "OTHER"]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_whatever_is_marked_is_replaced_kept_as_true_or_tagged(lang, values):
    text = "".join(f"({i}) {value.strip()} " for i, (value, _) in enumerate(values))
    nlp = PIPELINES[lang]
    doc, at, spans = nlp.make_doc(text), 0, []
    for i, (value, label) in enumerate(values):
        at += len(f"({i}) ")
        spans.append(Evidence(at, at + len(value.strip()), label, "test"))
        at += len(value.strip()) + 1
    write_evidence(doc, "deid/ner", spans)
    write_evidence(doc, "deid/ruler", [])
    for _, part in nlp.pipeline:
        doc = part(doc)
    assert {row["action"] for row in doc._.deid_trace} <= {"replace", "keep", "generalize", FALLBACK}
    kept = {(row["start"], row["end"]) for row in doc._.deid_trace if row["action"] == "keep"}
    edited = {(edit.start, edit.end): edit.replacement for edit in doc._.deid_edits if edit.label}
    for ent in doc.ents:
        place = (ent.start_char, ent.end_char)
        assert place in kept or fold(edited[place]) != fold(ent.text)
        assert place not in kept or ent.label_ in ("AGE", "DATE", "CITY")


def test_spawned_workers_have_the_key(tmp_path):
    text = "Ana Zumalabe Ruiz llama desde Soria."
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import multiprocessing, spacy, spacy_deid
from spacy_deid.surrogates.keys import ProjectKey
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.blank("es")
    ruler = nlp.add_pipe("deid_ruler")
    ruler.add_terms(["Ana Zumalabe Ruiz"], "PATIENT")
    ruler.add_terms(["Soria"], "CITY")
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate", config={{"style": "surrogate"}}).set_key(ProjectKey(bytes(range(32))))
    for doc in nlp.pipe([{text!r}] * 2, n_process=2, batch_size=1):
        print(doc._.deid_text)
    print(nlp({text!r})._.deid_text)
""",
        encoding="utf-8",
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert len(set(lines)) == 1
    assert not [word for word in ("Ana", "Zumalabe", "Ruiz", "Soria", "[") if word in lines[0]]
