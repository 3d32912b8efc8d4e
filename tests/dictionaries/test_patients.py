"""The patient index: rows round trip, and terms are found."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.matcher import TermMatcher
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.patients import PatientIndex, PatientTerms, PatientWriter, pack, unpack
from spacy_deid.dictionaries.terms import Entry, Tag, is_too_general
from spacy_deid.patient_ids import normal_id

TAGS = [Tag("PATIENT", "p.surname", ""), Tag("PATIENT", "p.given", "name"), Tag("RELATIVE", "p.mother", "")]
TERM = st.text(min_size=1, max_size=12).map(normal_form).filter(lambda t: t and not is_too_general(t))
READY = st.lists(st.tuples(TERM, st.integers(1, len(TAGS))), max_size=6)
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).map(normal_id).filter(bool)


@settings(deadline=None)
@given(READY)
def test_packed_terms_round_trip(ready):
    assert list(unpack(pack(ready))) == list(dict.fromkeys(ready))


@settings(deadline=None)
@given(st.dictionaries(IDS, READY, min_size=1, max_size=5))
def test_patients_round_trip_by_id(tmp_path_factory, patients):
    folder = tmp_path_factory.mktemp("rows")
    writer = PatientWriter(folder / "patients")
    for patient_id, ready in patients.items():
        writer.add(patient_id, [pack(ready[:2]), pack(ready[2:])])
    assert writer.finish() == len(patients)
    index = PatientIndex(folder, TAGS)
    assert list(index.ids()) == list(patients)
    for patient_id, ready in patients.items():
        assert set(index.tagged_terms(patient_id)) == set(ready)
        assert (patient_id in index) == bool(ready)
        assert {(e.term, e.label) for e in index.find(patient_id).entries} == {
            (t, TAGS[i - 1].label) for t, i in ready
        }
    assert index.find("nobody at all") is None


def test_rows_are_copied_but_for_those_left_out(tmp_path):
    (tmp_path / "new").mkdir()
    writer = PatientWriter(tmp_path / "patients")
    for i in range(9):
        writer.add(f"P{i}", [pack([(f"term {i}", 1)])])
    writer.finish()
    copy = PatientWriter(tmp_path / "new" / "patients")
    PatientIndex(tmp_path, TAGS).copy(copy, {"P3", "P7", "P99"})
    assert (copy.finish(), copy.terms) == (7, 7)
    assert list(PatientIndex(tmp_path / "new", TAGS).ids()) == ["P0", "P1", "P2", "P4", "P5", "P6", "P8"]


@settings(deadline=None)
@given(st.lists(TERM, min_size=1, max_size=5), st.text(max_size=30))
def test_it_finds_what_a_list_of_the_same_terms_finds(terms, text):
    matcher = TermMatcher()
    matcher.add([("t", [Entry(term, "PATIENT", "p.surname") for term in terms])])
    text = f"{text} {terms[0]} {text}"
    own = PatientTerms((term, TAGS[0]) for term in terms)
    assert own.find(text) == matcher.find(text)


def test_a_patient_without_terms_has_no_matches():
    assert PatientTerms(()).find("Zarzaquemada") == []
    assert len(PatientTerms(())) == 0


def test_a_conditional_tag_is_dropped_if_the_same_tag_is_unconditional():
    own = PatientTerms([("rosa", TAGS[1]), ("rosa", Tag("PATIENT", "p.given", ""))])
    assert len(own.find("una rosa roja")) == 1
