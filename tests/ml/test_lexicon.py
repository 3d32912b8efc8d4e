import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.ml.lexicon import BANDS, Lexicon, band, build_lexicon

LISTS = {"given": ["José", "Rosa"], "place": ["Rosas", "Ávila"]}


@pytest.fixture
def lexicon():
    return build_lexicon(LISTS, {"rosa": 20}, {"rosa": 2, "casa": 1}, [7, 9])


def test_case_and_accents_do_not_matter(lexicon):
    assert lexicon.look_up("JOSE") == lexicon.look_up("José") != (0, 0, 0)


def test_lists_and_frequency_are_told_apart(lexicon):
    given, place, both = (lexicon.look_up(word)[0] for word in ("José", "Ávila", "Rosa"))
    assert len({given, place, both}) == 3
    assert both % BANDS == band(20)
    assert given % BANDS == 0


def test_a_cluster_comes_with_its_group(lexicon):
    assert lexicon.look_up("rosa")[1:] == (9, 2)
    assert lexicon.look_up("casa") == (0, 7, 1)
    assert lexicon.look_up("José")[1:] == (0, 0)


def test_unknown_words_are_zeros(lexicon):
    assert lexicon.look_up("Xyzzy") == lexicon.look_up("") == (0, 0, 0)


def test_bands_grow_with_the_count_and_end():
    assert [band(count) for count in (0, 1, 3, 4, 16, 10**9)] == [0, 1, 1, 2, 3, BANDS - 1]


def test_it_reads_what_it_wrote(lexicon, tmp_path):
    path = tmp_path / "lexicon.bin"
    path.write_bytes(lexicon.to_bytes())
    again = Lexicon.from_disk(path)
    assert len(again) == len(lexicon)
    assert again.look_up("Rosa") == lexicon.look_up("Rosa")


def test_no_word_stands_in_the_file(lexicon):
    assert b"rosa" not in lexicon.to_bytes().lower()


def test_broken_files_are_refused(lexicon, tmp_path):
    with pytest.raises(ConfigError, match="file not found"):
        Lexicon.from_disk(tmp_path / "none.bin")
    with pytest.raises(ConfigError, match="lexicon"):
        Lexicon.from_bytes(lexicon.to_bytes()[:-9])
    with pytest.raises(ConfigError, match="lexicon"):
        Lexicon.from_bytes(build_lexicon(LISTS, {}, {"casa": 3}, [1]).to_bytes())


def test_too_many_lists_are_refused():
    with pytest.raises(ConfigError, match="at most 13 are allowed"):
        build_lexicon({str(i): [] for i in range(14)}, {}, {}, [])
