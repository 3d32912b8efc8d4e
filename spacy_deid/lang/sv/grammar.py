"""Swedish grammar: eponyms with the genitive and without an apostrophe."""

from collections.abc import Collection, Iterator

from ..eponyms import EponymConventions


def eponym_phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield "Parkinsons sjukdom"; with ``beside`` the name without the ending of the genitive only."""
    for owner in (name,) if beside or name.endswith("s") else (name, f"{name}s"):
        yield f"{owner} {head}"


def eponym_forms(name: str) -> Collection[str]:
    """Return a name and its genitive."""
    return {name, name if name.endswith("s") else f"{name}s"}


EPONYMS = EponymConventions(phrases=eponym_phrases, forms=eponym_forms)
