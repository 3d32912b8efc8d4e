"""All mentions of a note at once: strategies choose, replacers make."""

from functools import partial

from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import AROUND, Mention
from spacy_deid.surrogates.note import find_mentions, number_entities, replace_mentions
from spacy_deid.surrogates.strategies import FALLBACK, Replacement, generalize, keep, markov, tag

KEY = ProjectKey(bytes(range(32))).patient("17")
TEXT = "Nombre: Ana Ruiz Gil. Vive en Soria. Sra. Ruiz: 93 años."


def at(surface, label, text=TEXT):
    return (text.index(surface), text.index(surface) + len(surface), label)


def test_a_mention_has_what_stands_around_it():
    (mention,) = find_mentions("a" * 100 + "Soria" + "b" * 100, [(100, 105, "CITY")])
    assert mention == Mention("Soria", "CITY", "a" * AROUND, "b" * AROUND)


def test_a_mention_at_the_edge_has_less_around_it():
    (mention,) = find_mentions("Soria.", [(0, 5, "CITY")])
    assert mention == Mention("Soria", "CITY", "", ".")


def test_persons_are_entities_by_their_names_and_values_by_label():
    labels = ["PATIENT", "CITY", "PERSON", "CITY", "STATE", "PATIENT", "CITY"]
    texts = ["Ana Ruiz Gil", "Soria", "Ruiz", "SORIA", "Soria", "Luis Mas", "Lugo"]
    numbers = number_entities([Mention(text, label) for text, label in zip(texts, labels, strict=True)])
    assert numbers[0] == numbers[2] != numbers[5]
    assert numbers[1] == numbers[3] != numbers[6]
    assert len(set(numbers)) == 5


def test_each_label_has_its_strategy():
    mentions = find_mentions(TEXT, [at("Ana Ruiz Gil", "PATIENT"), at("Soria", "CITY"), at("93 años", "AGE")])
    strategies = {"PATIENT": tag, "CITY": keep, "AGE": generalize}
    assert replace_mentions(mentions, KEY, "es", strategies) == [
        Replacement("[PATIENT]", "tag"),
        Replacement("Soria", "keep"),
        Replacement("90+", "generalize"),
    ]


def test_where_no_surrogate_can_be_made_stands_the_tag():
    mentions = [Mention("huella 4", "BIOMETRIC"), Mention("Ana", "FOOD")]
    assert replace_mentions(mentions, KEY, "es", {}) == [
        Replacement("[BIOMETRIC]", FALLBACK),
        Replacement("[FOOD]", FALLBACK),
    ]
    strategies = {"BIOMETRIC": partial(markov, p=0.5)}
    assert replace_mentions(mentions[:1], KEY, "es", strategies)[0].action == FALLBACK


def test_what_is_in_doubt_neither_stays_nor_becomes_coarser():
    mentions = [Mention("huella", "BIOMETRIC"), Mention("iris", "BIOMETRIC")]
    made = replace_mentions(mentions, KEY, "es", {"BIOMETRIC": keep}, firm={1})
    assert [replacement.action for replacement in made] == ["keep", FALLBACK]


def test_a_note_without_mentions_has_nothing_to_replace():
    assert replace_mentions([], KEY, "es", {}) == []


def test_words_that_were_annotated_as_a_number_are_read_as_a_description():
    texts = ["boliviana", "Lactante", "raza blanca", "4471906"]
    made = replace_mentions([Mention(text, "MRN") for text in texts], KEY, "es", {})
    assert made[0].action == "replace"
    assert made[0].text.endswith("a")
    assert made[1] == Replacement("Lactante", "keep")
    assert made[2].action == FALLBACK
    assert made[3].text.isdecimal()


def test_a_description_that_another_detector_found_does_not_stay():
    mentions = [Mention("lactante", "OTHER"), Mention("España", "COUNTRY")]
    assert {made.action for made in replace_mentions(mentions, KEY, "es", {})} == {"keep"}
    assert {made.action for made in replace_mentions(mentions, KEY, "es", {}, firm={0, 1})} == {FALLBACK}
