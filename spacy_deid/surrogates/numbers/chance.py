"""Chance for numbers: a format-preserving cipher where it is strong enough, a keyed draw elsewhere.

Two different originals never have the same ciphertext, so surrogates cannot collide from one note to the next. The
cipher is FF1 of NIST SP 800-38G (2016), by the package libffx. Of the two ciphers of that standard NIST withdrew FF3
(second public draft of revision 1, February 2025), so FF1 is what is left. The draft asks for a million values at
least. A smaller domain is put into a keyed order whole if it is very small, and has keyed draws if it is not; so has
every kind whose surrogates come from a reserved range that is smaller than the kind itself. There the replacer sees to
it that two originals of a note differ.

The package, in November 2026: version 2.0.1 of September 2026, MIT licence, pure Python upon cryptography, by one
maintainer who calls it beta, and its FF1 over whole numbers is declared never to change; the tests hold it to the
samples of NIST and to ciphertexts of ours. Of the others on the index, fpr-ff1 (MIT) wants Python 3.12, fastfpe (MIT)
has strings but no domain of whole numbers, ff3 has FF3 alone, and pyffx, pyfpe and fpe have had no release since 2021.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...errors import ConfigError, Errors
from ..keys import Draw, IdentityKey

__all__ = ["LEAST", "Chance", "decode", "encode"]

LEAST = 1_000_000
"""Values that a domain of the cipher has at least (NIST SP 800-38G revision 1, draft)."""

_RING = 256  # a domain that is small enough to be put into a keyed order whole

Parts = Sequence[Sequence[str]]


class Chance:
    """All chance for the numbers of a patient.

    key (IdentityKey): the key of the patient.
    """

    def __init__(self, key: IdentityKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "Chance(…)"

    @cached_property
    def _cipher(self) -> Any:
        """FF1 with AES-256.

        RAISES: ConfigError (D670) if the package is not installed. Draws in its place would give other surrogates on
            this machine than on the next.
        """
        try:
            from ffx import FF1
        except ImportError:
            raise ConfigError(Errors.D670) from None
        return FF1(self._key.derive("numbers", "FF1"))

    def draw(self, *context: str) -> Draw:
        """Open the stream of chance for one decision."""
        return self._key.draw("numbers", *context)

    def permute(self, value: int, size: int, *context: str) -> int:
        """Replace a number by another one.

        value (int): from 0 to size - 1.
        size (int): of the domain.
        context (str): what the number is.
        RETURNS (int): a number of the domain. Different numbers have different ones, but for domains between 256 and a
            million values.
        """
        if size <= _RING:
            ring = self.draw("ring", *context, str(size)).shuffled(range(size))
            return ring[(ring.index(value) + 1) % size]  # nothing becomes itself
        if size < LEAST:
            return self.draw("small", *context, str(size), str(value)).below(size)
        tweak = b"\x00".join(part.encode() for part in context)
        return int(self._cipher.encrypt_int(value, domain=size, tweak=tweak))


def encode(code: str, parts: Parts) -> tuple[int, int]:
    """Number a code among all of its kind.

    code (str): letters and digits.
    parts (Sequence[Sequence[str]]): for each part of it, what may stand there, all of one length. A part with one
        option is not replaced.
    RETURNS (tuple[int, int]): its number, and how many there are.
    RAISES: ValueError if a part is none of its options.
    """
    number, size, at = 0, 1, 0
    for options in parts:
        width = len(options[0])
        if len(options) > 1:
            number = number * len(options) + options.index(code[at : at + width])
            size *= len(options)
        at += width
    return number, size


def decode(number: int, parts: Parts) -> str:
    """The code that has a number: the inverse of `encode`."""
    out = []
    for options in reversed(parts):
        number, i = divmod(number, len(options)) if len(options) > 1 else (number, 0)
        out.append(options[i])
    return "".join(reversed(out))
