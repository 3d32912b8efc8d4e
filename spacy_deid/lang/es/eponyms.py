"""Spanish eponyms: the head word comes first, with or without a preposition."""

from collections.abc import Iterator

from ..eponyms import DOTTED, EponymConventions


def phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield "enfermedad de Parkinson" and "sd. de Down"; with ``beside`` "test Mantoux" and "Gram negativo" only."""
    for start in (head, f"{head}.") if head in DOTTED else (head,):
        yield from (f"{start} {link}{name}" for link in (("",) if beside else ("de ", "del ", "")))
    yield f"{name} {head}"


EPONYMS = EponymConventions(phrases=phrases)
