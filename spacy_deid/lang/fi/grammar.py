"""Finnish grammar for word lists, eponyms and professions: decline nouns, and inflect eponyms and surrogates."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from ..eponyms import EponymConventions
from ..inflection import Analysis
from ..professions import ProfessionSurrogates, read_professions, same_sector
from ..text import fold
from .inflection import inflect
from .morphology import FinnishInflector, analyze_noun, guess_case, index_forms

ACCENTED_WORDS = frozenset(
    "hyvä jälkeen kävelee käynnillä käynti käyttää käytössä lievä lisääntynyt lääkitys lääkäri lääkäriin lääkärin "
    "myös määrätty näkyy päivä päivän päivää sydän säännöllinen särky särkyä tämä tänään vähän ylävatsa äiti".split()
)

_ON_WEAK_STEM = ("n", "ssa", "sta", "lla", "lta", "lle", "ksi", "tta", "t")
_FRONT = str.maketrans("a", "ä")


def decline(parts: Sequence[str]) -> list[str]:
    """Form the cases of a noun from its principal parts, which a word list gives.

    parts (Sequence[str]): nominative, weak stem, strong stem, partitive and illative ("mies", "miehe", "miehe",
        "miestä", "mieheen").
    RETURNS (list[str]): nominative, partitive and illative; the other cases of the singular except the comitative and
        the instructive; the nominative plural. The order is the same for all nouns.
    """
    nominative, weak, strong, partitive, illative = parts
    endings = [(weak, ending) for ending in _ON_WEAK_STEM] + [(strong, "na")]
    front = partitive.endswith("ä")
    forms = [stem + (ending.translate(_FRONT) if front else ending) for stem, ending in endings]
    return [nominative, partitive, illative, *forms]


_INFLECTOR = FinnishInflector()
_CASES = {
    "sing": ("nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra"),
    "plur": ("nom", "gen", "par"),  # the other cases are not used of one person's disease
}
_ENDINGS = ("n", "lla", "lta", "lle", "ssa", "sta", "ksi", "na", "a")  # in normal form, without the front vowels
_VOWELS = "aeiouyäöéè"


def eponym_phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield an eponym with its head word in every case ("Parkinsonin taudin"); if ``beside`` is True, only forms in
    which the name cannot be that of a patient, because it is not in the genitive ("Parkinson taudin").
    """
    owners = {name} if beside else {name, _INFLECTOR.inflect(name, "gen", kind="surname")}
    if name[-1] in _VOWELS and not beside:
        owners.add(f"{name}n")
    ends = _head_forms(head)
    yield from (f"{owner} {end}" for owner in owners for end in ends)


@cache
def _head_forms(head: str) -> frozenset[str]:
    """Return the cases of a head word; of a phrase, only the last word is inflected."""
    *before, last = head.split()
    made = {_INFLECTOR.inflect(last, case, kind="noun", number=number) for number in _CASES for case in _CASES[number]}
    return frozenset(" ".join([*before, form]) for form in made)


def eponym_forms(name: str) -> Collection[str]:
    """Return the cases of a name, also without consonant gradation: "Hashimoton" beside "Hashimodon"."""
    cases = set(_INFLECTOR.case_forms(name, "surname"))
    if name[-1] not in _VOWELS:
        return cases
    return cases | {name + end for end in ("n", "lla", "llä", "sta", "stä", "ssa", "ssä", "lle", "ksi")}


def eponym_stems(form: str) -> Collection[str]:
    """Return the possible stems of an inflected eponym: the word without each case ending that it may have.

    Different names may share a form: "hannalla" is a case of the name Hanna and of the virus Hanta.
    """
    return {form.removesuffix(ending) for ending in _ENDINGS} - {form}


EPONYMS = EponymConventions(phrases=eponym_phrases, forms=eponym_forms, stems=eponym_stems)


def replace_profession(text: str, before: str) -> ProfessionSurrogates:
    """Find the professions that can replace a Finnish profession.

    text (str): the profession as written, in any form.
    before (str): the text before it; not used.
    RETURNS (ProfessionSurrogates): professions of the same sector, written in the case and number and with the
        possessive suffix of the original. The case of an unlisted form is guessed from its ending.
    """
    found = _forms().get(fold(text))
    analysis = Analysis(found[0], found[1]) if found else _analyze(text)
    name = fold(analysis.nominative if analysis else text.lower())
    analysis = analysis or Analysis(name, guess_case(text))

    def write(option: str) -> str:
        return inflect(option, analysis.case, kind="noun", number=analysis.number, possessive=analysis.possessive)

    return ProfessionSurrogates(name, [job.male for job in same_sector("fi", name, compounds=True)], write)


def _analyze(text: str) -> Analysis | None:
    """Analyze a listed profession in the plural or with a possessive suffix; None if it is not listed."""
    head, _, last = text.lower().rpartition(" ")
    start = f"{head} " if head else ""
    analysis = analyze_noun(last, lambda word: fold(start + word) in _names())
    return analysis._replace(nominative=start + analysis.nominative) if analysis else None


@cache
def _names() -> frozenset[str]:
    """Return the listed professions, folded."""
    return frozenset(job.folded for job in read_professions("fi", compounds=True))


@cache
def _forms() -> Mapping[str, tuple[str, str]]:
    """Map the singular forms of the listed professions to (nominative, case)."""
    return index_forms((job.male for job in read_professions("fi", compounds=True)), "noun")
