import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.background.counts import PhraseCounts, background_languages, count_phrases, load_background
from spacy_deid.errors import ConfigError

TEXTS = ["Primary Care, Max will come. St. Mary has a ward", "the primary  care of PRIMARY-CARE"]


def test_a_phrase_is_counted_whatever_its_case_hyphens_and_spaces():
    assert count_phrases(TEXTS).count("Primary Care") == 3


def test_no_phrase_reaches_across_a_comma():
    counts = count_phrases(TEXTS)
    assert counts.count("max will") == 1
    assert counts.count("care max") == 0


def test_the_stop_of_a_short_word_ends_nothing():
    assert count_phrases(TEXTS).count("St. Mary") == 1


def test_the_order_of_words_counts():
    assert count_phrases(["alpha beta gamma"]).count("beta alpha") == 0


def test_a_longer_phrase_has_the_count_of_its_rarest_part():
    counts = count_phrases(["a b c d"] * 3 + ["a b c"])
    assert (counts.count("a b c"), counts.count("b c d"), counts.count("a b c d")) == (4, 3, 3)


def test_words_and_texts_are_totalled():
    counts = count_phrases(["one two", "three"])
    assert (counts.total, counts.texts) == (3, 2)
    assert counts.per_million("three") == pytest.approx(1e6 / 3)


def test_nothing_is_counted_of_what_has_no_words():
    counts = count_phrases(["", " ,. "])
    assert (len(counts), counts.total, counts.count("x"), counts.count("--")) == (0, 0, 0, 0)


words = st.lists(st.sampled_from("abcdefgh"), max_size=60).map(" ".join)


@settings(deadline=None)  # the first call loads what later ones do not
@given(st.lists(words, max_size=5), st.integers(1, 30))
def test_what_is_dropped_is_too_low_by_no_more_than_the_error(texts, most):
    exact, cut = count_phrases(texts, 2), count_phrases(texts, 2)
    cut.keep(most)
    assert len(cut) <= most
    for phrase in [*"abcdefgh", "a b", "b a", "h h"]:
        assert exact.count(phrase) - cut.error <= cut.count(phrase) <= exact.count(phrase)


def test_memory_is_bounded_by_the_limit(monkeypatch):
    monkeypatch.setattr("spacy_deid.background.counts._BUFFER", 200)
    texts = [f"common words and w{i} x{i} y{i}" for i in range(2000)]
    exact, bounded = count_phrases(texts), count_phrases(texts, limit=500)
    assert len(bounded) <= 500 < len(exact)
    assert bounded.error > 0
    assert exact.count("common words") - bounded.error <= bounded.count("common words") <= 2000


@settings(deadline=None, max_examples=25)  # the first call loads what later ones do not
@given(st.lists(words, max_size=4))
def test_bytes_keep_every_count(texts):
    counts = count_phrases(texts)
    again = PhraseCounts.from_bytes(counts.to_bytes())
    assert (again.total, again.texts, again.error, len(again)) == (counts.total, counts.texts, 0, len(counts))
    assert all(again.count(word) == counts.count(word) for word in "abcdefgh")


def test_a_file_holds_no_phrase_in_clear(tmp_path):
    count_phrases(["Zebediah Quux"] * 5).to_file(tmp_path / "counts.bin")
    assert PhraseCounts.from_file(tmp_path / "counts.bin").count("zebediah quux") == 5
    assert b"ebediah" not in (tmp_path / "counts.bin").read_bytes()


@pytest.mark.parametrize("data", [b"", b"no counts", b"DEIDCNT1", b"DEIDCNT1\x81\xa5about\x01"])
def test_damaged_counts_are_refused(data, tmp_path):
    (tmp_path / "c.bin").write_bytes(data)
    with pytest.raises(ConfigError, match=r"c\.bin: not a file of phrase counts"):
        PhraseCounts.from_file(tmp_path / "c.bin")


def test_a_missing_file_and_an_unknown_language_are_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        PhraseCounts.from_file(tmp_path / "none.bin")
    with pytest.raises(ConfigError, match="no phrase counts for language 'xx'"):
        load_background("xx")


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_counts_of_open_text_ship(lang):
    assert lang in background_languages()
    counts = load_background(lang)
    assert counts.total > 1_000_000
    assert counts.manifest["sources"][0]["licence"]


@pytest.mark.parametrize(
    ("lang", "common", "rare"),
    [("en", "primary care", "virtanen"), ("es", "dolor abdominal", "korhonen"), ("fi", "yhdysvallat", "zebediah")],
)
def test_shipped_counts_tell_common_phrases_from_rare_names(lang, common, rare):
    assert load_background(lang).count(common) > load_background(lang).count(rare)
