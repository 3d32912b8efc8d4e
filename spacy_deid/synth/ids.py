"""Identifiers of synthetic notes, with valid check digits and dates of birth.

``language.toml`` names the kinds of an attribute (``ids = ["dni", "nie"]``). Kinds of a country are in its language
(`LanguageData.id_makers`), the international ones here. A name that is no kind is a pattern: "#" is a digit, "@" a
capital letter, any other character stands for itself.
"""

from collections.abc import Mapping
from functools import cache
from random import Random
from types import MappingProxyType

from ..lang import all_languages
from ..lang.identifiers import finish_vin, luhn
from ..lang.synthesis import IdBearer, IdMaker, draw_digits

_PATTERN_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_CHARACTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"


def make_id(kind: str, rng: Random, bearer: IdBearer) -> str:
    """Make an identifier.

    kind (str): a kind of `id_makers`, or a pattern.
    rng (Random): source of randomness.
    bearer (IdBearer): the person.
    RETURNS (str): the identifier.
    """
    maker = id_makers().get(kind)
    return maker(rng, bearer) if maker else fill_pattern(kind, rng)


def fill_pattern(pattern: str, rng: Random) -> str:
    """Fill a pattern.

    pattern (str): "#" is a digit, "@" a capital letter, any other character stands for itself.
    rng (Random): source of randomness.
    RETURNS (str): the identifier.
    """
    draw = {"#": lambda: str(rng.randrange(10)), "@": lambda: rng.choice(_PATTERN_LETTERS)}
    return "".join(draw[char]() if char in draw else char for char in pattern)


@cache
def id_makers() -> Mapping[str, IdMaker]:
    """The kinds of identifiers of all languages, and the international ones.

    RETURNS (Mapping[str, Callable]): name of a kind → its maker.
    """
    makers = {name: maker for language in all_languages() for name, maker in language.id_makers.items()}
    international = {"card": _make_card, "imei": _make_imei, "ip": _make_ip, "mac": _make_mac, "vin": _make_vin}
    return MappingProxyType({**international, **makers})


def _make_card(rng: Random, bearer: IdBearer) -> str:
    digits = rng.choice("45") + draw_digits(rng, 14)
    digits += luhn(digits)
    return rng.choice([digits, " ".join(digits[i : i + 4] for i in range(0, 16, 4))])


def _make_imei(rng: Random, bearer: IdBearer) -> str:
    digits = "35" + draw_digits(rng, 12)
    return digits + luhn(digits)


def _make_ip(rng: Random, bearer: IdBearer) -> str:
    return f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _make_mac(rng: Random, bearer: IdBearer) -> str:
    return ":".join(f"{rng.randrange(256):02X}" for _ in range(6))


def _make_vin(rng: Random, bearer: IdBearer) -> str:
    return finish_vin("".join(rng.choice(_VIN_CHARACTERS) for _ in range(17)))
