"""``spacy-deid surrogates evaluate``."""

import numpy as np
import pytest
import spacy
from canned_server import canned_server

from spacy_deid.evaluation import AnnotatedText, Entity, read_rows, write_folder
from spacy_deid.saving import save

CANARIES = ("Zacarías", "Villarrubia")
TEXT = "Paciente: Zacarías Soto. Vive en Villarrubia. Zacarías refiere dolor. Zacarías Soto acude solo."


def entities():
    found = []
    for label, value in (("PATIENT", "Zacarías Soto"), ("CITY", "Villarrubia"), ("PATIENT", "Zacarías refiere")):
        at = TEXT.index(value)
        found.append(Entity(at, at + len(value.removesuffix(" refiere")), label))
    return tuple(sorted([*found, Entity(TEXT.rindex("Zacarías"), TEXT.rindex("Soto") + 4, "PATIENT")]))


@pytest.fixture
def gold(tmp_path):
    write_folder([AnnotatedText("a", TEXT, entities())], tmp_path / "gold", format="brat")
    return tmp_path / "gold"


def clean(result, code=0):
    text = result.output + str(result.exception)
    assert result.exit_code == code, text
    assert not [value for value in CANARIES if value in text]
    return result.output


def table(output):
    lines = output.splitlines()
    width = len(lines[0].split())
    return lines[0].split(), {" ".join(c[:-width]): c[-width:] for c in (line.split() for line in lines[1:])}


def test_strategies_are_compared_in_one_table(cli, gold):
    titles, figures = table(clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--p", 0.1, "--p", 0.5)))
    assert titles == ["consistent", "random", "markov(0.1)", "markov(0.5)"]
    assert figures["mentions"] == ["4"] * 4
    assert figures["same"] == figures["empty"] == ["0.0000"] * 4
    assert "trigram diversity" in figures
    assert "BERTScore F1" not in figures


def test_metric_rows_have_the_command_without_absolute_paths(cli, gold, tmp_path):
    rows = tmp_path / "rows.json"
    clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--metrics", rows, "--data", "d", "--split", "dev"))
    written = {row.name: row for row in read_rows(rows)}
    assert written["same, consistent"].value == 0.0
    assert written["trigram similarity, random"].better == "lower"
    assert str(tmp_path) not in rows.read_text(encoding="utf8")
    assert not [value for value in CANARIES if value in rows.read_text(encoding="utf8")]


def test_the_same_seed_gives_the_same_table(cli, gold):
    first, second = (clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--seed", 7)) for _ in range(2))
    assert first == second


def test_only_the_given_label_is_measured(cli, gold):
    _, figures = table(clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--label", "CITY")))
    assert figures["mentions"] == ["1"] * 3


def test_vectors_give_the_bert_score(cli, gold, tmp_path):
    nlp = spacy.blank("es")
    for i, word in enumerate(("a", "Zacarías", "Soto")):
        nlp.vocab.set_vector(word, np.eye(3)[i])
    save(nlp, tmp_path / "vectors")
    _, figures = table(clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--encoder", tmp_path / "vectors")))
    assert "BERTScore F1" in figures


def test_a_pipeline_without_embeddings_is_refused(cli, gold, tmp_path):
    save(spacy.blank("es"), tmp_path / "blank")
    said = clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--encoder", tmp_path / "blank"), 1)
    assert "has no token embeddings" in said


@pytest.mark.parametrize(
    ("options", "reason"), [(["--p", 1.5], "between 0 and 1, got 1.5"), (["--label", "FAX"], "contains no entities")]
)
def test_corpus_without_mentions_is_refused(cli, gold, options, reason):
    assert reason in clean(cli("surrogates", "evaluate", gold, "--lang", "es", *options), 1)


def test_a_masked_language_model_adds_similar_and_the_bert_score_of_all(cli, gold):
    pytest.importorskip("onnxruntime")
    titles, figures = table(clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--masked-lm", "es")))
    assert titles == ["consistent", "random", "markov(0.1)", "similar"]
    assert all(0 < float(score) < 1 for score in figures["BERTScore F1"])
    assert figures["left to consistent"] == ["-", "-", "-", "0.0000"]
    assert figures["same"] == ["0.0000"] * 4


@pytest.mark.transformer
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_invalid_self_decoding_model_is_refused(cli, gold, tmp_path):
    pytest.importorskip("torch")
    said = clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--self-decoded", tmp_path), 1)
    assert "contains no self-decoding model" in said


def test_llm_is_asked_once_per_value_and_its_failures_are_shown(cli, gold):
    pytest.importorskip("httpx")

    def answer(body):
        asked = body["messages"][-1]["content"]
        if "town" in asked:
            return 500
        return {"value": "" if asked.endswith("Soto") else "Zacarías"}

    with canned_server(answer) as (url, canned):
        titles, figures = table(clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--llm", url)))
    asked = [body["messages"][-1]["content"] for body in canned.asked]
    assert titles[-1] == "LLM"
    assert len({text for text in asked if "name using this example: Zacarías" in text}) == 2
    assert [figures[name][-1] for name in ("mentions", "empty", "same", "out of dictionary")] == [
        "4",
        "0.5000",
        "0.2500",
        "0.2500",
    ]


def test_values_are_not_sent_to_hosts_that_are_not_allowed(cli, gold):
    pytest.importorskip("httpx")
    said = clean(cli("surrogates", "evaluate", gold, "--lang", "es", "--llm", "http://192.0.2.1:8080"), 1)
    assert "192.0.2.1" in said
    assert "allow" in said
