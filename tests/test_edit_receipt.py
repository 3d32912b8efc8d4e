"""The receipt of the edits: text, detections, actions and edits are released together or not at all."""

import pickle
from copy import deepcopy

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_deid.context import DECISIONS, EDITS, set_edits
from spacy_deid.errors import NotDeidentified
from spacy_deid.offsets import Edit, find_uncovered
from spacy_deid.policies import Policy
from spacy_deid.spans import MERGED, RECOVERED, Evidence, write_evidence
from spacy_deid.surrogates.keys import ProjectKey

CANARY = "Zumalabe"
TERMS = {f"Ana {CANARY}": "PATIENT", "Inés Mas": "CLINICIAN", "93 años": "AGE", "Soria": "CITY", "12/03/2019": "DATE"}
TEXT = f"Ana {CANARY}, de 93 años, vive en Soria. Ingresa el 12/03/2019. Firman Luis e Inés Mas."
OTHER = TEXT.replace(f"Ana {CANARY}", "Eva Zumaeta").replace("Soria", "Jaca")
POLICY = Policy("own", "replace", {"AGE": "generalize", "DATE": "keep", "CITY": "tag"})
GETTERS = ("deid_text", "deid_edits", "deid_trace")


def make(style="tag"):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    ruler = nlp.add_pipe("deid_ruler")
    for term, label in TERMS.items():
        ruler.add_terms([term], label)
    nlp.add_pipe("deid_merge")
    surrogate = nlp.add_pipe("deid_surrogate", config={"style": style})
    surrogate.set_key(ProjectKey(bytes(range(32))))
    surrogate.set_policy(POLICY)
    return nlp


NLP, STYLED = make(), make("surrogate")
DOCS = {"tag": NLP(TEXT), "surrogate": STYLED(TEXT)}


def copy(doc):
    """The same Doc, as another process gets it."""
    return Doc(doc.vocab).from_bytes(doc.to_bytes())


def refused(doc):
    """Whether no getter gives anything of a Doc."""
    for getter in GETTERS:
        with pytest.raises(NotDeidentified) as error:
            getattr(doc._, getter)
        assert CANARY not in str(error.value)
    with pytest.raises(NotDeidentified):
        doc._.deid_map(0)
    return True


def test_the_docs_of_this_file_have_every_kind_of_action():
    assert {action for *_, action in DOCS["tag"].user_data[DECISIONS]["actions"]} == {
        "replace",
        "generalize",
        "keep",
        "tag",
    }
    assert DOCS["tag"]._.deid_text == (
        "[PATIENT], de 90+, vive en [CITY]. Ingresa el 12/03/2019. Firman Luis e [CLINICIAN]."
    )
    assert CANARY not in DOCS["surrogate"]._.deid_text


def test_edits_that_were_deleted_release_nothing():
    doc = copy(DOCS["tag"])
    doc.user_data[EDITS] = []
    assert refused(doc)


CHANGES = ("delete", "move", "shorten", "relabel", "alter", "double")


def change(row, how, by):
    """A row of edits or actions, changed; None if it is deleted."""
    start, end, label, what = row
    return {
        "delete": None,
        "move": [start + by, end + by, label, what],
        "shorten": [start, end - by, label, what],
        "relabel": [start, end, "OTHER" if label != "OTHER" else "DATE", what],
        "alter": [start, end, label, "keep" if what == "replace" else what + "!"],
        "double": row,
    }[how]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_one_edit_or_action_that_was_changed_releases_nothing(data):
    doc = copy(DOCS[data.draw(st.sampled_from(sorted(DOCS)))])
    edits = data.draw(st.booleans(), label="edits")
    rows = doc.user_data[EDITS] if edits else doc.user_data[DECISIONS]["actions"]
    i = data.draw(st.integers(0, len(rows) - 1))
    how = data.draw(st.sampled_from(CHANGES))
    changed = change(list(rows[i]), how, data.draw(st.integers(1, 3)))
    rows[i : i + 1] = [] if changed is None else [changed] * (2 if how == "double" else 1)
    assert refused(doc)


@pytest.mark.parametrize("given", [None, [[1]], [["a", "b", "c", "d"]], {}, [[0, 3, "PATIENT", object]]], ids=repr)
def test_edits_of_another_form_release_nothing(given):
    doc = copy(DOCS["tag"])
    doc.user_data[EDITS] = given
    assert refused(doc)


@pytest.mark.parametrize("given", [None, {}, {"receipt": "é"}, {1: 2, "a": 3}, []], ids=repr)
def test_decisions_of_another_form_release_nothing(given):
    doc = copy(DOCS["tag"])
    doc.user_data[DECISIONS] = given
    assert refused(doc)


@pytest.mark.parametrize("text", [TEXT, OTHER, "", "Nada."], ids=["the same", "as long", "empty", "short"])
def test_what_was_decided_on_another_doc_releases_nothing(text):
    doc = NLP(TEXT)
    doc.user_data.update(deepcopy(NLP(text).user_data))
    assert refused(doc)


def test_a_part_of_what_was_decided_on_another_doc_releases_nothing():
    for key in (EDITS, DECISIONS):
        doc = NLP(TEXT)
        doc.user_data[key] = deepcopy(NLP(OTHER).user_data[key])
        assert refused(doc)


def test_another_text_under_the_same_detections_releases_nothing():
    doc = NLP(TEXT)
    other = NLP.make_doc(OTHER)
    for key in doc.spans:
        records = [Evidence(**record) for record in doc.spans[key].attrs["evidence"]]
        attrs = {k: v for k, v in doc.spans[key].attrs.items() if k != "evidence"}
        write_evidence(other, key, [e for e in records if e.end <= len(OTHER)], **attrs)
    other.user_data.update(deepcopy(doc.user_data))
    assert refused(other)


@pytest.mark.parametrize("key", ["deid/ruler", MERGED])
def test_records_of_detections_that_were_changed_release_nothing(key):
    for name, value in {"label": "OTHER", "score": 0.5, "rule": "x", "start": 1}.items():
        doc = copy(DOCS["tag"])
        doc.spans[key].attrs["evidence"][0][name] = value
        assert refused(doc)


def test_equal_texts_have_different_receipts_and_the_receipt_does_not_hold_its_key():
    first, second = NLP(TEXT), NLP(TEXT)
    assert first.user_data[EDITS] == second.user_data[EDITS]
    receipts = [doc.user_data[DECISIONS]["receipt"] for doc in (first, second)]
    assert len(set(receipts)) == 2
    key = first.spans[MERGED].attrs["receipt_key"]
    assert len(key) == 64
    stored = repr([first.user_data, first._.deid_trace, first._.deid_edits])
    assert key not in stored
    assert CANARY not in stored


def test_the_receipt_survives_bytes_pickles_docbins_and_other_processes():
    doc = DOCS["surrogate"]
    released = doc._.deid_text
    kept = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    loaded = [
        copy(copy(doc)),
        pickle.loads(pickle.dumps(doc)),
        *DocBin(store_user_data=True).from_bytes(kept).get_docs(STYLED.vocab),
        *STYLED.pipe([TEXT, TEXT], n_process=2, batch_size=1),
    ]
    assert [other._.deid_text for other in loaded] == [released] * 5
    assert all(other._.deid_trace == doc._.deid_trace for other in loaded)
    for other in loaded:
        other.user_data[EDITS] = list(other.user_data[EDITS])[:-1]
        assert refused(other)


# What holds whoever signed: `set_edits` signs anything.


def signed_again(doc, edits=None, actions=None):
    decisions = doc.user_data[DECISIONS]
    edits = doc.user_data[EDITS] if edits is None else edits
    set_edits(doc, [Edit(*row) for row in edits], decisions | {"actions": actions or decisions["actions"]})
    return doc


def test_signing_the_same_again_releases_the_same():
    assert signed_again(copy(DOCS["surrogate"]))._.deid_text == DOCS["surrogate"]._.deid_text


@pytest.mark.parametrize("style", sorted(DOCS))
def test_every_action_but_keep_needs_its_edit_whoever_signed(style):
    rows = DOCS[style].user_data[EDITS]
    for i, row in enumerate(rows):
        if not row[2]:
            continue
        for fewer in (rows[:i] + rows[i + 1 :], [*rows[:i], [row[0], row[1] - 1, *row[2:]], *rows[i + 1 :]]):
            with pytest.raises(NotDeidentified, match=f"no edit covers the span {row[0]}:{row[1]} of .* on {row[2]}"):
                signed_again(copy(DOCS[style]), fewer)._.deid_text  # noqa: B018


def test_an_edit_needs_its_action_whoever_signed():
    rows = DOCS["tag"].user_data[EDITS]
    with pytest.raises(NotDeidentified, match="the edit at 15:17 belongs to no action"):
        signed_again(copy(DOCS["tag"]), [rows[0], [15, 17, "CITY", "x"], *rows[1:]])._.deid_text  # noqa: B018


def test_what_was_merged_needs_an_action_whoever_signed():
    actions = DOCS["tag"].user_data[DECISIONS]["actions"]
    rows = DOCS["tag"].user_data[EDITS]
    with pytest.raises(NotDeidentified, match="merged span at 0:12 has no action"):
        signed_again(copy(DOCS["tag"]), rows[1:], actions[1:])._.deid_text  # noqa: B018


@pytest.mark.parametrize("rows", [[1, 0], [0, 0, 1]], ids=["out of order", "twice"])
def test_edits_out_of_order_are_refused_whoever_signed(rows):
    edits = DOCS["tag"].user_data[EDITS]
    with pytest.raises(NotDeidentified, match="overlap"):
        signed_again(copy(DOCS["tag"]), [edits[i] for i in rows])._.deid_text  # noqa: B018


def test_nothing_is_recovered_that_was_not_merged():
    doc = NLP.make_doc(TEXT)
    for name in ("deid_ruler", "deid_merge"):
        doc = NLP.get_pipe(name)(doc)
    write_evidence(doc, RECOVERED, [Evidence(TEXT.index("Luis"), TEXT.index("Luis") + 4, "PATIENT", "x")])
    doc = NLP.get_pipe("deid_surrogate")(doc)
    with pytest.raises(NotDeidentified, match="recovered span at 71:75 was never merged"):
        doc._.deid_text  # noqa: B018


SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted).map(tuple), max_size=5).map(sorted)


@given(text=st.text(alphabet="a ", min_size=12, max_size=12), spans=SPANS, cover=SPANS)
def test_a_gap_is_found_where_there_is_one(text, spans, cover):
    covered = {i for start, end in cover for i in range(start, end)}
    open_ = [i for start, end in spans for i in range(start, end) if i not in covered and text[i] != " "]
    gap = find_uncovered(text, spans, cover)
    assert (gap is None) == (not open_)
    if gap:
        assert text[slice(*gap)].strip()
        assert not set(range(*gap)) & covered


def test_signed_edits_outside_the_text_are_refused():
    with pytest.raises(NotDeidentified, match="edit at 0:9999"):
        signed_again(copy(DOCS["tag"]), [[0, 9_999, "PATIENT", ""]])._.deid_text  # noqa: B018
