"""English eponyms: possessives."""

from collections.abc import Collection, Iterator

from ..eponyms import DOTTED, EponymConventions


def possessives(name: str) -> tuple[str, ...]:
    """Return a name, its possessive and, where the apostrophe is left out, "Parkinsons"."""
    if name.endswith("s"):
        return name, f"{name}'", f"{name}'s"
    return name, f"{name}'s", f"{name}s"


def phrases(name: str, head: str, beside: bool) -> Iterator[str]:
    """Yield "Parkinson's disease" and its variants; with ``beside`` "Smith fracture" only."""
    for owner in (name,) if beside else possessives(name):
        yield f"{owner} {head}"
        if head in DOTTED:
            yield f"{owner} {head}."


def forms(name: str) -> Collection[str]:
    """Return a name and its possessives."""
    return set(possessives(name))


EPONYMS = EponymConventions(phrases=phrases, forms=forms, every_name_owns=True)
