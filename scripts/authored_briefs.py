"""Draw briefs for writers of authored notes: who writes what, where, how long, how damaged.

    python -m scripts.authored_briefs FOLDER

Writes LANG-tNN.md, LANG-dNN.md and LANG-xNN.md, one page for each writer of training, development and test notes, and
LANG.csv with one row per note. The same lists give the same briefs.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Generic, NamedTuple, TypeVar

import typer

T = TypeVar("T")
USUAL = ["clean"] * 2 + ["difficult"] * 3 + ["ordinary"] * 5
# Batches of briefs: seed, split, numbers of the first and the last brief, kinds of the ten notes of a brief. The third
# batch has more damaged notes, and more without identifiers.
BATCHES = (
    ("", "train", 1, 42, USUAL),
    ("", "dev", 1, 11, USUAL),
    (" 2", "train", 43, 52, USUAL),
    (" 3", "train", 53, 62, ["clean"] * 3 + ["difficult"] * 4 + ["ordinary"] * 3),
    (" 4", "test", 1, 6, USUAL),
    (" 5", "train", 63, 68, ["clean"] * 3 + ["difficult"] * 4 + ["ordinary"] * 3),
)
LETTERS = {"train": "t", "dev": "d", "test": "x"}


class Note(NamedTuple):
    """What one note of a brief is about.

    number (int): from 1 to 10.
    genre, specialty, author (str): what is written, where, and by whom.
    words (int): length.
    kind (str): "ordinary", "difficult" or "clean" (without identifiers).
    difficulty (str): the damage or difficulty; "" for none.
    """

    number: int
    genre: str
    specialty: str
    author: str
    words: int
    kind: str
    difficulty: str

    def describe(self) -> str:
        """Return the line of the brief."""
        notes = {
            "clean": "NO identifier at all, but full of what looks like one",
            "difficult": f"difficulty: {self.difficulty}",
            "ordinary": "ordinary day",
        }
        about = f"{self.genre}; {self.specialty}; author: {self.author}; about {self.words} words"
        return f"{about}; {notes[self.kind]}"


SHORT = {"triage note", "sick note", "vaccination record", "ECG or echo report"}

REGIONS = {
    "en": [
        "United States, Midwest",
        "United States, South",
        "United States, New England",
        "United States, California",
        "United States, Texas border",
        "United States, rural Appalachia",
        "England, North",
        "England, South",
        "England, London",
        "Scotland",
        "Wales",
        "Northern Ireland",
        "Ireland, Dublin",
        "Ireland, West",
        "Australia, New South Wales",
        "Australia, Queensland (remote)",
        "Australia, Victoria",
        "Canada, Ontario",
        "Canada, British Columbia",
        "Canada, Prairies",
        "Canada, Québec (English clinic)",
        "New Zealand, North Island",
        "New Zealand, South Island",
    ],
    "es": [
        "España, Madrid",
        "España, Cataluña",
        "España, Andalucía",
        "España, Galicia",
        "España, País Vasco",
        "España, Comunidad Valenciana",
        "España, Castilla y León",
        "España, Canarias",
        "España, Extremadura",
        "México, Ciudad de México",
        "México, Jalisco",
        "México, Oaxaca (rural)",
        "México, Nuevo León",
        "Argentina, Buenos Aires",
        "Argentina, Córdoba",
        "Argentina, Patagonia",
        "Chile, Santiago",
        "Chile, sur",
        "Colombia, Bogotá",
        "Colombia, Antioquia",
        "Colombia, Caribe",
        "Perú, Lima",
        "Perú, sierra",
    ],
    "fi": [
        "Helsinki",
        "Espoo ja Vantaa",
        "Turku ja Varsinais-Suomi",
        "Tampere ja Pirkanmaa",
        "Oulu ja Pohjois-Pohjanmaa",
        "Kuopio ja Pohjois-Savo",
        "Joensuu ja Pohjois-Karjala",
        "Lappi (saamelaisalue)",
        "Lappi (Rovaniemi, Kemi)",
        "Pohjanmaa (ruotsinkielinen: Vaasa, Närpiö)",
        "Uusimaa (ruotsinkielinen: Raasepori, Porvoo)",
        "Ahvenanmaa",
        "Kymenlaakso ja Etelä-Karjala (venäjänkielisiä)",
        "Keski-Suomi",
        "Päijät-Häme ja Kanta-Häme",
        "Satakunta",
        "Kainuu",
        "Etelä-Savo",
        "Etelä-Pohjanmaa",
        "Helsingin itäiset kaupunginosat (maahanmuuttajia)",
    ],
}
GENRES = [  # genre, usual author, usual specialties ("" for any)
    ("discharge letter", "registrar", ""),
    ("admission note", "junior doctor", ""),
    ("ward round note", "registrar", ""),
    ("nursing shift note", "ward nurse", ""),
    ("triage note", "triage nurse", "emergency medicine"),
    ("ambulance sheet", "paramedic", "emergency medicine"),
    ("operation note", "surgeon", "surgery"),
    ("anaesthesia record", "anaesthetist", "anaesthesia"),
    ("radiology report", "radiologist", "radiology"),
    ("pathology report", "pathologist", "pathology"),
    ("microbiology report", "lab system", "microbiology"),
    ("laboratory print-out", "lab system", "clinical chemistry"),
    ("endoscopy report", "consultant", "gastroenterology"),
    ("ECG or echo report", "cardiologist", "cardiology"),
    ("outpatient letter", "consultant", ""),
    ("referral letter", "general practitioner", "primary care"),
    ("reply to a referral", "consultant", ""),
    ("prescription list", "pharmacist", "primary care"),
    ("medication reconciliation", "pharmacist", "internal medicine"),
    ("dental note", "dentist", "dentistry"),
    ("physiotherapy note", "physiotherapist", "rehabilitation"),
    ("speech therapy note", "speech therapist", "rehabilitation"),
    ("psychology intake", "psychologist", "psychiatry"),
    ("psychiatry note", "psychiatrist", "psychiatry"),
    ("social work report", "social worker", "social work"),
    ("home care note", "community nurse", "geriatrics"),
    ("midwifery note", "midwife", "obstetrics"),
    ("paediatric note", "paediatrician", "paediatrics"),
    ("school health note", "school nurse", "paediatrics"),
    ("vaccination record", "nurse", "primary care"),
    ("occupational health note", "occupational physician", "occupational health"),
    ("sick note", "general practitioner", "primary care"),
    ("forensic report", "forensic physician", "forensic medicine"),
    ("transplant list note", "transplant coordinator", "nephrology"),
    ("tumour board minutes", "secretary", "oncology"),
    ("telephone contact", "receptionist or nurse", "primary care"),
    ("e-mail from or to a patient", "patient or secretary", ""),
    ("chat with a patient", "patient and nurse", "primary care"),
    ("complaint", "patient or relative", ""),
    ("incident report", "ward nurse", ""),
    ("consent form", "junior doctor", "surgery"),
    ("insurance form", "secretary", ""),
    ("hand-over list of several patients", "junior doctor", ""),
    ("research screening log", "research nurse", ""),
    ("death certificate or note of death", "junior doctor", ""),
    ("forwarded chain of two or three authors", "several", ""),
    ("record export flattened to one line", "record system", ""),
    ("after-visit summary with a medication list in brand capitals", "record system", ""),
]
SPECIALTIES = [
    "cardiology",
    "pneumology",
    "gastroenterology",
    "nephrology",
    "urology",
    "neurology",
    "neurosurgery",
    "oncology",
    "haematology",
    "endocrinology",
    "rheumatology",
    "dermatology",
    "ophthalmology",
    "ENT",
    "orthopaedics",
    "trauma",
    "vascular surgery",
    "general surgery",
    "gynaecology",
    "obstetrics",
    "paediatrics",
    "neonatology",
    "geriatrics",
    "intensive care",
    "infectious diseases",
    "pain medicine",
    "palliative care",
    "allergology",
    "psychiatry",
    "child psychiatry",
    "addiction medicine",
    "rehabilitation",
    "genetics",
    "nuclear medicine",
    "primary care",
]
DIFFICULTIES = [
    "dictated without punctuation, numbers and spelled names in words",
    "OCR damage (0/O, 1/l/I, 5/S, 8/B, rn/m, lost accents, split and glued words)",
    "columns mixed by OCR or copy-paste",
    "hard wraps and hyphens through names and numbers",
    "ALL CAPS",
    "all lower case",
    "typing errors, in names too",
    "table or form whose values stand far from their keys",
    "names that are ordinary words",
    "names that are eponyms, drugs or places",
    "relatives with other surnames; two persons of one name",
    "initials of staff after a slash",
    "nicknames, diminutives, maiden names, patronymics",
    "foreign names in two spellings",
    "mixed languages",
    "line breaks lost",
]
LOCAL = {
    "fi": ["many cases, compounds and possessive suffixes on names and places"],
    "es": ["two surnames used one at a time, particles (de la, y, del)"],
    "en": ["very terse telegraphic abbreviations"],
}
DATES = {
    "en": {
        "United States": ["03/14/2023", "3/14/23", "March 14, 2023", "14-MAR-2023", "2023-03-14", "3/14"],
        "": ["14/03/2023", "14.3.23", "14 March 2023", "14th March", "14-Mar-23", "14/3", "2023-03-14"],
    },
    "es": {
        "": [
            "14/03/2023",
            "14-3-23",
            "14 de marzo de 2023",
            "14/III/2023",
            "14.03.23",
            "14-MAR-2023",
            "14 mar",
            "2023-03-14",
        ]
    },
    "fi": {
        "": [
            "14.3.2023",
            "14.03.23",
            "14.3.",
            "14/3",
            "14. maaliskuuta",
            "maaliskuun 14. päivä",
            "vko 11",
            "2023-03-14",
        ]
    },
}
CARE = [
    "careful and complete",
    "hurried",
    "very terse",
    "wordy",
    "sloppy spelling",
    "copy-pastes old text",
    "old-fashioned and formal",
]


class Bag(Generic[T]):
    """Draws from a list without repetition, and begins again when all have been drawn.

    source (Sequence): the options.
    rng (Random): random generator.
    """

    def __init__(self, source: Sequence[T], rng: Random) -> None:
        self.source, self.rng, self.left = list(source), rng, list[T]()

    def draw(self) -> T:
        """Draw an option."""
        self.left = self.left or self.rng.sample(self.source, len(self.source))
        return self.left.pop()


def draw_lengths(rng: Random) -> list[int]:
    """Draw the numbers of words of ten notes: a third under 80, a tenth above 600."""
    drawn = [rng.randint(25, 78) for _ in range(rng.choice([3, 3, 4]))] + [rng.randint(620, 760)]
    drawn += [rng.choice([90, 120, 150, 180, 220, 260, 320, 400, 480, 560]) for _ in range(10 - len(drawn))]
    rng.shuffle(drawn)
    return drawn


def draw_brief(
    lang: str, region: str, kinds: Sequence[str], bags: Mapping[str, Bag], rng: Random
) -> tuple[str, list[Note]]:
    """Draw the notes of a writer.

    lang (str): code of the language.
    region (str): region of the writer.
    kinds (Sequence[str]): the kinds of the notes, in any order.
    bags (Mapping[str, Bag]): "genre", "specialty" and "difficulty".
    rng (Random): random generator.
    RETURNS (tuple[str, list[Note]]): the introduction of the brief, and its notes.
    """
    styles = next((v for k, v in DATES[lang].items() if k and region.startswith(k)), DATES[lang][""])
    dates, lengths = rng.sample(styles, 2), draw_lengths(rng)
    kinds = list(kinds)
    rng.shuffle(kinds)
    introduction = (
        f"Language: {lang}. Region: {region}. Years of the notes: about {rng.randint(2009, 2025)}. "
        f"The writer's habit: {rng.choice(CARE)}.\n"
        f"Date styles of the house: {dates[0]} and {dates[1]} (styles, not dates to copy).\n"
        "Invent two institutions of this region (one large, one small), each with its own letterhead, field keys,\n"
        "abbreviations and number formats; notes 1-5 come from the first, 6-10 from the second.\n"
    )
    notes = []
    for number, (kind, words) in enumerate(zip(kinds, lengths, strict=True), 1):
        genre, author, specialty = bags["genre"].draw()
        if words > 600 and genre in SHORT:
            genre, author = "forwarded chain of two or three authors", "several"
        specialty = specialty or bags["specialty"].draw()
        difficulty = bags["difficulty"].draw() if kind == "difficult" else ""
        notes.append(Note(number, genre, specialty, author, words, kind, difficulty))
    return introduction, notes


def main(folder: Annotated[Path, typer.Argument(help="Folder to write to.")]) -> None:
    """Write the briefs of all languages."""
    folder.mkdir(parents=True, exist_ok=True)
    for lang in REGIONS:
        rows = list[list[str | int]]()
        generators = {seed: Random(f"authored {lang}{seed}") for seed, *_ in BATCHES}
        for seed, split, first, last, kinds in BATCHES:
            rng = generators[seed]
            bags = {
                "genre": Bag(GENRES, rng),
                "specialty": Bag(SPECIALTIES, rng),
                "difficulty": Bag(DIFFICULTIES + LOCAL[lang] * 2, rng),
            }
            regions = Bag(REGIONS[lang], rng)
            for number in range(first, last + 1):
                name, region = f"{lang}-{LETTERS[split]}{number:02}", regions.draw()
                introduction, notes = draw_brief(lang, region, kinds, bags, rng)
                lines = [f"{n.number}. {n.describe()}" for n in notes]
                text = "\n".join([f"# {name}\n\n{introduction}", *lines, ""])
                (folder / f"{name}.md").write_text(text, encoding="utf8")
                rows += [[name, n.number, split, region, *n[1:]] for n in notes]
        with (folder / f"{lang}.csv").open("w", newline="", encoding="utf8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["brief", "note", "split", "region", *Note._fields[1:]], *rows])


if __name__ == "__main__":
    typer.run(main)
