"""surprisal: a note looked at, a threshold tuned, a score measured, with a model that a test makes."""

import json
import re
from pathlib import Path

import pytest

from spacy_deid.cli.surprisal import find_part, name_parts
from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder, read_rows, write_folder

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample"
CANARY = "Xqzutoiaga"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from unigram_model import make_unigram_model

    texts = [note.text for note in read_folder(SAMPLE / "train", scheme="meddocan")]
    return make_unigram_model(tmp_path_factory.mktemp("model") / "es", texts)


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    """The samples, and a note with a name that nobody has."""
    folder = tmp_path_factory.mktemp("gold") / "notes"
    text = f"Nombre: {CANARY}.\nAcude por dolor.\n"
    canary = AnnotatedText("canary-note", text, (Entity(8, 8 + len(CANARY), "PATIENT"),))
    write_folder([*read_folder(SAMPLE / "dev", scheme="meddocan"), canary], folder, "brat", scheme="meddocan")
    return folder


@pytest.fixture
def run(cli, model):
    """Run a sub-command with the model: ``run("evaluate", gold)``."""

    def call(command, *args):
        return cli("surprisal", command, *args, "--lang", "es", "--model", model, "--score", "surprisal")

    return call


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text(f"Nombre: {CANARY}.\r\nAcude por dolor.\n", encoding="utf8", newline="")
    return path


def test_a_note_is_scored_as_a_page_and_a_printed_table(run, note, tmp_path):
    result = run("score", note, "--output", tmp_path / "page.html", "--threshold", 900)
    assert result.exit_code == 0, result.stderr
    head, *rows = result.stdout.splitlines()
    assert head.split("\t")[:4] == ["start", "end", "token", "surprisal"]
    assert [row.split("\t")[2] for row in rows] == ["Nombre", CANARY, "Acude", "por", "dolor"]
    assert CANARY not in result.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf8")
    assert re.search(rf'class="t b\d f"[^>]*>{CANARY}<', page)
    assert page.count(' f" data-tip') == 2  # in the note and in the table below it


def test_the_table_goes_to_a_file_if_one_is_named(run, note, tmp_path):
    result = run("score", note, "--table", tmp_path / "t.tsv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert CANARY in (tmp_path / "t.tsv").read_text(encoding="utf8")
    assert CANARY not in result.stderr


def test_outputs_are_replaced_only_with_overwrite_and_the_note_never(run, note, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")
    assert run("score", note, "--output", page).exit_code == 1
    assert page.read_text() == "old"
    assert run("score", note, "--output", page, "--overwrite").exit_code == 0
    before = note.read_bytes()
    assert run("score", note, "--output", note, "--overwrite").exit_code == 1
    assert run("score", note, "--table", note, "--overwrite").exit_code == 1
    assert note.read_bytes() == before


@pytest.mark.parametrize("text", ["", " \n", "dolor"])
def test_a_note_of_one_word_or_none_has_a_page(run, tmp_path, text):
    (tmp_path / "n.txt").write_text(text)
    result = run("score", tmp_path / "n.txt", "--output", tmp_path / "page.html", "--threshold", 1)
    assert result.exit_code == 0, result.stderr
    assert "of which" in (tmp_path / "page.html").read_text()


def test_a_threshold_is_tuned_drawn_and_used(run, gold, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("tune", gold, "--scheme", "meddocan", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    curves = json.loads((tmp_path / "out" / "curves.json").read_text())
    best = max(row["f1"] for row in curves["rows"] if row["f1"] is not None)
    assert curves["figures"]["f1"] == pytest.approx(best)
    assert (curves["by"], curves["unit"], curves["region"], curves["score"]) == ("f1", "token", "all", "surprisal")
    assert (tmp_path / "out" / "curves.png").stat().st_size > 10_000
    (kept,) = (tmp_path / "out").glob("scores-*.npz")
    before = kept.stat().st_mtime_ns

    result = run("evaluate", gold, "--scheme", "meddocan", "--tuned", tmp_path / "out", "--keep", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert kept.stat().st_mtime_ns == before
    row = next(line for line in result.stdout.splitlines() if line.startswith("surprisal"))
    assert f"{best:.3f}" in row
    assert "given" in result.stdout


def test_recall_is_reached_on_the_given_region_and_unit(run, gold, tmp_path):
    pytest.importorskip("matplotlib")
    args = ("--scheme", "meddocan", "--output", tmp_path, "--by", "recall=.9", "--region", "narrative")
    assert run("tune", gold, *args, "--unit", "word").exit_code == 0
    curves = json.loads((tmp_path / "curves.json").read_text())
    assert curves["figures"]["recall"] >= 0.9
    assert (curves["unit"], curves["region"]) == ("word", "narrative")


def test_an_evaluation_prints_the_table_with_the_rules_and_writes_rows(run, gold, tmp_path):
    metrics = tmp_path / "m.json"
    result = run(
        "evaluate", gold, "--scheme", "meddocan", "--metrics", metrics, "--data", "samples", "--split", "test"
    )
    assert result.exit_code == 0, result.stderr
    assert "the best for these very notes" in result.stdout
    for part in ("by token, whole notes", "by word, narrative", "after a colon on a short line", "ROC-AUC"):
        assert part in result.stdout
    rows = read_rows(metrics)
    names = [row.name for row in rows]
    assert any(re.fullmatch(r"by word, header, surprisal, unigram, .*, PR-AUC", name) for name in names)
    assert {(row.data, row.split) for row in rows} == {("samples", "test")}
    assert str(tmp_path) not in rows[0].command
    assert rows[0].command.startswith("spacy-deid surprisal evaluate notes --lang es --scheme meddocan")


def test_corpus_commands_print_and_store_no_words(run, gold, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    said = [
        run("tune", gold, "--scheme", "meddocan", "--output", out),
        run("evaluate", gold, "--scheme", "meddocan", "--metrics", out / "m.json", "--keep", out),
    ]
    assert [result.exit_code for result in said] == [0, 0]
    texts = [result.output + result.stderr for result in said]
    texts += [path.read_bytes().decode("latin1") for path in out.iterdir()]
    assert len(texts) == 6
    for text in texts:
        assert CANARY not in text
        assert "canary-note" not in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--mode", "nonsense"), r"unknown mode 'nonsense'\. Known names: exact, .*spread"),
        (("--masking", "nonsense"), r"unknown masking.*same_lemma"),
        (("--mode", "spread:gapp=2"), r"unknown setting of 'spread' 'gapp'\. Known names: gap"),
        (("--threshold", "1", "--tuned", "x"), "cannot be used together"),
        (("--tuned", "no/such"), "no such file|No such file"),
    ],
)
def test_wrong_options_are_named(run, gold, args, said):
    result = run("evaluate", gold, "--scheme", "meddocan", *args)
    assert result.exit_code == 1
    assert re.search(said, result.stderr)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--by", "luck"), 1, "recall=R"),
        (("--region", "footer"), 2, "'footer' is not one of"),
        (("--unit", "letter"), 2, "'letter' is not one of"),
    ],
)
def test_unknown_values_of_tune_are_refused(run, gold, tmp_path, args, code, message):
    result = run("tune", gold, "--scheme", "meddocan", "--output", tmp_path / "out", *args)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_corpus_without_phi_has_no_threshold(run, tmp_path):
    write_folder([AnnotatedText("n", "Acude por dolor")], tmp_path / "gold", "brat")
    result = run("tune", tmp_path / "gold", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "no threshold can be chosen: 0 token(s) are PHI" in result.stderr


def test_missing_model_is_an_error_without_a_download(cli, note):
    result = cli("surprisal", "score", note, "--lang", "es", "--model", "no/such")
    assert result.exit_code == 1
    assert "no/such" in result.stderr
    assert CANARY not in result.output + result.stderr


def test_parts_are_found_by_short_names_with_their_settings():
    assert {"exact", "spread"} <= set(name_parts("mode"))
    assert {"none", "same_word", "same_lemma"} <= set(name_parts("masking"))
    spread = {"@deid_modes": "spacy_deid.spread_mode.v1"}
    assert find_part("mode", "exact", "fi") == "exact"
    assert find_part("mode", "spacy_deid.spread_mode.v1", "fi") == spread
    assert find_part("mode", "spread:gap=4", "fi") == {**spread, "gap": 4}
    veto = {"@deid_scores": "spacy_deid.veto_score.v1", "lang": "fi", "score": "rank"}
    assert find_part("score", "veto:score=rank", "fi") == veto
    with pytest.raises(ConfigError, match="Known"):
        find_part("score", "nonsense", "fi")


@pytest.mark.parametrize(
    "args",
    [
        ("--mode", "exact", "--masking", "none"),
        ("--mode", "spread:gap=4", "--masking", "same_lemma"),
        ("--score", "veto:score=surprisal"),
    ],
)
def test_modes_maskings_and_scores_work_from_the_command_line(cli, model, note, args):
    result = cli("surprisal", "score", note, "--lang", "es", "--model", model, *args)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 6
