"""Draw surrogates of every kind of identifier and count those that can be issued to a person.

    python -m benchmarks.live_identifiers --draws 10000

Each kind has its own judge: the package python-stdnum, which shares no code with `spacy_deid`, or the rule of the
issuer, for numbers without a check digit. A surrogate is *live* if its judge accepts it as a number that may have been
issued. The judges of the reserved ranges accept every number outside the range. No corpus is read; the originals are
the examples of the table `KINDS`. Rows are written to metrics/surrogates.json, with the target 0.
"""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, NamedTuple

import phonenumbers
import stdnum.ar.cuit
import stdnum.cl.rut
import stdnum.co.nit
import stdnum.es.ccc
import stdnum.es.dni
import stdnum.es.nie
import stdnum.fi.hetu
import stdnum.fi.ytunnus
import stdnum.gb.nhs
import stdnum.iban
import stdnum.ie.pps
import stdnum.imei
import stdnum.luhn
import stdnum.mx.curp
import stdnum.mx.rfc
import stdnum.se.orgnr
import stdnum.us.ssn
import typer

from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers import replace_ids

KEY = ProjectKey(bytes(range(32)))
CONSONANTS = "BCDFGHJKLMNPRSTVWXYZ"


class Kind(NamedTuple):
    """A kind of identifier to draw.

    name (str): name of the kind.
    lang (str): language of the note.
    label (str): canonical label.
    text (str): an original with the format of the kind.
    is_live (Callable[[str], bool]): whether a surrogate can be issued to a person.
    """

    name: str
    lang: str
    label: str
    text: str
    is_live: Callable[[str], bool]


def bare(text: str) -> str:
    """Return the letters and digits of a text in capitals."""
    return re.sub(r"[^A-Z0-9]", "", text.upper())


def matches(pattern: str) -> Callable[[str], bool]:
    """Make a judge that accepts the codes that match a regular expression."""
    return lambda text: re.fullmatch(pattern, bare(text)) is not None


def is_live_nuss(text: str) -> bool:
    """Whether the check digits of a Spanish social security number are possible (a remainder modulo 97)."""
    return int(bare(text)[-2:]) < 97


def is_live_date(text: str, at: int, plus_month: int = 0, plus_day: int = 0) -> bool:
    """Whether the six digits at an offset are a date of birth (yymmdd), also with what is added for women."""
    code = bare(text)
    month, day = int(code[at + 2 : at + 4]), int(code[at + 4 : at + 6])
    return (
        1 <= (month - plus_month if month > plus_month else month) <= 12
        and 1 <= (day - plus_day if plus_day and day > plus_day else day) <= 31
    )


def is_live_vin(text: str) -> bool:
    """Whether a vehicle identification number has only letters that ISO 3779 allows."""
    return not set(bare(text)) & set("IOQ")


def is_live_npi(text: str) -> bool:
    """Whether the Luhn digit of a National Provider Identifier is right."""
    return bool(stdnum.luhn.is_valid("80840" + bare(text)))


def is_live_dea(text: str) -> bool:
    """Whether the check digit of a DEA registration is right."""
    digits = [int(char) for char in bare(text)[2:]]
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def is_live_nhi(text: str) -> bool:
    """Whether the check digit of a New Zealand health number is right."""
    code = bare(text)
    values = [int(c) if c.isdigit() else "ABCDEFGHJKLMNPQRSTUVWXYZ".index(c) + 1 for c in code[:6]]
    rest = sum(v * w for v, w in zip(values, (7, 6, 5, 4, 3, 2), strict=True)) % 11
    return rest != 0 and (11 - rest) % 10 == int(code[6])


def is_live_medicare(text: str) -> bool:
    """Whether the check digit of an Australian Medicare number is right."""
    digits = [int(char) for char in bare(text)]
    return sum(d * w for d, w in zip(digits, (1, 3, 7, 9, 1, 3, 7, 9), strict=False)) % 10 == digits[8]


def is_live_phone(region: str) -> Callable[[str], bool]:
    """Make a judge that accepts the valid telephone numbers of a region. Those set apart for fiction are not live."""

    def is_live(text: str) -> bool:
        number = phonenumbers.parse(text, region)
        digits = str(number.national_number)
        if number.country_code == 1 and digits[3:8] == "55501":
            return False
        if number.country_code == 44 and re.match(r"7700900|207946|289649|292018|1632960|1914980|1\d\d4960", digits):
            return False
        if number.country_code == 61 and re.match(r"[2378](?:5550|7010)|49157", digits):
            return False
        if number.country_code == 353 and digits.startswith("2091"):
            return False
        return phonenumbers.is_valid_number(number)

    return is_live


def is_live_record_number(text: str) -> bool:
    """Whether a number without a known kind is valid as an identifier with a check digit of the same length."""
    code = bare(text)
    return len(code) == 10 and (stdnum.gb.nhs.is_valid(code) and not code.startswith("999"))


KINDS = (
    Kind("DNI", "es", "NATIONAL_ID", "12345678Z", stdnum.es.dni.is_valid),
    Kind("DNI with a typing error", "es", "NATIONAL_ID", "12345678A", stdnum.es.dni.is_valid),
    Kind("NIE", "es", "NATIONAL_ID", "X-1234567-L", stdnum.es.nie.is_valid),
    Kind("NUSS", "es", "INSURANCE_ID", "28 12345678 40", is_live_nuss),
    Kind("NUSS of 11 digits", "es", "INSURANCE_ID", "28/1234567/17", is_live_nuss),
    Kind("NUHSA", "es", "INSURANCE_ID", "AN0123456720", is_live_nuss),
    Kind("CIP", "es", "INSURANCE_ID", "GRLP521013 2345", lambda text: is_live_date(text, 4, 0, 40)),
    Kind("physician's number", "es", "LICENSE", "28 28 12345", lambda text: 1 <= int(bare(text)[:2]) <= 52),
    Kind("IBAN (ES)", "es", "ACCOUNT", "ES91 2100 0418 4502 0005 1332", stdnum.iban.is_valid),
    Kind("CCC in an IBAN", "es", "ACCOUNT", "ES91 2100 0418 4502 0005 1332", lambda t: stdnum.es.ccc.is_valid(t[4:])),
    Kind("CCC", "es", "ACCOUNT", "2100 0418 45 0200051332", stdnum.es.ccc.is_valid),
    Kind("plate (ES)", "es", "VEHICLE", "1234 BCD", matches(rf"\d{{4}}[{CONSONANTS}]{{3}}")),
    Kind("plate (ES, until 2000)", "es", "VEHICLE", "M-1234-BC", matches(r"[A-PR-Z]{1,2}\d{4}[A-Z]{1,2}")),
    Kind("CURP", "es", "NATIONAL_ID", "BOXW310820HNERXN09", stdnum.mx.curp.is_valid),
    Kind("RFC", "es", "NATIONAL_ID", "GODE561231GR8", lambda t: stdnum.mx.rfc.is_valid(t, validate_check_digits=True)),
    Kind("RUT", "es", "NATIONAL_ID", "12.345.678-5", stdnum.cl.rut.is_valid),
    Kind("CUIT", "es", "NATIONAL_ID", "20-05536168-2", stdnum.ar.cuit.is_valid),
    Kind("NIT", "es", "NATIONAL_ID", "213.123.432-1", stdnum.co.nit.is_valid),
    Kind("DNI (AR)", "es", "NATIONAL_ID", "13.962.508", matches(r"\d{1,8}|1\d{9}")),
    Kind("DNI (PE)", "es", "NATIONAL_ID", "06220918", matches(r"\d{1,8}")),
    Kind("cédula (CO)", "es", "NATIONAL_ID", "1.013.588.426", matches(r"\d{1,8}|1\d{9}")),
    Kind("SSN", "en", "SSN", "536-22-8726", stdnum.us.ssn.is_valid),
    Kind("NPI", "en", "LICENSE", "1234567893", is_live_npi),
    Kind("DEA", "en", "LICENSE", "AB1234563", is_live_dea),
    Kind(
        "MBI",
        "en",
        "HEALTH_PLAN",
        "1EG4-TE5-MK73",
        matches(r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y].{6}"),
    ),
    Kind("NHS number", "en", "NATIONAL_ID", "943 476 5919", lambda text: not text.startswith("999")),
    Kind("NINO", "en", "NATIONAL_ID", "AB 12 34 56 C", matches(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-Z]{2}\d{6}[A-D]")),
    Kind("PPS", "en", "NATIONAL_ID", "6433435F", stdnum.ie.pps.is_valid),
    Kind("NHI", "en", "NATIONAL_ID", "ZAC5361", is_live_nhi),
    Kind("Medicare (AU)", "en", "INSURANCE_ID", "2950 02347 1", is_live_medicare),
    Kind("health card (Ontario)", "en", "HEALTH_PLAN", "4532-015-114", lambda text: stdnum.luhn.is_valid(bare(text))),
    Kind("RAMQ", "en", "INSURANCE_ID", "TREM 5410 1512", lambda text: is_live_date(text, 4, 50)),
    Kind("plate (GB)", "en", "VEHICLE", "AB12 CDE", matches(r"[A-HJ-PR-Y][A-Z]\d\d[A-Z]{3}")),
    Kind("payment card", "en", "ACCOUNT", "4111 1111 1111 1111", lambda text: stdnum.luhn.is_valid(bare(text))),
    Kind("IMEI", "en", "DEVICE", "490154203237518", stdnum.imei.is_valid),
    Kind("VIN", "en", "VEHICLE", "1HGBH41JXMN109186", is_live_vin),
    Kind("VIN without a check digit", "en", "VEHICLE", "WDB2030461A123456", is_live_vin),
    Kind("henkilötunnus", "fi", "NATIONAL_ID", "131052-308T", stdnum.fi.hetu.is_valid),
    Kind("Y-tunnus", "fi", "ID_OTHER", "0112038-9", stdnum.fi.ytunnus.is_valid),
    Kind("IBAN (FI)", "fi", "ACCOUNT", "FI21 1234 5600 0007 85", stdnum.iban.is_valid),
    Kind("plate (FI)", "fi", "VEHICLE", "ABC-123", matches(r"[A-Z]{2,3}[1-9]\d{0,2}")),
    Kind("personnummer", "sv", "NATIONAL_ID", "800101-0019", lambda text: int(bare(text)[-4:-1]) < 980),
    Kind("organisationsnummer", "sv", "ID_OTHER", "556703-7485", stdnum.se.orgnr.is_valid),
    Kind("plate (SE)", "sv", "VEHICLE", "ABC 123", matches(r"[A-HJ-PR-UW-Z]{3}\d\d[A-Z\d]")),
    Kind("record number", "en", "MRN", "9434765919", is_live_record_number),
    Kind("telephone (ES)", "es", "PHONE", "612 345 678", is_live_phone("ES")),
    Kind("telephone (FI)", "fi", "PHONE", "040 123 4567", is_live_phone("FI")),
    Kind("telephone (FI), landline", "fi", "PHONE", "09 471 2345", is_live_phone("FI")),
    Kind("telephone (FI), long area code", "fi", "PHONE", "013 171 2345", is_live_phone("FI")),
    Kind("telephone (US)", "en", "PHONE", "(212) 736-5000", is_live_phone("US")),
    Kind("telephone (GB)", "en", "PHONE", "+44 20 7123 4567", is_live_phone("GB")),
    Kind("telephone (GB), long area code", "en", "PHONE", "01642 712 345", is_live_phone("GB")),
    Kind("telephone (AU)", "en", "PHONE", "+61 2 9487 3350", is_live_phone("AU")),
    Kind("telephone (IE)", "en", "PHONE", "+353 87 677 1234", is_live_phone("IE")),
    Kind("telephone (CL)", "es", "PHONE", "+56 9 8214 5503", is_live_phone("CL")),
    Kind("telephone (MX)", "es", "PHONE", "+52 55 1234 5678", is_live_phone("MX")),
    Kind("telephone (RU)", "en", "PHONE", "+7 495 123 4567", is_live_phone("RU")),
)


def draw(kind: Kind, draws: int) -> list[str]:
    """Draw surrogates of a kind: those of one original for as many variants as `draws`.

    kind (Kind): the kind.
    draws (int): number of surrogates.
    RETURNS (list[str]): the surrogates; fewer than `draws` if a kind has fewer numbers.
    """
    patient = KEY.patient(kind.name)
    made = (
        replace_ids([Mention(kind.text, kind.label, variant=variant)], patient, kind.lang, lambda value: False)[0]
        for variant in range(draws)
    )
    return [text for text in made if text is not None]


# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    context: typer.Context,
    draws: Annotated[int, typer.Option(help="Number of surrogates per kind.")] = 10_000,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/surrogates.json"),
) -> None:
    """Draw surrogates of every kind of identifier and write how many can be issued to a person."""
    command, today = command_line("benchmarks.live_identifiers", context), date.today().isoformat()
    rows = []
    for kind in KINDS:
        made = draw(kind, draws)
        live = sum(map(kind.is_live, made)) if made else draws
        rows.append(MetricRow(f"live: {kind.name}", live, 0.0, "lower", f"{draws:,} draws", "", command, today))
        typer.echo(f"{kind.name}: {live} of {len(made)}, such as {made[0] if made else 'none'}")
    replace_rows(metrics, rows)


if __name__ == "__main__":
    app()
