"""Telephone numbers that ring nowhere.

- North America: 555-0100 to 555-0199, in any area code (North American Numbering Plan Administrator).
- United Kingdom: Ofcom's numbers for drama, "Telephone numbers for drama use".
- Spain and Finland: no range for fiction was found, neither with the Spanish plan (Real Decreto 2296/2004; CNMC) nor
  with the Finnish one (Traficom, regulation 32). Surrogates stand behind prefixes that are given to nobody. Spain: 75,
  76 and 77, in reserve until mobile numbers run out (the ministry in El País, 8 September 2017), and 929, 940, 970 and
  989, which are no province's. Finland: mobile 049, and landlines whose number would begin with 9. The numbering plans
  of the package phonenumbers (Google's libphonenumber, version 9) call none of them valid, which the tests check.
- Other countries: keyed digits behind the country code; they may be somebody's.

The area code is replaced too: it tells a region smaller than a state. Trunk zero, country code, extension and blanks
stay where they were.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import phonenumbers

from ..keys import Draw
from .chance import Chance
from .kind import DIGITS
from .layout import Layout

__all__ = ["Phone", "read_phone"]

_EXTENSION = re.compile(r"(?i)(?:\bext(?:ension|ensión|n)?|\bx|\banexo|\balanumero|\bint|#)[\s.:]*([\d-]{1,7})\s*$")
_COUNTRY = re.compile(r"[\s(]*(?:\+|00(?!0))\s*\(?")
_TRIES = 200
_AREAS = (
    "201 202 203 205 206 207 208 209 210 212 213 214 215 216 217 218 219 224 225 228 229 231 234 239 240 248 251 252 "
    "253 254 256 260 262 267 269 270 276 281 301 302 303 304 305 307 308 309 310 312 313 314 315 316 317 318 319 320 "
    "321 323 330 334 336 337 352 360 361 386 401 402 404 405 406 407 408 409 410 412 413 414 415 417 419 423 425 432 "
    "434 440 443 469 478 479 480 484 501 502 503 504 505 507 508 509 510 512 513 515 516 517 518 520 530 540 541 559 "
    "561 562 563 570 573 574 580 585 586 601 602 603 605 606 607 608 609 610 612 614 615 616 617 618 619 620 623 626"
).split()
_UK_CITIES = (
    "01134960 01144960 01154960 01164960 01174960 01184960 01214960 01314960 01414960 01514960 01614960 01914980 "
    "02079460 02896496 02920180 01632960"
).split()
_UK_OTHERS = {"07": ["07700900"], "08": ["08081570"], "09": ["09098790"], "03": ["03069990"]}


class Plan(NamedTuple):
    """Surrogates of one sort of numbers: a prefix, and digits behind it."""

    prefixes: Sequence[str]
    digits: int


def _north_america(number: str) -> Plan | None:
    if len(number) == 7:
        return Plan(["55501"], 2)
    return Plan([area + "55501" for area in _AREAS], 2) if len(number) == 10 else None


def _united_kingdom(number: str) -> Plan | None:
    return Plan(_UK_OTHERS.get(number[:2], _UK_CITIES), 3) if len(number) == 11 else None


def _spain(number: str) -> Plan | None:
    if len(number) != 9 or number[0] not in "6789":
        return None
    return Plan(["75", "76", "77"], 7) if number[0] in "67" else Plan(["929", "940", "970", "989"], 6)


def _finland(number: str) -> Plan | None:
    if not 5 <= len(number) <= 12:
        return None
    if number[:2] in ("04", "05") and number[:3] >= "040" and number[:3] <= "050":
        return Plan(["049"], len(number) - 3)
    if number[:2] == "01":
        return Plan(["0139", "0149", "0159", "0169", "0179"], len(number) - 4)
    return Plan(["059", "069", "089"], len(number) - 3)


# Country code → region, plan, and what is dialled before a national number: it counts as a part of it where it is 0.
_PLANS = {
    "1": (_north_america, ""),
    "44": (_united_kingdom, "0"),
    "34": (_spain, ""),
    "358": (_finland, "0"),
}


def read_phone(text: str, lang: str) -> "Phone | None":
    """Read a telephone number.

    text (str): the mention.
    lang (str): ISO 639-1 code; it tells the country of a number without a country code.
    RETURNS (Optional[Phone]): None if letters stand in it.
    """
    extension = _EXTENSION.search(text)
    end = extension.start() if extension else len(text)
    tail = [extension.span(1)] if extension else []
    country, start = _country(text, end, lang)
    main = Layout(text, (start, end))
    if not main.code.isdecimal() and (main.code or not tail):
        return None
    abroad = country is not None and start > 0
    number = main.code if abroad or country != "1" or len(main.code) != 11 else main.code[1:]
    if len(number) != len(main.code):  # 1 before an area code
        start = main.positions[0] + 1
    trunk = _PLANS[country][1] if country in _PLANS else ""
    bare = abroad and bool(trunk) and not number.startswith(trunk)
    national = trunk + number if bare else number
    plan = _PLANS[country][0](national) if country in _PLANS else None
    layout = Layout(text, (start, end), *tail)
    return Phone(layout, country if plan and country else "", national, plan, len(trunk) if bare else 0)


def _country(text: str, end: int, lang: str) -> tuple[str | None, int]:
    """The country code of a number, and where the number begins behind it."""
    match = _COUNTRY.match(text)
    digits = [i for i in range(match.end() if match else 0, end) if text[i].isdecimal()]
    if not match or len(digits) < 7:
        return _at_home("".join(text[i] for i in digits), lang), 0
    found = "".join(text[i] for i in digits[:3])
    for width in (1, 2, 3):
        if int(found[:width]) in phonenumbers.COUNTRY_CODE_TO_REGION_CODE:
            return found[:width], digits[width]
    return None, 0


def _at_home(number: str, lang: str) -> str | None:
    """The country of a number without a country code."""
    if lang == "en":
        if len(number) in (7, 10) or (len(number) == 11 and number[0] == "1"):
            return "1" if number[0] != "0" else None
        return "44" if number[:1] == "0" else None
    return {"es": "34", "fi": "358"}.get(lang) if lang != "fi" or number[:1] == "0" else None


class Phone:
    """A telephone number that was read.

    layout (Layout): the digits that are replaced, those of an extension last.
    country (str): country code, "" if no plan is known.
    number (str): national number, with its zero.
    plan (Optional[Plan]): where surrogates come from; None for keyed digits.
    unwritten (int): how many signs of the national number are not written: its zero, behind a country code.
    """

    def __init__(self, layout: Layout, country: str, number: str, plan: Plan | None, unwritten: int) -> None:
        self._layout, self._plan, self._number, self._unwritten = layout, plan, number, unwritten
        self._extension = layout.code[len(number) - unwritten :]
        self._national = f"{country}:{number}"
        self.identity = f"{self._national};{self._extension}"

    def __repr__(self) -> str:
        return "Phone(…)"

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first: national numbers with their zero, and the digits of the extension."""
        for attempt in range(_TRIES):
            draw = chance.draw("phone", self._national, str(variant), str(attempt))
            if self._plan:
                number = draw.choice(self._plan.prefixes) + _some(draw, self._plan.digits)
            else:
                first = draw.choice(DIGITS[1:])
                number = ("0" if self._number[:1] == "0" else first) + _some(draw, len(self._number) - 1)
            inside = chance.draw("extension", self.identity, str(variant), str(attempt))
            yield number[: len(self._number)] + _some(inside, len(self._extension))

    def write(self, value: str) -> str:
        """Write a surrogate in the place of the original."""
        return self._layout.write(value[self._unwritten :])


def _some(draw: Draw, digits: int) -> str:
    return f"{draw.below(10**digits):0{digits}}" if digits > 0 else ""
