"""Find surrogates for telephone numbers of North America and the United Kingdom.

Surrogates are from ranges that are set apart: 555-0100 to 555-0199 in any area code (North American Numbering Plan
Administrator), and Ofcom's "Telephone numbers for drama use".
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions

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


def find_fictional_nanp(number: str) -> NumberRange | None:
    """Return the fictional numbers of North America, for a number of seven or ten digits; None for any other."""
    if len(number) == 7:
        return NumberRange(["55501"], 2)
    return NumberRange([area + "55501" for area in _AREAS], 2) if len(number) == 10 else None


def find_fictional_uk(number: str) -> NumberRange | None:
    """Return the British numbers for drama, for a number of eleven digits with its trunk prefix; None for any
    other.
    """
    return NumberRange(_UK_OTHERS.get(number[:2], _UK_CITIES), 3) if len(number) == 11 else None


def find_home_country(number: str) -> str | None:
    """Return the country code of a number without one: "1" if it has the length of North American numbers, "44" if it
    begins with 0, else None."""
    if len(number) in (7, 10) or (len(number) == 11 and number[0] == "1"):
        return "1" if number[0] != "0" else None
    return "44" if number[:1] == "0" else None


PHONES = PhoneConventions(
    plans={"1": NumberingPlan(find_fictional_nanp), "44": NumberingPlan(find_fictional_uk, "0")},
    home_country=find_home_country,
    other_countries=("353", "61", "64"),
    extension_words=("ext(?:ension|n)?", "x"),
)
