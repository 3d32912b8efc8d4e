"""Replace ids and references by surrogates, so that a reference still leads to its target.

An id of a server is often a record number. A surrogate id is an HMAC of the type and the id of the resource: it is the
same everywhere in a project, and cannot be computed without the key. A server's address becomes an address below
".invalid" (RFC 2606), which exists nowhere. Nothing is ever fetched.
"""

import hmac
import re
import uuid
from typing import NamedTuple

from .definitions import load_definitions

_PLACE = re.compile(
    r"(?:(?P<base>https?://[^\s|?#]+?)/)?(?P<type>[A-Z][A-Za-z]{1,63})/(?P<id>[A-Za-z0-9\-.]{1,64})(?:/_history/\S+)?"
)
_URN = re.compile(r"urn:(?:uuid|oid):\S+", re.IGNORECASE)


class Place(NamedTuple):
    """What a reference refers to.

    type (str): the type of the resource; "" for a urn.
    id (str): its id, or the whole urn.
    base (str): the address of the server; "" for a relative reference.
    """

    type: str
    id: str
    base: str = ""

    def __repr__(self) -> str:
        """Show only the type, because ids can be record numbers."""
        return f"Place({self.type!r}, …)"

    @property
    def key(self) -> str:
        """The same string for all references to the resource."""
        return f"{self.type}/{self.id}" if self.type else self.id.lower()


def read_reference(text: str) -> Place | None:
    """Read a literal reference to a resource: "Patient/1", "https://example.org/fhir/Patient/1", "urn:uuid:…".

    text (str): the reference. A version ("/_history/2") is ignored.
    RETURNS (Optional[Place]): what it refers to; None for anything else, such as a search.
    """
    if _URN.fullmatch(text):
        return Place("", text)
    found = _PLACE.fullmatch(text)
    if found is None or found["type"] not in load_definitions().resources:
        return None
    return Place(found["type"], found["id"], found["base"] or "")


class References:
    """Makes surrogates of ids and references.

    secret (bytes): the key, derived from the project key, or random for a single run.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "References(…)"

    def _hash(self, *parts: str) -> bytes:
        """Return 32 bytes for a list of strings."""
        return hmac.digest(self._secret, "\0".join(parts).encode("utf-8", "surrogatepass"), "sha256")

    def new_id(self, type_name: str, old: str) -> str:
        """Return the surrogate of an id.

        type_name (str): the type of the resource, or "#" for a contained one.
        old (str): the id.
        RETURNS (str): 32 hexadecimal digits.
        """
        return self._hash("id", type_name, old).hex()[:32]

    def new_urn(self, old: str) -> str:
        """Return the surrogate of a urn: "urn:uuid:…" with a UUID of version 4 (RFC 9562)."""
        return uuid.UUID(bytes=self._hash("urn", old.lower())[:16], version=4).urn

    def rewrite(self, text: str) -> str | None:
        """Return the surrogate of a reference.

        text (str): a literal reference, or "#id" for a contained resource.
        RETURNS (Optional[str]): a reference of the same form; None if it is not a literal reference.
        """
        if text.startswith("#"):
            return "#" + self.new_id("#", text[1:]) if text[1:] else text
        place = read_reference(text)
        if place is None:
            return None
        if not place.type:
            return self.new_urn(place.id)
        relative = f"{place.type}/{self.new_id(place.type, place.id)}"
        host = self._hash("base", place.base).hex()[:8]
        return f"https://{host}.invalid/fhir/{relative}" if place.base else relative
