"""Signs the page of a dossier with the project key, and checks the signature.

The last line of a signed page is a comment with the fingerprint of the key and an HMAC-SHA-256 of all bytes before it.
Whoever has the project key can check that the page is the one that was made; nobody else can make another.
"""

import hmac
import re
from pathlib import Path

from ..errors import Errors, InputError
from ..surrogates.keys import ProjectKey

_PURPOSE = "dossier 1"
_LINE = re.compile(rb"<!-- spacy-deid dossier 1, key ([0-9a-f]{16}), hmac-sha256 ([0-9a-f]{64}) -->\n\Z")


def sign(page: str, key: ProjectKey) -> bytes:
    """Sign a page.

    page (str): the page.
    key (ProjectKey): the project key.
    RETURNS (bytes): the page in UTF-8 with the signature as its last line.
    """
    content = page.rstrip("\n").encode("utf-8") + b"\n"
    line = f"<!-- spacy-deid dossier 1, key {key.fingerprint}, hmac-sha256 {_mac(content, key)} -->\n"
    return content + line.encode("ascii")


def verify(path: Path, key: ProjectKey) -> None:
    """Check that a page was signed with a key and has not been changed since.

    path (Path): file of the page.
    key (ProjectKey): the project key.
    RAISES: InputError (D359) if the page has no signature, was signed with another key, or was changed.
    """
    try:
        signed = path.read_bytes()
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=error.strerror or type(error).__name__)) from None
    match = _LINE.search(signed)
    if match is None:
        raise InputError(Errors.D359.format(path=path, reason="it has no signature as its last line"))
    if match[1].decode("ascii") != key.fingerprint:
        reason = f"it was signed with key {match[1].decode('ascii')}, not with {key.fingerprint}"
        raise InputError(Errors.D359.format(path=path, reason=reason))
    if not hmac.compare_digest(match[2].decode("ascii"), _mac(signed[: match.start()], key)):
        raise InputError(Errors.D359.format(path=path, reason="it was changed after it was signed"))


def _mac(content: bytes, key: ProjectKey) -> str:
    """Compute the signature of bytes. RETURNS (str): 64 hexadecimal digits."""
    return hmac.digest(key.derive(_PURPOSE), content, "sha256").hex()
