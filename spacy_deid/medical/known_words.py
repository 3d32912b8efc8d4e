"""Words that one mention does not prove to be a name: words of record systems, of medicine and of everyday language.

A detector that takes one "Care Plan Partner" of a print-out for a person would make a name of every "Plan" in it.
`ml.postprocess.propagate_names` therefore asks a `KnownWords` before it searches a note for a word.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from ..dictionaries.normalise import normal_form
from ..lang import get_language

_COMMON = 5.0  # occurrences per million words of open text, from which on a word is no unlisted name
_COMMON_NAME = 25.0  # the same for a word that is also a rare name
_KEPT = 50_000  # words whose answers are kept
_SEPARATORS = str.maketrans(dict.fromkeys("(),;/", " "))


@cache
def field_words(lang: str) -> frozenset[str]:
    """Words of field names and instructions that record systems print, which are not names by themselves.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms, from ``field_words.txt`` and the field keys of ``admission.toml``; no
        words for a language without these files.
    """
    language = get_language(lang)
    lines = [*language.read_lines("field_words.txt"), *language.read_toml("admission.toml").get("keys", ())]
    return frozenset(normal_form(word) for line in lines for word in line.split())


@cache
def medical_words(lang: str) -> frozenset[str]:
    """Single words of the lists of drugs and medical terms, names for diseases and signs, and words of kinship,
    trades and months.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms, without words of the lists of names.
    """
    from ..dictionaries.terms import name_words
    from .build import never_medical
    from .name_context import eponym_names

    language = get_language(lang)
    rows = [row for file in ("drugs", "terms") for row in language.read_lines(f"medical/{file}.csv")]
    listed = {normal_form(word) for row in rows for word in row.partition(",")[0].translate(_SEPARATORS).split()}
    return frozenset((listed - name_words(lang)) | eponym_names(lang) | never_medical(lang))


@cache
def known_words(lang: str) -> Callable[[str], bool]:
    """Return a function that tests whether a word needs more evidence than one mention to be searched for as a name.

    lang (str): language code.
    RETURNS (Callable[[str], bool]): word, in any case → whether it is a function word, a word of `field_words` or
        `medical_words`, or common in open text. A frequent given name or surname is none, and an unknown word is
        none, because it may be a rare name.
    """

    def is_known(word: str) -> bool:
        # most notes have no such word, and need none of the lists
        from ..background.counts import background_languages, load_background
        from ..dictionaries.terms import function_words, name_words
        from .name_context import common_words, given_names

        form = normal_form(word)
        if form in field_words(lang) or form in function_words():
            return True
        if form in given_names() or form in common_words(lang):
            return False
        if form in medical_words(lang):
            return True
        limit = _COMMON_NAME if form in name_words() else _COMMON
        return lang in background_languages() and load_background(lang).per_million(form) > limit

    return lru_cache(_KEPT)(is_known)


_SHORTEST_INFLECTED = 5  # letters of an inflected form
_SEEN = 0.15  # occurrences per million words of open text, from which on a form is no misspelt name


@cache
def ordinary_words(lang: str) -> Callable[[str], bool]:
    """Return a function that tests whether a word is one of the language or of medicine, and thus no misspelt name.

    lang (str): language code.
    RETURNS (Callable[[str], bool]): normal form of a word → whether `is_frequent` holds, clinical notes use it, or it
        is an inflected form of such a word.
    """
    frequent, used, inflector = is_frequent(lang), note_words(lang), get_language(lang).inflector

    def is_noun(form: str) -> bool:
        return form in used or (frequent(form) and not _is_name(form))

    def is_ordinary(form: str) -> bool:
        if form in used or frequent(form):
            return True
        if inflector is None or len(form) < _SHORTEST_INFLECTED or _is_name(form):
            return False
        analyses = inflector.analyze(form, is_noun, ("noun",))
        return any(analysis.nominative != form and is_noun(analysis.nominative) for analysis in analyses)

    return lru_cache(_KEPT)(is_ordinary)


@cache
def is_frequent(lang: str) -> Callable[[str], bool]:
    """Return a function that tests whether a word is frequent in open text or a word of medicine.

    lang (str): language code.
    RETURNS (Callable[[str], bool]): normal form of a word → whether it occurs in open text, even if rarely, in the
        medical lists or in the field names of record systems. Listed names are none: a misspelt name often is another
        name. Without counts for the language, only the lists decide.
    """

    def is_known(form: str) -> bool:
        from ..background.counts import background_languages, load_background
        from ..dictionaries.terms import function_words

        if form in function_words() or form in field_words(lang):
            return True
        limit = _COMMON if _is_name(form) else _SEEN
        if lang in background_languages() and load_background(lang).per_million(form) > limit:
            return True
        return form in medical_words(lang)

    return lru_cache(_KEPT)(is_known)


@cache
def note_words(lang: str) -> frozenset[str]:
    """Load the words of clinical notes that are rare in open text.

    lang (str): language code.
    RETURNS (frozenset[str]): normal forms, from ``ordinary_words.txt``; none for a language without this file.
    """
    return frozenset(word for line in get_language(lang).read_lines("ordinary_words.txt") for word in line.split())


def _is_name(form: str) -> bool:
    """Return whether a word is in the lists of names."""
    from ..dictionaries.terms import name_words

    return form in name_words()
