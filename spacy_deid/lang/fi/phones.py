"""Find surrogates for Finnish telephone numbers.

No range is set apart for fiction (Traficom, regulation 32), so surrogates have prefixes that are not assigned: mobile
049, and landlines whose number would begin with 9. The package phonenumbers regards none of them as valid.
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions


def find_unassigned(number: str) -> NumberRange | None:
    """Return the unassigned mobile, service or landline numbers for a national number of 5 to 12 digits, else None."""
    if not 5 <= len(number) <= 12:
        return None
    if number[:2] in ("04", "05") and "040" <= number[:3] <= "050":
        return NumberRange(["049"], len(number) - 3)
    if number[:2] == "01":
        return NumberRange(["0139", "0149", "0159", "0169", "0179"], len(number) - 4)
    return NumberRange(["059", "069", "089"], len(number) - 3)


PHONES = PhoneConventions(
    plans={"358": NumberingPlan(find_unassigned, "0")},
    home_country=lambda number: "358" if number[:1] == "0" else None,
    extension_words=("alanumero",),
)
