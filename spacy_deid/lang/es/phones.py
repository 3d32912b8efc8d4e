"""Find surrogates for Spanish telephone numbers.

No range is set apart for fiction (Real Decreto 2296/2004; CNMC), so surrogates have prefixes that are not assigned:
75, 76 and 77, in reserve until mobile numbers run out (the ministry in El País, 8 September 2017), and 929, 940, 970
and 989, which belong to no province. The package phonenumbers regards none of them as valid.
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions


def find_unassigned(number: str) -> NumberRange | None:
    """Return the unassigned mobile or landline numbers for a national number of nine digits; None for others."""
    if len(number) != 9 or number[0] not in "6789":
        return None
    return NumberRange(["75", "76", "77"], 7) if number[0] in "67" else NumberRange(["929", "940", "970", "989"], 6)


PHONES = PhoneConventions(
    plans={"34": NumberingPlan(find_unassigned)},
    home_country=lambda number: "34",
    other_countries=("52", "54", "56", "57", "51", "58", "593"),
    extension_words=("ext(?:ensión)?", "anexo", "int"),
)
