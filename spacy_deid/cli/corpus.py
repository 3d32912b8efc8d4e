"""``spacy-deid convert``, ``sample`` and ``synth``: make corpora for training and evaluation."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc

from ..deidentifier import Deidentifier
from ..dictionaries.store import LocalStore
from ..errors import Errors, InputError
from ..evaluation import AnnotatedText, Entity, detect_format, read_folder
from ..evaluation.formats import align_entities, annotation_files, write_docbin, write_folder, write_jsonl
from ..io import check_encoding, read_bytes, whole_file
from ..loading import load
from ..notes import open_source
from ..notes.source import Columns
from ..sampling.draw import make_sample
from ..sampling.sample import Sample, Settings, make_finder
from ..sampling.writing import check_place, write_sample
from ..synth import make_corpus
from ..synth.carriers import make_rule_labeller, read_carriers
from .console import reporting, say
from .options import CasLayer, Dictionaries, Format, Overwrite, Scheme

__all__ = ["convert", "sample", "synth"]


def convert(
    folder: Annotated[Path, typer.Argument(help="Folder of brat, i2b2 XML, JSONL, UIMA CAS JSON or XMI files.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.spacy", help="File to write.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus.")],
    sha256: Annotated[str | None, typer.Option(help="Expected SHA-256 of the annotation files.")] = None,
    lang: Annotated[str, typer.Option(help="Language of the pipeline that will be trained.")] = "es",
    layer: CasLayer = None,
) -> None:
    """Convert a corpus to .spacy, with canonical labels and the tokens of ClinicalTokenizer.

    An entity that begins or ends within a token is widened to the token. An entity that overlaps a longer one keeps
    the rest of its tokens. Both are listed on stderr by document and offsets, and none is dropped.

    The SHA-256 is computed over each annotation file's name, a NUL, its length in bytes, a NUL and its content, in the
    order of the names relative to the folder.
    """
    with reporting():
        digest = hash_folder(folder)
        if sha256 and digest != sha256.lower():
            raise InputError(Errors.D414.format(path=folder, found=digest, expected=sha256.lower()))
        documents = read_folder(folder, scheme=str(scheme), layer=layer)
        tokenizer = {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}
        nlp = spacy.blank(lang, config={"nlp": {"tokenizer": tokenizer}})
        with whole_file(out) as temporary:
            overlapping = write_docbin(documents, temporary, nlp.make_doc)
        entities = sum(len(document.entities) for document in documents)
        misaligned = print_conflicts(documents, nlp.make_doc)
        typer.echo(
            f"{len(documents)} documents, {entities} entities, {misaligned} misaligned, {overlapping} overlapping"
        )
        typer.echo(f"sha256 {digest}")


def print_conflicts(documents: Sequence[AnnotatedText], tokenizer: Callable[[str], Doc]) -> int:
    """Print the entities that overlap another or whose edges are not edges of tokens, by document and offsets.

    documents (Sequence[AnnotatedText]): the corpus.
    tokenizer (Callable[[str], Doc]): makes the Docs.
    RETURNS (int): number of entities whose edges are not edges of tokens.
    """
    misaligned = 0
    for document in documents:
        for conflict in align_entities(tokenizer(document.text), list(document.entities))[1]:
            say(f"{document.name}: {conflict}")
            misaligned += conflict.kind == "misaligned"
    return misaligned


def hash_folder(folder: Path) -> str:
    """Hash the annotation files of a folder, or one file.

    folder (Path): a corpus that `evaluation.read_folder` can read.
    RETURNS (str): hexadecimal SHA-256 as described in `convert`.
    RAISES: InputError if there are no annotation files (D303, D306) or one cannot be read (D402).
    """
    digest = hashlib.sha256()
    for file in annotation_files(folder, detect_format(folder)):
        data = read_bytes(file)
        digest.update(b"%s\0%d\0" % (file.name.encode("utf-8", "surrogateescape"), len(data)))
        digest.update(data)
    return digest.hexdigest()


class Tool(StrEnum):
    """Annotation tools."""

    inception = "inception"
    brat = "brat"
    label_studio = "label-studio"


class Weighting(StrEnum):
    """Weight that the share of a group in the sample is proportional to."""

    words = "words"
    log_words = "log-words"


def sample(
    source: Annotated[
        str,
        typer.Argument(
            help="Notes: a .csv, .jsonl or .parquet file or a folder of them, a .duckdb, .db or .sqlite file, a "
            "database URL, or env:NAME for the environment variable with one of these."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Minimum number of notes to draw.")] = 10_000,
    least: Annotated[
        int, typer.Option("--k", min=0, help="Minimum number of notes per group. A smaller group is drawn completely.")
    ] = 10,
    period: Annotated[str, typer.Option(help="year, half, quarter, month or a number of years.")] = "year",
    weighting: Annotated[
        Weighting, typer.Option(help="Weight of a group: documents × mean number of words, or its logarithm.")
    ] = Weighting.words,
    seed: Annotated[int, typer.Option(help="The same seed draws the same notes.")] = 0,
    dictionaries: Dictionaries = None,
    table: Annotated[str, typer.Option(help="Table of a database.")] = "",
    id_field: Annotated[str, typer.Option(help="Column of the note's id, '' for none.")] = "note_id",
    patient_field: Annotated[str, typer.Option(help="Column of the patient's id, '' for none.")] = "patient_id",
    type_field: Annotated[str, typer.Option(help="Column of the note's type, '' for none.")] = "note_type",
    date_field: Annotated[str, typer.Option(help="Column of the note's date, '' for none.")] = "date",
    text_field: Annotated[str, typer.Option(help="Column of the note's text.")] = "text",
    words_field: Annotated[str, typer.Option(help="Column of the number of words, which saves a pass.")] = "",
    date_format: Annotated[str, typer.Option(help="Format of dates that are strings, such as %d.%m.%Y.")] = "",
    pool: Annotated[int, typer.Option(min=1, help="Number of candidates for each note that is drawn.")] = 4,
    tool: Annotated[list[Tool] | None, typer.Option(help="Also write a project for this annotation tool.")] = None,
    prelabel: Annotated[str, typer.Option(help="Pipeline that pre-annotates the notes.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of CSV and JSONL files.")] = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Draw notes for a gold standard. The output contains notes and is as confidential as the records.

    With --dictionaries, notes with identifiers of their own patient are preferred.
    """
    with reporting():
        check_place(out, overwrite)
        if "://" not in source and Path(source).resolve().is_relative_to(out.resolve()):
            raise InputError(Errors.D408.format(path=source))
        columns = Columns(id_field, text_field, patient_field, type_field, date_field, words_field)
        settings = Settings(n, least, period, str(weighting), seed, date_format, pool)
        find = make_finder(LocalStore.open(dictionaries)) if dictionaries else None
        notes = open_source(source, table=table, encoding=check_encoding(encoding))
        try:
            drawn = make_sample(notes, columns, settings, find)
        finally:
            notes.close()
        documents = _preannotate(drawn, prelabel) if prelabel else []
        tools = [str(name) for name in dict.fromkeys(tool or [])]
        write_sample(drawn, out, tools=tools, documents=documents, model=prelabel, overwrite=overwrite)
        _print_sample(drawn, out)


def _preannotate(drawn: Sample, pipeline: str) -> list[AnnotatedText]:
    """Detect identifiers in the notes of a sample. A note that fails gets no annotations."""
    failed = 0
    documents: list[AnnotatedText] = []
    found = Deidentifier(pipeline).detect(note.text for note in drawn.notes)
    for note, result in zip(drawn.notes, found, strict=True):
        failed += bool(result.reason)
        documents.append(AnnotatedText(note.name, note.text, tuple(Entity(*entity) for entity in result.entities)))
    if failed:
        say(f"{failed} note(s) could not be annotated")
    return documents


def _print_sample(drawn: Sample, out: Path) -> None:
    """Print how many notes were drawn and skipped."""
    frame = drawn.frame()
    for reason, count in frame["skipped"].items():
        say(f"{count} row(s) skipped: {reason}")
    found = frame["with_identifiers"]
    looked = "" if found is None else f", {found} with identifiers of their own patient"
    typer.echo(
        f"{frame['drawn']} of {frame['documents']} notes in {len(drawn.groups)} groups drawn, of {frame['patients']} "
        f"patients{looked}; written to {out}"
    )


_CORPUS = {".txt", ".ann", ".xml"}
# This file marks a folder that the command wrote. A folder without it may hold the originals of a hospital.
_MADE = ".synth.json"


class Split(StrEnum):
    """Part of the templates, carriers and rare names to use."""

    train = "train"
    dev = "dev"
    test = "test"


def synth(
    lang: Annotated[str, typer.Argument(help="Language: es, en, fi.")],
    out: Annotated[Path, typer.Argument(help="Folder of brat or i2b2 files, or one .jsonl or .spacy file.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of notes.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same corpus.")] = 1,
    split: Annotated[Split, typer.Option(help="Two splits share no templates, carriers or rare names.")] = Split.train,
    carriers: Annotated[Path | None, typer.Option(help="Folder of real notes to put identifiers into.")] = None,
    prelabel: Annotated[
        str,
        typer.Option(help="Pipeline that finds the identifiers that the carriers already have, 'rules', or 'none'."),
    ] = "rules",
    noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of notes with typing errors.")] = 0.2,
    format: Annotated[Format, typer.Option(help="Format to write.")] = Format.brat,
    scheme: Annotated[Scheme, typer.Option(help="Labels to write.")] = Scheme.canonical,
    overwrite: Overwrite = False,
) -> None:
    """Make notes with gold PHI. Existing files are not replaced, and a command that fails leaves no files."""
    with reporting():
        _check_place(out, carriers, format, overwrite)
        notes = read_carriers(carriers, lang) if carriers else []
        finder = _make_finder(prelabel, lang) if notes and prelabel != "none" else None
        documents = list(make_corpus(lang, n, seed, split, carriers=notes, prelabel=finder, noise=noise))
        made: dict[str, str | int] = {"lang": lang, "split": str(split), "seed": seed, "n": n}
        _write(documents, out, format, scheme, made)
        entities = sum(len(document.entities) for document in documents)
        typer.echo(f"{len(documents)} notes with {entities} entities in {out}")


def _make_finder(pipeline: str, lang: str) -> Callable[[str], list[Entity]]:
    """Make the function that finds identifiers in a text by a pipeline or by rules."""
    if pipeline == "rules":
        return make_rule_labeller(lang)
    nlp = load(pipeline)

    def find(text: str) -> list[Entity]:
        with nlp.memory_zone():
            return [Entity(ent.start_char, ent.end_char, ent.label_) for ent in nlp(text).ents]

    return find


def _check_place(out: Path, carriers: Path | None, format: str, overwrite: bool) -> None:
    """Check that nothing but a corpus of this command is replaced, and only with --overwrite.

    RAISES: InputError (D409, D608, D611).
    """
    if carriers is not None:
        place, source = out.resolve(), carriers.resolve()
        if source.is_relative_to(place) or (out.is_file() and place.is_relative_to(source)):
            raise InputError(Errors.D611.format(path=out))
    if not os.path.lexists(out):
        return
    if not overwrite:
        raise InputError(Errors.D409.format(count=1, path=out, other="another place"))
    if format not in ("jsonl", "spacy") and not _is_corpus(out):
        raise InputError(Errors.D608.format(path=out))


def _is_corpus(folder: Path) -> bool:
    """Whether a folder is empty or has only files that this command wrote."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = [file for file in folder.iterdir() if file.name != _MADE]
    try:
        made = json.loads((folder / _MADE).read_text(encoding="utf8"))
        begin = f"{made['lang']}-{made['split']}-{made['seed']}-"
    except (OSError, ValueError, KeyError, TypeError):
        return not any(folder.iterdir())
    return all(file.name.startswith(begin) and file.suffix in _CORPUS for file in files)


def _write(documents: list[AnnotatedText], out: Path, format: str, scheme: str, made: dict[str, str | int]) -> None:
    """Write the corpus, completely or not at all."""
    if format in ("jsonl", "spacy"):
        with whole_file(out) as temporary:
            if format == "jsonl":
                write_jsonl(documents, temporary, scheme=scheme)
            else:
                write_docbin(documents, temporary, _tokenizer(str(made["lang"])), scheme=scheme)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".synth-", dir=out.parent))
    try:
        temporary.chmod(0o755)
        write_folder(documents, temporary, format, scheme=scheme)
        (temporary / _MADE).write_text(json.dumps(made) + "\n", encoding="utf8")
        if out.exists():
            shutil.rmtree(out)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _tokenizer(lang: str) -> Callable[[str], spacy.tokens.Doc]:
    """Make the tokenizer that the classifiers are trained with."""
    config = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
    return spacy.blank(lang, config=config).make_doc
