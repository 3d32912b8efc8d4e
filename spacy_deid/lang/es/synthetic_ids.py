"""Spanish identifiers for synthetic notes."""

from random import Random

from ..synthesis import IdBearer, make_iban

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_PLATE_LETTERS = "BCDFGHJKLMNPRSTVWXYZ"


def make_dni(rng: Random, bearer: IdBearer) -> str:
    """Make a DNI, in one of the ways that notes write it."""
    number = rng.randrange(10_000_000, 80_000_000)
    letter = _DNI_LETTERS[number % 23]
    dotted = f"{number:,}".replace(",", ".")
    return rng.choice([f"{number}{letter}"] * 4 + [f"{number}-{letter}", f"{number} {letter}", f"{dotted}-{letter}"])


def make_nie(rng: Random, bearer: IdBearer) -> str:
    """Make the identity number of a foreigner (NIE)."""
    first, number = rng.randrange(3), rng.randrange(10_000_000)
    letter = _DNI_LETTERS[(first * 10_000_000 + number) % 23]
    return rng.choice([f"{'XYZ'[first]}{number:07}{letter}", f"{'XYZ'[first]}-{number:07}-{letter}"])


def make_nuss(rng: Random, bearer: IdBearer) -> str:
    """Make a social security number of the person's province."""
    province = _province(rng, bearer)
    serial = rng.randrange(10_000_000, 100_000_000)
    check = int(f"{province}{serial}") % 97
    return rng.choice(["{} {} {:02}"] * 3 + ["{}{}{:02}", "{}/{}/{:02}", "{}-{}-{:02}"]).format(
        province, serial, check
    )


def make_cip(rng: Random, bearer: IdBearer) -> str:
    """Make the number of a regional health card: four letters of the surnames, date of birth (the day of a woman plus
    40), serial number.
    """
    day = bearer.born.day + (40 if bearer.sex == "female" else 0)
    letters = (bearer.initials.upper() + "XXXX")[:4]
    return f"{letters}{bearer.born:%y%m}{day:02}{rng.randrange(1_000_000):06}"


def make_colegiado(rng: Random, bearer: IdBearer) -> str:
    """Make the license number of a physician."""
    province = _province(rng, bearer)
    return rng.choice([f"{province} {province} {rng.randrange(100_000):05}", f"{province}{rng.randrange(100_000):05}"])


def make_plate(rng: Random, bearer: IdBearer) -> str:
    """Make a licence plate."""
    letters = "".join(rng.choice(_PLATE_LETTERS) for _ in range(3))
    return f"{rng.randrange(10_000):04}{rng.choice([' ', '', '-'])}{letters}"


def _province(rng: Random, bearer: IdBearer) -> str:
    """The province of the person's postal code, or a random one."""
    return bearer.zip[:2] if bearer.zip[:2].isdecimal() else f"{rng.randrange(1, 53):02}"


ID_MAKERS = {
    "cip": make_cip,
    "colegiado": make_colegiado,
    "dni": make_dni,
    "iban_es": make_iban("ES", 20),
    "nie": make_nie,
    "nuss": make_nuss,
    "plate_es": make_plate,
}
