"""What a pipeline marks in real text that nobody annotated: entities per 1,000 words, by label and by what found them.

    python scripts/false_alarms.py es --data e3c_es --data nubes --assets assets

The texts are case reports, records without identifiers and answers of ministers, so most of what is marked is a false
alarm, but not all: ages, dates and hospitals of a case report are really there. That is why labels are counted in
classes. Figures go to metrics/false_alarms_LANG.json; `--with-text` shows the commonest on the console and nowhere
else.
"""

import bz2
import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_deid.cli.batches import Failure, cut, load_pipeline, process
from spacy_deid.errors import ConfigError, DeidError, Errors, InputError
from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.labels import LABELS
from spacy_deid.spans import DECISIONS, PREFIX, Evidence, read_evidence

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

CLASSES = {
    "names": {"PATIENT", "CLINICIAN", "PERSON", "USERNAME"},
    "relatives": {"RELATIVE"},  # in Spanish the word for the kin is labelled, with a name or without
    "places": {"HOSPITAL", "HEALTH_CENTER", "DEPARTMENT", "ROOM", "ORGANIZATION", "STREET", "CITY", "STATE", "ZIP"}
    | {"TERRITORY", "COUNTRY", "LOCATION_OTHER"},
    "ages, dates and what describes": {"AGE", "DATE", "SEX", "PROFESSION", "OTHER"},
}
CLASSES["ids and contacts"] = set(LABELS) - set().union(*CLASSES.values())
# Of one entity: its label, what found it, and its text.
Finding = tuple[str, tuple[str, ...], str]


def read_e3c(lang: str) -> Callable[[Path], Iterator[str]]:
    """Case reports of E3C."""
    name = {"en": "e3c_en_ccby.jsonl", "es": "e3c_es_ccby_clean.jsonl"}[lang]

    def read(assets: Path) -> Iterator[str]:
        with (assets / "e3c" / name).open(encoding="utf8") as file:
            yield from (json.loads(line)["text"] for line in file)

    return read


def read_mts(assets: Path) -> Iterator[str]:
    """Note sections of MTS-Dialog."""
    folder = assets / "clinical_visit_notes" / "data" / "mts-dialog"
    with (folder / "MTS_Dataset_TrainingSet.csv").open(encoding="utf8", newline="") as file:
        yield from (row["section_text"] for row in csv.DictReader(file))


def read_nubes(assets: Path) -> Iterator[str]:
    """Sentences of health records, a file at a time."""
    paths = sorted((assets / "nubes" / "NUBes").rglob("*.txt"))
    if not paths:
        raise FileNotFoundError(2, "no files")
    yield from (path.read_text(encoding="utf8") for path in paths)


def read_eduskunta(assets: Path) -> Iterator[str]:
    """Sentences of answers in the Finnish parliament."""
    raw = (assets / "fi_eduskunta_vkk" / "vkk" / "dev.csv.bz2").read_bytes()
    yield from (row["sentence"] for row in csv.DictReader(io.StringIO(bz2.decompress(raw).decode("utf8"))))


READERS = {
    "e3c_en": read_e3c("en"),
    "e3c_es": read_e3c("es"),
    "mts_dialog": read_mts,
    "nubes": read_nubes,
    "eduskunta": read_eduskunta,
}


@app.command()
def main(
    pipeline: Annotated[str, typer.Argument(help="Pipeline: a name or a folder")],
    data: Annotated[list[str], typer.Option(help=f"Texts: {', '.join(READERS)}; may be given more than once")],
    assets: Annotated[Path, typer.Option(help="Folder of the unpacked corpora")] = Path("assets"),
    words: Annotated[int, typer.Option(help="Words to read of each")] = 200_000,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Show the commonest; never written to a file")
    ] = False,
    metrics: Annotated[
        Path | None, typer.Option(help="File for the rows; default metrics/false_alarms_LANG.json")
    ] = None,
) -> None:
    """Count what is marked."""
    try:
        nlp = load_pipeline(pipeline)
        target = metrics or Path("metrics") / f"false_alarms_{nlp.lang}.json"
        for name in data:
            read, findings = run(nlp, name, assets, words)
            typer.echo(table(name, read, findings, with_text))
            command = f"python scripts/false_alarms.py {Path(pipeline).name} --data {name} --words {words}"
            replace_rows(target, name, rows(name, read, findings, command))
    except DeidError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def run(nlp: Language, name: str, assets: Path, words: int) -> tuple[int, list[Finding]]:
    """Run the pipeline over a number of words. Gives how many were read, and what was marked."""
    if name not in READERS:
        raise ConfigError(Errors.D374.format(name=name, path=assets, reason=f"known are {', '.join(READERS)}"))
    read, findings = 0, []
    try:
        for batch in cut(READERS[name](assets), len, batch_size=64, n_process=1):
            for found in process(nlp, batch, take, batch_size=64, n_process=1):
                if isinstance(found, Failure):
                    raise DeidError(found.reason)
                findings += found
            read += sum(len(text.split()) for text in batch)
            if read >= words:
                break
    except (OSError, KeyError, ValueError) as error:
        if isinstance(error, DeidError):
            raise
        raise InputError(Errors.D374.format(name=name, path=assets, reason=type(error).__name__)) from None
    return read, findings


def take(doc: Doc) -> list[Finding]:
    """What is marked in a Doc, each with the detectors and rules that touch it."""
    keys = [key for key in doc.spans if key.startswith(PREFIX) and key not in DECISIONS]
    evidence = [item for key in keys for item in read_evidence(doc, key)]
    return [(ent.label_, found_by(ent, evidence), ent.text) for ent in doc.ents if ent.label_ in LABELS]


def found_by(ent: Span, evidence: list[Evidence]) -> tuple[str, ...]:
    """The detectors and rules whose evidence touches an entity."""
    touching = [item for item in evidence if item.start < ent.end_char and ent.start_char < item.end]
    return tuple(sorted({f"{item.source}/{item.rule}".rstrip("/") for item in touching}))


def rows(name: str, words: int, findings: list[Finding], command: str) -> list[MetricRow]:
    """Rows by class, by label and by what found it; an entity that two detectors found counts for both."""
    labels = Counter(label for label, _, _ in findings)
    sources = Counter(source for _, found, _ in findings for source in found)
    figures = {f"class {kind}": sum(labels[label] for label in members) for kind, members in CLASSES.items()}
    figures |= {f"label {label}": count for label, count in sorted(labels.items())}
    figures |= {f"found by {source}": count for source, count in sorted(sources.items())}
    rest = {"target": None, "better": "lower", "data": name, "split": name, "command": command}
    today = date.today().isoformat()
    return [
        MetricRow(f"entities per 1,000 words, {key}", round(1000 * count / max(words, 1), 4), **rest, date=today)
        for key, count in figures.items()
    ]


def replace_rows(path: Path, name: str, new: list[MetricRow]) -> None:
    """Put the rows of a text in place of its old ones: a label that is not found any more leaves none behind."""
    others = [row for row in read_rows(path) if row.split != name] if path.exists() else []
    path.unlink(missing_ok=True)
    write_rows(path, others + new)


def table(name: str, words: int, findings: list[Finding], with_text: bool) -> str:
    """The figures for the console, with the commonest texts of each class if they are wanted."""
    lines = [f"\n{name}: {words:,} words, entities per 1,000 words"]
    for row in rows(name, words, findings, ""):
        lines.append(f"  {row.name.removeprefix('entities per 1,000 words, '):<52}{row.value:>9.3f}")
    for kind, members in CLASSES.items() if with_text else ():
        common = Counter((label, found, text) for label, found, text in findings if label in members)
        lines.append(f"  commonest {kind}:")
        for (label, found, text), count in islice(common.most_common(), 15):
            lines.append(f"    {count:>5} {label:<14}{' '.join(text.split())!r:<40.40} {', '.join(found)}")
    return "\n".join(lines)


if __name__ == "__main__":
    app()
