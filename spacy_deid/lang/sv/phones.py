"""Find surrogates for Swedish telephone numbers.

Surrogates are from the ranges that the Post and Telecom Authority sets apart for books and films (PTS,
"Telefonnummer för användning i böcker och filmer m.m."). All of them have ten digits; shorter numbers get the prefix
074, which belonged to pagers.
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions

_MOBILE = [f"07017406{digit}" for digit in range(1, 10)]
_LANDLINES = ["03139006", "04062804", "08465004", "09803192"]


def find_fictional(number: str) -> NumberRange | None:
    """Return fictional numbers of the same type for a mobile or landline number with its trunk prefix 0; None for a
    number of another form.
    """
    if not 8 <= len(number) <= 10 or number[0] != "0":
        return None
    if len(number) < 10:
        return NumberRange(["0744"], len(number) - 4)
    return NumberRange(_MOBILE, 1) if number.startswith("07") else NumberRange(_LANDLINES, 2)


PHONES = PhoneConventions(
    plans={"46": NumberingPlan(find_fictional, "0")},
    home_country=lambda number: "46" if number[:1] == "0" else None,
)
