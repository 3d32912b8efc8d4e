"""Read dates as a reader does, without code or word lists of the package, to measure how dates were moved.

`read_date` finds day, month, year, weekday and season in a mention, in digits, words or Roman numerals. `find_shifts`
compares an original with its surrogate and returns by how many days the date can have been moved: one number for a
full date, a range for a month or year, a remainder for a weekday. Holidays and years in words are only seen.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from itertools import product
from typing import NamedTuple

MONTHS = {
    "es": "ene feb mar|mzo abr may jun jul ago|agt sep|set|spt oct nov dic",
    "en": "jan feb mar apr may jun jul aug sep|spt oct nov dec",
    "fi": "tammi helmi maalis huhti touko kesäk heinä elo syys loka marras joulu",
}
WEEKDAYS = {
    "es": "lun mar mi[eé] jue|juev vie s[aá]b dom",
    "en": "mon tue wed thu fri sat sun",
    "fi": "ma|maanan ti|tiis ke|keskiv to|torst pe|perjan la|lauan su|sunnun",
}
SEASONS = {"es": "invier primav veran otoñ", "en": "winter spring summer fall|autumn", "fi": "talv kev kesä syksy"}
HOLIDAYS = {
    "es": "navid nochebu nochevi reyes pascua semana carnav fallas pilar santos juan jos[eé] constituci puente "
    "viernes\\ssanto jueves\\ssanto ferias corpus inmacul asunci muertos patrias",
    "en": "christm easter thanksg hallow new\\syear labou?r bonfire anzac cup boxing memorial independ bank "
    "(?:fourth|4th)\\sof\\sjuly remembrance king queen waitangi mother father valentine veteran pancake hogmanay",
    "fi": "joulu(?!k) juhann pääsi vap uuden uuten uudes itsenäis loppiai pyhäin helatorst äitien isän",
}
ROMAN = dict(zip("i ii iii iv v vi vii viii ix x xi xii".split(), range(1, 13), strict=True))
ONES = {
    "es": "primero|uno|un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "diecis[eé]is diecisiete dieciocho diecinueve veinte veintiun[oa]? veintid[oó]s veintitr[eé]s veinticuatro "
    "veinticinco veintis[eé]is veintisiete veintiocho veintinueve treinta",
    "en": "first|one second|two third|three fourth|four fifth|five sixth|six seventh|seven eighth|eight ninth|nine "
    "tenth|ten eleventh|eleven twelfth|twelve thirteenth? fourteen(?:th)? fifteen(?:th)? sixteen(?:th)? "
    "seventeen(?:th)? eighteen(?:th)? nineteen(?:th)? twentieth twenty[-\\s]first twenty[-\\s]second "
    "twenty[-\\s]third twenty[-\\s]fourth twenty[-\\s]fifth twenty[-\\s]sixth twenty[-\\s]seventh "
    "twenty[-\\s]eighth twenty[-\\s]ninth thirtieth thirty[-\\s]first",
}
SPOKEN = {
    "fi": "kymmen|tuhat|toista|toinen|kolma|neljä|viide|kuude|seitsem|kahdeks|yhdeks",
    "es": "dos mil|mil novecientos|veint|trei|y (?:uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve)",
    "en": "twent|thirt|nineteen|two thousand|ies$",
}
MISREAD = str.maketrans("oliszb", "011528")
MONTH_FIRST = re.compile(r"\s*(?:(?:0?\d|1[0-2])[/-](?:1[3-9]|2\d|3[01])[/-]\d|\d\d-\d\d\s*$)")
CLOCK = re.compile(
    r"(?<![\d.])(?:[01]?\d|2[0-3])\.(?:1[3-9]|[2-5]\d)(?![\d.])(?=.*\d\.\d{1,2}\.\d)"
)  # 07.31 / 18.2.2010
FIRST_OF_RANGE = re.compile(r"\d{1,2}([./])\d{1,2}\.?(?:(?<=[./])\d{2,4})?\s*-\s*(?=\d{1,2}\1\d{1,2}(?!\d))")
SURE_YEAR = range(1850, 2101)
OLDEST = 89 * 365


class ReadDate(NamedTuple):
    """What a mention says of a date; None for a part that it does not say.

    day, month, year (Optional[int]): the parts.
    weekday (Optional[int]): 0 for Monday.
    season (Optional[int]): 0 for winter.
    named (bool): whether it names a holiday, or a date in words of which nothing else can be read.
    """

    day: int | None = None
    month: int | None = None
    year: int | None = None
    weekday: int | None = None
    season: int | None = None
    named: bool = False

    @property
    def shape(self) -> tuple[bool, ...]:
        """Which parts the mention says."""
        return tuple(part is not None and part is not False for part in self)


class Shift(NamedTuple):
    """A range of possible shifts in days, modulo a period (0 for none)."""

    low: int
    high: int
    period: float = 0

    def allows(self, days: int) -> bool:
        """Whether a shift by a number of days is possible."""
        if not self.period:
            return self.low <= days <= self.high
        return (days - self.low) % self.period <= self.high - self.low


def read_date(text: str, lang: str, month_first: bool = False, month_year: bool = False) -> ReadDate:
    """Read a mention.

    text (str): the mention.
    lang (str): language of the note.
    month_first (bool): whether the month comes first in 3/4.
    month_year (bool): whether "nov 24" is November 2024, and Finnish "10/04" October 2004.
    RETURNS (ReadDate): its parts; all None for a mention that cannot be read.
    """
    text = text.lower()
    if any(re.search(rf"(?<![^\W\d_]){name}", text) for name in HOLIDAYS[lang].split()):
        return ReadDate(named=True)
    text = re.sub(r"-\s*\n\s*", "", text) if re.search(r"\w-\s*\n\s*\w", text) else text
    text = re.sub(r"\d{1,2}:\d\d(?::\d\d)?|(?:klo|a las) *\d+(?:[.:]\d+)?", " ", text)
    if re.fullmatch(r"\D*\d{3}0\s*['’]?s\W*", text):
        return ReadDate(named=True)  # a decade
    text = re.sub(r"\d{1,2}(?:st|nd|rd|th)\s*[-–]\s*(?=\d{1,2}(?:st|nd|rd|th))", " ", CLOCK.sub(" ", text))
    text = re.sub(r"(?<=\d)[ .]*(?:st|nd|rd|th|er|[ºª°])(?![^\W\d_])", " ", text)
    parts = re.split(r"\s(?:to(?: the)?|al?|o|y|and|or|through|until|ja|sekä|hasta)\s|–", text)
    text = parts[-1] if all(re.search(r"\d", part) for part in parts) else text
    text = FIRST_OF_RANGE.sub("", text)  # the year of "18.12.-4.1.2015" is that of its end
    text = re.sub(r"[0-9oliszb]*\d[0-9oliszb]*(?![^\W\d_])", lambda m: m[0].translate(MISREAD), text)
    tokens = re.findall(r"\d+|[^\W\d_]+", text)
    found: dict[str, int] = {}
    numbers: list[int] = []
    for i, token in enumerate(tokens):
        weekday_first = lang == "es" and i == 0 and token == "mar" and len(tokens) == 2 and len(tokens[1]) < 3
        if token.isdecimal():
            value = int(token)
            if len(token) == 8:
                numbers += [int(token[6:]), int(token[4:6]), int(token[:4])]
            elif len(token) == 4 and value in SURE_YEAR:
                found.setdefault("year", value)
            elif len(token) <= 2:
                numbers.append(value)
        elif token != "martes" and not weekday_first and (month := stem(token, MONTHS[lang])):
            found.setdefault("month", month)
        elif token in ROMAN and len(tokens) > 1:
            found.setdefault("month", ROMAN[token])
        elif weekday := stem(token, WEEKDAYS[lang], exact=2):
            found.setdefault("weekday", weekday - 1)
        elif season := stem(token, SEASONS[lang]):
            found.setdefault("season", season - 1)
    written = text.strip()
    if re.fullmatch(r"[^\W\d_]+[-/'’ ]+\d\d", written) and (month_year or re.search(r"[-/'’]\d\d$", written)):
        found["year"] = 2000 + numbers.pop() if "month" in found and numbers else found.get("year", 2000)
    if "month" in found and len(numbers) == 2 and re.search(r"\d\.?\s*[-–]\s*\d{1,2}\.?(?!\d)", text):
        numbers = numbers[:1]  # "4-6 nov"
    pair = re.fullmatch(r"\s*(\d{1,2})/(\d\d)\s*", text) if lang == "fi" else None
    if pair and (month_year or int(pair[2]) > 12):
        return ReadDate(month=int(pair[1]), year=2000 + int(pair[2]))  # "05/13"; "10/04" may be a day, too
    assign_numbers(numbers, found, text, month_first)
    if "year" not in found and not numbers:
        read_words(text, lang, found)
    named = not found and re.search(SPOKEN.get(lang, r"(?!)"), text) is not None
    return ReadDate(**found, named=named)  # type: ignore[arg-type]


def stem(token: str, stems: str, exact: int = 0) -> int:
    """Return the position (from 1) of the stem that a token begins with; 0 if there is none. Stems of up to `exact`
    letters must be the whole token."""
    for i, options in enumerate(stems.split(), 1):
        for option in options.split("|"):
            if re.fullmatch(option, token) if len(option) <= exact else re.match(option, token):
                return i
    return 0


def assign_numbers(numbers: list[int], found: dict[str, int], text: str, month_first: bool) -> None:
    """Assign the numbers of a mention to day, month and year."""
    numbers = list(numbers)
    if "year" in found and re.match(r"\s*\D*\d{4}\s*[-/.]", text):  # the year comes first
        numbers = numbers[::-1]
        month_first = False
    if "year" not in found and len(numbers) + ("month" in found) >= 3:
        year = numbers.pop()
        found["year"] = year if year > 99 else (2000 if year <= 30 else 1900) + year
    elif "year" not in found and "month" in found and len(numbers) == 1 and numbers[0] > 31:
        found["year"] = 1900 + numbers.pop()
    if "month" in found and numbers:
        found["day"] = numbers[-1] if len(numbers) > 1 else numbers[0]
    elif len(numbers) >= 2:
        first, second = numbers[0], numbers[1]
        if (month_first and first <= 12) or second > 12:
            first, second = second, first
        found.update(day=first, month=second)
    elif len(numbers) == 1:
        part = "month" if "year" in found and numbers[0] <= 12 else "day"
        found[part] = numbers[0]


def read_words(text: str, lang: str, found: dict[str, int]) -> None:
    """Read a day in words, and note that a year in words is there (its value is not compared)."""
    text = re.sub(r"(?<!^)\b(?:dos mil|mil novecientos)\b.*", "", text)
    for i, form in reversed(list(enumerate(ONES.get(lang, "").split(), 1))):
        if re.search(rf"(?<![^\W\d_])(?:{form})(?![^\W\d_])", text) and "day" not in found:
            found["day"] = i


def find_shifts(old: str, new: str, lang: str) -> list[Shift]:
    """Find by how many days a date can have been moved.

    old, new (str): the original and the surrogate.
    lang (str): language of the note. Both orders of day and month are tried in English, for 02-17, and if the
        original has the month first for sure. "nov 24" is read as a day and as a month.
    RETURNS (list[Shift]): the possible shifts; empty if the mention cannot be read, or says other parts afterwards.
    """
    shifts = []
    forms = {re.sub(r"-\s*\n\s*", sign, old) for sign in ("", "-")}
    orders = (False, True) if lang == "en" or MONTH_FIRST.match(old) else (False,)
    for form, month_first, month_year in product(sorted(forms), orders, (False, True)):
        before, after = (read_date(text, lang, month_first, month_year) for text in (form, new))
        if any(before.shape) and before.shape == after.shape:
            shifts += list(compare(before, after))
    return shifts


def compare(a: ReadDate, b: ReadDate) -> Iterator[Shift]:
    """Yield the range of shifts that two readings allow."""
    if a.year and b.year and abs(b.year - a.year) > 50:  # the century of two digits
        b = b._replace(year=b.year + (100 if b.year < a.year else -100))
    try:
        if a.year and b.year:
            spans = [span(one) for one in (a, b)]
            yield Shift(spans[1][0] - spans[0][1], spans[1][1] - spans[0][0])
        elif a.month and b.month:
            spans = [span(one._replace(year=2000)) for one in (a, b)]
            yield Shift(spans[1][0] - spans[0][1] - 2, spans[1][1] - spans[0][0] + 2, 365.2425)
        elif a.weekday is not None and b.weekday is not None:
            yield Shift((b.weekday - a.weekday) % 7, (b.weekday - a.weekday) % 7, 7)
        elif any(a):
            yield Shift(-100_000, 100_000)
    except ValueError:
        return


def span(one: ReadDate) -> tuple[int, int]:
    """Return the first and the last day that a reading with a year allows, as ordinals. RAISES: ValueError for an
    impossible date."""
    year = one.year or 0
    if one.month is None:
        return date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal()
    if one.day is None:
        return date(year, one.month, 1).toordinal(), date(year, one.month, monthrange(year, one.month)[1]).toordinal()
    return (date(year, one.month, one.day).toordinal(),) * 2


def moved_together(pairs: list[tuple[str, str]], lang: str) -> Iterator[bool]:
    """Compare the dates of a note with its full dates.

    pairs (list[tuple[str, str]]): original and surrogate of each date.
    lang (str): language of the note.
    YIELDS (bool): for each full date and each other date whether they can have been moved by the same number of days.
        Dates more than 89 years before the latest one are left out: they are moved by additional years.
    """
    read = [(old, find_shifts(old, new, lang)) for old, new in pairs]
    years = [(read_date(old, lang).year or 9999) for old, _ in read]
    sure = [year for (old, _), year in zip(read, years, strict=True) if str(year) in old]
    latest = max(sure or (year for year in years if year < 9999), default=0)
    # two digits behind the note's own years are those of the century before
    years = [year - 100 if latest + 1 < year < 9999 else year for year in years]
    rows = [shifts for (_, shifts), year in zip(read, years, strict=True) if shifts and latest - year < 89]
    for i, j in product(range(len(rows)), repeat=2):
        exact = [shift.low for shift in rows[i] if shift.low == shift.high and not shift.period]
        if exact and i != j:
            yield any(shift.allows(days) for days in exact for shift in rows[j])
