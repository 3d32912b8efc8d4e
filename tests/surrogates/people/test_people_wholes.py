"""Whole names that must not be, as those of real people: drawn again for all mentions, and at last a tag."""

import pytest

from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.wholes import REDRAWS
from spacy_deid.surrogates.persons import fold

KEY = ProjectKey(bytes(range(32))).patient("1")
NOTES = {
    "es": ["Ana Zumalabe Ruiz", "Sra. Zumalabe", "ZUMALABE RUIZ, ANA", "Ana", "Ana Zumalabe"],
    "en": ["Amelia Thornquist", "Ms. Thornquist", "THORNQUIST, AMELIA", "Amelia", "Dr. Amelia Thornquist"],
    "fi": ["Kerttu Rautavuori", "Rautavuoren", "RAUTAVUORI, KERTTU", "Kertulle", "Kerttu Rautavuoren"],
}


def replace(lang, forbidden=lambda value: False, texts=None):
    return replace_persons([Mention(text, "PATIENT") for text in texts or NOTES[lang]], KEY, lang, forbidden)


class Known:
    """Full names that are taken, as a roster has them."""

    def __init__(self, *names):
        self.names, self.asked = {fold(name) for name in names}, []

    def __call__(self, value):
        if " " in value:
            self.asked.append(fold(value))
        return fold(value) in self.names


@pytest.mark.parametrize("lang", NOTES)
def test_a_name_that_somebody_bears_is_drawn_again_for_all_mentions(lang):
    before = replace(lang)
    after = replace(lang, Known(before[0]))
    assert None not in after
    assert after == replace(lang, Known(before[0]))  # the same each time
    old_given, new_given = before[0].split()[0], after[0].split()[0]
    assert old_given != new_given
    assert before[0].split()[1:] == after[0].split()[1:]  # relatives share the surname
    assert after[3].startswith(new_given[:3])
    assert fold(new_given) in fold(after[2])
    assert new_given in after[4]
    assert after[1] == before[1]


@pytest.mark.parametrize("lang", NOTES)
def test_what_is_drawn_again_is_asked_about_again(lang):
    first = replace(lang)[0]
    second = replace(lang, Known(first))[0]
    third = replace(lang, Known(first, second))[0]
    assert len({first, second, third}) == 3


@pytest.mark.parametrize("lang", NOTES)
def test_a_name_in_a_case_or_behind_a_title_is_asked_about_too(lang):
    last = NOTES[lang][4:]
    whole = " ".join(replace(lang, texts=last)[0].split()[-2:])
    known = Known(whole if lang != "fi" else replace(lang, texts=["Kerttu Rautavuori"])[0])
    (after,) = replace(lang, known, texts=last)
    assert after is not None
    assert fold(after) != fold(replace(lang, texts=last)[0])


@pytest.mark.parametrize("lang", NOTES)
def test_where_everybody_is_known_whole_names_get_no_surrogate(lang):
    asked = []

    def anybody(value):
        if " " in value:
            asked.append(value)
        return " " in value

    made = replace(lang, anybody)
    whole = [len(text.replace("Sra. ", "").replace("Ms. ", "").split()) > 1 for text in NOTES[lang]]
    assert [value is None for value in made] == whole
    assert 0 < len(asked) < 8 * (REDRAWS + 1)


def test_a_relative_keeps_the_surname_when_the_patient_is_drawn_again():
    texts = ["Ana Zumalabe Ruiz", "Luis Zumalabe Ortega"]
    before = replace("es", texts=texts)
    after = replace("es", Known(before[0]), texts=texts)
    assert after[0].split()[1] == after[1].split()[1] == before[1].split()[1]
    assert after[1] == before[1]
