"""report and fairness."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import spacy
from typer.testing import CliRunner

from spacy_deid.cli import app
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder, read_rows, write_folder
from spacy_deid.evaluation.report import count_misses, list_misses, load_categories
from spacy_deid.labels import LABELS
from spacy_deid.saving import save

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample" / "dev"
CANARY = "xqzutoiaga"  # lower case within a word: no component finds it


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory):
    """Reports of the shipped pipeline on the samples and a note with an identifier that is missed."""
    folder = tmp_path_factory.mktemp("report")
    text = f"Acude con dolor a{CANARY}b desde ayer.\n"
    start = text.index(CANARY)
    missed = AnnotatedText("canary-note", text, (Entity(start, start + len(CANARY), "PATIENT"),))
    write_folder([*read_folder(SAMPLE, scheme="meddocan"), missed], folder / "gold", "brat", scheme="meddocan")
    args = ["report", "es", folder / "gold", "--scheme", "meddocan", "--data", "samples <b>", "--output"]
    printed = []
    for more in ([folder / "plain.html", "--json", folder / "plain.json"], [folder / "text.html", "--with-text"]):
        result = CliRunner().invoke(app, [str(arg) for arg in [*args, *more]])
        assert result.exit_code == 0, result.stderr
        printed.append(result.output)
    return folder, printed


class Page(HTMLParser):
    """Collects what a page fetches, runs and says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.said: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_data(self, data):
        self.said.append(data)


def test_page_has_no_scripts_and_no_external_resources(written):
    html = (written[0] / "plain.html").read_text()
    page = Page(html)
    assert "table" in page.tags
    assert "svg" in page.tags
    assert page.links == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", html)


@pytest.mark.parametrize(
    "heading",
    [
        "Scores",
        "Header",
        "Narrative",
        "word, PII against non-PII",
        "What was missed, and what it could do",
        "without deid_patterns",
        "deid_ner alone",
        "Operating points",
        "of the notes have nothing missed",
        "in 1,000 notes",
    ],
)
def test_page_has_data_pipeline_and_misses(written, heading):
    assert heading in " ".join(Page((written[0] / "plain.html").read_text()).said)


def test_values_are_escaped_in_the_page(written):
    assert "samples &lt;b&gt;" in (written[0] / "plain.html").read_text()


def test_page_json_and_output_contain_no_note_and_no_name(written):
    folder, printed = written
    for text in ((folder / "plain.html").read_text(), (folder / "plain.json").read_text(), *printed):
        assert text
        assert CANARY not in text
        assert "canary-note" not in text
    entities = {d.text[e.start : e.end] for d in read_folder(SAMPLE, scheme="meddocan") for e in d.entities}
    said = " ".join(Page((folder / "plain.html").read_text()).said)
    assert not [text for text in entities if len(text) > 7 and text in said]


def test_misses_are_quoted_only_with_text_and_a_warning(written):
    html = (written[0] / "text.html").read_text()
    assert f"<mark>{CANARY}</mark>" in html
    assert "as confidential as the notes" in html
    assert "as confidential as the notes" not in (written[0] / "plain.html").read_text()


def test_the_json_holds_the_same_figures(written):
    data = json.loads((written[0] / "plain.json").read_text())
    assert data["scores"]["bootstrap"] == 100
    assert data["pipeline"]["fingerprint"]
    assert data["operating_point"]["thresholds"]["default"]
    row = next(row for row in data["misses"]["categories"] if row["name"] == "patient name")
    assert row["risk"] == "high"
    assert row["missed_entities"] >= 1
    assert row["per_1000_notes"] == pytest.approx(
        1000 * row["missed_entities"] / data["scores"]["documents"], abs=0.01
    )
    base = data["ablation"]["whole pipeline"]
    assert base["word_recall"] == pytest.approx(data["scores"]["all"]["word"]["recall"], abs=1e-5)
    assert data["ablation"]["without deid_ner"]["word_recall"] < base["word_recall"]


def test_a_gold_corpus_is_never_overwritten(cli, written):
    gold = written[0] / "gold"
    annotation = sorted(gold.glob("*.ann"))[0]
    before = annotation.read_bytes()
    result = cli("report", "es", gold, "--scheme", "meddocan", "--output", annotation)
    assert result.exit_code == 1
    assert annotation.read_bytes() == before


def test_report_without_a_classifier_has_no_curve(cli, pipeline_folder, written, tmp_path):
    args = ["report", pipeline_folder, written[0] / "gold", "--scheme", "meddocan", "--output", tmp_path / "r.html"]
    result = cli(*args, "--json", tmp_path / "r.json")
    assert result.exit_code == 0, result.stderr
    assert "curve" not in json.loads((tmp_path / "r.json").read_text())
    assert "svg" not in Page((tmp_path / "r.html").read_text()).tags


def test_every_label_has_one_category_and_a_risk():
    labels = [label for category in load_categories() for label in category.labels]
    assert sorted(labels) == sorted(LABELS)
    assert {category.risk for category in load_categories()} == {"high", "medium", "low"}


def test_misses_are_counted_by_word_and_by_entity():
    gold = [AnnotatedText("a", "Ana Rueda, Jaca", (Entity(0, 9, "PATIENT"), Entity(11, 15, "CITY")))]
    pred = [AnnotatedText("a", "Ana Rueda, Jaca", (Entity(0, 3, "CLINICIAN"),))]
    misses = count_misses(gold, pred)
    rows = {row["name"]: row for row in misses["categories"]}
    assert (rows["patient name"]["words"], rows["patient name"]["missed_words"]) == (2, 1)
    assert (rows["patient name"]["missed_entities"], rows["patient name"]["wholly_missed"]) == (1, 0)
    assert rows["town, region or ZIP"]["wholly_missed"] == 1
    assert misses["levels"]["all"]["per_1000_notes"] == 2000.0
    assert misses["levels"]["all"]["documents"] == 1
    assert [row["missed"] for row in list_misses(gold, pred)] == ["Ana Rueda", "Jaca"]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """Rules alone: they find the names that a heading announces and no other."""
    nlp = spacy.blank("en")
    nlp.add_pipe("deid_patterns")
    nlp.add_pipe("deid_merge")
    path = tmp_path_factory.mktemp("rules") / "en"
    save(nlp, path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["fairness", *map(str, arguments)])


def test_the_command_prints_a_table_and_writes_figures_and_rows(pipeline, tmp_path):
    figures, rows = tmp_path / "all.json", tmp_path / "rows.json"
    result = run(pipeline, "--lang", "en", "--n", 2, "--bootstrap", 20, "--output", figures, "--metrics", rows)
    assert result.exit_code == 0, result.output
    assert "african_american" in result.output
    written = json.loads(figures.read_text(encoding="utf8"))
    assert written["n"] == 2
    assert set(written["origin"]["groups"]) >= {"anglo", "hispanic"}
    assert read_rows(rows)[0].target == 0.01


def test_the_same_seed_gives_the_same_figures(pipeline, tmp_path):
    for name in ("a", "b"):
        run(pipeline, "--lang", "en", "--n", 1, "--bootstrap", 20, "--output", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_language_without_names_is_refused(pipeline):
    result = run(pipeline, "--lang", "xx")
    assert result.exit_code == 1
    assert "'xx'" in result.output
