"""Secret keys, and the reproducible random numbers that are derived from them to choose surrogates.

The same key gives the same surrogates in every run. Without the project key they cannot be reproduced.

    ProjectKey      a secret of the project, in a file that only its owner may read
    └── patient()   IdentityKey of one patient, by HKDF-SHA-256 (RFC 5869), with the patient's salt if there is one
        ├── draw()  Draw: a stream of random numbers for one decision, by HMAC-SHA-256 (RFC 2104) over its context
        └── FormatPreservingCipher: replaces numbers by numbers of the same range

Surrogates of two project keys cannot be linked. If a patient's salt is destroyed, the patient's `IdentityKey` cannot
be derived again. Draws use integers only, so they are the same on every machine and in every version of Python.
"""

import base64
import binascii
import hmac
import os
import re
import secrets
import stat
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from math import inf
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import Any, Self, TypeVar

from ..errors import ConfigError, Errors, InputError
from ..patient_ids import normal_id

LEAST = 32
"""Minimum length of a project key in bytes: that of a SHA-256 hash, so that no derived key is stronger."""

SMALLEST_DOMAIN = 1_000_000
"""Minimum number of values in a domain (a range of integers) of the cipher (NIST SP 800-38G revision 1, draft)."""

_HASH = "sha256"
_HASH_BYTES = 32
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_RING = 256  # largest domain whose values are all shuffled with the key

T = TypeVar("T")


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = _HASH_BYTES) -> bytes:
    """Derive a key from another key with HKDF-SHA-256 (RFC 5869, sections 2.2 and 2.3).

    secret (bytes): the key to derive from.
    salt (bytes): random bytes that change the result; b"" for none. RFC 5869 allows public salts, but the salts of
        patients must be secret.
    info (bytes): the purpose; different purposes give independent keys.
    length (int): length of the derived key in bytes, 8160 at most.
    RETURNS (bytes): the derived key.
    """
    extracted = hmac.digest(salt or bytes(_HASH_BYTES), secret, _HASH)
    block = out = b""
    for number in range(1, -(-length // _HASH_BYTES) + 1):
        block = hmac.digest(extracted, block + info + bytes([number]), _HASH)
        out += block
    return out[:length]


class _Secret:
    """Secret bytes that are not shown in a repr and not saved with a pipeline."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = bytes(secret)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the same object, so that the secret is not copied in memory."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Allow pickling only for a worker process that is being spawned.

        RAISES: ConfigError (D643) for any other pickling, such as into a file.
        """
        if get_spawning_popen() is None:
            raise ConfigError(Errors.D643.format(kind=type(self).__name__))
        return type(self), (self._secret,)


class ProjectKey(_Secret):
    """The secret that all surrogates of a project are derived from. Keep it away from the notes and from the vault.

    secret (bytes): at least 32 random bytes, not a password.
    RAISES: ConfigError (D640) if there are fewer than 32 bytes.
    """

    __slots__ = ()

    def __init__(self, secret: bytes) -> None:
        if len(secret) < LEAST:
            raise ConfigError(Errors.D640.format(found=len(secret), least=LEAST))
        super().__init__(secret)

    @classmethod
    def make(cls) -> Self:
        """Make a new key from the random number generator of the operating system."""
        return cls(secrets.token_bytes(LEAST))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a key from a file.

        path (Union[str, Path]): a text file with the key in hexadecimal or base64, readable only by its owner.
        RETURNS (ProjectKey): the key.
        RAISES: ConfigError if the file cannot be read or decoded or the key is too short (D641), or if its permissions
            allow other users to read it (D642).
        """
        unreadable = ConfigError(Errors.D641.format(path=path, reason="neither hexadecimal nor base64"))
        try:
            with open(path, encoding="ascii") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = "".join(file.read(100_000).split())
        except OSError as error:
            raise ConfigError(Errors.D641.format(path=path, reason=os.strerror(error.errno or 0))) from None
        except ValueError:
            raise unreadable from None
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(Errors.D642.format(path=path, mode=mode))
        if _HEX.fullmatch(text):  # a key in base64 has other characters with near certainty
            secret = bytes.fromhex(text)
        else:
            padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
            try:
                secret = base64.b64decode(padded, validate=True)
            except binascii.Error:
                raise unreadable from None
        if len(secret) < LEAST:
            reason = f"too short: {len(secret)} byte(s), at least {LEAST} are needed"
            raise ConfigError(Errors.D641.format(path=path, reason=reason))
        return cls(secret)

    def to_file(self, path: str | Path) -> None:
        """Write the key to a new file that only its owner may read.

        path (Union[str, Path]): the file. A missing folder is created, accessible only to its owner.
        RAISES: ConfigError (D646) if the file exists or cannot be written. An existing key is never overwritten,
            because its surrogates could not be reproduced without it.
        """
        try:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(self._secret.hex() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(Errors.D646.format(path=path, reason=os.strerror(error.errno or 0))) from None

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify this key and reveal nothing about it."""
        return self.derive("fingerprint", 8).hex()

    def derive(self, purpose: str, length: int = _HASH_BYTES) -> bytes:
        """Derive a key for a purpose other than surrogates.

        purpose (str): name of the purpose; each purpose has an independent key.
        length (int): length of the key in bytes.
        RETURNS (bytes): the key.
        """
        return hkdf(self._secret, b"", _framed("spacy_deid", "purpose", purpose), length)

    def patient(self, patient_id: str, salt: bytes = b"") -> "IdentityKey":
        """Derive the key of one patient.

        patient_id (str): the patient id; ids with the same `normal_id` give the same key.
        salt (bytes): the patient's salt, if the project uses salts; b"" otherwise.
        RETURNS (IdentityKey): the key, which is the same for the same project key, id and salt.
        RAISES: InputError (D644) for an empty id: otherwise all notes without an id would share the surrogates of one
            person.
        """
        patient = normal_id(patient_id)
        if not patient:
            raise InputError(Errors.D644)
        return IdentityKey(hkdf(self._secret, salt, _framed("spacy_deid", "patient", patient)))


class IdentityKey(_Secret):
    """The secret that the surrogates of one patient are derived from."""

    __slots__ = ()

    def draw(self, *context: str) -> "Draw":
        """Return a stream of random numbers for one decision, such as the choice of a surname.

        context (str): strings that identify the decision, such as "name", "Virtanen", "0". ("ab", "c") differs from
            ("a", "bc").
        RETURNS (Draw): a new stream; the same key and context always give the same numbers.
        """
        return Draw(hmac.digest(self._secret, _framed("draw", *context), _HASH))

    def derive(self, *context: str) -> bytes:
        """Derive a key of 32 bytes for a cipher.

        context (str): strings that identify the purpose.
        RETURNS (bytes): the key. It is independent of the random numbers of `draw`.
        """
        return hmac.digest(self._secret, _framed("derive", *context), _HASH)


class Draw:
    """A reproducible stream of random numbers: HMAC-SHA-256 of a counter, with the seed as the key.

    seed (bytes): the key of the stream.
    """

    __slots__ = ("_buffer", "_counter", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._seed, self._counter, self._buffer = seed, 0, b""

    def __repr__(self) -> str:
        return "Draw(…)"

    def below(self, n: int) -> int:
        """Draw an integer from 0 to n - 1 with equal probabilities.

        n (int): number of possible values, at least 1.
        RETURNS (int): the integer.
        RAISES: ValueError (D645) if `n` is less than 1.
        """
        if n < 1:
            raise ValueError(Errors.D645)
        bits = (n - 1).bit_length()
        size = -(-bits // 8)
        while True:  # rejection sampling: a remainder modulo n would favour small numbers
            number = int.from_bytes(self._take(size), "big") >> (8 * size - bits)
            if number < n:
                return number

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of several options with equal probabilities.

        options (Sequence): at least one option.
        RETURNS: one of them.
        RAISES: ValueError (D645) if there are no options.
        """
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of several options with probabilities proportional to their weights.

        options (Sequence): at least one option.
        weights (Sequence[float]): one weight per option, finite and not negative, at least one of them positive.
        RETURNS: one of the options, never one with weight 0.
        RAISES: ValueError (D645) if the weights do not satisfy this.
        """
        if len(options) != len(weights) or not all(0 <= weight < inf for weight in weights):
            raise ValueError(Errors.D645)
        # Floats are fractions of powers of two. With a common denominator they are integers, whose sums are exact;
        # sums of floats differ between versions of Python.
        ratios = [weight.as_integer_ratio() for weight in weights]
        whole = max((bottom for _, bottom in ratios), default=1)
        return options[self.position(list(accumulate(top * (whole // bottom) for top, bottom in ratios)))]

    def position(self, sums: Sequence[int]) -> int:
        """Draw an index with probabilities proportional to weights, given their cumulative sums.

        It is faster than `weighted` for repeated draws from a long list, because the sums are computed only once.

        sums (Sequence[int]): cumulative sums of integer weights, ascending, the last one positive.
        RETURNS (int): an index into `sums`, never one with weight 0.
        RAISES: ValueError (D645) if `sums` is empty or its last value is not positive.
        """
        if not sums or sums[-1] < 1:
            raise ValueError(Errors.D645)
        return bisect_right(sums, self.below(sums[-1]))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return items in random order; all orders have the same probability (Fisher-Yates shuffle).

        items (Sequence): the items; the sequence itself is not changed.
        RETURNS (list): a new list of the items.
        """
        out = list(items)
        for last in range(len(out) - 1, 0, -1):
            other = self.below(last + 1)
            out[last], out[other] = out[other], out[last]
        return out

    def chance(self, p: float) -> bool:
        """Return True with a given probability.

        p (float): the probability, from 0 to 1.
        RETURNS (bool): True with probability `p`, otherwise False.
        RAISES: ValueError (D645) if `p` is not between 0 and 1.
        """
        if not 0.0 <= p <= 1.0:
            raise ValueError(Errors.D645)
        return self.below(1 << 53) < p * (1 << 53)  # a float times a power of two is exact

    def _take(self, size: int) -> bytes:
        """Return the next `size` bytes of the stream."""
        while len(self._buffer) < size:
            self._buffer += hmac.digest(self._seed, self._counter.to_bytes(8, "big"), _HASH)
            self._counter += 1
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


class FormatPreservingCipher:
    """Replaces the numbers of a patient by other numbers of the same domain (a range of integers from 0).

    The method depends on the number of values in the domain:

    - at least a million: the cipher FF1 of NIST SP 800-38G (2016). It is a permutation: two originals never have the
      same surrogate, not even in different notes. NIST withdrew FF3, the other cipher of that standard, and requires
      a million values (second public draft of revision 1, February 2025).
    - up to 256: all values are shuffled with the key, which is a permutation too.
    - in between: a random number is drawn with the key, so two originals can have the same surrogate. The same holds
      for numbers whose surrogates come from a reserved range (`draw`). The caller must make sure that the surrogates
      within a note differ.

    FF1 is from libffx 2.0.1 (September 2026; MIT licence, pure Python based on cryptography). Its only maintainer
    calls it beta but declares that its FF1 over integers never changes. The tests compare it with the samples of NIST
    and with recorded ciphertexts. Of the other packages on the index, fpr-ff1 (MIT) requires Python 3.12, fastfpe
    (MIT) has no domain of integers, ff3 has FF3 only, and pyffx, pyfpe and fpe have had no release since 2021.

    key (IdentityKey): key of the patient.
    """

    def __init__(self, key: IdentityKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "FormatPreservingCipher(…)"

    @cached_property
    def _cipher(self) -> Any:
        """The cipher FF1 with AES-256 and a key of the patient.

        RAISES: ConfigError (D670) if libffx is not installed. There is no fallback, because its surrogates would
            differ from those of machines with libffx.
        """
        try:
            from ffx import FF1
        except ImportError:
            raise ConfigError(Errors.D670) from None
        return FF1(self._key.derive("numbers", "FF1"))

    def draw(self, *context: str) -> "Draw":
        """Return a stream of random numbers for one decision, identified by `context`; see `IdentityKey.draw`."""
        return self._key.draw("numbers", *context)

    def permute(self, value: int, size: int, *context: str) -> int:
        """Replace an integer by another one of the same domain, the same one in all notes of the patient.

        value (int): from 0 to size - 1.
        size (int): number of values in the domain.
        context (str): strings that identify the kind of number. Each context has its own permutation (they are the
            tweak of the cipher).
        RETURNS (int): integer from 0 to size - 1. Different values have different results, unless the domain has more
            than 256 and fewer than a million values.
        RAISES: ConfigError (D670) if the domain needs the cipher and its package is not installed.
        """
        if size <= _RING:
            ring = self.draw("ring", *context, str(size)).shuffled(range(size))
            return ring[(ring.index(value) + 1) % size]  # no value becomes itself
        if size < SMALLEST_DOMAIN:
            return self.draw("small", *context, str(size), str(value)).below(size)
        tweak = b"\x00".join(part.encode() for part in context)
        return int(self._cipher.encrypt_int(value, domain=size, tweak=tweak))


def _framed(*parts: str) -> bytes:
    """Encode strings as bytes, each preceded by its length, so that different strings never give the same bytes."""
    # Notes may have a lone half of a surrogate pair. An encoding error about it would quote the note.
    framed = b""
    for part in parts:
        coded = part.encode("utf-8", "surrogatepass")
        framed += len(coded).to_bytes(8, "big") + coded
    return framed
