"""The stream of notes: seeded, split, typed badly where asked."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.synth import SPLITS, load_language, make_corpus, read_table
from spacy_deid.synth.carriers import read_carriers
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.language import COMMON, is_reserved
from spacy_deid.synth.noise import DAMAGE, HANDS, add_noise

CARRIERS = [
    (
        f"carrier-{i}",
        "La paciente acude a consulta por dolor lumbar. Su madre refiere fiebre desde ayer. "
        "Se realiza resonancia. La Dra. Canario indica reposo y control en dos semanas.",
    )
    for i in range(40)
]
NUMBERED = [(f"note-{i}", f"Number {i} of forty. It is quiet. It stays so.") for i in range(40)]
KNOWN = "Canario"


def find_known(text):
    start = text.index(KNOWN)
    return [Entity(start, start + len(KNOWN), "CLINICIAN")]


def test_the_same_seed_makes_the_same_corpus():
    first, second = (list(make_corpus("es", 30, 7, carriers=CARRIERS)) for _ in range(2))
    assert [(n.name, n.text, n.entities) for n in first] == [(n.name, n.text, n.entities) for n in second]


def test_another_seed_makes_another():
    first, second = (list(make_corpus("es", 10, seed)) for seed in (1, 2))
    assert not {n.text for n in first} & {n.text for n in second}


def test_a_longer_corpus_begins_with_the_shorter():
    long, short = (list(make_corpus("es", n, 3)) for n in (12, 5))
    assert [n.text for n in long[:5]] == [n.text for n in short]


def test_most_notes_hold_entities():
    notes = list(make_corpus("es", 100, 5))
    assert sum(bool(note.entities) for note in notes) > 85


def test_unknown_languages_and_splits_are_refused():
    with pytest.raises(ConfigError, match="no templates for language 'qq'"):
        list(make_corpus("qq", 1, 1))
    with pytest.raises(ConfigError, match="unknown split 'valid'"):
        list(make_corpus("es", 1, 1, "valid"))


def test_what_a_carrier_held_is_gold_and_stays_whole():
    notes = list(make_corpus("es", 60, 4, carriers=CARRIERS, prelabel=find_known, carrier_share=1.0, noise=0.0))
    assert notes
    for note in notes:
        values = [note.text[e.start : e.end] for e in note.entities if e.label == "CLINICIAN"]
        assert KNOWN in values
        assert len(note.entities) > 1


def test_carriers_of_the_splits_never_meet():
    texts = [(f"carrier-{i}", f"Texto de prueba número {i} sin datos.") for i in range(60)]
    used = {}
    for split in ("train", "test"):
        notes = make_corpus("es", 80, 1, split, carriers=texts, carrier_share=1.0, noise=0.0)
        used[split] = {text for note in notes for _, text in texts if text[:-1] in note.text}
    assert used["train"]
    assert used["test"]
    assert not used["train"] & used["test"]


@pytest.mark.parametrize(("lang", "splits"), [("es", ["train", "test"]), *((x, SPLITS) for x in ("en", "fi"))])
def test_every_split_puts_identifiers_into_carriers_of_its_own(lang, splits):
    used = {}
    for split in splits:
        notes = list(make_corpus(lang, 40, 2, split, carriers=NUMBERED, carrier_share=1.0, noise=0.0))
        assert len(notes) == 40
        assert sum(bool(note.entities) for note in notes) > 35  # some sentences name nobody
        assert not {note.text for note in notes} & {text for _, text in NUMBERED}
        used[split] = {i for note in notes for i, (_, text) in enumerate(NUMBERED) if text.split(". ")[0] in note.text}
    assert all(used.values())
    assert len(set.union(*used.values())) == sum(map(len, used.values()))


@pytest.mark.parametrize("lang", ["en", "fi"])
def test_what_is_put_into_held_out_carriers_is_of_that_split(lang):
    language = load_language(lang)
    for split in ("dev", "test"):
        lines = [line for line in language.lines if line.split == split]
        assert len(lines) > 25
        assert not {line.nodes for line in lines} & {sentence.nodes for sentence in language.sentences}
        for line in lines:
            text = render_template(line, language, Random(1), split, "line").text
            assert not {"[", "]", "|", "{", "}"} & set(text), line.name


def test_carriers_of_no_use_for_the_split_are_refused():
    with pytest.raises(InputError, match=r"none of the 1 carrier note\(s\) belongs to the split"):
        [list(make_corpus("en", 1, 1, split, carriers=CARRIERS[:1])) for split in ("dev", "test")]


def test_a_language_with_nothing_to_put_in_is_refused(tmp_path):
    (tmp_path / "xx" / "notes").mkdir(parents=True)
    (tmp_path / "xx" / "language.toml").write_text("", encoding="utf8")
    (tmp_path / "xx" / "notes" / "short.txt").write_text("Nothing.\n---\nNothing new.\n---\nNil.", encoding="utf8")
    assert list(make_corpus("xx", 1, 1, folder=tmp_path))
    with pytest.raises(ConfigError, match="has no values for carrier notes of the split 'train'"):
        list(make_corpus("xx", 1, 1, carriers=CARRIERS, folder=tmp_path))


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
@pytest.mark.parametrize("part", ["female", "male", "surname"])
def test_reserved_names_are_drawn_in_the_test_only(lang, part):
    table = read_table(lang, part)
    reserved = {name for rank, name in enumerate(table.names) if is_reserved(name, rank)}
    assert reserved
    assert not reserved & set(table.names[:COMMON])
    rng = Random(1)
    assert not reserved & {table.draw(rng, "train") for _ in range(3_000)}
    assert reserved & {table.draw(rng, "test") for _ in range(3_000)}


@pytest.mark.parametrize(
    ("lang", "part", "names"),
    [
        ("es", "surname", ["García", "Fernández", "de la Torre", "Muñoz", "Jiménez"]),
        ("es", "female", ["María del Mar", "Lucía", "Ángela"]),
        ("es", "male", ["José", "Miguel Ángel", "Andrés"]),
        ("fi", "female", ["Päivi", "Liisa"]),
        ("en", "surname", ["Smith", "McCoy"]),
    ],
)
def test_names_have_their_case_and_accents(lang, part, names):
    assert set(names) <= set(read_table(lang, part).names)


@pytest.mark.parametrize("hand", sorted((HANDS | DAMAGE).keys() - {"columns"}))
def test_a_hand_keeps_every_entity(hand):
    for seed, note in enumerate(make_corpus("es", 25, 11, noise=0.0)):
        typed = (HANDS | DAMAGE)[hand](note, Random(seed))
        assert len(typed.entities) >= len(note.entities) - 1
        assert [e.label for e in typed.entities][:1] == [e.label for e in note.entities][:1]


def test_columns_keep_every_marked_character_and_its_label():
    def marked(note):
        letters = Counter()
        for e in note.entities:
            letters.update((e.label, char) for char in note.text[e.start : e.end] if char.isalnum())
        return letters

    parted = 0
    for seed, note in enumerate(make_corpus("es", 25, 11, noise=0.0)):
        mixed = DAMAGE["columns"](note, Random(seed))
        assert marked(mixed) == marked(note)
        parted += len(mixed.entities) > len(note.entities)
    assert parted > 2


def test_capitals_and_plain_letters_keep_the_words():
    note = AnnotatedText("n", "Sra. Núñez, 3 años", (Entity(5, 10, "PATIENT"), Entity(12, 18, "AGE")))
    upper = HANDS["capitals"](note, Random(1))
    assert [upper.text[e.start : e.end] for e in upper.entities] == ["NÚÑEZ", "3 AÑOS"]
    plain = HANDS["plain"](note, Random(1))
    assert [plain.text[e.start : e.end] for e in plain.entities] == ["Nunez", "3 anos"]


@settings(max_examples=50)
@given(st.text(min_size=1, max_size=80), st.integers(0, 50), st.integers(1, 20), st.integers(0, 1_000))
def test_noise_never_puts_an_entity_outside_the_text(text, start, length, seed):
    start = min(start, len(text) - 1)
    end = min(len(text), start + length)
    typed = add_noise(AnnotatedText("n", text, (Entity(start, end, "PATIENT"),)), Random(seed))
    assert all(e.label == "PATIENT" for e in typed.entities)


def test_a_folder_of_notes_is_read_as_carriers(tmp_path):
    (tmp_path / "a.txt").write_text("Una nota con cinco palabras justas.", encoding="utf8")
    (tmp_path / "b.jsonl").write_text('{"id": "x", "text": "Otra nota con cinco palabras más."}\n', encoding="utf8")
    assert len(read_carriers(tmp_path, "es")) == 2


@pytest.mark.parametrize("record", ['{"texto": "Canario"}', '{"text": null}', '["Canario"]', '{"text": "Canario'])
def test_a_carrier_line_that_cannot_be_read_is_named_without_its_content(tmp_path, record):
    (tmp_path / "b.jsonl").write_text(f'{{"text": "Una nota con cinco palabras."}}\n{record}\n', encoding="utf8")
    with pytest.raises(InputError, match=r"b\.jsonl, line 2: ") as error:
        read_carriers(tmp_path, "es")
    assert "Canario" not in str(error.value)


@pytest.mark.parametrize("name", ["a.txt", "b.jsonl"])
def test_a_carrier_file_that_is_not_utf8_is_named_without_its_content(tmp_path, name):
    (tmp_path / name).write_bytes("Canario señala".encode("latin-1"))
    with pytest.raises(InputError, match=f"{name}: not valid UTF-8 text") as error:
        read_carriers(tmp_path, "es")
    assert "Canario" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"id,remark\n1,Canario\n", "train.csv: no column 'note'"),
        (b"id,note\n1,well\n2\n", "train.csv, line 3: "),
        (b"id,note\n1,Canari\xf1o\n", "train.csv: not valid UTF-8 text"),
    ],
)
def test_a_table_of_carriers_that_cannot_be_read_is_named_without_its_content(tmp_path, data, where):
    table = tmp_path / "clinical_visit_notes" / "data" / "aci-bench" / "challenge_data" / "train.csv"
    table.parent.mkdir(parents=True)
    table.write_bytes(data)
    with pytest.raises(InputError, match=where) as error:
        read_carriers(tmp_path, "en")
    assert "Canar" not in str(error.value)


def test_a_compressed_table_that_is_broken_is_named(tmp_path):
    table = tmp_path / "fi_eduskunta_vkk" / "vkk" / "train.csv.bz2"
    table.parent.mkdir(parents=True)
    table.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"train\.csv\.bz2: broken"):
        read_carriers(tmp_path, "fi")


def test_no_repr_holds_a_note():
    note = next(iter(make_corpus("es", 1, 1, carriers=CARRIERS, carrier_share=1.0, noise=0.0)))
    assert "Canario" in note.text
    assert "Canario" not in repr(note)
