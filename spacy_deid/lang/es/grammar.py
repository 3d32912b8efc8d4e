"""Spanish grammar for surrogates and eponyms: conjunctions before vowels, prepositions of eponyms, and gender and
number of professions.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from ..eponyms import DOTTED, EponymConventions
from ..places import place_words
from ..professions import Profession, ProfessionSurrogates, read_professions, same_sector
from ..text import fold

ACCENTED_WORDS = frozenset(
    "analítica antibiótico cirugía clínica clínico crónica crónico después dirección días ecografía evolución "
    "exploración infección lesión medicación médica médico número radiografía según sesión síntomas también teléfono "
    "tensión".split()
)

_DIPHTHONG = re.compile(r"i[aeou]")  # "y hierba"


def conjunction_and(text: str) -> str:
    """Return the form of "y" before a text. RETURNS (str): "e" before the sound of i ("e Hilario"), else "y"."""
    word = _first_word(text)
    return "e" if word.startswith("i") and not _DIPHTHONG.match(word) else "y"


def conjunction_or(text: str) -> str:
    """Return the form of "o" before a text. RETURNS (str): "u" before the sound of o ("u Óscar"), else "o"."""
    return "u" if _first_word(text).startswith("o") else "o"


def _first_word(text: str) -> str:
    """Return the start of a text for the test of its first sound: folded, without opening marks and a silent h."""
    return fold(text).lstrip("\"'( ").removeprefix("h")


def eponym_phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield the forms of an eponym: "enfermedad de Parkinson", "sd. de Down". If ``beside`` is True, only forms in
    which the name cannot be that of a patient, because there is no preposition: "test Mantoux", "Gram negativo".
    """
    for start in (head, f"{head}.") if head in DOTTED else (head,):
        yield from (f"{start} {link}{name}" for link in (("",) if beside else ("de ", "del ", "")))
    yield f"{name} {head}"


EPONYMS = EponymConventions(phrases=eponym_phrases)


def replace_profession(text: str, before: str) -> ProfessionSurrogates:
    """Find the professions that can replace a Spanish profession.

    text (str): a profession, or an activity ("mantenimiento de calderas", "limpiando oficinas"), as written.
    before (str): the text before it; not used.
    RETURNS (ProfessionSurrogates): professions of the same sector, written in the gender and number of the original. A
        profession with one form for both genders is replaced by another such one, and an activity by an activity.
    """
    folded, words = fold(text), place_words("es")["professions"]
    head = folded.split()[0]
    if head.endswith(("ando", "iendo", "yendo")):
        return ProfessionSurrogates(folded, words["gerunds"], str)
    if head.endswith(tuple(words["activity_ends"].split())):
        return ProfessionSurrogates(folded, words["activities"], str)
    known = _forms().get(folded)
    single = known.folded if known else _singular(folded)
    plural = folded not in (known.folded, fold(known.female)) if known else not folded.startswith(single)
    gender = _gender(folded, known)
    jobs = {job.male: job for job in read_professions("es") if gender or job.male == job.female}

    def inflect(name: str) -> str:
        name = jobs[name].female if gender == "f" else name
        return _plural(name) if plural else name

    return ProfessionSurrogates(
        single, [job.male for job in same_sector("es", single) if job.male in jobs] or list(jobs), inflect
    )


@cache
def _forms() -> Mapping[str, Profession]:
    """Map the folded forms of the listed professions, singular and plural, to the professions."""
    found: dict[str, Profession] = {}
    for job in read_professions("es"):
        for name in (job.male, job.female):
            found.setdefault(fold(name), job)
            found.setdefault(fold(_plural(name)), job)
    return found


def _gender(folded: str, known: Profession | None) -> str:
    """Return "m" or "f"; "" for a word with one form for both genders, or with an ending that does not decide."""
    if known:
        if known.male == known.female:
            return ""
        return "f" if folded in (fold(known.female), fold(_plural(known.female))) else "m"
    head = folded.removeprefix("ex ").removeprefix("ex-").split()[0].removesuffix("s")
    if head.endswith(("ora", "era", "ana", "ada", "ica", "oga")):
        return "f"
    return "m" if head.endswith(("o", "or", "on")) else ""


def _singular(folded: str) -> str:
    """Return an unlisted profession with its first word in the singular, if its ending indicates a plural."""
    head, _, rest = folded.partition(" ")
    if head.endswith("es") and len(head) > 5 and head[-3] in "rlnd":
        head = head[:-2]
    elif head.endswith("s") and not head.endswith(("is", "us")):
        head = head[:-1]
    return f"{head} {rest}".strip()


def _plural(name: str) -> str:
    """Return the plural of a profession: the noun and the adjectives after it change, up to a preposition."""
    words = name.split()
    stop = next((i for i, word in enumerate(words) if word in ("de", "del", "en", "a", "civil")), len(words))
    return " ".join([*(_plural_word(word) for word in words[: max(stop, 1)]), *words[max(stop, 1) :]])


def _plural_word(word: str) -> str:
    """Return the plural of one word."""
    if word in ("ex", "chef"):
        return word
    if word.endswith("z"):
        return word[:-1] + "ces"
    for accented, plain in (("ón", "ones"), ("án", "anes"), ("és", "eses"), ("ín", "ines")):
        if word.endswith(accented):
            return word[:-2] + plain
    return word + ("s" if word[-1] in "aeiouáéíóú" else "es")
