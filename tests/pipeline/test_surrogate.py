"""deid_surrogate: from the decision to the released text, under a policy and in a style."""

import json
import logging
import pickle
import warnings

import pytest
import spacy
from conftest import long_notes
from spacy.tokens import Doc, DocBin

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.pipeline.surrogate import STYLES, Surrogate
from spacy_deid.policies import Policy
from spacy_deid.spans import MERGED, RECOVERED, Evidence, write_evidence

CANARY = "Zumalabe"
TERMS = {
    f"Ana {CANARY} Ruiz": "PATIENT",
    CANARY: "PATIENT",
    "Luis Mas": "CLINICIAN",
    "93 años": "AGE",
    "53 años": "AGE",
    "12/03/2019": "DATE",
    "04/05/1921": "DATE",
    "12 de marzo": "DATE",
    "Soria": "CITY",
    "Navarra": "STATE",
    "España": "COUNTRY",
    "mujer": "SEX",
    "600 123 456": "PHONE",
    "28035": "ZIP",
    "albañil": "PROFESSION",
}
NOTE = f"Ana {CANARY} Ruiz, mujer de 93 años, ingresa el 12/03/2019. Sra. {CANARY}: dieta. Dr. Luis Mas."


def make(**config):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    ruler = nlp.add_pipe("deid_ruler")
    for term, label in TERMS.items():
        ruler.add_terms([term], label)
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate", config=config)
    return nlp


def released(text=NOTE, **config):
    return make(**config)(text)._.deid_text


# Styles


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("tag", "[PATIENT], mujer de [AGE], ingresa el [DATE]. Sra. [PATIENT]: dieta. Dr. [CLINICIAN]."),
        (
            "numbered",
            "[PATIENT_1], mujer de [AGE_1], ingresa el [DATE_1]. Sra. [PATIENT_1]: dieta. Dr. [CLINICIAN_1].",
        ),
        ("mask", "*****************, mujer de *******, ingresa el **********. Sra. ********: dieta. Dr. ********."),
        ("remove", ", mujer de , ingresa el . Sra. : dieta. Dr. ."),
    ],
)
def test_a_style_writes_what_stands_in_place(style, expected):
    assert released(style=style) == expected


def test_a_registered_style_with_settings_is_used():
    nlp = make(style={"@deid_styles": "spacy_deid.mask_style.v1", "mask": "x"})
    doc = nlp("Dr. Luis Mas.")
    assert doc._.deid_text == "Dr. xxxxxxxx."
    assert {row["style"] for row in doc._.deid_trace} == {"mask"}


def test_a_mask_keeps_line_breaks():
    nlp = make(style="mask")
    assert nlp("Dr. Luis\nMas, 600\r\n123 456.")._.deid_text == "Dr. ****\n***, ***\r\n*******."


@pytest.mark.parametrize("style", STYLES)
def test_the_trace_names_the_style(style):
    rows = make(style=style)(NOTE)._.deid_trace
    assert rows
    assert {row["style"] for row in rows} == {style}


def test_an_unknown_style_is_refused_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"unknown surrogate style 'fake'. Known styles: tag, numbered, mask, remove"
    ):
        make(style="fake")


def test_a_style_that_forgets_a_span_is_refused():
    nlp = make()
    nlp.get_pipe("deid_surrogate").set_style(lambda spans: ["x"])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        nlp(NOTE)


# Policies, told by what is released


@pytest.mark.parametrize(
    ("text", "strict", "safe_harbor", "limited"),
    [
        ("tiene 53 años", "[AGE]", "53 años", "53 años"),
        ("tiene 93 años", "[AGE]", "90+", "93 años"),
        ("ingresa el 12/03/2019", "[DATE]", "2019", "12/03/2019"),
        ("ingresa el 12 de marzo", "[DATE]", "[DATE]", "12 de marzo"),
        ("nace el 04/05/1921", "[DATE]", "[DATE]", "04/05/1921"),
        ("vive en Soria", "[CITY]", "[CITY]", "Soria"),
        ("vive en Navarra", "[STATE]", "Navarra", "Navarra"),
        ("vive en España", "[COUNTRY]", "España", "España"),
        ("vive en 28035", "[ZIP]", "[ZIP]", "28035"),
        ("es mujer", "mujer", "mujer", "mujer"),
        ("es albañil", "[PROFESSION]", "albañil", "albañil"),
        ("llama al 600 123 456", "[PHONE]", "[PHONE]", "[PHONE]"),
        ("atiende Luis Mas", "[CLINICIAN]", "[CLINICIAN]", "[CLINICIAN]"),
        (f"dice {CANARY}", "[PATIENT]", "[PATIENT]", "[PATIENT]"),
    ],
)
def test_a_policy_decides_what_is_released(text, strict, safe_harbor, limited):
    stem = " ".join(text.split()[: -len(next(t for t in TERMS if text.endswith(t)).split())])
    assert released(text, policy="strict") == f"{stem} {strict}"
    assert released(text, policy="safe_harbor") == f"{stem} {safe_harbor}"
    assert released(text, policy="limited_data_set") == f"{stem} {limited}"


def test_what_one_detector_takes_for_a_name_is_not_kept_as_a_state():
    nlp = make(policy="safe_harbor")
    doc = nlp.make_doc("Vive en Navarra desde mayo")
    write_evidence(doc, "deid/ner", [Evidence(8, 15, "STATE", "one")])
    write_evidence(doc, "deid/ruler", [Evidence(8, 15, "PATIENT", "other")])
    merge = nlp.get_pipe("deid_merge")
    merge.sources = ["deid/ner", "deid/ruler"]
    doc = nlp.get_pipe("deid_surrogate")(merge(doc))
    assert [ent.label_ for ent in doc.ents] == ["STATE"]
    assert doc._.deid_text == "Vive en [STATE] desde mayo"


def test_changing_the_policy_does_not_change_the_entities():
    docs = [make(policy=policy)(NOTE) for policy in ("strict", "safe_harbor", "limited_data_set")]
    assert len({doc._.deid_text for doc in docs}) == 3
    assert len({tuple((ent.text, ent.label_) for ent in doc.ents) for doc in docs}) == 1


def test_a_tag_stays_a_tag_in_every_style():
    nlp = make(style="mask")
    nlp.get_pipe("deid_surrogate").set_policy(Policy("own", "replace", {"PATIENT": "tag"}))
    assert nlp(f"{CANARY}, 600 123 456")._.deid_text == "[PATIENT], ***********"


def test_what_cannot_be_made_coarser_is_replaced():
    nlp = make()
    nlp.get_pipe("deid_surrogate").set_policy(Policy("own", "generalize"))
    assert nlp(f"{CANARY}, 600 123 456, 12/03/2019")._.deid_text == "[PATIENT], [PHONE], 2019"


def test_a_policy_made_in_code_counts_ages_from_this_year():
    nlp = make()
    nlp.get_pipe("deid_surrogate").set_policy(Policy("own", "generalize"))
    assert nlp("nace el 04/05/1921")._.deid_text == "nace el [DATE]"


def test_a_policy_file_is_used(tmp_path):
    path = tmp_path / "board.toml"
    path.write_text('name = "board"\ndefault = "keep"\n[labels]\nPATIENT = "replace"\n')
    nlp = make(policy=str(path))
    assert nlp(f"{CANARY} llama al 600 123 456")._.deid_text == "[PATIENT] llama al 600 123 456"


def test_the_trace_tells_what_was_kept_from_what_was_changed():
    rows = make(policy="safe_harbor")("España, 53 años, 93 años, 12 de marzo")._.deid_trace
    assert [(row["label"], row["action"]) for row in rows] == [
        ("COUNTRY", "keep"),
        ("AGE", "keep"),
        ("AGE", "generalize"),
        ("DATE", "replace"),
    ]
    assert {row["policy"] for row in rows} == {"safe_harbor"}


# The guard


def test_nothing_is_edited_before_merging():
    nlp = spacy.blank("es")
    with pytest.raises(NotDeidentified, match="'deid_merge' did not run"):
        nlp.add_pipe("deid_surrogate")(nlp.make_doc(NOTE))


def test_entities_that_another_component_took_away_are_missed():
    nlp = make()
    doc = nlp.get_pipe("deid_merge")(nlp.get_pipe("deid_ruler")(nlp.make_doc(NOTE)))
    doc.ents = [ent for ent in doc.ents if ent.label_ != "PATIENT"]
    with pytest.raises(NotDeidentified, match=r"4 merged token.* 'deid_surrogate' removed them"):
        nlp.get_pipe("deid_surrogate")(doc)
    with pytest.raises(NotDeidentified):
        doc._.deid_text  # noqa: B018


@pytest.mark.parametrize("policy", ["strict", "safe_harbor", "limited_data_set"])
@pytest.mark.parametrize(
    ("mention", "label", "text"),
    [
        ("hermana mayor", "KINSHIP", "hermana mayor"),
        ("Varón", "SEX", "Varón"),
        (f"hermana {CANARY}", "KINSHIP", "[KINSHIP]"),
        (CANARY, "SEX", "[SEX]"),
        ("mayor", "KINSHIP", "[KINSHIP]"),
        ("H 7", "SEX", "[SEX]"),
    ],
)
def test_only_listed_words_of_sex_and_kinship_are_kept(policy, mention, label, text):
    nlp = make(policy=policy)
    doc = nlp.make_doc(f"Consta {mention}.")
    write_evidence(doc, "deid/ruler", [Evidence(7, 7 + len(mention), label, "deid_ruler")])
    assert nlp.get_pipe("deid_surrogate")(nlp.get_pipe("deid_merge")(doc))._.deid_text == f"Consta {text}."


def test_entities_that_were_recovered_are_let_go():
    nlp = make()
    doc = nlp.get_pipe("deid_merge")(nlp.get_pipe("deid_ruler")(nlp.make_doc(NOTE)))
    patient = doc.ents[0]
    write_evidence(doc, RECOVERED, [Evidence(patient.start_char, patient.end_char, patient.label_, "deid_recovery")])
    doc.ents = doc.ents[1:]
    assert nlp.get_pipe("deid_surrogate")(doc)._.deid_text.startswith(f"Ana {CANARY} Ruiz, mujer")


def test_entities_that_another_component_added_are_replaced():
    nlp = make()
    nlp.add_pipe("entity_ruler", before="deid_surrogate").add_patterns([{"label": "FOOD", "pattern": "dieta"}])
    assert "dieta" not in nlp(NOTE)._.deid_text
    assert "[FOOD]" in nlp(NOTE)._.deid_text


def test_neither_text_nor_entities_are_changed():
    nlp = make()
    doc = nlp.get_pipe("deid_merge")(nlp.get_pipe("deid_ruler")(nlp.make_doc(NOTE)))
    before = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    nlp.get_pipe("deid_surrogate")(doc)
    assert doc.text == NOTE
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == before
    assert {MERGED, "deid/ruler"} <= set(doc.spans)


# What every component owes


@pytest.fixture
def public(tmp_path):
    path = tmp_path / "terms.csv"
    path.write_text("term,label\n" + "".join(f"{t},{label}\n" for t, label in TERMS.items()), encoding="utf8")
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler", config={"paths": [str(path)]})
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate", config={"style": "numbered", "policy": "safe_harbor"})
    return nlp


SAFE = "[PATIENT_1], mujer de 90+, ingresa el 2019. Sra. [PATIENT_1]: dieta. Dr. [CLINICIAN_1]."


def test_config_round_trip(public):
    loaded = spacy.blank("es").from_config(public.config)
    assert loaded.config == public.config
    assert loaded(NOTE)._.deid_text == SAFE


def test_config_round_trip_of_a_registered_style():
    nlp = make(style={"@deid_styles": "spacy_deid.mask_style.v1", "mask": "x"})
    loaded = spacy.blank("es").from_config(nlp.config)
    assert loaded.config == nlp.config
    assert loaded.get_pipe("deid_surrogate").style_name == "mask"


def test_disk_round_trip(public, tmp_path):
    public.to_disk(tmp_path / "saved")
    assert spacy.load(tmp_path / "saved")(NOTE)._.deid_text == SAFE


def test_a_setting_given_at_load_time_wins(public, tmp_path):
    public.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved", config={"components.deid_surrogate.style": "tag"})
    assert loaded(NOTE)._.deid_text == SAFE.replace("_1", "")


def test_bytes_round_trip(public):
    loaded = spacy.blank("es").from_config(public.config).from_bytes(public.to_bytes())
    assert loaded(NOTE)._.deid_text == SAFE


def test_docbin_round_trip(public):
    doc = public(NOTE)
    kept = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (loaded,) = DocBin().from_bytes(kept).get_docs(public.vocab)
    assert loaded._.deid_text == SAFE
    assert Doc(public.vocab).from_bytes(doc.to_bytes())._.deid_trace == doc._.deid_trace


@pytest.mark.parametrize("style", [*STYLES, "surrogate"])
def test_the_component_can_be_pickled_for_spawned_processes(style):
    loaded = pickle.loads(pickle.dumps(Surrogate("x", style=style, policy="safe_harbor")))
    assert (loaded.style_name, loaded.policy.name) == (style, "safe_harbor")


def test_two_processes_release_the_same(public):
    notes = [NOTE, "", "España, 53 años"] * 3
    docs = list(public.pipe(notes, n_process=2, batch_size=2))
    assert [doc._.deid_text for doc in docs] == [public(note)._.deid_text for note in notes]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t  \n"], ids=["empty", "space", "white space"])
def test_a_doc_without_words_is_released_as_it_is(public, text):
    assert public(text)._.deid_text == text
    assert public(text)._.deid_edits == []


@long_notes
def test_a_long_note_is_released(public, length):
    public.max_length = 2 * length
    times = length // len(NOTE)
    doc = public((NOTE + "\n") * times)
    assert doc._.deid_text == (SAFE + "\n") * times
    assert len(doc._.deid_trace) == 6 * times


def test_no_word_of_a_note_is_said_or_stored(caplog):
    nlp = make(style="numbered")
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        doc = nlp(NOTE)
        doc.ents = []
        with pytest.raises(NotDeidentified) as refused:
            nlp.get_pipe("deid_surrogate")(doc)
    assert CANARY in doc.text
    said = [caplog.text, str(refused.value), repr(nlp.get_pipe("deid_surrogate")), *map(str, warned)]
    stored = [json.dumps(doc.user_data), json.dumps(doc._.deid_trace), repr(doc._.deid_edits)]
    assert not [text for text in said + stored if CANARY in text]


def test_the_names_of_a_patient_come_from_the_dictionaries(tmp_path):
    from spacy_deid.dictionaries.store import LocalStore, StoreWriter
    from spacy_deid.dictionaries.terms import LocalEntry
    from spacy_deid.pipeline.surrogate import known_names, own_names

    terms = ["tyler zubiaurre", "zubiaurre, tyler", "zubiaurre, t.", "zubiaurre", "zubiaurre marsh, tyler"]
    entries = [LocalEntry(term, "PATIENT", "patients.name") for term in terms]
    entries.append(LocalEntry("marsh, amelia", "RELATIVE", "patients.mother"))
    entries.append(LocalEntry("okonkwo", "CLINICIAN", "patients.doctor"))
    entries.append(LocalEntry("lugo", "CITY", "patients.city"))
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_patient("4711", entries)
        writer.commit({})
    store = LocalStore.open(tmp_path / "store")
    own = own_names(store, "4711")
    assert known_names(own) == [("Zubiaurre Marsh, Tyler", "PATIENT"), ("Marsh, Amelia", "RELATIVE")]
    assert {term for term, _ in own} >= {"zubiaurre", "okonkwo"}
    assert "lugo" not in {term for term, _ in own}
    assert own_names(store, "4712") == own_names(store, None) == own_names(None, "4711") == []
