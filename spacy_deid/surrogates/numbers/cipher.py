"""Format-preserving encryption of numbers, with keyed draws where the domain is too small for it.

Two different originals never have the same ciphertext, so surrogates cannot collide between notes. The cipher is FF1
of NIST SP 800-38G (2016), by the package libffx; NIST withdrew FF3, the other cipher of that standard (second public
draft of revision 1, February 2025). The draft requires a domain of at least a million values. A very small domain is
put into a keyed order as a whole; a domain in between has keyed draws, and so has every kind of identifier whose
surrogates come from a reserved range that is smaller than the kind itself. There the replacer makes sure that the
surrogates of two originals of a note differ.

libffx 2.0.1 (September 2026) has the MIT licence, is pure Python upon cryptography, and is called beta by its one
maintainer, who declares that its FF1 over integers never changes. The tests compare it with the samples of NIST and
with recorded ciphertexts. Of the other packages on the index, fpr-ff1 (MIT) requires Python 3.12, fastfpe (MIT) has no
domain of integers, ff3 has FF3 only, and pyffx, pyfpe and fpe have had no release since 2021.
"""

from functools import cached_property
from typing import Any

from ...errors import ConfigError, Errors
from ...lang.identifiers import Parts
from ..keys import Draw, IdentityKey

LEAST = 1_000_000
"""Smallest number of values of a domain of the cipher (NIST SP 800-38G revision 1, draft)."""

_RING = 256  # largest domain that is put into a keyed order as a whole


class FormatPreservingCipher:
    """The cipher and the keyed draws for the numbers of a patient.

    key (IdentityKey): key of the patient.
    """

    def __init__(self, key: IdentityKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "FormatPreservingCipher(…)"

    @cached_property
    def _cipher(self) -> Any:
        """FF1 with AES-256.

        RAISES: ConfigError (D670) if the package is not installed. Keyed draws instead would give surrogates that
            differ from those of other machines.
        """
        try:
            from ffx import FF1
        except ImportError:
            raise ConfigError(Errors.D670) from None
        return FF1(self._key.derive("numbers", "FF1"))

    def draw(self, *context: str) -> Draw:
        """Open the stream of random numbers of one decision. context (str): what is decided."""
        return self._key.draw("numbers", *context)

    def permute(self, value: int, size: int, *context: str) -> int:
        """Replace an integer of a domain by another one.

        value (int): from 0 to size - 1.
        size (int): number of values of the domain.
        context (str): what the number is: the tweak of the cipher.
        RETURNS (int): integer from 0 to size - 1. It is a permutation, except for domains between 256 and a million
            values.
        RAISES: ConfigError (D670) if the domain needs the cipher and its package is not installed.
        """
        if size <= _RING:
            ring = self.draw("ring", *context, str(size)).shuffled(range(size))
            return ring[(ring.index(value) + 1) % size]  # no value becomes itself
        if size < LEAST:
            return self.draw("small", *context, str(size), str(value)).below(size)
        tweak = b"\x00".join(part.encode() for part in context)
        return int(self._cipher.encrypt_int(value, domain=size, tweak=tweak))


def encode(code: str, parts: Parts) -> tuple[int, int]:
    """Return the position of a code among all codes of its kind.

    code (str): letters and digits.
    parts (Parts): possible values of each part of the code.
    RETURNS (tuple[int, int]): (position, number of codes).
    RAISES: ValueError if a part of the code is not one of its possible values.
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
    """Return the code at a position: the inverse of `encode`."""
    out = []
    for options in reversed(parts):
        number, i = divmod(number, len(options)) if len(options) > 1 else (number, 0)
        out.append(options[i])
    return "".join(reversed(out))
