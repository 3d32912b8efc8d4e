import pytest

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import AnnotatedText, Entity, pair_documents, relabel

TEXT = "Paciente: Ana Rueda."


def note(name: str, *entities: Entity, text: str = TEXT) -> AnnotatedText:
    return AnnotatedText(name, text, entities)


def test_entities_are_put_in_order_and_counted_once():
    first, second = Entity(10, 13, "PATIENT"), Entity(14, 19, "PATIENT")
    assert note("a", second, first, second).entities == (first, second)


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (5, 4), (15, 21)])
def test_entity_outside_the_text_is_refused_without_quoting_it(start, end):
    with pytest.raises(InputError, match=rf"'a': invalid entity at {start}:{end}:") as raised:
        note("a", Entity(start, end, "PATIENT"))
    assert "Rueda" not in str(raised.value)


def test_repr_holds_no_text():
    assert "Rueda" not in repr(note("a", Entity(10, 19, "PATIENT")))


def test_relabel_gives_the_nearest_label_of_the_scheme():
    assert relabel([Entity(0, 3, "CITY")], "meddocan") == [Entity(0, 3, "TERRITORIO")]


def test_relabel_refuses_an_unknown_label():
    with pytest.raises(ConfigError, match="unknown label 'NAME'"):
        relabel([Entity(0, 3, "NAME")], "meddocan")


def test_documents_are_paired_by_name_whatever_their_order():
    pairs = pair_documents([note("b"), note("a")], [note("a"), note("b")])
    assert [(gold.name, pred.name) for gold, pred in pairs] == [("a", "a"), ("b", "b")]


def test_document_without_prediction_is_an_error():
    with pytest.raises(InputError, match=r"Only in gold: b\. Only in predictions: none"):
        pair_documents([note("a"), note("b")], [note("a")])


def test_document_that_stands_twice_is_an_error():
    with pytest.raises(InputError, match="duplicate document name 'a'"):
        pair_documents([note("a")], [note("a"), note("a")])


def test_different_text_is_an_error_that_quotes_neither():
    with pytest.raises(InputError, match="'a': gold and predictions have different texts") as raised:
        pair_documents([note("a")], [note("a", text="Paciente: Eva Rueda.")])
    assert "Rueda" not in str(raised.value)
