"""Domains for surrogates of e-mail and web addresses. Their endings are reserved, so they cannot reach anyone.

Sources: RFC 2606 and RFC 6761 (example, test, example.com, example.net, example.org), RFC 6762 (local), RFC 9476
(alt), IANA (example.edu), and the ICANN board's resolution of 2024-07-29 (internal).
"""

from .keys import Draw

WORDS = (
    "acorn amber anchor apple arch aspen autumn basin beacon birch bluff bramble breeze bridge brook canyon cedar "
    "cloud clover coast comet copper coral cove crane creek crest dawn delta drift dune eagle echo elm ember fern "
    "field finch fjord flint forest garden glade grove harbor hazel heron hill horizon island ivory jasmine juniper "
    "lake lantern larch laurel linden lotus maple marble meadow mesa mill mist moss north oak ocean olive orchard "
    "otter pearl pebble pine plain planet pond prairie quartz rain raven reed ridge river robin sage shore sky slate "
    "spring spruce star stone stream summit sunset thistle tide timber trail valley violet wave willow winter wren"
).split()
"""Common nouns for the labels of a domain."""

_ENDS = ("example.com", "example.org", "example.net", "example.edu", "example", "test", "internal", "local", "alt")
_MOST_LABELS = 4


def draw_domain(draw: Draw, labels: int) -> str:
    """Draw a domain.

    draw (Draw): the stream of random numbers.
    labels (int): number of labels of the original, such as 3 for "mail.hospital.es". The new domain has as many, but
        at least two and at most four.
    RETURNS (str): a domain in lower case.
    """
    labels = min(max(labels, 2), _MOST_LABELS)
    end = draw.choice(_ENDS)
    return ".".join([*draw.shuffled(WORDS)[: labels - end.count(".") - 1], end])
