"""The forms of a Finnish noun from its principal parts, for small lists of nouns."""

from collections.abc import Sequence

_ON_WEAK_STEM = ("n", "ssa", "sta", "lla", "lta", "lle", "ksi", "tta", "t")
_FRONT = str.maketrans("a", "ä")


def decline(parts: Sequence[str]) -> list[str]:
    """Decline a noun.

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
