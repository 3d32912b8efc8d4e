"""Compile the medical dictionaries of the package: spacy_deid/lang/LANG/medical/dictionary.bin.

    python -m scripts.medical assets/med_terms

Sources are the lists in both medical folders of the package, the eponyms, and openly licensed terminologies in the
given
folder (see NOTICE): the Disease Ontology, Finnish ICD-10 and procedures, and names of eponyms.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import is_person_name
from spacy_deid.io import write_whole
from spacy_deid.medical.build import Eponym, build_dictionary, eponym_terms, expand_eponyms, read_heads
from spacy_deid.medical.dictionary import MedicalTerm
from spacy_deid.medical.terminologies import TerminologySource, read_terminology

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

PACKAGE = Path(__file__).parents[1] / "spacy_deid"
COMMON = PACKAGE / "resources" / "medical"
LANGUAGES = PACKAGE / "lang"

# language → (name of the source, format, kind, path below the folder)
SOURCES = {
    "en": (("disease_ontology", "obo", "disease", "disease_ontology_en/HumanDO.obo"),),
    "es": (),
    "fi": (
        ("icd10_fi", "icd", "disease", "icd_fi/icd10fi.csv"),
        ("procedures_fi", "icd", "procedure", "procedures_fi/nomesco_fi.csv"),
    ),
}
CONCEPTS = ("disease", "syndrome")
LEAST = {"en": 1, "es": 1, "fi": 3}  # notes that have an eponym; Finnish has forty forms of each


def eponym_names(folder: Path, lang: str) -> Iterator[MedicalTerm]:
    """Yield diseases and syndromes named after the eponym list, except those that are common names of persons."""
    with (folder / "eponyms_en" / "eponym_names.tsv").open(encoding="utf8") as file:
        rows = [row for row in csv.reader(file, delimiter="\t") if len(row) == 2 and int(row[1]) >= LEAST[lang]]
    names = {name.removesuffix("'s") for name, _ in rows if name[:1].isupper()}
    rare = sorted(name for name in names if len(name) > 3 and not is_person_name(normal_form(name)))
    heads = read_heads(lang)
    yield from expand_eponyms((Eponym(name, CONCEPTS, "never") for name in rare), heads, lang)


def curated(lang: str) -> Iterator[tuple[str, Iterator[MedicalTerm]]]:
    """Yield the lists of resources/medical, which are for all languages, and those of lang/LANG/medical."""
    for path in sorted([*(COMMON / "common").glob("*.csv"), *(LANGUAGES / lang / "medical").glob("*.csv")]):
        yield f"{path.parent.name}/{path.stem}", read_terminology("words", path, TerminologySource(lang))


@app.command()
def main(folder: Annotated[Path, typer.Argument(help="Folder of the terminologies.")]) -> None:
    """Compile the dictionary of each language and print its sources."""
    for lang, opened in SOURCES.items():
        sources = {"eponyms": iter(eponym_terms(lang)), **dict(curated(lang))}
        for name, format, kind, path in opened:
            sources[name] = read_terminology(format, folder / path, TerminologySource(lang, kind))
        sources["eponym_names"] = eponym_names(folder, lang)
        dictionary = build_dictionary(lang, sources)
        write_whole(LANGUAGES / lang / "medical" / "dictionary.bin", dictionary.to_bytes())
        size = (LANGUAGES / lang / "medical" / "dictionary.bin").stat().st_size
        print(f"{lang}: {len(dictionary)} forms, {size} bytes; {dictionary.manifest['sources']}")


if __name__ == "__main__":
    app()
