"""Finnish professions: case, number and possessive suffix."""

from collections.abc import Mapping
from functools import cache

from ..inflection import Analysis
from ..professions import ProfessionSurrogates, read_professions, same_sector
from ..text import fold
from .inflection import inflect
from .morphology import analyze_noun, guess_case, index_forms


def replace_profession(text: str, before: str) -> ProfessionSurrogates:
    """Find the professions that can replace a Finnish one.

    text (str): as written, in any form.
    before (str): text before it; not used.
    RETURNS (ProfessionSurrogates): professions of the sector in the case, number and person of the original. For an
        unlisted form, the ending suggests the case.
    """
    found = _forms().get(fold(text))
    analysis = Analysis(found[0], found[1]) if found else _analyze(text)
    name = fold(analysis.nominative if analysis else text.lower())
    analysis = analysis or Analysis(name, guess_case(text))

    def write(option: str) -> str:
        return inflect(option, analysis.case, kind="noun", number=analysis.number, possessive=analysis.possessive)

    return ProfessionSurrogates(name, [job.male for job in same_sector("fi", name, compounds=True)], write)


def _analyze(text: str) -> Analysis | None:
    """Analyze a listed profession in the plural or with a possessive suffix."""
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
