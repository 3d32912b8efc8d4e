"""Swedish grammar for eponyms, which have a genitive without an apostrophe."""

from collections.abc import Collection, Iterator

from ..eponyms import EponymConventions


def eponym_phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield the forms of an eponym: "Parkinson sjukdom", "Parkinsons sjukdom". If ``beside`` is True, only the form
    without genitive ending, because the name in the genitive could be that of a patient.
    """
    for owner in (name,) if beside or name.endswith("s") else (name, f"{name}s"):
        yield f"{owner} {head}"


def eponym_forms(name: str) -> Collection[str]:
    """Return a name and its genitive, the forms in which an eponym is used without a head word."""
    return {name, name if name.endswith("s") else f"{name}s"}


EPONYMS = EponymConventions(phrases=eponym_phrases, forms=eponym_forms)
