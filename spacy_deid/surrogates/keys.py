"""Keys: whoever holds the project key can make the same surrogates again, and nobody else can tell whose they are.

    ProjectKey      a secret of the project, in a file that only its owner may read
    └── patient()   IdentityKey of one patient, by HKDF-SHA-256 (RFC 5869), with the patient's salt if there is one
        └── draw()  Draw: a stream of chance for one decision, by HMAC-SHA-256 (RFC 2104) over its context

Two project keys give surrogates that cannot be linked. A patient whose salt is destroyed has no `IdentityKey` left.
Draws use integers alone, so they are the same on every machine and in every version of Python.
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
from itertools import accumulate
from math import inf
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import Any, Self, TypeVar

from ..errors import ConfigError, Errors, InputError
from ..patient_ids import normal_id

__all__ = ["Draw", "IdentityKey", "ProjectKey", "hkdf"]

LEAST = 32  # bytes: as many as SHA-256 gives, so that no key is weaker than what is made from it
_HASH = "sha256"
_HASH_BYTES = 32
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")

T = TypeVar("T")


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = _HASH_BYTES) -> bytes:
    """Derive a key from another one. Source: HKDF with SHA-256, RFC 5869, sections 2.2 and 2.3.

    secret (bytes): the key to derive from.
    salt (bytes): not secret there, but a patient's salt is treated as one here; b"" for none.
    info (bytes): what the derived key is for.
    length (int): bytes of the derived key, 8160 at most.
    RETURNS (bytes): the derived key.
    """
    extracted = hmac.digest(salt or bytes(_HASH_BYTES), secret, _HASH)
    block = out = b""
    for number in range(1, -(-length // _HASH_BYTES) + 1):
        block = hmac.digest(extracted, block + info + bytes([number]), _HASH)
        out += block
    return out[:length]


class _Secret:
    """Bytes that no repr shows and no folder of a pipeline holds."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = bytes(secret)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The same object: a copy would be one more place in memory that holds the secret."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to a worker process that is being started, and nowhere else.

        RAISES: ConfigError (D643) for any other pickling, such as into a file.
        """
        if get_spawning_popen() is None:
            raise ConfigError(Errors.D643.format(kind=type(self).__name__))
        return type(self), (self._secret,)


class ProjectKey(_Secret):
    """The secret that all surrogates of a project come from. Keep it apart from the notes and from the vault.

    secret (bytes): 32 bytes or more, from a source of chance and not from a person's head.
    RAISES: ConfigError (D640) if it is shorter.
    """

    __slots__ = ()

    def __init__(self, secret: bytes) -> None:
        if len(secret) < LEAST:
            raise ConfigError(Errors.D640.format(found=len(secret), least=LEAST))
        super().__init__(secret)

    @classmethod
    def make(cls) -> Self:
        """Make a new key from the system's source of chance."""
        return cls(secrets.token_bytes(LEAST))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a key.

        path (Union[str, Path]): a text file with the key in hexadecimal or base64, which its owner alone may read.
        RAISES: ConfigError if it cannot be read (D641), others may read it (D642), or it is too short (D640).
        """
        try:
            with open(path, encoding="ascii") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = "".join(file.read(100_000).split())
        except OSError as error:
            raise ConfigError(Errors.D641.format(path=path, reason=os.strerror(error.errno or 0))) from None
        except ValueError:
            raise ConfigError(Errors.D641.format(path=path, reason="neither hexadecimal nor base64")) from None
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(Errors.D642.format(path=path, mode=mode))
        return cls(_decode(text, path))

    def to_file(self, path: str | Path) -> None:
        """Write the key to a new file that its owner alone may read.

        path (Union[str, Path]): the file. One that is there stays: without the old key its surrogates are lost. A
            folder that is not there is made, for its owner alone.
        RAISES: ConfigError (D646).
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
        """Sixteen hexadecimal digits that tell this key from others and say nothing of it."""
        return self.derive("fingerprint", 8).hex()

    def derive(self, purpose: str, length: int = _HASH_BYTES) -> bytes:
        """Derive a key for another purpose than patients.

        purpose (str): what it is for.
        length (int): its bytes.
        RETURNS (bytes): the key.
        """
        return hkdf(self._secret, b"", _framed("spacy_deid", "purpose", purpose), length)

    def patient(self, patient_id: str, salt: bytes = b"") -> "IdentityKey":
        """Derive the key of one patient.

        patient_id (str): the id; all ids with one `normal_id` give one key.
        salt (bytes): the patient's salt, if salts are kept; the key is lost with it.
        RETURNS (IdentityKey): the same for the same project key, id and salt.
        RAISES: InputError (D644) for an empty id: all notes without one would get the surrogates of one person.
        """
        patient = normal_id(patient_id)
        if not patient:
            raise InputError(Errors.D644)
        return IdentityKey(hkdf(self._secret, salt, _framed("spacy_deid", "patient", patient)))


class IdentityKey(_Secret):
    """The secret that the surrogates of one patient come from."""

    __slots__ = ()

    def draw(self, *context: str) -> "Draw":
        """Open the stream of chance for one decision.

        context (str): what is decided, such as "name", "Virtanen", "0". ("ab", "c") is another one than ("a", "bc").
        RETURNS (Draw): at its beginning, and the same for the same key and context.
        """
        return Draw(hmac.digest(self._secret, _framed("draw", *context), _HASH))

    def derive(self, *context: str) -> bytes:
        """Derive 32 bytes that are themselves a key, for a cipher.

        context (str): what the key is for.
        RETURNS (bytes): the key; it tells nothing of any draw.
        """
        return hmac.digest(self._secret, _framed("derive", *context), _HASH)


class Draw:
    """Chance that comes out the same each time: HMAC-SHA-256 of a counter under the seed.

    seed (bytes): the key of the stream.
    """

    __slots__ = ("_buffer", "_counter", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._seed, self._counter, self._buffer = seed, 0, b""

    def __repr__(self) -> str:
        return "Draw(…)"

    def below(self, n: int) -> int:
        """Draw a whole number from 0 to n - 1, all of them equally likely.

        n (int): 1 or more.
        RETURNS (int): the number.
        """
        if n < 1:
            raise ValueError(Errors.D645)
        bits = (n - 1).bit_length()
        size = -(-bits // 8)
        while True:  # a number that is too large is drawn again: its rest modulo n would favour small numbers
            number = int.from_bytes(self._take(size), "big") >> (8 * size - bits)
            if number < n:
                return number

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of several things.

        options (Sequence): at least one.
        RETURNS: one of them.
        """
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of several things, the heavier the likelier.

        options (Sequence): at least one.
        weights (Sequence[float]): finite, none below 0, at least one above.
        RETURNS: one of them, never one of weight 0.
        """
        if len(options) != len(weights) or not all(0 <= weight < inf for weight in weights):
            raise ValueError(Errors.D645)
        # Floats are fractions of powers of two. On one denominator they are whole numbers, which add up exactly;
        # sums of floats differ between versions of Python.
        ratios = [weight.as_integer_ratio() for weight in weights]
        whole = max((bottom for _, bottom in ratios), default=1)
        return options[self.position(list(accumulate(top * (whole // bottom) for top, bottom in ratios)))]

    def position(self, sums: Sequence[int]) -> int:
        """Draw a position by running sums of weights, which a caller with a long list keeps.

        sums (Sequence[int]): running sums of whole weights, ascending, the last above 0.
        RETURNS (int): a position, never one of weight 0.
        """
        if not sums or sums[-1] < 1:
            raise ValueError(Errors.D645)
        return bisect_right(sums, self.below(sums[-1]))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Draw an order, all of them equally likely (Fisher and Yates).

        items (Sequence): stays as it is.
        RETURNS (list): the same things in another order.
        """
        out = list(items)
        for last in range(len(out) - 1, 0, -1):
            other = self.below(last + 1)
            out[last], out[other] = out[other], out[last]
        return out

    def chance(self, p: float) -> bool:
        """Draw yes or no.

        p (float): probability of yes, from 0 to 1.
        RETURNS (bool): yes or no.
        """
        if not 0.0 <= p <= 1.0:
            raise ValueError(Errors.D645)
        return self.below(1 << 53) < p * (1 << 53)  # a float times a power of two is exact

    def _take(self, size: int) -> bytes:
        """The next bytes of the stream."""
        while len(self._buffer) < size:
            self._buffer += hmac.digest(self._seed, self._counter.to_bytes(8, "big"), _HASH)
            self._counter += 1
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def _decode(text: str, path: str | Path) -> bytes:
    """The bytes of a key as text. Hexadecimal first: a key in base64 has capitals or other letters, but for chance."""
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise ConfigError(Errors.D641.format(path=path, reason="neither hexadecimal nor base64")) from None


def _framed(*parts: str) -> bytes:
    """Join texts so that no other texts give the same bytes: each with its length before it."""
    # Half a surrogate pair is no text, but notes have them, and an error about it would quote the note.
    coded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in coded)
