"""Find surrogates for telephone numbers of North America, the United Kingdom, Australia and Ireland.

Surrogates are from ranges that are set apart: 555-0100 to 555-0199 in any area code (North American Numbering Plan
Administrator), Ofcom's "Telephone numbers for drama use", "Phone numbers for use in TV shows, films and creative
works" of the Australian Communications and Media Authority, and 020 91X XXXX of ComReg. Canadian numbers get area
codes of Canada, and British numbers an area code of the same length, so that the format shows no surrogate.
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions

_UNITED_STATES = (
    "201 202 203 205 206 207 208 209 210 212 213 214 215 216 217 218 219 224 225 228 229 231 234 239 240 248 251 252 "
    "253 254 256 260 262 267 269 270 276 281 301 302 303 304 305 307 308 309 310 312 313 314 315 316 317 318 319 320 "
    "321 323 330 334 336 337 352 360 361 386 401 402 404 405 406 407 408 409 410 412 413 414 415 417 419 423 425 432 "
    "434 440 443 469 478 479 480 484 501 502 503 504 505 507 508 509 510 512 513 515 516 517 518 520 530 540 541 559 "
    "561 562 563 570 573 574 580 585 586 601 602 603 605 606 607 608 609 610 612 614 615 616 617 618 619 620 623 626"
).split()
_CANADA = (
    "204 226 236 249 250 289 306 343 365 403 416 418 431 437 438 450 506 514 519 579 581 587 604 613 639 647 705 709 "
    "778 780 807 819 825 867 873 902 905"
).split()
_UK_CITIES = (
    "01134960 01144960 01154960 01164960 01174960 01184960 01214960 01314960 01414960 01514960 01614960 01914980"
).split()
_UK_SHORT_AREAS = ["02079460", "02896496", "02920180"]
_UK_OTHERS = {"07": ["07700900"], "08": ["08081570"], "09": ["09098790"], "03": ["03069990"]}
_AU_AREAS = {
    "02": ["025550", "027010"],
    "03": ["035550", "037010"],
    "07": ["075550", "077010"],
    "08": ["085550", "087010"],
}
_AU_MOBILE = (
    "0491570006 0491570156 0491570157 0491570158 0491570159 0491570110 0491570313 0491570737 0491571266 0491571491 "
    "0491571804 0491572549 0491572665 0491572983 0491573770 0491573087 0491574118 0491574632 0491575254 0491575789 "
    "0491576398 0491576801 0491577426 0491577644 0491578957 0491578148 0491578888 0491579212 0491579760 0491579455"
).split()
_IRELAND = "02091"


def find_fictional_nanp(number: str) -> NumberRange | None:
    """Return the fictional numbers of the same country in North America, for a number of seven or ten digits; None
    for any other."""
    if len(number) == 7:
        return NumberRange(["55501"], 2)
    if len(number) != 10:
        return None
    areas = _CANADA if number[:3] in _CANADA else _UNITED_STATES
    return NumberRange([area + "55501" for area in areas], 2)


def find_fictional_uk(number: str) -> NumberRange | None:
    """Return the British numbers for drama with an area code of the same length, for a number of eleven digits with
    its trunk prefix; None for any other.
    """
    if len(number) != 11:
        return None
    if number[:2] == "02":
        return NumberRange(_UK_SHORT_AREAS, 3)
    has_city = number[:3] == "011" or (number[:2] == "01" and number[3] == "1")
    return NumberRange(_UK_OTHERS.get(number[:2], _UK_CITIES if has_city else ["01632960"]), 3)


def find_fictional_au(number: str) -> NumberRange | None:
    """Return the Australian numbers for creative works of the same area, or mobile ones, for a number of ten digits
    with its trunk prefix; None for any other.
    """
    if len(number) != 10:
        return None
    if number[:2] == "04":
        return NumberRange(_AU_MOBILE, 0)
    return NumberRange(_AU_AREAS[number[:2]], 4) if number[:2] in _AU_AREAS else None


def find_fictional_ie(number: str) -> NumberRange | None:
    """Return the Irish numbers for drama, for a number of ten digits with its trunk prefix; None for any other."""
    return NumberRange([_IRELAND], 5) if len(number) == 10 else None


def find_home_country(number: str) -> str | None:
    """Return the country code of a number without one: "1" if it has the length of North American numbers, "61" if
    it is an Australian mobile number, "44" if it begins with 0, else None."""
    if len(number) in (7, 10, 11) and number[0] != "0":
        return "1" if len(number) != 11 or number[0] == "1" else None
    if len(number) == 10 and number[:2] == "04":
        return "61"
    return "44" if number[:1] == "0" else None


PHONES = PhoneConventions(
    plans={
        "1": NumberingPlan(find_fictional_nanp),
        "44": NumberingPlan(find_fictional_uk, "0"),
        "61": NumberingPlan(find_fictional_au, "0"),
        "353": NumberingPlan(find_fictional_ie, "0"),
    },
    home_country=find_home_country,
    other_countries=("353", "61", "64"),
    extension_words=("ext(?:ension|n)?", "x"),
)
